"""Disks, user data and node group arguments of every image family (recipes V-37 to V-39, field V5)."""

import base64
import email
import json
import shlex
import tomllib
from dataclasses import replace

import pytest
from rackwright.stackplan import PoolPlan, TaintPlan
from rackwright_pulumi.testing import Graph
from rackwright_pulumi.unsupported import Unsupported

from tests.components.aws.test_aws_pool import NODE_GROUP, TEMPLATE, gpu, graph_of
from tests.components.sdk import misfits

AMI = "ami-0123456789abcdef0"
CLUSTER = {
    "cluster_endpoint": "https://ABC.gr7.us-east-1.eks.amazonaws.com",
    "cluster_certificate": "Q0VSVA==",
    "service_cidr": "10.100.0.0/16",
    "release_version": "1.35.6-20260728",
}
KEY = "arn:aws:kms:us-east-1:123456789012:key/k"


def pool(image: str, image_id: str = "", **more) -> PoolPlan:
    return replace(gpu(), image=image, image_id=image_id, **more)


def built(want: PoolPlan) -> Graph:
    return graph_of(want, **CLUSTER)


def boot(want: PoolPlan) -> str:
    return base64.b64decode(built(want).one(TEMPLATE).inputs["userData"]).decode()


def settings(want: PoolPlan) -> dict:
    return tomllib.loads(boot(want))["settings"]


def node_config(want: PoolPlan) -> dict:
    (part,) = email.message_from_string(boot(want)).get_payload()
    return json.loads(part.get_payload())["spec"]


@pytest.mark.parametrize(
    ("image", "arch", "expected"),
    [
        ("al2023-neuron", "x86_64", "AL2023_x86_64_NEURON"),
        ("al2023-nvidia", "arm64", "AL2023_ARM_64_NVIDIA"),
        ("bottlerocket", "x86_64", "BOTTLEROCKET_x86_64"),
        ("bottlerocket", "arm64", "BOTTLEROCKET_ARM_64"),
        ("bottlerocket-nvidia", "x86_64", "BOTTLEROCKET_x86_64_NVIDIA"),
        ("bottlerocket-nvidia", "arm64", "BOTTLEROCKET_ARM_64_NVIDIA"),
        ("bottlerocket-neuron", "x86_64", "BOTTLEROCKET_x86_64"),
    ],
)
def test_the_ami_type_is_one_of_eks(image, arch, expected):
    inputs = built(pool(image, cpu_arch=arch)).one(NODE_GROUP).inputs
    assert (inputs["amiType"], inputs["releaseVersion"], inputs["version"]) == (expected, "1.35.6-20260728", "1.35")


@pytest.mark.parametrize("family", ["al2023-nvidia", "bottlerocket-nvidia", "ubuntu"])
def test_v5_the_image_id_of_the_plan_is_used(family):
    """pulumi-eks 1526 and 1550: the newest EKS image replaced the requested GPU image. EKS refuses other fields that name an image."""
    graph = built(pool(family, AMI))
    assert graph.one(TEMPLATE).inputs["imageId"] == AMI
    assert not {"amiType", "releaseVersion", "version"} & graph.one(NODE_GROUP).inputs.keys()
    assert not misfits(graph)


def test_images_of_eks_set_no_image_id():
    assert "imageId" not in built(pool("bottlerocket-nvidia")).one(TEMPLATE).inputs


@pytest.mark.parametrize(
    ("image", "image_id", "devices"),
    [
        ("al2023-nvidia", "", {"/dev/xvda": 200}),
        ("bottlerocket-nvidia", "", {"/dev/xvda": 4, "/dev/xvdb": 200}),
        ("ubuntu", AMI, {"/dev/sda1": 200}),
    ],
)
def test_the_container_disk_has_the_size_of_the_plan_and_every_disk_is_encrypted(image, image_id, devices):
    mapped = {m["deviceName"]: m["ebs"] for m in built(pool(image, image_id)).one(TEMPLATE).inputs["blockDeviceMappings"]}
    assert {name: disk["volumeSize"] for name, disk in mapped.items()} == devices
    assert {(disk["encrypted"], disk["kmsKeyId"]) for disk in mapped.values()} == {("true", KEY)}


def test_bottlerocket_stripes_local_disks_and_needs_no_cluster_data():
    assert settings(pool("bottlerocket-nvidia")) == {
        "bootstrap-commands": {
            "local-disks": {
                "commands": [
                    ["apiclient", "ephemeral-storage", "init"],
                    ["apiclient", "ephemeral-storage", "bind", "--dirs", "/var/lib/containerd", "/var/lib/kubelet", "/var/log/pods"],
                ],
                "essential": True,
                "mode": "always",
            }
        }
    }


def test_bottlerocket_with_defaults_has_no_user_data():
    assert "userData" not in built(pool("bottlerocket-nvidia", local_nvme=False)).one(TEMPLATE).inputs


def test_a_custom_bottlerocket_image_gets_all_cluster_data():
    want = pool("bottlerocket-nvidia", AMI, local_nvme=False, max_pods=110, taints=(TaintPlan("nvidia.com/gpu", "present"),))
    assert settings(want)["kubernetes"] == {
        "cluster-name": "demo",
        "api-server": CLUSTER["cluster_endpoint"],
        "cluster-certificate": "Q0VSVA==",
        "cluster-dns-ip": "10.100.0.10",
        "max-pods": 110,
        "node-labels": {"rackwright/role": "accelerator"},
        "node-taints": {"nvidia.com/gpu": ["present:NoSchedule"]},
    }


def test_a_custom_al2023_image_gets_all_cluster_data():
    spec = node_config(pool("al2023-nvidia", AMI, max_pods=110))
    assert spec["cluster"] == {
        "name": "demo",
        "apiServerEndpoint": CLUSTER["cluster_endpoint"],
        "certificateAuthority": "Q0VSVA==",
        "cidr": "10.100.0.0/16",
    }
    assert spec["kubelet"] == {
        "config": {"maxPods": 110},
        "flags": ["--node-labels=rackwright/role=accelerator", "--register-with-taints=nvidia.com/gpu=present:NoSchedule"],
    }
    assert spec["instance"] == {"localStorage": {"strategy": "RAID0"}}


def test_the_al2023_image_of_eks_gets_no_cluster_data():
    assert "cluster" not in node_config(pool("al2023-nvidia"))


def test_ubuntu_runs_canonicals_script_after_huge_pages_and_limits():
    lines = boot(pool("ubuntu", AMI, max_pods=110)).splitlines()
    assert lines[0] == "#!/bin/bash"
    assert lines.index("sysctl -w vm.nr_hugepages=5128") < lines.index("systemctl restart containerd") < len(lines) - 1
    assert shlex.split(lines[-1]) == [
        "/etc/eks/bootstrap.sh",
        "demo",
        *("--apiserver-endpoint", CLUSTER["cluster_endpoint"]),
        *("--b64-cluster-ca", "Q0VSVA=="),
        *("--dns-cluster-ip", "10.100.0.10"),
        *("--use-max-pods", "false"),
        "--kubelet-extra-args",
        "--node-labels=rackwright/role=accelerator --register-with-taints=nvidia.com/gpu=present:NoSchedule --max-pods=110",
    ]


def test_ubuntu_without_a_fabric_reserves_no_huge_pages():
    assert "hugepages" not in boot(pool("ubuntu", AMI, nics=(), fabric="none"))


@pytest.mark.parametrize(
    ("want", "said"),
    [
        (pool("ubuntu"), "pools[gpu].image"),
        (pool("windows"), "pools[gpu].image"),
        (pool("bottlerocket-neuron", cpu_arch="arm64"), "pools[gpu].image"),
        (pool("al2023-nvidia", AMI, labels=(("team", "x" * 17_000),)), "pools[gpu].labels"),
    ],
)
def test_user_data_that_cannot_start_is_unsupported(want, said):
    with pytest.raises(Unsupported) as refused:
        built(want)
    assert said in str(refused.value)


def test_a_custom_image_requires_cluster_data():
    with pytest.raises(Unsupported, match="cluster_certificate"):
        graph_of(pool("al2023-nvidia", AMI))
