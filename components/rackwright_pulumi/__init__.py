"""Pulumi components that build what rackwright plans.

    from rackwright_pulumi import TrainingCluster

Importing this package imports no cloud SDK; the first use of a name does.
"""

import importlib

_HOMES = {
    "Box": "rackwright_pulumi.blueprints.box",
    "TrainingCluster": "rackwright_pulumi.blueprints.training_cluster",
    "InferenceFleet": "rackwright_pulumi.blueprints.inference_fleet",
    "TpuPod": "rackwright_pulumi.blueprints.tpu_pod",
    "declare": "rackwright_pulumi.build",
    "SimulatedCloud": "rackwright_pulumi.simulator",
    "record": "rackwright_pulumi.testing",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
