"""From a fit to a StackPlan. `compile_plan` is imported on first use, so that components reading only the wants load nothing else.

what comes out       wants/
the way there        compile (the steps), draft (what all read), refuse and refusal_ids, pinned (a decision's versions), aws, guest
one per blueprint    box, training, eks_fleet, gke_fleet, tpu
place and network    place, network, addresses
machines             bought and capacity (how they are paid), pools, images, fabric, hardware (the catalog's facts)
storage              storage (buckets, a box's disk), lustre, lustre_clients (who reads it how), storage_objects (as pods see it)
the cluster          cluster, addons, releases and versions, devices (drivers), karpenter, autoscaler, lws
inside it            manifests (the usual objects), queues, replica and serving (a model's server), neuron, eks_serving, gke_serving
money                guard
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rackwright.compile.compile import compile_plan

__all__ = ["compile_plan"]


def __getattr__(name: str) -> Any:
    if name == "compile_plan":
        from rackwright.compile.compile import compile_plan

        return compile_plan
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
