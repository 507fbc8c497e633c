"""What a preview can know of a resource: its inputs, what an update keeps, and the marker for everything else."""

from itertools import zip_longest
from typing import Any

from rackwright_pulumi.simulator.provider.values import UNKNOWN, holds_unknown
from rackwright_pulumi.simulator.schema import facts as catalog

VOLATILE = {"aws:ec2/launchTemplate:LaunchTemplate": ("latestVersion", "defaultVersion")}
"""Outputs that an update changes, so that a preview of one cannot know them."""
FILLED = {
    "aws:ec2/instance:Instance": ("rootBlockDevice.volumeId",),
    "aws:eks/cluster:Cluster": ("vpcConfig.clusterSecurityGroupId", "vpcConfig.vpcId"),
    "gcp:compute/instance:Instance": ("networkInterfaces.networkIp",),
    "gcp:container/cluster:Cluster": ("masterAuth.clusterCaCertificate", "controlPlaneEndpointsConfig.dnsEndpointConfig.endpoint"),
    "gcp:filestore/instance:Instance": ("networks.ipAddresses",),
}
"""Fields the cloud fills in inside objects that the program gives."""


def foreseen(token: str, inputs: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    """The state a preview shows: of a creation, or with the ``old`` state of an update. Unknown values are the marker."""
    facts = catalog.find(token)
    declared = facts.outputs if facts else {}
    if old is None:
        state = {**{k: UNKNOWN for k in declared if k not in inputs}, **inputs}
        for path in FILLED.get(token, ()):
            state = _marked(state, path.split("."))
        return state
    kept = {k: v for k, v in old.items() if k in declared and (k not in inputs or _extends(v, inputs[k]))}
    state = {**inputs, **kept, **dict.fromkeys(VOLATILE.get(token, ()), UNKNOWN)}
    for path in FILLED.get(token, ()):
        state = _carried(state, old, path.split("."))
    return state


def _carried(value: Any, old: Any, path: list[str]) -> Any:
    """A copy that keeps what the cloud had filled in at the path, when another part of the object is updated."""
    if isinstance(value, list):
        before = old if isinstance(old, list) else []
        return [_carried(item, was, path) for item, was in zip_longest(value, before[: len(value)])]
    if not isinstance(value, dict) or not isinstance(old, dict) or old.get(path[0]) is None:
        return value
    head, *rest = path
    if value.get(head) is None:
        return {**value, head: old[head]}
    return {**value, head: _carried(value[head], old[head], rest)} if rest else value


def _marked(value: Any, path: list[str]) -> Any:
    """A copy with the marker at the end of the path, or at the first object of it that the program left out."""
    if isinstance(value, list):
        return [_marked(item, path) for item in value]
    if not isinstance(value, dict):
        return value
    head, *rest = path
    if value.get(head) is None:
        return {**value, head: UNKNOWN}
    return {**value, head: _marked(value[head], rest)} if rest else value


def _extends(answered: Any, given: Any) -> bool:
    """The cloud's object holds the given one and more."""
    if not (isinstance(answered, dict) and isinstance(given, dict)) or holds_unknown(given):
        return False
    return set(answered) > set(given) and all(answered[k] == v for k, v in given.items())
