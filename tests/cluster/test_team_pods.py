"""The policy of a team's pods on a real API server: what RDMA needs is admitted, and nothing else beyond `baseline`."""

import pytest
from rackwright.compile.kubernetes.gcp.fabric import fabric_rights
from rackwright.compile.kubernetes.tenancy import least_rights
from rackwright_pulumi.kubernetes.objects import namespace_body

from tests import gke_plans, plans
from tests.cluster.api import wait_until
from tests.cluster.nodes import container
from tests.jobs import cases


@pytest.fixture(scope="module")
def team(api):
    plan = plans.training_plan()
    (name,) = (space for space, _ in plan.namespaces if space.startswith("team-"))
    api.must_apply(namespace_body(name, "privileged", is_of_team=True))
    api.must_apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "trainer", "namespace": name}})
    api.must_apply(*(manifest.body for manifest in plan.manifests if manifest.body["kind"] == "PriorityClass"))
    assert wait_until(lambda: api.items("v1", "ServiceAccount", name))
    policies = [manifest.body for manifest in plan.manifests if manifest.key.startswith("rights.")]
    assert len(policies) == 2
    api.must_apply(*policies)
    assert wait_until(lambda: "hostNetwork" in answer(api, name, {"hostNetwork": True})), "the policy is active"
    yield name
    for body in policies:
        api.delete(body)


def answer(api, namespace: str, spec: dict | None = None, **context) -> str:
    """Message of the API server about a pod, empty where it is admitted. context: security context of its container."""
    main = container({"cpu": "1"}) | ({"securityContext": context} if context else {}) | (spec or {}).pop("container", {})
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": namespace}}
    return api.apply(body | {"spec": {"containers": [main], **(spec or {})}}, dry_run=True).message


def test_a_job_with_rdma_is_admitted(api, team):
    made = cases.template(cases.job(plans.training_case()))
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker", "namespace": team}, "spec": made["spec"]}
    body["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": "0"}
    assert api.apply(body, dry_run=True).message == ""


@pytest.mark.parametrize("added", [["IPC_LOCK"], ["SYS_RESOURCE"], ["CHOWN", "KILL"]])
def test_capabilities_that_lock_memory_are_admitted(api, team, added):
    assert answer(api, team, capabilities={"add": added}) == ""


FORBIDDEN = {
    "host-network": ({"hostNetwork": True}, {}, "hostNetwork"),
    "host-pid": ({"hostPID": True}, {}, "hostPID"),
    "host-path": ({"volumes": [{"name": "root", "hostPath": {"path": "/"}}]}, {}, "hostPath"),
    "host-port": ({"container": {"ports": [{"containerPort": 80, "hostPort": 80}]}}, {}, "port of the node"),
    "privileged": ({}, {"privileged": True}, "privileged container"),
    "capability": ({}, {"capabilities": {"add": ["IPC_LOCK", "SYS_ADMIN"]}}, "adds a capability"),
}


@pytest.mark.parametrize("name", FORBIDDEN)
def test_everything_else_is_refused_with_its_reason(api, team, name):
    spec, context, text = FORBIDDEN[name]
    message = answer(api, team, dict(spec), **context)
    assert text in message
    assert f"namespace {team} forbids it" in message


def test_init_containers_are_checked_too(api, team):
    init = container({"cpu": "1"}) | {"name": "first", "securityContext": {"privileged": True}}
    assert "privileged container" in answer(api, team, {"initContainers": [init]})


@pytest.mark.parametrize("machine", ["a3-highgpu-8g", "a3-megagpu-8g", "a3-ultragpu-8g"])
def test_a_job_on_gke_mounts_the_folders_of_its_fabric_and_no_others(api, machine):
    case = gke_plans.gke_training_case(machine, capacity="spot")
    space = f"team-{machine.partition('-8g')[0]}"
    api.must_apply(namespace_body(space, "privileged", is_of_team=True))
    api.must_apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "trainer", "namespace": space}})
    api.must_apply(*(manifest.body for manifest in plans.training_plan().manifests if manifest.body["kind"] == "PriorityClass"))
    assert wait_until(lambda: api.items("v1", "ServiceAccount", space))
    layout = plans.Catalog.default().layout_by_machine[machine]
    policies = [manifest.body for manifest in least_rights(space, "privileged", fabric_rights(layout.fabric, 8))]
    api.must_apply(*policies)
    assert wait_until(lambda: "hostNetwork" in answer(api, space, {"hostNetwork": True})), "the policy is active"
    template = cases.template(cases.job(case))
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker", "namespace": space}, "spec": template["spec"]}
    body["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": "0"} | template["metadata"]["annotations"]
    assert api.apply(body, dry_run=True).message == ""
    body["metadata"]["annotations"]["devices.gke.io/container.trainer"] = "- path: /dev/nvme0n1"
    assert "annotation with devices of the node" in api.apply(body, dry_run=True).message
    assert "hostPath" in answer(api, space, {"volumes": [{"name": "etc", "hostPath": {"path": "/etc"}}]})
    for policy in policies:
        api.delete(policy)
