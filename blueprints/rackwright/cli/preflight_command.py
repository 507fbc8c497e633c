"""Command that checks the nodes of a built stack: preflight."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwright.cli.app import AsJson, SpecPath, Today, app
from rackwright.cli.job_commands import ClusterContext, Kubeconfig, require_record
from rackwright.cli.session import Session
from rackwright.cli.terminal import NOT_FEASIBLE, emit, tell
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem

if TYPE_CHECKING:
    from rackwright.compile.preflight.write_preflight import Preflight

Results = Annotated[
    Path | None, typer.Option("--results", metavar="DIR", help="With --submit: write results.json and junit.xml.", show_default=False)
]


@app.command()
def preflight(
    spec: SpecPath,
    directory: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Write the objects to this folder.", show_default="standard output")
    ] = None,
    image: Annotated[str, typer.Option("--image", help="Container image with digest.", show_default="that of the spec")] = "",
    submitted: Annotated[bool, typer.Option("--submit", help="Run the check, then label the nodes; failed nodes get a taint.")] = False,
    results: Results = None,
    kubeconfig: Kubeconfig = None,
    context: ClusterContext = "",
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Check GPUs, fabric and storage of the nodes before the queue starts jobs on them. Exit status 1: a check failed."""
    if submitted and directory:
        raise UserError([Problem("U-usage", "--submit cannot be combined with --output", fix="run the command twice")])
    from rackwright.workflow.cluster.preflight import preflight_for

    session = Session.of(spec, as_json, today)
    decided = session.decided()
    made = preflight_for(session.pipeline, decided, image)
    if not as_json:
        tell(made.warnings, str(session.path))
    if submitted:
        require_record(session, decided)
        _run(made, results, kubeconfig, context, as_json)
    else:
        _write(made, directory, as_json)


def _write(made: "Preflight", directory: Path | None, as_json: bool) -> None:
    from rackwright.files import write_text
    from rackwright.report.yaml_text import yaml_text

    together = made.cluster_objects(made.context.nodes) if made.has_cluster_check else []
    objects = {"1-nodes.yaml": made.node_objects} | ({"2-cluster.yaml": together} if together else {})
    if directory is None:
        bodies = [body for group in objects.values() for body in group]
        emit(bodies if as_json else yaml_text(bodies))
        return
    directory.mkdir(parents=True, exist_ok=True)
    for name, bodies in objects.items():
        write_text(directory / name, yaml_text(bodies))
    paths = [str(directory / name) for name in objects]
    emit({"ok": True, "files": paths} if as_json else "\n".join(f"wrote {path}" for path in paths))


def _run(made: "Preflight", directory: Path | None, kubeconfig: Path | None, context: str, as_json: bool) -> None:
    """Ends the command with 1 if a check failed."""
    from rackwright.workflow.cluster.node_api import NodeApi
    from rackwright.workflow.cluster.preflight import PreflightRun, write_results

    def show(line: str) -> None:
        if not as_json:
            emit(line)

    found = PreflightRun(made, NodeApi(kubeconfig, context), show).run()
    for path in write_results(found, directory) if directory else ():
        show(f"wrote {path}")
    for check in found.failures:
        show(f"failed {check.text}")
    good = sum(found.result_of(node) == "passed" for node in found.nodes)
    emit(found.to_json() if as_json else f"{good} of {len(found.nodes)} nodes passed")
    if not found.passed:
        raise typer.Exit(NOT_FEASIBLE)
