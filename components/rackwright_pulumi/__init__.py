"""Pulumi components for the plans of rackwright.

    from rackwright_pulumi import TrainingCluster

Importing this package does not import a cloud SDK; the first use of a name does.
"""

from typing import TYPE_CHECKING

from rackwright.lazy import on_first_use

if TYPE_CHECKING:
    from rackwright_pulumi.blueprints.box import Box
    from rackwright_pulumi.blueprints.inference_fleet import InferenceFleet
    from rackwright_pulumi.blueprints.tpu_pod import TpuPod
    from rackwright_pulumi.blueprints.training_cluster import TrainingCluster
    from rackwright_pulumi.program.build import declare
    from rackwright_pulumi.simulator import SimulatedCloud
    from rackwright_pulumi.testing import record
    from rackwright_pulumi.unsupported import Unsupported

__all__ = ["Box", "InferenceFleet", "SimulatedCloud", "TpuPod", "TrainingCluster", "Unsupported", "declare", "record"]
if not TYPE_CHECKING:  # with it, type checkers accept misspelt names
    __getattr__ = on_first_use(
        __name__,
        {
            "Box": "rackwright_pulumi.blueprints.box",
            "InferenceFleet": "rackwright_pulumi.blueprints.inference_fleet",
            "SimulatedCloud": "rackwright_pulumi.simulator",
            "TpuPod": "rackwright_pulumi.blueprints.tpu_pod",
            "TrainingCluster": "rackwright_pulumi.blueprints.training_cluster",
            "Unsupported": "rackwright_pulumi.unsupported",
            "declare": "rackwright_pulumi.program.build",
            "record": "rackwright_pulumi.testing",
        },
    )
