"""Replicas that span machines, on EKS: one group of pods per replica with all EFA interfaces; the leader serves requests."""

import json

import yaml
from rackwright.stackplan import StackPlan
from rackwright.validation.stack import check

from tests import plans
from tests.compile.found import manifest

WIDE = plans.FLEETS["fleet-wide"]()


def parts(plan: StackPlan) -> tuple[dict, dict]:
    """Containers of the leader and of the worker of a group."""
    group = manifest(plan, "serving.group")["spec"]["leaderWorkerTemplate"]
    return tuple(group[key]["spec"]["containers"][0] for key in ("leaderTemplate", "workerTemplate"))


def test_a_replica_of_two_machines_is_one_group_with_a_serving_leader():
    plan = WIDE
    group = manifest(plan, "serving.group")["spec"]
    assert (group["leaderWorkerTemplate"]["size"], group["leaderWorkerTemplate"]["restartPolicy"]) == (2, "RecreateGroupOnPodRestart")
    assert group["startupPolicy"] == "LeaderCreated"
    assert "replicas" not in group, "the scaler owns it"
    assert manifest(plan, "serving.service")["spec"]["selector"]["leaderworkerset.sigs.k8s.io/worker-index"] == "0"
    target = manifest(plan, "serving.scaler")["spec"]["scaleTargetRef"]
    assert (target["kind"], target["apiVersion"]) == ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1")
    assert (plan.pool("gpu").nodes_min, plan.pool("gpu").nodes_max) == (4, 8)


def test_no_service_has_the_name_of_the_group():
    """LeaderWorkerSet creates a headless service of that name only if none exists, and finds its leaders by it."""
    services = {want.body["metadata"]["name"] for want in WIDE.manifests if want.body["kind"] == "Service"}
    assert manifest(WIDE, "serving.group")["metadata"]["name"] not in services
    (queries,) = {q["metadata"]["query"].partition("service=")[2][:14] for q in manifest(WIDE, "serving.scaler")["spec"]["triggers"]}
    assert queries.startswith(f'"{manifest(WIDE, "serving.service")["metadata"]["name"]}"')


def test_workers_join_the_leader_and_have_no_port():
    leader, worker = parts(WIDE)
    shared = {"--tensor-parallel-size=8", "--pipeline-parallel-size=2", "--nnodes=$(LWS_GROUP_SIZE)", "--master-addr=$(LWS_LEADER_ADDRESS)"}
    assert shared <= {*leader["args"]} & {*worker["args"]}
    assert ("--node-rank=0" in leader["args"], "--headless" in leader["args"]) == (True, False)
    assert {"--node-rank=$(LWS_WORKER_INDEX)", "--headless"} <= {*worker["args"]}
    assert "startupProbe" in leader
    assert not {"ports", "startupProbe", "readinessProbe", "livenessProbe"} & {*worker}


def test_multi_node_pods_request_efa():
    """Pods request every EFA interface, so that Karpenter adds a machine with them (skypilot#10055)."""
    plan = WIDE
    fabric = sum(nic.kind == "fabric" for nic in plan.pool("gpu").nics)
    for part in parts(plan):
        assert part["resources"]["limits"]["vpc.amazonaws.com/efa"] == str(fabric) == "32"
        assert {"name": "FI_PROVIDER", "value": "efa"} in part["env"]
        assert part["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
    assert dict(plan.namespaces)["team-chat"] == "privileged"
    assert plan.expected_fabric.interfaces_per_node == 32


def test_karpenter_uses_all_efa_interfaces_and_a_placement_group():
    """Interfaces are requested explicitly, and no pod requests a resource that is unknown before a node has joined."""
    plan = WIDE
    spec = manifest(plan, "nodes.gpu.class")["spec"]
    nics = spec["networkInterfaces"]
    assert [n["interfaceType"] for n in nics[:2]] == ["interface", "efa-only"]
    assert sum(n["interfaceType"] == "efa-only" for n in nics) == 32
    assert {"id": {"$ref": "network.fabric_group_id"}} in spec["securityGroupSelectorTerms"]
    assert spec["placementGroupSelector"] == {"name": "chat-eks-gpu"}
    assert plan.karpenter.adjacent == ("chat-eks-gpu",)
    limits = yaml.safe_load(spec["userData"])["spec"]["containerd"]["baseRuntimeSpec"]["process"]["rlimits"]
    assert limits[0]["type"] == "RLIMIT_MEMLOCK"
    for part in parts(plan):
        assert "hugepages-2Mi" not in part["resources"]["limits"]
        assert {"name": "FI_EFA_USE_HUGE_PAGE", "value": "0"} in part["env"]


def test_karpenter_nodes_have_the_memlock_limit_of_node_groups():
    from rackwright_pulumi.aws.pool.al2023 import LIMITS

    text = manifest(WIDE, "nodes.gpu.class")["spec"]["userData"]
    limits = json.loads(text)["spec"]["containerd"]["baseRuntimeSpec"]["process"]["rlimits"]
    assert {limit["type"]: limit["hard"] for limit in limits} == LIMITS


def test_replicas_on_node_groups_request_huge_pages_or_claim_their_interfaces():
    plan = plans.compiled(plans.wide_fleet_case(blueprint={"nodes": {"provisioner": "managed"}}))
    assert all(part["resources"]["limits"]["hugepages-2Mi"] == "5120Mi" for part in parts(plan))
    claimed = plans.compiled(plans.wide_fleet_case(blueprint={"nodes": {"devices": "dra"}}))
    spec = manifest(claimed, "serving.group")["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]
    assert spec["resourceClaims"] == [{"name": "efa", "resourceClaimTemplateName": "efa"}]
    assert spec["containers"][0]["resources"]["claims"] == [{"name": "efa"}]
    assert "vpc.amazonaws.com/efa" not in spec["containers"][0]["resources"]["limits"]
    assert any(m.body["kind"] == "ResourceClaimTemplate" for m in claimed.manifests)


def test_the_default_image_of_multi_node_replicas_contains_efa():
    plan = plans.compiled(plans.wide_fleet_case(image=None))
    assert parts(plan)[0]["image"].startswith("public.ecr.aws/deep-learning-containers/vllm:")
    assert [(p.code, str(p.level)) for p in check(plan)] == [("V-13", "warning")] * 2, "AWS publishes no digest that is known here"
