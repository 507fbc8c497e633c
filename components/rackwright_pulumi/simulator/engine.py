"""Run the Pulumi engine against a simulated cloud: a project with the simulated plugins, and the CLI commands on it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from rackwright_pulumi.simulator.cloud import SimulatedCloud

LIMIT_S = 300.0
"""Timeout of one CLI command."""


class EngineFailure(Exception):
    """A command of the CLI failed; the message is its output."""


def installed() -> bool:
    """Whether the ``pulumi`` CLI is on PATH."""
    return shutil.which("pulumi") is not None


@dataclass
class Engine:
    """One stack of one program on a simulated cloud, with its backend, plugins and stack file below ``work``.

    program: the folder with ``__main__.py``; nothing is written into it.
    python: the interpreter of a virtual environment that has pulumi and the SDKs.
    config: ``key`` or ``namespace:key`` to text, as for ``pulumi config set``.
    """

    program: Path
    cloud: SimulatedCloud
    work: Path
    stack: str = "dev"
    project: str = "simulated"
    python: Path = field(default_factory=lambda: Path(sys.executable))
    config: Mapping[str, str] = field(default_factory=dict)

    def prepare(self) -> None:
        """Write the project and its plugins, and create the stack. Raises EngineFailure if the CLI is missing."""
        if not installed():
            raise EngineFailure("the pulumi CLI is not on PATH")
        self.work = Path(self.work).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        folders = self.cloud.plugins(self.work / "plugins")
        providers = [{"name": name, "path": str(folder)} for name, folder in folders.items()]
        options = {"toolchain": "pip", "virtualenv": str(self.python.absolute().parent.parent)}
        project = {
            "name": self.project,
            "main": str(Path(self.program).resolve()),
            "runtime": {"name": "python", "options": options},
            "plugins": {"providers": providers},
        }
        (self.work / "Pulumi.yaml").write_text(yaml.safe_dump(project), encoding="utf-8")
        self.run("stack", "init", self.stack)
        if self.config:
            values = (part for key, value in self.config.items() for part in ("--plaintext", f"{key}={value}"))
            self.run("config", "set-all", "--stack", self.stack, *values)

    def run(self, *command: str) -> str:
        """Run one command of the CLI and return its output. Raises EngineFailure."""
        done = subprocess.run(
            ["pulumi", *command, "--non-interactive", "--color", "never"],
            cwd=self.work,
            env=self.cloud.environment(self.work),
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
        if done.returncode:
            raise EngineFailure(f"pulumi {' '.join(command)}\n{done.stdout}{done.stderr}")
        return done.stdout

    def up(self, expect_no_changes: bool = False) -> dict[str, int]:
        """Create or update the stack. Returns counts by operation, such as ``{"create": 12}``."""
        self.run("up", "--stack", self.stack, "--yes", "--skip-preview", *(["--expect-no-changes"] if expect_no_changes else []))
        return self.last_changes()

    def preview(self) -> dict[str, Any]:
        """Preview an update: the CLI's JSON with ``steps`` and ``changeSummary``."""
        return json.loads(self.run("preview", "--stack", self.stack, "--json"))

    def refresh(self) -> dict[str, int]:
        """Read the state of every resource from the cloud."""
        self.run("refresh", "--stack", self.stack, "--yes", "--skip-preview")
        return self.last_changes()

    def destroy(self) -> dict[str, int]:
        """Delete all resources of the stack."""
        self.run("destroy", "--stack", self.stack, "--yes", "--skip-preview")
        return self.last_changes()

    def outputs(self) -> dict[str, Any]:
        """The stack's outputs, secrets masked."""
        return json.loads(self.run("stack", "output", "--stack", self.stack, "--json"))

    def last_changes(self) -> dict[str, int]:
        """Counts by operation of the last update."""
        history = json.loads(self.run("stack", "history", "--stack", self.stack, "--json", "--page-size", "1"))
        return history[0].get("resourceChanges") or {}
