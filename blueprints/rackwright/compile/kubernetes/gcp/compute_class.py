"""Order of a fallback on GKE: a ComputeClass over the stack's pools, of which GKE's autoscaler grows the first one with capacity.

https://cloud.google.com/kubernetes-engine/docs/concepts/about-custom-compute-classes
"""

from dataclasses import replace

from rackwright.compile.kubernetes.manifests import obj
from rackwright.stackplan import ManifestPlan, PoolPlan, TaintPlan
from rackwright.stackplan.labels import COMPUTE_CLASS_LABEL, ROLE_LABEL
from rackwright.stackplan.operators import COMPUTE_CLASS


def in_compute_class(pools: tuple[PoolPlan, ...], stack: str) -> tuple[PoolPlan, ...]:
    """The pools of a fallback with the label and the taint by which GKE assigns them to their class; a pool alone is unchanged."""
    if len(pools) < 2:
        return pools
    name = _class_name(pools, stack)
    return tuple(
        replace(
            pool,
            provisioner=COMPUTE_CLASS,
            autoscaled=False,  # by GKE, not by the cluster autoscaler of the stack
            labels=(*pool.labels, (COMPUTE_CLASS_LABEL, name)),
            taints=(*pool.taints, TaintPlan(COMPUTE_CLASS_LABEL, name)),
        )
        for pool in pools
    )


def compute_class(pools: tuple[PoolPlan, ...], stack: str) -> tuple[ManifestPlan, ...]:
    """The ComputeClass of the pools of a fallback, most preferred first; empty for a single pool. GKE adds no further pools to it."""
    if len(pools) < 2:
        return ()
    ordered = sorted(pools, key=lambda pool: pool.preference)
    spec = {"priorities": [{"nodepools": [pool.name]} for pool in ordered], "whenUnsatisfiable": "DoNotScaleUp"}
    body = obj("cloud.google.com/v1", "ComputeClass", _class_name(pools, stack), spec=spec)
    return (ManifestPlan("fallback.compute-class", body),)


def _class_name(pools: tuple[PoolPlan, ...], stack: str) -> str:
    """Unique in a cluster of several stacks. It must not begin with `gke` or `autopilot`, as the name of a stack may."""
    return f"{dict(pools[0].labels)[ROLE_LABEL]}-{stack}"
