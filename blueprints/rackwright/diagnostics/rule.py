"""Rules on specs, stacks and recorded resources: functions that yield a violation for each place that breaks the rule.

RULES: RuleSet[StackPlan] = RuleSet()

@RULES.rule("V-21", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-start.html")
def efa_group_allows_itself(plan: StackPlan) -> Iterator[Violation]:
    '''The EFA security group must allow all traffic to and from itself.'''
    if plan.network.fabric == "efa" and not plan.network.self_reachable:
        yield Violation(At() / "network" / "self_reachable", "set self_reachable to true", "the EFA group does not allow itself")
"""

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from rackwright.diagnostics.problem import At, Level, Problem, Stage

Subject = TypeVar("Subject")


@dataclass(frozen=True)
class Violation:
    """A place that violates a rule.

    at: path in the subject. fix: what to do, with a value that works. message: the failed condition with its value; where it is empty the
    rule's own sentence is printed, followed by `detail`. level, link and stage replace the rule's. about_key: the key is wrong, not its
    value.
    """

    at: At
    fix: str = ""
    message: str = ""
    detail: str = ""
    level: Level | None = None
    link: str = ""
    about_key: bool = False
    stage: Stage | None = None


@dataclass(frozen=True)
class Rule(Generic[Subject]):
    """A constraint with its id. reason: the constraint in one sentence; stage: what its violation stops.

    invariant: only a bug of rackwright can violate it.
    """

    code: str
    level: Level
    link: str
    reason: str
    check: Callable[[Subject], Iterator[Violation]]
    stage: Stage = Stage.PLAN
    invariant: bool = False

    def problem(self, violation: Violation) -> Problem:
        message = violation.message or "; ".join(filter(None, (self.reason, violation.detail)))
        level, link, stage = violation.level or self.level, violation.link or self.link, violation.stage or self.stage
        return Problem(self.code, message, violation.at, violation.fix, level, link, stage=stage)

    def problems(self, subject: Subject) -> Iterator[Problem]:
        yield from map(self.problem, self.check(subject))


@dataclass
class RuleSet(Generic[Subject]):
    """Rules over one kind of subject, by id, in the order they were registered."""

    rules: dict[str, Rule[Subject]] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Rule[Subject]]:
        return iter(self.rules.values())

    def __len__(self) -> int:
        return len(self.rules)

    def add(self, rule: Rule[Subject]) -> None:
        """Raises ValueError for a duplicate ID."""
        if rule.code in self.rules:
            raise ValueError(f"rule {rule.code} is registered twice")
        self.rules[rule.code] = rule

    def rule(
        self, code: str, level: Level = Level.ERROR, link: str = "", stage: Stage = Stage.PLAN, invariant: bool = False
    ) -> Callable[[Callable[[Subject], Iterator[Violation]]], Callable[[Subject], Iterator[Violation]]]:
        """Register a function. Its docstring is the rule in one sentence, printed without its full stop."""

        def register(check: Callable[[Subject], Iterator[Violation]]) -> Callable[[Subject], Iterator[Violation]]:
            self.add(Rule(code, level, link, " ".join((check.__doc__ or "").split()).rstrip("."), check, stage, invariant))
            return check

        return register

    def problems(self, subject: Subject, acknowledged: Collection[str] = ()) -> Iterator[Problem]:
        """Every problem of a subject, without acknowledged warnings."""
        for rule in self:
            yield from (p for p in rule.problems(subject) if p.level is Level.ERROR or p.code not in acknowledged)


def rule_number(code: str) -> int:
    """The number in a rule's id, 0 without one: F2 comes before F10."""
    return int("".join(re.findall(r"\d+", code)) or 0)
