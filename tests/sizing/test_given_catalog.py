"""Sizing, economics and later steps read the catalog of the caller instead of the built-in one."""

from dataclasses import replace
from datetime import date

import pytest
from rackwright import Catalog, bill, check, compile_plan, load, size
from rackwright.sizing.economics.comparison import compare
from rackwright.sizing.economics.serving import serving_job

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
