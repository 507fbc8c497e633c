"""Commands run in this process, as the shell would run them: the exit status and both streams."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rackwright.cli.main import app, run
from rackwright_pulumi.cli import register

ROOT = Path(__file__).parents[2]
STACKS = ROOT / "stacks"
register(app)


@dataclass(frozen=True)
class Said:
    """What a command left behind."""

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

    def called(*arguments: str | Path) -> Said:
        capsys.readouterr()
        status = run([str(argument) for argument in arguments])
        return Said(status, *capsys.readouterr())

    return called


@pytest.fixture
def stacks(tmp_path, monkeypatch) -> Path:
    """The example specs in a folder of their own, which is also the current one."""
    for path in STACKS.glob("*.yaml"):
        if not path.name.startswith("Pulumi."):
            shutil.copy(path, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path
