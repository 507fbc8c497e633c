"""One input of each kind: files with mutated content, and the arguments of a command that reads them."""

import hashlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import yaml
from rackwright.workflow.decision import decision_path

from tests.properties import samples
from tests.properties.mutation import DATES, damaged, mutated

SLOW_COMMANDS = ("report", "graph", "policy", "manifests")
SPEC_COMMANDS = (
    *("validate", "plan", "economics", "explain", "compile", "choose") * 4,
    *("buy", "images", "job", "next", "preflight", "compare"),
    *SLOW_COMMANDS,
)
INVENTORY_COMMANDS = (*("validate", "plan", "compile", "job", "preflight", "buy", "images", "next") * 4, "manifests", "graph")
DECISION_COMMANDS = (*("plan", "compile", "choose", "upgrade", "teardown", "update", "job", "preflight") * 4, *SLOW_COMMANDS)
SHARE_OF_DAMAGED_TEXTS = 0.15
"""Share of files with a damaged text, such as a missing bracket; the others have other values."""
LAYOUTS = ("plain", "kustomize", "argocd", "flux")
SHARE_OF_DATES = 0.1
"""Share of commands with another day than `samples.TODAY`."""


@dataclass(frozen=True)
class Inputs:
    """Writes one input into a folder. is_mutated: whether its files are mutated; those of a valid input are not."""

    folder: Path
    random: Random
    is_mutated: bool = True

    def of_kind(self, kind: str) -> tuple:
        """The arguments of a command. kind: one of KINDS."""
        return getattr(self, kind)()

    def spec(self) -> tuple:
        name = self.random.choice(list(samples.SPECS))
        command = self.random.choice(SPEC_COMMANDS) if self.is_mutated else "plan"  # others are for some specs only
        return self._command(command, self._mutated_file("spec.yaml", self._spec_of(name)))

    def inventory(self) -> tuple:
        name = self.random.choice(list(samples.INVENTORIES))
        self._mutated_file("inventory.yaml", samples.inventory(name))
        spec = samples.SPECS[name]
        spec = self._mutated(spec) if self.random.random() < 0.2 else spec
        return self._command(self.random.choice(INVENTORY_COMMANDS), self._file("spec.yaml", spec))

    def outputs(self) -> tuple:
        path = self._mutated_file("outputs.json", samples.OUTPUTS)
        if self.random.random() < 0.8:
            name = self.random.choice(("llama-70b-gke", "llama-70b-sft"))
            return *self._command("job", self._file("spec.yaml", self._spec_of(name))), "--outputs", path
        spec = self._spec_of(self.random.choice(("chat-eks", "assistant-eks", "llama-70b-sft", "shared")))
        return *self._command("manifests", self._file("spec.yaml", spec)), "--outputs", path

    def architecture(self) -> tuple:
        spec = self._with_model(self.random.choice(("llama-70b-sft", "chat-eks")), {"architecture": self._mutated(samples.ARCHITECTURE)})
        return self._command("plan", self._file("spec.yaml", spec))

    def model_config(self) -> tuple:
        self._mutated_file("config.json", self.random.choice(samples.CONFIGS))
        return "validate", self._file("spec.yaml", self._with_model("mistral-7b-qlora", {"config": "config.json"}))

    def decision(self) -> tuple:
        name = self.random.choice(samples.DECIDED)
        spec, decision = self._spec_of(name), samples.decision(name)
        if self.random.random() < 0.2:
            spec, decision = samples.first_format(self.random.choice(("mistral-7b-qlora", "chat-serve")))
        path = self._file("spec.yaml", self._mutated(spec) if self.random.random() < 0.2 else spec)
        self._mutated_file(decision_path(path).name, decision, self._with_digests if self.random.random() < 0.5 else None)
        return self._command(self.random.choice(DECISION_COMMANDS), path)

    def quotas(self) -> tuple:
        self._mutated_file("quotas.json", self.random.choice(samples.QUOTAS))
        spec = json.loads(json.dumps(samples.SPECS["mistral-7b-qlora"]))
        spec["infra"]["any_of"][0]["quotas"] = "quotas.json"
        return self._command(self.random.choice(("validate", "plan")), self._file("spec.yaml", spec))

    def graph(self) -> tuple:
        old, new = self._mutated_file("old.json", samples.GRAPH), self._mutated_file("new.json", samples.GRAPH)
        return "diff", old, new, *self._json_option()

    def state(self) -> tuple:
        state = self._mutated_file("state.json", samples.export())
        if self.random.random() < 0.8:
            return "diff", state, self._file("new.json", samples.GRAPH), *self._json_option()
        cloud = self.folder / "cloud.sqlite"
        if not cloud.exists():
            samples.simulated_cloud(cloud)
        return "doctor", samples.SPEC_FILES["mistral-7b-qlora"], state, "--simulated", cloud, "--today", samples.TODAY

    def calibration(self) -> tuple:
        if self.random.random() < 0.5:
            configuration = self._file("runs.jsonl", samples.CONFIGURATIONS)
            return "estimate", configuration, "--calibration", self._mutated_file("calibration.json", samples.calibration())
        path = self._file("spec.yaml", samples.SPECS["mistral-7b-qlora"])
        self._mutated_file("spec.calibration.json", samples.calibration())
        return self._command("plan", path)

    def configuration(self) -> tuple:
        return "estimate", self._mutated_file("runs.jsonl", list(samples.CONFIGURATIONS)), *self._json_option()

    def runs(self) -> tuple:
        return "calibrate", self._mutated_file("runs.csv", samples.runs()), "-o", self.folder / "calibration.json", *self._json_option()

    def prices(self) -> tuple:
        path = self._file("spec.yaml", samples.SPECS["mistral-7b-qlora"])
        return "prices", path, self._mutated_file("prices.csv", samples.table("prices_aws.csv")[:12])

    def catalog(self) -> tuple:
        name = self.random.choice(samples.TABLES)
        folder = self.folder / "catalog"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(samples.CATALOG, folder)
        self._mutated_file(f"catalog/{name}", samples.table(name))
        return "catalog-folder", self._file("spec.yaml", samples.SPECS["mistral-7b-qlora"]), folder

    def _command(self, command: str, path: Path) -> tuple:
        if command in ("validate", "teardown", "update"):
            return command, path
        is_other_day = self.is_mutated and self.random.random() < SHARE_OF_DATES
        day = ("--today", self.random.choice(DATES) if is_other_day else samples.TODAY)
        if command == "upgrade":
            return "choose", path, "--upgrade", *day
        return command, path, *self._options(command), *day, *self._json_option()

    def _options(self, command: str) -> tuple:
        """Further arguments of a command that needs some."""
        if command == "report":
            return "-o", self.folder / "report.md"
        if command == "manifests":
            return "-o", self.folder / "manifests", "--layout", self.random.choice(LAYOUTS)
        if command == "compare":
            return "1", self.random.choice(("2", "1", "L4", "g6e.xlarge"))
        if command == "images" and self.random.random() < 0.5:
            return "--mirror", "mirror.example/ai", *(("--format", "skopeo") if self.random.random() < 0.5 else ())
        return ()

    def _spec_of(self, name: str) -> dict[str, Any]:
        """A spec of samples. The inventory that it names is written into the folder."""
        if name in samples.INVENTORIES:
            self._file("inventory.yaml", samples.inventory(name))
        return samples.SPECS[name]

    def _json_option(self) -> tuple:
        return ("--json",) if self.random.random() < 0.3 else ()

    def _with_model(self, name: str, model: Any) -> dict[str, Any]:
        spec = json.loads(json.dumps(samples.SPECS[name]))
        spec["workloads"][0]["model"] = model
        return spec

    def _with_digests(self, content: Any) -> Any:
        """A decision with the digests of its values, so that its reader takes it for one that was not edited."""
        if not isinstance(content, dict) or "plan" not in content:
            return content
        content = {key: value for key, value in content.items() if key != "digest"} | {"plan_digest": _digest(content["plan"])}
        return content | {"digest": _digest(content)}

    def _mutated(self, value: Any) -> Any:
        return mutated(value, self.random) if self.is_mutated else value

    def _mutated_file(self, name: str, value: Any, finish: Any = None) -> Path:
        """Writes a value, mutated or with a damaged text. finish: applied to the mutated value."""
        if self.is_mutated and self.random.random() < SHARE_OF_DAMAGED_TEXTS:
            path = self._file(name, value)
            path.write_bytes(damaged(path.read_text(encoding="utf-8"), self.random))
            return path
        value = self._mutated(value)
        return self._file(name, finish(value) if finish else value)

    def _file(self, name: str, value: Any) -> Path:
        """Writes a value as YAML, CSV, JSON or JSON lines, by the suffix of the name."""
        path = self.folder / name
        if path.suffix == ".yaml":
            text = yaml.safe_dump(value, allow_unicode=True, sort_keys=False)
        elif path.suffix == ".csv":
            text = samples.csv_text(value)
        else:
            is_lines = path.suffix == ".jsonl" and isinstance(value, (list, tuple))
            text = "\n".join(map(json.dumps, value)) if is_lines else json.dumps(value)
        path.write_text(text, encoding="utf-8", errors="replace")
        return path


KINDS = (
    *("spec", "architecture", "model_config", "inventory", "decision", "quotas", "outputs", "graph", "state"),
    *("calibration", "configuration", "runs", "prices", "catalog"),
)
SLOW_KINDS = ("graph", "state", "catalog")


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
