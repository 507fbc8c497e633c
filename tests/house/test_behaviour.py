"""The comparison of answers with another commit: what is recorded, and kinds of differences."""

from benchmarks import behaviour
from tests.graphs import PLANS
from tests.matrix import cover


def test_every_hand_written_plan_is_recorded(monkeypatch):
    monkeypatch.setattr(cover, "pairwise", list)
    assert [*behaviour._plans()] == [f"graph by hand {name}" for name in PLANS]


def test_changes_are_data_order_additions_or_wording(capsys):
    g6, p5 = ({"candidate": {"machine": machine}, "why": "fits"} for machine in ("g6.xlarge", "p5.48xlarge"))
    old = {"plan a.yaml": {"fits": [g6, p5], "bill": {"total_usd": 1.0}}}
    new = {"plan a.yaml": {"fits": [p5, g6 | {"why": "is cheapest"}], "bill": {"total_usd": 2.0}, "quota": []}}
    assert behaviour.compare(old, new) == 1
    shown = capsys.readouterr().out
    assert "data: plan a.yaml: .bill.total_usd: 1.0 -> 2.0\n" in shown
    assert shown.endswith("1 answers compared: data 1, order 1, added 1, wording 1\n")
    assert behaviour.compare(old, old) == 0
