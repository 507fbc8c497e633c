"""The JobSet of a planned workload: valid for the pinned chart, on the objects and machines of its stack."""

from dataclasses import replace

import pytest
from rackwright.diagnostics.errors import UserError
from rackwright.stackplan import ManifestPlan
from rackwright.stackplan.labels import PASSED, PREFLIGHT_LABEL
from rackwright_pulumi.blueprints.tpu_pod import TpuPod
from rackwright_pulumi.blueprints.training_cluster import TrainingCluster
from rackwright_pulumi.testing import record

from tests import gke_plans, plans
from tests.compile.contracts import errors_of, needs_contracts
from tests.jobs import cases

CASES = {
    "efa": plans.training_case,
    "efa-dra": cases.dra_case,
    "one-machine": cases.one_machine_case,
    "fallback": plans.fallback_case,
    "tpu": cases.tpu_case,
    "gke-tcpx": lambda: gke_plans.gke_training_case("a3-highgpu-8g"),
    "gke-tcpxo": gke_plans.gke_training_case,
    "gke-roce": lambda: gke_plans.gke_training_case("a3-ultragpu-8g", capacity="spot"),
}


@needs_contracts
@pytest.mark.parametrize("name", CASES)
def test_the_job_fits_the_crd_of_the_pinned_chart(name):
    assert errors_of(cases.job(CASES[name]()).body) == []


def deployed(name, plan) -> dict[tuple[str, str, str], dict]:
    """Objects of the stack's graph by kind, namespace and name."""
    kind = TpuPod if name == "tpu" else TrainingCluster
    graph = record(lambda: kind("stack", {"plan": plan, "secrets": {}}))
    found = {}
    for resource in graph.nodes.values():
        if (metadata := resource.inputs.get("metadata")) and isinstance(metadata, dict):
            found[resource.type.rpartition(":")[2], metadata.get("namespace", ""), metadata["name"]] = resource.inputs
    return found


@pytest.mark.parametrize("name", CASES)
def test_the_job_names_only_objects_that_the_stack_has(name):
    context = cases.context(CASES[name]())
    made, objects = cases.job(CASES[name]()), deployed(name, context.stack)
    spec, labels = cases.template(made)["spec"], made.body["metadata"]["labels"]
    named = {
        ("Namespace", "", made.namespace),
        ("LocalQueue", made.namespace, labels["kueue.x-k8s.io/queue-name"]),
        ("WorkloadPriorityClass", "", labels["kueue.x-k8s.io/priority-class"]),
        ("PriorityClass", "", spec["priorityClassName"]),
        ("ServiceAccount", made.namespace, spec["serviceAccountName"]),
    }
    claims = [volume["persistentVolumeClaim"]["claimName"] for volume in spec["volumes"] if "persistentVolumeClaim" in volume]
    named |= {("PersistentVolumeClaim", made.namespace, claim) for claim in claims}
    named |= {("ResourceClaimTemplate", made.namespace, own["resourceClaimTemplateName"]) for own in spec.get("resourceClaims", ())}
    assert named <= objects.keys()
    assert bool(claims) == (context.stack.place.cloud == "aws")
    assert ("resourceClaims" in spec) == (name in ("efa-dra", "gke-roce"))


@pytest.mark.parametrize("name", CASES)
def test_the_queue_covers_and_holds_what_the_job_requests(name):
    """Kueue never admits a job that requests an uncovered resource, or more than the quota."""
    context = cases.context(CASES[name]())
    requests = cases.container(CASES[name]())["resources"]["requests"]
    (group,) = context.object("queue.cluster-queue")["spec"]["resourceGroups"]
    quota = {row["name"]: row["nominalQuota"] for row in group["flavors"][0]["resources"]}
    assert set(requests) <= set(quota)
    for resource, amount in requests.items():
        number = int("".join(filter(str.isdigit, str(amount)))) * context.nodes
        assert number <= int("".join(filter(str.isdigit, str(quota[resource])))), resource


@pytest.mark.parametrize("name", CASES)
def test_pods_land_on_the_machines_of_the_plan(name):
    context, spec = cases.context(CASES[name]()), cases.pod(CASES[name]())
    works = [pool for pool in context.stack.pools if pool.does_the_work]
    own = {key: value for key, value in spec["nodeSelector"].items() if key.startswith("rackwright/")}
    assert own
    assert all(own.items() <= (dict(pool.labels) | {PREFLIGHT_LABEL: PASSED}).items() for pool in works)
    assert {(t["key"], t["value"], t["effect"]) for t in spec["tolerations"]} == {
        (t.key, t.value, t.effect) for pool in works for t in pool.taints
    }
    requests = spec["containers"][0]["resources"]["requests"]
    assert requests[works[0].resource] == str(works[0].accelerator_count)


def test_every_machine_has_one_pod_with_all_its_devices():
    made = cases.job(plans.training_case())
    workers = made.body["spec"]["replicatedJobs"][0]["template"]["spec"]
    assert (workers["parallelism"], workers["completions"], workers["backoffLimit"]) == (4, 4, 0)
    requests = cases.container(plans.training_case())["resources"]["requests"]
    assert {key: requests[key] for key in ("nvidia.com/gpu", "vpc.amazonaws.com/efa", "hugepages-2Mi")} == {
        "nvidia.com/gpu": "8",
        "vpc.amazonaws.com/efa": "32",
        "hugepages-2Mi": "5120Mi",
    }


def test_efa_by_dra_is_a_claim_instead_of_a_device_count():
    main = cases.container(CASES["efa-dra"]())
    assert main["resources"]["claims"] == [{"name": "efa"}]
    assert "vpc.amazonaws.com/efa" not in main["resources"]["requests"]


def test_rdma_locks_memory_and_one_machine_needs_no_right():
    assert cases.container(plans.training_case())["securityContext"]["capabilities"] == {"drop": ["NET_RAW"], "add": ["IPC_LOCK"]}
    alone = cases.container(cases.one_machine_case())
    assert alone["securityContext"]["capabilities"] == {"drop": ["NET_RAW"]}
    assert not {"vpc.amazonaws.com/efa", "hugepages-2Mi"} & alone["resources"]["requests"].keys()


def test_volumes_are_shared_memory_file_system_and_local_disks():
    spec = cases.pod(plans.training_case())
    mounts = {mount["name"]: mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]}
    assert mounts == {"shm": "/dev/shm", "shared": "/shared", "scratch": "/scratch"}
    shm = next(volume["emptyDir"] for volume in spec["volumes"] if volume["name"] == "shm")
    memory = int(spec["containers"][0]["resources"]["limits"]["memory"].removesuffix("Gi"))
    assert shm["medium"] == "Memory"
    assert int(shm["sizeLimit"].removesuffix("Gi")) < memory


def test_machines_are_placed_under_one_switch_of_the_lowest_layer():
    annotations = cases.template(cases.job(plans.training_case()))["metadata"]["annotations"]
    assert annotations == {"kueue.x-k8s.io/podset-preferred-topology": "topology.k8s.aws/network-node-layer-3"}
    assert cases.template(cases.job(plans.fallback_case()))["metadata"]["annotations"] == {}


def test_interruptions_restart_without_counting_and_failures_count():
    spec = cases.job(plans.training_case(), max_restarts=7).body["spec"]
    assert spec["failurePolicy"]["maxRestarts"] == 7
    assert spec["failurePolicy"]["rules"][0]["action"] == "RestartJobSetAndIgnoreMaxRestarts"
    (rule,) = spec["replicatedJobs"][0]["template"]["spec"]["podFailurePolicy"]["rules"]
    assert rule["onPodConditions"][0]["type"] == "DisruptionTarget"
    assert cases.pod(plans.training_case())["restartPolicy"] == "Never"
    assert "suspend" not in spec, "Kueue suspends it"


def test_priority_is_that_of_the_queue_and_of_the_pods():
    made = cases.job(plans.training_case(), priority="urgent")
    assert made.body["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] == "urgent"
    assert cases.template(made)["spec"]["priorityClassName"] == "job-urgent"


def test_a_slice_is_one_replicated_job_on_its_own_node_pool():
    made = cases.job(cases.tpu_case(2))
    (group,) = made.body["spec"]["replicatedJobs"]
    assert (group["name"], group["replicas"], group["template"]["spec"]["parallelism"]) == ("slice", 2, 4)
    assert made.body["metadata"]["annotations"] == {"alpha.jobset.sigs.k8s.io/exclusive-topology": "cloud.google.com/gke-nodepool"}
    spec = cases.pod(cases.tpu_case(2))
    assert spec["nodeSelector"]["cloud.google.com/gke-tpu-topology"] == "4x4"
    main = spec["containers"][0]
    assert main["resources"]["requests"]["google.com/tpu"] == "4"
    assert [port["containerPort"] for port in main["ports"]] == [8471, 8080, 8431]
    assert main["securityContext"]["capabilities"]["add"] == ["SYS_RESOURCE"]


def test_names_fit_into_63_characters():
    """V-09: a pod adds the replicated job, two numbers and five letters."""
    made = cases.job(plans.training_case(), name="a" * 40)
    group = made.body["spec"]["replicatedJobs"][0]["name"]
    assert len(f"{made.name}-{group}-0-9999-abcde") <= 63


def test_secrets_are_references():
    case = plans.with_secret(*plans.training_case())
    spec, sizing, fit = case
    with_image = spec.workload.run.model_copy(update={"image": cases.IMAGE, "command": ("python", "train.py")})
    spec = spec.model_copy(update={"workloads": [spec.workload.model_copy(update={"run": with_image})]})
    stack = plans.compiled((spec, sizing, fit))
    context = cases.JobContext(spec, sizing, fit, cases.Catalog.default(), stack, "sft")
    variables = cases.template(cases.job_of(context))["spec"]["containers"][0]["env"]
    token = next(entry for entry in variables if entry["name"] == "HF_TOKEN")
    assert token == {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "run-secrets", "key": "HF_TOKEN"}}}
    assert any(manifest.body["kind"] == "Secret" and manifest.body["metadata"]["name"] == "run-secrets" for manifest in stack.manifests)


SETTINGS = ManifestPlan(
    "fabric.settings",
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "fabric",
            "namespace": "team-nlp",
            "annotations": {"rackwright/resources": '{"nvidia.com/rail_0": 1}', "k8s.v1.cni.cncf.io/networks": "demo-rail-0"},
        },
        "data": {"NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_0"},
    },
)


def test_ports_of_own_servers_are_those_of_the_stacks_settings():
    """InfiniBand: resources, networks and variables are in the namespace's ConfigMap."""
    context = cases.context(plans.training_case())
    pools = tuple(replace(pool, nics=(), fabric="infiniband") if pool.does_the_work else pool for pool in context.stack.pools)
    stack = replace(context.stack, pools=pools, manifests=(*context.stack.manifests, SETTINGS))
    made = cases.template(cases.job_of(replace(context, stack=stack)))
    main = made["spec"]["containers"][0]
    assert made["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] == "demo-rail-0"
    assert "rackwright/resources" not in made["metadata"]["annotations"]
    assert main["resources"]["requests"]["nvidia.com/rail_0"] == "1"
    assert main["securityContext"]["capabilities"]["add"] == ["IPC_LOCK"]
    variables = {entry["name"]: entry.get("value") for entry in main["env"]}
    assert (variables["NCCL_NET"], variables["NCCL_IB_HCA"]) == ("IB", "=mlx5_0")
    overridden = cases.with_run((context.spec, context.sizing, context.fit), env={"NCCL_NET": "Socket"})[0]
    with pytest.raises(UserError, match=r"V-196 .* pins the fabric infiniband"):
        cases.job_of(replace(context, spec=overridden, stack=stack))
