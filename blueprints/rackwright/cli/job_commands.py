"""Commands that use a built stack: job."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwright.cli.app import AsJson, SpecPath, Today, app
from rackwright.cli.session import Session
from rackwright.cli.terminal import emit, tell

if TYPE_CHECKING:
    from rackwright.compile.jobs.write_job import Job

Outputs = Annotated[
    Path | None,
    typer.Option("--outputs", metavar="FILE", help="Outputs of the stack: `pulumi stack output --json`.", show_default="not known"),
]


@app.command()
def job(
    spec: SpecPath,
    directory: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Write the JobSet to this folder.", show_default="standard output")
    ] = None,
    name: Annotated[
        str, typer.Option("--name", help="Name of the JobSet; a second run needs another.", show_default="the workload's")
    ] = "",
    outputs: Outputs = None,
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Write the training job as a JobSet. It runs the spec's container on the planned machines and is not part of the stack."""
    from rackwright.files import write_text
    from rackwright.report.yaml_text import yaml_text

    session = Session.of(spec, as_json, today)
    made = _job(session, name, outputs)
    if directory is None:
        emit(made.body if as_json else yaml_text([made.body]))
        return
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{made.name}.yaml"
    write_text(path, yaml_text([made.body]))
    emit({"ok": True, "files": [str(path)]} if as_json else f"wrote {path}\nnext: kubectl create -f {path}")


def _job(session: Session, name: str, outputs: Path | None) -> "Job":
    """The job of the recorded or first choice. Prints its warnings. Raises UserError where there is none."""
    from rackwright.workflow.training_job import training_job

    made = training_job(session.pipeline, session.decided(), name, outputs)
    if not session.as_json:
        tell(made.warnings, str(session.path))
    return made
