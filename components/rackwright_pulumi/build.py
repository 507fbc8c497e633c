"""Former place of `rackwright_pulumi.program.build`, kept for programs written by earlier releases of `rackwright new`."""

from rackwright_pulumi.program.build import build, declare

__all__ = ["build", "declare"]
