"""The rules on a StackPlan, and iterators over its parts with their paths."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from inspect import signature
from typing import Any, NamedTuple

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.clouds import CloudProfile
from rackwright.diagnostics.errors import Bug
from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.diagnostics.rule import Rule, RuleSet, Stage, Violation, rule_number
from rackwright.stackplan import ManifestPlan, PoolPlan, StackPlan

Check = Callable[..., Iterator[Violation]]


class StackContext(NamedTuple):
    """A StackPlan and the catalog it was compiled with."""

    plan: StackPlan
    catalog: Catalog


RULES: RuleSet[StackContext] = RuleSet()


def rule(
    code: str,
    level: Level = Level.ERROR,
    link: str = "",
    stage: Stage = Stage.PLAN,
    invariant: bool = False,
    on: CloudProfile | None = None,
) -> Callable[[Check], Check]:
    """Register a function of the plan, or of the plan and its catalog. on: the cloud whose stacks are checked; default: every cloud."""

    def register(check: Check) -> Check:
        taken = len(signature(check).parameters)

        def on_its_cloud(context: StackContext) -> Iterator[Violation]:
            return check(*context[:taken]) if on is None or context.plan.place.cloud == on.name else iter(())

        RULES.add(Rule(code, level, link, " ".join((check.__doc__ or "").split()).rstrip("."), on_its_cloud, stage, invariant))
        return check

    return register


def check(plan: StackPlan, acknowledged: Collection[str] = (), catalog: Catalog | None = None) -> list[Problem]:
    """Every problem of a plan: errors first, then by ID, without acknowledged warnings.

    catalog: the one that the plan was compiled with; default: the embedded one.
    """
    found = RULES.problems(StackContext(plan, catalog or Catalog.default()), acknowledged)
    return sorted(found, key=lambda p: (p.level is not Level.ERROR, rule_number(p.code), p.at.steps != (), str(p.at)))


def refuse_broken_invariants(problems: Iterable[Problem]) -> None:
    """Raise Bug if the plan violates an invariant, which only an error of the compiler can cause."""
    broken = [p for p in problems if p.level is Level.ERROR and p.code in RULES.rules and RULES.rules[p.code].invariant]
    if broken:
        found = "; ".join(f"{p.code} at {p.at}: {p.reason}" for p in broken)
        raise Bug(f"the compiled stack violates an invariant: {found}")


def pools(plan: StackPlan) -> Iterator[tuple[At, PoolPlan]]:
    """Pools with their paths."""
    for index, pool in enumerate(plan.pools):
        yield At() / "pools" / index, pool


def accelerators(plan: StackPlan) -> Iterator[tuple[At, PoolPlan]]:
    """Accelerator pools with their paths."""
    yield from ((at, pool) for at, pool in pools(plan) if pool.role == "accelerator")


def machines(plan: StackPlan, catalog: Catalog) -> Iterator[tuple[At, PoolPlan, Machine]]:
    """Accelerator pools with their paths, and their machines where the catalog has them."""
    rows = catalog.machine_by_name
    yield from ((at, pool, rows[pool.machine]) for at, pool in accelerators(plan) if pool.machine in rows)


def manifests(plan: StackPlan, *kinds: str) -> Iterator[tuple[At, ManifestPlan]]:
    """Objects of these kinds with their paths."""
    for index, manifest in enumerate(plan.manifests):
        if manifest.body["kind"] in kinds:
            yield At() / "manifests" / index / "body", manifest


def minor_version(version: str) -> int:
    """Minor of a Kubernetes version: `1.35` and `1.35.6-20260728` are 35; -1 for other texts."""
    match = re.match(r"1\.(\d+)", version)
    return int(match[1]) if match else -1


def release_numbers(version: str) -> tuple[int, ...]:
    """`v1.18.5-eksbuild.1` is (1, 18, 5)."""
    return tuple(int(part) for part in re.findall(r"\d+", version.partition("-")[0]))


def pod_templates(plan: StackPlan) -> Iterator[tuple[At, ManifestPlan, dict[str, Any]]]:
    """Pod templates of servers with their paths: one per Deployment, two per LeaderWorkerSet."""
    for at, manifest in manifests(plan, "Deployment"):
        yield at / "spec" / "template", manifest, manifest.body["spec"]["template"]
    for at, manifest in manifests(plan, "LeaderWorkerSet"):
        group = manifest.body["spec"]["leaderWorkerTemplate"]
        for key in ("leaderTemplate", "workerTemplate"):
            if key in group:
                yield at / "spec" / "leaderWorkerTemplate" / key, manifest, group[key]
