"""The rules on a StackPlan, and iterators over its parts with their paths."""

import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.clouds import CloudProfile
from rackwright.cost.bill import Bill
from rackwright.diagnostics.errors import Bug
from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.diagnostics.rule import RuleSet, rule_number
from rackwright.sizing.plan import Fit
from rackwright.spec.inventory import Inventory
from rackwright.spec.spec import Spec
from rackwright.stackplan import ManifestPlan, PoolPlan, StackPlan


@dataclass(frozen=True)
class StackContext:
    """Input of a rule: a StackPlan, the catalog it was compiled with, and values from the caller; rules on missing values find no problem.

    bill, fit, spec: price, candidate and spec of the stack. quotas: quota code -> what the account has. now: the moment, None to leave
    out what depends on it. is_configured: whether the stack's configuration has a key, where it can be read.
    """

    plan: StackPlan
    catalog: Catalog
    bill: Bill | None = None
    fit: Fit | None = None
    spec: Spec | None = None
    quotas: Mapping[str, float] = field(default_factory=dict)
    now: datetime | None = None
    is_configured: Callable[[str], bool] | None = None

    @property
    def inventory(self) -> Inventory | None:
        """The inventory of the stack's place; None on clouds, and where no caller knows it."""
        if self.spec is None or self.fit is None:
            return None
        found = self.spec.infra.places[self.fit.candidate.place].inventory
        return found if isinstance(found, Inventory) else None

    def on(self, cloud: CloudProfile) -> "StackContext | None":
        return self if self.plan.place.cloud == cloud.name else None


RULES: RuleSet[StackContext] = RuleSet(StackContext.on)
context_rule = RULES.rule
rule = partial(RULES.rule, reads=lambda context: (context.plan,))
"""Registers a function of the plan."""
catalog_rule = partial(RULES.rule, reads=lambda context: (context.plan, context.catalog))
"""Registers a function of the plan and its catalog."""


def check(plan: StackPlan, acknowledged: Collection[str] = (), catalog: Catalog | None = None) -> list[Problem]:
    """Every problem of a plan alone, without its bill, quotas and configuration: `rackwright.preview` checks those too.

    catalog: the one that the plan was compiled with; default: the embedded one.
    """
    return stack_problems(StackContext(plan, catalog or Catalog.default()), acknowledged)


def stack_problems(context: StackContext, acknowledged: Collection[str] = ()) -> list[Problem]:
    """Every problem of a stack: errors first, then by ID, without acknowledged warnings."""
    found = RULES.problems(context, acknowledged)
    return sorted(found, key=lambda p: (p.level is not Level.ERROR, rule_number(p.code) or math.inf, p.at.steps != (), str(p.at)))


def refuse_broken_invariants(problems: Iterable[Problem]) -> None:
    """Raise Bug if the plan violates an invariant, which only an error of the compiler can cause."""
    broken = [p for p in problems if p.level is Level.ERROR and p.code in RULES.rules and RULES.rules[p.code].invariant]
    if broken:
        found = "; ".join(f"{p.code} at {p.at}: {p.reason}" for p in broken)
        raise Bug(f"the compiled stack violates an invariant: {found}")


def pools(plan: StackPlan) -> Iterator[tuple[At, PoolPlan]]:
    """Pools with their paths."""
    for index, pool in enumerate(plan.pools):
        yield At(("pools", index)), pool


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
            yield At(("manifests", index, "body")), manifest


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
