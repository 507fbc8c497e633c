"""Nodes of a training cluster: image, drivers, and device plugins or claims."""

import pytest
import yaml
from rackwright.compile.compile import compile_plan
from rackwright.diagnostics.errors import UserError
from rackwright.spec.blueprint import Nodes
from rackwright.stackplan import StackPlan
from rackwright.validation.stack import check

from tests import plans
from tests.compile.found import release

MULTI_NODE = (
    *("p4d.24xlarge", "p4de.24xlarge", "p5.4xlarge", "p5.48xlarge", "p5e.48xlarge", "p5en.48xlarge", "p6-b200.48xlarge"),
    *("p6-b300.48xlarge", "g5.48xlarge", "g6.48xlarge", "g6e.48xlarge", "g7e.48xlarge"),
    *("trn1.32xlarge", "trn1n.32xlarge", "trn2.48xlarge", "trn2u.48xlarge", "inf2.48xlarge"),
)
ELSEWHERE = ("V-30", "V-112")
"""Rules about where a machine is sold and when a stack ends."""


def names(plan: StackPlan) -> list[str]:
    return [r.name for r in plan.releases]


@pytest.mark.parametrize("machine", MULTI_NODE)
@pytest.mark.parametrize("nodes", [{}, {"image": "bottlerocket"}, {"image": {"ami": plans.OWN_AMI, "family": "al2023"}}])
def test_every_multi_node_machine_satisfies_every_rule_in_every_image_family(machine, nodes):
    broken = [str(p) for p in check(plans.nodes_plan(machine, **nodes)) if p.code not in ELSEWHERE]
    assert broken == []


def test_the_smallest_efa_machine_has_a_working_set_up():
    """dstack 3069: p5.4xlarge had an image without EFA. Here the image has EFA, and the plugin runs on this machine."""
    plan = plans.nodes_plan("p5.4xlarge")
    assert plan.pool("gpu").image == "al2023-nvidia"
    assert [nic.kind for nic in plan.pool("gpu").nics] == ["ip", "fabric"]
    assert release(plan, "aws-efa-k8s-device-plugin").values["supportedInstanceLabels"] == {"values": ["p5.4xlarge"]}


@pytest.mark.parametrize("machine", [m for m in MULTI_NODE if m != "inf2.48xlarge"])
def test_the_efa_driver_lists_the_machines_with_efa(machine):
    """sagemaker-hyperpod-cli 367 and 318: wrong list of machines, and jobs that requested no EFA. Here jobs can request all interfaces."""
    plan = plans.nodes_plan(machine)
    assert release(plan, "aws-efa-k8s-device-plugin").values["supportedInstanceLabels"]["values"] == [machine]
    queue = next(m.body for m in plan.manifests if m.key == "queue.cluster-queue")
    quota = {r["name"]: r["nominalQuota"] for r in queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]}
    fabric = sum(nic.kind == "fabric" for nic in plan.pools[1].nics)
    assert quota["vpc.amazonaws.com/efa"] == fabric * plan.pools[1].nodes_max


def test_eks_images_have_a_pinned_release_and_custom_images_none():
    assert dict(plans.nodes_plan(image="bottlerocket").pins.images) == {
        "al2023": "1.35.6-20260728",
        "bottlerocket-nvidia": "1.58.0-c5c37032",
    }
    assert dict(plans.NODES["own-ami"]().pins.images) == {"al2023": "1.35.6-20260728"}


def test_bottlerocket_contains_a_device_plugin():
    values = release(plans.NODES["bottlerocket"](), "nvidia-device-plugin").values
    assert (values["devicePlugin"], values["gfd"]) == ({"enabled": False}, {"enabled": True})
    assert release(plans.NODES["bottlerocket"](), "dcgm-exporter").values["securityContext"]["privileged"]


def test_ubuntu_uses_the_gpu_operator():
    plan = plans.NODES["ubuntu"]()
    assert {"aws-efa-k8s-device-plugin", "gpu-operator"} <= set(names(plan))
    assert "nvidia-device-plugin" not in names(plan)
    assert ("gpu-operator", "privileged") in plan.namespaces
    assert not plan.pool("gpu").local_nvme


def test_the_validator_of_the_gpu_operator_has_a_variable():
    values = release(plans.NODES["ubuntu"](), "gpu-operator").values
    assert values["validator"] == {"plugin": {"env": [{"name": "WITH_WORKLOAD", "value": "false"}]}}
    assert values["driver"]["upgradePolicy"] == {"autoUpgrade": False}


def test_kueue_ignores_jobs_of_operators():
    config = yaml.safe_load(release(plans.NODES["ubuntu"](), "kueue").values["managerConfig"]["controllerManagerConfigYaml"])
    assert config["managedJobsNamespaceSelector"] == {"matchLabels": {"rackwright/queues": "true"}}


def test_metrics_exporters_wait_for_prometheus():
    assert release(plans.training_plan(), "dcgm-exporter").after == ("kube-prometheus-stack",)


def test_claims_and_device_plugins_have_the_same_quota():
    plan = plans.NODES["dra"]()
    assert "aws-efa-k8s-device-plugin" not in names(plan)
    (claim,) = (m for m in plan.manifests if m.body["kind"] == "ResourceClaimTemplate")
    assert claim.body["metadata"] == {"name": "efa", "namespace": "team-nlp"}
    (request,) = claim.body["spec"]["spec"]["devices"]["requests"]
    assert request["exactly"] == {"deviceClassName": "efa.networking.k8s.aws", "allocationMode": "ExactCount", "count": 32}
    config = yaml.safe_load(release(plan, "kueue").values["managerConfig"]["controllerManagerConfigYaml"])
    mapping = {"name": "vpc.amazonaws.com/efa", "deviceClassNames": ["efa.networking.k8s.aws"]}
    assert config["resources"]["deviceClassMappings"] == [mapping]


def beside(family: str, **extra) -> StackPlan:
    """The training cluster with a custom image and an extra pool."""
    shape = {
        "nodes": {"image": {"ami": plans.OWN_AMI, "family": family}},
        "pools": [{"name": "extra", "nodes": 2} | extra],
        "storage": "none",
    }
    return plans.compiled(plans.training_case(blueprint=shape))


def test_a_custom_image_is_for_machines_like_the_sized_one():
    pools = {p.name: (p.image, p.image_id) for p in beside("ubuntu", instance="m7i.4xlarge").pools}
    assert pools == {"system": ("al2023", ""), "gpu": ("ubuntu", plans.OWN_AMI), "extra": ("al2023", "")}
    assert beside("ubuntu", instance="g6e.48xlarge").pool("extra").image_id == plans.OWN_AMI


def test_claims_have_the_interfaces_of_their_machine():
    shape = {"nodes": {"devices": "dra"}, "pools": [{"name": "extra", "instance": "p4d.24xlarge", "nodes": 2}]}
    plan = plans.compiled(plans.training_case(blueprint=shape))
    claims = {
        m.body["metadata"]["name"]: m.body["spec"]["spec"]["devices"]["requests"][0]["exactly"]["count"]
        for m in plan.manifests
        if m.body["kind"] == "ResourceClaimTemplate"
    }
    assert claims == {"efa": 32, "efa-4": 4}
    assert release(plan, "aws-dranet").values["supportedInstanceLabels"]["values"] == ["p4d.24xlarge", "p5.48xlarge"]


def test_neuron_machines_use_the_neuron_plugin():
    plan = plans.nodes_plan("trn2.48xlarge")
    pool = plan.pool("neuron")
    assert (pool.image, pool.resource, pool.accelerator_count) == ("al2023-neuron", "aws.amazon.com/neuron", 16)
    assert [(t.key, t.effect) for t in pool.taints] == [("aws.amazon.com/neuron", "NoSchedule")]
    assert release(plan, "neuron-helm-chart").values == {"neuronInstances": ["trn2.48xlarge"], "npd": {"enabled": False}}
    assert not {"nvidia-device-plugin", "dcgm-exporter"} & set(names(plan))


def box_on_bottlerocket():
    spec, sizing, fit = plans.box_case()
    nodes = Nodes(image="bottlerocket")
    return spec.model_copy(update={"blueprint": spec.blueprint.model_copy(update={"nodes": nodes})}), sizing, fit


@pytest.mark.parametrize(
    ("case", "code"),
    [
        (plans.training_case(blueprint={"nodes": {"provisioner": "karpenter"}}), "C-provisioner"),
        (box_on_bottlerocket(), "C-node-setup"),
        (plans.training_case(machine="g5g.16xlarge", blueprint={"nodes": {"devices": "dra"}}), "C-devices"),
    ],
)
def test_unsupported_node_settings_are_rejected(case, code):
    with pytest.raises(UserError) as refused:
        compile_plan(*case, today=plans.TODAY)
    assert code in {problem.code for problem in refused.value.problems}


def test_claims_of_an_extra_pool_have_quotas():
    """Kueue counts claims of the driver as the resource, and never admits a job whose resource has no quota."""
    shape = {"nodes": {"devices": "dra"}, "pools": [{"name": "extra", "instance": "p4d.24xlarge", "nodes": 2}]}
    queue = next(m for m in plans.compiled(plans.training_case(blueprint=shape)).manifests if m.key == "queue.cluster-queue.extra")
    (flavor,) = queue.body["spec"]["resourceGroups"][0]["flavors"]
    amounts = {row["name"]: row["nominalQuota"] for row in flavor["resources"]}
    assert (amounts["vpc.amazonaws.com/efa"], amounts["hugepages-2Mi"]) == (8, "10240Mi")
