"""The rules over a StackPlan, and iterators over its parts with their paths."""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import wraps
from typing import Any

from rackwright.clouds import CloudProfile
from rackwright.diagnostics.errors import Bug
from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.diagnostics.rule import RuleSet, Stage, Violation, rule_number
from rackwright.stackplan import ManifestPlan, PoolPlan, StackPlan

Check = Callable[[StackPlan], Iterator[Violation]]
RULES: RuleSet[StackPlan] = RuleSet()


def rule(
    code: str,
    level: Level = Level.ERROR,
    link: str = "",
    stage: Stage = Stage.PLAN,
    invariant: bool = False,
    on: CloudProfile | None = None,
) -> Callable[[Check], Check]:
    """As RuleSet.rule. on: the only cloud whose stacks must keep the rule."""

    def register(check: Check) -> Check:
        @wraps(check)
        def on_its_cloud(plan: StackPlan) -> Iterator[Violation]:
            return check(plan) if on is None or plan.place.cloud == on.name else iter(())

        return RULES.rule(code, level, link, stage, invariant)(on_its_cloud)

    return register


def check(plan: StackPlan, acknowledged: Collection[str] = ()) -> list[Problem]:
    """Every problem of a plan, errors first, then by id. A warning whose id is acknowledged is left out; an error never is."""
    found = RULES.problems(plan, acknowledged)
    return sorted(found, key=lambda p: (p.level is not Level.ERROR, rule_number(p.code), p.at.steps != (), str(p.at)))


def refuse_broken_invariants(problems: Iterable[Problem]) -> None:
    """Raises Bug where the compiler broke a rule that no spec can break."""
    broken = [p for p in problems if p.level is Level.ERROR and p.code in RULES.rules and RULES.rules[p.code].invariant]
    if broken:
        found = "; ".join(f"{p.code} at {p.at}: {p.reason}" for p in broken)
        raise Bug(f"the compiled stack breaks a rule that no spec can break, {found}")


def pools(plan: StackPlan) -> Iterator[tuple[At, PoolPlan]]:
    """Pools with their places."""
    for index, pool in enumerate(plan.pools):
        yield At() / "pools" / index, pool


def accelerators(plan: StackPlan) -> Iterator[tuple[At, PoolPlan]]:
    """Accelerator pools with their places."""
    yield from ((at, pool) for at, pool in pools(plan) if pool.role == "accelerator")


def manifests(plan: StackPlan, *kinds: str) -> Iterator[tuple[At, ManifestPlan]]:
    """Objects of these kinds with their places."""
    for index, manifest in enumerate(plan.manifests):
        if manifest.body["kind"] in kinds:
            yield At() / "manifests" / index / "body", manifest


def pod_templates(plan: StackPlan) -> Iterator[tuple[At, ManifestPlan, dict[str, Any]]]:
    """Templates of the pods of servers, with their places: one of a deployment, two of a group of leader and workers."""
    for at, manifest in manifests(plan, "Deployment"):
        yield at / "spec" / "template", manifest, manifest.body["spec"]["template"]
    for at, manifest in manifests(plan, "LeaderWorkerSet"):
        group = manifest.body["spec"]["leaderWorkerTemplate"]
        for key in ("leaderTemplate", "workerTemplate"):
            if key in group:
                yield at / "spec" / "leaderWorkerTemplate" / key, manifest, group[key]
