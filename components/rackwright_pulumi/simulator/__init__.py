"""A simulated AWS, Google Cloud and Kubernetes behind Pulumi's provider protocol. Guide: docs/simulator.md.

    from rackwright_pulumi.simulator import SimulatedCloud

Names are imported on first use: plugins and graph recorder need few of these modules, and `python -m` must not find its module imported.
"""

from typing import TYPE_CHECKING

from rackwright.lazy import on_first_use

if TYPE_CHECKING:
    from rackwright_pulumi.simulator.cloud import SimulatedCloud
    from rackwright_pulumi.simulator.computed import Context
    from rackwright_pulumi.simulator.engine import Engine, EngineFailure
    from rackwright_pulumi.simulator.provider.plugins import write_plugins
    from rackwright_pulumi.simulator.provider.provider import SimulatedProvider
    from rackwright_pulumi.simulator.schema.check import Failure
    from rackwright_pulumi.simulator.schema.difference import Differences, differences
    from rackwright_pulumi.simulator.store import Fault, Record

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
if not TYPE_CHECKING:  # with it, type checkers accept misspelt names
    __getattr__ = on_first_use(
        __name__,
        {
            "Context": "rackwright_pulumi.simulator.computed",
            "Differences": "rackwright_pulumi.simulator.schema.difference",
            "Engine": "rackwright_pulumi.simulator.engine",
            "EngineFailure": "rackwright_pulumi.simulator.engine",
            "Failure": "rackwright_pulumi.simulator.schema.check",
            "Fault": "rackwright_pulumi.simulator.store",
            "Record": "rackwright_pulumi.simulator.store",
            "SimulatedCloud": "rackwright_pulumi.simulator.cloud",
            "SimulatedProvider": "rackwright_pulumi.simulator.provider.provider",
            "differences": "rackwright_pulumi.simulator.schema.difference",
            "write_plugins": "rackwright_pulumi.simulator.provider.plugins",
        },
    )
