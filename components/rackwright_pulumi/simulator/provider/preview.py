"""State of a resource in a preview: its inputs, outputs that an update keeps, and the unknown marker for the rest."""

from itertools import zip_longest
from typing import Any

from rackwright_pulumi.simulator.provider.values import UNKNOWN, holds_unknown
from rackwright_pulumi.simulator.schema import facts as catalog

CHANGED_BY_UPDATE = {"aws:ec2/launchTemplate:LaunchTemplate": ("latestVersion", "defaultVersion")}
"""Outputs that an update changes, so that they are unknown in its preview."""
CLOUD_FIELDS = {
    "aws:ec2/instance:Instance": ("rootBlockDevice.volumeId",),
    "aws:eks/cluster:Cluster": ("vpcConfig.clusterSecurityGroupId", "vpcConfig.vpcId"),
    "gcp:compute/instance:Instance": ("networkInterfaces.networkIp",),
    "gcp:container/cluster:Cluster": ("masterAuth.clusterCaCertificate", "controlPlaneEndpointsConfig.dnsEndpointConfig.endpoint"),
    "gcp:filestore/instance:Instance": ("networks.ipAddresses",),
}
"""Fields that the cloud adds to objects of the program."""


def preview_state(token: str, inputs: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    """The state in a preview of a creation, or with the ``old`` state of an update. Unknown values are the marker."""
    facts = catalog.find(token)
    declared = facts.outputs if facts else {}
    if old is None:
        state = {**{k: UNKNOWN for k in declared if k not in inputs}, **inputs}
        for path in CLOUD_FIELDS.get(token, ()):
            state = _mark_unknown(state, path.split("."))
        return state
    kept = {k: v for k, v in old.items() if k in declared and (k not in inputs or _extends(v, inputs[k]))}
    state = {**inputs, **kept, **dict.fromkeys(CHANGED_BY_UPDATE.get(token, ()), UNKNOWN)}
    for path in CLOUD_FIELDS.get(token, ()):
        state = _keep_cloud_fields(state, old, path.split("."))
    return state


def with_cloud_fields(given: dict[str, Any], computed: dict[str, Any]) -> dict[str, Any]:
    """Inputs with the fields that the cloud adds to their objects at any depth (vpcConfig gets a security group)."""
    nested = {
        key: with_cloud_fields(value, computed[key])
        for key, value in given.items()
        if isinstance(value, dict) and isinstance(computed.get(key), dict)
    }
    return {**computed, **given, **nested}


def _keep_cloud_fields(value: Any, old: Any, path: list[str]) -> Any:
    """A copy that keeps the cloud's value at the path when another part of the object is updated."""
    if isinstance(value, list):
        before = old if isinstance(old, list) else []
        return [_keep_cloud_fields(item, was, path) for item, was in zip_longest(value, before[: len(value)])]
    if not isinstance(value, dict) or not isinstance(old, dict) or old.get(path[0]) is None:
        return value
    head, *rest = path
    if value.get(head) is None:
        return {**value, head: old[head]}
    return {**value, head: _keep_cloud_fields(value[head], old[head], rest)} if rest else value


def _mark_unknown(value: Any, path: list[str]) -> Any:
    """A copy with the marker at the end of the path, or at its first object that the program does not set."""
    if isinstance(value, list):
        return [_mark_unknown(item, path) for item in value]
    if not isinstance(value, dict):
        return value
    head, *rest = path
    if value.get(head) is None:
        return {**value, head: UNKNOWN}
    return {**value, head: _mark_unknown(value[head], rest)} if rest else value


def _extends(returned: Any, given: Any) -> bool:
    """Whether the cloud's object has all fields of the given one, and more."""
    if not (isinstance(returned, dict) and isinstance(given, dict)) or holds_unknown(given):
        return False
    return set(returned) > set(given) and all(returned[k] == v for k, v in given.items())
