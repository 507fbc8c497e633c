"""The cluster: what runs on which nodes, which operator comes when, one of each."""

import re
from collections.abc import Iterator

from rackwright.clouds import AWS
from rackwright.compile.nodes.pools import RESOURCES
from rackwright.compile.operators.helm_releases import MONITORING
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import ReleasePlan, StackPlan
from rackwright.validation.stack.registry import accelerators, manifests, pools, rule

ONE_OF_A_KIND = {
    "device plugin": ("nvidia-device-plugin", "gpu-operator"),
    "node feature discovery": ("nvidia-device-plugin", "gpu-operator", "network-operator", "node-feature-discovery"),
    "DCGM exporter": ("dcgm-exporter", "gpu-operator"),
    "external metrics adapter": ("keda", "prometheus-adapter"),
}
EKS_VERSIONS = range(30, 37)
"""Minors of Kubernetes 1 with AMIs (awslabs/amazon-eks-ami@81fec2e CHANGELOG.md)."""
OLDEST_NODES = 2
KARPENTER_FLOORS = {30: (0, 37), 31: (1, 0, 5), 32: (1, 2), 33: (1, 5), 34: (1, 6), 35: (1, 9), 36: (1, 13)}
"""Minor of Kubernetes to the oldest Karpenter that knows it (aws/karpenter-provider-aws@1d92708 upgrading/compatibility.md)."""
SELF_PLUGGED = "bottlerocket-nvidia"
"""An image that runs NVIDIA's device plugin itself (docs.aws.amazon.com/eks/latest/userguide/ml-eks-k8s-device-plugin)."""
PRIVILEGED = (MONITORING, "gpu-operator", "dcgm-exporter")
"""Charts whose pods reach the node itself: its files, its kernel, its devices."""
KUEUE_LAST = "https://github.com/kubernetes-sigs/kueue/issues/7334"


@rule("V-47", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html", on=AWS)
def kubernetes_is_supported(plan: StackPlan) -> Iterator[Violation]:
    """EKS takes a minor version it has node images for, and Karpenter one that it knows."""
    if plan.cluster is None:
        return
    minor = _minor(plan.cluster.version)
    if minor not in EKS_VERSIONS:
        words = f"got {plan.cluster.version!r}"
        yield Violation(At() / "cluster" / "version", f"1.{EKS_VERSIONS[0]} to 1.{EKS_VERSIONS[-1]}", detail=words)
    for index, release in enumerate(plan.releases):
        floor = KARPENTER_FLOORS.get(minor) if release.name == "karpenter" else None
        if floor and _version(release.version) < floor:
            oldest = ".".join(map(str, floor))
            yield Violation(
                At() / "releases" / index / "version", f"pin {oldest} or newer", detail=f"Karpenter {release.version} on 1.{minor}"
            )


@rule("V-48", Level.ERROR, "https://kubernetes.io/releases/version-skew-policy/", on=AWS)
def nodes_are_not_ahead(plan: StackPlan) -> Iterator[Violation]:
    """A node's kubelet is never newer than the control plane, and two minors behind at most here."""
    if plan.cluster is None:
        return
    control = _minor(plan.cluster.version)
    for image, release in plan.pins.images:
        if image.startswith("al2023") and not control - OLDEST_NODES <= _minor(release) <= control:
            words = f"{image} is {release}, the cluster {plan.cluster.version}"
            yield Violation(At() / "pins" / "images" / image, f"pin a release for {plan.cluster.version}", detail=words)


@rule("V-87", Level.ERROR, "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/amazon-eks.html")
def one_of_each_operator(plan: StackPlan) -> Iterator[Violation]:
    """A cluster has one device plugin, one node feature discovery, one DCGM exporter and one external metrics adapter."""
    for what, names in ONE_OF_A_KIND.items():
        having = [release.name for release in plan.releases if release.name in names and _runs(release, what)]
        if what == "device plugin":
            having += sorted({pool.image for _, pool in accelerators(plan) if pool.image == SELF_PLUGGED})
        if len(having) > 1:
            yield Violation(At() / "releases", f"keep one {what}", detail=f"{what}: {', '.join(having)}")


@rule("V-88", Level.ERROR, "https://kubernetes.io/docs/concepts/cluster-administration/admission-webhooks-good-practices/")
def operators_have_nodes(plan: StackPlan) -> Iterator[Violation]:
    """Operators run on two untainted nodes without accelerators, so that one node's upgrade does not take their webhooks away."""
    theirs = plan.cluster and plan.cluster.existing and "operators" not in plan.layers
    if not plan.releases or theirs:
        return
    fit = [pool for _, pool in pools(plan) if pool.role == "system" and not pool.taints and pool.nodes_min >= 2]
    if not fit:
        yield Violation(At() / "pools", "add a system pool of two untainted nodes", detail="there is none")


@rule("V-89", Level.ERROR, "https://kubernetes.io/docs/concepts/security/pod-security-standards/", invariant=True)
def devices_reach_memory(plan: StackPlan) -> Iterator[Violation]:
    """Pods on EFA lock memory (IPC_LOCK) and pods on TPUs raise that limit (SYS_RESOURCE), which a baseline namespace forbids."""
    if not any(pool.nics or pool.resource == RESOURCES["tpu"] for _, pool in accelerators(plan)):
        return
    queued = {m.body["metadata"]["namespace"] for _, m in manifests(plan, "LocalQueue")}
    yield from _closed(plan, queued)


@rule("R-43", Level.ERROR, "https://kubernetes.io/docs/concepts/security/pod-security-standards/", invariant=True)
def operators_reach_the_node(plan: StackPlan) -> Iterator[Violation]:
    """Operators that install drivers or read a node's devices and files need a privileged namespace."""
    yield from _closed(plan, {release.namespace for release in plan.releases if release.name in PRIVILEGED})


@rule("R-40", Level.ERROR, "https://github.com/NVIDIA/dcgm-exporter", invariant=True)
def monitors_come_after_monitoring(plan: StackPlan) -> Iterator[Violation]:
    """A chart that makes a ServiceMonitor waits for the one that brings the kind, or its installation fails."""
    for index, release in enumerate(plan.releases):
        monitored = release.values.get("serviceMonitor", release.values.get("dcgmExporter", {}).get("serviceMonitor", {}))
        makes = monitored.get("enabled", release.name == "dcgm-exporter")
        if makes and MONITORING not in release.after:
            yield Violation(At() / "releases" / index / "after", f"add {MONITORING}", detail=f"{release.name} does not wait for it")


@rule("R-02", Level.ERROR, KUEUE_LAST, invariant=True)
def kueue_comes_last(plan: StackPlan) -> Iterator[Violation]:
    """Kueue's webhook sees every chart's jobs and refuses them while it starts, so it waits for all other releases."""
    names = [release.name for release in plan.releases]
    for index, release in enumerate(plan.releases):
        missing = [name for name in names if name not in (release.name, *release.after)]
        if release.name == "kueue" and missing:
            yield Violation(
                At() / "releases" / index / "after", f"add {', '.join(missing)}", detail=f"it does not wait for {', '.join(missing)}"
            )


def _closed(plan: StackPlan, names: set[str]) -> Iterator[Violation]:
    """Namespaces of `names` that pod security does not leave open."""
    for index, (name, level) in enumerate(plan.namespaces):
        if name in names and level != "privileged":
            yield Violation(At() / "namespaces" / index, "set it to privileged", detail=f"{name} is {level}")


def _minor(version: str) -> int:
    """`1.35` and `1.35.6-20260728` are 35; -1 when it is no version."""
    found = re.match(r"1\.(\d+)", version)
    return int(found[1]) if found else -1


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text.partition("-")[0]))


def _runs(release: ReleasePlan, what: str) -> bool:
    """Whether a chart's values leave that part of it on; NVIDIA's plugin brings node feature discovery only with its own discovery."""
    if release.name == "nvidia-device-plugin":
        part, usual = ("devicePlugin", True) if what == "device plugin" else ("gfd", False)
    else:
        part, usual = {"device plugin": "devicePlugin", "DCGM exporter": "dcgmExporter"}.get(what, "nfd"), True
    return bool(release.values.get(part, {}).get("enabled", usual))
