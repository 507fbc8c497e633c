"""EKS and EC2 inputs of a pool for its fabric, capacity mode and shape (recipes V-14 to V-43, field C1)."""

import base64
import email
import json
from dataclasses import replace

import pytest
from rackwright.catalog.read import Catalog
from rackwright.compile.nodes.fabric import nic_layout
from rackwright.stackplan import CapacityPlan, DiskPlan, PoolPlan, TaintPlan
from rackwright_pulumi.aws.pool.pool import AwsPool
from rackwright_pulumi.testing import record
from rackwright_pulumi.unsupported import Unsupported

from tests.components.sdk import misfits

NODE_GROUP, TEMPLATE = "aws:eks/nodeGroup:NodeGroup", "aws:ec2/launchTemplate:LaunchTemplate"
PLACEMENT, SCHEDULE = "aws:ec2/placementGroup:PlacementGroup", "aws:autoscaling/schedule:Schedule"
BLOCK = CapacityPlan(
    "capacity-block", "cr-0123456789abcdef0", "2026-12-01T12:30:00+01:00", "2026-12-08T11:30:00Z", drains_at="2026-12-08T10:50:00Z"
)
SYSTEM = PoolPlan("system", "m7i.2xlarge", ("us-east-1a", "us-east-1b"), 2, 2, 2, role="system", image="al2023")


def gpu(machine: str = "p5.48xlarge", **more) -> PoolPlan:
    want = PoolPlan(
        name="gpu",
        machine=machine,
        zones=("us-east-1a",),
        nodes_min=4,
        nodes_max=4,
        nodes_start=4,
        disk=DiskPlan(200, iops=3000, throughput_mib_s=250),
        labels=(("rackwright/role", "accelerator"),),
        taints=(TaintPlan("nvidia.com/gpu", "present"),),
        fabric="efa",
        nics=nic_layout(Catalog.default().machine(machine)),
        adjacent=True,
        local_nvme=True,
        image="al2023-nvidia",
    )
    return replace(want, **more)


def graph_of(want, **more):
    def program():
        args = {
            "pool": want,
            "cluster_name": "demo",
            "cluster_version": "1.35",
            "cluster_group_id": "sg-cluster",
            "fabric_group_id": "sg-fabric",
            "node_role_arn": "arn:aws:iam::123456789012:role/nodes",
            "subnet_ids": ["subnet-0a"],
            "kms_key_arn": "arn:aws:kms:us-east-1:123456789012:key/k",
            "tags": {"owner": "test"},
        }
        AwsPool("demo-gpu", args | more)

    return record(program)


def template(want) -> dict:
    return graph_of(want).one(TEMPLATE).inputs


def nodes(want) -> dict:
    return graph_of(want).one(NODE_GROUP).inputs


def node_config(want) -> dict:
    message = email.message_from_bytes(base64.b64decode(template(want)["userData"]))
    (body,) = message.get_payload()
    assert body.get_content_type() == "application/node.eks.aws"
    return json.loads(body.get_payload())["spec"]


def test_a_p5_has_one_address_and_32_efa_interfaces():
    nics = template(gpu())["networkInterfaces"]
    assert len(nics) == 33
    assert sum(n["interfaceType"] == "efa-only" for n in nics) == 32
    assert [(n["networkCardIndex"], n["deviceIndex"]) for n in nics if n["interfaceType"] == "interface"] == [(0, 0)]


def test_p6_b300_keeps_card_zero_free_of_efa():
    nics = template(gpu("p6-b300.48xlarge"))["networkInterfaces"]
    assert [n["interfaceType"] for n in nics if n["networkCardIndex"] == 0] == ["interface"]
    assert sum(n["interfaceType"] == "efa-only" for n in nics) == 16


def test_security_groups_are_set_on_interfaces_not_on_the_template():
    inputs = template(gpu())
    assert {tuple(n["securityGroups"]) for n in inputs["networkInterfaces"]} == {("sg-fabric", "sg-cluster")}
    assert "vpcSecurityGroupIds" not in inputs
    assert "securityGroupNames" not in inputs


def test_only_the_first_interface_refuses_a_public_address():
    public = {(n["networkCardIndex"], n["deviceIndex"]): n.get("associatePublicIpAddress") for n in template(gpu())["networkInterfaces"]}
    assert public.pop((0, 0)) == "false"
    assert set(public.values()) == {None}


def test_the_instance_type_is_set_only_in_the_template():
    assert template(gpu())["instanceType"] == "p5.48xlarge"
    assert "instanceTypes" not in nodes(gpu())
    assert "diskSize" not in nodes(gpu())


def test_accelerators_get_the_one_subnet_of_their_zone():
    assert nodes(gpu())["subnetIds"] == ["subnet-0a"]


def test_adjacent_machines_share_a_placement_group():
    graph = graph_of(gpu())
    assert graph.one(PLACEMENT).inputs["strategy"] == "cluster"
    assert graph.one(PLACEMENT).urn in graph.one(TEMPLATE).property_dependencies["placement"]


def test_c1_a_capacity_block_is_named_three_times_and_has_no_placement_group():
    graph = graph_of(gpu(capacity=BLOCK, nodes_min=0, nodes_start=0))
    inputs = graph.one(TEMPLATE).inputs
    assert inputs["instanceMarketOptions"] == {"marketType": "capacity-block"}
    assert inputs["capacityReservationSpecification"] == {"capacityReservationTarget": {"capacityReservationId": BLOCK.reservation_id}}
    assert graph.one(NODE_GROUP).inputs["capacityType"] == "CAPACITY_BLOCK"
    assert not graph.by_type(PLACEMENT)
    assert "placement" not in inputs


def test_a_pool_scales_up_at_block_start_and_drains_before_block_end():
    schedules = {n.name: n.inputs for n in graph_of(gpu(capacity=BLOCK, nodes_min=0, nodes_start=0)).by_type(SCHEDULE)}
    sizes = {name.rpartition("-")[2]: (s["startTime"], s["desiredCapacity"], s["minSize"], s["maxSize"]) for name, s in schedules.items()}
    assert sizes == {"fill": ("2026-12-01T11:30:00Z", 4, 0, 4), "drain": ("2026-12-08T10:50:00Z", 0, 0, 4)}


def test_a_block_that_started_has_no_fill_schedule():
    assert [n.name for n in graph_of(gpu(capacity=BLOCK, nodes_min=0)).by_type(SCHEDULE)] == ["demo-gpu-drain"]


def test_c1_a_reservation_is_on_demand_and_has_no_placement_group():
    graph = graph_of(gpu(capacity=CapacityPlan("reservation", "cr-1")))
    assert graph.one(TEMPLATE).inputs["capacityReservationSpecification"]["capacityReservationTarget"] == {"capacityReservationId": "cr-1"}
    assert "instanceMarketOptions" not in graph.one(TEMPLATE).inputs
    assert graph.one(NODE_GROUP).inputs["capacityType"] == "ON_DEMAND"
    assert not graph.by_type(PLACEMENT)


def test_spot_is_set_on_the_node_group_not_on_the_template():
    want = gpu(capacity=CapacityPlan("spot"))
    assert nodes(want)["capacityType"] == "SPOT"
    assert "instanceMarketOptions" not in template(want)


def test_efa_machines_raise_the_memlock_limit_and_stripe_local_disks():
    spec = node_config(gpu())
    limits = {limit["type"]: (limit["soft"], limit["hard"]) for limit in spec["containerd"]["baseRuntimeSpec"]["process"]["rlimits"]}
    assert limits == {"RLIMIT_MEMLOCK": (2**50, 2**50), "RLIMIT_NOFILE": (2**20, 2**20)}
    assert spec["instance"] == {"localStorage": {"strategy": "RAID0"}}
    assert node_config(gpu(max_pods=51))["kubelet"] == {"config": {"maxPods": 51}}


def test_limits_are_exact_as_doubles():
    """nodeadm converts numbers to floats: 2^64 - 1 becomes larger than any uint64, containerd refuses it, and the node never joins."""
    for limit in node_config(gpu())["containerd"]["baseRuntimeSpec"]["process"]["rlimits"]:
        assert 0 < limit["soft"] <= limit["hard"] < 2**53


def test_user_data_is_deterministic():
    assert template(gpu())["userData"] == template(gpu())["userData"]


def test_cpu_machines_have_no_user_data():
    inputs = template(SYSTEM)
    assert "userData" not in inputs
    assert "networkInterfaces" not in inputs
    assert not graph_of(SYSTEM).by_type(PLACEMENT)


@pytest.mark.parametrize("want", [SYSTEM, gpu()], ids=["system", "gpu"])
def test_every_machine_requires_metadata_tokens_and_encrypts_its_disk(want):
    inputs = template(want)
    assert inputs["metadataOptions"] == {"httpEndpoint": "enabled", "httpTokens": "required", "httpPutResponseHopLimit": 1}
    (disk,) = inputs["blockDeviceMappings"]
    assert disk["deviceName"] == "/dev/xvda"
    assert disk["ebs"]["encrypted"] == "true"
    assert disk["ebs"]["kmsKeyId"].startswith("arn:aws:kms:")


def test_machines_disks_and_interfaces_carry_the_tags():
    tagged = {spec["resourceType"]: spec["tags"]["owner"] for spec in template(gpu())["tagSpecifications"]}
    assert tagged == {"instance": "test", "volume": "test", "network-interface": "test"}


@pytest.mark.parametrize(
    ("image", "arch", "ami_type"),
    [
        ("al2023", "x86_64", "AL2023_x86_64_STANDARD"),
        ("al2023-nvidia", "x86_64", "AL2023_x86_64_NVIDIA"),
        ("al2023-nvidia", "arm64", "AL2023_ARM_64_NVIDIA"),
        ("al2023-neuron", "x86_64", "AL2023_x86_64_NEURON"),
    ],
)
def test_the_image_fits_the_processor(image, arch, ami_type):
    assert nodes(gpu(image=image, cpu_arch=arch))["amiType"] == ami_type


def test_the_image_release_of_the_plan_is_pinned():
    graph = graph_of(gpu(), release_version="1.35.0-20261110")
    assert graph.one(NODE_GROUP).inputs["releaseVersion"] == "1.35.0-20261110"


def test_updates_ignore_the_size_only_of_pools_that_scale():
    assert graph_of(gpu(nodes_min=0)).one(NODE_GROUP).options["ignoreChanges"] == ["scalingConfig.desiredSize"]
    assert "ignoreChanges" not in graph_of(gpu()).one(NODE_GROUP).options


def test_taints_and_labels_reach_the_nodes():
    inputs = nodes(gpu())
    assert inputs["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert inputs["labels"] == {"rackwright/role": "accelerator"}
    assert inputs["nodeRepairConfig"] == {"enabled": True}


def test_f16_node_groups_have_a_creation_timeout():
    assert graph_of(gpu()).one(NODE_GROUP).options["customTimeouts"]["create"] == "40m"


def test_two_nodes_and_512_nodes_have_the_same_resources():
    few, many = (graph_of(gpu(nodes_min=n, nodes_max=n, nodes_start=n)) for n in (2, 512))
    assert few.nodes.keys() == many.nodes.keys()


@pytest.mark.parametrize(
    "want",
    [SYSTEM, gpu(), gpu("p6-b300.48xlarge"), gpu(capacity=BLOCK, nodes_min=0), gpu(capacity=CapacityPlan("spot"), nodes_min=0)],
    ids=["system", "p5", "p6-b300", "block", "spot"],
)
def test_the_sdk_declares_every_input(want):
    graph = graph_of(want)
    assert not misfits(graph)
    assert not graph.unregistered()


def test_a_part_can_be_json():
    from pydantic import TypeAdapter

    assert graph_of(TypeAdapter(PoolPlan).dump_json(gpu()).decode()).as_json() == graph_of(gpu()).as_json()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"capacity": CapacityPlan("flex-start")}, r"pools\[gpu\].capacity.mode: flex-start is not supported .* instead: on-demand, "),
        ({"image": "cos"}, r"pools\[gpu\].image: cos on x86_64 is not supported .* instead: al2023 on x86_64, "),
    ],
)
def test_unknown_capacity_modes_and_images_are_unsupported(change, said):
    """A capacity mode of another cloud must not become on-demand machines."""
    with pytest.raises(Unsupported, match=said):
        graph_of(gpu(**change))


def test_f8_a_fabric_without_its_security_group_is_refused():
    with pytest.raises(Unsupported, match=r"a pool with EFA without fabric_group_id .* self_reachable: true"):
        graph_of(gpu(), fabric_group_id=None)


def test_a_changed_tag_replaces_no_machine():
    """Tags of machines are part of the template: a new version replaces every node and ends its pods."""
    assert graph_of(gpu()).one(TEMPLATE).options["ignoreChanges"] == ["tagSpecifications"]


def test_long_names_leave_room_for_the_unique_suffix():
    def program():
        args = dict.fromkeys(("cluster_name", "cluster_version", "cluster_group_id", "node_role_arn", "kms_key_arn"), "x")
        AwsPool("a" * 40 + "-pool-accelerators", {"pool": SYSTEM, "subnet_ids": ["s"], "tags": {}, **args})

    prefix = record(program).one(NODE_GROUP).inputs["nodeGroupNamePrefix"]
    assert len(prefix) == 37
    assert "nodeGroupNamePrefix" not in nodes(gpu())
