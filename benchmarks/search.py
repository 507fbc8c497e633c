"""Time and memory of the search, in process and with the catalog loaded, beside their targets.

    python benchmarks/search.py [--specs N] [--write]      --write renews docs/search.md

Searches the whole catalog: both clouds, every machine, every capacity mode. The 1,000 specs differ in model, lengths, batch and goals and
share one enumeration of machines; no result is cached between two specs. They are timed in CPU time, because the search is one thread and
other processes then change the result little.
"""

import argparse
import itertools
import platform
import resource
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from clock import best
from rackwright.catalog import Catalog
from rackwright.files import write_text
from rackwright.sizing.size import size
from rackwright.spec import read
from rackwright.spec.spec import Spec
from tables import table

ROOT = Path(__file__).resolve().parents[1]
DIMENSIONS = {
    "tensor": "powers of two that divide the query heads and keep key and value heads whole, inside one node and one scale-up domain",
    "pipeline": "divisors of the count up to 64 that leave no stage empty, uneven stages included; none for TPU and adapters",
    "virtual": "1, 2, 4, 8 stages per device where they divide the layers and the stages divide the micro-batches",
    "context": "powers of two that leave 8,192 tokens or more on each accelerator",
    "expert": "powers of two that divide the experts",
    "zero": "1, 2, 3 (to 512 ways) over all replicas, 3 in each node (HSDP); 1 beside a pipeline, 3 on TPU, 0 with one replica",
    "micro_batch": "powers of two up to 64 that divide the sequences of a replica",
    "recompute": "none, full; selective where pinned (equal to none under FlashAttention)",
    "precision": "as set in the spec; auto is bf16 for training, and for serving the published format of the weights",
}
RUNS = 5
PEAK_MB = 500
TODAY = date(2026, 11, 21)
AWS = "{cloud: aws, account: '123456789012', capacity: {ordered: [on-demand, spot]}}"
GCP = "{cloud: gcp, project: my-project, capacity: {ordered: [on-demand, spot, flex-start]}}"
TRAIN = "{{name: job, kind: pretrain, model: {{base: {0}}}, sequence_length: {1}, global_batch_size: {2}, data: {{tokens: 1e10}}}}"
TUNE = (
    "{{name: job, kind: finetune, model: {{base: {0}}}, adapter: {{type: {3}}}, sequence_length: {1}, global_batch_size: {2}, "
    "data: {{samples: 20000, tokens_per_sample: 1000}}}}"
)
SERVE = (
    "{{name: chat, kind: serve, model: {{base: {0}}}, requests_per_second: {3}, input_tokens: {{mean: {1}, p95: {2}}}, "
    "output_tokens: {{mean: 200, p95: 500}}, ttft: {{target: 2 s}}, tpot: {{target: 50 ms}}}}"
)


@dataclass(frozen=True)
class Row:
    name: str
    seconds: float
    target_s: float
    note: str = ""


def spec(workload: str, goals: str = "{}") -> Spec:
    text = f"api_version: rackwright/v1\nname: test\nworkloads: [{workload}]\ngoals: {goals}\ninfra: {{any_of: [{AWS}, {GCP}]}}\n"
    return read(text)


def specs() -> Iterator[Spec]:
    """Endless specs: training, tuning and serving in turn."""
    goals = itertools.cycle(("{}", "{max_duration: 72h}", "{max_cost: 20000 USD}", "{optimize_for: time}"))
    lengths, batches = (2048, 4096, 8192), (64, 256, 1024)
    models = ("llama-3.1-8b", "llama-3.1-70b", "qwen2.5-32b", "gemma-2-9b", "mixtral-8x7b", "mistral-7b", "deepseek-v3")
    methods = ("none", "lora", "qlora")
    for round_ in itertools.count():
        for model, length, batch in itertools.product(models, lengths, batches):
            yield spec(TRAIN.format(model, length, batch), next(goals))
            yield spec(TUNE.format(model, length, batch, methods[round_ % 3]), next(goals))
            yield spec(SERVE.format(model, length, 2 * length, 1 + batch / 64))


def rows(count: int) -> Iterator[Row]:
    catalog = Catalog.default()
    cases = {
        "one training spec (70B pretraining), whole catalog": (TRAIN.format("llama-3.1-70b", 8192, 1024), 0.7),
        "one training spec with experts (DeepSeek-V3), whole catalog": (TRAIN.format("deepseek-v3", 4096, 2048), 0.7),
        "one tuning spec (8B LoRA), whole catalog": (TUNE.format("llama-3.1-8b", 4096, 64, "lora"), 0.7),
        "one serving spec (70B chat), whole catalog": (SERVE.format("llama-3.1-70b", 800, 2000, 10), 0.5),
    }
    for name, (workload, target_s) in cases.items():
        one = spec(workload)
        plan = size(one, catalog, today=TODAY)
        seconds = best(lambda one=one: size(one, catalog, today=TODAY), RUNS)
        yield Row(name, seconds, target_s, f"{plan.considered:,} points, {len(plan.fits) + len(plan.rejected):,} candidates")
    many = list(itertools.islice(specs(), count))
    times = []
    for one in many:
        start = time.process_time()
        size(one, catalog, today=TODAY)
        times.append(time.process_time() - start)
    yield Row(f"{count:,} specs, one enumeration", sum(times), 0.06 * count, f"median {statistics.median(times) * 1e3:.0f} ms each")


HEAD = """# The search

`rackwright plan` evaluates every machine of the catalog in the places and capacity modes of the spec, with every number of machines and
every parallel layout that the model and the accelerator allow. Cheap constraints are evaluated first, for all machines at once as arrays:

1. **Machines and counts**: powers of two up to 4,096 accelerators, and the exact number of a limit, quota, block, slice or pin. Computed
   once per catalog, places and limits; specs that differ in model, lengths, batch or goals share the result.
2. **Geometry**: the parallel layouts below, as one table for all counts.
3. **Memory** of every layout, pessimistic (p90 of measured residuals). Layouts that do not fit are dropped.
4. **Lower bound of time** of the others: kernels, tensor-parallel traffic and pipeline bubble.
5. **Full step time** of every layout that its bound does not rule out. No feasible layout is lost: a test compares the result with an
   exhaustive search.
"""


def page(measured: list[Row], peak_mb: float) -> str:
    """docs/search.md."""
    ways = "\n".join(f"| {name} | {words} |" for name, words in DIMENSIONS.items())
    head = f"{HEAD}\n## Dimensions\n\nA pin of the spec replaces a row.\n\n| | |\n|---|---|\n{ways}\n"
    method = (
        f"Measured on {date.today():%Y-%m-%d} with Python {platform.python_version()}, one core, catalog loaded: best of {RUNS} "
        "wall-clock runs; CPU time for the 1,000 specs."
    )
    return f"{head}\n## Speed\n\n{method}\n`make bench` renews the table.\n\n{shown(measured, peak_mb)}\n"


def shown(measured: list[Row], peak_mb: float) -> str:
    body = [(row.name, f"{row.seconds:.3f}", f"{row.target_s:.1f}", row.note) for row in measured]
    return table(("what", "seconds", "target", ""), [*body, ("peak memory", f"{peak_mb:.0f} MB", f"{PEAK_MB} MB", "")])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--specs", type=int, default=1000)
    parser.add_argument("--write", action="store_true", help="renew docs/search.md")
    options = parser.parse_args()
    measured = list(rows(options.specs))
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(shown(measured, peak_mb))
    if options.write:
        write_text(ROOT / "docs" / "search.md", page(measured, peak_mb))
    return int(any(row.seconds > row.target_s for row in measured) or peak_mb > PEAK_MB)


if __name__ == "__main__":
    raise SystemExit(main())
