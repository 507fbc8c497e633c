"""Physical names: the input that holds the name, its length limit, and the scope in which it is unique."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rackwright_pulumi.simulator.computed.context import ResourceRequest, autoname, lower_case_name
from rackwright_pulumi.simulator.schema.facts import TRAITS, table

PLACES = ("region", "zone", "location")


@dataclass(frozen=True)
class Name:
    """unique: inputs, or fields of the context, whose combination is unique among resources of the type."""

    property: str = ""
    """The input that the provider fills in if it is not set; empty without one."""
    limit: int = 63
    unique: tuple[str, ...] = ()
    prefix: str = ""
    lower: bool = False
    taken_error: str = ""
    """AWS's error code for a name in use; empty for ResourceInUseException."""


NAMES = {
    row["type"]: Name(
        row["property"], int(row["limit"]), tuple(row["unique"].split()), row["prefix"], row["lower_case"] == "yes", row["taken_error"]
    )
    for row in table("names.csv")
}
"""Other types have ids from the cloud (``vpc-0123...``), and their names may repeat. Limits: rules V-01 to V-11 and the providers' docs."""


def physical_name(request: ResourceRequest, suffix: str | None = None) -> str | None:
    """The provider's name for a resource without a name, or with a prefix; None for types without a name input."""
    rule = NAMES.get(request.token)
    if rule is None or not rule.property:
        return None
    prefix = request.inputs.get(f"{rule.property}Prefix")
    if prefix is not None:
        return f"{prefix}{request.hex(26, 'suffix')}"
    base = lower_case_name(request.name) if rule.lower else request.name
    return rule.prefix + autoname(base, request.urn, rule.limit - len(rule.prefix), suffix=suffix)


def resource_name(request: ResourceRequest, prop: str = "name") -> str:
    """The physical name: the input, or the provider's generated name."""
    return str(request.get(prop) or physical_name(request) or request.name)


def unique_key(request: ResourceRequest) -> str | None:
    """Key that is unique among the resources of a cloud; None if the name may repeat."""
    if request.token.startswith("kubernetes:"):
        return kubernetes_key(request.token, request.inputs)
    rule = NAMES.get(request.token)
    if rule is None or not rule.unique:
        return None
    owners = {key: request.inputs.get(key) or getattr(request.context, key) for key in ("account", "project")}
    values = {**request.inputs, **owners}
    return "|".join([request.token, *(place(request, key) if key in PLACES else str(values.get(key)) for key in rule.unique)])


def place(request: ResourceRequest, kind: str) -> str:
    """The ``region``, ``zone`` or ``location`` of a resource: its own input, else the provider's, else the cloud's default."""
    context = request.context
    region = str(request.inputs.get("region") or context.region or TRAITS[request.token.partition(":")[0]]["default_region"])
    zone = str(request.inputs.get("zone") or context.zone or f"{region}-a")
    if kind == "location":
        return str(request.inputs.get("location") or request.inputs.get("zone") or request.inputs.get("region") or context.zone or region)
    return zone if kind == "zone" else region


def kubernetes_key(token: str, inputs: Mapping[str, Any]) -> str:
    """Group, kind, namespace and name; the provider adds the cluster."""
    meta = inputs.get("metadata") or inputs
    group = token.split(":")[1].rpartition("/")[0]
    return "|".join(["kubernetes", group, token.rpartition(":")[2], str(meta.get("namespace") or "default"), str(meta.get("name"))])
