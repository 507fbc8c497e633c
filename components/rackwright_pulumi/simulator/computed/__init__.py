"""Well-formed values for what only the cloud knows: one pure function, used by the simulated providers and by the graph recorder."""

from collections.abc import Mapping
from typing import Any

from rackwright_pulumi.simulator.computed import aws, gcp, kubernetes
from rackwright_pulumi.simulator.computed.context import Context, ResourceRequest
from rackwright_pulumi.simulator.schema import facts as catalog

__all__ = ["Context", "ResourceRequest", "computed"]

EMPTY = {"str": "", "int": 0, "num": 0.0, "bool": False}


def computed(token: str, name: str, urn: str, inputs: Mapping[str, Any], context: Context) -> tuple[str, dict[str, Any]]:
    """The id of a resource and the outputs its cloud would compute.

    inputs: plain values in the SDK's wire names, secrets opened, nothing unknown. Outputs that repeat an input are left out, except
    objects to which the cloud adds fields (``vpcConfig`` gains a security group): these come whole.
    Equal arguments give equal values. A type that is not covered gets an id and no outputs.
    """
    asked = ResourceRequest(token, name, urn, inputs, context)
    cloud = token.partition(":")[0]
    if cloud == "kubernetes":
        resource_id, outputs = kubernetes.manifest(asked)
    elif cloud in MAKERS and token in MAKERS[cloud].MAKERS:
        resource_id, outputs = MAKERS[cloud].MAKERS[token](asked)
        outputs = MAKERS[cloud].tagged(asked, outputs)
    else:
        return asked.uuid(), {}
    return resource_id, _declared(token, inputs, outputs)


MAKERS = {cloud.__name__.rpartition(".")[2]: cloud for cloud in (aws, gcp)}


def _declared(token: str, inputs: Mapping[str, Any], outputs: dict[str, Any]) -> dict[str, Any]:
    """Only outputs the type has, without echoes of the inputs; those nothing is known of are empty, as the providers leave them."""
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
