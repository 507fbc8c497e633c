"""Names, labels, tags and versions: what a cloud or Kubernetes refuses by form alone."""

import re
from collections.abc import Iterator

from rackwright.clouds import AWS, GCP, profile
from rackwright.diagnostics.problem import At, Level
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.validation.stack.registry import pod_templates, pools, rule

GKE_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
EKS_MOST = 100
EKS_NAME = re.compile(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}")
DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
OBJECT_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
BUCKET_NAME = re.compile(r"[a-z0-9][-a-z0-9._]{1,61}[a-z0-9]")
GCP_NAME_MOST, ENGINE_SUFFIX = 63, 8
"""Characters of a network, subnet, key ring or bucket, and those the engine adds to make a name unique."""
NODE_GROUP_MOST, RELEASE_MOST, LABEL_MOST, TEMPLATE_MOST = 63, 53, 63, 32


@rule("V-01", Level.ERROR, "https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters", on=GCP)
def gke_names(plan: StackPlan) -> Iterator[Violation]:
    """A GKE cluster or node pool name is 40 lower-case letters, digits and dashes at most, and starts with a letter."""
    if plan.cluster is None:
        return
    named = [(At() / "cluster" / "name", plan.cluster.name), *((at / "name", pool.name) for at, pool in pools(plan))]
    yield from (Violation(at, "shorten the spec's name", detail=f"got {name!r}") for at, name in named if not GKE_NAME.fullmatch(name))


@rule("V-02", Level.WARNING, on=GCP)
def pools_differ_after_cut(plan: StackPlan) -> Iterator[Violation]:
    """GKE cuts cluster and pool name together to 32 characters in instance templates, where two pools should not look alike."""
    if plan.cluster is None:
        return
    seen: dict[str, str] = {}
    for at, pool in pools(plan):
        cut = f"{plan.cluster.name}-{pool.name}"[:TEMPLATE_MOST]
        if cut in seen:
            yield Violation(at / "name", "shorten the spec's name", detail=f"{pool.name} and {seen[cut]} both become {cut!r}")
        seen.setdefault(cut, pool.name)


@rule("V-06", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html", on=AWS)
def eks_names(plan: StackPlan) -> Iterator[Violation]:
    """An EKS cluster name has 100 letters, digits, dashes and underscores at most, a node group name 63."""
    if plan.cluster is None:
        return
    if not EKS_NAME.fullmatch(plan.cluster.name):
        yield Violation(At() / "cluster" / "name", "shorten the spec's name", detail=f"got {plan.cluster.name!r}")
    existing = plan.cluster.existing
    if isinstance(existing, str) and existing and not EKS_NAME.fullmatch(existing):
        near = "".join(re.findall(r"[A-Za-z0-9_-]", existing)).lstrip("-_")[:EKS_MOST]
        fix = f"such as {near}; `aws eks list-clusters` lists them" if near else "`aws eks list-clusters` lists them"
        yield Violation(At() / "cluster" / "existing", fix, detail=f"{existing!r} has {len(existing)} characters")
    for at, pool in pools(plan):
        if len(pool.name) > NODE_GROUP_MOST or not EKS_NAME.fullmatch(pool.name):
            yield Violation(at / "name", "shorten the pool's name", detail=f"got {pool.name!r}")


@rule("V-07", Level.ERROR, "https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html")
def bucket_names(plan: StackPlan) -> Iterator[Violation]:
    """A bucket name is 3 to 63 lower-case letters, digits, dots and dashes, without the words its cloud keeps for itself."""
    cloud = profile(plan.place.cloud)
    for index, bucket in enumerate(plan.buckets):
        name = bucket.existing_name
        reserved = name.startswith(cloud.bucket_prefixes) or any(word in name for word in cloud.bucket_words)
        if name and (not BUCKET_NAME.fullmatch(name) or reserved):
            yield Violation(At() / "buckets" / index / "existing_name", "check the URI in the spec", detail=f"got {name!r}")


@rule("V-08", Level.ERROR, "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/")
def object_names(plan: StackPlan) -> Iterator[Violation]:
    """Services and namespaces are DNS labels of 63 characters, other objects DNS names, Helm releases 53, label values 63."""
    for index, (name, _) in enumerate(plan.namespaces):
        if not DNS_LABEL.fullmatch(name):
            yield Violation(At() / "namespaces" / index, "shorten the team's name", detail=f"got {name!r}")
    for index, release in enumerate(plan.releases):
        if len(release.name) > RELEASE_MOST or not DNS_LABEL.fullmatch(release.name):
            yield Violation(At() / "releases" / index / "name", "shorten it", detail=f"got {release.name!r}")
    for index, manifest in enumerate(plan.manifests):
        meta, at = manifest.body["metadata"], At() / "manifests" / index / "body" / "metadata"
        form = DNS_LABEL if manifest.body["kind"] == "Service" else OBJECT_NAME
        if not form.fullmatch(meta["name"]):
            yield Violation(at / "name", "shorten the workload's name", detail=f"got {meta['name']!r}")
        for key, value in meta.get("labels", {}).items():
            if len(value) > LABEL_MOST:
                yield Violation(at / "labels" / key, "shorten the value", detail=f"{len(value)} characters")


@rule("V-10", Level.ERROR, "https://cloud.google.com/compute/docs/naming-resources", on=GCP)
def google_names_have_room(plan: StackPlan) -> Iterator[Violation]:
    """What is made on Google Cloud is named after the stack with what it is and eight characters more, and has 63 of them at most."""
    parts = [f"network-subnet-{subnet.name}" for subnet in plan.network.subnets]
    parts += [f"storage-{bucket.key}" for bucket in plan.buckets if not bucket.existing_name]
    longest = max(parts, key=len, default="storage-ring")
    most = GCP_NAME_MOST - ENGINE_SUFFIX - len(f"-{longest}")
    if len(plan.name) > most:
        yield Violation(
            At() / "name", f"shorten the spec's name to {most}", detail=f"{plan.name}-{longest} is {len(plan.name) - most} too long"
        )


@rule("V-12", Level.ERROR, "https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html")
def tags_fit(plan: StackPlan) -> Iterator[Violation]:
    """AWS takes 50 tags and keeps the prefix aws: for itself; GCP takes 64 labels of lower-case letters, digits, dashes and underscores."""
    cloud = profile(plan.place.cloud)
    most = cloud.max_tags or len(plan.tags)
    if len(plan.tags) > most:
        yield Violation(At() / "tags", f"leave out {len(plan.tags) - most}", detail=f"there are {len(plan.tags)}")
    for key, value in plan.tags:
        if cloud.tag_error(key, value):
            yield Violation(At() / "tags" / key, "rename it", detail=f"got {key!r}: {value!r}")


@rule("V-13", Level.ERROR, "https://kubernetes.io/docs/concepts/containers/images/")
def versions_are_pinned(plan: StackPlan) -> Iterator[Violation]:
    """Charts, machine images and container images are pinned, so that a later release never changes a running cluster."""
    for index, release in enumerate(plan.releases):
        if not re.search(r"\d+\.\d+\.\d+", release.version):
            yield Violation(
                At() / "releases" / index / "version", "give the full version", detail=f"{release.name} has {release.version!r}"
            )
    if plan.box and not re.search(r"\d{8}$|^ami-", plan.box.image):
        yield Violation(At() / "box" / "image", "name a dated image", detail=f"got {plan.box.image!r}")
    for at, _, template in pod_templates(plan):
        for index, container in enumerate(template["spec"]["containers"]):
            yield from _image(at / "spec" / "containers" / index / "image", container["image"])


def _image(at: At, image: str) -> Iterator[Violation]:
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    if digest:
        return
    if not tag or tag == "latest":
        yield Violation(at, "give a tag and a digest", detail=f"got {image!r}")
    else:
        yield Violation(at, "add @sha256:...", detail=f"{image!r} has a tag, which can be moved, and no digest", level=Level.WARNING)
