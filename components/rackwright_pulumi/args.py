"""Plan parts as component arguments.

In this process a part is its dataclass; over the wire, from another language, it is one JSON string, because the plugin protocol drops
nulls and turns integers into floats. The schema analyzer must see `str`, a type checker sees both.
"""

from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import TypeAdapter

from rackwright.compile.wants import StackPlan

T = TypeVar("T")

if TYPE_CHECKING:
    PlanInput = StackPlan | str
    PartInput = Any
else:
    PlanInput = str
    PartInput = str


def part(kind: type[T], value: object) -> T:
    """The dataclass, whether given as itself or as its JSON. Raises pydantic.ValidationError on JSON of another shape."""
    return TypeAdapter(kind).validate_json(value) if isinstance(value, str) else value  # type: ignore[return-value]
