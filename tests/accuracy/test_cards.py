"""docs/cards.md: every accelerator on sale is in the table of each everyday job, sized or with the constraint that it fails."""

import re
from datetime import date
from pathlib import Path

import cards
import pytest
from rackwright.catalog import Catalog

PAGE = Path(__file__).parents[2] / "docs" / "cards.md"
SOLD = {m.accelerator for m in Catalog.default().machines if m.accelerator and m.orderable}
TODAY = date(2026, 11, 22)


def test_the_page_has_a_row_per_job_and_accelerator():
    tables = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    assert [table.splitlines()[0] for table in tables] == [job.title for job in cards.JOBS]
    for table in tables:
        found = re.findall(r"^\| (.+?) \| (\d+ x \S+|none) \|", table, re.MULTILINE)
        assert {name for name, _ in found} == {name.removeprefix("NVIDIA ") for name in SOLD}


@pytest.mark.parametrize("job", [cards.JOBS[0], cards.JOBS[3], cards.JOBS[10]], ids=lambda job: job.title)
def test_rows_are_sorted_by_cost_and_give_it_per_unit(job):
    plan = cards.sized(job, Catalog.default(), TODAY)
    rows = cards.rows(job, [plan], SOLD)
    fits = [row for row in rows if row[1] != "none"]
    usd = [float(row[4].split(" ")[0].replace(",", "")) for row in fits if row[4] != "not published"]
    assert len(usd) > 5
    assert usd == sorted(usd)
    cheapest = min(fit.cost_usd.p50 for fit in plan.fits if fit.cost_usd)
    assert usd[0] == pytest.approx(cheapest * job.per / job.amount, rel=0.05)
    assert all(row[4] for row in rows), "a missing row says why"


def test_neuron_machines_are_pinned():
    rows = cards.rows(cards.JOBS[1], cards.plans(cards.JOBS[1], Catalog.default(), TODAY), SOLD)
    assert {row[0]: row[1] for row in rows}["AWS Trainium1"] == "1 x trn1.32xlarge"
