"""Objects of a check: a DaemonSet in a privileged namespace, and a JobSet in the queue of the team."""

import json
from dataclasses import replace
from importlib.resources import files
from typing import Any

from rackwright.compile.jobs.job_context import JobContext
from rackwright.compile.jobs.job_set import QUEUE_LABEL, TOPOLOGY_ANNOTATION, job_set
from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.compile.preflight.driver import DriverAccess, driver_access
from rackwright.compile.preflight.limits import cluster_limits, node_limits
from rackwright.spec.workload_parts import Run
from rackwright.stackplan.labels import FAILED, PREFLIGHT_LABEL, ROLE_LABEL
from rackwright.stackplan.plan import PREFLIGHT_FLAVOR, PREFLIGHT_QUEUE

NAME = "preflight"
FOLDER = "/preflight"
LIMITS = "limits.json"
NODE_SCRIPT, CLUSTER_SCRIPT = "check_node.py", "check_cluster.py"
CHECK = "check"
"""Container whose termination message has the results of a node."""
MESSAGE = "/dev/termination-log"
UID_LABEL = "jobset.sigs.k8s.io/jobset-uid"
"""Label that JobSet sets on every pod (https://jobset.sigs.k8s.io/docs/concepts/)."""
MAX_RUN_S = 5400
"""Time for the check of the cluster: queue, start, all-reduce of every pair, storage. A job that is left then gives its GPUs back."""
REQUESTS = {"cpu": "100m", "memory": "256Mi"}


def namespace_name(job: JobContext) -> str:
    """Namespace of the node checks, apart from teams, because its pods are privileged."""
    return f"{job.spec.name}-{NAME}"[:63]


def check_selector(job: JobContext) -> dict[str, str]:
    """Labels of the nodes to check."""
    return {ROLE_LABEL: dict(job.pool.labels)[ROLE_LABEL]}


def node_objects(job: JobContext, image: str) -> list[Body]:
    """Namespace, scripts and DaemonSet. The checks are an init container, whose termination message Kubernetes keeps.

    It is privileged to read the log of the kernel and to see all GPUs without requesting them, so that a missing GPU does not leave it
    pending. The host's network shows the RDMA devices, of which some are moved into pods (RDMA subsystem in exclusive mode).
    """
    space, driver = namespace_name(job), driver_access(job)
    levels = {f"pod-security.kubernetes.io/{mode}": "privileged" for mode in ("enforce", "audit", "warn")}
    labels = {"app": NAME}
    pod = {
        "automountServiceAccountToken": False,
        "hostNetwork": True,
        "nodeSelector": check_selector(job),
        "tolerations": [*job.pool.tolerations, *job.pool.device_tolerations, _failed_toleration()],
        "terminationGracePeriodSeconds": 1,
        "initContainers": [_node_check(image, driver)],
        "containers": [_container("wait", image, ["sleep", "infinity"])],
        "volumes": [{"name": NAME, "configMap": {"name": NAME}}, *driver.volumes],
    } | ({"runtimeClassName": driver.runtime_class} if driver.runtime_class else {})
    template = {"metadata": {"labels": labels}, "spec": pod}
    update = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}}
    spec = {"selector": {"matchLabels": labels}, "updateStrategy": update, "template": template}
    return [
        obj("v1", "Namespace", space, labels=levels),
        _config(space, NODE_SCRIPT, node_limits(job)),
        obj("apps/v1", "DaemonSet", NAME, space, spec, labels=labels),
    ]


def _node_check(image: str, driver: DriverAccess) -> Body:
    command = ["python3", f"{FOLDER}/{NODE_SCRIPT}", f"{FOLDER}/{LIMITS}", MESSAGE]
    return _container(CHECK, image, driver.command(command)) | {
        "env": driver.env,
        "securityContext": {"privileged": True},
        "volumeMounts": [{"name": NAME, "mountPath": FOLDER, "readOnly": True}, *driver.volume_mounts],
    }


def _container(name: str, image: str, command: list[str]) -> Body:
    return {"name": name, "image": image, "command": command, "resources": {"requests": REQUESTS, "limits": {"memory": "1Gi"}}}


def _failed_toleration() -> dict[str, str]:
    return {"key": PREFLIGHT_LABEL, "operator": "Equal", "value": FAILED, "effect": "NoSchedule"}


def cluster_objects(job: JobContext, image: str, nodes: int) -> list[Body]:
    """Scripts and JobSet: the job of the plan with the check as its command. nodes: may be above those of the plan."""
    run = Run(image=image, command=("python3", f"{FOLDER}/{CLUSTER_SCRIPT}"), args=(f"{FOLDER}/{LIMITS}",), env=job.run.env)
    run = run.model_copy(update={"launcher": "none", "max_restarts": 0})
    workload = job.spec.workload.model_copy(update={"run": run})
    check = replace(job, spec=job.spec.model_copy(update={"workloads": [workload]}), name=NAME)
    body = job_set(check)
    _in_preflight_queue(check, body)
    _with_scripts(body, nodes)
    return [_config(job.namespace, CLUSTER_SCRIPT, cluster_limits(_with_nodes(check, nodes))), body]


def _with_nodes(job: JobContext, nodes: int) -> JobContext:
    """The job on this number of nodes."""
    return replace(job, fit=replace(job.fit, candidate=replace(job.fit.candidate, nodes=nodes)))


def _in_preflight_queue(job: JobContext, body: Body) -> None:
    """The queue for checks, where the stack has one, with its nodes instead of those that passed."""
    if not job.stack.has_gated_queue:
        return
    queue, flavor = job.object(PREFLIGHT_QUEUE), job.object(PREFLIGHT_FLAVOR)
    if queue is None or flavor is None:
        raise KeyError(PREFLIGHT_QUEUE)
    body["metadata"]["labels"][QUEUE_LABEL] = queue["metadata"]["name"]
    template = _template(body)
    template["metadata"]["annotations"].pop(TOPOLOGY_ANNOTATION, None)
    template["spec"]["nodeSelector"] = dict(flavor["spec"]["nodeLabels"])


def _with_scripts(body: Body, nodes: int) -> None:
    """The scripts, the secret of the run and the name of the node, the number of pods, and the time after which they are deleted."""
    job = body["spec"]["replicatedJobs"][0]["template"]["spec"]
    job["parallelism"] = job["completions"] = nodes
    job["activeDeadlineSeconds"] = MAX_RUN_S
    spec = _template(body)["spec"]
    spec["volumes"].append({"name": NAME, "configMap": {"name": NAME}})
    container = spec["containers"][0]
    container["volumeMounts"].append({"name": NAME, "mountPath": FOLDER, "readOnly": True})
    fields = {"NODE_NAME": "spec.nodeName", "PREFLIGHT_TOKEN": f"metadata.labels['{UID_LABEL}']"}
    container["env"] += [{"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}} for name, path in fields.items()]


def _template(body: Body) -> Body:
    return body["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]


def _config(namespace: str, script: str, limits: dict[str, Any]) -> Body:
    """ConfigMap with a script and its limits."""
    text = files("rackwright.compile.preflight.scripts").joinpath(script).read_text()
    return obj("v1", "ConfigMap", NAME, namespace, data={script: text, LIMITS: json.dumps(limits, indent=2) + "\n"})
