"""Parts of a StackPlan as component arguments.

In Python a part is its dataclass. From other languages it is one JSON string, because the plugin protocol drops nulls and converts
integers to floats. The schema analyzer must see `str`; a type checker sees both.
"""

from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError
from rackwright.clouds import supports
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.stackplan import LAYERS, STACK_PLAN_VERSION, BlueprintKind, StackPlan

from rackwright_pulumi.unsupported import Unsupported

T = TypeVar("T")
MAX_SHOWN = 5
"""Problems listed in full, because one wrong field repeats in every pool."""

if TYPE_CHECKING:
    PlanInput = StackPlan | str
    Part = T | str
else:
    PlanInput = str

    class Part:
        """`Part[KeyPlan]` is a KeyPlan or its JSON."""

        def __class_getitem__(cls, _kind: Any) -> type[str]:
            return str


class WrongPart(UserError):
    """`text` is not valid JSON of its part. The problems have paths, but no values."""

    def __init__(self, text: str, problems: list[Problem]):
        self.text = text
        super().__init__(problems)


def part(kind: type[T], value: object) -> T:
    """The dataclass, from itself or from its JSON.

    Raises WrongPart for another class, for JSON with missing or unknown fields, or of another version of the plan.
    """
    if not isinstance(value, str):
        if value is not None and isinstance(kind, type) and not isinstance(value, kind):
            raise WrongPart("", [_problem(At(), f"found {type(value).__name__} instead of {kind.__name__}")])
        return cast(T, value)
    try:
        found = TypeAdapter(kind).validate_json(value, extra="forbid")
    except ValidationError as error:
        problems = [_problem(At(tuple(item["loc"])), f"{item['msg']} ({error.title})") for item in error.errors(include_url=False)]
        more = [_problem(At(), f"{len(problems) - MAX_SHOWN} more problems")] if len(problems) > MAX_SHOWN else []
        raise WrongPart(value, problems[:MAX_SHOWN] + more) from None
    if isinstance(found, StackPlan) and found.version != STACK_PLAN_VERSION:
        raise WrongPart(
            value, [_problem(At() / "version", f"version {found.version} is not supported; this release reads {STACK_PLAN_VERSION}")]
        )
    return found


def plan_of(kind: BlueprintKind, value: object) -> StackPlan:
    """A StackPlan of one kind. Raises WrongPart like `part`, and Unsupported for a plan of another kind."""
    plan = part(StackPlan, value)
    if plan.kind is not kind:
        raise Unsupported(f"a plan of kind {plan.kind} with the component for {kind}", "kind", f"use the component for {plan.kind}")
    if not supports(plan.place.cloud, "layers") and (plan.layers != LAYERS or plan.below):
        raise Unsupported(f"layers {', '.join(plan.layers)} alone on {plan.place.cloud}", "layers", "build all layers in one stack")
    return plan


def _problem(at: At, reason: str) -> Problem:
    return Problem("P-part", reason, at, fix="pass the output of `rackwright compile SPEC --json` of the same release")
