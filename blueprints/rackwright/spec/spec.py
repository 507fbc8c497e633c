"""`Spec`, the root model of the file, and the models of its short sections."""

from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import Field

from rackwright.spec.base import Id, Name, Part, PositiveInt, Text
from rackwright.spec.blueprint import Blueprint
from rackwright.spec.infra import Infra, SellerName
from rackwright.spec.purchase import Purchase
from rackwright.spec.quantity import Duration, Money, Percent
from rackwright.spec.workload import TRAINING, Workload

API_VERSION = "rackwright/v1"
REGISTRY = r"^([a-z0-9-]+(\.[a-z0-9-]+)+(:[0-9]{1,5})?|[a-z0-9.-]+:[0-9]{1,5})(/[a-z0-9]+([._-]+[a-z0-9]+)*)*$"
Registry = Annotated[str, Field(pattern=REGISTRY, description="a host with an optional path, such as mirror.example/ai, without https://")]


class Goals(Part):
    """Limits and objective. Limits apply to the whole run for training and batch, and to a month of 730 h for serving."""

    max_duration: Duration | None = None
    """Maximum time from start to end of the run."""
    max_cost: Money | None = None
    """Maximum of the whole bill at p80: machines, storage, network, control plane. Machines without a published price never satisfy it."""
    optimize_for: Literal["cost", "time", "balanced"] = "cost"
    """Objective that ranks the candidates within the limits."""


class Pricing(Part):
    """Changes to the list prices of the catalog."""

    discounts: dict[SellerName, Percent] = {}
    """Discount per cloud on the list prices of machines; spot prices are not discounted."""
    commitments: tuple[dict[str, Any], ...] = ()
    """Savings plans and committed use discounts; not supported in this release (N-09)."""
    file: Text | None = None
    """Path of a CSV file with negotiated prices, relative to the spec; not supported in this release (N-13)."""


class Limits(Part):
    """Limits set by the organisation."""

    accelerators: PositiveInt | None = None
    """Maximum number of accelerators in the stack."""
    regions: tuple[Id, ...] = ()
    """Patterns of allowed regions, such as `us-*`."""
    residency: Literal["us", "eu", "apac"] | None = None
    """Territory that data must not leave."""


class ConfigRef(Part):
    """Secret in the stack's Pulumi configuration."""

    config: Id
    """Configuration key, set with `pulumi config set --secret`."""


class Acknowledgement(Part):
    """Accepted warning."""

    rule: Id
    """Rule ID of the warning, such as V-13."""
    reason: Text
    """Reason for accepting the warning."""


class Correction(Part):
    """Factor on predictions of one kind, from the user's measured runs."""

    factor: Annotated[float, Field(ge=0.2, le=5, allow_inf_nan=False)]
    """Measured over predicted value."""
    runs: Annotated[int, Field(ge=0)]
    """Number of measured runs."""


class Corrections(Part):
    """Content of a file of `rackwright calibrate`."""

    base: Text
    """Version of the coefficients that the factors correct."""
    factors: dict[Text, Correction] = {}
    """Corrections by model, class and accelerator generation."""


class Spec(Part):
    """Workloads to run, goals to meet, and places to run them."""

    api_version: Literal["rackwright/v1"]
    """Version of the spec format."""
    name: Name
    """Name of the stack; part of every resource name."""
    workloads: Annotated[tuple[Workload, ...], Field(min_length=1)]
    """One workload, or several serving workloads, which share budget, quota and cluster; on AWS only (N-03). The first one keeps the
    resource names that it has alone, so append others."""
    goals: Goals = Goals()
    """Limits and objective of sizing."""
    infra: Infra
    """Places to run."""
    blueprint: Blueprint = Blueprint()
    """Overrides of what the stack builds."""
    purchase: Purchase | None = None
    """Servers to compare with `rackwright buy`, and the user's prices."""
    pricing: Pricing = Pricing()
    """Changes to the list prices of the catalog."""
    limits: Limits = Limits()
    """Limits set by the organisation."""
    tags: dict[str, str] = {}
    """Tags or labels set on every resource that supports them."""
    registry: Registry | None = None
    """Registry of mirrored charts and images: every chart and container image of the stack and its jobs comes from it. `rackwright images
    SPEC --format skopeo` prints the commands that fill it; add-ons of EKS still come from the registry of EKS."""
    secrets: dict[Id, ConfigRef] = {}
    """References to secrets of the stack's Pulumi configuration, by name; never values."""
    acknowledge: tuple[Acknowledgement, ...] = ()
    """Accepted warnings."""
    calibration: Text | Corrections | None = None
    """Path of a file of `rackwright calibrate`, relative to the spec; by default `<spec>.calibration.json` beside it, where that exists."""

    def secrets_of_layers(self, layers: Collection[str]) -> dict[str, ConfigRef]:
        """Secrets that the layers of a stack need: workloads all of them, operators those of their alerts and dashboards."""
        operators = {ref.secret for ref in self.blueprint.secret_refs.values()} if "operators" in layers else set()
        return {name: entry for name, entry in self.secrets.items() if "workloads" in layers or name in operators}

    @property
    def workload(self) -> Workload:
        """The first workload, which determines the machines."""
        return self.workloads[0]

    @property
    def is_several(self) -> bool:
        """Whether several serving workloads share the stack."""
        return len(self.workloads) > 1

    def of_workload(self, index: int) -> "Spec":
        """The spec with one of its workloads. Of several, each is a fleet, because they share a cluster."""
        if not self.is_several:
            return self
        fleet = self.blueprint.model_copy(update={"kind": "inference-fleet"})
        return self.model_copy(update={"workloads": (self.workloads[index],), "blueprint": fleet})

    @property
    def is_training(self) -> bool:
        return isinstance(self.workload, TRAINING)
