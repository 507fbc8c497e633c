"""Pods of jobs on GKE have what their fabric needs, and stop where it is missing."""

import json

import pytest
from rackwright.compile.kubernetes.gcp.fabric_pod import SOURCED

from tests import gke_plans, plans
from tests.jobs import cases

CASES = {
    "tcpx": lambda: gke_plans.gke_training_case("a3-highgpu-8g"),
    "tcpxo": gke_plans.gke_training_case,
    "roce": lambda: gke_plans.gke_training_case("a3-ultragpu-8g", capacity="spot"),
}


def annotations(name: str) -> dict[str, str]:
    return cases.template(cases.job(CASES[name]()))["metadata"]["annotations"]


@pytest.mark.parametrize(("name", "count"), [("tcpx", 4), ("tcpxo", 8)])
def test_a_pod_has_an_interface_in_each_network(name, count):
    listed = json.loads(annotations(name)["networking.gke.io/interfaces"])
    assert listed[0] == {"interfaceName": "eth0", "network": "default"}
    assert listed[1:] == [{"interfaceName": f"eth{number}", "network": f"vpc{number}"} for number in range(1, count + 1)]
    assert annotations(name)["networking.gke.io/default-interface"] == "eth0"
    prefix = "NCCL_FASTRAK_IFNAME" if name == "tcpxo" else "NCCL_GPUDIRECTTCPX_SOCKET_IFNAME"
    assert cases.env(CASES[name]())[prefix] == ",".join(entry["interfaceName"] for entry in listed[1:])


@pytest.mark.parametrize("name", ["tcpx", "tcpxo"])
def test_the_receive_daemon_ends_with_the_job_and_sees_all_gpus(name):
    (daemon,) = cases.pod(CASES[name]())["initContainers"]
    assert daemon["restartPolicy"] == "Always", "another container would keep the pod running after its job"
    assert "NET_ADMIN" in daemon["securityContext"]["capabilities"]["add"]
    devices = annotations(name)[f"devices.gke.io/container.{daemon['name']}"].splitlines()
    assert devices[:8] == [f"- path: /dev/nvidia{index}" for index in range(8)]


def test_every_mount_has_its_volume():
    for build in CASES.values():
        spec = cases.pod(build())
        volumes = {volume["name"] for volume in spec["volumes"]}
        containers = (*spec["containers"], *spec.get("initContainers", ()))
        assert {mount["name"] for container in containers for mount in container["volumeMounts"]} <= volumes


@pytest.mark.parametrize(
    ("name", "script"), [("tcpxo", "/usr/local/nvidia/lib64/nccl-env-profile.sh"), ("roce", "/usr/local/gib/scripts/set_nccl_env.sh")]
)
def test_the_job_ends_where_the_script_of_the_plugin_is_missing(name, script):
    command = cases.container(CASES[name]())["command"]
    assert command[:3] == ["/bin/bash", "-c", SOURCED.format(script)]
    assert command[3:] == cases.container(plans.training_case())["command"], "the command itself is the same on every cloud"


def test_tcpx_shares_the_sockets_of_its_daemon():
    spec, variables = cases.pod(CASES["tcpx"]()), cases.env(CASES["tcpx"]())
    folder = variables["NCCL_GPUDIRECTTCPX_UNIX_CLIENT_PREFIX"]
    for container in (spec["containers"][0], spec["initContainers"][0]):
        assert {"name": "sockets", "mountPath": folder} in container["volumeMounts"]
    assert folder in spec["initContainers"][0]["command"]


def test_cores_of_tcpx_serve_one_direction_each():
    """A core that receives and sends is late for both."""
    variables = cases.env(CASES["tcpx"]())
    sending, receiving = (_cores(variables[f"NCCL_GPUDIRECTTCPX_{way}_BINDINGS"]) for way in ("TX", "RX"))
    assert not sending & receiving


def _cores(bindings: str) -> set[int]:
    spans = [span for entry in bindings.split(";") for span in entry.partition(":")[2].split(",")]
    return {core for span in spans for core in range(int(span.split("-")[0]), int(span.split("-")[1]) + 1)}


def test_a_job_on_one_machine_needs_none_of_it():
    spec = cases.pod(gke_plans.gke_training_case(nodes=1))
    assert "initContainers" not in spec
    assert not any("hostPath" in volume for volume in spec["volumes"])


@pytest.mark.parametrize("name", CASES)
def test_the_policy_of_the_namespace_names_what_pods_mount_and_add(name):
    """tests/cluster shows the same on an API server."""
    made = cases.template(cases.job(CASES[name]()))["spec"]
    expressions = str(cases.context(CASES[name]()).object("rights.team-nlp")["spec"]["validations"])
    for volume in made["volumes"]:
        assert "hostPath" not in volume or f"'{volume['hostPath']['path']}'" in expressions
    for container in (*made["containers"], *made.get("initContainers", ())):
        assert all(f"'{right}'" in expressions for right in container["securityContext"].get("capabilities", {}).get("add", ()))


@pytest.mark.parametrize("name", ["tcpx", "tcpxo"])
def test_job_and_daemon_fit_a_node_and_the_queue(name):
    """Kueue sums the requests of a container that restarts always and of the others; a limit range fills in missing ones."""
    context, spec = cases.context(CASES[name]()), cases.pod(CASES[name]())
    (group,) = context.object("queue.cluster-queue")["spec"]["resourceGroups"]
    quota = {row["name"]: row["nominalQuota"] for row in group["flavors"][0]["resources"]}
    requests = [each["resources"]["requests"] for each in (spec["containers"][0], spec["initContainers"][0])]
    assert sum(int(each["cpu"]) for each in requests) * context.nodes == quota["cpu"]
    assert sum(int(each["memory"].removesuffix("Gi")) for each in requests) * context.nodes == int(quota["memory"].removesuffix("Gi"))
