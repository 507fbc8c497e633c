"""The whole of what the user writes."""

from typing import Annotated, Literal

from pydantic import Field

from rackwright.spec.base import Name, Part, PositiveInt
from rackwright.spec.infra import Blueprint, Infra
from rackwright.spec.quantity import Duration, Money, Percent
from rackwright.spec.workload import TRAINING, Workload

API_VERSION = "rackwright/v1"


class Goals(Part):
    """What counts as success. Limits cover the whole run for training, a month of 730 h for serving."""

    max_duration: Duration | None = None
    max_cost: Money | None = None
    optimize_for: Literal["cost", "time", "balanced"] = "cost"


class Pricing(Part):
    discounts: dict[Literal["aws", "gcp"], Percent] = {}
    commitments: tuple[dict, ...] = ()
    file: str | None = None


class Limits(Part):
    """The organisation's own."""

    accelerators: PositiveInt | None = None
    regions: tuple[str, ...] = ()
    residency: Literal["us", "eu", "apac"] | None = None


class ConfigRef(Part):
    config: str


class Acknowledgement(Part):
    rule: str
    reason: Annotated[str, Field(min_length=1)]


class Spec(Part):
    """api_version, name, workloads and infra are required; the rest has the defaults of docs/spec.md."""

    api_version: Literal["rackwright/v1"]
    name: Name
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1)]
    goals: Goals = Goals()
    infra: Infra
    blueprint: Blueprint = Blueprint()
    pricing: Pricing = Pricing()
    limits: Limits = Limits()
    tags: dict[str, str] = {}
    secrets: dict[str, ConfigRef] = {}
    acknowledge: tuple[Acknowledgement, ...] = ()

    @property
    def workload(self) -> Workload:
        """The first workload: the one that decides the machines."""
        return self.workloads[0]

    @property
    def is_training(self) -> bool:
        return isinstance(self.workload, TRAINING)
