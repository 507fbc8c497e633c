"""Entry point of the command line. Exit statuses are those of `rackwright.cli.terminal`."""

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache

from typer.main import get_command

from rackwright.cli import (  # noqa: F401, registers the commands
    cluster_commands,
    estimator_commands,
    job_commands,
    preflight_command,
    project_commands,
    purchase_commands,
    spec_commands,
)
from rackwright.cli.app import app
from rackwright.cli.terminal import guarded


def _register_plugins() -> None:
    """Adds the commands of other packages, such as `graph`. May be called twice."""
    from importlib.metadata import entry_points

    for entry in entry_points(group="rackwright.commands"):
        entry.load()(app)


@lru_cache(maxsize=1)
def _parser(commands: int) -> Callable[..., int | None]:
    """The parser of the application, made again when commands were registered. commands: their number."""
    return get_command(app)


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit status; never raises. arguments: those of the process when None."""
    given = list(sys.argv[1:] if arguments is None else arguments)

    def command() -> int | None:
        registered = {command.name or getattr(command.callback, "__name__", "") for command in app.registered_commands}
        if not given or given[0] not in registered:
            _register_plugins()
        return _parser(len(app.registered_commands))(given, prog_name="rackwright", standalone_mode=False)

    return guarded(command, "--json" in given)


def main() -> None:
    raise SystemExit(run())


if __name__ == "__main__":
    main()
