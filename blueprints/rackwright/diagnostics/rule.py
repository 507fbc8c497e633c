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
from functools import update_wrapper
from typing import Any, Generic, TypeVar

from rackwright.diagnostics.problem import At, Level, Problem, Stage

Subject = TypeVar("Subject")
Check = Callable[..., Iterator["Violation"]]


@dataclass(frozen=True)
class Violation:
    """A place that violates a rule.

    at: path in the subject. fix: what to do, with a value that works. message: the failed condition with its value; where it is empty the
    rule's own sentence is printed, followed by `detail`. level, link, stage and blocks_update replace the rule's. about_key: the key is
    wrong, not its value.
    """

    at: At
    fix: str = ""
    message: str = ""
    detail: str = ""
    level: Level | None = None
    link: str = ""
    about_key: bool = False
    stage: Stage | None = None
    blocks_update: bool | None = None


@dataclass(frozen=True)
class Rule(Generic[Subject]):
    """A constraint with its id. reason: the constraint in one sentence; stage: what its violation stops.

    blocks_update: whether `pulumi up` stops at a violation that planning lists only (stage BUILD).
    invariant: only a bug of rackwright can violate it. of_candidate: a rule on specs that is also checked for each candidate.
    warns: a rule of level error that only warns about some violations.
    """

    code: str
    level: Level
    link: str
    reason: str
    check: Callable[[Subject], Iterator[Violation]]
    stage: Stage = Stage.PLAN
    blocks_update: bool = True
    invariant: bool = False
    of_candidate: bool = False
    warns: bool = False

    def problem(self, violation: Violation) -> Problem:
        v = violation
        return Problem(
            self.code,
            v.message or "; ".join(filter(None, (self.reason, v.detail))),
            v.at,
            v.fix,
            v.level or self.level,
            v.link or self.link,
            stage=v.stage or self.stage,
            blocks_update=self.blocks_update if v.blocks_update is None else v.blocks_update,
            about_key=v.about_key,
        )

    def problems(self, subject: Subject) -> Iterator[Problem]:
        yield from map(self.problem, self.check(subject))


@dataclass
class RuleSet(Generic[Subject]):
    """Rules over one kind of subject, by id, in the order they were registered.

    on_cloud: the part of a subject that is on a cloud; None where it has none.
    """

    on_cloud: Callable[[Subject, Any], Subject | None] = lambda subject, _cloud: subject
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
        self,
        code: str,
        level: Level = Level.ERROR,
        link: str = "",
        stage: Stage = Stage.PLAN,
        *,
        on: Any = None,
        reads: Callable[[Subject], tuple] | None = None,
        **options: bool,
    ) -> Callable[[Check], Check]:
        """Register a function. Its docstring is the rule in one sentence, printed without its full stop.

        on: the CloudProfile that it checks; default: every cloud. reads: arguments of the function; default: the subject.
        options: blocks_update, invariant and of_candidate of the Rule.
        """

        def register(check: Check) -> Check:
            def find(subject: Subject) -> Iterator[Violation]:
                part = self.on_cloud(subject, on) if on else subject
                return iter(()) if part is None else check(*(reads(part) if reads else (part,)))

            reason = " ".join((check.__doc__ or "").split()).rstrip(".")
            self.add(Rule(code, level, link, reason, update_wrapper(find, check), stage, **options))
            return check

        return register

    def problems(self, subject: Subject, acknowledged: Collection[str] = ()) -> Iterator[Problem]:
        """Every problem of a subject, without acknowledged warnings."""
        for rule in self.rules.values():
            for violation in rule.check(subject):
                problem = rule.problem(violation)
                if problem.level is Level.ERROR or problem.code not in acknowledged:
                    yield problem


def rule_number(code: str) -> int:
    """The number in a rule's id, 0 without one: F2 comes before F10."""
    return int("".join(re.findall(r"\d+", code)) or 0)
