"""Commands that need the resource graph. pulumi is imported when one of them runs."""

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rackwright.cli.app import AsJson, SpecPath, Today
from rackwright.cli.session import Session
from rackwright.cli.terminal import emit, working
from rackwright.clouds import names, sellers, supports
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.report.terminal.console import console

if TYPE_CHECKING:
    from rackwright.stackplan import StackPlan

    from rackwright_pulumi.resource_graph import Graph

GRAPH_KEYS = {"type", "name", "urn", "inputs", "protect"}
"""Required keys of each resource in a graph file."""


def register(app: typer.Typer) -> None:
    """Add the commands to the application, once."""
    known = {command.callback for command in app.registered_commands}
    for command in (graph, diff, policy, lookup):
        if command not in known:
            app.command()(command)


def graph(spec: SpecPath, as_json: AsJson = False, today: Today = None) -> None:
    """Print every resource of the recorded or first choice. Needs no cloud and no Pulumi CLI."""
    found = graph_of(Session.of(spec, as_json, today))
    if as_json:
        emit(found)
        return
    from rackwright.report.terminal import stack as stack_text

    stack_text.show_graph(console(), found)


def diff(
    old: Annotated[Path, typer.Argument(metavar="OLD", help="A spec, or a graph written by `rackwright graph --json`.")],
    new: Annotated[Path, typer.Argument(metavar="NEW", help="The changed spec or graph.")],
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """List what an update would create, change, replace and delete. Needs no cloud and no Pulumi CLI."""
    from rackwright_pulumi.testing.diff import compare

    before = _read(old, as_json, today)
    after = _read(new, as_json, today, before.get("stack", ""))
    changes = [change.as_json() for change in compare(before, after)]
    if as_json:
        emit(changes)
        return
    from rackwright.report.terminal import stack as stack_text

    stack_text.show_diff(console(), changes)


def policy(
    spec: SpecPath,
    preview: Annotated[bool, typer.Option("--preview", help="Only the permissions for `pulumi preview` and `pulumi refresh`.")] = False,
    today: Today = None,
) -> None:
    """Print the IAM policies that `pulumi up` needs on AWS. Each is within the size limit of a managed policy."""
    session = Session.of(spec, True, today)
    place = _on_aws(session).place
    found = recorded(session, session.path.stem)
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
    as_json: AsJson = False,
    today: Today = None,
) -> None:
    """Compare a plan with the AWS account, read only. Checks machine types, zones, images, add-ons and quotas."""
    session = Session.of(spec, as_json, today)
    plan = _on_aws(session)
    from rackwright_pulumi.lookup import Account, command, look_up

    account = Account.of(plan.place.region, profile)
    if quotas:
        command.write_quotas(quotas, plan, account, session.today)
    with working("asking the account", as_json):
        found = look_up(plan, account)
    if as_json:
        emit(command.as_json(found))
    else:
        for line in command.as_lines(found):
            console().print(line, highlight=False, markup=False)


def _on_aws(session: Session) -> "StackPlan":
    plan = session.stack()
    if not supports(plan.place.cloud, "lookup"):
        raise UserError([Problem("U-aws", f"the stack is on {plan.place.cloud}, and this command is for AWS", fix="name a spec on aws")])
    return plan


def graph_of(session: Session, stack: str = "") -> dict[str, Any]:
    """The graph of a spec as plain JSON. stack: the stack name, which resource ids contain; default: the name of the file.

    Raises UserError, and typer.Exit(1) if no candidate meets the goals.
    """
    stack = stack or session.path.stem
    return recorded(session, stack).as_json() | {"stack": stack, "planned_on": session.today.isoformat()}


def recorded(session: Session, stack: str) -> "Graph":
    """The graph of a spec. Raises like graph_of."""
    stack_plan = session.stack()
    try:
        from rackwright_pulumi.program.build import declare
        from rackwright_pulumi.testing import record
    except ModuleNotFoundError as missing:
        raise _not_installed(missing) from None
    secrets: dict[str, Any] = dict.fromkeys(session.spec.secrets, "(secret)")
    with working("declaring resources", session.as_json):
        try:
            return record(lambda: declare(stack_plan, secrets=secrets) and None, stack=stack)
        except ModuleNotFoundError as missing:
            raise _not_installed(missing) from None


def _not_installed(missing: ModuleNotFoundError) -> UserError:
    cloud = (missing.name or "pulumi").removeprefix("pulumi_").split(".")[0]
    extra = cloud if cloud in names() else ",".join(sellers())
    return UserError([Problem("U-extra", f"this command needs {missing.name}", fix=f'pip install "rackwright[{extra}]"')])


def _read(path: Path, as_json: bool, today: datetime | None, stack: str = "") -> dict[str, Any]:
    """A graph from a file, or of a spec. stack: the stack name of a spec, so that two files are compared as versions of one stack."""
    if path.suffix != ".json":
        return graph_of(Session.of(path, as_json, today), stack)
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        why = error.strerror if isinstance(error, OSError) else f"not JSON: {error}"
        raise UserError([Problem("G-file", f"cannot be read: {why}", fix="name a spec or a graph")], str(path)) from None
    resources = found.get("resources") if isinstance(found, dict) else None
    if not isinstance(resources, list) or not all(isinstance(node, dict) and node.keys() >= GRAPH_KEYS for node in resources):
        raise UserError([Problem("G-file", "not a graph", fix="write one with `rackwright graph SPEC --json`")], str(path))
    return found
