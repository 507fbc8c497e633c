"""Two stacks in one network and one cluster with the real engine: the second uses outputs of the first, and its destroy leaves no
resource."""

import pytest
from rackwright.stackplan import StackPlan
from rackwright_pulumi.simulator import Engine

from tests import plans
from tests.engine.aws_stacks import NODES, PROGRAM

pytestmark = pytest.mark.slow
OWNER = "organization/rackwright/owner"


def host_plan() -> StackPlan:
    access = {"cidrs": ["203.0.113.0/24"]}
    return plans.compiled(plans.training_case(blueprint={"api_access": access, "ttl": "14d", "storage": "none"}))


def guest_plan() -> StackPlan:
    """A second training stack on the cluster, network and key of the first."""

    def parts(path: str) -> dict[str, str]:
        return {"stack": OWNER, "output": f"parts.{path}"}

    subnets = [{"id": parts("network.subnets.nodes"), "zone": "us-east-1a", "use": "nodes"}]
    network = {"existing": {"vpc": parts("network.vpcId"), "subnets": subnets}}
    blueprint = {"cluster": parts("cluster.name"), "api_access": {"runner": "inside"}, "ttl": "14d", "storage": "none"}
    spec, sizing, chosen = plans.training_case(place=plans.AWS | {"network": network, "key": parts("key.arn")}, blueprint=blueprint)
    return plans.compiled((spec.model_copy(update={"name": "guest"}), sizing, chosen))


def test_a_stack_in_an_existing_cluster_does_not_change_the_cluster(cloud, tmp_path):
    def engine(stack: str, plan: StackPlan) -> Engine:
        path = tmp_path / f"{stack}.json"
        path.write_text(plan.to_json(), encoding="utf-8")
        config = {"rackwright:plan": str(path), "pulumi:disable-default-providers": '["*"]'}
        made = Engine(PROGRAM, cloud, tmp_path / "work", stack=stack, project="rackwright", config=config)
        made.prepare()
        return made

    owner, guest = engine("owner", host_plan()), engine("guest", guest_plan())
    owner.up()
    standing = {resource.urn for resource in cloud.resources()}
    guest.up()
    assert {r.inputs["clusterName"] for r in cloud.resources(NODES)} == {"llama-70b-sft"}
    for each in (owner, guest):
        each.up(expect_no_changes=True)
    guest.run("config", "set", "--stack", "guest", "rackwright:teardown", "true")
    guest.up()
    guest.destroy()
    assert {resource.urn for resource in cloud.resources()} == standing
    owner.up(expect_no_changes=True)
