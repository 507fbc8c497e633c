"""Input of every part of the compiler: spec, sizing plan, fit, catalog and clock."""

import math
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.clouds import profile
from rackwright.diagnostics.errors import Bug
from rackwright.sizing.node.file_system import LustreSize
from rackwright.sizing.plan import Candidate, Fit, SizingPlan
from rackwright.spec.infra import Place
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Serve
from rackwright.stackplan import PlacePlan, VersionPins

DAY_S = 86400


def moment(today: date, now: datetime | None) -> datetime:
    """`now`, or noon UTC of `today`: AWS starts and ends capacity blocks before noon UTC."""
    return now or datetime.combine(today, time(12), UTC)


@dataclass(frozen=True)
class RunningStack:
    """Parts of a stack that its decision records, and that stay for as long as the stack runs. None or False: not recorded.

    place: its zones stay, because other zones replace every subnet. file_system: its tier and network stay, because others replace it.
    creator_is_admin: whether EKS made the access entry of the cluster's creator; an explicit one conflicts with it.
    has_ungated_queue: whether the queue starts jobs on nodes without a passed check where the spec does not set `preflight.gate`.
    queue_flavor: identity of the flavor of the queue, of which Kueue changes nothing; empty without a topology, or where it is unknown.
    has_pod_logs: whether a cluster of earlier_pod_logs (CloudProfile) collects logs of pods where the spec does not set `pod_logs`.
    """

    pins: VersionPins | None = None
    expires_on: str | None = None
    place: PlacePlan | None = None
    file_system: LustreSize | None = None
    creator_is_admin: bool = False
    has_pod_logs: bool = False
    has_ungated_queue: bool = False
    queue_flavor: str = ""


NEW_STACK = RunningStack()


@dataclass(frozen=True)
class CompileContext:
    spec: Spec
    sizing: SizingPlan
    fit: Fit
    today: date
    now: datetime | None = None
    """Current time; None where only the date is known."""
    running: RunningStack = NEW_STACK
    catalog: Catalog = field(kw_only=True)
    """The catalog that the plan was sized with."""
    suffix: str = ""
    """Of names that belong to one workload: empty for the first of a stack, which keeps the names that it has alone; `-embed`."""
    serves: tuple[str, ...] = ()
    """Name of the workload where the stack has several."""

    @cached_property
    def each_workload(self) -> "tuple[CompileContext, ...]":
        """A context per workload, with its spec, plan and fit, and with zones that offer the machines of all."""
        if not self.spec.is_several:
            return (self,)
        fits = self.fit.each_workload
        known = [{*fit.candidate.zones} for fit in fits if fit.candidate.zones]
        common = set.intersection(*known) if known else set()
        found = []
        for index, (plan, fit) in enumerate(zip(self.sizing.each_workload, fits, strict=True)):
            zones = tuple(zone for zone in fit.candidate.zones if zone in common)
            name = self.spec.workloads[index].name
            found.append(
                replace(
                    self,
                    spec=self.spec.of_workload(index),
                    sizing=plan,
                    fit=replace(fit, candidate=replace(fit.candidate, zones=zones)),
                    suffix=f"-{name}" if index else "",
                    serves=(name,),
                )
            )
        return tuple(found)

    def named(self, name: str) -> str:
        """A name of a part that belongs to one workload of the stack."""
        return f"{name}{self.suffix}"

    @property
    def moment(self) -> datetime:
        return moment(self.today, self.now)

    @property
    def candidate(self) -> Candidate:
        return self.fit.candidate

    @property
    def place(self) -> Place:
        """The entry of `infra` that the candidate belongs to."""
        return self.spec.infra.places[self.candidate.place]

    @cached_property
    def machine(self) -> Machine:
        return self.catalog.machine(self.candidate.machine)

    @property
    def serve(self) -> Serve:
        """The serving workload. Raises Bug for training specs."""
        if not isinstance(self.spec.workload, Serve):
            raise Bug(f"a fleet for a workload of kind {self.spec.workload.kind}")
        return self.spec.workload

    @property
    def namespace(self) -> str:
        """Namespace of the team; in a cluster that other stacks share, with the stack's name, or the one of the spec."""
        team = f"team-{self.spec.workload.team}"
        return self.place.namespace or (f"{self.spec.name}-{team}" if profile(self.candidate.cloud).is_owned else team)

    @property
    def expires_on(self) -> str:
        """ISO date of expiry; empty without a time to live."""
        if self.running.expires_on is not None:
            return self.running.expires_on
        ttl = self.spec.blueprint.ttl
        return "" if ttl is None else (self.today + timedelta(days=math.ceil(ttl / DAY_S))).isoformat()

    @property
    def tags(self) -> tuple[tuple[str, str], ...]:
        own = {"rackwright-stack": self.spec.name} | ({"expires-on": self.expires_on} if self.expires_on else {})
        return tuple(sorted((self.spec.tags | own).items()))
