"""Images without a digest: those that the release selects stop an update until they are acknowledged (V-13)."""

from dataclasses import replace

import pytest
from rackwright.catalog.release.pinned_versions import pinned_versions
from rackwright.compile.mirror import with_mirror
from rackwright.diagnostics.problem import Level, Stage
from rackwright.validation.stack import check

from tests import plans

UNPINNED = [name for name, row in pinned_versions("server-image").items() if "@sha256:" not in row.version]


def of_image(image, acknowledged=(), mirror=""):
    """What V-13 finds in a fleet with this image: (level, stage, fix)."""
    plan = plans.FLEETS["fleet-eks"]()
    ours = pinned_versions("server-image")["vllm"].version
    plan = replace(plan, manifests=tuple(replace(m, body=swapped(m.body, ours, image)) for m in plan.manifests))
    plan = with_mirror(plan, mirror) if mirror else plan
    return [(problem.level, problem.stage, problem.fix) for problem in check(plan, acknowledged) if problem.code == "V-13"]


def swapped(value, old, new):
    if isinstance(value, dict):
        return {key: swapped(item, old, new) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [swapped(item, old, new) for item in value]
    return new if value == old else value


def test_releases_have_images_without_a_published_digest():
    assert UNPINNED == ["body-router", "endpoint-picker", "vllm-efa", "vllm-neuron", "vllm-tpu"]


@pytest.mark.parametrize("mirror", ["", "mirror.example/ai"])
@pytest.mark.parametrize("name", UNPINNED)
def test_an_image_of_the_release_without_a_digest_stops_an_update(name, mirror):
    ((level, stage, fix),) = of_image(pinned_versions("server-image")[name].version, mirror=mirror)
    assert (level, stage) == (Level.WARNING, Stage.BUILD)
    assert "acknowledge V-13" in fix


@pytest.mark.parametrize("name", UNPINNED)
def test_it_can_be_acknowledged(name):
    assert of_image(pinned_versions("server-image")[name].version, ["V-13"]) == []


def test_an_image_of_the_user_without_a_digest_is_a_warning():
    ((level, stage, _),) = of_image("registry.example/server:1")
    assert (level, stage) == (Level.WARNING, Stage.PLAN)


def test_a_digest_settles_it():
    assert of_image("public.ecr.aws/deep-learning-containers/vllm:0.28@sha256:" + "0" * 64) == []
