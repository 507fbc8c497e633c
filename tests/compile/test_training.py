"""TrainingCluster on EKS."""

from datetime import date, datetime

import pytest
import yaml
from rackwright.compile.compile import compile_plan
from rackwright.compile.compile_context import RunningStack
from rackwright.stackplan import BlueprintKind

from tests import plans

BLOCK = {
    "id": "cr-0123456789abcdef0",
    "instance": "p5.48xlarge",
    "count": 4,
    "zone": "us-east-1d",
    "start": datetime.fromisoformat("2026-12-01T11:30:00+00:00"),
    "end": datetime.fromisoformat("2026-12-08T11:00:00+00:00"),
}


def block_plan(today: date):
    place = plans.AWS | {"capacity": {"ordered": [{"capacity_block": BLOCK}]}}
    spec, sizing, fit = plans.training_case(place=place, capacity="capacity-block", capacity_id=BLOCK["id"])
    return compile_plan(spec, sizing, fit, today=today)


def test_p5_has_one_address_and_32_fabric_interfaces():
    nics = plans.training_plan().pool("gpu").nics
    assert [n.kind for n in nics] == ["ip"] + ["fabric"] * 32
    assert [(n.card, n.device) for n in nics[:4]] == [(0, 0), (0, 1), (1, 0), (2, 0)]


def test_p6_b300_keeps_card_zero_free_of_efa():
    nics = plans.compiled(plans.training_case(machine="p6-b300.48xlarge")).pool("gpu").nics
    assert [n.kind for n in nics if n.card == 0] == ["ip"]
    assert sum(n.kind == "fabric" for n in nics) == 16


@pytest.mark.parametrize(("machine", "count"), [("p4d.24xlarge", 4), ("p5en.48xlarge", 16), ("p6-b200.48xlarge", 8), ("g6e.48xlarge", 4)])
def test_fabric_interfaces_per_machine(machine, count):
    """Counts of awsome-distributed-training and HyperPod (field.md, section 2b)."""
    plan = plans.compiled(plans.training_case(machine=machine))
    assert sum(n.kind == "fabric" for n in plan.pool("gpu").nics) == count
    assert plan.expected_fabric.interfaces_per_node == count


def test_capacity_block_has_no_placement_group():
    """eksctl 7949, terraform-aws-eks 3730: a forced placement group excluded 5 of 16 reserved machines."""
    assert plans.training_plan().pool("gpu").adjacent
    assert not block_plan(date(2026, 12, 2)).pool("gpu").adjacent


def test_block_starts_empty_before_its_hours_and_drains_40_minutes_before_the_end():
    before, during, after = (block_plan(date(2026, *day)).pool("gpu") for day in ((11, 21), (12, 2), (12, 9)))
    assert [(p.nodes_min, p.nodes_start, p.nodes_max) for p in (before, during, after)] == [(0, 0, 4), (0, 4, 4), (0, 0, 4)]
    assert before.capacity.drains_at == "2026-12-08T10:20:00+00:00"
    assert before.zones == ("us-east-1d",)


def test_accelerators_are_in_one_zone_and_the_control_plane_in_two():
    plan = plans.training_plan()
    assert plan.pool("gpu").zones == (plan.place.zone,)
    assert len({s.zone for s in plan.network.subnets if s.purpose == "control"}) == 2
    assert next(s.cidr for s in plan.network.subnets if s.purpose == "nodes").endswith("/18")
    assert plan.lustre.zone == plan.place.zone


def test_kueue_is_last_and_waits_for_all():
    releases = plans.training_plan().releases
    assert releases[-1].name == "kueue"
    assert set(releases[-1].after) == {release.name for release in releases[:-1]}


def test_disk_that_a_job_reserves_needs_no_quota():
    (kueue,) = [release for release in plans.training_plan().releases if release.name == "kueue"]
    config = yaml.safe_load(kueue.values["managerConfig"]["controllerManagerConfigYaml"])
    assert config["resources"]["excludeResourcePrefixes"] == ["ephemeral-storage"]


def test_metrics_cannot_fill_the_disk_of_a_system_node():
    plan = plans.training_plan()
    (monitoring,) = [release for release in plan.releases if release.name == "kube-prometheus-stack"]
    size = monitoring.values["prometheus"]["prometheusSpec"]["retentionSize"]
    assert int(size.removesuffix("GB")) < plan.pool("system").disk.size_gib / 2


def test_quota_covers_all_resources_of_a_job():
    queue = next(m.body for m in plans.training_plan().manifests if m.key == "queue.cluster-queue")
    amounts = {r["name"]: r["nominalQuota"] for r in queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]}
    assert amounts == {
        "cpu": 4 * 190,
        "memory": f"{4 * 1880}Gi",
        "nvidia.com/gpu": 32,
        "vpc.amazonaws.com/efa": 128,
        "hugepages-2Mi": "20480Mi",
    }


def test_topology_levels_require_topology_of_ec2():
    """https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ec2-instance-topology-prerequisites.html lists machine types, not families."""

    def levels(machine):
        plan = plans.compiled(plans.training_case(machine=machine))
        topology = next(m.body for m in plan.manifests if m.key == "queue.topology")
        return [level["nodeLabel"].removeprefix("topology.k8s.aws/network-node-") for level in topology["spec"]["levels"]]

    host = "kubernetes.io/hostname"
    assert levels("g6.48xlarge") == levels("p5.4xlarge") == levels("trn2.3xlarge") == [host]
    assert levels("p5.48xlarge") == levels("g6e.48xlarge") == levels("trn2.48xlarge") == ["layer-1", "layer-2", "layer-3", host]
    assert levels("p6-b200.48xlarge") == levels("p6-b300.48xlarge") == ["layer-1", "layer-2", "layer-3", "layer-4", host]


def test_lustre_is_the_cheapest_sufficient_tier():
    """8 GB/s needs 16,000 GB at 500 MB/s per TiB; 1000 is too small for its price, and 250 too slow for its size."""
    want = plans.training_plan().lustre
    assert (want.capacity_gib, want.throughput_mb_s_per_tib, want.rdma) == (16800, 500, False)
    assert want.imports == (("/data", "data"),)


def test_lustre_moves_to_efa_when_a_client_needs_more_than_ena_carries():
    spec, sizing, fit = plans.training_case(nodes=2)
    faster = plans.with_storage(sizing, 4e12, 40e9)
    want = compile_plan(spec, faster, fit, today=plans.TODAY).lustre
    assert want.rdma
    assert want.capacity_gib % 4800 == 0


def test_storage_none_has_no_file_system_and_no_driver():
    plan = plans.compiled(plans.training_case(blueprint={"storage": "none"}))
    assert plan.lustre is None
    assert "lustre" not in {addon.name for addon in plan.addons}
    assert not [m for m in plan.manifests if m.key.startswith("storage.")]


def test_the_api_is_open_to_the_listed_ranges_only():
    plan = plans.compiled(plans.training_case(blueprint={"api_access": {"cidrs": ["203.0.113.0/24"]}}))
    assert (plan.cluster.private_api, plan.cluster.api_cidrs) == (False, ("203.0.113.0/24",))
    assert plans.compiled(plans.training_case(blueprint={})).cluster.private_api


def test_an_existing_network_is_not_changed():
    place = plans.AWS | {"network": {"existing": {"vpc": "vpc-0abc", "subnets": ["subnet-0a", "subnet-0b"]}}}
    network = plans.compiled(plans.training_case(place=place)).network
    assert (network.existing_id, network.existing_subnet_ids, network.subnets) == ("vpc-0abc", ("subnet-0a", "subnet-0b"), ())
    assert not network.nat
    assert network.self_reachable


def test_floor_of_the_fabric_is_known_for_h100():
    """NVIDIA's recipe measures 300 GB/s all-reduce between two machines on EKS (field.md, section 2b)."""
    assert plans.training_plan().expected_fabric.busbw_floor_gb_s == 300
    assert plans.compiled(plans.training_case(machine="g6e.48xlarge")).expected_fabric.busbw_floor_gb_s is None


def test_secrets_of_the_run_are_references():
    spec, sizing, fit = plans.training_case()
    secret = next(m for m in plans.compiled(plans.with_secret(spec, sizing, fit)).manifests if m.body["kind"] == "Secret")
    assert secret.body["stringData"] == {"HF_TOKEN": {"$ref": "secret.hf-token"}}


def test_expiry_counts_from_today_unless_recorded():
    case = plans.training_case()
    assert plans.compiled(case).expires_on == "2026-12-05"
    recorded = compile_plan(*case, today=date(2027, 1, 1), running=RunningStack(expires_on="2026-12-05"))
    assert recorded.expires_on == "2026-12-05"
    assert ("expires-on", "2026-12-05") in recorded.tags


def test_one_node_is_a_box_and_several_are_a_cluster():
    assert plans.training_plan().kind is BlueprintKind.TRAINING_CLUSTER
    assert plans.box_plan().kind is BlueprintKind.BOX


def test_a_team_manages_jobs_of_its_namespace_only():
    found = {m.body["kind"]: m.body for m in plans.training_plan().manifests if m.body["kind"] in ("Role", "RoleBinding")}
    assert found["RoleBinding"]["subjects"] == [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "team-nlp"}]
    assert found["RoleBinding"]["roleRef"]["name"] == found["Role"]["metadata"]["name"]
    allowed = {(resource, verb) for rule in found["Role"]["rules"] for resource in rule["resources"] for verb in rule["verbs"]}
    assert {("jobsets", "create"), ("pods/log", "get")} <= allowed
    assert not {resource for resource, _ in allowed} & {"nodes", "secrets", "roles", "clusterqueues", "*"}
