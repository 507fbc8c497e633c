"""Stacks on own servers: operators, node labels, RDMA networks per mode, volumes, queues and what the cluster has already."""

import json
import re

import pytest
from rackwright.compile.compile import compile_plan
from rackwright.compile.compile_context import RunningStack
from rackwright.stackplan import VersionPins

from tests.compile.found import manifest, objects, one, release
from tests.own_plans import OWN, RAILS, own_box_case, own_training_case, own_training_plan, place
from tests.plans import TODAY, compiled

PORTS = ",".join(rail["device"] for rail in RAILS)


def test_operators_are_installed_in_the_order_that_works():
    plan = own_training_plan()
    assert [each.name for each in plan.releases] == ["kube-prometheus-stack", "gpu-operator", "network-operator", "jobset", "kueue"]
    assert release(plan, "network-operator").after == ("gpu-operator",)
    assert set(release(plan, "kueue").after) == {"kube-prometheus-stack", "gpu-operator", "network-operator", "jobset"}
    assert release(plan, "network-operator").values == {"nfd": {"enabled": False}, "sriovNetworkOperator": {"enabled": False}}


def test_no_operator_waits_for_a_node_label_that_an_existing_cluster_lacks():
    assert all("nodeSelector" not in json.dumps(each.values) for build in OWN.values() for each in build().releases)


def test_operators_that_the_cluster_has_are_not_installed_again():
    installed = [{"name": "gpu-operator", "version": "v26.3.3", "namespace": "gpu-operator"}]
    plan = own_training_plan(place(installed=installed))
    assert "gpu-operator" not in [each.name for each in plan.releases]
    assert "gpu-operator" not in dict(plan.namespaces)
    waits = {key for part in (*plan.releases, *plan.manifests) for key in part.after}
    assert "gpu-operator" not in waits


def test_operators_of_the_stack_itself_stay_when_a_later_inventory_lists_them():
    installed = [{"name": "kueue", "version": "0.19.2", "namespace": "kueue-system"}]
    spec, sizing, fit = own_training_case(place(installed=installed))
    running = RunningStack(pins=VersionPins("1.35", charts=(("kueue", "0.19.2"),)))
    plan = compile_plan(spec, sizing, fit, today=TODAY, running=running)
    assert "kueue" in [each.name for each in plan.releases]


def test_one_object_labels_every_node_of_the_group():
    rules = one(own_training_plan(), "NodeFeatureRule")["spec"]["rules"]
    assert rules[0]["labels"] == {"rackwright/role": "llama-own.accelerator"}
    assert rules[0]["matchFeatures"][0]["matchExpressions"]["nodename"]["value"] == ["h100-00", "h100-01", "h100-02", "h100-03"]
    assert [rule["labels"] for rule in rules[1:]] == [{"rackwright/rack": "a1"}, {"rackwright/rack": "a2"}]


def test_jobs_are_placed_by_rack_and_host():
    levels = one(own_training_plan(), "Topology")["spec"]["levels"]
    assert [level["nodeLabel"] for level in levels] == ["rackwright/rack", "kubernetes.io/hostname"]
    labels = manifest(own_training_plan(), "queue.flavor")["spec"]["nodeLabels"]
    assert labels == {"rackwright/role": "llama-own.accelerator"}


def test_topology_labels_of_the_inventory_replace_racks():
    cluster = {"name": "lab", "kubernetes": "1.35", "topology_labels": ["network.topology.nvidia.com/leaf"]}
    levels = one(own_training_plan(place(cluster=cluster)), "Topology")["spec"]["levels"]
    assert [level["nodeLabel"] for level in levels] == ["network.topology.nvidia.com/leaf", "kubernetes.io/hostname"]


@pytest.mark.parametrize(
    ("fabric", "kind", "plugin"),
    [
        ({"mode": "host-device"}, "HostDeviceNetwork", "sriovDevicePlugin"),
        ({"mode": "sriov"}, "SriovIBNetwork", ""),
        ({"mode": "shared"}, "IPoIBNetwork", "rdmaSharedDevicePlugin"),
    ],
)
def test_each_mode_has_its_device_plugin_and_a_network_per_rail(fabric, kind, plugin):
    plan = own_training_plan(place(fabric))
    policy = one(plan, "NicClusterPolicy")["spec"]
    assert {key for key in policy if "Plugin" in key} == ({plugin} if plugin else set())
    assert len(objects(plan, kind)) == len(objects(plan, "IPPool")) == 8
    assert len({pool["spec"]["subnet"] for pool in objects(plan, "IPPool")}) == 8


def test_host_devices_are_one_port_per_rail():
    config = json.loads(one(own_training_plan(), "NicClusterPolicy")["spec"]["sriovDevicePlugin"]["config"])
    assert [each["resourceName"] for each in config["resourceList"]] == [f"rail_{n}" for n in range(8)]
    assert config["resourceList"][3]["selectors"] == {"vendors": ["15b3"], "isRdma": True, "pfNames": ["ibs3"]}


def test_ports_without_names_share_one_resource():
    nics = [{"kind": "infiniband", "speed": "NDR", "count": 8}]
    plan = own_training_plan(place(servers={"nics": nics}))
    config = json.loads(one(plan, "NicClusterPolicy")["spec"]["sriovDevicePlugin"]["config"])
    assert config["resourceList"] == [
        {
            "resourcePrefix": "nvidia.com",
            "resourceName": "rails",
            "selectors": {"vendors": ["15b3"], "isRdma": True, "linkTypes": ["infiniband"]},
        }
    ]
    settings = one(plan, "ConfigMap")["metadata"]["annotations"]
    assert json.loads(settings["rackwright/resources"]) == {"nvidia.com/rails": 8}
    assert settings["k8s.v1.cni.cncf.io/networks"].split(",") == ["llama-own-rails"] * 8


def test_virtual_functions_have_the_link_type_number_and_mtu_of_the_spec():
    plan = own_training_plan(place({"mode": "sriov", "virtual_functions": 4, "mtu": 4092}))
    spec = objects(plan, "SriovNetworkNodePolicy")[0]["spec"]
    assert (spec["linkType"], spec["numVfs"], spec["mtu"], spec["nicSelector"]) == ("IB", 4, 4092, {"vendor": "15b3", "pfNames": ["ibs0"]})
    assert release(plan, "network-operator").values["sriovNetworkOperator"] == {"enabled": True}


def test_a_partition_key_is_in_the_network_and_assigned_through_ufm():
    plan = OWN["own-sriov"]()
    config = json.loads(objects(plan, "NetworkAttachmentDefinition")[0]["spec"]["config"])
    assert (config["pkey"], config["type"], config["ibKubernetesEnabled"]) == ("0x8001", "ib-sriov", True)
    assert one(plan, "NicClusterPolicy")["spec"]["ibKubernetes"]["ufmSecret"] == "ufm-credentials"


def test_roce_uses_the_same_modes_on_ethernet():
    nics = [{"kind": "roce", "speed": "400 Gbit/s", "count": 8, "rails": RAILS}]
    plan = own_training_plan(place({"mode": "sriov"}, {"nics": nics}))
    assert objects(plan, "SriovNetworkNodePolicy")[0]["spec"]["linkType"] == "ETH"
    assert len(objects(plan, "SriovNetwork")) == 8
    assert one(plan, "ConfigMap")["data"]["NCCL_IB_GID_INDEX"] == "3"


@pytest.mark.parametrize(("mode", "devices"), [("host-device", f"={PORTS}"), ("shared", f"={PORTS}"), ("sriov", "mlx5")])
def test_nccl_is_pinned_to_the_fabric_and_never_uses_tcp(mode, devices):
    data = one(own_training_plan(place({"mode": mode})), "ConfigMap")["data"]
    assert (data["NCCL_NET"], data["NCCL_IB_HCA"]) == ("IB", devices)


def test_the_queue_has_every_port_of_every_node():
    covered = manifest(own_training_plan(), "queue.cluster-queue")["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
    quota = {row["name"]: row["nominalQuota"] for row in covered}
    assert quota["nvidia.com/gpu"] == 32
    assert [quota[f"nvidia.com/rail_{n}"] for n in range(8)] == [4] * 8


def test_the_network_operator_installs_nic_drivers_on_request():
    plan = own_training_plan(place({"driver": "operator"}))
    assert one(plan, "NicClusterPolicy")["spec"]["ofedDriver"]["version"].startswith("doca")
    assert release(plan, "gpu-operator").values["driver"]["rdma"] == {"enabled": True, "useHostMofed": False}


def test_the_gpu_driver_of_the_servers_stays():
    plan = own_training_plan(place({"gpu_driver": "host"}))
    assert release(plan, "gpu-operator").values["driver"]["enabled"] is False


def test_storage_of_the_inventory_becomes_claims_of_the_team():
    plan = own_training_plan()
    volumes = {body["metadata"]["name"]: body["spec"] for body in objects(plan, "PersistentVolume")}
    assert volumes["llama-own-scratch"]["hostPath"] == {"path": "/lustre", "type": "Directory"}
    assert volumes["llama-own-home"]["nfs"] == {"server": "nas.example", "path": "/export"}
    assert {body["metadata"]["namespace"] for body in objects(plan, "PersistentVolumeClaim")} == {"llama-own-team-nlp"}
    prometheus = release(plan, "kube-prometheus-stack").values["prometheus"]["prometheusSpec"]
    assert prometheus["storageSpec"]["volumeClaimTemplate"]["spec"]["storageClassName"] == "ceph-block"


def test_without_a_storage_class_prometheus_has_no_disk():
    spec = release(own_training_plan(place(storage=[])), "kube-prometheus-stack").values["prometheus"]["prometheusSpec"]
    assert "storageSpec" not in spec


def test_the_namespace_of_the_spec_is_used():
    where = place() | {"namespace": "llm"}
    assert ("llm", "privileged") in own_training_plan(where).namespaces


def test_two_nodes_and_a_thousand_have_the_same_objects():
    nodes = [{"name": f"h100-{n}", "rack": "a1"} for n in range(1024)]
    few = own_training_plan(place(servers={"nodes": nodes[:2]}))
    many = own_training_plan(place({"addresses": "10.0.0.0/12"}, {"nodes": nodes}))
    assert [each.key for each in few.manifests] == [each.key for each in many.manifests]


def test_a_box_is_a_queue_or_the_users_container():
    queue, own = compiled(own_box_case()), compiled(own_box_case({"image": "registry.example/lab@sha256:0", "command": ["sleep", "inf"]}))
    assert objects(queue, "ClusterQueue")
    assert not objects(queue, "Job")
    container = one(own, "Job")["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/dev/shm", "/mnt/scratch", "/mnt/home"}
    assert not objects(own, "ClusterQueue")


def box_container(**run):
    spec = one(compiled(own_box_case({"image": "registry.example/lab@sha256:0"} | run)), "Job")["spec"]["template"]["spec"]
    return spec["containers"][0], {row["name"]: row.get("value") for row in spec["containers"][0]["env"]}


@pytest.mark.parametrize(
    ("launcher", "started"),
    [
        ("torchrun", ["torchrun", "--nnodes=1", "--nproc-per-node=8", "--node-rank=$(NODE_RANK)"]),
        ("auto", ["torchrun", "--nnodes=1", "--nproc-per-node=8", "--node-rank=$(NODE_RANK)"]),
        ("accelerate", ["accelerate", "launch", "--num_machines=1", "--num_processes=8"]),
        ("none", ["python", "train.py"]),
    ],
)
def test_the_container_of_a_box_starts_under_its_launcher(launcher, started):
    container, env = box_container(command=["python", "train.py"], launcher=launcher)
    assert container["command"][: len(started)] == started
    used = re.findall(r"\$\((\w+)\)", " ".join(container["command"]))
    assert {*used} <= env.keys()
    assert (env["NNODES"], env["NPROC_PER_NODE"], env["MASTER_ADDR"]) == ("1", "8", "127.0.0.1")
    assert env["PLAN_CHECKPOINT_PATH"] == "/mnt/scratch/checkpoints/sft"


def test_arguments_alone_belong_to_the_command_of_the_image():
    container, _ = box_container(args=["python", "train.py"], launcher="torchrun")
    assert container["args"] == ["python", "train.py"]
    assert "command" not in container


def test_a_box_tolerates_the_taints_of_its_servers():
    spec, sizing, fit = own_box_case({"image": "registry.example/lab@sha256:0"})
    tainted = own_training_case(place(servers={"taints": [{"key": "dedicated", "value": "ml"}]}))[0]
    template = one(compiled((spec.model_copy(update={"infra": tainted.infra}), sizing, fit)), "Job")["spec"]["template"]
    expected = {"key": "dedicated", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}
    assert expected in template["spec"]["tolerations"]


def test_a_box_runs_no_jobs_and_its_container_where_it_has_an_image():
    queue, own = compiled(own_box_case()), compiled(own_box_case({"image": "registry.example/lab@sha256:0"}))
    assert [(plan.runs_jobs, plan.runs_container) for plan in (queue, own, own_training_plan())] == [
        (False, False),
        (False, True),
        (True, False),
    ]


def test_replicas_that_span_servers_attach_every_rail():
    plan = OWN["own-fleet-wide"]()
    pod = one(plan, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]
    assert pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].count("rail") == 8
    env = {row["name"]: row.get("value") for row in pod["spec"]["containers"][0]["env"]}
    assert env["NCCL_NET"] == "IB"
    assert pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/rail_0"] == "1"


def test_a_fleet_on_single_servers_needs_no_network_operator():
    plan = OWN["own-fleet"]()
    assert [each.name for each in plan.releases] == ["kube-prometheus-stack", "gpu-operator", "keda"]
    assert dict(plan.namespaces)["chat-own-team-chat"] == "restricted"


def test_nothing_of_a_cloud_is_in_the_plan():
    plan = own_training_plan()
    parts = (plan.buckets, plan.lustre, plan.addons, plan.identities, plan.karpenter, plan.guard)
    assert not any(parts)
