"""The command line: commands by group, `session` (one spec in the pipeline), `terminal` (output and exit statuses)."""

from typing import TYPE_CHECKING

from rackwright.lazy import on_first_use

if TYPE_CHECKING:
    from rackwright.cli.main import app, run

__all__ = ["app", "run"]
if not TYPE_CHECKING:  # with it, type checkers accept misspelt names
    __getattr__ = on_first_use(__name__, {"app": "rackwright.cli.main", "run": "rackwright.cli.main"})
