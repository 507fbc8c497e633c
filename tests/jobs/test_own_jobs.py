"""Jobs on own servers: attached to every rail of the stack, with its volumes, queue and topology, and pinned to its fabric."""

import json
from pathlib import Path

import pytest
import yaml
from rackwright.cli.main import run
from rackwright.compile.compile import compile_plan
from rackwright.compile.jobs.refusals import job_problems
from rackwright.compile.jobs.write_job import job_of

from tests import own_plans, plans
from tests.compile.contracts import errors_of, needs_contracts
from tests.jobs import cases

STACKS = Path(__file__).parents[2] / "stacks"
ROCE = {"nics": [{"kind": "roce", "speed": "400 Gbit/s", "count": 8, "rails": own_plans.RAILS}]}
UNNAMED = {"nics": [{"kind": "infiniband", "speed": "NDR", "count": 8}]}
CASES = {
    "host-device": lambda: own_plans.own_training_case(),
    "sriov": lambda: own_plans.own_training_case(own_plans.place(own_plans.SRIOV)),
    "shared": lambda: own_plans.own_training_case(own_plans.place({"mode": "shared"})),
    "roce": lambda: own_plans.own_training_case(own_plans.place({"mode": "sriov"}, ROCE)),
    "unnamed-ports": lambda: own_plans.own_training_case(own_plans.place(servers=UNNAMED)),
}
NETWORK_KINDS = ("HostDeviceNetwork", "IPoIBNetwork", "MacvlanNetwork", "SriovNetwork", "SriovIBNetwork", "NetworkAttachmentDefinition")


@pytest.fixture(params=CASES)
def job(request):
    return cases.context(CASES[request.param]())


def parts(job):
    """(template of the pods, the container) of the job."""
    template = cases.template(job_of(job))
    return template, template["spec"]["containers"][0]


@needs_contracts
def test_the_job_fits_the_crd_of_the_pinned_chart(job):
    assert errors_of(job_of(job).body) == []


def test_pods_attach_a_network_per_rail_that_the_stack_has(job):
    attached = parts(job)[0]["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].split(",")
    networks = [body for kind in NETWORK_KINDS for body in job.objects(kind)]
    assert {*attached} == {body["metadata"]["name"] for body in networks}
    assert len(attached) == 8
    spaces = {body["spec"].get("networkNamespace") or body["metadata"]["namespace"] for body in networks}
    assert spaces == {job.namespace}, "names without a namespace are those of the pod's"


def test_pods_request_the_ports_of_the_device_plugin_and_may_lock_memory(job):
    container = parts(job)[1]
    (config,) = (body for body in job.objects("ConfigMap") if "rackwright/resources" in body["metadata"].get("annotations", {}))
    ports = json.loads(config["metadata"]["annotations"]["rackwright/resources"])
    requests = container["resources"]["requests"]
    assert {name: requests[name] for name in ports} == {name: str(amount) for name, amount in ports.items()}
    assert container["resources"]["limits"] == requests, "extended resources cannot be overcommitted"
    assert "IPC_LOCK" in container["securityContext"]["capabilities"]["add"]


def test_the_environment_is_that_of_the_fabric(job):
    plain = {row["name"]: row.get("value") for row in parts(job)[1]["env"]}
    assert plain["NCCL_NET"] == "IB", "and not gIB, the plugin of another cloud"
    (config,) = job.objects("ConfigMap")
    assert config["data"].items() <= plain.items()


@pytest.mark.parametrize(("case", "index"), [("host-device", None), ("roce", "3")])
def test_only_roce_has_a_gid_index(case, index):
    plain = {row["name"]: row.get("value") for row in parts(cases.context(CASES[case]()))[1]["env"]}
    assert plain.get("NCCL_IB_GID_INDEX") == index


@pytest.mark.parametrize("case", ["host-device", "roce"])
def test_another_transport_is_refused(case):
    (problem,) = job_problems(cases.context(CASES[case](), env={"NCCL_NET": "Socket"}))
    assert problem.code == "V-196"
    assert "so that the job fails instead of using TCP: 'IB'" in problem.reason


def test_every_shared_storage_is_mounted_and_disks_of_the_system_are_not(job):
    template, container = parts(job)
    claims = {
        row["name"]: row["persistentVolumeClaim"]["claimName"] for row in template["spec"]["volumes"] if "persistentVolumeClaim" in row
    }
    mounts = {row["mountPath"]: claims.get(row["name"]) for row in container["volumeMounts"]}
    assert mounts == {"/dev/shm": None, "/shared": "scratch", "/mnt/home": "home"}
    assert {*claims.values()} == {body["metadata"]["name"] for body in job.objects("PersistentVolumeClaim")}


def test_the_job_waits_in_the_queue_and_runs_under_as_few_racks_as_possible(job):
    made = job_of(job)
    queue = job.object("queue.local-queue")
    assert queue
    assert made.body["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == queue["metadata"]["name"]
    assert made.namespace == queue["metadata"]["namespace"]
    levels = [level["nodeLabel"] for level in job.object("queue.topology")["spec"]["levels"]]
    preferred = cases.template(made)["metadata"]["annotations"]["kueue.x-k8s.io/podset-preferred-topology"]
    assert preferred == "rackwright/rack"
    assert preferred in levels


def test_replicas_that_span_servers_have_the_same_variables_as_jobs():
    spec, sizing, fit = own_plans.own_fleet_case(8, 2)
    fleet = compile_plan(spec, sizing, fit, today=plans.TODAY)
    (group,) = (manifest.body for manifest in fleet.manifests if manifest.body["kind"] == "LeaderWorkerSet")
    server = group["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"][0]
    (config,) = cases.context(CASES["host-device"]()).objects("ConfigMap")
    assert config["data"].items() <= {row["name"]: row.get("value") for row in server["env"]}.items()


def test_the_example_writes_its_job(capsys):
    assert run(["job", str(STACKS / "llama-70b-onprem.yaml"), "--today", "2026-11-21"]) == 0
    body = yaml.safe_load(capsys.readouterr().out)
    pods = body["spec"]["replicatedJobs"][0]["template"]["spec"]
    (container,) = pods["template"]["spec"]["containers"]
    assert (body["kind"], pods["completions"]) == ("JobSet", 4)
    assert container["command"][-7:-6] == ["/shared/code/sft.py"]
    assert [container["resources"]["requests"][f"nvidia.com/rail_{n}"] for n in range(8)] == ["1"] * 8


HOME, SCRATCH = own_plans.INVENTORY["storage"][1], own_plans.INVENTORY["storage"][0]
URIS = {"checkpoint": {"uri": "s3://team-x/ck"}, "data": own_plans.TRAIN["data"] | {"uri": "s3://team-y/data"}}


def with_parts(case, **parts):
    """The case with other parts of its workload."""
    spec, sizing, fit = case
    workload = type(spec.workload).model_validate(own_plans.TRAIN | parts)
    return spec.model_copy(update={"workloads": [workload]}), sizing, fit


def paths(case, **more):
    found = cases.env(case, **more)
    return found.get("PLAN_CHECKPOINT_PATH"), found.get("PLAN_DATA_PATH")


def test_the_job_reads_and_writes_the_uris_of_the_spec():
    case = with_parts(own_plans.own_training_case(), **URIS)
    assert paths(case) == ("s3://team-x/ck", "s3://team-y/data")
    assert paths(case, name="run-2") == ("s3://team-x/ck/run-2", "s3://team-y/data"), "another run has another folder"


@pytest.mark.parametrize(
    ("storage", "named", "first"),
    [
        ([HOME, SCRATCH], None, "scratch"),
        ([HOME, SCRATCH], "home", "home"),
        ([HOME, {"kind": "csi", "name": "weka", "storage_class": "weka-fs"}], None, "weka"),
        ([HOME], None, "home"),
    ],
)
def test_checkpoints_are_in_the_fastest_shared_storage_or_the_named_one(storage, named, first):
    case = with_parts(own_plans.own_training_case(own_plans.place(storage=storage)), checkpoint={"storage": named} if named else {})
    spec = cases.pod(case, name="run-2")
    mounts = {row["mountPath"]: row["name"] for row in spec["containers"][0]["volumeMounts"]}
    claims = {row["name"]: row["persistentVolumeClaim"]["claimName"] for row in spec["volumes"] if "persistentVolumeClaim" in row}
    assert claims[mounts["/shared"]] == first
    assert {*claims.values()} == {entry["name"] for entry in storage}
    assert paths(case, name="run-2") == ("/shared/checkpoints/run-2", None)


def test_a_job_without_shared_storage_needs_a_uri():
    case = own_plans.own_training_case(own_plans.place(storage=[]))
    (problem,) = job_problems(cases.context(case))
    assert (problem.code, str(problem.at)) == ("V-197", "workloads[0].checkpoint.uri")
    assert "The inventory has no shared storage" in problem.reason
    assert not job_problems(cases.context(with_parts(case, **URIS)))
