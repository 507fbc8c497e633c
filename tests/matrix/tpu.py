"""Every TPU slice in every capacity mode and every zone that offers it: a StackPlan, or the rules that refuse it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import TpuSlice
from rackwright.compile import compile_plan
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level
from rackwright.sizing.metrics import ParallelLayout
from rackwright.stackplan import StackPlan
from rackwright.validation.stack import check

from tests import plans

MODES = {
    "on-demand": "on-demand",
    "spot": "spot",
    "flex-start": "flex-start",
    "queued": "flex-start",
    "reservation": {"reservation": {"id": "team-tpu", "zone": "{zone}"}},
    "reservation block": {"reservation": {"id": "team-tpu/reservationBlocks/block-1", "zone": "{zone}"}},
    "reservation sub-block": {"reservation": {"id": "team-tpu/reservationBlocks/block-1/reservationSubBlocks/sub-1", "zone": "{zone}"}},
}
"""Name in the matrix -> entry of a spec. Calendar capacity is used by its reservation (N-05)."""
UNLISTED_ZONE = "us-central1-a"
"""For host types whose zones are not published."""


@dataclass(frozen=True)
class Cell:
    """One combination. plan is None if it is refused. codes: IDs of the refusing rules, or of the warnings about the plan."""

    piece: TpuSlice
    slices: int
    mode: str
    zone: str
    plan: StackPlan | None
    codes: tuple[str, ...]


def pieces() -> list[TpuSlice]:
    return list(Catalog.default().slices)


def zones(machine: str) -> list[str]:
    rows = Catalog.default().places_by_sku.get(machine, ())
    return sorted(zone for row in rows for zone in row.zones) or [UNLISTED_ZONE]


def sold(machine: str) -> set[str]:
    return set(map(str, Catalog.default().machine(machine).capacity_modes))


def cells(piece: TpuSlice) -> Iterator[Cell]:
    """Every mode in every zone. Parts of a reservation and several slices, which change no zone, in the first zone only."""
    first, *others = zones(piece.gke_machine_type)
    yield from (cell(piece, 1, mode, first) for mode in MODES)
    yield cell(piece, 2, "on-demand", first)
    yield from (cell(piece, 1, mode, zone) for zone in others for mode in MODES if "block" not in mode)


@cache
def _case(mode: str, zone: str):
    entry = MODES[mode]
    if isinstance(entry, dict):
        entry = {"reservation": entry["reservation"] | {"zone": zone}}
    region = Catalog.default().region_of_zone(zone)
    capacity = {"ordered": [entry]} | ({"queued": True} if mode == "queued" else {})
    return plans.tpu_case(place=plans.GCP | {"regions": [region], "zones": [zone], "capacity": capacity})


def cell(piece: TpuSlice, slices: int, mode: str, zone: str) -> Cell:
    given, plan, fit = _case(mode, zone)
    entry = MODES[mode]
    chosen = replace(
        fit.candidate,
        machine=piece.gke_machine_type,
        accelerator=piece.generation,
        accelerators_per_node=piece.chips_per_host,
        nodes=slices * piece.hosts,
        slices=slices,
        topology=piece.topology,
        region=Catalog.default().region_of_zone(zone),
        zones=(zone,),
        capacity=entry if isinstance(entry, str) else "reservation",
        capacity_id="" if isinstance(entry, str) else entry["reservation"]["id"],
        parallelism=ParallelLayout(data=slices * piece.chips, zero_stage=3),
    )
    try:
        stack = compile_plan(given, plan, replace(fit, candidate=chosen), today=plans.TODAY)
    except UserError as refused:
        return Cell(piece, slices, mode, zone, None, tuple(sorted({problem.code for problem in refused.problems})))
    found = check(stack)
    errors = [problem for problem in found if problem.level is Level.ERROR]
    codes = tuple(sorted({problem.code for problem in errors or found}))
    return Cell(piece, slices, mode, zone, None if errors else stack, codes)
