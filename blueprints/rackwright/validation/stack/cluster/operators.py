"""Kubernetes versions, operators and the order of their installation."""

from collections.abc import Iterator

from rackwright.catalog.read import Catalog
from rackwright.clouds import AWS, profile
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import ReleasePlan, StackPlan
from rackwright.stackplan.labels import RESOURCES
from rackwright.stackplan.operators import MONITORING
from rackwright.validation.stack.registry import accelerators, catalog_rule, manifests, minor_version, pools, release_numbers, rule

UNIQUE_PARTS = {
    "device plugin": ("nvidia-device-plugin", "gpu-operator"),
    "node feature discovery": ("nvidia-device-plugin", "gpu-operator", "network-operator", "node-feature-discovery"),
    "DCGM exporter": ("dcgm-exporter", "gpu-operator"),
    "external metrics adapter": ("keda", "prometheus-adapter"),
}
PLUGIN_IMAGE = "bottlerocket-nvidia"
"""An image that contains NVIDIA's device plugin (docs.aws.amazon.com/eks/latest/userguide/ml-eks-k8s-device-plugin)."""
PRIVILEGED = (MONITORING, "gpu-operator", "dcgm-exporter")
"""Charts whose pods use the files, kernel or devices of the node."""
KUEUE_LAST = "https://github.com/kubernetes-sigs/kueue/issues/7334"


@catalog_rule("V-47", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html", on=AWS)
def kubernetes_version_is_supported(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """The Kubernetes version has EKS node images, and the installed Karpenter supports it."""
    if plan.cluster is None:
        return
    minor = minor_version(plan.cluster.version)
    images = catalog.supported_version("eks-node-images")
    if not images.supports(minor):
        low, high = f"1.{images.kubernetes_first}", f"1.{images.kubernetes_last}"
        message = f"Kubernetes {plan.cluster.version!r} has no EKS node images; versions {low} to {high} have"
        yield Violation(At() / "cluster" / "version", f"set it to {low} to {high}", message)
    oldest = next((row.first_release for row in catalog.supported_versions if row.component == "karpenter" and row.supports(minor)), "")
    for index, release in enumerate(plan.releases):
        if oldest and release.name == "karpenter" and release_numbers(release.version) < release_numbers(oldest):
            message = f"Karpenter {release.version} does not support Kubernetes 1.{minor}; {oldest} is the oldest that does"
            yield Violation(At() / "releases" / index / "version", f"pin {oldest} or newer", message)


@catalog_rule("V-48", Level.ERROR, "https://kubernetes.io/releases/version-skew-policy/", on=AWS)
def node_version_skew(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Nodes are not newer than the control plane and at most three minor versions older (kubelets since 1.25)."""
    if plan.cluster is None:
        return
    skew = catalog.supported_version("kubelet").older_minors or 0
    control = minor_version(plan.cluster.version)
    for image, release in plan.pins.images:
        if image.startswith("al2023") and not control - skew <= minor_version(release) <= control:
            message = f"Node image {image} {release} does not match Kubernetes {plan.cluster.version} of the control plane"
            yield Violation(At() / "pins" / "images" / image, f"pin a release for {plan.cluster.version}", message)


@rule("V-87", Level.ERROR, "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/amazon-eks.html")
def operators_are_unique(plan: StackPlan) -> Iterator[Violation]:
    """A cluster has one NVIDIA device plugin, one node feature discovery, one DCGM exporter and one external metrics adapter."""
    for part, names in UNIQUE_PARTS.items():
        providers = [release.name for release in plan.releases if release.name in names and _provides(release, part)]
        if part == "device plugin":
            providers += sorted({pool.image for _, pool in accelerators(plan) if pool.image == PLUGIN_IMAGE})
        if len(providers) > 1:
            yield Violation(At() / "releases", f"keep one {part}", f"The plan contains more than one {part}: {', '.join(providers)}")


@rule("V-88", Level.ERROR, "https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/")
def operators_have_nodes(plan: StackPlan) -> Iterator[Violation]:
    """Operators have a system pool of at least two untainted nodes, so that their webhooks survive the upgrade of one node."""
    upstream = plan.cluster and plan.cluster.existing and "operators" not in plan.layers
    if not plan.releases or upstream or profile(plan.place.cloud).is_owned:  # nodes of an own cluster exist
        return
    suitable = [pool for _, pool in pools(plan) if pool.role == "system" and not pool.taints and pool.nodes_min >= 2]
    if not suitable:
        message = "The operators have no system pool of at least two untainted nodes"
        yield Violation(At() / "pools", "add a system pool of two untainted nodes", message)


@rule("V-89", Level.ERROR, "https://kubernetes.io/docs/concepts/security/pod-security-standards/", invariant=True)
def job_namespaces_are_privileged(plan: StackPlan) -> Iterator[Violation]:
    """Namespaces of jobs that use EFA, InfiniBand or TPUs are privileged, because these pods need the capabilities IPC_LOCK or
    SYS_RESOURCE."""
    uses_rails = any(manifests(plan, "IPPool"))
    if not uses_rails and not any(pool.nics or pool.resource == RESOURCES["tpu"] for _, pool in accelerators(plan)):
        return
    for namespace in sorted({queue.body["metadata"]["namespace"] for _, queue in manifests(plan, "LocalQueue")}):
        yield from _unprivileged(plan, namespace, "pods that use EFA or TPUs require")


@rule("R-43", Level.ERROR, "https://kubernetes.io/docs/concepts/security/pod-security-standards/", invariant=True)
def operator_namespaces_are_privileged(plan: StackPlan) -> Iterator[Violation]:
    """Namespaces of operators that install drivers or read files and devices of a node are privileged."""
    users: dict[str, list[str]] = {}
    for release in plan.releases:
        if release.name in PRIVILEGED:
            users.setdefault(release.namespace, []).append(release.name)
    for namespace, names in users.items():
        yield from _unprivileged(plan, namespace, f"{' and '.join(names)} require{'s' * (len(names) == 1)}")


@rule("R-40", Level.ERROR, "https://github.com/NVIDIA/dcgm-exporter", invariant=True)
def service_monitors_wait_for_prometheus(plan: StackPlan) -> Iterator[Violation]:
    """A chart with a ServiceMonitor is installed after the chart that defines this kind."""
    if profile(plan.place.cloud).is_owned and all(release.name != MONITORING for release in plan.releases):
        return  # the inventory lists it, so that the cluster has the kind
    for index, release in enumerate(plan.releases):
        settings = release.values.get("serviceMonitor", release.values.get("dcgmExporter", {}).get("serviceMonitor", {}))
        has_monitor = settings.get("enabled", release.name == "dcgm-exporter")
        if has_monitor and MONITORING not in release.after:
            message = f"{release.name} creates a ServiceMonitor, but does not wait for {MONITORING}, which defines it"
            yield Violation(At() / "releases" / index / "after", f"add {MONITORING}", message)


@rule("R-02", Level.ERROR, KUEUE_LAST, invariant=True)
def kueue_is_installed_last(plan: StackPlan) -> Iterator[Violation]:
    """Kueue is installed after all other releases, because its webhook rejects their jobs while it starts."""
    names = [release.name for release in plan.releases]
    for index, release in enumerate(plan.releases):
        missing = [name for name in names if name not in (release.name, *release.after)]
        if release.name == "kueue" and missing:
            message = f"Kueue does not wait for {', '.join(missing)}, whose jobs its webhook rejects while it starts"
            yield Violation(At() / "releases" / index / "after", f"add {', '.join(missing)}", message)


def _unprivileged(plan: StackPlan, namespace: str, users: str) -> Iterator[Violation]:
    for index, (name, level) in enumerate(plan.namespaces):
        if name == namespace and level != "privileged":
            message = f"Namespace {name} has pod security level {level}; {users} privileged"
            yield Violation(At() / "namespaces" / index, "set it to privileged", message)


def _provides(release: ReleasePlan, part: str) -> bool:
    """Whether the values of a chart enable the part. NVIDIA's plugin includes node feature discovery only with GPU feature discovery."""
    if release.name == "nvidia-device-plugin":
        key, default = ("devicePlugin", True) if part == "device plugin" else ("gfd", False)
    else:
        key, default = {"device plugin": "devicePlugin", "DCGM exporter": "dcgmExporter"}.get(part, "nfd"), True
    return bool(release.values.get(key, {}).get("enabled", default))
