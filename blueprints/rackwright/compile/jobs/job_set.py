"""A JobSet for the planned workload: one pod per machine, with all devices of the machine, in the queue of the stack."""

import json
import math

from rackwright.clouds import profile
from rackwright.compile.jobs.environment import MASTER_PORT, environment
from rackwright.compile.jobs.job_context import JobContext
from rackwright.compile.jobs.launcher import command_of
from rackwright.compile.jobs.paths import SCRATCH, SHARED, shared_claims
from rackwright.compile.kubernetes.gcp.fabric_pod import fabric_pod
from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.compile.kubernetes.own.rails import NETWORKS_ANNOTATION
from rackwright.compile.operators.queues import HOST_LABEL, HUGE_PAGES_MIB, QueueQuota
from rackwright.stackplan.labels import EFA_RESOURCE, HUGE_PAGES, NODE_POOL_LABEL, RESOURCES_ANNOTATION, ROLE_LABEL

API = "jobset.x-k8s.io/v1alpha2"
"""The API that the pinned chart serves."""
QUEUE_LABEL, PRIORITY_LABEL = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
TOPOLOGY_ANNOTATION = "kueue.x-k8s.io/podset-preferred-topology"
RUN_ANNOTATION = "provreq.kueue.x-k8s.io/maxRunDurationSeconds"
EXCLUSIVE_ANNOTATION = "alpha.jobset.sigs.k8s.io/exclusive-topology"
SHM_SHARE = 0.25
"""Part of the pod's memory for /dev/shm, which counts towards its limit."""
SLICE_PORTS = (8471, 8080, 8431)
"""Ports of libtpu: between hosts, and for metrics (recipe of GoogleCloudPlatform/cluster-toolkit, examples/gke-tpu-v6e)."""
MIN_GRACE_S, MAX_GRACE_S = 30, 600
INTERRUPTED = [{"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]
"""A pod that was evicted or preempted, or whose machine was drained, fails the job at once, with the reason PodFailurePolicy."""


def job_set(job: JobContext) -> Body:
    """The JobSet. It has no `suspend`: Kueue suspends it, and starts it when its quota and all its machines are free.

    A failed pod restarts all pods, which continue from the last checkpoint. Interruptions do not count as restarts
    (https://jobset.sigs.k8s.io/docs/concepts/#failure-policy).
    """
    uncounted = {"action": "RestartJobSetAndIgnoreMaxRestarts", "onJobFailureReasons": ["PodFailurePolicy"]}
    spec: Body = {
        "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
        "failurePolicy": {"maxRestarts": job.run.max_restarts, "rules": [{"name": "interrupted", **uncounted}]},
        "replicatedJobs": [{"name": job.replicated_job, "replicas": job.slices, "template": {"spec": _job(job)}}],
    }
    labels = {QUEUE_LABEL: _name(job, "queue.local-queue"), PRIORITY_LABEL: _name(job, f"queue.priority.{job.run.priority}")}
    notes = _exclusive(job) | _longest_run(job)
    return obj(API, "JobSet", job.name, job.namespace, spec, labels=labels, **({"annotations": notes} if notes else {}))


def _job(job: JobContext) -> Body:
    hosts = job.nodes // job.slices
    return {
        "parallelism": hosts,
        "completions": hosts,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "podFailurePolicy": {"rules": INTERRUPTED},
        "template": {"metadata": {"annotations": _topology(job) | _networks(job) | fabric_pod(job).annotations}, "spec": _pod(job)},
    }


def _pod(job: JobContext) -> Body:
    volumes, mounts = _volumes(job)
    claims = _claims(job)
    own: Body = {"resourceClaims": [{"name": _claim(job), "resourceClaimTemplateName": name} for name in claims]} if claims else {}
    sidecars = fabric_pod(job).sidecars
    own |= {"initContainers": [*sidecars]} if sidecars else {}
    return {
        "restartPolicy": "Never",
        "serviceAccountName": job.account,
        "automountServiceAccountToken": False,
        "priorityClassName": _name(job, f"priority.job-{job.run.priority}"),
        "terminationGracePeriodSeconds": _grace_s(job),
        "nodeSelector": _node_selector(job),
        "tolerations": [{"key": t.key, "operator": "Equal", "value": t.value, "effect": t.effect} for t in job.pool.taints],
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(job, mounts)],
        "volumes": volumes,
    } | own


def _container(job: JobContext, mounts: list[Body]) -> Body:
    amounts = _resources(job)
    claims = {"claims": [{"name": _claim(job)}]} if _claims(job) else {}
    ports = SLICE_PORTS if job.pool.topology else (MASTER_PORT,)
    return {
        "name": "trainer",
        "image": job.run.image,
        "command": fabric_pod(job).command(command_of(job)),
        "env": environment(job),
        "ports": [{"containerPort": port} for port in ports],
        "resources": {"requests": amounts, "limits": dict(amounts)} | claims,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["NET_RAW"]} | _added_rights(job)},
        "volumeMounts": mounts,
    }


def _added_rights(job: JobContext) -> Body:
    """RDMA locks memory; libtpu raises the limit of locked memory."""
    if job.pool.topology:
        return {"add": ["SYS_RESOURCE"]}
    return {"add": ["IPC_LOCK"]} if _uses_fabric(job) or job.fabric_config or fabric_pod(job).locks_memory else {}


def _resources(job: JobContext) -> Body:
    """All that a node has for jobs, as the queue counts it: CPUs and memory, accelerators and fabric interfaces."""
    quota, (cpus, memory_gib) = _quota(job), fabric_pod(job).reserved
    amounts = {
        "cpu": str(quota.cpu - cpus),
        "memory": f"{quota.memory_gib - memory_gib}Gi",
        job.pool.resource: str(job.pool.accelerator_count),
    }
    if _uses_fabric(job):
        plugin = {EFA_RESOURCE: str(job.pool.fabric_interfaces)} if job.pool.devices == "plugin" else {}
        amounts |= {**plugin, HUGE_PAGES: f"{HUGE_PAGES_MIB}Mi"}
    return amounts | {resource: str(amount) for resource, amount in json.loads(_settings(job).get(RESOURCES_ANNOTATION, "{}")).items()}


def _quota(job: JobContext) -> QueueQuota:
    """Resources of one node for jobs."""
    return QueueQuota.of(job.machine, job.pool, job.stack.place.cloud)


def _uses_fabric(job: JobContext) -> bool:
    """Whether pods need the pool's EFA interfaces: more than one machine communicates."""
    return bool(job.pool.fabric_interfaces) and job.fit.candidate.is_spread


def _claims(job: JobContext) -> list[str]:
    """Name of the claim template for the pool's fabric interfaces, where a DRA driver provides them."""
    templates = job.objects("ResourceClaimTemplate") if job.pool.devices == "dra" and job.fit.candidate.is_spread else []
    return [templates[0]["metadata"]["name"]] if templates else []


def _claim(job: JobContext) -> str:
    """Name of the claim in the pod: that of the request in its template."""
    (template, *_) = job.objects("ResourceClaimTemplate")
    return template["spec"]["spec"]["devices"]["requests"][0]["name"]


def _volumes(job: JobContext) -> tuple[list[Body], list[Body]]:
    """(volumes, mounts): shared memory, the stack's file systems, and local disks.

    The nodes of a stack keep the folders of pods on their local disks. Own servers may keep them on the disk of the system.
    """
    shm_gib = max(1, int(_quota(job).memory_gib * SHM_SHARE))
    volumes: list[Body] = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{shm_gib}Gi"}}]
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}]
    for mount, claim in shared_claims(job).items():
        name = "shared" if mount == SHARED else f"shared-{claim}"
        volumes.append({"name": name, "persistentVolumeClaim": {"claimName": claim}})
        mounts.append({"name": name, "mountPath": mount})
    if job.pool.local_nvme and not profile(job.stack.place.cloud).is_owned:
        volumes.append({"name": "scratch", "emptyDir": {}})
        mounts.append({"name": "scratch", "mountPath": SCRATCH})
    fabric = fabric_pod(job)
    return [*volumes, *fabric.volumes], [*mounts, *fabric.volume_mounts]


def _node_selector(job: JobContext) -> dict[str, str]:
    """The labels of the queue's flavor, which Kueue sets too."""
    flavor = job.object("queue.flavor")
    return dict(flavor["spec"]["nodeLabels"]) if flavor else {ROLE_LABEL: dict(job.pool.labels)[ROLE_LABEL]}


def _topology(job: JobContext) -> dict[str, str]:
    """Machines under one switch of the lowest layer where they are free, else of the next one. Empty for queues without a topology."""
    topology = job.object("queue.topology")
    if topology is None or not job.fit.candidate.is_spread:
        return {}
    levels = [level["nodeLabel"] for level in topology["spec"]["levels"]]
    return {TOPOLOGY_ANNOTATION: next((label for label in reversed(levels) if label != HOST_LABEL), HOST_LABEL)}


def _networks(job: JobContext) -> dict[str, str]:
    """Annotation that attaches the RDMA ports of own servers, from the stack's settings for pods."""
    return {key: value for key, value in _settings(job).items() if key == NETWORKS_ANNOTATION}


def _settings(job: JobContext) -> dict[str, str]:
    return dict(job.fabric_config["metadata"].get("annotations", {})) if job.fabric_config else {}


def _exclusive(job: JobContext) -> dict[str, str]:
    """One TPU slice, which is a node pool, per replicated job."""
    return {EXCLUSIVE_ANNOTATION: NODE_POOL_LABEL} if job.pool.topology and job.pool.multi_host else {}


def _longest_run(job: JobContext) -> dict[str, str]:
    """How long queued provisioning keeps the machines of the job; Kueue passes it to the ProvisioningRequest
    (https://cloud.google.com/kubernetes-engine/docs/how-to/provisioningrequest)."""
    capacity = job.pool.capacity
    return {RUN_ANNOTATION: str(capacity.max_run_s)} if capacity.queued and capacity.max_run_s else {}


def _grace_s(job: JobContext) -> int:
    """Time to write a checkpoint after a signal: twice the sized time, at most ten minutes, so that machines are drained."""
    written_s = job.sizing.machine.checkpoint_write_s if job.sizing.machine else None
    return min(MAX_GRACE_S, max(MIN_GRACE_S, math.ceil(2 * (written_s or 0))))


def _name(job: JobContext, key: str) -> str:
    """Name of an object of the stack. Raises KeyError where the stack has none."""
    found = job.object(key)
    if found is None:
        raise KeyError(key)
    return found["metadata"]["name"]
