"""Computed outputs of resources: one pure function for the simulated providers and the graph recorder."""

from collections.abc import Mapping
from typing import Any

from rackwright_pulumi.simulator.computed import aws, gcp, kubernetes
from rackwright_pulumi.simulator.computed.context import Context, ResourceRequest
from rackwright_pulumi.simulator.schema import facts as catalog

__all__ = ["Context", "ResourceRequest", "computed"]

EMPTY = {"str": "", "int": 0, "num": 0.0, "bool": False}


def computed(token: str, name: str, urn: str, inputs: Mapping[str, Any], context: Context) -> tuple[str, dict[str, Any]]:
    """The id of a resource and the outputs that its cloud computes.

    inputs: plain values by wire name, without secret envelopes and unknown values. Outputs equal to an input are omitted, except objects
    to which the cloud adds fields (``vpcConfig`` gets a security group); these are complete.
    Equal arguments give equal values. An unsupported type has an id and no outputs.
    """
    request = ResourceRequest(token, name, urn, inputs, context)
    cloud = token.partition(":")[0]
    if cloud == "kubernetes":
        resource_id, outputs = kubernetes.manifest(request)
    elif cloud in MAKERS and token in MAKERS[cloud].MAKERS:
        resource_id, outputs = MAKERS[cloud].MAKERS[token](request)
        outputs = MAKERS[cloud].add_tags(request, outputs)
    else:
        return request.uuid(), {}
    return resource_id, _declared(token, inputs, outputs)


MAKERS = {cloud.__name__.rpartition(".")[2]: cloud for cloud in (aws, gcp)}


def _declared(token: str, inputs: Mapping[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
    """Outputs that the type declares and that differ from the inputs. Others are empty, as in the providers."""
    facts = catalog.find(token)
    if facts is None:
        return outputs
    empty = {k: _empty(kind) for k, kind in facts.outputs.items() if k not in facts.inputs and facts.cloud != "kubernetes"}
    return {
        k: v
        for k, v in {**empty, **outputs}.items()
        if k in facts.outputs and (inputs.get(k) is None or (isinstance(v, dict | list) and v != inputs[k]))
    }


def _empty(kind: str) -> Any:
    if kind.startswith("["):
        return []
    return {} if kind.startswith("{") else EMPTY.get(kind)
