"""Numbers nobody told us, as fields that carry unit and source, so that a plan can print them."""

from dataclasses import field, fields
from typing import Any, cast

from rackwright.sizing.plan import Assumption


def known(default: float, unit: str, source: str, scope: str = "all") -> Any:
    """A field of a frozen dataclass of assumptions. scope: the kind of plan that it concerns."""
    return field(default=default, metadata={"unit": unit, "source": source, "scope": scope})


def listed(record: object, *scopes: str) -> tuple[Assumption, ...]:
    """The numbers of such a dataclass that concern the scopes or all, in the order of its file, as a plan prints them."""
    kept = [f for f in fields(cast(Any, record)) if f.metadata["scope"] in (*scopes, "all")]
    return tuple(Assumption(f.name, f"{getattr(record, f.name):.6g}", f.metadata["unit"], f.metadata["source"]) for f in kept)
