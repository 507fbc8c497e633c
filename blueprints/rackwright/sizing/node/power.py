"""Power, heat and space of nodes. Numbers in, numbers out: does not depend on the catalog or the spec."""

import re
from dataclasses import dataclass

from rackwright.sizing.assumptions import assumed
from rackwright.sizing.node.requirements import Power
from rackwright.sizing.note import Note
from rackwright.units import HOUR

BTU_PER_HOUR_PER_WATT = 3.412
"""1 W = 3.412 BTU/h (international table)."""
BTU_PER_HOUR_PER_TON = 12_000.0
"""1 ton of refrigeration = 12,000 BTU/h."""


@dataclass(frozen=True)
class PowerAssumptions:
    """Assumptions about power."""

    host_watts: float = assumed(1000, "W per node", "two CPUs of 350 W, memory, disks: rackwright's choice 2026-11, not measured")
    linked_factor: float = assumed(
        1.66,
        "of the accelerators' TDP",
        "NVIDIA data sheets less 1,000 W: DGX A100 6.5 kW, DGX H100 10.2 kW, DGX B200 14.3 kW: 1.64 to 1.72",
    )
    plain_factor: float = assumed(1.25, "of the accelerators' TDP", "cards without switches: fans, conversion; rackwright's choice 2026-11")
    pue: float = assumed(1.56, "facility over IT power", "Uptime Institute global survey 2024, mean of its members' sites")


POWER_ASSUMPTIONS = PowerAssumptions()


def node_watts(accelerators: int, tdp_watts: float, is_linked: bool, f: PowerAssumptions = POWER_ASSUMPTIONS) -> float:
    """Watts of one node at full load with switches, NICs and fans. is_linked: accelerators share switches, as on an HGX board."""
    return f.host_watts + accelerators * tdp_watts * (f.linked_factor if is_linked else f.plain_factor)


def power(
    nodes: int, watts: float, rack_units: int | None, run_s: float | None, basis: Note, f: PowerAssumptions = POWER_ASSUMPTIONS
) -> Power:
    """Power of a run. watts, rack_units: of one node. run_s: duration of the run, None for a server."""
    it, whole = nodes * watts, nodes * watts * f.pue
    heat = btu_per_hour(it)
    return Power(
        node_watts=watts,
        it_watts=it,
        facility_watts=whole,
        btu_per_hour=heat,
        cooling_tons=heat / BTU_PER_HOUR_PER_TON,
        rack_units=None if rack_units is None else nodes * rack_units,
        energy_kwh=None if run_s is None else whole / 1000 * run_s / HOUR,
        basis=(basis,),
    )


def btu_per_hour(watts: float) -> float:
    return watts * BTU_PER_HOUR_PER_WATT


def rack_units(form_factor: str) -> int | None:
    """Rack units of `6U, air`; None where the text has none."""
    found = re.match(r"(\d+)U\b", form_factor)
    return int(found[1]) if found else None
