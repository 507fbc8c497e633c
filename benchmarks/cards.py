"""Twelve everyday jobs on every accelerator that a cloud of the catalog sells: memory, rate and cost per unit.

    python benchmarks/cards.py       writes docs/cards.md

Each job is one spec, sized on the whole catalog at list prices on demand. A row is the cheapest machine with that accelerator.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from rackwright.catalog import Catalog
from rackwright.files import write_text
from rackwright.report.terminal.plan import facts
from rackwright.sizing.plan import Fit, SizingPlan
from rackwright.sizing.rejection import Reason
from rackwright.sizing.size import size
from rackwright.spec import read
from rackwright.units import GIB, HOUR, MONTH_H
from rackwright.wording.rejections import rejection_text
from tables import table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cards.md"
PLACES = (
    "{cloud: aws, account: '123456789012', capacity: {ordered: [on-demand]}}, "
    "{cloud: gcp, project: my-project, capacity: {ordered: [on-demand]}}"
)
CHAT = "input_tokens: {mean: 800, p95: 2000}, output_tokens: {mean: 200, p95: 500}, ttft: {target: 2 s}, tpot: {target: 100 ms}"
HEAD = ("accelerator", "machine", "memory of one, GiB", "rate per machine", "cost", "evidence")


@dataclass(frozen=True)
class Job:
    """An everyday job. workload: of the spec, without name; unit: what is counted; per: units of a price; amount: units of the run, or of a
    month at the request rate."""

    title: str
    workload: str
    unit: str
    per: float
    amount: float

    @property
    def price_of(self) -> str:
        return f"{self.per:,.0f} {self.unit}" if self.per > 1 else self.unit.replace("hours", "hour")


def tuning(model: str, adapter: str) -> str:
    return (
        f"kind: finetune, model: {{base: {model}}}, adapter: {{type: {adapter}}}, sequence_length: 2048, global_batch_size: 64, "
        "data: {tokens: 1e9}"
    )


def images(kind: str, model: str, batch: int, more: str = "") -> str:
    return f"kind: {kind}, model: {{base: {model}}}, global_batch_size: {batch}, data: {{samples: 1e7}}{more}"


def chat(model: str) -> str:
    return f"kind: serve, model: {{base: {model}}}, requests_per_second: 20, {CHAT}"


MONTH_S = MONTH_H * HOUR
JOBS = (
    Job("QLoRA, Mistral 7B", tuning("mistral-7b", "qlora"), "tokens", 1e6, 1e9),
    Job("LoRA, Llama 3.1 8B", tuning("llama-3.1-8b", "lora"), "tokens", 1e6, 1e9),
    Job("full fine-tuning, Llama 3.1 8B", tuning("llama-3.1-8b", "none"), "tokens", 1e6, 1e9),
    Job(
        "image generation, SDXL",
        "kind: batch, model: {base: sdxl}, image: {size: 1024, steps: 30, guidance: true}, data: {samples: 1e6}",
        "images", 1e3, 1e6,
    ),
    Job("DreamBooth LoRA, SDXL", images("finetune", "sdxl", 4, ", adapter: {type: lora}").replace("1e7", "1e5"), "images", 1e3, 1e5),
    Job("training, ViT-L", images("pretrain", "vit-l-16", 1024), "images", 1e6, 1e7),
    Job("training, ResNet-50", images("pretrain", "resnet-50", 1024), "images", 1e6, 1e7),
    Job("fine-tuning, BERT large", tuning("bert-large", "none").replace("2048", "512"), "tokens", 1e6, 1e9),
    Job(
        "transcription, Whisper large v3",
        "kind: batch, model: {base: whisper-large-v3}, audio: {seconds: 30}, data: {samples: 1.2e6}",
        "hours of audio", 1, 1e4,
    ),
    Job("chat, Llama 3.1 8B", chat("llama-3.1-8b"), "tokens out", 1e6, 4000 * MONTH_S),
    Job("chat, Llama 3.1 70B", chat("llama-3.1-70b"), "tokens out", 1e6, 4000 * MONTH_S),
    Job(
        "embeddings, BERT large",
        "kind: batch, model: {base: bert-large}, sequence_length: 256, data: {samples: 1e8}",
        "documents", 1e6, 1e8,
    ),
)  # fmt: skip


def sized(job: Job, catalog: Catalog, today: date, instance: str = "") -> SizingPlan:
    """The plan of a job. instance: considered alone, as Neuron machines have to be."""
    places = PLACES.replace("aws,", f"aws, pin: {{instance: {instance}}},").partition("}, {cloud: gcp")[0] + "}" if instance else PLACES
    text = f"api_version: rackwright/v1\nname: cards\nworkloads: [{{name: job, {job.workload}}}]\ninfra: {{any_of: [{places}]}}\n"
    return size(read(text), catalog, today=today)


def plans(job: Job, catalog: Catalog, today: date) -> list[SizingPlan]:
    """The plan of a job, and those of the machines that are considered only when pinned."""
    whole = sized(job, catalog, today)
    pinned = {r.candidate.machine for r in whole.rejected for x in r.rejections if x.reason is Reason.NEURON_NOT_PINNED}
    return [whole, *(sized(job, catalog, today, name) for name in sorted(pinned))]


def rows(job: Job, found: Sequence[SizingPlan], names: Iterable[str]) -> list[tuple[str, ...]]:
    """One row per accelerator: sized ones from the lowest price per unit on, then the others with the constraint that they fail."""
    best: dict[str, tuple[float, Fit]] = {}
    for fit in (fit for plan in found for fit in plan.fits):
        cost, name = fit.cost_usd.p50 if fit.cost_usd else float("inf"), fit.candidate.accelerator
        if name not in best or cost < best[name][0]:
            best[name] = cost, fit
    fits = sorted(best.items(), key=lambda item: (item[1][0], item[0]))
    missing = [name for name in names if name not in best]
    return [_fit_row(job, name, fit) for name, (_, fit) in fits] + [_missing_row(name, found) for name in missing]


def _fit_row(job: Job, name: str, fit: Fit) -> tuple[str, ...]:
    c, m = fit.candidate, fit.memory
    price, cost = job.per / job.amount, "not published"
    if fit.cost_usd:
        low, middle, high = (_usd(each * price) for each in (fit.cost_usd.p10, fit.cost_usd.p50, fit.cost_usd.p90))
        cost = f"{middle} ({low} to {high})" if low != high else middle
    rate = fit.speed.tokens_per_s or fit.speed.samples_per_s
    each = f"{rate / c.nodes:,.3g}" if rate else ""
    return (
        name.removeprefix("NVIDIA "),
        f"{c.nodes} x {c.machine}",
        f"{m.total_bytes / GIB:,.1f} of {m.capacity_bytes / GIB:,.0f}",
        each,
        cost,
        fit.evidence,
    )


def _missing_row(name: str, found: Sequence[SizingPlan]) -> tuple[str, ...]:
    """The nearest candidate with the accelerator; of a pinned plan, where there is one."""
    nearest = next((r for plan in reversed(found) for r in plan.rejected if r.candidate.accelerator == name), None)
    return (
        name.removeprefix("NVIDIA "),
        "none",
        "",
        "",
        rejection_text(nearest.rejections[0]) if nearest else "not sold on demand in a region of the catalog",
        "",
    )


def _usd(value: float) -> str:
    return f"{value:,.2f}" if value >= 1 else f"{value:.2g}"


def page(today: date) -> str:
    catalog = Catalog.default()
    sold = {machine.accelerator for machine in catalog.machines if machine.accelerator and machine.orderable}
    names = sorted(row.name for row in catalog.accelerators if row.name in sold)
    parts = [
        "# Everyday jobs on every accelerator",
        f"{today.isoformat()}. `make bench` writes this page: {len(JOBS)} jobs on {len(names)} accelerators. A row is the machine with\n"
        "the lowest cost of the whole job, start-up included, at list prices on demand; several machines where one does not hold the job.\n"
        "Numbers are medians; the range in brackets is p10 to p90. Chats are sized so that 95 % of requests meet the goals at p80 of the\n"
        "estimate: first token in 2 s, 100 ms per further token, 20 requests per second.",
    ]
    for job in JOBS:
        found = plans(job, catalog, today)
        head = (*HEAD[:3], f"{job.unit.replace('hours', 'windows of 30 s')}/s per machine", f"USD per {job.price_of}", HEAD[5])
        parts += [f"## {job.title}", f"{facts(found[0])}. `{job.workload}`", table(head, rows(job, found, names))]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    write_text(PAGE, page(date.today()))
