"""Every id a refusal of the compiler can have is listed, and nothing else is."""

import re
from pathlib import Path

from rackwright.compile.unsupported_ids import REFUSALS

ROOT = Path(__file__).parents[2]
SAID = re.compile(r'"(C-[a-z-]+)"')


def test_refusals_are_those_of_the_sources():
    folders = (ROOT / "blueprints" / "rackwright" / "compile", ROOT / "components" / "rackwright_pulumi")
    said = {
        code for folder in folders for path in folder.rglob("*.py") if path.name != "refusals.py" for code in SAID.findall(path.read_text())
    }
    assert said == set(REFUSALS)
    assert list(REFUSALS) == sorted(REFUSALS)
