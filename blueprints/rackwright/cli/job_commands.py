"""Commands that use a built stack, or prepare it: job, next, images."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwright.cli.app import AsJson, Outputs, SpecPath, Today, app
from rackwright.cli.session import Session
from rackwright.cli.terminal import NOT_FEASIBLE, emit, tell
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.report.mirror_script import CopyTool

if TYPE_CHECKING:
    from rackwright.compile.jobs.write_job import Job
    from rackwright.workflow.decided import Decided

Kubeconfig = Annotated[
    Path | None, typer.Option("--kubeconfig", metavar="FILE", help="With --submit: kubeconfig of the cluster.", show_default="as kubectl")
]
ClusterContext = Annotated[str, typer.Option("--context", help="With --submit: context of the kubeconfig.", show_default="the current one")]


@app.command()
def job(
    spec: SpecPath,
    directory: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Write the job to this folder.", show_default="standard output")
    ] = None,
    name: Annotated[str, typer.Option("--name", help="Name of the job; a second run needs another.", show_default="the workload's")] = "",
    outputs: Outputs = None,
    submitted: Annotated[bool, typer.Option("--submit", help="Create the job in the queue, after a dry run, and follow it.")] = False,
    dry: Annotated[bool, typer.Option("--dry-run", help="With --submit: only check the job on the cluster.")] = False,
    detached: Annotated[bool, typer.Option("--detach", help="With --submit: do not follow status and log.")] = False,
    kubeconfig: Kubeconfig = None,
    context: ClusterContext = "",
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Write the training job as a JobSet or TrainJob, or submit it. It runs the spec's container and is not part of the stack."""
    if submitted and directory:
        raise UserError([Problem("U-usage", "--submit cannot be combined with --output", fix="run the command twice")])
    session = Session.of(spec, as_json, today)
    decided = session.decided()
    made = _job(session, decided, name, outputs)
    if submitted:
        require_record(session, decided)
        _submit(session, made, kubeconfig, context, dry=dry, detached=detached)
    else:
        _write(made, directory, as_json)


@app.command(name="next")
def next_command(spec: SpecPath, as_json: AsJson = False, today: Today = None) -> None:
    """Print the commands of day one: build, kubeconfig, check of the nodes, job, logs, dashboard, teardown."""
    from rackwright.workflow.day_one import day_one

    session = Session.of(spec, as_json, today)
    steps = day_one(session.decided(), str(session.path))
    if as_json:
        emit([asdict(step) for step in steps])
        return
    for step in steps:
        emit(f"# {step.text}\n{step.command}\n")


@app.command()
def images(
    spec: SpecPath,
    mirror: Annotated[
        str, typer.Option("--mirror", metavar="REGISTRY", help="Also name each in this registry.", show_default="`registry` of the spec")
    ] = "",
    script: Annotated[CopyTool | None, typer.Option("--format", help="Print a shell script that copies all of them to the mirror.")] = None,
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """List every chart, container image and add-on of the stack and its job, with digests where they are known."""
    from rackwright.report.artifacts import artifacts_of
    from rackwright.report.mirror_script import mirror_script

    if script and as_json:
        raise UserError([Problem("U-usage", "--format cannot be combined with --json", fix="run the command twice")])
    session = Session.of(spec, as_json or script is not None, today)
    registry = _registry(mirror) or session.spec.registry or ""
    if script and not registry:
        fix = "set `registry:` in the spec, or add --mirror mirror.example/ai"
        raise UserError(
            [Problem("U-mirror", "The script needs a mirror, and neither the spec nor the command names one", fix=fix)], str(spec)
        )
    found = artifacts_of(session.source_stack(), session.spec, registry)
    if script:
        emit(mirror_script(found, script).rstrip())
        return
    if as_json:
        emit([asdict(artifact) for artifact in found])
        return
    for artifact in found:
        note = f"  # {artifact.note}" if artifact.note else ""
        emit(f"{artifact.kind:6} {artifact.reference}{f' -> {artifact.mirror}' if artifact.mirror else ''}  ({artifact.used_by}){note}")


def _registry(mirror: str) -> str:
    """The registry of --mirror, in the form of `registry` of a spec. Raises UserError for another text."""
    from rackwright.spec.spec import REGISTRY

    registry = mirror.rstrip("/")
    if registry and not re.match(REGISTRY, registry):
        reason = f"--mirror has {mirror!r}, which is no registry"
        raise UserError([Problem("U-mirror", reason, fix="a host with an optional path and without https://, such as mirror.example/ai")])
    return registry


def _write(made: "Job", directory: Path | None, as_json: bool) -> None:
    from rackwright.files import write_text
    from rackwright.report.yaml_text import yaml_text

    if directory is None:
        emit(made.body if as_json else yaml_text([made.body]))
        return
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{made.name}.yaml"
    write_text(path, yaml_text([made.body]))
    emit({"ok": True, "files": [str(path)]} if as_json else f"wrote {path}\nnext: kubectl create -f {path}")


def _submit(session: Session, made: "Job", kubeconfig: Path | None, context: str, *, dry: bool, detached: bool) -> None:
    """Ends the command with 1 if the job failed."""
    from rackwright.workflow.cluster.api import ClusterApi
    from rackwright.workflow.cluster.submission import follow, submit

    api = ClusterApi(kubeconfig, context)
    submit(made, api, dry_run=dry)
    where = f"{made.namespace}/{made.name}"
    if dry or detached or session.as_json:
        text = f"{api.server} accepts job {where}; nothing was created" if dry else f"submitted {where} to {api.server}"
        emit({"ok": True, "job": where, "server": api.server, "created": not dry} if session.as_json else text)
    elif follow(made, api, emit).phase == "Failed":
        raise typer.Exit(NOT_FEASIBLE)


def require_record(session: Session, decided: "Decided") -> None:
    """A job needs the machines that were built, so its decision must be recorded."""
    if not decided.recorded:
        reason = "No decision is recorded, so the machines of the cluster are not known"
        raise UserError([Problem("D-missing", reason, fix=f"run `rackwright choose {session.path}`")], str(session.path))


def _job(session: Session, decided: "Decided", name: str, outputs: Path | None) -> "Job":
    """The job for the recorded machines, or for those of the first rank. Prints warnings; raises UserError when the stack runs no job."""
    from rackwright.workflow.cluster.training_job import training_job

    made = training_job(session.pipeline, decided, name, outputs)
    if not session.as_json:
        tell(made.warnings, str(session.path))
    return made
