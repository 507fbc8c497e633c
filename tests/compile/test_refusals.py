"""Every id of a problem outside the rules is in the table of codes, and nothing else is."""

import re
from pathlib import Path

from rackwright.diagnostics.codes import ACKNOWLEDGEABLE, CODES

ROOT = Path(__file__).parents[2]
SAID = re.compile(r'"([BCDFGU]-[a-z-]+|V-111|V-115)"')


def test_codes_are_those_of_the_sources():
    folders = (ROOT / "blueprints", ROOT / "components")
    files = [path for folder in folders for path in folder.rglob("*.py") if path.name != "codes.py"]
    assert {code for path in files for code in SAID.findall(path.read_text(encoding="utf-8"))} == set(CODES)
    assert list(CODES) == sorted(CODES)
    assert set(ACKNOWLEDGEABLE) <= set(CODES)
