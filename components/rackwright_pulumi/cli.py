"""Commands that need the resource graph. pulumi is imported when one of them runs."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rackwright.cli.app import AsJson, SpecPath, Today
from rackwright.cli.session import Session
from rackwright.cli.terminal import BAD_INPUT, NOT_FEASIBLE, emit, working
from rackwright.clouds import supports
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.report.graph_formats import GraphFormat, as_dot, as_mermaid
from rackwright.report.terminal.layout.console import console

from rackwright_pulumi.manifest_layouts.command import manifests
from rackwright_pulumi.recorded_stack import graph_of, recorded

if TYPE_CHECKING:
    from rackwright.stackplan import StackPlan


Layers = Annotated[
    str, typer.Option("--layers", metavar="NAMES", help="Only these layers, as in rackwright:layers: base,cluster.", show_default="all")
]
UpstreamStack = Annotated[
    str,
    typer.Option("--upstream-stack", metavar="STACK", help="The stack with the earlier layers: rackwright:below.", show_default=""),
]


def register(app: typer.Typer) -> None:
    """Add the commands to the application, once."""
    known = {command.callback for command in app.registered_commands}
    for command in (graph, diff, policy, lookup, doctor, manifests):
        if command not in known:
            app.command()(command)


def graph(
    spec: SpecPath,
    as_json: AsJson = False,
    form: Annotated[GraphFormat, typer.Option("--format", help="A tree, Graphviz DOT or a Mermaid flowchart.")] = GraphFormat.TREE,
    layers: Layers = "",
    upstream_stack: UpstreamStack = "",
    today: Today = None,
) -> None:
    """Print every resource of the recorded or first choice. Needs no cloud and no Pulumi CLI."""
    found = graph_of(Session.of(spec, as_json or form is not GraphFormat.TREE, today, layers, upstream_stack))
    if as_json or form is not GraphFormat.TREE:
        emit(found if as_json else as_dot(found) if form is GraphFormat.DOT else as_mermaid(found))
        return
    from rackwright.report.terminal import stack as stack_text

    stack_text.show_graph(console(), found)


def diff(
    old: Annotated[
        Path, typer.Argument(metavar="OLD", help="A spec, a graph of `rackwright graph --json`, or a state of `pulumi stack export`.")
    ],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The changed spec, graph or state.")],
    layers: Layers = "",
    upstream_stack: UpstreamStack = "",
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """List what an update would create, change, replace and delete. Needs no cloud and no Pulumi CLI."""
    from rackwright_pulumi.testing.diff import compare

    def read(path: Path, stack: str = "", project: str = "") -> dict[str, Any]:
        return _read(path, lambda: graph_of(Session.of(path, as_json, today, layers, upstream_stack), stack, project))

    before = read(old)
    after = read(new, before.get("stack", ""), before.get("project", ""))
    changes = [change.as_json() for change in compare(before, after)]
    if as_json:
        emit(changes)
        return
    from rackwright.report.terminal import stack as stack_text

    stack_text.show_diff(console(), changes)


def policy(
    spec: SpecPath,
    preview: Annotated[bool, typer.Option("--preview", help="Only the permissions for `pulumi preview` and `pulumi refresh`.")] = False,
    layers: Layers = "",
    upstream_stack: UpstreamStack = "",
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Print what `pulumi up` may do: IAM policies on AWS, each within the size limit of a managed policy; custom roles on Google Cloud."""
    del as_json  # always JSON
    session = Session.of(spec, True, today, layers, upstream_stack)
    plan = session.stack()
    from rackwright_pulumi.deployer.by_cloud import deployer_policy
    from rackwright_pulumi.testing.placeholders import WILDCARD

    document, warning = deployer_policy(recorded(session, session.path.stem, placeholder=WILDCARD), plan, preview)
    if warning:
        print(f"warning: {warning}", file=sys.stderr)
    emit(document)


def lookup(
    spec: SpecPath,
    profile: Annotated[str | None, typer.Option(help="Profile of the AWS configuration.", show_default="from the environment")] = None,
    quotas: Annotated[
        Path | None, typer.Option("--write-quotas", help="Also write the quotas of the account to this file, for `quotas` of a spec.")
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit with 1 if something differs or was not checked.")] = False,
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Compare a plan with the AWS account or the Google Cloud project, read only: machine types, zones, images, versions and quotas.

    On Google Cloud it uses the Google Cloud CLI and its credentials.

    Exit status 2 where nothing could be checked, such as without credentials; with --strict it is 1.
    """
    session = Session.of(spec, as_json, today)
    plan = session.stack()
    from rackwright_pulumi.lookup import command
    from rackwright_pulumi.lookup.by_cloud import look_up_stack

    with working("reading the account", as_json):
        found = look_up_stack(plan, profile, quotas, session.today)
    if as_json:
        emit(command.as_json(found))
    else:
        for line in command.as_lines(found):
            console().print(line, highlight=False, markup=False)
    if strict and (found.problems or found.unasked):
        raise typer.Exit(NOT_FEASIBLE)
    if not found.agreed and not found.problems:
        raise typer.Exit(BAD_INPUT)


def doctor(
    spec: SpecPath,
    state: Annotated[Path, typer.Argument(metavar="STATE", help="The state of the stack, written by `pulumi stack export --file STATE`.")],
    simulated: Annotated[
        Path | None, typer.Option("--simulated", help="File of the simulated cloud.", show_default="the AWS account")
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Profile of the AWS configuration.", show_default="from the environment")] = None,
    imports: Annotated[Path | None, typer.Option("--imports", help="Also write the file for `pulumi import --file`.")] = None,
    layers: Layers = "",
    upstream_stack: UpstreamStack = "",
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """List resources that the cloud has and the state lacks, with the command that imports each. Read only."""
    session = Session.of(spec, as_json, today, layers, upstream_stack)
    plan = session.stack() if simulated else _on_aws(session)
    from rackwright_pulumi.doctor import account_inventory, command, diagnose, simulated_inventory
    from rackwright_pulumi.lookup import Account

    deployed = _read(state, lambda: graph_of(Session.of(state, as_json, today)))
    declared = graph_of(session, deployed.get("stack", ""), deployed.get("project", ""))
    stack = dict(plan.tags).get("rackwright-stack", plan.name)
    with working("listing resources", as_json):
        if simulated:
            inventory = simulated_inventory(command.existing(simulated))
        else:
            inventory = command.answered(lambda: account_inventory(Account.of(plan.place.region, profile), stack))
    found = diagnose(declared, deployed, inventory, stack)
    if imports:
        command.write_imports(imports, found)
    if as_json:
        emit(found.as_json())
        return
    for line in command.as_lines(found):
        console().print(line, highlight=False, markup=False, soft_wrap=True)


def _on_aws(session: Session) -> "StackPlan":
    plan = session.stack()
    if not supports(plan.place.cloud, "lookup"):
        raise UserError([Problem("U-aws", f"the stack is on {plan.place.cloud}, and this command is for AWS", fix="name a spec on aws")])
    return plan


def _read(path: Path, graph_of_spec: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A graph from a file with the suffix .json, else of a spec."""
    if path.suffix != ".json":
        return graph_of_spec()
    from rackwright_pulumi.stack_export import read_graph

    return read_graph(path)
