"""Commands that need the resource graph. pulumi is imported when one of them runs."""

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rackwright.cli.app import AsJson, SpecPath, Today
from rackwright.cli.session import Session
from rackwright.cli.terminal import BAD_INPUT, NOT_FEASIBLE, emit, working
from rackwright.clouds import AWS, GCP, supports
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.report.graph_formats import GraphFormat, as_dot, as_mermaid
from rackwright.report.terminal.layout.console import console

from rackwright_pulumi.manifest_layouts.command import manifests
from rackwright_pulumi.recorded_stack import graph_of, recorded

if TYPE_CHECKING:
    from rackwright.stackplan import StackPlan

    from rackwright_pulumi.lookup import Answers
    from rackwright_pulumi.resource_graph import Graph

F = TypeVar("F", bound=Callable[..., Any])


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
    from rackwright_pulumi.testing.placeholders import WILDCARD

    documents = _of_cloud(plan, {AWS.name: _aws_policies, GCP.name: _gcp_roles})
    document, warning = documents(recorded(session, session.path.stem, placeholder=WILDCARD), plan, preview)
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

    compared = _of_cloud(plan, {AWS.name: _compared_with_aws, GCP.name: _compared_with_google})
    with working("reading the account", as_json):
        found = compared(session, plan, profile, quotas)
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


def _of_cloud(plan: "StackPlan", functions: Mapping[str, F]) -> F:
    """The function of the plan's cloud. Raises UserError for a cloud without one."""
    if plan.place.cloud not in functions:
        reason = f"The stack is on {plan.place.cloud}, which this command does not support"
        raise UserError([Problem("U-aws", reason, fix=f"name a spec on {' or '.join(functions)}")])
    return functions[plan.place.cloud]


def _aws_policies(graph: "Graph", plan: "StackPlan", preview: bool) -> tuple[Any, str]:
    """(policy documents, warning) of the caller of `pulumi up`."""
    from rackwright_pulumi.deployer.policy import administrator_warning, policies

    documents = policies(graph, account=plan.place.account or "*", region=plan.place.region, preview=preview)
    return documents, "" if preview else administrator_warning(graph)


def _gcp_roles(graph: "Graph", plan: "StackPlan", preview: bool) -> tuple[Any, str]:
    """(roles and bindings, warning) of the caller of `pulumi up`."""
    from rackwright_pulumi.deployer.gcp_roles import act_as_warning, deployer_roles, host_project_warning

    project = plan.place.account or "PROJECT_ID"
    document = deployer_roles(graph, project=project, region=plan.place.region, stack=plan.name, preview=preview)
    warnings = (act_as_warning(document), host_project_warning(graph, project))
    return document, " ".join(filter(None, warnings))


def _compared_with_aws(session: Session, plan: "StackPlan", profile: str | None, quotas: Path | None) -> "Answers":
    from rackwright_pulumi.lookup import Account, command, look_up

    account = Account.of(plan.place.region, profile)
    if quotas:
        command.write_quotas(quotas, plan, account, session.today)
    return look_up(plan, account)


def _compared_with_google(session: Session, plan: "StackPlan", _profile: str | None, quotas: Path | None) -> "Answers":
    """With the credentials of the Google Cloud CLI."""
    from rackwright_pulumi.lookup import command, google
    from rackwright_pulumi.lookup.gcloud import Project

    project = Project.of(plan.place.account, plan.place.region)
    if quotas:
        command.write_quota_rows(quotas, plan, lambda: google.quota_rows(project), session.today)
    return google.look_up_project(plan, project, session.pipeline.catalog)


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
