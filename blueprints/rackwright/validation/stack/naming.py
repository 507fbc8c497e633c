"""Names, labels, tags and versions: formats that a cloud or Kubernetes enforces."""

import re
from collections.abc import Iterator

from rackwright.catalog.release.pinned_versions import pinned_versions
from rackwright.clouds import AWS, EKS, GCP, profile
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.stackplan import StackPlan
from rackwright.validation.stack.registry import pod_templates, pools, rule

GKE_NAME = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
EKS_MAX = 100
EKS_NAME = re.compile(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}")
DNS_LABEL = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
OBJECT_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
BUCKET_NAME = re.compile(r"[a-z0-9][-a-z0-9._]{1,61}[a-z0-9]")
GCP_NAME_MAX, ENGINE_SUFFIX = 63, 8
"""Maximum length of a network, subnet, key ring or bucket name, and the characters Pulumi appends to make a name unique."""
NODE_GROUP_MAX, RELEASE_MAX, LABEL_MAX, TEMPLATE_MAX = 63, 53, 63, 32


@rule("V-01", Level.ERROR, "https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters", on=GCP)
def gke_name_format(plan: StackPlan) -> Iterator[Violation]:
    """Names of GKE clusters and node pools have at most 40 lower-case letters, digits and dashes, and start with a letter."""
    if plan.cluster is None:
        return
    named = [(At() / "cluster" / "name", plan.cluster.name), *((at / "name", plan.node_pool_name(pool)) for at, pool in pools(plan))]
    for at, name in named:
        if not GKE_NAME.fullmatch(name):
            message = f"{name!r} is not a valid GKE name: use 1 to 40 lower-case letters, digits and dashes, starting with a letter"
            yield Violation(at, "shorten the spec's name", message)


@rule("V-02", Level.WARNING, on=GCP)
def gke_template_names_differ(plan: StackPlan) -> Iterator[Violation]:
    """GKE truncates cluster and pool name together to 32 characters in instance templates; the results should differ between pools."""
    if plan.cluster is None:
        return
    seen: dict[str, str] = {}
    for at, pool in pools(plan):
        template = f"{plan.cluster.name}-{pool.name}"[:TEMPLATE_MAX]
        if template in seen:
            message = f"Pools {seen[template]} and {pool.name} get the same instance template name: GKE truncates both to {template!r}"
            yield Violation(at / "name", "shorten the spec's name", message)
        seen.setdefault(template, pool.name)


@rule("V-06", Level.ERROR, "https://docs.aws.amazon.com/eks/latest/APIReference/API_CreateCluster.html", on=AWS)
def eks_name_format(plan: StackPlan) -> Iterator[Violation]:
    """EKS cluster names have at most 100 letters, digits, dashes and underscores, node group names at most 63."""
    if plan.cluster is None:
        return
    if not EKS_NAME.fullmatch(plan.cluster.name):
        message = f"{plan.cluster.name!r} is not a valid EKS cluster name: use 1 to {EKS_MAX} letters, digits, dashes and underscores"
        yield Violation(At() / "cluster" / "name", "shorten the spec's name", message)
    existing = plan.cluster.existing
    if isinstance(existing, str) and existing and not EKS_NAME.fullmatch(existing):
        near = "".join(re.findall(r"[A-Za-z0-9_-]", existing)).lstrip("-_")[:EKS_MAX]
        fix = (
            f"set it to {near}, or to a name that `aws eks list-clusters` lists" if near else "list the names with `aws eks list-clusters`"
        )
        message = f"{existing!r} ({len(existing)} characters) is not a valid EKS cluster name"
        yield Violation(At() / "cluster" / "existing", fix, message)
    for at, pool in pools(plan):
        if len(pool.name) > NODE_GROUP_MAX or not EKS_NAME.fullmatch(pool.name):
            message = f"{pool.name!r} is not a valid node group name: use 1 to {NODE_GROUP_MAX} letters, digits, dashes and underscores"
            yield Violation(at / "name", "shorten the pool's name", message)


@rule("V-07", Level.ERROR, "https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html")
def bucket_name_format(plan: StackPlan) -> Iterator[Violation]:
    """Bucket names have 3 to 63 lower-case letters, digits, dots and dashes, and no prefix or word that the cloud reserves."""
    cloud = profile(plan.place.cloud)
    for index, bucket in enumerate(plan.buckets):
        name, at = bucket.existing_name, At() / "buckets" / index / "existing_name"
        reserved = [prefix for prefix in cloud.bucket_prefixes if name.startswith(prefix)]
        reserved += [word for word in cloud.bucket_words if word in name]
        if name and not BUCKET_NAME.fullmatch(name):
            message = f"{name!r} is not a valid bucket name: use 3 to 63 lower-case letters, digits, dots and dashes"
            yield Violation(at, "correct the URI in the spec", message)
        elif reserved:
            yield Violation(at, "correct the URI in the spec", f"{name!r} is not a valid bucket name: {reserved[0]} is reserved")


@rule("V-08", Level.ERROR, "https://kubernetes.io/docs/concepts/overview/working-with-objects/names/")
def kubernetes_name_format(plan: StackPlan) -> Iterator[Violation]:
    """Services and namespaces are DNS labels of at most 63 characters, other objects DNS names. Helm releases have at most 53
    characters, label values 63."""
    for index, (name, _) in enumerate(plan.namespaces):
        if not DNS_LABEL.fullmatch(name):
            message = f"Namespace {name!r} is not a DNS label of at most 63 lower-case letters, digits and dashes"
            yield Violation(At() / "namespaces" / index, "shorten the team's name", message)
    for index, release in enumerate(plan.releases):
        if len(release.name) > RELEASE_MAX or not DNS_LABEL.fullmatch(release.name):
            message = f"Helm release {release.name!r} is not a DNS label of at most {RELEASE_MAX} characters"
            yield Violation(At() / "releases" / index / "name", "shorten the release name", message)
    for index, manifest in enumerate(plan.manifests):
        meta, at = manifest.body["metadata"], At(("manifests", index, "body", "metadata"))
        kind = manifest.body["kind"]
        form, limit = (DNS_LABEL, "label of at most 63") if kind == "Service" else (OBJECT_NAME, "name of at most 253")
        if not form.fullmatch(meta["name"]):
            yield Violation(at / "name", "shorten the workload's name", f"{kind} {meta['name']!r} is not a DNS {limit} characters")
        for key, value in meta.get("labels", {}).items():
            if len(value) > LABEL_MAX:
                message = f"The value of label {key} has {len(value)} characters; the limit is {LABEL_MAX}"
                yield Violation(at / "labels" / key, "shorten the value", message)


@rule("V-10", Level.ERROR, "https://cloud.google.com/compute/docs/naming-resources", on=GCP)
def google_name_length(plan: StackPlan) -> Iterator[Violation]:
    """Names of Google Cloud resources have at most 63 characters: the stack's name, a suffix for the resource, and 8 random characters."""
    parts = [f"network-subnet-{subnet.name}" for subnet in plan.network.subnets]
    parts += [f"storage-{bucket.key}" for bucket in plan.buckets if not bucket.existing_name]
    parts += [f"fabric-{network.name}-internal" for network in plan.network.accelerator_networks]
    longest = max(parts, key=len, default="storage-ring")
    room = GCP_NAME_MAX - ENGINE_SUFFIX - len(f"-{longest}")
    if len(plan.name) > room:
        message = f"The stack name {plan.name!r} has {len(plan.name)} characters; {plan.name}-{longest} leaves room for {room}"
        yield Violation(At() / "name", f"shorten the spec's name to {room} characters", message)


@rule("V-12", Level.ERROR, "https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html")
def tag_format(plan: StackPlan) -> Iterator[Violation]:
    """AWS allows 50 tags without the prefix aws:; GCP allows 64 labels of lower-case letters, digits, dashes and underscores."""
    cloud = profile(plan.place.cloud)
    limit = cloud.max_tags or len(plan.tags)
    if len(plan.tags) > limit:
        yield Violation(At() / "tags", f"remove {len(plan.tags) - limit}", f"The stack has {len(plan.tags)} tags; the limit is {limit}")
    for key, value in plan.tags:
        if error := cloud.tag_error(key, value):
            yield Violation(At() / "tags" / key, "rename it", f"Tag {key!r}: {value!r} is not valid: {error}")


@rule("V-13", Level.ERROR, "https://kubernetes.io/docs/concepts/containers/images/", warns=True)
def versions_are_pinned(plan: StackPlan) -> Iterator[Violation]:
    """Charts, add-ons, machine images and container images have pinned versions, so that a new release never changes a running cluster."""
    for index, release in enumerate(plan.releases):
        if not re.search(r"\d+\.\d+\.\d+", release.version):
            message = f"Chart {release.name} has version {release.version!r}, which is not a full version"
            yield Violation(At() / "releases" / index / "version", "set a full version such as 1.2.3", message)
    for index, addon in enumerate(plan.addons if profile(plan.place.cloud).managed_kubernetes == EKS else ()):
        if not addon.version:
            message = f"Add-on {addon.name} has no version; EKS selects its default when it creates the add-on, and keeps it"
            fix = "choose again with `rackwright choose --upgrade`, which records this release's version"
            yield Violation(At() / "addons" / index / "version", fix, message, level=Level.WARNING)
    if plan.box and not re.search(r"\d{8}$|^ami-", plan.box.image):
        message = f"The box image {plan.box.image!r} has neither a release date nor an AMI ID"
        yield Violation(At() / "box" / "image", "set an image name that ends with its date, or an AMI ID", message)
    for at, _, template in pod_templates(plan):
        for index, container in enumerate(template["spec"]["containers"]):
            yield from _image(at / "spec" / "containers" / index / "image", container["image"])


def _image(at: At, image: str) -> Iterator[Violation]:
    name, _, digest = image.partition("@")
    tag = name.rpartition("/")[2].partition(":")[2]
    if digest:
        return
    if not tag or tag == "latest":
        yield Violation(at, "add a tag and a digest", f"Container image {image!r} has neither a digest nor a fixed tag")
        return
    message = f"Container image {image!r} has a tag, which can be moved, but no digest"
    unpinned = [row.version for row in pinned_versions("server-image").values() if "@sha256:" not in row.version]
    if path_of(name) in map(path_of, unpinned):
        # The release selects this image, and its registry publishes no digest: the user accepts it, or names one.
        fix = "set `run.image` with @sha256: and the digest that `crane digest` prints, or acknowledge V-13"
        yield Violation(at, fix, message, level=Level.WARNING, stage=Stage.BUILD, blocks_update=True)
    else:
        yield Violation(at, "append @sha256: and the digest", message, level=Level.WARNING)


def path_of(image: str) -> str:
    """An image without its registry, which may be a mirror: repository and tag."""
    return image.partition("@")[0].rpartition("/")[2]
