"""Plan parts as component arguments.

In this process a part is its dataclass; over the wire, from another language, it is one JSON string, because the plugin protocol drops
nulls and turns integers into floats. The schema analyzer must see `str`, a type checker sees both.
"""

from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from rackwright.clouds import supports
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.stackplan import LAYERS, STACK_PLAN_VERSION, BlueprintKind, StackPlan

from rackwright_pulumi.unsupported import Unsupported

T = TypeVar("T")
SHOWN = 5
"""Mistakes named one by one; one wrong field in forty pools is one mistake to its author."""

if TYPE_CHECKING:
    PlanInput = StackPlan | str
    PartInput = Any
else:
    PlanInput = str
    PartInput = str


class WrongPart(UserError):
    """`text` is not the JSON of the part it was given for. Its problems name places, never the values found there."""

    def __init__(self, text: str, problems: list[Problem]):
        self.text = text
        super().__init__(problems)


def part(kind: type[T], value: object) -> T:
    """The dataclass, whether given as itself or as its JSON.

    Raises WrongPart on JSON of another shape, with fields this release does not know, or of another version of the plan.
    """
    if not isinstance(value, str):
        return cast(T, value)
    try:
        made = TypeAdapter(kind).validate_json(value, extra="forbid")
    except ValidationError as error:
        raise WrongPart(value, _problems(error)) from None
    if isinstance(made, StackPlan) and made.version != STACK_PLAN_VERSION:
        raise WrongPart(value, [_problem(At() / "version", f"this release reads {STACK_PLAN_VERSION}, not {made.version}")])
    return made


def plan_of(kind: BlueprintKind, value: object) -> StackPlan:
    """A StackPlan of that kind. Raises WrongPart as `part` does, and Unsupported for a plan of another blueprint."""
    plan = part(StackPlan, value)
    if plan.kind is not kind:
        raise Unsupported(f"a plan of kind {plan.kind} by the component for {kind}", "kind", f"the component for {plan.kind}")
    if not supports(plan.place.cloud, "layers") and (plan.layers != LAYERS or plan.below):
        raise Unsupported(f"layers {', '.join(plan.layers)} alone on {plan.place.cloud}", "layers", "all of them in one stack")
    return plan


def _problems(error: ValidationError) -> list[Problem]:
    found = [_problem(At(tuple(item["loc"])), f"{item['msg']} ({error.title})") for item in error.errors(include_url=False)]
    return found if len(found) <= SHOWN else [*found[:SHOWN], _problem(At(), f"{len(found) - SHOWN} more like these")]


def _problem(at: At, reason: str) -> Problem:
    return Problem("P-part", reason, at, fix="pass the text that `rackwright compile SPEC --json` of the same release prints")
