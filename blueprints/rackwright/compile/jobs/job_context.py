"""Input of a job: the spec, its fit, and the stack whose objects the job names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import Machine
from rackwright.sizing.metrics import ParallelLayout
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.spec.inventory import Inventory
from rackwright.spec.spec import Spec
from rackwright.spec.workload_parts import Run
from rackwright.stackplan import PoolPlan, StackPlan
from rackwright.stackplan.labels import is_fabric_config

WORKERS, SLICES = "workers", "slice"
"""Names of the replicated job: of machines, and of TPU slices."""
LOCAL_HOST = "127.0.0.1"


@dataclass(frozen=True)
class Launch:
    """The machines on which a launcher starts the command of `run`."""

    spec: Spec
    sizing: SizingPlan
    fit: Fit
    catalog: Catalog

    @property
    def run(self) -> Run:
        return self.spec.workload.run

    @property
    def layout(self) -> ParallelLayout:
        return self.fit.candidate.parallelism

    @cached_property
    def machine(self) -> Machine:
        return self.catalog.machine(self.fit.candidate.machine)

    @property
    def nodes(self) -> int:
        return self.fit.candidate.nodes

    @property
    def accelerators_per_node(self) -> int:
        return self.fit.candidate.accelerators_per_node

    @property
    def slices(self) -> int:
        """Number of TPU slices; 1 for other machines."""
        return max(1, self.fit.candidate.slices)

    @property
    def inventory(self) -> Inventory | None:
        """Inventory of the place; None outside own servers."""
        found = self.spec.infra.places[self.fit.candidate.place].inventory
        return None if isinstance(found, str) else found

    def host(self, rank: int) -> str:
        """Address of a machine, for its processes and those of the others; here of one machine alone."""
        return LOCAL_HOST


@dataclass(frozen=True)
class JobContext(Launch):
    """name: of the JobSet. outputs: those of the deployed stack by name, empty where they are not known. path: of the spec's file."""

    stack: StackPlan
    name: str
    outputs: Mapping[str, Any] = field(default_factory=dict)
    path: str = "SPEC"

    @property
    def pool(self) -> PoolPlan:
        """The pool of the sized machines, the first of a fallback."""
        return min((pool for pool in self.stack.pools if pool.does_the_work), key=lambda pool: pool.preference)

    @property
    def account(self) -> str:
        """Service account of the stack's jobs."""
        return self.objects("ServiceAccount")[0]["metadata"]["name"]

    @property
    def namespace(self) -> str:
        """Namespace of the team."""
        return self.objects("ServiceAccount")[0]["metadata"]["namespace"]

    @property
    def fabric_config(self) -> dict[str, Any] | None:
        """The ConfigMap with the fabric's settings for pods, which stacks on own servers have; None elsewhere, and on one machine."""
        if not self.fit.candidate.is_spread:
            return None
        return next((body for body in self.objects("ConfigMap") if is_fabric_config(body)), None)

    @property
    def replicated_job(self) -> str:
        return SLICES if self.pool.topology else WORKERS

    def host(self, rank: int) -> str:
        """Host name of a machine within the namespace (https://jobset.sigs.k8s.io/docs/concepts/): pod, and subdomain of the JobSet."""
        per_slice = self.nodes // self.slices
        return f"{self.name}-{self.replicated_job}-{rank // per_slice}-{rank % per_slice}.{self.name}"

    def object(self, key: str) -> dict[str, Any] | None:
        """Body of an object of the stack, by key of its manifest; None where the stack has none."""
        return next((manifest.body for manifest in self.stack.manifests if manifest.key == key), None)

    def objects(self, kind: str) -> list[dict[str, Any]]:
        """Bodies of the stack's objects of a kind."""
        return [manifest.body for manifest in self.stack.manifests if manifest.body["kind"] == kind]
