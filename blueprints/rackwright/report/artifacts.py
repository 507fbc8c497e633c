"""Charts and container images of a stack and its job, for a mirror."""

from collections.abc import Iterator
from dataclasses import dataclass

from rackwright.catalog.release.chart_images import chart_images
from rackwright.spec.spec import Spec
from rackwright.stackplan import ReleasePlan, StackPlan

CONTAINERS = ("containers", "initContainers")


@dataclass(frozen=True)
class Artifact:
    """One chart or image. kind: chart | image | addon. reference: what is pulled, with its digest where known. digest: empty where no
    source publishes it. used_by: release, object or `run`. mirror: reference in the mirror, empty without one. note: what is missing."""

    kind: str
    reference: str
    digest: str
    used_by: str
    mirror: str = ""
    note: str = ""


def artifacts_of(stack: StackPlan, spec: Spec, registry: str = "") -> list[Artifact]:
    """Every chart, image and add-on, once each. registry: of the mirror, such as registry.example/mirror."""
    found = [*_charts(stack, registry), *_images(stack, spec, registry)]
    addons = (Artifact("addon", f"{a.name} {a.version}".strip(), "", "the cluster", note="from the cloud's registry") for a in stack.addons)
    return [*dict.fromkeys(found), *addons]


def _charts(stack: StackPlan, registry: str) -> Iterator[Artifact]:
    for release in stack.releases:
        chart, digest = release.chart, release.version.partition("@")[2]
        reference = f"{release.repository}/{chart} {release.version}" if release.repository else f"{chart}:{release.version}"
        yield Artifact("chart", reference, digest, release.name, _chart_in(registry, release))


def _chart_in(registry: str, release: ReleasePlan) -> str:
    return f"oci://{registry}/charts/{release.chart.rpartition('/')[2]}:{release.version}" if registry else ""


def _images(stack: StackPlan, spec: Spec, registry: str) -> Iterator[Artifact]:
    for release in stack.releases:
        rows = chart_images(release.chart.rpartition("/")[2])
        if not rows:
            yield Artifact("image", "not listed", "", release.name, note="render the chart with helm template")
        for row in rows:
            yield _image(f"{row.image}:{row.tag}" if row.tag else row.image, release.name, registry, row.notes)
    for manifest in stack.manifests:
        for image in _images_in(manifest.body):
            yield _image(image, f"{manifest.body['kind']} {manifest.body['metadata']['name']}", registry)
    run = spec.workload.run
    if run.image and all(run.image not in _images_in(manifest.body) for manifest in stack.manifests):
        yield _image(run.image, "run", registry)


def _image(reference: str, used_by: str, registry: str, note: str = "") -> Artifact:
    digest = reference.partition("@")[2]
    path = reference.partition("/")[2] if "." in reference.partition("/")[0] else reference
    return Artifact("image", reference, digest, used_by, f"{registry}/{path}" if registry else "", note)


def _images_in(body: object) -> Iterator[str]:
    """Images of every container in an object."""
    if isinstance(body, dict):
        for key, value in body.items():
            if key in CONTAINERS and isinstance(value, list):
                yield from (container["image"] for container in value if "image" in container)
            else:
                yield from _images_in(value)
    elif isinstance(body, (list, tuple)):
        for item in body:
            yield from _images_in(item)
