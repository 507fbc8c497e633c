"""Nodes of EKS: images that know the machine, first boots AWS takes, drivers that show devices to pods."""

import re
from collections.abc import Iterable, Iterator

from rackwright.clouds import AWS
from rackwright.compile.nodes.images import DRIVEN, UBUNTU, family_of, variant
from rackwright.compile.operators.devices import DRANET, GPU, NEURON, PLUGIN
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import PoolPlan, ReleasePlan, StackPlan
from rackwright.validation.stack.registry import accelerators, pools, rule

KINDS = {GPU: "gpu", NEURON: "neuron"}
FAMILIES = ("al2023", "bottlerocket")
AMI = re.compile(r"ami-([0-9a-f]{8}|[0-9a-f]{17})")
USER_DATA_BYTES = 16 * 1024
"""Raw, before base64."""
DRANET_MINOR, DRA_MINOR = 35, 34
"""The chart's own README against the EKS guide, which says 1.34: the later one holds."""
ULTRA_SERVERS = ("p6e-", "u-p6e-")
TEMPLATES = "https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html"
ACCELERATED = "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html"
EFA_DEVICES = "https://docs.aws.amazon.com/eks/latest/userguide/device-management-efa.html"


@rule("V-37", Level.ERROR, TEMPLATES)
def own_image_is_an_image(plan: StackPlan) -> Iterator[Violation]:
    """An image of one's own is named by its id, and then nothing of EKS's images is: neither a type, nor a release, nor a first boot."""
    for at, pool in _eks(plan):
        if pool.image_id and not AMI.fullmatch(pool.image_id):
            yield Violation(at / "image_id", "write ami- and 8 or 17 hexadecimal digits", detail=f"got {pool.image_id!r}")
        if pool.image_id and family_of(pool.image) not in (*FAMILIES, UBUNTU):
            yield Violation(
                at / "image", f"name the family it is made from: {', '.join((*FAMILIES, UBUNTU))}", detail=f"got {pool.image!r}"
            )
        if not pool.image_id and family_of(pool.image) == UBUNTU:
            yield Violation(
                at / "image_id", "name Canonical's image for EKS in your region, or use al2023", detail=f"EKS has no {UBUNTU} of its own"
            )


@rule("V-38", Level.ERROR, "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-add-user-data.html", on=AWS)
def user_data_fits(plan: StackPlan) -> Iterator[Violation]:
    """EC2 takes 16 KiB of user data, and runs a script only when it says what runs it."""
    script = plan.box.setup_script if plan.box else ""
    size, at = len(script.encode()), At() / "box" / "setup_script"
    if size > USER_DATA_BYTES:
        yield Violation(at, f"fetch what is more than {USER_DATA_BYTES:,} bytes from a bucket", detail=f"it has {size:,} bytes")
    if script and not script.startswith("#!"):
        yield Violation(at, "begin with #!/bin/bash", detail=f"it begins with {script.splitlines()[0][:20]!r}")


@rule("V-39", Level.ERROR, ACCELERATED)
def image_fits_the_machine(plan: StackPlan) -> Iterator[Violation]:
    """An image of EKS has the drivers of some machines, for one kind of processor; AL2 images have ended."""
    for at, pool in _eks(plan):
        if family_of(pool.image) == UBUNTU:
            continue
        allowed = [variant(family, KINDS.get(pool.resource, "cpu")) for family in FAMILIES]
        if pool.image not in allowed:
            yield Violation(at / "image", f"use {' or '.join(allowed)}", detail=f"{pool.name} has {pool.image!r}")
        elif not _driven(pool, pool.image):
            others = [image for image in allowed if _driven(pool, image)]
            fix = f"use {others[0]}" if others else f"use another machine, or an image of your own; it knows {_known(pool)}"
            yield Violation(at / "image", fix, detail=f"{pool.image} has no drivers for {pool.machine} ({pool.cpu_arch})")


@rule("V-44", Level.ERROR, EFA_DEVICES)
def efa_is_shown_one_way(plan: StackPlan) -> Iterator[Violation]:
    """EFA interfaces reach pods through the device plugin or the DRA driver, never both on a machine; the driver knows no Karpenter and no
    Kubernetes before 1.35."""
    claimed = [(at, pool) for at, pool in _eks(plan) if pool.nics and pool.devices == "dra"]
    for at, pool in claimed:
        if pool.provisioner == "karpenter":
            yield Violation(at / "devices", "use plugin, or the provisioner managed", detail=f"{pool.name} is Karpenter's")
    minor = _minor(plan)
    if claimed and minor is not None and minor < DRANET_MINOR:
        yield Violation(At() / "cluster" / "version", f"use 1.{DRANET_MINOR}, or devices: plugin", detail=f"got 1.{minor}")
    both = sorted(_listed(plan, PLUGIN) & _listed(plan, DRANET))
    if both:
        yield Violation(
            At() / "releases", f"take them out of one list: {', '.join(both)}", detail=f"{PLUGIN} and {DRANET} list {', '.join(both)}"
        )


@rule("V-45", Level.ERROR, "https://github.com/aws/eks-charts/tree/master/stable/aws-efa-k8s-device-plugin", invariant=True)
def efa_driver_knows_the_machine(plan: StackPlan) -> Iterator[Violation]:
    """The EFA device plugin, and the DRA driver, run only on machine types their values list; elsewhere pods find no EFA."""
    for name, devices in ((PLUGIN, "plugin"), (DRANET, "dra")):
        wanted = {pool.machine for _, pool in _eks(plan) if pool.nics and pool.devices == devices}
        path = ("supportedInstanceLabels", "values")
        yield from _unlisted(plan, name, wanted, path)


@rule("V-46", Level.ERROR, "https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/")
def claims_are_known(plan: StackPlan) -> Iterator[Violation]:
    """Devices are claimed in version 1 of their API, which Kubernetes 1.34 was the first to serve."""
    minor = _minor(plan)
    for index, manifest in enumerate(plan.manifests):
        if manifest.body["apiVersion"] == "resource.k8s.io/v1" and minor is not None and minor < DRA_MINOR:
            at = At() / "manifests" / index / "body" / "apiVersion"
            yield Violation(at, f"use Kubernetes 1.{DRANET_MINOR}, or devices: plugin", detail=f"the cluster is 1.{minor}")


@rule("R-41", Level.ERROR, "https://github.com/aws-neuron/neuron-helm-charts", invariant=True)
def neuron_plugin_knows_the_machine(plan: StackPlan) -> Iterator[Violation]:
    """The Neuron device plugin runs only on machine types its values list; elsewhere pods find no Neuron device."""
    wanted = {pool.machine for _, pool in _eks(plan) if KINDS.get(pool.resource) == "neuron"}
    yield from _unlisted(plan, "neuron-helm-chart", wanted, ("neuronInstances",))


@rule("R-42", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/userguide/ml-eks-nvidia-ultraserver.html")
def ultra_servers_need_more(plan: StackPlan) -> Iterator[Violation]:
    """GPUs of a GB200 UltraServer reach the other machines over NVLink only by compute domains of NVIDIA's DRA driver, which this release
    does not install."""
    for at, pool in _eks(plan):
        if pool.machine.startswith(ULTRA_SERVERS):
            yield Violation(at / "machine", "pin p6-b200.48xlarge or p6-b300.48xlarge", detail=f"{pool.name} is made of {pool.machine}")


@rule("R-44", Level.ERROR, "https://karpenter.sh/docs/concepts/nodeclasses/")
def karpenter_starts_from_al2023(plan: StackPlan) -> Iterator[Violation]:
    """Disks and first boot of Karpenter's machines are written for AL2023 in this release; other families read neither."""
    for at, pool in _eks(plan):
        if pool.provisioner == "karpenter" and family_of(pool.image) != "al2023":
            yield Violation(at / "image", "use the family al2023, or the provisioner managed", detail=f"{pool.name} has {pool.image!r}")


@rule("R-45", Level.ERROR, "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/amazon-eks.html")
def gpus_have_one_stack(plan: StackPlan) -> Iterator[Violation]:
    """NVIDIA's operator, AWS's images and Bottlerocket each bring GPU software their own way, so GPU pools share a family of images."""
    gpus = [(at, pool) for at, pool in _eks(plan) if KINDS.get(pool.resource) == "gpu"]
    first = family_of(gpus[0][1].image) if gpus else ""
    for at, pool in gpus[1:]:
        if family_of(pool.image) != first:
            yield Violation(at / "image", f"use the family {first}", detail=f"{pool.name} has {pool.image!r}")


@rule("R-46", Level.WARNING, "https://docs.aws.amazon.com/fsx/latest/LustreGuide/install-lustre-client.html")
def ubuntu_needs_a_lustre_client(plan: StackPlan) -> Iterator[Violation]:
    """Ubuntu mounts a Lustre file system only with Amazon's client modules for its kernel, which its image for EKS does not have."""
    for at, pool in _eks(plan):
        if plan.lustre and family_of(pool.image) == UBUNTU:
            fix = "put lustre-client-modules-aws into it and acknowledge this, or use al2023"
            yield Violation(at / "image_id", fix, detail=f"{pool.name} starts from {pool.image_id}")


def _eks(plan: StackPlan) -> Iterator[tuple[At, PoolPlan]]:
    yield from pools(plan) if plan.place.cloud == AWS.name else ()


def _driven(pool: PoolPlan, image: str) -> bool:
    """Whether the image has the machine's drivers; one's own image is one's own business, and plain machines need none."""
    known = DRIVEN.get((image, pool.cpu_arch), ())
    return bool(pool.image_id) or pool.resource not in KINDS or pool.machine.startswith(known)


def _known(pool: PoolPlan) -> str:
    return ", ".join(prefix.rstrip(".") for prefix in DRIVEN.get((pool.image, pool.cpu_arch), ())) or f"no {pool.cpu_arch}"


def _minor(plan: StackPlan) -> int | None:
    found = re.match(r"1\.(\d+)", plan.cluster.version) if plan.cluster else None
    return int(found[1]) if found else None


def _listed(plan: StackPlan, name: str) -> set[str]:
    """What the EFA driver's values list and the plan's machines are."""
    machines = {pool.machine for _, pool in accelerators(plan)}
    found = [release.values.get("supportedInstanceLabels", {}).get("values") for release in plan.releases if release.name == name]
    return set().union(*(machines if listed is None else machines & set(listed) for listed in found))


def _unlisted(plan: StackPlan, name: str, wanted: set[str], path: tuple[str, ...]) -> Iterator[Violation]:
    """Machines the list at `path` of a chart's values lacks, and a chart that is not there; a chart without a list uses its own."""
    charts = [(index, release) for index, release in enumerate(plan.releases) if release.name == name]
    if wanted and not charts:
        yield Violation(At() / "releases", f"add {name}", detail=f"it is not installed, and {', '.join(sorted(wanted))} need it")
    for index, chart in charts:
        listed = _value(chart, path)
        missing = sorted(wanted - set(listed)) if listed is not None else []
        if missing:
            at = At(("releases", index, "values", *path))
            yield Violation(at, f"add {', '.join(missing)}", detail=f"it lists {', '.join(listed or ()) or 'none'}")


def _value(chart: ReleasePlan, path: tuple[str, ...]) -> Iterable[str] | None:
    found = chart.values
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found
