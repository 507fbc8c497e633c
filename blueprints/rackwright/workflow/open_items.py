"""Which items of *Before you build* stop an update, and why."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from rackwright.diagnostics.problem import Level, Problem, Stage
from rackwright.stackplan import StackPlan


@dataclass(frozen=True)
class Effect:
    """Effect of an open item on `pulumi up`. stops: the lowest level that stops it, None for never. settled_by: a change of the inputs."""

    subject: str
    stops: Level | None
    why: str
    settled_by: str


EFFECTS = {
    "R-03": Effect(
        "API access",
        Level.ERROR,
        "charts cannot be installed, and the cluster is billed without them; an existing cluster may be reachable, which only warns",
        "blueprint.api_access in the spec",
    ),
    "R-25": Effect("account", Level.WARNING, "the stack could be built in another account", "account in infra, or acknowledge"),
    "S-42": Effect("account", Level.WARNING, "the stack could be built in another project", "project in infra"),
    "R-36": Effect("alert recipients", None, "the topic can get subscribers outside the spec, and the machines are the same", ""),
    "V-30": Effect("zones", None, "the catalog may lack a zone; EC2 rejects a wrong zone, and builds nothing wrong", ""),
    "V-115": Effect(
        "quota increases",
        Level.ERROR,
        "the quotas in the spec are too small; a spec without quotas states nothing, and does not stop an update",
        "quotas in infra, with the value that the account has after the increase",
    ),
    "D-secret": Effect("secrets", Level.ERROR, "containers cannot start without the secret", "pulumi config set --secret"),
}
"""Problem code -> effect. Other codes are those of stacks that this release cannot build; they stop an update at level error."""


def open_items(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Problems that stop building and not planning, errors first; one of those with the same text."""
    found: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        if problem.stage is Stage.BUILD:
            found.setdefault((problem.code, problem.advice), problem)
    return tuple(sorted(found.values(), key=lambda problem: problem.level is not Level.ERROR))


def unsettled(problems: Iterable[Problem], stack: StackPlan) -> tuple[Problem, ...]:
    """The open items that stop an update of the stack, as errors."""
    return tuple(replace(problem, level=Level.ERROR) for problem in open_items(problems) if _stops(problem, stack))


def _stops(problem: Problem, stack: StackPlan) -> bool:
    effect = EFFECTS.get(problem.code)
    if effect is None:
        return problem.level is Level.ERROR
    if effect.subject == "account" and stack.place.account:
        return False  # the missing project belongs to another entry of infra
    return effect.stops is Level.WARNING or problem.level is effect.stops
