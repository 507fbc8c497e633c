"""The entries of the spec that machines are bought by: the candidate's own, and beside it the others of a fallback."""

from rackwright.compile.compile_context import CompileContext
from rackwright.spec.blueprint import ExtraPool
from rackwright.spec.infra import CapacityEntry, existing_capacity


def capacity_entries(context: CompileContext) -> CapacityEntry | None:
    """The entry the candidate came from; None where the spec has none such, as in a decision made for an earlier spec."""
    capacity, chosen = context.place.capacity, context.candidate
    names = (chosen.capacity_id,) if chosen.capacity_id else (chosen.capacity,)
    return next((entry for entry in (*capacity.ordered, *capacity.fallback) if _name(entry) in names), None)


def zone_said(context: CompileContext) -> str:
    """The zone in which what is bought lies, of a fallback or an extra pool any entry's: all share one zone. Empty when no entry says."""
    entries = (capacity_entries(context), *context.place.capacity.fallback, *(pool.capacity for pool in pools_listed(context)))
    return next((thing.zone for thing in map(existing_capacity, entries) if thing and thing.zone), "")


def pools_listed(context: CompileContext) -> tuple[ExtraPool, ...]:
    """The pools the spec lists beside the sized one."""
    pools = context.spec.blueprint.pools
    return () if pools == "auto" else pools


def _name(entry: CapacityEntry) -> str:
    thing = existing_capacity(entry)
    if thing is None:
        return str(entry)
    return thing.id or getattr(thing, "group", None) or ""
