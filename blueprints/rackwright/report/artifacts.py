"""Charts and container images of a stack and its job, for a mirror."""

from collections.abc import Iterator
from dataclasses import dataclass

from rackwright.catalog.release.chart_images import chart_images
from rackwright.compile.mirror import CONTAINERS, SEPARATE_IMAGE
from rackwright.spec.spec import Spec
from rackwright.stackplan import StackPlan
from rackwright.stackplan.images import mirrored_chart, mirrored_image

SYSTEM_IN_TAG = "The operator adds the system of the node to the tag of the driver."


@dataclass(frozen=True)
class Artifact:
    """One chart or image. kind: chart | image | addon. reference: what is pulled, with its digest where known. digest: empty where no
    source publishes it. used_by: release, object or `run`. mirror: reference in the mirror, empty without one. note: what is missing.

    is_complete: the reference can be copied as it is.
    """

    kind: str
    reference: str
    digest: str
    used_by: str
    mirror: str = ""
    note: str = ""
    is_complete: bool = True


def artifacts_of(stack: StackPlan, spec: Spec, registry: str = "") -> list[Artifact]:
    """Every chart, image and add-on, once each.

    stack: without a registry of its own. registry: of the mirror, such as mirror.example/ai.
    """
    found = [*_charts(stack, registry), *_images(stack, spec, registry)]
    addons = (Artifact("addon", f"{a.name} {a.version}".strip(), "", "the cluster", note="from the cloud's registry") for a in stack.addons)
    return [*dict.fromkeys(found), *addons]


def _charts(stack: StackPlan, registry: str) -> Iterator[Artifact]:
    for release in stack.releases:
        chart, digest = release.chart, release.version.partition("@")[2]
        reference = f"{release.repository}/{chart} {release.version}" if release.repository else f"{chart}:{release.version}"
        mirror = f"{mirrored_chart(chart, registry)}:{release.version}" if registry else ""
        yield Artifact("chart", reference, digest, release.name, mirror)


def _images(stack: StackPlan, spec: Spec, registry: str) -> Iterator[Artifact]:
    for release in stack.releases:
        rows = chart_images(release.chart.rpartition("/")[2])
        if not rows:
            yield Artifact("image", "not listed", "", release.name, note="render the chart with helm template", is_complete=False)
        for row in rows:
            reference = f"{row.image}:{row.tag}" if row.tag else row.image
            yield _image(reference, release.name, registry, row.notes, is_complete=row.complete)
    for manifest in stack.manifests:
        used_by = f"{manifest.body['kind']} {manifest.body['metadata']['name']}"
        for image, note in _images_in(manifest.body):
            yield _image(image, used_by, registry, note, is_complete=not note)
    images = {image for manifest in stack.manifests for image, _ in _images_in(manifest.body)}
    for workload in spec.workloads:
        if workload.run.image and workload.run.image not in images:
            yield _image(workload.run.image, "run", registry)


def _image(reference: str, used_by: str, registry: str, note: str = "", *, is_complete: bool = True) -> Artifact:
    digest = reference.partition("@")[2]
    return Artifact("image", reference, digest, used_by, mirrored_image(reference, registry) if registry else "", note, is_complete)


def _images_in(body: object, at: str = "") -> Iterator[tuple[str, str]]:
    """(image, what its tag lacks) of every container of an object, and of every image of an operator's policy. at: key of the body."""
    if isinstance(body, dict):
        if body.keys() >= SEPARATE_IMAGE:
            yield f"{body['repository']}/{body['image']}:{body['version']}", SYSTEM_IN_TAG if at == "ofedDriver" else ""
        for key, value in body.items():
            if key in CONTAINERS and isinstance(value, list):
                yield from ((container["image"], "") for container in value if "image" in container)
            else:
                yield from _images_in(value, key)
    elif isinstance(body, (list, tuple)):
        for item in body:
            yield from _images_in(item, at)
