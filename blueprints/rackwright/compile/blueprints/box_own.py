"""Box on own servers: a namespace with a queue for jobs on one server, or its container where the spec has one."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import replace

from rackwright.compile.blueprints.own_cluster import on_any_node, own_objects, own_operators, own_stack
from rackwright.compile.blueprints.training_cluster import ACCOUNT, team_objects
from rackwright.compile.blueprints.training_cluster_own import own_queues
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.jobs.environment import launch_variables, planned_variables
from rackwright.compile.jobs.job_context import Launch
from rackwright.compile.jobs.launcher import NO_LAUNCHER, command_of, launcher_of
from rackwright.compile.jobs.paths import FURTHER, checkpoint_storage, spec_uri
from rackwright.compile.kubernetes.manifests import SECRETS, Body, obj
from rackwright.compile.kubernetes.own.nodes import own_pool, servers_of_fit
from rackwright.compile.operators.helm_releases import kueue
from rackwright.compile.serving.replica import NODE_SHARE
from rackwright.spec.workload import TRAINING, Serve
from rackwright.stackplan import ManifestPlan, PoolPlan, StackPlan
from rackwright.stackplan.plan import BOX_CONTAINER
from rackwright.units import GIB

NAME = "box"
LABELS = {"app": NAME}
NAME_DIGITS = 8
"""Of the digest in the name of a Job."""


def own_box_plan(context: CompileContext) -> StackPlan:
    """One server needs no RDMA networks. Without a container image, jobs use the queue."""
    pool, image = replace(own_pool(context), fabric="none"), context.spec.workload.run.image
    operators = own_operators(context, None)
    releases = operators if image else (*operators, on_any_node(kueue(operators)))
    work = tuple(_container(context, pool, image)) if image else own_queues(context, pool, None)
    manifests = team_objects(context, (pool,), *own_objects(context, None), *work)
    return own_stack(context, pool, releases, manifests, pool.pod_security, (("box", image),) if image else ())


def _container(context: CompileContext, pool: PoolPlan, image: str) -> Iterator[ManifestPlan]:
    """One pod with every GPU of a server, shared memory and the volumes of the inventory: a Job, which ends, or a server's StatefulSet."""
    claims = [entry.name for entry in servers_of_fit(context).inventory.shared_storage]
    memory_gib = max(1, int((context.machine.memory_bytes or 0) * NODE_SHARE / GIB))
    shared_memory = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{max(1, memory_gib // 4)}Gi"}}
    spec = {
        "serviceAccountName": ACCOUNT,
        "nodeSelector": dict(pool.labels),
        "tolerations": pool.device_tolerations,
        "containers": [_process(context, pool, image, memory_gib, claims)],
        "volumes": [shared_memory, *({"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims)],
    }
    template = {"metadata": {"labels": LABELS}, "spec": spec}
    after = ("nodes.labels", f"policy.{context.namespace}.deny")
    yield from (_server if isinstance(context.spec.workload, Serve) else _job)(context, template, after)


def _server(context: CompileContext, template: Body, after: tuple[str, ...]) -> Iterator[ManifestPlan]:
    """A StatefulSet, whose container always runs."""
    namespace = context.namespace
    body = {"replicas": 1, "serviceName": NAME, "selector": {"matchLabels": LABELS}, "template": template}
    yield ManifestPlan("box.service", obj("v1", "Service", NAME, namespace, {"clusterIP": "None", "selector": LABELS}))
    yield ManifestPlan(BOX_CONTAINER, obj("apps/v1", "StatefulSet", NAME, namespace, body), ("box.service", *after))


def _job(context: CompileContext, template: Body, after: tuple[str, ...]) -> Iterator[ManifestPlan]:
    """A Job: a container that ends with 0 stays ended, and frees its GPUs. One that fails starts again `max_restarts` times; evictions and
    drained servers do not count. A template cannot change, so another one is a Job of another name
    (https://kubernetes.io/docs/concepts/workloads/controllers/job/).
    """
    template = template | {"spec": template["spec"] | {"restartPolicy": "Never"}}
    body = {
        "completions": 1,
        "parallelism": 1,
        "backoffLimit": context.spec.workload.run.max_restarts,
        "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]},
        "podReplacementPolicy": "Failed",
        "template": template,
    }
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    yield ManifestPlan(BOX_CONTAINER, obj("batch/v1", "Job", f"{NAME}-{digest[:NAME_DIGITS]}", context.namespace, body), after)


def _process(context: CompileContext, pool: PoolPlan, image: str, memory_gib: int, claims: list[str]) -> Body:
    """The container with the user's command under its launcher, the plan's variables, and the user's environment and secrets."""
    launch = Launch(context.spec, context.sizing, context.fit, context.catalog)
    run, workload = context.spec.workload.run, context.spec.workload
    cpu = max(1, int((context.machine.vcpus or 1) * NODE_SHARE))
    mounts = ({"name": name, "mountPath": f"{FURTHER}/{name}"} for name in claims)
    amounts = {"cpu": str(cpu), "memory": f"{memory_gib}Gi", pool.resource: str(pool.accelerator_count)}
    secrets = [{"name": name, "valueFrom": {"secretKeyRef": {"name": SECRETS, "key": name}}} for name in workload.secret_variables]
    return {
        "name": NAME,
        "image": image,
        "env": [{"name": name, "value": value} for name, value in (_variables(launch) | run.env).items()] + secrets,
        "resources": {"requests": amounts, "limits": amounts},
        "securityContext": {"allowPrivilegeEscalation": False},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}, *mounts],
        **_started(launch),
    }


def _variables(launch: Launch) -> dict[str, str]:
    """Variables of a job on one server. Checkpoints are in a folder of the workload in the fastest shared storage, or at the spec's URI."""
    storage, workload = checkpoint_storage(launch), launch.spec.workload
    folder = f"{FURTHER}/{storage}/checkpoints/{workload.name}" if storage and isinstance(workload, TRAINING) else None
    paths = planned_variables(launch, spec_uri(launch, "checkpoint") or folder, spec_uri(launch, "data"))
    return {"NODE_RANK": "0"} | launch_variables(launch) | paths


def _started(launch: Launch) -> Body:
    """The command under its launcher; without one, `command` and `args` as they are, because `args` alone belong to the image's command."""
    run = launch.run
    if run.command and launcher_of(launch) != NO_LAUNCHER:
        return {"command": command_of(launch)}
    return {key: list(value) for key, value in (("command", run.command), ("args", run.args)) if value}
