"""docs/control-plane.md equals what the other tests of this folder found; RACKWRIGHT_RENEW=cluster writes it."""

import os
from pathlib import Path

import pytest

from tests.cluster.test_placed import FLEETS, TRAINING

PAGE = Path(__file__).parents[2] / "docs" / "control-plane.md"


def test_the_page_equals_the_answers(report):
    if not report.accepted or set(report.placed) < {*TRAINING, *FLEETS}:
        pytest.skip("only some tests of this folder ran")
    if os.environ.get("RACKWRIGHT_RENEW") == "cluster":
        PAGE.write_text(report.text(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == report.text(), "renew: RACKWRIGHT_RENEW=cluster make test-cluster"
