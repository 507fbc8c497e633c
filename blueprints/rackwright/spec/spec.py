"""The whole of what the user writes."""

from typing import Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Id, Name, Part, PositiveInt, Text
from rackwright.spec.blueprint import Blueprint
from rackwright.spec.infra import Infra, SellerName
from rackwright.spec.quantity import Duration, Money, Percent
from rackwright.spec.workload import TRAINING, Workload

API_VERSION = "rackwright/v1"


class Goals(Part):
    """What counts as success. Limits cover the whole run for training, a month of 730 h for serving."""

    max_duration: Duration | None = None
    """Deadline, from start to end of the run."""
    max_cost: Money | None = None
    """Budget of the machines; a whole bill above it (disks, network, control plane) is warned of."""
    optimize_for: Literal["cost", "time", "balanced"] = "cost"
    """What decides between candidates that keep the limits."""


class Pricing(Part):
    """What differs from the list prices of the catalog."""

    discounts: dict[SellerName, Percent] = {}
    """Taken off the list prices of the cloud's machines, spot excepted."""
    commitments: tuple[dict, ...] = ()
    """Savings plans and committed use."""
    file: Text | None = None
    """CSV of own prices, relative to the spec."""


class Limits(Part):
    """The organisation's own."""

    accelerators: PositiveInt | None = None
    """Most accelerators a stack may hold."""
    regions: tuple[Id, ...] = ()
    """Patterns a region must match one of, such as `us-*`."""
    residency: Literal["us", "eu", "apac"] | None = None
    """Where data must stay."""


class ConfigRef(Part):
    """A secret of the stack's Pulumi configuration."""

    config: Id
    """Key set with `pulumi config set --secret`."""


class Acknowledgement(Part):
    """A warning that was read and accepted."""

    rule: Id
    """Rule id, such as V-13."""
    reason: Text
    """Why it is accepted."""


class Spec(Part):
    """What to run, what counts as success, and where it may run."""

    api_version: Literal["rackwright/v1"]
    """Version of this format."""
    name: Name
    """Name of the stack; part of every resource's name."""
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1)]
    """One training workload, or serving ones."""
    goals: Goals = Goals()
    """What counts as success."""
    infra: Infra
    """Where it may run."""
    blueprint: Blueprint = Blueprint()
    """The shape of what is built."""
    pricing: Pricing = Pricing()
    """What differs from list prices."""
    limits: Limits = Limits()
    """The organisation's own limits."""
    tags: dict[str, str] = {}
    """Put on every resource that takes tags or labels."""
    secrets: dict[Id, ConfigRef] = {}
    """Names for secrets of the stack's configuration; never values."""
    acknowledge: tuple[Acknowledgement, ...] = ()
    """Warnings that were read and accepted."""

    @property
    def workload(self) -> Workload:
        """The first workload: the one that decides the machines."""
        return self.workloads[0]

    @property
    def is_training(self) -> bool:
        return isinstance(self.workload, TRAINING)
