"""Fixtures that run commands in this process."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rackwright.cli.main import app, run
from rackwright_pulumi.cli import register

from tests.sized_once import sized_once  # noqa: F401

ROOT = Path(__file__).parents[2]
STACKS = ROOT / "stacks"
register(app)


@dataclass(frozen=True)
class CommandResult:
    """Exit status and output of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON document. Raises ValueError for anything else."""
        return json.loads(self.out)

    @property
    def widest(self) -> str:
        return max((self.out + self.err).splitlines(), key=len, default="")


@pytest.fixture
def rackwright(capsys, monkeypatch):
    """`rackwright("plan", "x.yaml")`; no terminal, so 100 columns and no colour."""
    for name in ("FORCE_COLOR", "COLUMNS", "RACKWRIGHT_DEBUG", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)

    def called(*arguments: str | Path) -> CommandResult:
        capsys.readouterr()
        status = run([str(argument) for argument in arguments])
        return CommandResult(status, *capsys.readouterr())

    return called


@pytest.fixture
def stacks(tmp_path, monkeypatch) -> Path:
    """A temporary working directory with the example specs."""
    for path in STACKS.glob("*.yaml"):
        if not path.name.startswith("Pulumi."):
            shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
