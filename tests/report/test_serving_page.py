"""docs/serving.md has a row of figures for each option of a model server, and a description of each."""

import re
from pathlib import Path

from rackwright.report.reference.serving_page import COLUMNS, SHOWN, SPEC
from rackwright.sizing.evaluation.option_effects import OPTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "serving.md").read_text(encoding="utf-8")


def test_every_option_has_figures_and_a_description():
    assert {option.partition(":")[0] for option in SHOWN} == set(OPTIONS)
    rows = [line for line in PAGE.splitlines() if line.count("|") == len(COLUMNS) + 1]
    assert {found[1] for row in rows if (found := re.match(r"\| `(.*?)` \|", row))} == set(SHOWN)
    described = {found[1] for line in PAGE.splitlines() if (found := re.match(r"\| `(\w+)` \|", line))}
    assert described == set(OPTIONS)
    assert SPEC in PAGE
