"""The Pulumi program: settings and decision, resources, teardown."""

from rackwright_pulumi.program.settings import Settings, decide

__all__ = ["Settings", "decide"]
