"""Replicas over two machines of GKE: groups of pods with RDMA interfaces, or over TCP."""

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.stackplan.labels import RDMA_DEVICE_CLASS
from rackwright.validation.stack import check

from tests import gke_plans, plans
from tests.compile.found import manifest

WIDE = gke_plans.GKE_OPTIONS["gke-wide"]()
GIB_SCRIPT = "/usr/local/gib/scripts/set_nccl_env.sh"


def kinds(plan) -> set[str]:
    return {each.body["kind"] for each in plan.manifests}


def pods(plan) -> list[dict]:
    """Pod specs of the leader and of the worker of a group."""
    group = manifest(plan, "serving.group")["spec"]["leaderWorkerTemplate"]
    return [group[key]["spec"] for key in ("leaderTemplate", "workerTemplate")]


def test_a_replica_is_a_group_in_one_zone_with_nodes_for_every_replica():
    assert manifest(WIDE, "serving.group")["spec"]["leaderWorkerTemplate"]["size"] == 2
    pool = WIDE.pool("gpu")
    assert (pool.nodes_min, pool.nodes_max, len(pool.zones)) == (4, 8, 1)
    assert "lws" in {release.name for release in WIDE.releases}
    assert check(WIDE) == []


def test_pods_claim_every_interface_and_source_the_plugin_of_the_node():
    (claim,) = [each.body for each in WIDE.manifests if each.body["kind"] == "ResourceClaimTemplate"]
    assert claim["spec"]["spec"]["devices"]["requests"][0]["exactly"] == {
        "deviceClassName": RDMA_DEVICE_CLASS,
        "allocationMode": "ExactCount",
        "count": 8,
    }
    for pod in pods(WIDE):
        (container,) = pod["containers"]
        assert pod["resourceClaims"] == [{"name": "rdma", "resourceClaimTemplateName": "rdma"}]
        assert container["resources"]["claims"] == [{"name": "rdma"}]
        assert container["command"][:2] == ["/bin/bash", "-c"]
        assert GIB_SCRIPT in container["command"][2]
        assert container["command"][3:5] == ["vllm", "serve"]
        assert {"name": "NCCL_NET", "value": "gIB"} in container["env"]
        assert {"name": "gib", "mountPath": "/usr/local/gib", "readOnly": True} in container["volumeMounts"]
    assert dict(WIDE.namespaces)["team-chat"] == "privileged"
    assert "DaemonSet" in kinds(WIDE)


def test_the_gateway_sends_requests_to_leaders():
    service = manifest(WIDE, "serving.service")["metadata"]["name"]
    assert service == "chat-leader"
    (rule,) = manifest(WIDE, "serving.route")["spec"]["rules"]
    assert rule["backendRefs"][0]["name"] == service
    assert manifest(WIDE, "serving.health")["spec"]["targetRef"]["name"] == service


def test_machines_without_a_fabric_serve_over_tcp():
    plan = plans.compiled(gke_plans.wide_fleet_case("g2-standard-96"))
    assert plan.pool("gpu").devices == "plugin"
    assert "resourceClaims" not in pods(plan)[0]
    assert not kinds(plan) & {"ResourceClaimTemplate", "DaemonSet"}


@pytest.mark.parametrize("machine", ["a3-highgpu-8g", "a3-megagpu-8g"])
def test_a_fabric_without_a_plugin_for_servers_is_refused(machine):
    with pytest.raises(UserError, match=r"C-wide-replica.*no NCCL plugin"):
        plans.compiled(gke_plans.wide_fleet_case(machine))
