"""The command-line application, its options, and the parameters shared by its commands."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from rackwright.cli.terminal import emit
from rackwright.units import YEARS

app = typer.Typer(
    name="rackwright",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

SpecPath = Annotated[Path, typer.Argument(metavar="SPEC", help="Path of a spec, such as stacks/llama-70b-sft.yaml.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]

Outputs = Annotated[
    Path | None,
    typer.Option("--outputs", metavar="FILE", help="Outputs of the stack: `pulumi stack output --json`.", show_default="not known"),
]


def _supported(today: datetime | None) -> datetime | None:
    if today and today.year not in YEARS:
        raise typer.BadParameter(f"the year must be from {YEARS[0]} to {YEARS[-1]}, got {today.year}")
    return today


Today = Annotated[
    datetime | None,
    typer.Option("--today", formats=["%Y-%m-%d"], callback=_supported, help="Date of the plan and its time to live.", show_default="today"),
]


def _version(requested: bool) -> None:
    if requested:
        from importlib.metadata import version

        emit(f"rackwright {version('rackwright')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Choose machines for an AI workload, explain the choice, and build them with Pulumi.

    Exit status: 0 done, 1 no candidate meets the goals, 2 invalid input, 3 a defect of rackwright.
    """
