"""The MPI operator 0.8, whose project publishes no chart: its definition, rights and Deployment.

Source: kubeflow/mpi-operator, tag v0.8.0, deploy/v2beta1/mpi-operator.yaml.
"""

from rackwright.compile.kubernetes.manifests import Body, obj
from rackwright.compile.operators.versions import OPERATOR_IMAGES
from rackwright.stackplan import ManifestPlan
from rackwright.stackplan.namespaces import MPI_NAMESPACE, OPERATOR_NAMESPACES
from rackwright.stackplan.operators import MPI_OPERATOR

RBAC = "rbac.authorization.k8s.io"
USER_ID = 65532
"""Any user but root: the operator writes no file."""
REQUESTS = {"cpu": "100m", "memory": "256Mi"}
"""Assumed; the release sets none."""
RULES = (
    ("", ("configmaps", "secrets", "services"), ("create", "list", "watch", "update")),
    ("", ("pods",), ("create", "get", "list", "watch", "delete", "update", "patch")),
    ("", ("events",), ("create", "patch")),
    ("batch", ("jobs",), ("create", "list", "update", "watch")),
    ("kubeflow.org", ("mpijobs", "mpijobs/finalizers", "mpijobs/status"), ("*",)),
    ("coordination.k8s.io", ("leases",), ("*",)),
    ("scheduling.k8s.io", ("priorityclasses",), ("get", "list", "watch")),
)
"""Rights of the release, without those on pod groups of other schedulers."""


def mpi_operator(selector: dict[str, str]) -> tuple[ManifestPlan, ...]:
    """Two replicas, of which one is active. selector: labels of their nodes; empty for any."""
    space = MPI_NAMESPACE
    levels = {f"pod-security.kubernetes.io/{mode}": OPERATOR_NAMESPACES[space] for mode in ("audit", "warn", "enforce")}
    role = [{"apiGroups": [group], "resources": [*resources], "verbs": [*verbs]} for group, resources, verbs in RULES]
    subject = {"kind": "ServiceAccount", "name": MPI_OPERATOR, "namespace": space}
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": MPI_OPERATOR}
    account = obj("v1", "ServiceAccount", MPI_OPERATOR, space)
    bound = obj(f"{RBAC}/v1", "ClusterRoleBinding", MPI_OPERATOR, roleRef=reference, subjects=[subject])
    return (
        _plan("namespace", obj("v1", "Namespace", space, labels=levels)),
        _plan("definition", _definition()),
        _plan("account", account, "namespace"),
        _plan("role", obj(f"{RBAC}/v1", "ClusterRole", MPI_OPERATOR, rules=role)),
        _plan("binding", bound, "role", "account"),
        _plan("deployment", _deployment(space, selector), "binding", "definition"),
    )


def _plan(part: str, body: Body, *after: str) -> ManifestPlan:
    return ManifestPlan(f"mpi.{part}", body, tuple(f"mpi.{each}" for each in after), layer="operators")


def _definition() -> Body:
    """CRD of MPIJob. The operator checks the fields of a job (pkg/apis/kubeflow/validation), so the API server does not."""
    unchecked = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": unchecked, "status": unchecked}}
    group, plural = "kubeflow.org", "mpijobs"
    names = {"kind": "MPIJob", "listKind": "MPIJobList", "plural": plural, "singular": "mpijob"}
    version = {"name": "v2beta1", "served": True, "storage": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": group, "names": names, "scope": "Namespaced", "versions": [version]}
    return obj("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"{plural}.{group}", spec=spec)


def _deployment(space: str, selector: dict[str, str]) -> Body:
    labels = {"app": MPI_OPERATOR}
    container = {
        "name": MPI_OPERATOR,
        "image": OPERATOR_IMAGES[MPI_OPERATOR],
        "args": ["-alsologtostderr", f"--lock-namespace={space}"],
        "resources": {"requests": REQUESTS, "limits": {"memory": "1Gi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}, "readOnlyRootFilesystem": True},
    }
    pod = {
        "serviceAccountName": MPI_OPERATOR,
        "nodeSelector": selector,
        "securityContext": {"runAsNonRoot": True, "runAsUser": USER_ID, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    spec = {"replicas": 2, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}
    return obj("apps/v1", "Deployment", MPI_OPERATOR, space, spec)
