"""The cluster: what runs on which nodes, which operator comes when, one of each."""

import re
from collections.abc import Iterator

from rackwright.compile.wants import ReleaseWant, StackPlan
from rackwright.problems import At, Level
from rackwright.rules.registry import Broken, accelerators, manifests, pools, rule

ONE_OF_A_KIND = {
    "device plugin": ("nvidia-device-plugin", "gpu-operator"),
    "node feature discovery": ("nvidia-device-plugin", "gpu-operator", "network-operator", "node-feature-discovery"),
    "DCGM exporter": ("dcgm-exporter", "gpu-operator"),
    "external metrics adapter": ("keda", "prometheus-adapter"),
}
EKS_VERSIONS = range(30, 37)
"""Minors of Kubernetes 1 with AMIs (awslabs/amazon-eks-ami@81fec2e CHANGELOG.md)."""
OLDEST_NODES = 2
FAMILY_IMAGES = {"nvidia.com/gpu": "nvidia", "aws.amazon.com/neuron": "neuron"}
TPU = "google.com/tpu"
"""Its pods: cloud.google.com/kubernetes-engine/docs/how-to/tpus#privileged-mode."""
KUEUE_LAST = "https://github.com/kubernetes-sigs/kueue/issues/7334"


@rule("V-39", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/APIReference/API_Nodegroup.html")
def image_fits_the_machine(plan: StackPlan) -> Iterator[Broken]:
    """An EKS node's image has the accelerator's drivers, and is of the AL2023 family: AL2 images have ended."""
    if plan.place.cloud != "aws":
        return
    for at, pool in pools(plan):
        family = FAMILY_IMAGES.get(pool.resource, "")
        wanted = f"al2023-{family}" if family else "al2023"
        if pool.image != wanted:
            yield Broken(at / "image", f"use {wanted}", f"{pool.name} has {pool.image!r}")


@rule("V-45", Level.ERROR, "https://github.com/aws/eks-charts/tree/master/stable/aws-efa-k8s-device-plugin")
def efa_plugin_knows_the_machine(plan: StackPlan) -> Iterator[Broken]:
    """The EFA device plugin runs only on machine types its values list; elsewhere pods find no EFA."""
    machines = {pool.machine for _, pool in accelerators(plan) if pool.nics}
    found = [(i, r) for i, r in enumerate(plan.releases) if r.name == "aws-efa-k8s-device-plugin"]
    if machines and not found:
        yield Broken(At() / "releases", "add aws-efa-k8s-device-plugin", "it is not installed")
    for index, release in found:
        listed = release.values.get("supportedInstanceLabels", {}).get("values")
        missing = sorted(machines - set(listed)) if listed is not None else []
        if missing:
            at = At() / "releases" / index / "values" / "supportedInstanceLabels" / "values"
            yield Broken(at, f"add {', '.join(missing)}", f"it lists {', '.join(listed or ()) or 'none'}")


@rule("V-47", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/kubernetes-versions.html")
def kubernetes_is_supported(plan: StackPlan) -> Iterator[Broken]:
    """EKS takes a minor version it has node images for."""
    if plan.cluster is None or plan.place.cloud != "aws":
        return
    if _minor(plan.cluster.version) not in EKS_VERSIONS:
        words = f"got {plan.cluster.version!r}"
        yield Broken(At() / "cluster" / "version", f"1.{EKS_VERSIONS[0]} to 1.{EKS_VERSIONS[-1]}", words)


@rule("V-48", Level.ERROR, "https://kubernetes.io/releases/version-skew-policy/")
def nodes_are_not_ahead(plan: StackPlan) -> Iterator[Broken]:
    """A node's kubelet is never newer than the control plane, and two minors behind at most here."""
    if plan.cluster is None or plan.place.cloud != "aws":
        return
    control = _minor(plan.cluster.version)
    for image, release in plan.pins.images:
        if image.startswith("al2023") and not control - OLDEST_NODES <= _minor(release) <= control:
            words = f"{image} is {release}, the cluster {plan.cluster.version}"
            yield Broken(At() / "pins" / "images" / image, f"pin a release for {plan.cluster.version}", words)


@rule("V-87", Level.ERROR)
def one_of_each_operator(plan: StackPlan) -> Iterator[Broken]:
    """A cluster has one device plugin, one node feature discovery, one DCGM exporter and one external metrics adapter."""
    for what, names in ONE_OF_A_KIND.items():
        having = [release.name for release in plan.releases if release.name in names and _runs(release, what)]
        if len(having) > 1:
            yield Broken(At() / "releases", f"keep one {what}", f"{what}: {', '.join(having)}")


@rule("V-88", Level.ERROR)
def operators_have_nodes(plan: StackPlan) -> Iterator[Broken]:
    """Operators run on two untainted nodes without accelerators, so that one node's upgrade does not take their webhooks away."""
    if not plan.releases:
        return
    fit = [pool for _, pool in pools(plan) if pool.role == "system" and not pool.taints and pool.nodes_min >= 2]
    if not fit:
        yield Broken(At() / "pools", "add a system pool of two untainted nodes", "there is none")


@rule("V-89", Level.ERROR, "https://kubernetes.io/docs/concepts/security/pod-security-standards/")
def devices_reach_memory(plan: StackPlan) -> Iterator[Broken]:
    """Pods on EFA lock memory (IPC_LOCK) and pods on TPUs raise that limit (SYS_RESOURCE), which a baseline namespace forbids."""
    if not any(pool.nics or pool.resource == TPU for _, pool in accelerators(plan)):
        return
    queued = {m.body["metadata"]["namespace"] for _, m in manifests(plan, "LocalQueue")}
    for index, (name, level) in enumerate(plan.namespaces):
        if name in queued and level != "privileged":
            yield Broken(At() / "namespaces" / index, "set it to privileged", f"{name} is {level}")


@rule("R-02", Level.ERROR, KUEUE_LAST)
def kueue_comes_last(plan: StackPlan) -> Iterator[Broken]:
    """Kueue's webhook sees every chart's jobs and refuses them while it starts, so it waits for all other releases."""
    names = [release.name for release in plan.releases]
    for index, release in enumerate(plan.releases):
        missing = [name for name in names if name not in (release.name, *release.after)]
        if release.name == "kueue" and missing:
            yield Broken(At() / "releases" / index / "after", f"add {', '.join(missing)}", f"it does not wait for {', '.join(missing)}")


def _minor(version: str) -> int:
    """`1.35` and `1.35.6-20260728` are 35; -1 when it is no version."""
    found = re.match(r"1\.(\d+)", version)
    return int(found[1]) if found else -1


def _runs(release: ReleaseWant, what: str) -> bool:
    """The NVIDIA device plugin brings node feature discovery only with its own feature discovery on."""
    if what != "node feature discovery":
        return True
    if release.name == "nvidia-device-plugin":
        return bool(release.values.get("gfd", {}).get("enabled"))
    return bool(release.values.get("nfd", {}).get("enabled", True))
