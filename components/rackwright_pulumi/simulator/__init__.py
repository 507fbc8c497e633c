"""A simulated AWS, Google Cloud and Kubernetes that speaks Pulumi's provider protocol. docs/simulator.md is the guide.

from rackwright_pulumi.simulator import SimulatedCloud
"""

import importlib
from typing import Any

_HOMES = {
    "Context": "rackwright_pulumi.simulator.computed",
    "Differences": "rackwright_pulumi.simulator.difference",
    "Engine": "rackwright_pulumi.simulator.engine",
    "EngineFailure": "rackwright_pulumi.simulator.engine",
    "Failure": "rackwright_pulumi.simulator.check",
    "Fault": "rackwright_pulumi.simulator.store",
    "Record": "rackwright_pulumi.simulator.store",
    "SimulatedCloud": "rackwright_pulumi.simulator.cloud",
    "SimulatedProvider": "rackwright_pulumi.simulator.provider",
    "differences": "rackwright_pulumi.simulator.difference",
    "write_plugins": "rackwright_pulumi.simulator.plugins",
}
__all__ = [
    "Context",
    "Differences",
    "Engine",
    "EngineFailure",
    "Failure",
    "Fault",
    "Record",
    "SimulatedCloud",
    "SimulatedProvider",
    "differences",
    "write_plugins",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
