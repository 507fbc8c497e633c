"""Every blueprint on every AWS machine, in every capacity mode and every region that offers it: a plan, or the rules that refuse it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.clouds import AWS
from rackwright.compile import compile_plan
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level
from rackwright.sizing.metrics import ParallelLayout
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.spec import Spec
from rackwright.stackplan import StackPlan
from rackwright.validation.stack import check

from tests import plans

ACCESS = {"ttl": "14d", "api_access": {"runner": "inside"}}
SHAPES = {
    "box": {"kind": "box", "ttl": "14d"},
    "training cluster": {"kind": "training-cluster", **ACCESS},
    "fleet, Karpenter": {"kind": "inference-fleet", **ACCESS},
    "fleet, node groups": {"kind": "inference-fleet", "nodes": {"provisioner": "managed"}, **ACCESS},
    "fleet, two machines a replica": {"kind": "inference-fleet", **ACCESS},
}
RESERVATION = "cr-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:{region}:123456789012:group/reserved"
MODES = {
    "on-demand": "on-demand",
    "spot": "spot",
    "reservation": {"reservation": {"id": RESERVATION, "zone": "{zone}"}},
    "reservation group": {"reservation": {"group": GROUP, "zone": "{zone}"}},
    "capacity block": {
        "capacity_block": {
            "id": RESERVATION, "instance": "p5.48xlarge", "count": 2, "zone": "{zone}",
            "start": "2026-11-20T11:30:00Z", "end": "2026-11-27T11:30:00Z",
        }
    },
}  # fmt: skip
SOLD_AS = {"reservation": "on-demand", "reservation group": "on-demand", "capacity block": "capacity-block"}
"""Mode of the matrix -> mode a machine is sold in: reservations are of on-demand machines."""
CANDIDATE = {"reservation group": "reservation", "capacity block": "capacity-block"}
"""Name of a mode in a candidate, where it is another."""
IMAGE = "registry.example/server:1.0.0@sha256:" + "0" * 64


@dataclass(frozen=True)
class Cell:
    """One combination. plan is None if it is refused. codes: IDs of the refusing rules, or of the warnings about the plan."""

    shape: str
    machine: str
    mode: str
    region: str
    plan: StackPlan | None
    codes: tuple[str, ...]

    @property
    def outcome(self) -> "Outcome":
        return Outcome(self.shape, self.machine, self.mode, self.region, bool(self.plan), self.codes)


@dataclass(frozen=True)
class Outcome:
    """A cell without its plan, small enough to keep for every combination."""

    shape: str
    machine: str
    mode: str
    region: str
    compiles: bool
    codes: tuple[str, ...]


def machines() -> list[Machine]:
    return [machine for machine in Catalog.default().machines if machine.cloud == "aws" and machine.orderable]


def is_sold(machine: Machine, mode: str) -> bool:
    """Whether the catalog offers an accelerator machine in the mode. No combination of others compiles: a test checks it."""
    return not machine.accelerator_count or SOLD_AS.get(mode, mode) in map(str, machine.capacity_modes)


def regions(machine: Machine) -> list[str]:
    return sorted({row.region for row in Catalog.default().places_by_sku.get(machine.name, ())})


def outcomes() -> list[Outcome]:
    """Of every machine; computed once in a process."""
    return [outcome for machine in machines() for outcome in outcomes_of(machine)]


@cache
def outcomes_of(machine: Machine) -> tuple[Outcome, ...]:
    return tuple(cell.outcome for cell in cells(machine))


def cells(machine: Machine, shapes: tuple[str, ...] = tuple(SHAPES), modes: tuple[str, ...] = tuple(MODES)) -> Iterator[Cell]:
    """Every combination of one machine. Exceptions other than UserError are raised, because they are a third outcome."""
    for region in regions(machine):
        for shape in shapes:
            yield from (cell(shape, machine, mode, region) for mode in modes)


def cell(shape: str, machine: Machine, mode: str, region: str) -> Cell:
    given, plan, fit = _case(shape, mode, region, machine.name if mode == "capacity block" else "")
    try:
        stack = compile_plan(given, plan, _on(fit, shape, machine, mode, region), today=plans.TODAY)
    except UserError as refused:
        return Cell(shape, machine.name, mode, region, None, _codes(refused.problems))
    found = check(stack)
    errors = [problem for problem in found if problem.level is Level.ERROR]
    return Cell(shape, machine.name, mode, region, None if errors else stack, _codes(errors or found))


def _codes(problems) -> tuple[str, ...]:
    return tuple(sorted({problem.code for problem in problems}))


@cache
def _case(shape: str, mode: str, region: str, block_of: str) -> tuple[Spec, SizingPlan, Fit]:
    place = {"cloud": "aws", "account": "123456789012", "regions": [region], "zones": [_zone(region)]}
    place["capacity"] = {"ordered": [_filled(MODES[mode], region, block_of)]}
    if shape == "box":
        given, plan, fit = plans.box_case()
    elif shape == "training cluster":
        given, plan, fit = plans.training_case(nodes=2)
    else:
        given, plan, fit = plans.eks_fleet_case({"run": {"image": IMAGE}})
    data = given.model_dump(mode="json", exclude_unset=True, exclude={"infra", "blueprint"})
    return plans.spec(given.name, data["workloads"][0], place, blueprint=SHAPES[shape]), plan, fit


def _filled(entry, region: str, block_of: str):
    """The capacity entry in its region, with a block of this machine."""
    if isinstance(entry, dict):
        return {key: block_of if key == "instance" else _filled(value, region, block_of) for key, value in entry.items()}
    return entry.format(region=region, zone=_zone(region)) if isinstance(entry, str) else entry


def _zone(region: str) -> str:
    return AWS.zones(region)[0]


def _on(fit: Fit, shape: str, machine: Machine, mode: str, region: str) -> Fit:
    """The fit on this machine: as many machines as the shape has, split over all accelerators, or over one on Neuron, where only some
    numbers are valid."""
    count = machine.accelerator_count
    nodes = 1 if shape == "box" else 2
    wide = shape.endswith("two machines a replica")
    tensor = 1 if machine.kind == "neuron" and not wide else max(1, count)
    chosen = replace(
        fit.candidate,
        machine=machine.name,
        accelerator=machine.accelerator or "CPU",
        accelerators_per_node=count,
        nodes=nodes,
        region=region,
        zones=(_zone(region),),
        capacity=CANDIDATE.get(mode, mode),
        capacity_id="" if mode in ("on-demand", "spot") else GROUP.format(region=region) if mode == "reservation group" else RESERVATION,
        fabric=str(machine.fabric),
        parallelism=ParallelLayout(tensor=tensor, pipeline=2 if wide else 1, data=nodes if shape == "training cluster" else 1),
        replicas=1 if wide else nodes,
        max_replicas=2,
    )
    return replace(fit, candidate=chosen)
