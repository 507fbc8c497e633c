"""Properties of whole plans: order, memory, shared enumeration. Those of prices are in test_decision.py."""

from dataclasses import replace
from functools import cache
from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st
from rackwright.catalog import Catalog
from rackwright.sizing.plan import SizingPlan
from rackwright.wording.rationale import rationale

from tests.sizing.helpers import AWS, BOTH, GCP, finetune, labels, plan, serve

WORK = {"tune": finetune(), "train": finetune("llama-3.1-70b", "none"), "serve": serve(more="tpot: {target: 50 ms}")}


def costs(p: SizingPlan) -> dict[str, float]:
    return {f.candidate.label: f.cost_usd.p50 for f in p.fits if f.cost_usd}


def dearer(factor: float) -> Catalog:
    catalog = Catalog.default()
    return replace(catalog, prices=tuple(replace(p, usd_per_hour=p.usd_per_hour * factor) for p in catalog.prices))


@settings(max_examples=8, deadline=None)
@given(st.sampled_from(list(WORK)), st.integers(0, 2**32))
def test_the_order_of_the_catalog_changes_no_plan(kind, seed):
    catalog, random = Catalog.default(), Random(seed)

    def shuffled(rows: tuple) -> tuple:
        return tuple(random.sample(rows, len(rows)))

    mixed = replace(catalog, machines=shuffled(catalog.machines), availability=shuffled(catalog.availability))
    one, other = (plan(WORK[kind], AWS, GCP, catalog=c) for c in (catalog, mixed))
    assert [f.candidate.label for f in one.fits] == [f.candidate.label for f in other.fits]
    assert [r.candidate.label for r in one.rejected] == [r.candidate.label for r in other.rejected]
    assert rationale(one) == rationale(other)


def test_more_memory_never_needs_more_accelerators():
    catalog = Catalog.default()

    def fewest(factor: float) -> int:
        machines = tuple(replace(m, accelerator_memory_bytes=int((m.accelerator_memory_bytes or 0) * factor)) for m in catalog.machines)
        return min(f.candidate.accelerators for f in plan(WORK["train"], AWS, catalog=replace(catalog, machines=machines)).fits)

    assert all(large <= small for small, large in pairwise(fewest(f) for f in (0.7, 1.0, 1.5, 3.0)))


@cache
def fresh(kind: str, goals: str) -> str:
    return plan(WORK[kind], BOTH, GCP, goals=goals).to_json()


def test_specs_that_share_machines_do_not_affect_each_other():
    """Sizing other jobs, goals and catalogs in between changes no result."""
    first = fresh("tune", "{}")
    plan(WORK["serve"], BOTH, GCP)
    plan(WORK["tune"], BOTH, GCP, catalog=dearer(3.0))
    plan(WORK["tune"], BOTH, GCP, goals="{max_cost: 5 USD}")
    assert plan(WORK["tune"], BOTH, GCP).to_json() == first


def test_a_changed_catalog_of_the_same_name_is_seen():
    """Catalogs are distinguished by their content, not by their digest."""
    assert costs(plan(WORK["tune"], AWS, catalog=dearer(2.0))) != costs(plan(WORK["tune"], AWS))


def fits_with(factor: float, catalog: Catalog) -> set[str]:
    """Machines and counts that fit a 70B model if every accelerator has `factor` times its memory."""
    machines = tuple(
        replace(m, accelerator_memory_bytes=int(m.accelerator_memory_bytes * factor)) if m.accelerator_memory_bytes else m
        for m in catalog.machines
    )
    return set(labels(plan(finetune(base="llama-3.1-70b", adapter="none"), AWS, catalog=replace(catalog, machines=machines))))


def test_more_memory_never_needs_more_machines():
    catalog = Catalog.default()
    by_memory = [fits_with(f, catalog) for f in (0.6, 1.0, 1.5, 3.0)]
    assert all(small <= large for small, large in pairwise(by_memory))
    assert len(by_memory[0]) < len(by_memory[-1])


def test_more_machines_are_never_slower_but_for_the_network():
    durations: dict[str, dict[int, float]] = {}
    for f in plan(finetune(base="llama-3.1-8b", adapter="none"), AWS).fits:
        durations.setdefault(f.candidate.machine, {})[f.candidate.nodes] = f.duration_s.p50
    for machine, by_nodes in durations.items():
        for nodes, seconds in by_nodes.items():
            if machine.startswith("p") and nodes * 2 in by_nodes:
                assert by_nodes[nodes * 2] <= seconds * 1.05, (machine, nodes)
