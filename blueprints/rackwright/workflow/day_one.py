"""Commands of day one on a stack, in order: build, access, check, run, watch, remove. Each can be copied into a shell."""

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from rackwright.clouds import profile
from rackwright.compile.blueprints.box_own import NAME as BOX
from rackwright.compile.existing_cluster import cluster_metrics
from rackwright.compile.jobs.environment import RANK_FIELD
from rackwright.spec.blueprint import ExistingCluster
from rackwright.spec.inventory import Inventory
from rackwright.spec.spec import Spec
from rackwright.spec.workload import TRAINING
from rackwright.stackplan import BlueprintKind, PoolPlan, StackPlan
from rackwright.stackplan.labels import EFA_RESOURCE, RESOURCES, ROLE_LABEL
from rackwright.stackplan.operators import MONITORING, STACK_METRICS, MetricsEndpoint, installed_metrics
from rackwright.workflow.decided import Decided

JOB_LABEL = "jobset.sigs.k8s.io/jobset-name"
RANK_LABEL = RANK_FIELD.partition("'")[2].rstrip("']")
"""Kubernetes writes the rank as a label too."""
CONFIRM_TEARDOWN = "pulumi config set rackwright:teardown true && pulumi up && pulumi destroy"


@dataclass(frozen=True)
class Step:
    """One command. name: key of the stack's output `commands`; text: what it does."""

    name: str
    text: str
    command: str


def day_one(decided: Decided, path: str) -> list[Step]:
    """Commands for the decided stack. path: of the spec, as the user named it."""
    stack, spec = decided.plan, shlex.quote(path)
    build = [] if decided.recorded else [Step("choose", "Record the machines", f"rackwright choose {spec}")]
    build.append(Step("build", "Build the stack, in its Pulumi project", "pulumi up"))
    use = _cluster_steps(decided, spec) if stack.cluster else _box_steps(decided)
    return [*build, *use, Step("teardown", "Delete the stack with its data", CONFIRM_TEARDOWN)]


def _box_steps(decided: Decided) -> Iterator[Step]:
    session = profile(decided.plan.place.cloud).session
    yield Step("connect", f"Open a session on the machine, {session}", 'eval "$(pulumi stack output connectCommand)"')
    run, box = decided.spec.workload.run, decided.plan.box
    if run.image and box and box.kind == "gpu":
        words = ("sudo", "docker", "run", "--rm", "--gpus", "all", "--ipc", "host", run.image, *run.command, *run.args)
        yield Step("job", "On the machine: start the container with all GPUs", shlex.join(words))


def _cluster_steps(decided: Decided, spec: str) -> Iterator[Step]:
    stack = decided.plan
    pool = next(pool for pool in stack.pools if pool.does_the_work)
    account = next(manifest.body for manifest in stack.manifests if manifest.body["kind"] == "ServiceAccount")
    namespace, name = account["metadata"]["namespace"], decided.spec.workload.name
    if not profile(stack.place.cloud).is_owned:
        yield Step("kubeconfig", "Add the cluster to your kubeconfig", 'eval "$(pulumi stack output kubeconfigCommand)"')
    elif context := stack.place.account:
        yield Step("kubeconfig", "Select the cluster in your kubeconfig", f"kubectl config use-context {shlex.quote(context)}")
    yield Step("nodes", f"Check that each node has {_devices(pool)}", _node_check(pool))
    if pool.resource == RESOURCES["gpu"]:
        gate = "; jobs start on nodes that passed" if stack.has_gated_queue else ""
        yield Step("preflight", f"Check GPUs, fabric and storage of the nodes{gate}", _preflight_command(decided.spec, spec))
    if stack.runs_container:
        yield Step("status", "Show the container", f"kubectl get pods -n {namespace} -l app={BOX}")
        yield Step("logs", "Follow the log of the container", f"kubectl logs -n {namespace} -l app={BOX} -f --tail=100")
    elif stack.kind is BlueprintKind.BOX:
        yield Step("status", "Show the jobs and their place in the queue", f"kubectl get jobs,workloads -n {namespace}")
    elif isinstance(decided.spec.workload, TRAINING):
        yield from _job_steps(stack, namespace, name, spec, decided.spec.workload.run.job)
    else:
        yield Step("status", "Show the servers and their scaling", f"kubectl get pods,svc,scaledobject -n {namespace}")
        yield Step("logs", "Follow the log of the servers", f"kubectl logs -n {namespace} -l app={name} -f --tail=100")
    if metrics := _metrics(decided):
        text = f"Open http://localhost:{metrics.port} for metrics and alerts"
        command = f"kubectl port-forward -n {metrics.namespace} svc/{metrics.service} {metrics.port}:{metrics.port}"
        yield Step("dashboard", text, command)


def _preflight_command(spec: Spec, path: str) -> str:
    """The command with the image that the spec lacks."""
    has_image = spec.blueprint.preflight.image or spec.workload.run.image
    return f"rackwright preflight {path} --submit" + ("" if has_image else " --image IMAGE")


def _metrics(decided: Decided) -> MetricsEndpoint | None:
    """Prometheus of the stack, else that of the cluster; None without one."""
    chosen = decided.spec.blueprint.cluster
    if isinstance(chosen, ExistingCluster) and chosen.prometheus:
        return cluster_metrics(chosen)
    if any(release.name == MONITORING for release in decided.plan.releases):
        return STACK_METRICS
    inventory = decided.spec.infra.places[decided.decision.fit.candidate.place].inventory
    return installed_metrics(inventory.installed) if isinstance(inventory, Inventory) else None


def _job_steps(stack: StackPlan, namespace: str, name: str, spec: str, kind: str) -> Iterator[Step]:
    """Outputs are needed where the job writes to a bucket that the stack creates. kind: jobset or trainjob."""
    new_bucket = not stack.lustre and any(bucket.key == "checkpoints" and not bucket.existing_name for bucket in stack.buckets)
    before = "pulumi stack output --json > outputs.json && " if new_bucket else ""
    after = " --outputs outputs.json" if new_bucket else ""
    yield Step("job", "Submit the job, and follow its status and log", f"{before}rackwright job {spec} --submit{after}")
    yield Step("status", "Show the job and its place in the queue", f"kubectl get {kind}s,workloads -n {namespace}")
    selector = f"{JOB_LABEL}={name},{RANK_LABEL}=0"
    yield Step("logs", "Follow the log of the first machine", f"kubectl logs -n {namespace} -l {selector} -f --tail=100")
    yield Step("stop", "Stop the job", f"kubectl delete {kind} -n {namespace} {name}")


def _devices(pool: PoolPlan) -> str:
    fabric = f" and {pool.fabric_interfaces} EFA interfaces" if pool.fabric_interfaces and pool.devices == "plugin" else ""
    return f"{pool.pod_devices} {pool.pod_resource}{fabric}"


def _node_check(pool: PoolPlan) -> str:
    """A table of allocatable devices: a missing plugin or interface shows as <none> or a smaller number."""
    fabric = [EFA_RESOURCE] if pool.fabric_interfaces and pool.devices == "plugin" else []
    columns = [f"{resource}:.status.allocatable.{resource.replace('.', chr(92) + '.')}" for resource in (pool.pod_resource, *fabric)]
    selector = f"{ROLE_LABEL}={dict(pool.labels)[ROLE_LABEL]}"
    return f"kubectl get nodes -l {selector} -o custom-columns='{','.join(('NODE:.metadata.name', *columns))}'"
