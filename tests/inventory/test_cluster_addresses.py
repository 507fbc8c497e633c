"""Address ranges of pods, services and nodes in a written inventory."""

import json
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any

import pytest
import yaml
from rackwright.cli.main import run
from rackwright.spec.reading.inventory_file import read_inventory
from rackwright.workflow.cluster.addresses import cluster_ranges, open_ranges

from tests.api_server import NODES, FakeApi, error, serving
from tests.inventory.test_inventory_command import CALICO_POOLS, LAB, SERVICE_CIDRS, node


def addressed(number: int, pods: str, address: str) -> dict[str, Any]:
    """A node with its part of the pods' range, and its addresses."""
    found = node(f"h100-{number:02}", podCIDRs=[pods, "fd00:10::/64"], podCIDR=pods)
    found["status"]["addresses"] = [
        {"type": "Hostname", "address": f"h100-{number:02}"},
        {"type": "InternalIP", "address": address},
        {"type": "InternalIP", "address": "fd00::1"},
        {"type": "ExternalIP", "address": "203.0.113.9"},
    ]
    return found


RACK = [addressed(n, f"10.244.{n}.0/24", f"10.20.0.{10 + n}") for n in range(4)]
SERVICES = [{"metadata": {"name": "kubernetes"}, "spec": {"cidrs": ["10.96.0.0/12", "fd00:96::/108"]}}]


def ip_pool(cidr: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": cidr.partition("/")[0]}, "spec": {"cidr": cidr, **more}}


def test_ranges_come_from_the_api():
    assert cluster_ranges(RACK, SERVICES, []) == {"pod_cidr": "10.244.0.0/22", "service_cidr": "10.96.0.0/12", "node_cidr": "10.20.0.8/29"}


def test_ranges_that_are_far_apart_stay_apart():
    """One range over both would contain the default of the rails."""
    found = cluster_ranges(RACK, [], [ip_pool("192.168.0.0/16"), ip_pool("172.16.0.0/16", disabled=True)])
    assert found["pod_cidr"] == ["10.244.0.0/22", "192.168.0.0/16"]


def test_a_thousand_nodes_have_a_short_list():
    nodes = [addressed(n, f"10.{240 + n // 256}.{n % 256}.0/24", str(IPv4Address("10.20.0.0") + n)) for n in range(1024)]
    assert cluster_ranges(nodes, [], []) == {"pod_cidr": "10.240.0.0/14", "node_cidr": "10.20.0.0/22"}


def test_what_the_api_does_not_show_is_unknown():
    found = cluster_ranges([node("a")], [], [])
    assert found == {}
    assert [text.partition(";")[0] for text in open_ranges(found)] == [
        f"cluster: {key} is unknown" for key in ("pod_cidr", "service_cidr", "node_cidr")
    ]


@pytest.mark.parametrize("refused", [{}, {SERVICE_CIDRS: 403, CALICO_POOLS: 403}])
def test_the_written_file_has_the_ranges_that_may_be_read(tmp_path: Path, refused: dict[str, int]):
    pytest.importorskip("kubernetes", reason="the extra `cluster` is not installed")
    lists = LAB | {NODES: RACK, SERVICE_CIDRS: SERVICES, CALICO_POOLS: [ip_pool("10.244.0.0/16")]}
    with serving(
        FakeApi({path: [error(status, f"User lab cannot list {path}")] for path, status in refused.items()}, lists), tmp_path
    ) as config:
        assert run(["inventory", "--kubeconfig", str(config), "-o", str(tmp_path / "lab.yaml")]) == 0
    text = (tmp_path / "lab.yaml").read_text()
    pods, services = ("10.244.0.0/22", ()) if refused else ("10.244.0.0/16", ("10.96.0.0/12",))
    assert read_inventory(tmp_path / "lab.yaml").cluster.ranges == {
        "pod_cidr": (pods,), "service_cidr": services, "node_cidr": ("10.20.0.8/29",)
    }  # fmt: skip
    assert ("# cluster: service_cidr is unknown" in text) == bool(refused)
    assert yaml.safe_load(text)["cluster"]["node_cidr"] == "10.20.0.8/29"


@pytest.mark.parametrize("ranges", ["10.96.0.0/12", ["10.96.0.0/12", "10.244.0.0/16"]])
def test_a_written_range_or_several_are_read(tmp_path: Path, ranges: Any):
    servers = [{"name": "h100", "nodes": ["h100-00"], "gpus": {"model": "h100", "count": 8}, "cpus": 8, "memory": "64 GiB"}]
    cluster = {"name": "lab", "kubernetes": "1.35", "service_cidr": ranges}
    document = {"api_version": "rackwright/inventory/v1", "generated_at": "2026-11-21T08:00:00Z", "cluster": cluster, "servers": servers}
    (tmp_path / "lab.yaml").write_text(json.dumps(document))
    found = read_inventory(tmp_path / "lab.yaml").cluster.ranges["service_cidr"]
    assert found == ((ranges,) if isinstance(ranges, str) else tuple(ranges))
