"""Changes that come from a provider: its own inputs, and the account or place that its resources take from it."""

from collections.abc import Iterator, Mapping
from typing import Any

from rackwright_pulumi.simulator.clusters import api_server
from rackwright_pulumi.simulator.computed import Context
from rackwright_pulumi.simulator.schema import facts as catalog
from rackwright_pulumi.simulator.schema.difference import Differences, InputChange

Inputs = Mapping[str, Any]


def provider_differences(cloud: str, old: Inputs, new: Inputs) -> Differences:
    """Compare two sets of inputs of one provider (without secret envelopes)."""
    forcing = _replacing_inputs(cloud, old, new)
    changed = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    return Differences(tuple(InputChange(key, "update", key in forcing) for key in changed))


def _replacing_inputs(cloud: str, old: Inputs, new: Inputs) -> tuple[str, ...]:
    """Provider inputs whose change replaces the provider and all of its resources; none on Google Cloud.

    Sources: pulumi-aws and pulumi-gcp provider/resources.go (ForcesProviderReplace); pulumi-kubernetes provider.go (DiffConfig).
    """
    if cloud == "kubernetes":
        same_server = api_server.server_address(old.get("kubeconfig")) == api_server.server_address(new.get("kubeconfig"))
        return ("clusterIdentifier",) if same_server or new.get("clusterIdentifier") else ("kubeconfig",)
    return tuple(catalog.TRAITS[cloud]["replaces_provider"]) if cloud in catalog.TRAITS else ()


def location_changes(token: str, state: Inputs, inputs: Inputs, context: Context) -> Iterator[InputChange]:
    """Replacements of resources that take project, region or zone from the provider, when the provider changes it."""
    facts = catalog.find(token)
    if facts is None or not catalog.TRAITS[facts.cloud]["moves_with_provider"]:
        return
    for key in ("project", "region", "zone"):
        value = getattr(context, key)
        if key in facts.replace and inputs.get(key) is None and value and state.get(key) not in (None, value):
            yield InputChange(key, "update", True)
