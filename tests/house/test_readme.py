"""Excerpts in the README match the commands. `RACKWRIGHT_RENEW=readme pytest tests/house/test_readme.py` writes its excerpts anew."""

import os
import re
import shlex
from pathlib import Path

import pytest
from rackwright import load
from rackwright.cli.main import run

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
EXCERPT = re.compile(r"(?<=<!-- excerpt: )(.+?) -->\n(.*?)<!-- /excerpt -->", re.DOTALL)


@pytest.fixture
def printed(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    for name in ("FORCE_COLOR", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def run_and_read(match: re.Match) -> str:
        capsys.readouterr()
        assert run(shlex.split(match[1])[1:]) == 0
        lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
        return f"{match[1]} -->\n```text\n$ {match[1]}\n" + "\n".join(lines) + "\n```\n<!-- /excerpt -->"

    return run_and_read


def test_excerpts_match_the_output_of_their_commands(printed):
    text = README.read_text(encoding="utf-8")
    assert EXCERPT.search(text)
    now = EXCERPT.sub(printed, text)
    if os.environ.get("RACKWRIGHT_RENEW") == "readme":
        README.write_text(now, encoding="utf-8")
    assert README.read_text(encoding="utf-8") == now, "RACKWRIGHT_RENEW=readme pytest tests/house/test_readme.py"


@pytest.mark.parametrize("page", ["README.md", "docs/spec.md"])
def test_shown_specs_can_be_loaded(page, tmp_path):
    shown = re.findall(r"```yaml\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)[0]
    (tmp_path / "shown.yaml").write_text(shown, encoding="utf-8")
    assert load(tmp_path / "shown.yaml").workloads
