"""Mutated specs, quota files, decisions, graphs, calibrations and configurations: every command answers or refuses, without a traceback.

A run lasts RACKWRIGHT_MUTATION_S seconds (default 10). The seed is printed when a test fails; RACKWRIGHT_SEED repeats a run.
"""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import yaml

from tests.properties.mutation import mutated

ROOT = Path(__file__).parents[2]
DURATION_S = float(os.environ.get("RACKWRIGHT_MUTATION_S", "10"))
SPECS = {
    path.parent.name if path.name == "spec.yaml" else path.stem: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in (
        *(ROOT / f"stacks/{name}.yaml" for name in ("llama-70b-sft", "mistral-7b-qlora", "chat-eks", "chat-serve", "gemma-pretrain")),
        *(ROOT / f"tests/cases/spec/{name}/spec.yaml" for name in ("fine-design", "fine-serving", "block-hours", "reservations-of-aws")),
    )
}
ARCHITECTURE = {"layers": 12, "hidden": 768, "heads": 12, "kv_heads": 4, "ffn": 3072, "vocab": 50257, "max_context": 8192}
ARCHITECTURE |= {"experts": 8, "experts_per_token": 2, "expert_ffn": 3072, "sliding_window": 1024, "global_every": 4}
QUOTAS = (
    {"regions": {"us-east-1": {"L-417A185B": {"value": 384, "used": 0}}}},
    {"Quotas": [{"QuotaArn": "arn:aws:servicequotas:us-east-1::ec2/L-1", "QuotaCode": "L-1", "Value": 4}]},
    [{"Quotas": []}, {"regions": {}}],
)
CALIBRATION = {"base": "x", "factors": {"training": {"factor": 1.1, "runs": 3}}}
CONFIGURATIONS = (
    {"kind": "training", "model": "llama-3.1-8b", "hardware": {"accelerator": "H100", "count": 8}, "engine": {"name": "torchtitan"}}
    | {"sequence": 8192},
    {"kind": "serving", "model": "llama-3.1-8b", "hardware": {"accelerator": "H100"}, "engine": {"name": "vLLM"}, "concurrency": 8}
    | {"input_tokens": 1000, "output_tokens": 200},
)
CONFIGS = tuple(json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests/catalog/configs").glob("*.json")))
GRAPH = json.loads((ROOT / "tests/golden/mistral-7b-qlora.json").read_text(encoding="utf-8"))


class Inputs:
    """Writes mutated files into a folder, and returns the arguments of a command that reads them."""

    def __init__(self, folder: Path, random: Random):
        self.folder, self.random = folder, random

    def _written(self, name: str, value: object) -> Path:
        path = self.folder / name
        is_spec = path.suffix == ".yaml"
        text = yaml.safe_dump(value, allow_unicode=True, sort_keys=False) if is_spec else json.dumps(value)
        path.write_text(text, encoding="utf-8", errors="replace")
        return path

    def _spec_with(self, name: str, **changes: object) -> Path:
        spec = json.loads(json.dumps(SPECS[name]))
        spec["workloads"][0].update(changes)
        return self._written("spec.yaml", spec)

    def spec(self) -> tuple:
        path = self._written("spec.yaml", mutated(self.random.choice(list(SPECS.values())), self.random))
        command = self.random.choice(("plan", "economics", "explain", "compile", "report", "graph"))
        return (command, path, "-o", self.folder / "report.md") if command == "report" else (command, path)

    def architecture(self) -> tuple:
        name = self.random.choice(("llama-70b-sft", "chat-eks"))
        return "plan", self._spec_with(name, model={"architecture": mutated(ARCHITECTURE, self.random)})

    def model_config(self) -> tuple:
        self._written("config.json", mutated(self.random.choice(CONFIGS), self.random))
        return "validate", self._spec_with("mistral-7b-qlora", model={"config": "config.json"})

    def quotas(self) -> tuple:
        self._written("quotas.json", mutated(self.random.choice(QUOTAS), self.random))
        spec = json.loads(json.dumps(SPECS["mistral-7b-qlora"]))
        spec["infra"]["any_of"][0]["quotas"] = "quotas.json"
        return "validate", self._written("spec.yaml", spec)

    def graph(self) -> tuple:
        return "diff", self._written("old.json", mutated(GRAPH, self.random)), self._written("new.json", mutated(GRAPH, self.random))

    def calibration(self) -> tuple:
        configuration = self._written("runs.jsonl", CONFIGURATIONS[0])
        return "estimate", configuration, "--calibration", self._written("calibration.json", mutated(CALIBRATION, self.random))

    def configuration(self) -> tuple:
        return "estimate", self._written("runs.jsonl", mutated(self.random.choice(CONFIGURATIONS), self.random))


KINDS = ("spec", "architecture", "model_config", "quotas", "graph", "calibration", "configuration")


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutated_input_gives_an_answer_or_a_refusal(kind, command: Callable, tmp_path):
    seed = int(os.environ.get("RACKWRIGHT_SEED") or time.time_ns() % 10**9)
    inputs, end, number = Inputs(tmp_path, Random(f"{kind}{seed}")), time.monotonic() + DURATION_S / len(KINDS), 0
    while time.monotonic() < end:
        number += 1
        arguments = getattr(inputs, kind)()
        print(f"RACKWRIGHT_SEED={seed}, {kind} {number}: rackwright {' '.join(map(str, arguments))}")
        outcome = command(*arguments)
        assert outcome.status in (0, 1, 2), outcome.output
        raw = {c for c in outcome.output if not c.isprintable() and c != "\n"}
        assert not raw, f"control characters {raw} in the output of {arguments[0]}"
