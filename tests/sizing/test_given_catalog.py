"""Sizing, economics and later steps read the catalog of the caller instead of the built-in one."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from rackwright import Catalog, bill, check, compile_plan, load, size
from rackwright.report.comparison.candidate_comparison import comparison_of
from rackwright.sizing.economics.comparison import compare
from rackwright.sizing.economics.serving import economics_of, serving_job
from rackwright.workflow.pipeline import Pipeline

TODAY = date(2026, 11, 21)
STACKS = ("llama-70b-sft", "chat-serve")


def slower(catalog: Catalog) -> Catalog:
    """The catalog with 30 % of the nominal peak as measured peak of every accelerator."""
    return replace(
        catalog, accelerators=tuple(replace(r, measured_bf16_flops=r.bf16_flops and 0.3 * r.bf16_flops) for r in catalog.accelerators)
    )


@pytest.mark.parametrize("name", STACKS)
def test_the_estimator_uses_measured_peaks_of_the_given_catalog(name):
    spec, catalog = load(f"stacks/{name}.yaml"), Catalog.default()
    plans = [size(spec, given, today=TODAY) for given in (catalog, slower(catalog))]
    speeds, slow = ({fit.candidate.label: fit.speed for fit in plan.fits} for plan in plans)
    assert speeds.keys() & slow.keys()
    assert all(speeds[label] != slow[label] for label in speeds.keys() & slow.keys())


def test_the_comparison_of_a_service_uses_measured_peaks_of_the_given_catalog():
    catalog, job = Catalog.default(), serving_job(load("stacks/chat-serve.yaml").workload)
    rows = [compare(job, given, ["NVIDIA H100 80GB SXM5"]) for given in (catalog, slower(catalog))]
    fast, slow = (next(row.replica.ttft_s for row in found if row.replica.accelerators) for found in rows)
    assert slow > 1.2 * fast


@pytest.mark.parametrize("name", STACKS)
def test_the_embedded_catalog_is_not_read_where_one_is_given(monkeypatch, name):
    given = replace(Catalog.default())

    def refuse() -> Catalog:
        raise AssertionError("the embedded catalog was read")

    monkeypatch.setattr(Catalog, "default", refuse)
    spec = load(f"stacks/{name}.yaml", catalog=given)
    plan = size(spec, given, today=TODAY)
    stack = compile_plan(spec, plan, plan.fits[0], today=TODAY, catalog=given)
    check(stack, catalog=given)
    bill(stack, plan.fits[0], spec, given)
    pipeline = Pipeline(Path(f"stacks/{name}.yaml"), TODAY, None, given)
    assert pipeline.preview().quotas
    assert comparison_of(pipeline, "1", "2").terms
    assert pipeline.spec.is_training or economics_of(pipeline.spec, pipeline.plan, pipeline.catalog)
    assert pipeline.choose(1).bill.total_usd


def test_economics_and_bill_have_prices_and_names_of_the_given_catalog():
    """Twice the list price of an H100 machine doubles its row; an accelerator that the catalog lacks has no row."""
    catalog = Catalog.default()
    h100 = {m.name for m in catalog.machines if m.accelerator == "NVIDIA H100 80GB SXM5"}
    doubled = (replace(p, usd_per_hour=2 * p.usd_per_hour) if p.sku in h100 else p for p in catalog.prices)
    dearer = replace(catalog, prices=tuple(doubled))
    spec = load("stacks/chat-serve.yaml")
    job = serving_job(spec.workload)
    once, twice = (compare(job, given, ["NVIDIA H100 80GB SXM5"])[0] for given in (catalog, dearer))
    assert twice.planned_usd_per_request == pytest.approx(2 * once.planned_usd_per_request)
    bare = replace(catalog, accelerators=tuple(a for a in catalog.accelerators if a.name != "NVIDIA T4"))
    made = economics_of(spec, size(spec, bare, today=TODAY), bare)
    assert "NVIDIA T4" not in {row.replica.accelerator for row in made.comparison}
