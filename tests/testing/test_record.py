"""The recorder records URNs, parents, options, secrets and duplicates as the engine does."""

import asyncio
from threading import Event, Thread

import pulumi
import pytest
from pulumi_aws import Provider
from pulumi_aws.ec2.subnet import Subnet
from pulumi_aws.ec2.vpc import Vpc
from pulumi_aws.ssm.parameter import Parameter
from rackwright_pulumi.testing import DuplicateResource, record


class Net(pulumi.ComponentResource):
    def __init__(self, name, opts=None):
        super().__init__("acme:net:Net", name, {}, opts)
        self.vpc = Vpc(f"{name}-vpc", cidr_block="10.0.0.0/16", opts=pulumi.ResourceOptions(parent=self))
        self.register_outputs({"vpcId": self.vpc.id})


def test_urns_have_the_format_of_the_engine():
    class Outer(pulumi.ComponentResource):
        def __init__(self, name):
            super().__init__("acme:net:Outer", name)
            Net("inner", pulumi.ResourceOptions(parent=self))
            self.register_outputs({})

    graph = record(lambda: Outer("o") and None)
    assert graph.one("aws:ec2/vpc:Vpc").urn == "urn:pulumi:test::rackwright::acme:net:Outer$acme:net:Net$aws:ec2/vpc:Vpc::inner-vpc"
    assert graph.one("acme:net:Outer").parent == ""


def test_options_flow_from_a_component_to_its_children():
    def program():
        net = Net("n", pulumi.ResourceOptions(protect=True, providers=[Provider("p", region="eu-west-1")]))
        Parameter("s", type="SecureString", value=pulumi.Config().require_secret("pw"), opts=pulumi.ResourceOptions(depends_on=[net]))

    graph = record(program, config={"rackwright:pw": "hush"}, secrets={"rackwright:pw"})
    vpc, parameter = graph.one("aws:ec2/vpc:Vpc"), graph.one("aws:ssm/parameter:Parameter")
    assert vpc.protect
    assert "pulumi:providers:aws::p" in vpc.provider
    assert parameter.depends_on == [vpc.urn], "depending on a component is depending on its children"
    assert parameter.secret_inputs == {"value"}


def test_a_secret_is_never_printed():
    def program():
        Parameter("s", type="SecureString", value=pulumi.Config().require_secret("pw"))

    graph = record(program, config={"rackwright:pw": "hush"}, secrets={"rackwright:pw"})
    assert graph.as_json()["resources"][0]["inputs"]["value"] == "[secret]"
    assert "hush" not in repr(graph)


def test_computed_outputs_are_literals_for_other_resources():
    def program():
        vpc = Vpc("v", cidr_block="10.0.0.0/16")
        Subnet("s", vpc_id=vpc.id, cidr_block="10.0.0.0/24")

    subnet = record(program).one("aws:ec2/subnet:Subnet")
    assert subnet.inputs["vpcId"].startswith("vpc-0")
    assert len(subnet.inputs["vpcId"]) == len("vpc-0123456789abcdef0")
    assert subnet.property_dependencies["vpcId"] == ["urn:pulumi:test::rackwright::aws:ec2/vpc:Vpc::v"]


def test_a_preview_leaves_computed_outputs_unknown():
    def program():
        vpc = Vpc("v", cidr_block="10.0.0.0/16")
        Subnet("s", vpc_id=vpc.id, cidr_block="10.0.0.0/24")

    assert record(program, preview=True).one("aws:ec2/subnet:Subnet").unknown_inputs == {"vpcId"}


def test_duplicate_resources_are_rejected():
    def program():
        Vpc("v", cidr_block="10.0.0.0/16")
        Vpc("v", cidr_block="10.0.0.0/8")

    with pytest.raises(DuplicateResource, match="Vpc::v"):
        record(program)


def test_exceptions_of_the_program_are_raised():
    with pytest.raises(ZeroDivisionError):
        record(lambda: Vpc("x", cidr_block=pulumi.Output.from_input(1).apply(lambda v: 1 / 0)) and None)


def test_an_unknown_invoke_is_an_error_with_its_token():
    def program():
        pulumi.export("x", pulumi.runtime.invoke_output("aws:ec2/getAmi:getNothing", {"owner": "me"}))

    with pytest.raises(KeyError, match="getNothing"):
        record(program)


def test_async_programs_and_repeated_runs_are_isolated():
    async def program():
        await asyncio.sleep(0)
        Vpc("only", cidr_block="10.0.0.0/8")

    assert [node.name for node in record(program).nodes.values()] == ["only"]
    assert [node.name for node in record(program).nodes.values()] == ["only"]


def test_fields_that_the_cloud_adds_to_objects_are_recorded():
    from pulumi_aws.eks.cluster import Cluster

    def program():
        cluster = Cluster("c", role_arn="arn:aws:iam::123456789012:role/x", vpc_config={"subnet_ids": ["subnet-1"]})
        Subnet("s", vpc_id=cluster.vpc_config.cluster_security_group_id, cidr_block="10.0.0.0/24")

    assert record(program).one("aws:ec2/subnet:Subnet").inputs["vpcId"].startswith("sg-0")


def test_fields_that_the_cloud_adds_are_unknown_in_a_preview():
    from pulumi_aws.eks.cluster import Cluster

    def program():
        cluster = Cluster("c", role_arn="arn:aws:iam::123456789012:role/x", vpc_config={"subnet_ids": ["subnet-1"]})
        Subnet("s", vpc_id=cluster.vpc_config.cluster_security_group_id, cidr_block="10.0.0.0/24")

    assert record(program, preview=True).one("aws:ec2/subnet:Subnet").unknown_inputs == {"vpcId"}


def test_an_account_pinned_by_the_provider_is_in_every_arn():
    def program():
        provider = Provider("p", region="eu-west-1", allowed_account_ids=["999988887777"])
        vpc = Vpc("v", cidr_block="10.0.0.0/16", opts=pulumi.ResourceOptions(provider=provider))
        pulumi.export("arn", vpc.arn)

    assert record(program).outputs["arn"].startswith("arn:aws:ec2:eu-west-1:999988887777:vpc/vpc-0")


def test_two_runs_print_the_same_graph():
    def program():
        Vpc("v", cidr_block="10.0.0.0/16", opts=pulumi.ResourceOptions(provider=Provider("p", region="eu-west-1")))

    assert record(program).as_json() == record(program).as_json()


def test_concurrent_runs_restore_pulumi():
    """The recording that starts first ends first, and must not restore the other one's replacement."""
    from pulumi.runtime import stack

    stock, second_runs, first_ended, graphs = stack.wait_for_rpcs, Event(), Event(), {}

    def first():
        other.start()
        second_runs.wait(10)
        Vpc("first", cidr_block="10.0.0.0/8")

    def second():
        second_runs.set()
        first_ended.wait(10)
        Vpc("second", cidr_block="10.0.0.0/8")

    other = Thread(target=lambda: graphs.update(second=record(second)))
    graphs["first"] = record(first)
    first_ended.set()
    other.join(10)
    for name, graph in graphs.items():
        assert [node.name for node in graph.nodes.values()] == [name]
    assert set(graphs) == {"first", "second"}
    assert stack.wait_for_rpcs is stock


def test_an_unsupported_blueprint_lists_the_supported_ones():
    from dataclasses import replace

    from rackwright_pulumi.program.build import declare
    from rackwright_pulumi.unsupported import Unsupported

    from tests.plans import tpu_plan

    plan = tpu_plan()
    with pytest.raises(Unsupported, match=r"place\.cloud: tpu-pod on kubernetes .* instead: gcp"):
        record(lambda: declare(replace(plan, place=replace(plan.place, cloud="kubernetes"))) and None)
