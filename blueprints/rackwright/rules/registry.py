"""What a rule is, and the run over all of them. A rule is a function over a StackPlan that yields where it is broken."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from rackwright.compile.wants import ManifestWant, PoolWant, StackPlan
from rackwright.problems import At, Level, Problem


@dataclass(frozen=True)
class Broken:
    """A place where a rule does not hold. words: what is there, when the rule's own sentence does not say it; level: when it differs."""

    at: At
    fix: str
    words: str = ""
    level: Level | None = None


Check = Callable[[StackPlan], Iterator[Broken]]


@dataclass(frozen=True)
class Rule:
    """A cloud's or a controller's own law, known before it is asked. reason: the law in one sentence."""

    code: str
    level: Level
    link: str
    reason: str
    check: Check

    def problems(self, plan: StackPlan) -> Iterator[Problem]:
        for broken in self.check(plan):
            reason = f"{self.reason}; {broken.words}" if broken.words else self.reason
            yield Problem(self.code, reason, broken.at, broken.fix, broken.level or self.level, self.link)


RULES: list[Rule] = []


def rule(code: str, level: Level, link: str = "") -> Callable[[Check], Check]:
    """Registers a check. Its docstring is the reason: one sentence, no full stop in print."""

    def register(check: Check) -> Check:
        RULES.append(Rule(code, level, link, " ".join((check.__doc__ or "").split()).rstrip("."), check))
        return check

    return register


def check(plan: StackPlan, acknowledged: Iterable[str] = ()) -> list[Problem]:
    """Every problem of a plan, errors first, then by code. A warning whose id is acknowledged is left out; an error never is."""
    known = set(acknowledged)
    found = [problem for each in RULES for problem in each.problems(plan)]
    kept = [p for p in found if p.level is Level.ERROR or p.code not in known]
    return sorted(kept, key=lambda p: (p.level is not Level.ERROR, _number(p.code), p.at.steps != (), str(p.at)))


def pools(plan: StackPlan) -> Iterator[tuple[At, PoolWant]]:
    """Pools with their places."""
    for index, pool in enumerate(plan.pools):
        yield At() / "pools" / index, pool


def accelerators(plan: StackPlan) -> Iterator[tuple[At, PoolWant]]:
    """Accelerator pools with their places."""
    yield from ((at, pool) for at, pool in pools(plan) if pool.role == "accelerator")


def manifests(plan: StackPlan, *kinds: str) -> Iterator[tuple[At, ManifestWant]]:
    """Objects of these kinds with their places."""
    for index, manifest in enumerate(plan.manifests):
        if manifest.body["kind"] in kinds:
            yield At() / "manifests" / index / "body", manifest


def pod_templates(plan: StackPlan) -> Iterator[tuple[At, ManifestWant, dict[str, Any]]]:
    """Templates of the pods of servers, with their places: one of a deployment, two of a group of leader and workers."""
    for at, manifest in manifests(plan, "Deployment"):
        yield at / "spec" / "template", manifest, manifest.body["spec"]["template"]
    for at, manifest in manifests(plan, "LeaderWorkerSet"):
        group = manifest.body["spec"]["leaderWorkerTemplate"]
        for key in ("leaderTemplate", "workerTemplate"):
            if key in group:
                yield at / "spec" / "leaderWorkerTemplate" / key, manifest, group[key]


def _number(code: str) -> int:
    return int("".join(re.findall(r"\d+", code)) or 0)
