"""Offer: one machine in one place and capacity mode, before the number of machines is known."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rackwright.catalog.query import quota_amount
from rackwright.catalog.rows import Accelerator, CapacityMode, Fabric, Machine, Offering, TpuSlice
from rackwright.sizing.economics.own_node import OwnNodeCost
from rackwright.sizing.metrics import ParallelLayout
from rackwright.sizing.plan import Candidate
from rackwright.sizing.rejection import Rejection
from rackwright.sizing.search.cpu_roofline import Core
from rackwright.spec.spec import Spec

CPU = "CPU"
"""Accelerator name of CPU candidates."""


@dataclass(frozen=True)
class Offer:
    """One machine in one place and capacity mode. rank: of the place, then of the capacity entry.

    accelerator: None where the catalog names none. window_s: longest run of a block or mode. prepaid_s: seconds that are paid in any case.
    quota: code and available amount of the account's quota; None where the spec does not list it. available: machines that exist, None
    where the cloud does not publish it. own_cost: of an hour of an own server, None where the spec has none.
    slice_rate: bytes/s of a chip between TPU slices; None: not published, or one slice.
    """

    machine: Machine
    accelerator: Accelerator | None
    offering: Offering
    place: int
    rank: tuple[int, int]
    slice: TpuSlice | None = None
    slices: int = 0
    slice_rate: float | None = None
    capacity_id: str = ""
    nodes: int | None = None
    window_s: float | None = None
    prepaid_s: float | None = None
    pinned: bool = False
    discount: float = 0.0
    quota: tuple[str, float] | None = None
    available: int | None = None
    own_cost: OwnNodeCost | None = None
    rejections: tuple[Rejection, ...] = ()

    @property
    def quota_nodes(self) -> float:
        """Number of machines that the quota allows; infinite where it is unknown."""
        each = quota_amount(self.machine)[0]
        return math.inf if self.quota is None or not each else self.quota[1] // each

    @property
    def price_usd_per_hour(self) -> float | None:
        listed = self.offering.price_usd_per_hour
        return None if listed is None else listed * (1 - self.discount)

    def candidate(self, nodes: int, parallelism: ParallelLayout, precision: str, replicas: tuple[int, int] = (1, 1)) -> Candidate:
        """A candidate of this offer; created by the thousand, so common fields are copied."""
        made = object.__new__(Candidate)
        varying = {"nodes": nodes, "parallelism": parallelism, "precision": precision, "replicas": replicas[0], "max_replicas": replicas[1]}
        varying |= {"slices": nodes // self.slice.hosts} if self.slice else {}
        made.__dict__.update(self._common_fields, **varying)
        return made

    @property
    def _accelerator_memory_bytes(self) -> float:
        known = self.accelerator.memory_bytes if self.accelerator else None
        return float(self.machine.accelerator_memory_bytes or known or 0.0)

    @cached_property
    def _common_fields(self) -> dict[str, Any]:
        o, other = self.offering, CPU if self.machine.kind == "cpu" else "none"  # a CPU machine counts as one device
        blank = Candidate(
            cloud=o.cloud, machine=self.machine.name, accelerator=self.accelerator.name if self.accelerator else other,
            accelerators_per_node=self.machine.whole_accelerators or 1, nodes=0, region=o.region, zones=o.zones, capacity=str(o.capacity),
            fabric=str(self.machine.fabric), parallelism=ParallelLayout(), price_usd_per_hour=self.price_usd_per_hour,
            price_as_of=o.price_as_of, price_source=o.price_source, price_region=o.price_region or "", capacity_id=self.capacity_id,
            slices=self.slices, topology=self.slice.topology if self.slice else "", place=self.place, pinned=self.pinned,
            accelerator_memory_bytes=self._accelerator_memory_bytes, sharing=self.machine.sharing,
        )  # fmt: skip
        return dict(vars(blank))


def core_of(machine: Machine) -> Core | None:
    """One vCPU of a machine without accelerators; None where its rates are not published: families sold on any of several processors,
    and those that burst."""
    if not (machine.kind == "cpu" and machine.vcpu_bandwidth_bytes_per_s and machine.vcpu_bf16_flops):
        return None
    return Core(machine.vcpu_bandwidth_bytes_per_s, machine.vcpu_bf16_flops)


def needs_fabric(offer: Offer) -> bool:
    """Whether several of these machines have no documented way to work on one job."""
    return offer.machine.fabric is Fabric.NONE


def contract_discount(spec: Spec, cloud: str, mode: CapacityMode) -> float:
    """Contract discount on list prices; none for spot and capacity blocks, whose prices the market sets."""
    market = mode in (CapacityMode.SPOT, CapacityMode.CAPACITY_BLOCK)
    return 0.0 if market else spec.pricing.discounts.get(cloud, 0.0)
