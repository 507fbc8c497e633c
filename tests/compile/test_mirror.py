"""`registry:`: every chart and container image of a stack comes from the mirror."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from rackwright.catalog.release.chart_images import chart_images, image_values
from rackwright.catalog.release.pinned_versions import pinned_versions
from rackwright.compile.mirror import SEPARATE_IMAGE, with_mirror, with_mirrored_images
from rackwright.compile.operators.helm_releases import release
from rackwright.stackplan.images import mirrored_chart, mirrored_image

from tests import own_plans, plans
from tests.compile.contracts import ROOT, chart_values, merged, needs_contracts, unknown_paths
from tests.matrix.cover import pairwise

MIRROR = "mirror.example/ai"
PLANS = plans.ALL | plans.FLEETS | own_plans.OWN
WITHOUT_IMAGES = {"karpenter-crd"}
CONTAINED = {"nfd.image", "node-feature-discovery.image"}
"""Values of charts that a chart contains: its own values file has only the keys that it changes."""


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("nvcr.io/nvidia/driver:580@sha256:0", "mirror.example/ai/nvidia/driver:580@sha256:0"),
        ("vllm/vllm-openai:v1", "mirror.example/ai/vllm/vllm-openai:v1"),
        ("busybox:1.36", "mirror.example/ai/busybox:1.36"),
        ("localhost:5000/trainer:1", "mirror.example/ai/trainer:1"),
        ("quay.io", "mirror.example/ai"),
        ("mirror.example/ai/trainer:1", "mirror.example/ai/trainer:1"),
    ],
)
def test_the_mirror_keeps_the_path_tag_and_digest(source, target):
    assert mirrored_image(source, MIRROR) == target


def test_a_chart_is_in_the_folder_charts():
    assert mirrored_chart("oci://registry.k8s.io/kueue/charts/kueue", MIRROR) == "oci://mirror.example/ai/charts/kueue"
    assert mirrored_chart("keda", MIRROR) == "oci://mirror.example/ai/charts/keda"


@pytest.mark.parametrize("chart", pinned_versions("chart"))
def test_every_pinned_chart_has_its_images_and_their_values(chart):
    assert bool(image_values(chart)) is bool(chart_images(chart)) is (chart not in WITHOUT_IMAGES)


@pytest.mark.parametrize("name", PLANS)
def test_no_image_of_a_plan_escapes_the_mirror(name):
    assert escapes(with_mirror(PLANS[name](), MIRROR)) == []


def test_no_image_of_the_matrix_escapes_the_mirror():
    cells = [cell.plan for cell in pairwise()]
    assert len(cells) > 50
    assert [found for plan in cells for found in escapes(with_mirror(plan, MIRROR))] == []


def test_a_plan_without_a_mirror_has_escapes():
    """The search finds images where they are."""
    assert len(escapes(plans.training_plan())) > 5


def test_images_of_init_containers_move_too():
    pod = {"spec": {"initContainers": [{"image": "alpine:3"}], "containers": [{"name": "a", "image": "b/c:1"}]}}
    assert [image for _, image in images(with_mirrored_images(pod, MIRROR))] == [f"{MIRROR}/alpine:3", f"{MIRROR}/b/c:1"]


@needs_contracts
@pytest.mark.parametrize("chart", [name for name in pinned_versions("chart") if image_values(name)])
def test_the_values_move_every_image_of_a_chart(chart):
    """The chart's own values, merged with those of the mirror, have no other registry."""
    version = pinned_versions("chart")[chart].version
    if not list((ROOT / "chart-values").glob(f"{chart}-{version.partition('@')[0].removeprefix('v')}.yaml")):
        pytest.skip(f"no values of {chart} in the contracts")
    plan = replace(plans.training_plan(), releases=(release(chart, "any", {}),), manifests=())
    values, own = with_mirror(plan, MIRROR).releases[0].values, chart_values(chart, version)
    assert [path for path in unknown_paths(values, own) if path not in CONTAINED] == []
    if chart not in ("kube-prometheus-stack", "keda"):  # one value replaces the registry of every image
        assert [image for _, image in images(merged(own, values)) if not image.startswith(MIRROR)] == []


def escapes(plan) -> list[str]:
    """Charts and images of a stack that are not in the mirror."""
    charts = [release.chart for release in plan.releases if not release.chart.startswith(f"oci://{MIRROR}/")]
    repositories = [release.repository for release in plan.releases if release.repository]
    bodies = [*(release.values for release in plan.releases), *(manifest.body for manifest in plan.manifests)]
    inside = [found for body in bodies for found in images(body)]
    return charts + repositories + [f"{path} {image}" for path, image in inside if not image.startswith(MIRROR)]


def images(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(path, image or its registry) of every image in values or objects."""
    if isinstance(value, dict):
        named = value.keys() >= SEPARATE_IMAGE or ("image" in value and "repository" in value)
        for key, item in value.items():
            here = f"{path}.{key}".strip(".")
            known = key in ("repository", "registry", "imageRegistry") or (key == "image" and not named) or path.endswith(".images")
            if known and isinstance(item, str) and item:
                yield here, item
            else:
                yield from images(item, here)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from images(item, path)
