"""Entry point of the command line. Exit statuses are those of `rackwright.cli.terminal`."""

import sys
from collections.abc import Sequence

from rackwright.cli import estimator_commands, project_commands, spec_commands  # noqa: F401, registers the commands
from rackwright.cli.app import app
from rackwright.cli.terminal import guarded


def _own_commands() -> set[str]:
    """Commands of this package, which need no look for others."""
    return {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}


def _register_plugins() -> None:
    """Commands of other packages, such as `graph`. Registering twice is harmless."""
    from importlib.metadata import entry_points

    for entry in entry_points(group="rackwright.commands"):
        entry.load()(app)


def run(arguments: Sequence[str] | None = None) -> int:
    """One command as the shell would run it; returns its exit status and never raises."""
    given = list(sys.argv[1:] if arguments is None else arguments)

    def command() -> int | None:
        if not given or given[0] not in _own_commands():
            _register_plugins()
        return app(given, prog_name="rackwright", standalone_mode=False)

    return guarded(command, "--json" in given)


def main() -> None:
    raise SystemExit(run())


if __name__ == "__main__":
    main()
