"""The resource graph of a spec, for commands. pulumi is imported when one of them runs."""

from typing import TYPE_CHECKING, Any

from rackwright.cli.session import Session
from rackwright.cli.terminal import working
from rackwright.clouds import names, sellers
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem

if TYPE_CHECKING:
    from rackwright_pulumi.resource_graph import Graph

DEFAULT_PROJECT = "rackwright"
"""Name of the Pulumi project in URNs, as in Pulumi.yaml of this repository and of new projects."""


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
