"""Operators of further kinds of jobs (`blueprint.operators`): Kubeflow Trainer, KubeRay and the MPI operator, with the rights of teams."""

from rackwright.clouds import profile
from rackwright.compile.compile_context import CompileContext
from rackwright.compile.kubernetes.manifests import MANAGE, READ, Rule, allow, from_namespace
from rackwright.compile.operators.helm_releases import SYSTEM_NODE_SELECTOR, release
from rackwright.compile.operators.mpi_operator import mpi_operator
from rackwright.stackplan import ManifestPlan, ReleasePlan
from rackwright.stackplan.namespaces import KUBERAY_NAMESPACE, TRAINER_NAMESPACE
from rackwright.stackplan.operators import KUBERAY, MPI_OPERATOR, TRAINER

RAY_PORTS = (8265, 8000)
"""Dashboard of Ray, where the operator reads jobs, and Ray Serve
(https://docs.ray.io/en/latest/ray-core/configure.html#ports-configurations)."""
TEAM_RULES: dict[str, tuple[Rule, ...]] = {
    "kubeflow-trainer": (
        ("trainer.kubeflow.org", ("trainjobs",), MANAGE),
        ("trainer.kubeflow.org", ("trainingruntimes",), READ),
    ),
    "mpi-operator": (("kubeflow.org", ("mpijobs",), MANAGE),),
    "kuberay": (("ray.io", ("rayjobs", "rayclusters"), MANAGE),),
}
"""Operator -> rights of a team in its namespace."""
MPI_JOB = "kubeflow.org/mpijob"


def job_operator_releases(context: CompileContext) -> tuple[ReleasePlan, ...]:
    """The charts. The stack installs JobSet separately, so the Trainer's chart does not install it again."""
    made = {"kubeflow-trainer": _trainer, "kuberay": _kuberay}
    return tuple(made[name]() for name in context.spec.blueprint.operators if name in made)


def job_operator_objects(context: CompileContext) -> tuple[ManifestPlan, ...]:
    """The MPI operator, which has no chart, and the policy with which KubeRay reaches the clusters of a team."""
    chosen = context.spec.blueprint.operators
    selector = {} if profile(context.candidate.cloud).is_owned else SYSTEM_NODE_SELECTOR
    ray = (allow(context.namespace, "allow-ray-operator", [from_namespace(KUBERAY_NAMESPACE, *RAY_PORTS)]),) if "kuberay" in chosen else ()
    return (*(mpi_operator(selector) if MPI_OPERATOR in chosen else ()), *ray)


def further_kinds(context: CompileContext) -> tuple[str, ...]:
    """Kinds of jobs that Kueue manages besides those of releases."""
    return (MPI_JOB,) if MPI_OPERATOR in context.spec.blueprint.operators else ()


def team_rules(context: CompileContext) -> tuple[Rule, ...]:
    """Rights of the team on jobs of the operators."""
    return tuple(rule for name in context.spec.blueprint.operators for rule in TEAM_RULES[name])


def _trainer() -> ReleasePlan:
    values = {"jobset": {"install": False}, "manager": {"replicas": 2, "nodeSelector": SYSTEM_NODE_SELECTOR}}
    return release(TRAINER, TRAINER_NAMESPACE, values, ("jobset",))


def _kuberay() -> ReleasePlan:
    return release(KUBERAY, KUBERAY_NAMESPACE, {"replicas": 2, "nodeSelector": SYSTEM_NODE_SELECTOR})
