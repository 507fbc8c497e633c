"""The command-line application, its options, and the parameters that commands share."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from rackwright.cli.terminal import emit

app = typer.Typer(
    name="rackwright",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

SpecPath = Annotated[Path, typer.Argument(metavar="SPEC", help="The spec, such as stacks/llama-70b-sft.yaml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
Today = Annotated[datetime | None, typer.Option("--today", formats=["%Y-%m-%d"], help="The date to plan for.", show_default="today")]


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        emit(f"rackwright {version('rackwright')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Say what AI workload you want to run; get the machines, the reasons, and the Pulumi stack that builds them.

    Exit status: 0 done, 1 nothing meets the goals, 2 the input is wrong.
    """
