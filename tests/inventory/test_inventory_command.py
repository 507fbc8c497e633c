"""`rackwright inventory` on a fake API server: read only, every fact of the API, and clusters that do not answer."""

import json
import socket
from datetime import UTC, datetime
from typing import Any

import pytest
from rackwright.catalog import Catalog
from rackwright.cli.main import run
from rackwright.spec.reading.inventory_file import read_inventory
from rackwright.workflow.cluster.inventory import inventory_document, open_questions

from tests.api_server import NODES, FakeApi, error, kubeconfig, serving

CLASSES, DEPLOYMENTS = "/apis/storage.k8s.io/v1/storageclasses", "/apis/apps/v1/deployments"
SERVICE_CIDRS, CALICO_POOLS = "/apis/networking.k8s.io/v1/servicecidrs", "/apis/crd.projectcalico.org/v1/ippools"
NIC_STATES = "/apis/sriovnetwork.openshift.io/v1/sriovnetworknodestates"
NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)
INFO = ("bootID", "containerRuntimeVersion", "kernelVersion", "kubeProxyVersion", "kubeletVersion", "machineID", "operatingSystem")


def node(name: str, gpus: int = 8, product: str = "NVIDIA-H100-80GB-HBM3", **more: Any) -> dict[str, Any]:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "node-role.kubernetes.io/worker": ""} | more.pop("labels", {})
    labels |= {"nvidia.com/gpu.product": product} if gpus else {}
    resources = {"cpu": "224", "memory": "2113445204Ki", "pods": "110"} | ({"nvidia.com/gpu": str(gpus)} if gpus else {})
    resources |= more.pop("has", {})
    info = dict.fromkeys((*INFO, "systemUUID"), "") | {"architecture": "amd64", "osImage": "Ubuntu 24.04.2 LTS"}
    status = {"capacity": resources, "allocatable": resources, "nodeInfo": info}
    return {"metadata": {"name": name, "labels": labels}, "spec": more, "status": status}


def ports(name: str, count: int = 8, speed: str = "400000 Mb/s", link: str = "IB") -> dict[str, Any]:
    found = [{"name": f"ibs{n}", "linkType": link, "linkSpeed": speed, "vendor": "15b3"} for n in range(count)]
    return {"metadata": {"name": name, "namespace": "nvidia-network-operator"}, "status": {"interfaces": found}}


def deployment(chart: str, namespace: str) -> dict[str, Any]:
    meta = {"name": chart, "namespace": namespace, "labels": {"helm.sh/chart": chart}}
    return {"metadata": meta, "spec": {"selector": {}, "template": {}}}


CLASS = {"name": "ceph-block", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
LAB = {
    NODES: [*(node(f"h100-0{n}", labels={"site/rack": f"a{n // 2}"}) for n in range(4)), node("infra-0", gpus=0)],
    NIC_STATES: [ports(f"h100-0{n}") for n in range(4)],
    CLASSES: [{"metadata": CLASS, "provisioner": "rbd.csi.ceph.com"}],
    DEPLOYMENTS: [deployment("kueue-0.19.2", "kueue-system"), deployment("gpu-operator-v26.3.3", "gpu-operator")],
}


def document(nodes: list[dict[str, Any]], states: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    known = {"name": "Lab 1", "context": "lab", "kubernetes": "1.35", "now": NOW, "catalog": Catalog.default()}
    empty = dict.fromkeys(("storage_classes", "deployments", "service_cidrs", "ip_pools"), ())
    return inventory_document(nodes=nodes, nic_states=states or [], **empty, **known)


@pytest.fixture
def client():
    pytest.importorskip("kubernetes", reason="the extra `cluster` is not installed")


def test_the_written_file_is_an_inventory(client, tmp_path, capsys):
    with serving(FakeApi(lists=LAB), tmp_path) as config:
        assert run(["inventory", "--kubeconfig", str(config), "-o", str(tmp_path / "lab.yaml")]) == 0
    inventory = read_inventory(tmp_path / "lab.yaml")
    assert inventory.cluster.model_dump(exclude_defaults=True) == {"name": "lab", "kubernetes": "1.35", "context": "lab-admin"}
    gpus, cpus = inventory.servers
    assert (gpus.node_names, gpus.gpus.model, gpus.gpus.count) == (("h100-00", "h100-01", "h100-02", "h100-03"), "h100", 8)
    assert (gpus.nics[0].kind, gpus.nics[0].speed, gpus.nics[0].count) == ("infiniband", "NDR", 8)
    assert gpus.nics[0].rails[3].interface == "ibs3"
    assert [each.rack for each in gpus.nodes] == ["a0", "a0", "a1", "a1"]
    assert cpus.node_names == ("infra-0",)
    assert [(each.name, each.version) for each in inventory.installed] == [("kueue", "0.19.2"), ("gpu-operator", "v26.3.3")]
    assert inventory.storage[0].model_dump()["storage_class"] == "ceph-block"
    assert "5 servers in 2 groups" in capsys.readouterr().out


def test_the_cluster_is_only_read(client, tmp_path):
    fake = FakeApi(lists=LAB)
    with serving(fake, tmp_path) as config:
        run(["inventory", "--kubeconfig", str(config)])
    assert {request.method for request in fake.requests} == {"GET"}
    paths = {"/version/", NODES, NIC_STATES, CLASSES, DEPLOYMENTS, SERVICE_CIDRS, CALICO_POOLS}
    assert {request.path for request in fake.requests} == paths


def test_a_cluster_without_the_sriov_operator_is_read(client, tmp_path, capsys):
    with serving(FakeApi(lists={key: value for key, value in LAB.items() if key != NIC_STATES}), tmp_path) as config:
        assert run(["inventory", "--kubeconfig", str(config)]) == 0
    assert "add `nics` where the servers have any" in capsys.readouterr().out


def test_a_forbidden_request_names_the_missing_right(client, tmp_path, capsys):
    with serving(FakeApi({NODES: [error(403, f"nodes is forbidden: User lab cannot list {NODES}")]}, LAB), tmp_path) as config:
        assert run(["inventory", "--kubeconfig", str(config)]) == 2
    text = capsys.readouterr().err
    assert "error U-forbidden" in text
    assert "answers 403: nodes is forbidden" in " ".join(text.split())
    assert "secret-token" not in text


def test_an_unreachable_cluster_is_an_error_with_a_fix(client, tmp_path, capsys):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        config = kubeconfig(tmp_path, f"http://127.0.0.1:{free.getsockname()[1]}")
    assert run(["inventory", "--kubeconfig", str(config)]) == 2
    text = capsys.readouterr().err
    assert "error U-unreachable" in text
    assert "use another context" in text


@pytest.mark.parametrize("content", [None, "clusters: [", "a: 1"])
def test_an_unusable_kubeconfig_is_an_error_with_a_fix(client, tmp_path, capsys, content):
    file = tmp_path / "config"
    if content is not None:
        file.write_text(content)
    assert run(["inventory", "--kubeconfig", str(file)]) == 2
    assert "error U-kubeconfig" in capsys.readouterr().err


def test_servers_with_other_gpus_are_another_group():
    found = document([node("a"), node("b", gpus=7), node("c", product="NVIDIA-L40S", gpus=4)])
    assert [(group["name"], group["gpus"]["count"]) for group in found["servers"]] == [("h100", 8), ("h100-2", 7), ("l40s", 4)]


def test_control_planes_and_cordoned_nodes_are_left_out():
    control = node("control", gpus=0, taints=[{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}])
    found = document([control, node("broken", unschedulable=True), node("a")])
    assert [group["nodes"] for group in found["servers"]] == [["a"]]


def test_mig_and_taints_of_nodes_are_read():
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    group = document([node("a", product="NVIDIA-H100-80GB-HBM3-MIG-1g.10gb", gpus=56, taints=[taint])])["servers"][0]
    assert group["gpus"] == {"model": "h100", "count": 8, "mig": "1g.10gb"}
    assert group["taints"] == [taint]


def test_rdma_resources_without_speeds_leave_the_speed_open():
    labels = {"feature.node.kubernetes.io/pci-0207_15b3.present": "true"}
    found = document([node("a", labels=labels, has={"nvidia.com/hostdev": "8"})])
    assert found["servers"][0]["nics"] == [{"kind": "infiniband", "count": 8}]
    assert "h100: add the speed of its infiniband ports, such as `speed: NDR`" in [*open_questions(found)]


def test_a_thousand_shared_devices_are_1k():
    """NVIDIA's documented default of shared devices per port, which the API server shortens."""
    found = document([node("a", has={"rdma/hca_shared_devices_a": "1k", "rdma/hca_shared_devices_b": "1k"})])
    assert found["servers"][0]["nics"] == [{"kind": "roce", "count": 2}]


@pytest.mark.parametrize(("text", "memory"), [("2113445204Ki", "2015 GiB"), ("2T", "1862 GiB"), ("2Ti", "2048 GiB"), ("2e12", "1862 GiB")])
def test_memory_has_every_unit_of_kubernetes(text, memory):
    assert document([node("a", has={"memory": text})])["servers"][0]["memory"] == memory


def test_nodes_under_different_switches_keep_their_labels(tmp_path):
    spine, leaf = "network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf"
    found = document([node(name, labels={spine: "s1", leaf: f"leaf-{name}"}) for name in ("a", "b")])
    (group,) = found["servers"]
    assert group["nodes"] == [{"name": "a", "labels": {leaf: "leaf-a"}}, {"name": "b", "labels": {leaf: "leaf-b"}}]
    (tmp_path / "lab.yaml").write_text(json.dumps(found))
    (read,) = read_inventory(tmp_path / "lab.yaml").servers
    assert [read.lacks_label(label) for label in (spine, leaf, "example.com/row")] == [(), (), ("a", "b")]


def test_topology_labels_of_every_server_become_levels():
    labels = {"network.topology.nvidia.com/leaf": "l1", "network.topology.nvidia.com/spine": "s1"}
    found = document([node("a", labels=labels), node("b", labels=labels)])
    assert found["cluster"]["topology_labels"] == ["network.topology.nvidia.com/spine", "network.topology.nvidia.com/leaf"]
