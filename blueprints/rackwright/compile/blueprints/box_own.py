"""Box on own servers: a namespace with a queue for jobs on one server, or its container where the spec has one."""

from collections.abc import Iterator

from rackwright.compile.blueprints.own_cluster import on_any_node, own_objects, own_operators, own_stack
from rackwright.compile.blueprints.training_cluster import ACCOUNT, team_objects
from rackwright.compile.blueprints.training_cluster_own import own_queues
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.manifests import SECRETS, Body, obj
from rackwright.compile.kubernetes.own.nodes import own_pool
from rackwright.compile.kubernetes.own.volumes import storage_of
from rackwright.compile.operators.helm_releases import kueue
from rackwright.compile.serving.replica import NODE_SHARE
from rackwright.spec.inventory import CsiStorage
from rackwright.stackplan import ManifestPlan, PoolPlan, StackPlan
from rackwright.units import GIB

NAME = "box"


def own_box_plan(context: CompileContext) -> StackPlan:
    """One server needs no RDMA networks. Without a container image, jobs use the queue."""
    pool, image = own_pool(context), context.spec.workload.run.image
    operators = own_operators(context, None)
    releases = operators if image else (*operators, on_any_node(kueue(operators, by_label=True)))
    work = tuple(_container(context, pool, image)) if image else own_queues(context, pool, None)
    manifests = (*team_objects(context), *own_objects(context, None), *work)
    return own_stack(context, pool, releases, manifests, "baseline", (("box", image),) if image else ())


def _container(context: CompileContext, pool: PoolPlan, image: str) -> Iterator[ManifestPlan]:
    """A StatefulSet of one pod with every GPU of a server, shared memory and the volumes of the inventory."""
    namespace, labels = context.namespace, {"app": NAME}
    claims = [entry.name for entry in storage_of(context) if not isinstance(entry, CsiStorage) or entry.shared]
    memory_gib = max(1, int((context.machine.memory_bytes or 0) * NODE_SHARE / GIB))
    shared_memory = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{max(1, memory_gib // 4)}Gi"}}
    spec = {
        "serviceAccountName": ACCOUNT,
        "nodeSelector": dict(pool.labels),
        "tolerations": [{"key": pool.resource, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [_process(context, pool, image, memory_gib, claims)],
        "volumes": [shared_memory, *({"name": name, "persistentVolumeClaim": {"claimName": name}} for name in claims)],
    }
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"replicas": 1, "serviceName": NAME, "selector": {"matchLabels": labels}, "template": template}
    yield ManifestPlan("box.service", obj("v1", "Service", NAME, namespace, {"clusterIP": "None", "selector": labels}))
    after = ("box.service", "nodes.labels", f"policy.{namespace}.deny")
    yield ManifestPlan("box.container", obj("apps/v1", "StatefulSet", NAME, namespace, body), after)


def _process(context: CompileContext, pool: PoolPlan, image: str, memory_gib: int, claims: list[str]) -> Body:
    """The container with the user's command, environment and secrets."""
    run, workload = context.spec.workload.run, context.spec.workload
    cpu = max(1, int((context.machine.vcpus or 1) * NODE_SHARE))
    amounts = {"cpu": str(cpu), "memory": f"{memory_gib}Gi", pool.resource: str(pool.accelerator_count)}
    secrets = [{"name": name, "valueFrom": {"secretKeyRef": {"name": SECRETS, "key": name}}} for name in workload.secret_variables]
    started = {key: list(value) for key, value in (("command", run.command), ("args", run.args)) if value}
    return {
        "name": NAME,
        "image": image,
        "env": [{"name": name, "value": value} for name, value in run.env.items()] + secrets,
        "resources": {"requests": amounts, "limits": amounts},
        "securityContext": {"allowPrivilegeEscalation": False},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}, *({"name": name, "mountPath": f"/mnt/{name}"} for name in claims)],
        **started,
    }
