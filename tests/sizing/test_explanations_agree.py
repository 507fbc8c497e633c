"""`why`, frontier, rejections, economics and `estimate` have the numbers of the plan, on every example and on cases that once differed."""

from functools import cache
from pathlib import Path

import pytest
from rackwright import load, size
from rackwright.catalog import Catalog
from rackwright.estimator.config.configuration import EngineConfig, HardwareConfig, ServingConfig, ServingLayout
from rackwright.estimator.estimate import estimate
from rackwright.report.alternatives import frontier_rows, rejection_rows
from rackwright.report.terminal.economics import economics_lines
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.economics.serving import Economics, economics_of, serving_job
from rackwright.sizing.note import NoteKind
from rackwright.sizing.offers.own_servers import with_own_servers
from rackwright.sizing.plan import SizingPlan
from rackwright.sizing.rejection import Limit
from rackwright.sizing.selection.rejection_summary import rejection_summary
from rackwright.spec import read
from rackwright.spec.spec import Spec
from rackwright.spec.workload import Serve
from rackwright.wording.formatting import machines, money
from rackwright.wording.plan_text import with_text
from rackwright.wording.rationale import time_and_cost

from tests.sizing.helpers import AWS, BOTH, GCP, TODAY, plan, serve

LATENCY = "ttft: {target: 2 s, percentile: 95}, tpot: {target: 50 ms, percentile: 95}"
IMAGES = "{name: images, kind: serve, model: {base: sdxl}, requests_per_second: 0.5, input_tokens: {mean: 77}, output_tokens: {mean: 1}}"
CASES = {
    "70b": (serve("llama-3.1-70b", 20, LATENCY), AWS),
    "70b over two stages": (serve("llama-3.1-70b", 20, "parallelism: {tensor: 2, pipeline: 2}"), AWS),
    "four-bit weights": (serve("gpt-oss-120b", 5, "tpot: {target: 60 ms}"), AWS),
    "spot": (serve("llama-3.1-8b", 60, LATENCY), BOTH),
    "median": (serve("llama-3.1-8b", 60, LATENCY.replace("95", "50")), AWS),
    "one token": (serve("llama-3.1-8b", 20, LATENCY).replace("mean: 200, p95: 500", "mean: 1"), AWS),
    "images": (IMAGES, GCP),
    "cpu": (serve("qwen2.5-1.5b", 0.1), AWS.replace("}}", "}, pin: {instance: m7i.4xlarge}}")),
}
ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "blueprints" / "rackwright" / "cli" / "scaffold" / "template"
EXAMPLES = sorted(str(path.relative_to(ROOT)) for folder in (ROOT, TEMPLATE) for path in folder.glob("stacks/[a-z]*.yaml"))
SERVICES = [name for name in EXAMPLES if isinstance(load(ROOT / name).workload, Serve)] + list(CASES)


@cache
def sized(name: str) -> tuple[Spec, SizingPlan]:
    if name in CASES:
        workload, place = CASES[name]
        spec = read(f"api_version: rackwright/v1\nname: t\nworkloads: [{workload}]\ninfra: {{any_of: [{place}]}}")
    else:
        spec = load(ROOT / name)
    return spec, with_text(size(spec, today=TODAY))


@cache
def economics(name: str) -> Economics:
    spec, plan = sized(name)
    made = economics_of(spec, plan, with_own_servers(Catalog.default(), spec))
    assert made
    return made


@pytest.mark.parametrize("name", SERVICES)
def test_economics_has_machines_replicas_and_price_of_the_plan(name):
    _, plan = sized(name)
    e, chosen = economics(name), plan.chosen
    assert e.machine == chosen.candidate.label
    assert e.p95_requests_per_s == chosen.speed.requests_per_s
    assert e.p95_point.replicas == chosen.candidate.replicas
    assert e.p95_point.usd_per_hour == pytest.approx(chosen.usd_per_hour)
    assert e.month.fixed_usd == pytest.approx(chosen.cost_usd.p50)


@pytest.mark.parametrize("name", SERVICES)
def test_the_chosen_accelerator_has_one_price_in_economics(name):
    e, (_, plan) = economics(name), sized(name)
    (row,) = (row for row in e.comparison if row.rank == 1)
    full = e.full_point.usd_per_million_tokens if e.unit == "token" else e.full_point.usd_per_request
    assert (row.planned_usd_per_million_tokens if e.unit == "token" else row.planned_usd_per_request) == pytest.approx(full, rel=1e-5)
    assert row.replica.planned_requests_per_s == pytest.approx(e.service.requests_per_s, rel=1e-5)
    assert (row.machine, row.replica.layout) == (plan.chosen.candidate.machine, plan.chosen.candidate.parallelism)


@pytest.mark.parametrize("name", SERVICES)
def test_rows_of_the_plan_have_its_machines_and_layouts_and_enough_replicas(name):
    """The highest rate of a replica carries the traffic with the planned replicas, and not with one fewer."""
    spec, plan = sized(name)
    traffic, least = serving_job(spec.workload).rate, spec.workload.min_replicas
    for row in economics(name).comparison:
        if row.rank and row.runs:
            c, rate = plan.fits[row.rank - 1].candidate, row.replica.planned_requests_per_s
            assert (row.machine, row.region, row.capacity, row.replica.layout) == (c.machine, c.region, c.capacity, c.parallelism)
            assert rate * c.replicas >= traffic * (1 - 1e-5)
            assert c.replicas <= max(least, 1) or rate * (c.replicas - 1) < traffic * (1 + 1e-5)


@pytest.mark.parametrize("name", SERVICES)
def test_what_the_plan_runs_is_possible_in_economics(name):
    _, plan = sized(name)
    impossible = {row.replica.accelerator for row in economics(name).comparison if not row.runs}
    assert not impossible & {fit.candidate.accelerator for fit in plan.fits}


@pytest.mark.parametrize("name", [name for name in SERVICES if name not in ("images", "cpu")])
def test_the_estimate_of_the_chosen_replica_is_its_median(name):
    """`plan` adds percentiles and a margin to the latency of `estimate`; memory of the weights is equal."""
    spec, plan = sized(name)
    fit, w = plan.chosen, spec.workload
    c, p = fit.candidate, fit.candidate.parallelism
    found = estimate(
        ServingConfig(
            model=w.model.base, hardware=HardwareConfig(accelerator=c.accelerator, count=c.replicas * p.accelerators),
            engine=EngineConfig(name="vllm"), layout=ServingLayout(tensor=p.tensor, pipeline=p.pipeline), weight_numbers=c.precision,
            input_tokens=w.input_tokens.mean, output_tokens=w.output_tokens.mean, requests_per_s=serving_job(w).rate,
            max_context=serving_job(w).longest, max_sequences=DEFAULT.max_sequences,
        )
    )  # fmt: skip
    assert found.fits
    assert found.memory.weights == pytest.approx(fit.memory.weights_bytes)
    assert found.ttft_s.p50 <= fit.speed.ttft_s
    assert (found.tpot_s is None) == (fit.speed.tpot_s is None)
    assert found.tpot_s is None or found.tpot_s.p50 <= fit.speed.tpot_p50_s * (1 + 1e-9) <= fit.speed.tpot_s
    assert found.ttft_s.p50 <= fit.speed.ttft_p50_s * (1 + 1e-9) <= fit.speed.ttft_s
    if name == "median":  # goals at the 50th percentile: the same number
        assert fit.speed.tpot_p50_s == pytest.approx(found.tpot_s.p50)
        assert fit.speed.ttft_p50_s == pytest.approx(found.ttft_s.p50)


@pytest.mark.parametrize("name", EXAMPLES)
def test_why_frontier_and_rejections_have_the_numbers_of_the_plan(name):
    _, plan = sized(name)
    chosen = plan.chosen
    assert plan.further or time_and_cost(chosen) in plan.scaling
    assert f"{money(chosen.stack_usd)} USD" in plan.scaling
    rows = {row[0]: row for row in frontier_rows(plan)}
    assert rows["#1"][1].startswith(machines(chosen.candidate))
    assert rows["#1"][3] == money(chosen.cost_usd.p50)
    groups = rejection_summary(plan.rejected)
    assert sum(group.count for group in groups) == len(plan.rejected) == sum(int(row[0].replace(",", "")) for row in rejection_rows(plan))
    assert all(group.rejection in group.nearest.rejections and group.nearest in plan.rejected for group in groups)


def test_one_token_answers_have_no_tpot():
    """1,500 prompts and one token each: a TPOT of 49 ms chose p5.48xlarge at 40,179 USD a month."""
    _, found = sized("one token")
    assert {fit.speed.tpot_s for fit in found.fits} == {None}
    assert not any(r.limit is Limit.TPOT for miss in found.rejected for r in miss.rejections)
    one = serve("llama-3.1-8b", 20).replace("mean: 200, p95: 500", "mean: 1")
    assert NoteKind.ONE_TOKEN_ANSWERS in {note.kind for note in plan(one, AWS).notes}
    config = {"kind": "serving", "model": "llama-3.1-8b", "engine": {"name": "vllm"}, "hardware": {"accelerator": "H100"}}
    result = estimate(config | {"input_tokens": 1000, "output_tokens": 1, "requests_per_s": 5})
    assert result.tpot_s is None
    assert "output_tokens 1: an answer of one token has no time per output token (TPOT)" in result.assumptions


def test_economics_of_pinned_machines_that_miss_the_latency_goals():
    """Division by zero before: the plan keeps the pinned machine, no replica of which meets the goals."""
    place, workload = AWS.replace("}}", "}, pin: {instance: g6.xlarge}}"), serve("llama-3.1-8b", 20, "tpot: {target: 5 ms}")
    spec = read(f"api_version: rackwright/v1\nname: t\nworkloads: [{workload}]\ninfra: {{any_of: [{place}]}}")
    made = economics_of(spec, size(spec, today=TODAY), Catalog.default())
    assert made
    text = dict(economics_lines(made))["replica"]
    assert text.startswith("20 requests/s, its share of the traffic; the pinned machines miss a goal: time per output token: needs ")
    assert not next(row for row in made.comparison if row.rank == 1).runs


def test_a_pinned_machine_that_fails_is_the_reason():
    place = AWS.replace("}}", "}, pin: {instance: g6.xlarge}}")
    found = plan(serve("llama-3.1-70b", 1), place)
    text = with_text(found).scaling
    assert text.startswith("The pinned 1 x g6.xlarge (1 x NVIDIA L4) fails: accelerator memory: ")
    assert "Without the pin the cheapest candidate that meets the goals is " in text
    first, *others = rejection_summary(found.rejected)
    assert (first.limit, first.is_pinned) == (Limit.DEVICE_MEMORY, True)
    assert [group.limit for group in others] == [Limit.PIN]


def test_the_next_smaller_is_one_that_a_number_keeps_out():
    """`1 x inf1.xlarge: Neuron instances are considered only when pinned` explained nothing about the choice."""
    spec = read(
        "api_version: rackwright/v1\nname: t\nworkloads: [{name: label, kind: serve, model: {base: vit-l-16}, image: {size: 224}, "
        f"requests_per_second: 6711, latency: {{target: 200 ms}}}}]\ninfra: {{any_of: [{AWS}]}}"
    )
    found = with_text(size(spec, today=TODAY))
    assert "inf1" not in found.scaling
    assert "Neuron" not in found.scaling
    _, _, named = found.scaling.partition("The next smaller, ")
    assert not named or "also meets the goals" in named or " needed, " in named or "at p80" in named
