"""Operators of own servers: what the cluster has already, tolerations of taints, the Prometheus that is queried, rails and roles."""

import json
from ipaddress import IPv4Network

import pytest
import yaml
from rackwright.compile.compile import compile_plan
from rackwright.compile.compile_context import RunningStack
from rackwright.stackplan import VersionPins
from rackwright.validation.stack import check

from tests.compile.found import manifest, objects, one, release
from tests.own_plans import OWN, RAILS, TAINTS, own_box_case, own_fleet_case, own_training_case, own_training_plan, place
from tests.plans import TODAY, compiled

DEDICATED = {"key": "dedicated", "value": "ml", "effect": "NoSchedule"}
TOLERATED = {"key": "dedicated", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}
OBSERVED = {"name": "kube-prometheus-stack", "version": "88.5.3", "namespace": "observability"}


def test_jobs_servers_boxes_and_their_device_plugins_tolerate_the_taints_of_the_group():
    where = place(servers={"taints": [DEDICATED]})
    box = one(compiled(own_box_case({"image": "registry.example/lab@sha256:0"}, where)), "Job")
    server = one(compiled(own_fleet_case(where=where)), "Deployment")
    group = one(compiled(own_fleet_case(8, 2, where)), "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
    plan = own_training_plan(where)
    gpus = release(plan, "gpu-operator").values
    tolerant = [
        box["spec"]["template"]["spec"],
        server["spec"]["template"]["spec"],
        group["leaderTemplate"]["spec"],
        group["workerTemplate"]["spec"],
        manifest(plan, "queue.flavor")["spec"],
        one(plan, "NicClusterPolicy")["spec"],
        gpus["daemonsets"],
        gpus["node-feature-discovery"]["worker"],
    ]
    assert [TOLERATED in each["tolerations"] for each in tolerant] == [True] * len(tolerant)


def test_charts_keep_their_tolerations_for_servers_without_taints():
    plan = own_training_plan()
    assert "daemonsets" not in release(plan, "gpu-operator").values
    assert "tolerations" not in one(plan, "NicClusterPolicy")["spec"]


def test_jobs_use_the_faster_ports_whatever_their_order():
    storage = {"kind": "infiniband", "speed": "HDR", "count": 1, "rails": [{"interface": "ibs9"}]}
    compute = {"kind": "infiniband", "speed": "NDR", "count": 8, "rails": RAILS}
    first, last = (own_training_plan(place(servers={"nics": nics})) for nics in ([storage, compute], [compute, storage]))
    assert first == last
    assert len(objects(first, "HostDeviceNetwork")) == 8
    assert first.expected_fabric.node_bytes_per_s == 8 * 50e9


def test_infiniband_is_used_before_faster_roce():
    nics = [{"kind": "roce", "speed": "400 Gbit/s", "count": 8}, {"kind": "infiniband", "speed": "HDR", "count": 4}]
    assert own_training_plan(place(servers={"nics": nics})).expected_fabric.fabric == "infiniband"


@pytest.mark.parametrize(
    ("installed", "url", "namespace"),
    [
        ([], "http://monitoring-prometheus.monitoring:9090", "monitoring"),
        ([OBSERVED], "http://prometheus-operated.observability:9090", "observability"),
        ([OBSERVED | {"service": "kps-prometheus"}], "http://kps-prometheus.observability:9090", "observability"),
    ],
)
def test_autoscalers_and_policies_name_the_prometheus_of_the_cluster(installed, url, namespace):
    fleet = compiled(own_fleet_case(where=place(installed=installed)))
    triggers = one(fleet, "ScaledObject")["spec"]["triggers"]
    assert {trigger["metadata"]["serverAddress"] for trigger in triggers} == {url}
    policies = [*objects(fleet, "NetworkPolicy"), *objects(own_training_plan(place(installed=installed)), "NetworkPolicy")]
    named = [body["spec"]["ingress"] for body in policies if body["metadata"]["name"] in ("allow-entrance", "allow-metrics")]
    assert [f'"kubernetes.io/metadata.name": "{namespace}"' in json.dumps(ingress) for ingress in named] == [True, True]


def test_the_prometheus_of_the_stack_itself_stays_when_a_later_inventory_lists_it():
    spec, sizing, fit = own_fleet_case(where=place(installed=[OBSERVED]))
    running = RunningStack(pins=VersionPins("1.35", charts=(("kube-prometheus-stack", "88.5.3"),)))
    plan = compile_plan(spec, sizing, fit, today=TODAY, running=running)
    assert one(plan, "ScaledObject")["spec"]["triggers"][0]["metadata"]["serverAddress"] == "http://monitoring-prometheus.monitoring:9090"


@pytest.mark.parametrize("name", ["own-training", "own-box"])
def test_teams_have_a_role_in_their_namespace(name):
    plan = OWN[name]()
    space = plan.namespaces[0][0]
    assert one(plan, "Role")["metadata"]["namespace"] == space
    assert one(plan, "RoleBinding")["subjects"] == [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": space}]


@pytest.mark.parametrize(
    ("name", "level"),
    [("own-training", "privileged"), ("own-box", "baseline"), ("own-fleet", "restricted"), ("own-fleet-wide", "privileged")],
)
def test_namespaces_have_the_pod_security_level_that_rdma_needs(name, level):
    assert OWN[name]().namespaces[0][1] == level


def test_prometheus_names_the_priority_class_that_the_stack_creates():
    plan = own_training_plan()
    named = release(plan, "kube-prometheus-stack").values["prometheus"]["prometheusSpec"]["priorityClassName"]
    assert named in {body["metadata"]["name"] for body in objects(plan, "PriorityClass")}


def test_a_cluster_with_prometheus_needs_no_second_one():
    plan = own_training_plan(place(installed=[{"name": "kube-prometheus-stack", "version": "75.0.0", "namespace": "monitoring"}]))
    assert check(plan) == []
    assert plan.installed == ("kube-prometheus-stack",)
    assert release(plan, "gpu-operator").after == ()


NETWORK_OPERATOR = [{"name": "network-operator", "version": "26.4.1", "namespace": "nvidia-network-operator"}]


def test_the_policy_of_an_existing_network_operator_is_not_changed():
    plan = own_training_plan(place(installed=NETWORK_OPERATOR))
    assert not objects(plan, "NicClusterPolicy")
    assert len(objects(plan, "HostDeviceNetwork")) == 8
    assert {problem.code for problem in check(plan)} == {"V-179"}


def test_rails_of_an_existing_network_operator_are_used_by_name():
    rails = [port | {"resource": "nvidia.com/hostdev", "network": f"rails/rail-{n}"} for n, port in enumerate(RAILS)]
    nics = [{"kind": "infiniband", "speed": "NDR", "count": 8, "rails": rails}]
    plan = own_training_plan(place(servers={"nics": nics}, installed=NETWORK_OPERATOR))
    assert not [body for kind in ("NicClusterPolicy", "IPPool", "HostDeviceNetwork") for body in objects(plan, kind)]
    settings = one(plan, "ConfigMap")["metadata"]["annotations"]
    assert json.loads(settings["rackwright/resources"]) == {"nvidia.com/hostdev": 8}
    assert settings["k8s.v1.cni.cncf.io/networks"] == ",".join(f"rails/rail-{n}" for n in range(8))
    assert check(plan) == []


def test_kueue_manages_labelled_namespaces_only():
    config = yaml.safe_load(release(own_training_plan(), "kueue").values["managerConfig"]["controllerManagerConfigYaml"])
    assert config["managedJobsNamespaceSelector"] == {"matchLabels": {"rackwright/queues": "true"}}


def test_node_feature_discovery_of_the_cluster_is_the_only_one():
    def plan(namespace, **running):
        found = [{"name": "node-feature-discovery", "version": "0.18.3", "namespace": namespace}]
        spec, sizing, fit = own_training_case(place(installed=found))
        return compile_plan(spec, sizing, fit, today=TODAY, running=RunningStack(**running))

    assert release(plan("nfd"), "gpu-operator").values["nfd"] == {"enabled": False}
    assert release(plan("nfd"), "network-operator").values["nfd"] == {"enabled": False}
    own = plan("gpu-operator", pins=VersionPins("1.35", charts=(("gpu-operator", "v26.3.3"),)))
    assert "nfd" not in release(own, "gpu-operator").values


def test_daemons_run_on_tainted_servers():
    plan = own_training_plan(place(servers={"taints": TAINTS}))
    wanted = [
        {"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"},
        {"key": "lab", "operator": "Equal", "value": "", "effect": "NoExecute"},
    ]
    values = release(plan, "gpu-operator").values
    worker = values["node-feature-discovery"]["worker"]
    policy = one(plan, "NicClusterPolicy")["spec"]
    for tolerations in (values["daemonsets"]["tolerations"], worker["tolerations"], policy["tolerations"]):
        assert tolerations[-2:] == wanted
        assert {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"} in tolerations
    assert release(plan, "kube-prometheus-stack").values["prometheus-node-exporter"] == {"tolerations": [{"operator": "Exists"}]}


def test_rails_have_addresses_that_pods_rarely_use():
    subnets = [IPv4Network(pool["spec"]["subnet"]) for pool in objects(own_training_plan(), "IPPool")]
    assert all(subnet.subnet_of(IPv4Network("198.18.0.0/15")) for subnet in subnets)
