"""docs/serving.md has a row of figures for each option of a model server, and a description of each."""

import re
from datetime import date
from pathlib import Path

from rackwright.report.reference.serving_page import COLUMNS, SHOWN, SPEC, table
from rackwright.sizing.evaluation.option_effects import OPTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")


def test_every_option_has_figures_and_a_description():
    assert {option.partition(":")[0] for option in SHOWN} == set(OPTIONS)
    rows = [line for line in PAGE.splitlines() if line.count("|") == len(COLUMNS) + 1]
    assert {found[1] for row in rows if (found := re.match(r"\| `(.*?)` \|", row))} == set(SHOWN)
    table_of_options = PAGE.partition("## What each option does")[2].partition("\n## ")[0]
    described = {found[1] for line in table_of_options.splitlines() if (found := re.match(r"\| `(\w+)` \|", line))}
    assert described == set(OPTIONS)
    assert SPEC in PAGE


def cells(text: str) -> dict[str, tuple[str, str]]:
    """Option -> requests/s and replicas of its row."""
    rows = (line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ") and line.count("|") == len(COLUMNS) + 1)
    rate, replicas = COLUMNS.index("Requests/s"), COLUMNS.index("Replicas")
    return {row[0]: (row[rate], row[replicas].strip(" |")) for row in rows}


def test_the_figures_are_those_of_the_program():
    """The page kept the rates and replicas of an earlier fit of the latency model."""
    assert cells(PAGE) == cells(table(date(2026, 11, 22)))
