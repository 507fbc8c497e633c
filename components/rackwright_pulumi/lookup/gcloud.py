"""One Google Cloud project, read with the Google Cloud CLI and its credentials. Every method raises NotAnswered if a call fails."""

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

from rackwright_pulumi.lookup.account import NotAnswered

TIMEOUT_S = 60
NO_CLI = "the Google Cloud CLI is not installed: https://docs.cloud.google.com/sdk/docs/install"
Runner = Callable[[Sequence[str]], str]


class Project:
    """run: calls gcloud with arguments and returns its JSON text."""

    def __init__(self, name: str, region: str, run: Runner):
        self.name, self.region, self.run = name, region, run

    @staticmethod
    def of(name: str, region: str) -> "Project":
        """The project of the plan; without a name the default project of the CLI."""
        return Project(name, region, _run)

    def number(self) -> str:
        return str(self._json("projects", "describe", self.name or str(self._json("config", "get", "project")))["projectNumber"])

    def zones_offering(self, machine: str) -> list[str]:
        """Zones of the region that offer a machine type."""
        rows = self._json("compute", "machine-types", "list", f"--filter=name={_type(machine)} AND zone~^{self.region}-")
        return sorted({str(row["zone"]).rpartition("/")[2] for row in rows})

    def machine_type(self, name: str, zone: str) -> dict[str, Any]:
        return self._json("compute", "machine-types", "describe", _type(name), f"--zone={zone}")

    def cluster_versions(self) -> list[str]:
        """Versions of GKE control planes that the region offers, newest first."""
        return list(self._json("container", "get-server-config", f"--region={self.region}").get("validMasterVersions", []))

    def reservation(self, reservation_id: str, zone: str) -> dict[str, Any]:
        """A reservation, by its name or its path with project and block."""
        parts = reservation_id.split("/")
        project = [f"--project={parts[1]}"] if parts[0] == "projects" else []
        name = parts[3] if project else parts[0]
        return self._json("compute", "reservations", "describe", name, f"--zone={zone}", *project)

    def quotas(self) -> dict[str, dict[str, tuple[float, float]]]:
        """Region, or `global` -> metric -> (limit, usage)."""
        documents = {
            self.region: self._json("compute", "regions", "describe", self.region),
            "global": self._json("compute", "project-info", "describe"),
        }
        return {
            where: {row["metric"]: (float(row["limit"]), float(row.get("usage", 0))) for row in document.get("quotas", [])}
            for where, document in documents.items()
        }

    def _json(self, *command: str) -> Any:
        project = [f"--project={self.name}"] if self.name and command[0] not in ("projects", "config") else []
        own = [] if any(part.startswith("--project=") for part in command) else project
        text = self.run((*command, *own, "--format=json", "--quiet"))
        try:
            return json.loads(text)
        except ValueError:
            raise NotAnswered("gcloud returned no JSON") from None


def _type(machine: str) -> str:
    """Machine type of a machine of the catalog: `n1-standard-8` of `n1-standard-8+1xT4`."""
    return machine.partition("+")[0]


def _run(command: Sequence[str]) -> str:
    found = shutil.which("gcloud")
    if not found:
        raise NotAnswered(NO_CLI)
    try:
        done = subprocess.run([found, *command], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        raise NotAnswered(f"gcloud did not answer in {TIMEOUT_S} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        raise NotAnswered(lines[0] if lines else f"gcloud ended with {done.returncode}")
    return done.stdout
