"""Shared by the sizing tests: models of the catalog, and plans of small specs."""

from datetime import UTC, datetime, timedelta
from functools import cache, lru_cache

from rackwright.catalog import Catalog
from rackwright.catalog.models import library
from rackwright.estimator.case import Links
from rackwright.estimator.config import accelerators
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.from_architecture import model_dimensions
from rackwright.sizing.plan import SizingPlan
from rackwright.sizing.rejection import Limit, Rejection
from rackwright.sizing.search.target import Target
from rackwright.sizing.size import size
from rackwright.spec import read
from rackwright.spec.spec import Spec

NOW = datetime(2026, 11, 21, tzinfo=UTC)
TODAY = NOW.date()
AWS = "{cloud: aws, account: '123456789012', regions: [us-east-1], capacity: {ordered: [on-demand]}}"
BOTH = AWS.replace("[on-demand]", "[on-demand, spot]")
GCP = "{cloud: gcp, project: my-project, regions: [us-central1], capacity: {ordered: [on-demand]}}"


def network(name: str) -> ModelDimensions:
    row = library.find(name)
    assert row is not None, name
    return model_dimensions(row.architecture)


def servers(nodes: int, accelerator: str = "NVIDIA H100 80GB SXM5", per_node: int = 8, node_bytes_per_s: float = 400e9) -> Target:
    """Machines without an offering in the catalog."""
    a = accelerators.find(accelerator)
    inside = a.scale_up_bytes_per_s or a.host_bytes_per_s
    wires = Links(inside, node_bytes_per_s / per_node, float(per_node), float(per_node), float(bool(a.scale_up_bytes_per_s)))
    return Target(a.name, "NVIDIA", accelerators.chip(a), wires, nodes, per_node, a.flops)


def finetune(base: str = "llama-3.1-8b", adapter: str = "lora", more: str = "") -> str:
    return (
        f"{{name: job, kind: finetune, model: {{base: {base}}}, adapter: {{type: {adapter}}}, sequence_length: 4096, "
        f"global_batch_size: 64, data: {{samples: 20000, tokens_per_sample: 1000, epochs: 1, size: 1 GB}}{', ' + more if more else ''}}}"
    )


def serve(base: str = "llama-3.1-8b", rate: float = 10, more: str = "") -> str:
    return (
        f"{{name: chat, kind: serve, model: {{base: {base}}}, requests_per_second: {rate}, input_tokens: {{mean: 800, p95: 2000}}, "
        f"output_tokens: {{mean: 200, p95: 500}}{', ' + more if more else ''}}}"
    )


@lru_cache(maxsize=32)
def plan(
    workload: str, *places: str, goals: str = "{}", more: str = "", ordered: bool = False, catalog: Catalog | None = None
) -> SizingPlan:
    """The plan of a small spec; an equal one is not sized again."""
    return size(spec_of(workload, *places, goals=goals, more=more, ordered=ordered, catalog=catalog), catalog, today=TODAY)


def spec_of(workload: str, *places: str, goals: str = "{}", more: str = "", ordered: bool = False, catalog: Catalog | None = None) -> Spec:
    key = "ordered" if ordered else "any_of"
    text = "\n".join(
        (
            "api_version: rackwright/v1",
            "name: test",
            f"workloads: [{workload}]",
            f"goals: {goals}",
            f"infra: {{{key}: [{', '.join(places or (AWS,))}]}}",
            more,
        )
    )
    return read(text, catalog=catalog)


def block(hours: float) -> str:
    """A place with a capacity block of 4 x p5.48xlarge that starts now."""
    ends = NOW + timedelta(hours=hours)
    times = f"start: {NOW:%Y-%m-%dT%H:%M:%SZ}, end: {ends:%Y-%m-%dT%H:%M:%SZ}"
    entry = f"{{capacity_block: {{id: cr-0123456789abcdef0, instance: p5.48xlarge, count: 4, zone: us-east-1a, {times}}}}}"
    return AWS.replace("on-demand", entry)


@cache
def lora() -> SizingPlan:
    return plan(finetune(), AWS)


def labels(p: SizingPlan) -> list[str]:
    return [f.candidate.label for f in p.fits]


def rejection(p: SizingPlan, label: str, limit: Limit) -> Rejection:
    found = next(r for r in p.rejected if r.candidate.label == label)
    return next(r for r in found.rejections if r.limit is limit)
