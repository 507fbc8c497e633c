"""InferenceFleet on EKS: node provisioning, weights and requests."""

from dataclasses import replace

import pytest
import yaml
from rackwright.compile.compile import compile_plan
from rackwright.compile.compile_context import RunningStack
from rackwright.diagnostics.errors import UserError
from rackwright.stackplan import StackPlan, VersionPins
from rackwright.validation.stack import check

from tests import plans
from tests.compile.contracts import errors_of, needs_contracts, unknown_values
from tests.compile.found import after, manifest, release

PLANS = {name: build() for name, build in plans.FLEETS.items()}
NOT_KEPT = {"cluster-autoscaler", "neuron-helm-chart"}
"""Charts whose own values are not among the contracts."""


def filled(value):
    """The object with a literal for each ref, an ID that matches every pattern of the CRDs."""
    if isinstance(value, dict):
        ids = {"network.machine_subnet_id": "subnet-0a", "cluster.security_group_id": "sg-0a", "network.fabric_group_id": "sg-0b"}
        return (
            ids.get(value.get("$ref", ""), "literal") if "$ref" in value or "$refs" in value else {k: filled(v) for k, v in value.items()}
        )
    return [filled(v) for v in value] if isinstance(value, list) else value


@needs_contracts
@pytest.mark.parametrize("name", PLANS)
def test_every_chart_value_exists_in_the_chart(name):
    for wanted in PLANS[name].releases:
        if wanted.name not in NOT_KEPT:
            assert unknown_values(wanted.values, wanted.chart.rpartition("/")[2], wanted.version) == [], wanted.name


@needs_contracts
@pytest.mark.parametrize("name", PLANS)
def test_every_custom_resource_fits_its_crd(name):
    found = {(body["kind"], str(errors)) for body in (filled(m.body) for m in PLANS[name].manifests) if (errors := errors_of(body))}
    assert not found
    known = {m.body["kind"] for m in PLANS[name].manifests if errors_of(filled(m.body)) is not None}
    machines = {"NodePool", "EC2NodeClass"} if PLANS[name].karpenter else set()
    assert known >= machines | {"ScaledObject", "ServiceMonitor"}


@pytest.mark.parametrize("name", PLANS)
def test_fleets_satisfy_every_rule(name):
    assert check(PLANS[name]) == []


@pytest.mark.parametrize("name", PLANS)
def test_a_fleet_survives_json(name):
    assert StackPlan.from_json(PLANS[name].to_json()) == PLANS[name]


def test_provisioner_auto_is_karpenter_where_it_is_supported():
    def provisioner(case) -> str:
        return plans.compiled(case).pool("gpu").provisioner

    assert provisioner(plans.eks_fleet_case()) == "karpenter"
    assert provisioner(plans.eks_fleet_case(blueprint={"nodes": {"image": "bottlerocket"}})) == "managed"
    assert provisioner(plans.wide_fleet_case(blueprint={"nodes": {"devices": "dra"}})) == "managed"
    group = {"reservation": {"group": "arn:aws:resource-groups:us-east-1:123456789012:group/gpus", "instance": "g6e.xlarge", "count": 8}}
    held = plans.eks_fleet_case(place=plans.AWS | {"capacity": {"ordered": [group]}}, capacity="reservation")
    held = (*held[:2], replace(held[2], candidate=replace(held[2].candidate, capacity_id=group["reservation"]["group"])))
    assert provisioner(held) == "managed"


def test_karpenter_uses_the_recorded_image():
    """A newer rackwright must not replace the machines of a running fleet."""
    plan = PLANS["fleet-eks"]
    assert ("karpenter", "al2023@v20260728") in plan.pins.images
    older = VersionPins(images=(("karpenter", "al2023@v20260101"),))
    pinned = compile_plan(*plans.eks_fleet_case(), today=plans.TODAY, running=RunningStack(pins=older))
    assert manifest(pinned, "nodes.gpu.class")["spec"]["amiSelectorTerms"] == [{"alias": "al2023@v20260101"}]


def test_node_pools_are_limited_and_remove_empty_nodes():
    spec = manifest(PLANS["fleet-eks"], "nodes.gpu.pool")["spec"]
    assert spec["limits"] == {"nvidia.com/gpu": "8"}
    assert (spec["disruption"]["consolidationPolicy"], spec["disruption"]["budgets"]) == (
        "WhenEmpty",
        [{"nodes": "1"}, {"nodes": "0", "reasons": ["Drifted"]}],
    )
    assert spec["template"]["spec"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    asked = {r["key"]: r["values"] for r in spec["template"]["spec"]["requirements"]}
    assert asked["node.kubernetes.io/instance-type"] == ["g6e.xlarge"]
    assert (asked["topology.kubernetes.io/zone"], asked["kubernetes.io/arch"]) == (["us-east-1a"], ["amd64"])


def test_node_classes_select_by_id_encrypt_disks_and_require_imdsv2():
    spec = manifest(PLANS["fleet-eks"], "nodes.gpu.class")["spec"]
    assert spec["subnetSelectorTerms"] == [{"id": {"$ref": "network.machine_subnet_id"}}]
    assert spec["securityGroupSelectorTerms"] == [{"id": {"$ref": "cluster.security_group_id"}}]
    disk = spec["blockDeviceMappings"][0]["ebs"]
    assert (disk["encrypted"], disk["kmsKeyID"]) == (True, {"$ref": "key.arn"})
    assert spec["metadataOptions"]["httpTokens"] == "required"
    assert spec["tags"]["owner"] == "test"
    assert spec["instanceStorePolicy"] == "RAID0"
    assert "networkInterfaces" not in spec, "a replica within one machine needs no fabric"


def test_node_pools_follow_the_order_of_the_spec():
    plan = PLANS["fleet-fallback"]
    pools = [m.body for m in plan.manifests if m.body["kind"] == "NodePool"]
    types = [next(r["values"][0] for r in p["spec"]["template"]["spec"]["requirements"] if "capacity-type" in r["key"]) for p in pools]
    assert types == ["reserved", "on-demand", "spot"]
    weights = [p["spec"]["weight"] for p in pools]
    assert weights == sorted(weights, reverse=True)
    assert len({*weights}) == 3
    held = [m.body["spec"].get("capacityReservationSelectorTerms") for m in plan.manifests if m.body["kind"] == "EC2NodeClass"]
    assert held == [[{"id": "cr-0123456789abcdef0"}], None, None]
    assert pools[0]["spec"]["limits"] == {"nvidia.com/gpu": "2"}, "no more than the reservation holds"


def test_the_server_depends_on_its_nodes_and_weights():
    first = {"policy.team-chat.deny", "policy.team-chat.allow-basics", "account.team-chat.server"}
    assert {*after(PLANS["fleet-eks"], "serving.deployment")} == first | {"nodes.gpu.pool", "storage.weights.claim"}
    assert after(PLANS["fleet-eks"], "nodes.gpu.pool") == ("karpenter", "nodes.gpu.class")
    assert release(PLANS["fleet-eks"], "karpenter").after == ("karpenter-crd",)


def test_karpenter_runs_on_the_system_pool():
    chosen = release(PLANS["fleet-eks"], "karpenter").values["nodeSelector"]
    made = manifest(PLANS["fleet-eks"], "nodes.gpu.pool")["spec"]["template"]["metadata"]["labels"]
    assert not chosen.items() <= made.items()


def test_weights_are_mounted_with_the_permissions_of_the_pod():
    case = plans.eks_fleet_case({"model": {"base": "llama-3.1-8b", "weights": {"uri": "s3://models/llama"}}})
    plan = plans.compiled(case)
    volume = manifest(plan, "storage.weights.volume")["spec"]
    assert volume["csi"]["volumeAttributes"] == {"bucketName": {"$ref": "bucket.weights.name"}, "authenticationSource": "pod"}
    assert {"read-only", "region us-east-1", "prefix llama/"} <= {*volume["mountOptions"]}
    assert any(addon.name == "object-store-mount" for addon in plan.addons)
    mount = manifest(plan, "serving.deployment")["spec"]["template"]["spec"]["containers"][0]["volumeMounts"][0]
    assert mount == {"name": "weights", "mountPath": "/weights", "readOnly": True}


def test_node_disk_holds_hub_weights_without_local_nvme():
    workload = {"model": {"base": "llama-3.1-8b", "weights": {"uri": "hf://meta-llama/Llama-3.1-8B"}}}
    spec, sizing, fit = plans.eks_fleet_case(workload, facts={"weights_bytes": 200e9})
    plan = plans.compiled((spec, sizing, fit))
    assert plan.pool("gpu").disk.size_gib == 200, "its local NVMe holds them"
    assert not [m for m in plan.manifests if m.key.startswith("storage")]
    diskless = plans.compiled((spec, sizing, plans.on_machine(fit, "p6-b200.48xlarge", 8)))
    assert diskless.pool("gpu").local_nvme or diskless.pool("gpu").disk.size_gib > 300


def test_the_load_balancer_is_internal_and_limited_to_the_network():
    body = manifest(PLANS["fleet-eks"], "serving.entrance")
    assert body["spec"]["loadBalancerSourceRanges"] == ["10.0.0.0/16"]
    assert body["metadata"]["annotations"]["service.beta.kubernetes.io/aws-load-balancer-internal"] == "true"
    policy = manifest(PLANS["fleet-eks"], "policy.team-chat.allow-entrance")["spec"]["ingress"]
    assert policy[0]["from"] == [{"ipBlock": {"cidr": "10.0.0.0/16"}}]
    assert "app" not in body["metadata"].get("labels", {}), "metrics would be read twice"


def test_clients_are_limited_to_the_range_of_the_spec():
    plan = plans.compiled(plans.eks_fleet_case(place=plans.AWS | {"network": {"cidr": "10.40.0.0/16"}}))
    assert plan.network.cidr == "10.40.0.0/16"
    assert manifest(plan, "serving.entrance")["spec"]["loadBalancerSourceRanges"] == ["10.40.0.0/16"]
    assert manifest(plan, "policy.team-chat.allow-entrance")["spec"]["ingress"][0]["from"] == [{"ipBlock": {"cidr": "10.40.0.0/16"}}]


def test_an_existing_network_allows_private_ranges():
    place = plans.AWS | {"network": {"existing": {"vpc": "vpc-0abc", "subnets": ["subnet-0abc", "subnet-0def"]}}}
    ranges = manifest(plans.compiled(plans.eks_fleet_case(place=place)), "serving.entrance")["spec"]["loadBalancerSourceRanges"]
    assert "10.0.0.0/8" in ranges
    assert not [cidr for cidr in ranges if cidr.endswith("/0")]


def test_the_autoscaler_grows_the_preferred_pool_first():
    case = plans.eks_fleet_case(
        place=plans.AWS | {"capacity": {"fallback": ["on-demand", "spot"]}}, blueprint={"nodes": {"provisioner": "managed"}}
    )
    values = release(plans.compiled(case), "cluster-autoscaler").values
    assert values["extraArgs"]["expander"].startswith("priority")
    order = yaml.safe_load(values["expanderPriorities"])
    assert order == {100: [".*-pool-gpu-nodes-.*"], 99: [".*-pool-gpu-spot-nodes-.*"]}
    assert "expanderPriorities" not in release(PLANS["fleet-managed"], "cluster-autoscaler").values


def test_an_existing_cluster_uses_node_groups():
    """The cluster's Karpenter cannot pass a role of this stack, and a second identity of its pods is refused."""
    guest = {"cluster": {"name": "shared"}}
    plan = plans.compiled(plans.eks_fleet_case(blueprint=guest))
    assert {pool.provisioner for pool in plan.pools} == {"managed"}
    assert plan.karpenter is None
    with pytest.raises(UserError, match="C-provisioner"):
        plans.compiled(plans.eks_fleet_case(blueprint=guest | {"nodes": {"provisioner": "karpenter"}}))


@pytest.mark.parametrize(("provisioner", "start"), [("karpenter", 1), ("managed", 8)])
def test_pools_of_a_block_follow_its_schedule(provisioner, start):
    """A schedule scales node groups, and Karpenter drains its nodes; neither can require a node to stay."""
    hours = {"start": "2026-11-20T11:30:00Z", "end": "2026-12-04T11:30:00Z"}
    block = {"id": "cr-0123456789abcdef0", "instance": "p5.48xlarge", "count": 8, "zone": "us-east-1a"} | hours
    place = plans.AWS | {"capacity": {"ordered": [{"capacity_block": block}]}}
    spec, sizing, fit = plans.eks_fleet_case(place=place, blueprint={"nodes": {"provisioner": provisioner}})
    bought = plans.on_machine(fit, "p5.48xlarge", 1)
    bought = replace(bought, candidate=replace(bought.candidate, capacity="capacity-block", capacity_id=block["id"]))
    plan = plans.compiled((spec, sizing, bought))
    pool = plan.pool("gpu")
    assert (pool.nodes_min, pool.nodes_start, pool.nodes_max, pool.autoscaled) == (0, start, 8, False)
    assert [problem.code for problem in check(plan)] == []
    kinds = {m.body["kind"] for m in plan.manifests}
    assert ("NodePool" in kinds) is (provisioner == "karpenter")


def test_a_changed_tag_replaces_no_busy_node():
    plan = plans.FLEETS["fleet-eks"]()
    pools = [manifest.body for manifest in plan.manifests if manifest.body["kind"] == "NodePool"]
    assert pools
    for pool in pools:
        assert {"nodes": "0", "reasons": ["Drifted"]} in pool["spec"]["disruption"]["budgets"]


@pytest.mark.parametrize(("machine", "accelerator", "precision", "dtypes"), [
    ("g4dn.xlarge", "NVIDIA T4", "fp16", ["--dtype=half"]),
    ("g4dn.xlarge", "NVIDIA T4", "int8", ["--dtype=half"]),
    ("g6e.xlarge", "NVIDIA L40S", "fp16", ["--dtype=half"]),
    ("g6e.xlarge", "NVIDIA L40S", "bf16", []),
])  # fmt: skip
def test_a_server_without_bf16_computes_in_fp16(machine, accelerator, precision, dtypes):
    """vLLM takes bf16 from the model and stops on a T4: https://github.com/vllm-project/vllm/issues/1157."""
    spec, sizing, fit = plans.eks_fleet_case()
    fit = replace(fit, candidate=replace(fit.candidate, machine=machine, accelerator=accelerator, precision=precision))
    args = manifest(plans.compiled((spec, sizing, fit)), "serving.deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    assert [arg for arg in args if arg.startswith("--dtype")] == dtypes
