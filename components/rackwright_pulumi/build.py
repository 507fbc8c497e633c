"""Former name of `rackwright_pulumi.program.build`, used by programs that `rackwright new` of earlier releases wrote."""

from rackwright_pulumi.program.build import build, declare

__all__ = ["build", "declare"]
