"""What `rackwright policy` prints for a stack, by its cloud."""

from collections.abc import Callable
from typing import Any

from rackwright.clouds import AWS, GCP
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.stackplan import StackPlan

from rackwright_pulumi.deployer.gcp_roles import act_as_warning, deployer_roles
from rackwright_pulumi.deployer.policy import administrator_warning, policies
from rackwright_pulumi.resource_graph import Graph

Printed = tuple[Any, str]
"""(document, warning); the warning is empty without one."""


def deployer_policy(graph: Graph, plan: StackPlan, preview: bool) -> Printed:
    """The permissions of the caller of `pulumi up`. preview: of `pulumi preview` and `refresh`. Raises UserError for own servers."""
    if plan.place.cloud not in CLOUDS:
        reason = f"The stack is on {plan.place.cloud}, which has no cloud permissions"
        raise UserError([Problem("U-aws", reason, fix=f"name a spec on {' or '.join(CLOUDS)}")])
    return CLOUDS[plan.place.cloud](graph, plan, preview)


def _on_aws(graph: Graph, plan: StackPlan, preview: bool) -> Printed:
    documents = policies(graph, account=plan.place.account or "*", region=plan.place.region, preview=preview)
    return documents, "" if preview else administrator_warning(graph)


def _on_gcp(graph: Graph, plan: StackPlan, preview: bool) -> Printed:
    project = plan.place.account or "PROJECT_ID"
    document = deployer_roles(graph, project=project, region=plan.place.region, stack=plan.name, preview=preview)
    return document, act_as_warning(document)


CLOUDS: dict[str, Callable[[Graph, StackPlan, bool], Printed]] = {AWS.name: _on_aws, GCP.name: _on_gcp}
