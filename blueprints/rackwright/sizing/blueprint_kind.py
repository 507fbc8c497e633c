"""The kind of stack that a candidate gets: the spec's, or for `auto` the one that fits the workload and the machines."""

from rackwright.clouds import profile
from rackwright.sizing.offers.offer import CPU
from rackwright.sizing.plan import Candidate
from rackwright.spec.spec import Spec


def blueprint_kind(spec: Spec, candidate: Candidate) -> str:
    """The kind in the spec; for `auto`, the kind that fits the workload, the accelerator, the number of nodes and the spec's cluster."""
    if spec.blueprint.kind != "auto":
        return spec.blueprint.kind
    if candidate.accelerator == CPU:
        return "box"
    if spec.workload.kind == "serve":
        return "inference-fleet"
    if candidate.topology:
        return "tpu-pod"
    return "box" if candidate.nodes == 1 and not joins_cluster(spec) else "training-cluster"


def joins_cluster(spec: Spec) -> bool:
    """Whether the spec names the cluster that runs the workload, so that a machine outside a cluster is no answer."""
    return spec.blueprint.cluster != "new"


def possible_kinds(spec: Spec) -> frozenset[str]:
    """Every kind that `blueprint_kind` can return for a candidate that this release builds on a cloud of the spec."""
    if spec.blueprint.kind != "auto":
        return frozenset({spec.blueprint.kind})
    kinds = {"tpu-pod", "inference-fleet" if spec.workload.kind == "serve" else "training-cluster"}
    kinds |= set() if joins_cluster(spec) else {"box"}
    return frozenset(kinds & {kind for place in spec.infra.places for kind in profile(place.cloud).blueprints} or kinds)
