"""Numbers nobody told us, as fields that carry unit and source, so that a plan can print them."""

from dataclasses import field, fields
from typing import Any, cast

from rackwright.sizing.plan import Assumption


def known(default: float, unit: str, source: str) -> Any:
    """A field of a frozen dataclass of assumptions."""
    return field(default=default, metadata={"unit": unit, "source": source})


def listed(record: object, *names: str) -> tuple[Assumption, ...]:
    """Every number of such a dataclass, or those named, as a plan prints them."""
    kept = [f for f in fields(cast(Any, record)) if not names or f.name in names]
    return tuple(Assumption(f.name, f"{getattr(record, f.name):.6g}", f.metadata["unit"], f.metadata["source"]) for f in kept)
