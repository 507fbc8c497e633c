"""Runs in the environment of aisimulate or aiconfigurator: questions as JSON on standard input, answers on standard output.

{"rows": [...]} estimates pinned deployments; {"search": {...}} searches one, twice. Standard library and the peer.
A row that is in the peer's own sample of measured runs is asked with the layout and number formats the sample prints.
"""

import csv
import json
import logging
import sys
import tempfile
import time
import urllib.request
from importlib import import_module, resources
from pathlib import Path
from typing import Any

BATCHES = (8, 16, 32, 64, 128, 256, 512, 1024, 2048)
"""Requests in flight that are tried where a row only says that all waited at the start; the best counts."""
SAMPLED = {
    "system": "system_name", "backend": "backend_name", "isl": "isl", "osl": "osl", "batch_size": "batch_size",
    "tp_size": "tp_size", "pp_size": "pp_size", "attention_dp_size": "attention_dp_size", "moe_tp_size": "moe_tp_size",
    "moe_ep_size": "moe_ep_size", "gemm_quant_mode": "gemm_quant_mode", "moe_quant_mode": "moe_quant_mode",
}  # fmt: skip
SEARCHES = 2


class Estimates:
    """The peer's estimate of one deployment, its newest tables looked up once for each system and engine."""

    def __init__(self, room: Path) -> None:
        self.estimate = import_module("aiconfigurator.cli.api").cli_estimate
        self.newest = import_module("aiconfigurator.sdk.perf_database").get_latest_database_version
        self.listed = import_module("aiconfigurator.sdk.common").DefaultHFModels
        self.room, self.core = room, resources.files("aiconfigurator_core")
        table = self.core / "systems" / "silicon_sample.csv"
        self.sample = {row["id"]: row for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines())} if table.is_file() else {}
        self.versions: dict[tuple[str, str], str | None] = {}

    def __call__(self, settings: dict[str, Any]) -> Any:
        key = (settings["system_name"], settings["backend_name"])
        if key not in self.versions:
            self.versions[key] = self.newest(system=key[0], backend=key[1])
        if self.versions[key] is None:
            raise LookupError("no tables of this engine on this system")
        return self.estimate(backend_version=self.versions[key], **settings)

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """By the first of its number formats that it has tables of."""
        gap, start = "", time.perf_counter()
        for settings in self.formats(question):
            try:
                values = self.offline(settings) if "batch_size" not in settings else self.online(settings)
                return {"id": question["id"], "values": values, "seconds": time.perf_counter() - start}
            except Exception as fault:  # whatever it raises is its answer
                gap = gap or reason(fault)
        return {"id": question["id"], "gap": gap}

    def formats(self, question: dict[str, Any]) -> list[dict[str, Any]]:
        """As asked; the cache left to the peer; FP8 in blocks; the checkpoint's own formats, where those are the row's."""
        first = {**question["settings"], **self.printed(question.get("sample", ""))}
        first["model_path"] = self.shipped(first["model_path"])
        second = {k: v for k, v in first.items() if k != "kvcache_quant_mode"}
        third = {k: "fp8_block" if v == "fp8" else v for k, v in second.items()}
        own = {k: v for k, v in second.items() if not k.endswith("_quant_mode")}
        return [first, second, third, own] if question["own_formats"] else [first, second, third]

    def printed(self, sample: str) -> dict[str, Any]:
        known = self.sample.get(sample, {})
        return {name: int(v) if v.isdigit() else v for column, name in SAMPLED.items() if (v := known.get(column))}

    def shipped(self, name: str) -> str:
        """A configuration that it ships and does not list is given to it as a folder."""
        file = self.core / "model_configs" / f"{name.replace('/', '--')}_config.json"
        if name in self.listed or not file.is_file():
            return name
        folder = self.room / name.replace("/", "--")
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(file.read_text(encoding="utf-8"), encoding="utf-8")
        return str(folder)

    def online(self, settings: dict[str, Any]) -> dict[str, float]:
        said = self(settings)
        return {"tpot_ms": said.tpot, "ttft_ms": said.ttft}

    def offline(self, settings: dict[str, Any]) -> dict[str, float]:
        """The best of BATCHES, each with its own budget of prompt tokens and with an engine's usual 8,192."""
        best, fault = 0.0, None
        for batch in BATCHES:
            try:
                rates = [self({**settings, "batch_size": batch, "ctx_tokens": budget}) for budget in (settings["isl"], 8192)]
            except RuntimeError as raised:
                fault = raised
                break
            if rates[0].kv_cache_warning and best:
                break
            best = max(best, *(said.tokens_per_second_per_gpu for said in rates))
        if not best:
            raise fault or RuntimeError("no rate")
        return {"output_tok_s_per_accel": best}


REASONS = (
    ("HuggingFace", "model not among those it ships"),
    ("OOM", "its estimate does not fit in memory"),
    ("PerfDataNotAvailable", "no table of an operator in this number format"),
)


def reason(fault: Exception) -> str:
    said = " ".join(f"{type(fault).__name__} {fault}".split())
    return next((words for sign, words in REASONS if sign in said), f"it says: {said}"[:120])


def searches(question: dict[str, Any]) -> dict[str, Any]:
    """Seconds of each search in one process, the first one loading tables, and the best it found."""
    start = time.perf_counter()
    search = import_module("aiconfigurator.cli.api").cli_default
    imported, seconds, said = time.perf_counter() - start, [], None
    for _ in range(SEARCHES):
        start = time.perf_counter()
        said = search(**question)
        seconds.append(time.perf_counter() - start)
    return {"import_s": imported, "seconds": seconds, "found": {str(k): float(v) for k, v in said.best_throughputs.items()} if said else {}}


def refuse(*_: Any, **__: Any) -> Any:
    raise OSError("nothing is fetched")


def main() -> None:
    out, sys.stdout = sys.stdout, sys.stderr
    logging.disable(logging.CRITICAL)
    vars(urllib.request)["urlopen"] = refuse
    asked = json.load(sys.stdin)
    if "search" in asked:
        json.dump(searches(asked["search"]), out)
    else:
        with tempfile.TemporaryDirectory() as room:
            known = Estimates(Path(room))
            json.dump([known.answer(question) for question in asked["rows"]], out)


if __name__ == "__main__":
    main()
