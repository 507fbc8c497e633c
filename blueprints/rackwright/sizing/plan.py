"""SizingPlan: ranked fits, rejected candidates with their distance, assumptions. Frozen, JSON in both directions."""

import math
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Annotated

from pydantic import TypeAdapter

from rackwright.catalog.sharing import Sharing
from rackwright.sizing.metrics import Goodput, Interval, Memory, OptionEffect, ParallelLayout, Speed
from rackwright.sizing.node.requirements import NodeRequirements
from rackwright.sizing.note import Note
from rackwright.sizing.rejection import IF_SEVERAL, Rejection
from rackwright.sizing.workload_facts import StorageNeed, WorkloadFacts

PLAN_VERSION = "sizing/1"


@dataclass(frozen=True)
class Candidate:
    """One way to run the workload on one offering.

    machine: catalog name of one node (for TPUs the host machine type); nodes: in all; slices, topology: TPU only;
    replicas: serving copies now, max_replicas the ceiling; price_usd_per_hour: one node, None when not published;
    accelerator_memory_bytes: of one accelerator or part, 0 where it is not known. sharing: how its accelerators are divided.
    """

    cloud: str
    machine: str
    accelerator: str
    accelerators_per_node: int
    nodes: int
    region: str
    zones: tuple[str, ...]
    capacity: str
    fabric: str
    parallelism: ParallelLayout
    price_usd_per_hour: float | None
    price_as_of: str = ""
    price_source: str = ""
    price_region: str = ""
    capacity_id: str = ""
    precision: str = "bf16"
    slices: int = 0
    topology: str = ""
    replicas: int = 1
    max_replicas: int = 1
    place: int = 0
    pinned: bool = False
    accelerator_memory_bytes: float = 0.0
    sharing: Annotated[Sharing | None, IF_SEVERAL] = None

    @property
    def accelerators(self) -> int:
        return self.nodes * self.accelerators_per_node

    @property
    def devices_per_node(self) -> int:
        """Accelerators of a machine that a replica can have, or their parts."""
        return self.accelerators_per_node * (self.sharing.parts if self.sharing else 1)

    @property
    def max_nodes(self) -> int:
        """Machines at the maximum size: of a server those of its maximum number of replicas."""
        each, width = self.devices_per_node or 1, self.parallelism.accelerators
        if self.sharing and self.sharing.max_nodes:
            return self.sharing.max_nodes
        if self.max_replicas <= self.replicas:
            return self.nodes
        return max(self.nodes, math.ceil(width / each) * math.ceil(self.max_replicas / max(1, each // width)))

    @property
    def is_spread(self) -> bool:
        """Whether the job leaves one scale-up unit: one machine, or one TPU slice, whose hosts share one interconnect."""
        return self.slices > 1 if self.topology else self.nodes > 1

    @property
    def label(self) -> str:
        """Name of a candidate, unique in a plan: machines, number, place, capacity mode."""
        slices = f"{self.slices} x {self.accelerator} {self.topology} on {self.machine}"
        what = slices if self.topology else f"{self.nodes} x {self.machine}"
        return " ".join(filter(None, (what, self.region, self.capacity, self.capacity_id, self.sharing.label if self.sharing else "")))


@dataclass(frozen=True)
class Transfer:
    """Data of a run that leaves a region or a cloud.

    what: data, checkpoints or results. source, target: cloud and region. gib: None where the size is unknown. usd_per_gib: what the
    source charges, None where not published. price_region: set where the price is that of another region.
    """

    what: str
    source: str
    target: str
    gib: float | None
    usd_per_gib: float | None
    price_as_of: str = ""
    price_source: str = ""
    price_region: str = ""

    @property
    def usd(self) -> float | None:
        """US dollars of the run; None where size or price is unknown."""
        return None if self.gib is None or self.usd_per_gib is None else self.gib * self.usd_per_gib


@dataclass(frozen=True)
class Fit:
    """A candidate that meets every limit. duration: seconds of the run (training, batch) or None; cost: US dollars of the run, or of
    a month of 730 h for serving, compute only (the bill adds the rest); cost and hourly price are None where no price is published.
    wait: seconds in the queue of the capacity mode, before anything is paid; overruled: goals it breaks because of a pin.
    transfers: data that moves between regions or clouds, paid besides `cost_usd`.
    tightest: the constraint with the least headroom. not_buildable: why this release builds no stack of it, None where it does or where
    that was not examined. `wording.plan_text` fills in binding, why and warnings.
    workload: its name where the stack has several; further: fits of the workloads after the first, which share the stack."""

    candidate: Candidate
    memory: Memory
    speed: Speed
    cost_usd: Interval | None
    usd_per_hour: float | None
    duration_s: Interval | None = None
    binding: str = ""
    why: str = ""
    warnings: tuple[str, ...] = ()
    evidence: str = "prior"
    goodput: Goodput | None = None
    wait_s: Interval | None = None
    overruled: tuple[Rejection, ...] = ()
    tightest: tuple[Note, ...] = ()
    notes: tuple[Note, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    not_buildable: str | None = None
    workload: Annotated[str, IF_SEVERAL] = ""
    further: Annotated[tuple["Fit", ...], IF_SEVERAL] = ()

    @property
    def each_workload(self) -> tuple["Fit", ...]:
        """This fit and those of the further workloads."""
        return (self, *self.further)

    @property
    def pool_owner(self) -> str:
        """The workload whose pool has the machines: the first of those that share them."""
        sharing = self.candidate.sharing
        return sharing.workloads[0] if sharing and sharing.workloads else self.workload

    @property
    def each_pool(self) -> tuple["Fit", ...]:
        """The fits of every workload, one for each set of machines."""
        return tuple(fit for fit in self.each_workload if fit.pool_owner == fit.workload)

    @property
    def label(self) -> str:
        """Labels of the candidates of every workload."""
        return " + ".join(fit.candidate.label for fit in self.each_workload)

    @property
    def stack_usd(self) -> float | None:
        """US dollars of the machines of every workload; None where one has no price."""
        costs = [fit.cost_usd.p50 for fit in self.each_workload if fit.cost_usd]
        return sum(costs) if len(costs) == len(self.each_workload) else None

    @property
    def transfer_usd(self) -> float:
        """US dollars of the transfers whose size and price are known."""
        return sum(moved.usd or 0.0 for moved in self.transfers)

    @property
    def paid_usd(self) -> Interval | None:
        """Cost of the machines and the transfers, by which fits are compared; None without a price."""
        moved = self.transfer_usd
        return self.cost_usd.plus(Interval(moved, moved, moved)) if self.cost_usd else None

    @property
    def finish_s(self) -> Interval | None:
        """Time from the request for machines to the end of the run."""
        return self.duration_s.plus(self.wait_s) if self.duration_s else None

    @property
    def time_s(self) -> float:
        """Time by which fits are compared: median finish of a run; TTFT plus TPOT of a server."""
        return self.finish_s.p50 if self.finish_s else (self.speed.ttft_s or 0.0) + (self.speed.tpot_s or 0.0)


@dataclass(frozen=True)
class Rejected:
    """A candidate and every constraint it fails, worst first; cost and duration are None where they could not be computed.

    `wording.plan_text` fills in remedy.
    """

    candidate: Candidate
    rejections: tuple[Rejection, ...]
    cost_usd: float | None = None
    duration_s: float | None = None
    remedy: str = ""
    further: Annotated[tuple[Candidate, ...], IF_SEVERAL] = ()
    """Candidates of the workloads after the first, where the limits of the stack reject all of them together."""

    @property
    def label(self) -> str:
        """Labels of the candidates of every workload."""
        return " + ".join(each.label for each in (self.candidate, *self.further))

    @property
    def distance(self) -> float:
        return max(r.distance for r in self.rejections)


@dataclass(frozen=True)
class Assumption:
    """A number that sizing assumed because the spec does not set it."""

    name: str
    value: str
    unit: str
    source: str


@dataclass(frozen=True)
class SizingPlan:
    """Result of sizing. The order of `fits` is the rank; ties are broken by label. `wording.plan_text` fills in scaling and warnings."""

    spec: str
    facts: WorkloadFacts
    fits: tuple[Fit, ...]
    rejected: tuple[Rejected, ...]
    assumptions: tuple[Assumption, ...]
    catalog_digest: str
    scaling: str = ""
    """Why one machine or several."""
    storage: StorageNeed = field(default_factory=StorageNeed)
    warnings: tuple[str, ...] = ()
    considered: int = 0
    version: str = PLAN_VERSION
    machine: NodeRequirements | None = None
    optimize_for: str = "cost"
    unpinned: Fit | None = None
    """The chosen machines without the parallelism that the workload pins; None where it pins none, or nothing fits."""
    near_tie: Fit | None = None
    """A fit that is better than the chosen one, by less than the uncertainty of the estimate; None without one."""
    notes: tuple[Note, ...] = ()
    options: tuple[OptionEffect, ...] = ()
    """Effects of the options of the server that the spec sets, on the chosen replica."""
    further: Annotated[tuple["SizingPlan", ...], IF_SEVERAL] = ()
    """Plans of the workloads after the first, each with the fit of the first rank; `Fit.further` has those of every rank."""

    @property
    def each_workload(self) -> tuple["SizingPlan", ...]:
        """This plan and those of the further workloads."""
        return (self, *self.further)

    def with_first(self, fit: Fit) -> "SizingPlan":
        """The plan with this fit only, and the fits of its further workloads."""
        further = tuple(replace(plan, fits=(each,)) for plan, each in zip(self.further, fit.further, strict=True))
        return replace(self, fits=(fit,), further=further)

    @property
    def chosen(self) -> Fit | None:
        return self.fits[0] if self.fits else None

    @property
    def frontier(self) -> tuple[Fit, ...]:
        """Pareto frontier of cost and time, cheapest first.

        Excludes fits without a price, and pinned fits that miss a goal where other fits miss none.
        """
        comparable = [f for f in self.fits if not f.overruled] or list(self.fits)
        priced = [
            (f.stack_usd, max(each.time_s for each in f.each_workload), rank, f)
            for rank, f in enumerate(comparable)
            if f.stack_usd is not None
        ]
        found: list[Fit] = []
        best = float("inf")
        for _, time_s, _, fit in sorted(priced, key=lambda row: row[:3]):
            if time_s < best:
                found.append(fit)
                best = time_s
        return tuple(found)

    def to_json(self) -> str:
        return _adapter().dump_json(self, indent=2).decode()

    @staticmethod
    def from_json(text: str) -> "SizingPlan":
        return _adapter().validate_json(text)


@cache
def _adapter() -> TypeAdapter[SizingPlan]:
    return TypeAdapter(SizingPlan)
