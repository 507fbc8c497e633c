"""Age and support of recorded versions, and `rackwright choose --upgrade`."""

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from rackwright.catalog.pinned_versions import support_of
from rackwright.workflow.decision import decision_path
from rackwright.workflow.pipeline import Pipeline

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


def test_a_version_without_a_published_end_causes_no_warning():
    assert support_of("kueue", "", "0.19.2") is None
    assert support_of("kubernetes", "aws", "1.3") is None, "1.3 is not 1.35"
    assert support_of("gpu-operator", "", "v26.3.3").support_ends is None


def test_choosing_again_keeps_recorded_versions_and_an_upgrade_does_not(cluster):
    kept, renewed = (Pipeline(cluster, TODAY).choose(upgrade=upgrade) for upgrade in (False, True))
    assert kept.decision.pins.kubernetes == kept.plan.cluster.version == "1.34"
    assert renewed.decision.pins.kubernetes == renewed.plan.cluster.version == "1.35"
    assert (dict(kept.decision.pins.charts)["kueue"], dict(renewed.decision.pins.charts)["kueue"]) == ("0.18.0", "0.19.2")


def test_versions_written_by_hand_are_not_used(cluster):
    content = json.loads(decision_path(cluster).read_text())
    content["pins"]["kubernetes"] = "1.30"
    decision_path(cluster).write_text(json.dumps(content))
    assert Pipeline(cluster, TODAY).choose().decision.pins.kubernetes == "1.35"
