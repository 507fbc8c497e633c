"""Machine images with their drivers, user data, and the device plugins of EKS nodes."""

import re
from collections.abc import Iterator
from typing import Any

from rackwright.catalog.read import Catalog
from rackwright.catalog.release.pinned_versions import pinned_versions
from rackwright.clouds import AWS, EKS, profile
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import PoolPlan, StackPlan
from rackwright.stackplan.images import UBUNTU, box_image, image_family, image_variant
from rackwright.stackplan.operators import EFA_DRA_DRIVER, EFA_PLUGIN, NEURON_PLUGIN
from rackwright.validation.stack.registry import accelerators, catalog_rule, manifests, minor_version, pools, rule

KINDS = {"nvidia.com/gpu": "gpu", "aws.amazon.com/neuron": "neuron"}
FAMILIES = ("al2023", "bottlerocket")
AMI = re.compile(r"ami-([0-9a-f]{8}|[0-9a-f]{17})")
USER_DATA_BYTES = 16 * 1024
"""Raw, before base64."""
BOX_DRIVERS = {"gpu": ("nvidia",), "neuron": ("neuron",)}
"""Words in the names, in lower case, of images of Amazon and Canonical that contain such drivers."""
ARM = "arm64"
OWN_IMAGE = {False: "an AMI ID", True: "an image of your project"}
TEMPLATES = "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"
ACCELERATED = "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html"
EFA_DEVICES = "https://docs.aws.amazon.com/eks/latest/userguide/device-management-efa.html"


@rule("R-60", Level.ERROR, "https://docs.aws.amazon.com/dlami/latest/devguide/appendix-ami-release-notes.html")
def box_image_fits_machine(plan: StackPlan) -> Iterator[Violation]:
    """A box's image contains the drivers of its accelerators and matches its CPU architecture."""
    box = plan.box
    cloud = profile(plan.place.cloud)
    pinned = box_image(box.kind, box.cpu_arch, cloud.box_images) if box else ""
    if box is None or not pinned:
        return
    released = {row.version.rpartition("/")[0] for row in pinned_versions("box-image").values()}
    if box.image.startswith("ami-") or ("/" in box.image and box.image.rpartition("/")[0] not in released):
        return
    name, fix, at = box.image.lower(), f"use {pinned!r}, or {OWN_IMAGE[bool(cloud.box_images)]}", At() / "box" / "image"
    if not all(word in name for word in BOX_DRIVERS.get(box.kind, ())):
        yield Violation(at, fix, f"Image {box.image!r} contains no {box.kind} drivers, which {box.machine} needs")
    if (ARM in name) != (box.cpu_arch == ARM):
        yield Violation(at, fix, f"Image {box.image!r} does not match the architecture of {box.machine}, {box.cpu_arch}")


@rule("V-37", Level.ERROR, TEMPLATES)
def custom_image_is_consistent(plan: StackPlan) -> Iterator[Violation]:
    """`image_id` is an AMI ID with a known image family, and cannot be combined with `ami_type`, `release_version` or `bootstrap`."""
    families = ", ".join((*FAMILIES, UBUNTU))
    for at, pool in eks_pools(plan):
        if pool.image_id and not AMI.fullmatch(pool.image_id):
            yield Violation(at / "image_id", "write ami- and 8 or 17 hexadecimal digits", f"{pool.image_id!r} is not an AMI ID")
        if pool.image_id and image_family(pool.image) not in (*FAMILIES, UBUNTU):
            yield Violation(at / "image", f"use one of {families}", f"{pool.image!r} is not an image family for a custom AMI")
        if not pool.image_id and image_family(pool.image) == UBUNTU:
            fix = "set Canonical's EKS image of your region, or use al2023"
            yield Violation(at / "image_id", fix, "EKS provides no Ubuntu image, and image_id is not set")


@rule("V-38", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html", on=AWS)
def user_data_fits(plan: StackPlan) -> Iterator[Violation]:
    """EC2 user data has at most 16 KiB, and a script starts with #!."""
    script = plan.box.setup_script if plan.box else ""
    size, at = len(script.encode()), At() / "box" / "setup_script"
    if size > USER_DATA_BYTES:
        message = f"The setup script has {size:,} bytes; the limit of EC2 user data is {USER_DATA_BYTES:,} bytes"
        yield Violation(at, "download the rest from a bucket", message)
    if script and not script.startswith("#!"):
        message = f"The setup script starts with {script.splitlines()[0][:20]!r} instead of #!, so EC2 does not run it"
        yield Violation(at, "start it with #!/bin/bash", message)


@catalog_rule("V-39", Level.ERROR, ACCELERATED)
def node_image_fits_machine(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """An EKS node image contains drivers for certain machines and one CPU architecture; AL2 images are no longer released."""
    for at, pool in eks_pools(plan):
        if image_family(pool.image) == UBUNTU:
            continue
        allowed = [image_variant(family, KINDS.get(pool.resource, "cpu")) for family in FAMILIES]
        if pool.image not in allowed:
            message = f"Pool {pool.name} has image {pool.image!r}, which is not an EKS image for {pool.machine}"
            yield Violation(at / "image", f"use {' or '.join(allowed)}", message)
        elif not _has_drivers(pool, pool.image, catalog):
            others = [image for image in allowed if _has_drivers(pool, image, catalog)]
            rows = [row for row in catalog.machines if pool.image in row.node_images and row.cpu_arch == pool.cpu_arch]
            supported = ", ".join(sorted({row.name.partition(".")[0] for row in rows})) or f"none with {pool.cpu_arch}"
            fix = f"use {others[0]}" if others else f"set image_id, or use a machine that the image supports: {supported}"
            yield Violation(at / "image", fix, f"Image {pool.image} has no drivers for {pool.machine} ({pool.cpu_arch})")


@catalog_rule("V-44", Level.ERROR, EFA_DEVICES)
def efa_driver_is_unique(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """EFA interfaces reach pods through the device plugin or the DRA driver, never both; the DRA driver requires Kubernetes 1.35 and
    managed node groups."""
    dra = [(at, pool) for at, pool in eks_pools(plan) if pool.nics and pool.devices == "dra"]
    for at, pool in dra:
        if pool.provisioner == "karpenter":
            message = f"Pool {pool.name} uses devices: dra, which Karpenter does not support"
            yield Violation(at / "devices", "use plugin, or provisioner managed", message)
    minor, first = minor_version(plan.cluster.version) if plan.cluster else -1, catalog.supported_version(EFA_DRA_DRIVER).kubernetes_first
    if dra and 0 <= minor < first:
        message = f"The cluster has Kubernetes 1.{minor}; devices: dra requires 1.{first}"
        yield Violation(At() / "cluster" / "version", f"use 1.{first}, or devices: plugin", message)
    both = sorted(_listed(plan, EFA_PLUGIN) & _listed(plan, EFA_DRA_DRIVER))
    if both:
        message = f"{EFA_PLUGIN} and {EFA_DRA_DRIVER} both list {', '.join(both)}"
        yield Violation(At() / "releases", f"remove {', '.join(both)} from one of the lists", message)


@rule("V-45", Level.ERROR, "https://github.com/aws/eks-charts/tree/master/stable/aws-efa-k8s-device-plugin", invariant=True)
def efa_driver_lists_machine(plan: StackPlan) -> Iterator[Violation]:
    """The EFA device plugin and the EFA DRA driver run only on instance types that their values list; other nodes show no EFA devices."""
    for name, devices in ((EFA_PLUGIN, "plugin"), (EFA_DRA_DRIVER, "dra")):
        machines = {pool.machine for _, pool in eks_pools(plan) if pool.nics and pool.devices == devices}
        yield from _unlisted(plan, name, machines, ("supportedInstanceLabels", "values"))


@catalog_rule("V-46", Level.ERROR, "https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/")
def claim_api_exists(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """Resource claims use API resource.k8s.io/v1, which Kubernetes serves since 1.34."""
    minor = minor_version(plan.cluster.version) if plan.cluster else -1
    api, driver = (catalog.supported_version(component).kubernetes_first for component in ("dra", EFA_DRA_DRIVER))
    for at, manifest in manifests(plan, "ResourceClaim", "ResourceClaimTemplate", "DeviceClass"):
        if manifest.body["apiVersion"] == "resource.k8s.io/v1" and 0 <= minor < api:
            message = f"The cluster has Kubernetes 1.{minor}; resource.k8s.io/v1 requires 1.{api}"
            yield Violation(at / "apiVersion", f"use Kubernetes 1.{driver}, or devices: plugin", message)


@rule("R-41", Level.ERROR, "https://github.com/aws-neuron/neuron-helm-charts", invariant=True)
def neuron_plugin_lists_machine(plan: StackPlan) -> Iterator[Violation]:
    """The Neuron device plugin runs only on instance types that its values list; other nodes show no Neuron devices."""
    machines = {pool.machine for _, pool in eks_pools(plan) if KINDS.get(pool.resource) == "neuron"}
    yield from _unlisted(plan, NEURON_PLUGIN, machines, ("neuronInstances",))


@catalog_rule("R-42", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-nvidia-ultraserver.html")
def ultraservers_are_unsupported(plan: StackPlan, catalog: Catalog) -> Iterator[Violation]:
    """GB200 UltraServers require compute domains of NVIDIA's DRA driver, which this release does not install."""
    for at, pool in eks_pools(plan):
        machine = catalog.machine_by_name.get(pool.machine)
        if machine and machine.in_ultraserver and machine.kind == "gpu":
            message = f"Pool {pool.name} uses {pool.machine}, and this release does not install NVIDIA's DRA driver for UltraServers"
            yield Violation(at / "machine", "pin p6-b200.48xlarge or p6-b300.48xlarge", message)


@rule("R-44", Level.ERROR, "https://karpenter.sh/docs/concepts/nodeclasses/")
def karpenter_uses_al2023(plan: StackPlan) -> Iterator[Violation]:
    """Karpenter pools use the image family al2023, because this release writes disks and user data for AL2023 only."""
    for at, pool in eks_pools(plan):
        if pool.provisioner == "karpenter" and image_family(pool.image) != "al2023":
            message = f"Karpenter pool {pool.name} has image {pool.image!r}; this release supports the family al2023"
            yield Violation(at / "image", "use the family al2023, or provisioner managed", message)


@rule("R-45", Level.ERROR, "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/amazon-eks.html")
def gpu_pools_share_a_family(plan: StackPlan) -> Iterator[Violation]:
    """GPU pools share one image family, because NVIDIA's operator, AL2023 and Bottlerocket install GPU software differently."""
    gpus = [(at, pool) for at, pool in eks_pools(plan) if KINDS.get(pool.resource) == "gpu"]
    first = image_family(gpus[0][1].image) if gpus else ""
    for at, pool in gpus[1:]:
        if image_family(pool.image) != first:
            message = f"GPU pool {pool.name} has image {pool.image!r}, while pool {gpus[0][1].name} uses the family {first}"
            yield Violation(at / "image", f"use the family {first}", message)


@rule("R-46", Level.WARNING, "https://docs.aws.amazon.com/fsx/latest/LustreGuide/install-lustre-client.html")
def ubuntu_has_lustre_client(plan: StackPlan) -> Iterator[Violation]:
    """Ubuntu needs Amazon's Lustre client modules to mount the file system, and Canonical's EKS image does not contain them."""
    for at, pool in eks_pools(plan):
        if plan.lustre and image_family(pool.image) == UBUNTU:
            fix = "add lustre-client-modules-aws to the image and acknowledge R-46, or use al2023"
            message = f"Pool {pool.name} mounts Lustre, but Canonical's image lacks the client modules, and {pool.image_id} may too"
            yield Violation(at / "image_id", fix, message)


def eks_pools(plan: StackPlan) -> Iterator[tuple[At, PoolPlan]]:
    """Pools with their paths; none in clusters of other services than EKS."""
    yield from pools(plan) if profile(plan.place.cloud).managed_kubernetes == EKS else ()


def _has_drivers(pool: PoolPlan, image: str, catalog: Catalog) -> bool:
    """Whether the image contains the machine's drivers; True for custom images and for machines without accelerators."""
    machine = catalog.machine_by_name.get(pool.machine)
    fits = machine is not None and image in machine.node_images and machine.cpu_arch == pool.cpu_arch
    return bool(pool.image_id) or pool.resource not in KINDS or fits


def _listed(plan: StackPlan, name: str) -> set[str]:
    """The plan's instance types that the values of this EFA driver list."""
    machines = {pool.machine for _, pool in accelerators(plan)}
    lists = [release.values.get("supportedInstanceLabels", {}).get("values") for release in plan.releases if release.name == name]
    return set().union(*(machines if listed is None else machines & set(listed) for listed in lists))


def _unlisted(plan: StackPlan, name: str, machines: set[str], path: tuple[str, ...]) -> Iterator[Violation]:
    """A missing chart, and machines that the list at `path` of its values lacks; a chart without a list uses its default."""
    charts = [(index, release) for index, release in enumerate(plan.releases) if release.name == name]
    if machines and not charts:
        yield Violation(At() / "releases", f"add {name}", f"{name} is not installed, and {', '.join(sorted(machines))} requires it")
    for index, chart in charts:
        listed: Any = chart.values
        for key in path:
            listed = listed.get(key) if isinstance(listed, dict) else None
        missing = sorted(machines - set(listed)) if listed is not None else []
        if missing:
            message = f"{name} does not list {', '.join(missing)}; it lists {', '.join(listed or ()) or 'no instance type'}"
            yield Violation(At(("releases", index, "values", *path)), f"add {', '.join(missing)}", message)
