"""Age and support of recorded versions, and `rackwright choose --upgrade`."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from rackwright.catalog.release.pinned_versions import _support_rows, pinned_versions, support_of, support_of_image
from rackwright.workflow.decision import decision_path
from rackwright.workflow.pipeline import Pipeline
from rackwright.workflow.recorded.version_age import changes_of

ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)


@pytest.fixture
def cluster(tmp_path) -> Path:
    """The 70B example, recorded with Kubernetes 1.34 and an old version of Kueue."""
    path = tmp_path / "cluster.yaml"
    path.write_text((ROOT / "stacks" / "llama-70b-sft.yaml").read_text())
    decision = Pipeline(path, TODAY).choose(1).decision
    charts = tuple((name, "0.18.0" if name == "kueue" else version) for name, version in decision.pins.charts)
    images = tuple((name, version.replace("1.35.6", "1.34.9")) for name, version in decision.pins.images)
    old = replace(decision, pins=replace(decision.pins, kubernetes="1.34", charts=charts, images=images))
    decision_path(path).write_text(old.to_json())
    return path


def warnings(path: Path, today: date) -> dict[str, str]:
    return {p.code: f"{p.reason}; {p.fix}" for p in Pipeline(path, today).decide().problems if p.code in ("D-image-age", "D-support")}


def test_a_version_is_reported_before_and_after_its_support_ends(cluster):
    assert "D-support" not in warnings(cluster, date(2026, 9, 2))
    soon = warnings(cluster, TODAY)["D-support"]
    assert "Support of Kubernetes 1.34 ends on 2026-12-02; extended support costs extra and ends on 2027-12-02" in soon
    assert "rackwright choose cluster.yaml --upgrade" in soon
    assert "ended on 2026-12-02" in warnings(cluster, date(2026, 12, 3))["D-support"]


def test_an_image_is_reported_by_its_age(cluster):
    assert "D-image-age" not in warnings(cluster, date(2026, 10, 26))
    assert "al2023, al2023-nvidia 1.34.9-20260728 is 91 days old" in warnings(cluster, date(2026, 10, 27))["D-image-age"]


def test_node_images_of_eks_end_with_the_version_of_the_cluster(cluster):
    assert warnings(cluster, TODAY)["D-support"].count("Node images follow it: al2023, al2023-nvidia") == 1
    for name in ("al2023-neuron", "bottlerocket-nvidia"):
        assert support_of_image(name, "aws", pinned_versions("node-image")[name].version).follows == "kubernetes"


def test_an_upgrade_shows_when_the_support_of_its_images_ends(cluster):
    renewed = Pipeline(cluster, TODAY)
    changes = {each.name: each.support_ends for each in changes_of(renewed.recorded, renewed.choose(upgrade=True).decision)}
    assert changes == {"cluster": "2027-03-27", "al2023": "2027-03-27", "al2023-nvidia": "2027-03-27", "kueue": None}


@pytest.mark.parametrize("image", ["gpu-x86_64", "gpu-arm64", "neuron-x86_64", "cpu-x86_64", "cpu-arm64"])
def test_images_of_boxes_end_with_their_ubuntu(image):
    row = support_of_image(image, "aws", pinned_versions("box-image")[image].version)
    assert (row.component, row.version, row.support_ends) == ("ubuntu", "24.04", "2029-04-30")


def test_a_box_is_reported_before_the_support_of_its_ubuntu_ends(tmp_path):
    path = tmp_path / "box.yaml"
    path.write_text((ROOT / "stacks" / "mistral-7b-qlora.yaml").read_text())
    decision_path(path).write_text(Pipeline(path, TODAY).choose(1).decision.to_json())
    assert "D-support" not in warnings(path, date(2029, 1, 29))
    assert "(Ubuntu 24.04) 20260925 ends on 2029-04-30" in warnings(path, date(2029, 1, 30))["D-support"]


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
def test_the_pinned_version_of_kubernetes_has_an_end_on_each_cloud(cloud):
    """GKE's exclusion from upgrades lasts until that day, so it must be known."""
    row = support_of("kubernetes", cloud, pinned_versions("kubernetes")["cluster"].version)
    assert row
    assert row.support_ends


def test_the_end_of_gke_s_exclusion_from_upgrades_is_reported(tmp_path):
    path = tmp_path / "tpu.yaml"
    path.write_text((ROOT / "stacks" / "gemma-pretrain.yaml").read_text().replace("ttl:", "# ttl:"))
    decision_path(path).write_text(Pipeline(path, TODAY).choose(1).decision.to_json())
    assert "D-support" not in warnings(path, date(2027, 1, 10))
    told = warnings(path, date(2027, 1, 11))["D-support"]
    assert "Support of Kubernetes 1.35 ends on 2027-04-11" in told
    assert "GKE ends maintenance exclusions and upgrades clusters at this date" in told


def test_nodes_whose_upgrades_are_held_are_reported_by_their_age(tmp_path):
    """GKE's exclusion keeps the images of nodes, and the decision pins none."""
    path = tmp_path / "tpu.yaml"
    path.write_text((ROOT / "stacks" / "gemma-pretrain.yaml").read_text().replace("ttl:", "# ttl:"))
    decision_path(path).write_text(Pipeline(path, TODAY).choose(1).decision.to_json())
    assert "D-image-age" not in warnings(path, date(2027, 2, 19))
    told = warnings(path, date(2027, 2, 20))["D-image-age"]
    assert "The decision is 91 days old" in told
    assert "`gcloud container clusters upgrade gemma-pretrain --node-pool POOL --location us-central1` for each pool" in told
    renewed = Pipeline(path, date(2027, 2, 20)).choose(1).decision.to_json()
    decision_path(path).write_text(renewed)
    assert "D-image-age" not in warnings(path, date(2027, 2, 21))


def test_every_row_of_the_support_table_has_a_source_and_a_date_or_says_why_not():
    for row in _support_rows():
        assert row.source
        assert row.as_of
        assert row.support_ends or row.follows or row.notes, row.component


def test_a_version_without_a_published_end_causes_no_warning():
    assert support_of("kueue", "", "0.19.2") is None
    assert support_of("kubernetes", "aws", "1.3") is None, "1.3 is not 1.35"
    assert support_of("gpu-operator", "", "v26.3.3").support_ends is None


def test_choosing_again_keeps_recorded_versions_and_an_upgrade_does_not(cluster):
    kept, renewed = (Pipeline(cluster, TODAY).choose(upgrade=upgrade) for upgrade in (False, True))
    assert kept.decision.pins.kubernetes == kept.plan.cluster.version == "1.34"
    assert renewed.decision.pins.kubernetes == renewed.plan.cluster.version == "1.35"
    assert dict(kept.decision.pins.charts)["kueue"] == "0.18.0"
    assert dict(renewed.decision.pins.charts)["kueue"].startswith("0.19.2@sha256:")


def test_versions_written_by_hand_are_not_used(cluster):
    content = json.loads(decision_path(cluster).read_text())
    content["pins"]["kubernetes"] = "1.30"
    decision_path(cluster).write_text(json.dumps(content))
    assert Pipeline(cluster, TODAY).choose().decision.pins.kubernetes == "1.35"
