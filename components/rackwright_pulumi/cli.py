"""Commands that need the resource graph. pulumi is imported when one of them runs."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rackwright.cli.app import AsJson, Outputs, SpecPath, Today
from rackwright.cli.session import Session
from rackwright.cli.terminal import BAD_INPUT, NOT_FEASIBLE, emit, working
from rackwright.clouds import names, sellers, supports
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.report.graph_formats import GraphFormat, as_dot, as_mermaid
from rackwright.report.terminal.console import console

if TYPE_CHECKING:
    from rackwright.stackplan import StackPlan

    from rackwright_pulumi.resource_graph import Graph


Layers = Annotated[
    str, typer.Option("--layers", metavar="NAMES", help="Only these layers, as in rackwright:layers: base,cluster.", show_default="all")
]
UpstreamStack = Annotated[
    str,
    typer.Option("--upstream-stack", metavar="STACK", help="The stack with the earlier layers: rackwright:below.", show_default=""),
]
DEFAULT_PROJECT = "rackwright"
"""Name of the Pulumi project in URNs, as in Pulumi.yaml of this repository and of new projects."""


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
    """Print the IAM policies that `pulumi up` needs on AWS. Each is within the size limit of a managed policy."""
    del as_json  # always JSON
    session = Session.of(spec, True, today, layers, upstream_stack)
    place = _on_aws(session).place
    from rackwright_pulumi.testing.placeholders import WILDCARD

    found = recorded(session, session.path.stem, placeholder=WILDCARD)
    from rackwright_pulumi.deployer.policy import administrator_warning, policies

    if not preview and (warning := administrator_warning(found)):
        print(f"warning: {warning}", file=sys.stderr)
    emit(policies(found, account=place.account or "*", region=place.region, preview=preview))


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
    """Compare a plan with the AWS account, read only. Checks machine types, zones, images, add-ons and quotas.

    Exit status 2 where nothing could be checked, such as without credentials; with --strict it is 1.
    """
    session = Session.of(spec, as_json, today)
    plan = _on_aws(session)
    from rackwright_pulumi.lookup import Account, command, look_up

    account = Account.of(plan.place.region, profile)
    if quotas:
        command.write_quotas(quotas, plan, account, session.today)
    with working("reading the account", as_json):
        found = look_up(plan, account)
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


def manifests(
    spec: SpecPath,
    directory: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="A new or empty folder.")],
    outputs: Outputs = None,
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Write every Kubernetes object of the stack as YAML, with the values of its Helm charts and a script that installs them in order."""
    from rackwright.files import write_text
    from rackwright.report.yaml_text import yaml_text
    from rackwright.workflow.stack.outputs import read_outputs

    from rackwright_pulumi.manifest_files import manifests_of, texts_of

    session = Session.of(spec, as_json, today)
    known = read_outputs(outputs) if outputs else {}
    plan = session.stack()
    if not plan.cluster:
        fix = "name the spec of a training cluster, a fleet or a TPU pod"
        raise UserError([Problem("U-manifests", f"The stack is a {plan.kind}, which has no Kubernetes objects", fix=fix)], str(spec))
    made = manifests_of(recorded(session, session.path.stem, exports=True), known, texts_of(json.loads(plan.to_json())))
    if made.simulated:
        reason = f"{', '.join(made.simulated)} contain values of the cloud that the stack does not export"
        raise UserError([Problem("U-manifests", reason, fix="build these objects with `pulumi up`")], str(spec))
    if directory.exists() and any(directory.iterdir()):
        raise UserError([Problem("U-manifests", f"{directory} has files, and old ones would be installed too", fix="name a new folder")])
    directory.mkdir(parents=True, exist_ok=True)
    texts = {file.name: yaml_text([file.body]) for file in made.files} | {"install.sh": made.script}
    for name, text in texts.items():
        write_text(directory / name, text)
    if as_json:
        emit({"ok": True, "files": [str(directory / name) for name in texts], "unknown": list(made.unknown)})
        return
    emit(f"wrote {len(texts)} files to {directory}; install them with {directory / 'install.sh'}")
    if made.unknown:
        emit(f"set by --outputs, after `pulumi up` of the layers base and cluster: {', '.join(made.unknown)}")


def _on_aws(session: Session) -> "StackPlan":
    plan = session.stack()
    if not supports(plan.place.cloud, "lookup"):
        raise UserError([Problem("U-aws", f"the stack is on {plan.place.cloud}, and this command is for AWS", fix="name a spec on aws")])
    return plan


def graph_of(session: Session, stack: str = "", project: str = "") -> dict[str, Any]:
    """The graph of a spec as plain JSON. stack, project: names in its URNs; default: the name of the file, and rackwright.

    Raises UserError, and typer.Exit(1) if no candidate meets the goals.
    """
    stack = stack or session.path.stem
    return recorded(session, stack, project).as_json() | {"stack": stack, "planned_on": session.today.isoformat()}


def recorded(session: Session, stack: str, project: str = "", placeholder: str = "", *, exports: bool = False) -> "Graph":
    """The graph of a spec. placeholder: the name in values that other stacks export; default: the output and its stack.

    exports: with the outputs of the stack. Raises like graph_of.
    """
    stack_plan = session.stack()
    try:
        import pulumi

        from rackwright_pulumi.program.build import declare_stack
        from rackwright_pulumi.testing import record
        from rackwright_pulumi.testing.placeholders import placeholder_outputs, placeholder_secrets, upstream_outputs
    except ModuleNotFoundError as missing:
        raise _not_installed(missing) from None
    with working("declaring resources", session.as_json):
        try:
            outputs = placeholder_outputs(stack_plan, placeholder)
            outputs |= upstream_outputs(stack_plan, outputs)
            project = project or DEFAULT_PROJECT
            secrets = placeholder_secrets(stack_plan)

            def program() -> None:
                blueprint = declare_stack(stack_plan, secrets=secrets)
                for name, value in blueprint.stack_outputs().items() if exports else ():
                    pulumi.export(name, value)

            return record(program, project=project, stack=stack, stack_outputs=outputs)
        except ModuleNotFoundError as missing:
            raise _not_installed(missing) from None


def _not_installed(missing: ModuleNotFoundError) -> UserError:
    cloud = (missing.name or "pulumi").removeprefix("pulumi_").split(".")[0]
    extra = cloud if cloud in names() else ",".join(sellers())
    return UserError([Problem("U-extra", f"this command needs {missing.name}", fix=f'pip install "rackwright[{extra}]"')])


def _read(path: Path, graph_of_spec: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """A graph from a file with the suffix .json, else of a spec."""
    if path.suffix != ".json":
        return graph_of_spec()
    from rackwright_pulumi.stack_export import read_graph

    return read_graph(path)
