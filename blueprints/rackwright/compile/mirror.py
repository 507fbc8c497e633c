"""Charts and container images of a stack come from the registry of `registry:`."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rackwright.catalog.release.chart_images import image_values
from rackwright.stackplan import ReleasePlan, StackPlan
from rackwright.stackplan.images import mirrored_chart, mirrored_image

CONTAINERS = ("containers", "initContainers", "ephemeralContainers")
SEPARATE_IMAGE = {"image", "repository", "version"}
"""Keys of an image in the policies of NVIDIA's operators; only `repository` has the host."""


def with_mirror(plan: StackPlan, registry: str) -> StackPlan:
    """`plan` with every chart and image in the registry. Versions and digests stay; a copy of an image has the digest of its source."""
    releases = tuple(_release(release, registry) for release in plan.releases)
    manifests = tuple(replace(manifest, body=with_mirrored_images(manifest.body, registry)) for manifest in plan.manifests)
    return replace(plan, releases=releases, manifests=manifests)


def with_mirrored_images(value: Any, registry: str) -> Any:
    """An object with the images of its containers, and those of policies of operators, in the registry."""
    if isinstance(value, (list, tuple)):
        return [with_mirrored_images(item, registry) for item in value]
    if not isinstance(value, Mapping):
        return value
    made = {key: with_mirrored_images(item, registry) for key, item in value.items()}
    if made.keys() >= SEPARATE_IMAGE:
        made["repository"] = mirrored_image(made["repository"], registry)
    for key in (key for key in CONTAINERS if isinstance(made.get(key), list)):
        made[key] = [each | {"image": mirrored_image(each["image"], registry)} if "image" in each else each for each in made[key]]
    return made


def _release(release: ReleasePlan, registry: str) -> ReleasePlan:
    values = release.values
    for row in image_values(release.chart.rpartition("/")[2]):
        values = _with_value(values, row.path.split("/"), mirrored_image(row.value, registry))
    return replace(release, chart=mirrored_chart(release.chart, registry), repository="", values=values)


def _with_value(values: Mapping[str, Any], path: list[str], value: str) -> dict[str, Any]:
    """Helm values with one more, at a path of keys."""
    key, *rest = path
    return {**values, key: _with_value(values.get(key, {}), rest, value) if rest else value}
