"""`rackwright diff` with a state of `pulumi stack export`."""

import json

import pulumi
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pulumi_aws import Provider
from pulumi_aws.ec2.launch_template import LaunchTemplate
from pulumi_aws.ec2.subnet import Subnet
from pulumi_aws.ec2.vpc import Vpc
from rackwright.diagnostics.errors import UserError
from rackwright_pulumi.graph_file import StackExport
from rackwright_pulumi.stack_export import graph_of_export, read_graph
from rackwright_pulumi.testing import record
from rackwright_pulumi.testing.diff import compare

PREFIX = "urn:pulumi:prod::net"
PROVIDER = f"{PREFIX}::pulumi:providers:aws::aws"
VPC = f"{PREFIX}::aws:ec2/vpc:Vpc::net"
TOKEN = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "v1:abc"}


def resource(urn, inputs, outputs, **more):
    kind = urn.split("::")[2]
    custom = {"custom": True, "provider": f"{PROVIDER}::04d0", "parent": f"{PREFIX}::pulumi:pulumi:Stack::net-prod"}
    return custom | {"urn": urn, "type": kind, "inputs": inputs, "outputs": outputs} | more


EXPORT = {
    "version": 3,
    "deployment": {
        "manifest": {},
        "resources": [
            {"urn": f"{PREFIX}::pulumi:pulumi:Stack::net-prod", "type": "pulumi:pulumi:Stack", "custom": False},
            resource(PROVIDER, {"region": "us-east-1", "version": "7.51.1"}, {}, id="04d0", provider=""),
            resource(
                VPC,
                {"__defaults": [], "cidrBlock": "10.0.0.0/16", "tags": {"__defaults": [], "a": "b"}, "tagsAll": {"a": "b"}},
                {"id": "vpc-real", "cidrBlock": "10.0.0.0/16", "arn": "arn:aws:ec2:us-east-1:999999999999:vpc/vpc-real"},
                id="vpc-real",
                protect=True,
            ),
            resource(
                f"{PREFIX}::aws:ec2/subnet:Subnet::a",
                {"__defaults": [], "cidrBlock": "10.0.0.0/24", "vpcId": "vpc-real"},
                {"id": "subnet-real"},
                id="subnet-real",
                dependencies=[VPC],
                propertyDependencies={"cidrBlock": None, "vpcId": [VPC]},
            ),
            resource(
                f"{PREFIX}::aws:ec2/launchTemplate:LaunchTemplate::gpu",
                {"__defaults": ["name"], "name": "gpu-4f2a91c", "userData": TOKEN},
                {"id": "lt-real", "name": "gpu-4f2a91c", "userData": TOKEN},
                id="lt-real",
            ),
            resource(f"{PREFIX}::aws:ec2/vpc:Vpc::old", {"cidrBlock": "10.9.0.0/16"}, {}, id="vpc-old", delete=True),
        ],
    },
}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)
DEPLOYED = graph_of_export(StackExport.model_validate(EXPORT))


@pytest.mark.parametrize("listed", [3, "name", None, {"name": 1}, [{"a": 1}, 2]])
def test_a_list_of_defaults_that_is_none_is_left_out(listed):
    inputs = {"__defaults": listed, "cidrBlock": "10.0.0.0/16"}
    found = graph_of_export(StackExport.model_validate({"version": 3, "deployment": {"resources": [resource(VPC, inputs, {}, id="v")]}}))
    assert found["resources"][0]["inputs"] == {"cidrBlock": "10.0.0.0/16"}


def declared(cidr: str = "10.0.0.0/16", region: str = "us-east-1"):
    def program():
        opts = pulumi.ResourceOptions(provider=Provider("aws", region=region))
        net = Vpc("net", cidr_block=cidr, tags={"a": "b"}, opts=opts)
        Subnet("a", cidr_block="10.0.0.0/24", vpc_id=net.id, opts=opts)
        LaunchTemplate("gpu", user_data=pulumi.Output.secret("token"), opts=opts)

    graph = record(program, project="net", stack="prod").as_json()
    for node in graph["resources"]:
        node["inputs"] = {k: v for k, v in node["inputs"].items() if not k.startswith("skip")}
    return graph


def changed(graph):
    return {change.name: (change.operation, change.because) for change in compare(DEPLOYED, graph)}


def test_an_unchanged_stack_has_no_changes():
    """Ids of the account differ from those of a recording, and the provider filled in names and tags."""
    assert changed(declared()) == {}


def test_the_deletion_lock_of_a_deployed_stack_is_compared():
    lock = resource(f"{PREFIX}::rackwright:index:DeletionLock::net-lock", {}, {}, provider="", protect=True)
    found = graph_of_export(StackExport.model_validate({"deployment": {"resources": [*EXPORT["deployment"]["resources"], lock]}}))
    unlocked = {**found, "resources": [node for node in found["resources"] if node["type"] != "rackwright:index:DeletionLock"]}
    assert [(change.operation, change.name) for change in compare(unlocked, found)] == [("create", "net-lock")]
    assert compare(found, found) == []


def test_a_replaced_network_replaces_the_readers_of_its_id():
    found = changed(declared(cidr="10.1.0.0/16"))
    assert found == {"net": ("replace", ("cidrBlock",)), "a": ("replace", ("vpcId",))}


def test_another_region_replaces_every_resource():
    assert {name: operation for name, (operation, _) in changed(declared(region="eu-west-1")).items()} == dict.fromkeys(
        ("aws", "net", "a", "gpu"), "replace"
    )


def test_names_of_stack_and_project_are_read_from_the_state():
    assert (DEPLOYED["stack"], DEPLOYED["project"]) == ("prod", "net")
    assert [node["name"] for node in DEPLOYED["resources"] if node["protect"]] == ["net"]


@pytest.mark.parametrize("damage", [{"resources": [1]}, {"resources": [{"urn": "x", "type": "y"}]}, {"resources": None}, []])
def test_another_document_is_not_an_export(tmp_path, damage):
    path = tmp_path / "state.json"
    path.write_text(json.dumps({"deployment": damage}))
    with pytest.raises(UserError, match="not a graph"):
        read_graph(path)


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))
)
def test_ill_typed_inputs_end_without_a_traceback(value):
    graph = declared()
    damaged = {"resources": [node | {"inputs": dict.fromkeys(node["inputs"], value)} for node in graph["resources"]]}
    compare(graph, damaged)
    compare(damaged, graph)


@pytest.mark.parametrize(
    ("field", "value"),
    [("inputs", 1), ("urn", "x"), ("options", {"aliases": 3}), ("propertyDependencies", {"a": "b"}), ("protect", "maybe")],
)
def test_ill_typed_graphs_are_refused_with_the_field(tmp_path, field, value):
    graph = declared()
    graph["resources"][0][field] = value
    path = tmp_path / "graph.json"
    path.write_text(json.dumps(graph))
    with pytest.raises(UserError, match=f"not a graph: resources.0.{field}"):
        read_graph(path)
