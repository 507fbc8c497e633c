"""Offerings without a published price: they rank last and never satisfy a budget."""

from dataclasses import replace

from rackwright.catalog import Catalog
from rackwright.sizing.rejection import Limit, Reason, Rejection
from rackwright.sizing.selection.ranking import identity, nearest_misses, ranked
from rackwright.wording.plan_text import fit_warnings

from tests.sizing.helpers import AWS, finetune, plan


def test_candidates_without_a_price_rank_last_in_any_order_of_places():
    here = AWS.replace("us-east-1", "us-east-2")
    p = plan(finetune(), here, AWS, ordered=True)
    without = [f.cost_usd is None for f in p.fits]
    assert without == sorted(without)
    assert any(without)
    assert all("the candidate ranks last" in fit_warnings(f)[0] for f in p.fits if f.cost_usd is None)


def test_a_candidate_without_a_price_ranks_after_a_priced_one_that_breaks_a_goal_for_its_pin():
    """Met goals came before the price: the unpriced one ranked first."""
    first, second, *_ = plan(finetune(), AWS).fits
    late = Rejection(Limit.DEADLINE, 12.0, 10.0, "h", Reason.DEADLINE)
    broken, unpriced = replace(first, overruled=(late,)), replace(second, cost_usd=None, usd_per_hour=None)
    order = {identity(fit.candidate): (0, 0) for fit in (broken, unpriced)}
    for optimize_for in ("cost", "time", "balanced"):
        assert ranked((unpriced, broken), order, optimize_for, vertical_first=True) == (broken, unpriced)


def test_without_its_price_no_candidate_satisfies_a_budget():
    catalog = Catalog.default()
    bare = replace(catalog, prices=tuple(p for p in catalog.prices if p.sku != "p5.48xlarge"))
    free, bound = (plan(finetune(), AWS, goals=goals, catalog=bare) for goals in ("{}", "{max_cost: 100000 USD}"))
    named = {fit.candidate.label for fit in free.fits if fit.candidate.machine == "p5.48xlarge"}
    assert named
    assert all(fit.cost_usd for fit in bound.fits)
    reasons = {r.candidate.label: [x.reason for x in r.rejections] for r in bound.rejected}
    assert all(reasons[label] == [Reason.NO_PRICE] for label in named)


def test_no_near_tie_lacks_a_price():
    """A faster one without a price ranks last for its price, not because the cheaper one is as fast."""
    catalog = Catalog.default()
    bare = replace(catalog, prices=tuple(p for p in catalog.prices if not p.sku.startswith("p6")))
    p = plan(finetune(), AWS, goals="{optimize_for: time}", catalog=bare)
    assert p.near_tie is None or p.near_tie.cost_usd


def test_removing_a_price_drops_no_candidate():
    catalog = Catalog.default()
    bare = replace(catalog, prices=tuple(p for p in catalog.prices if p.sku != "p5.48xlarge"))
    labels = [{f.candidate.label for f in plan(finetune(), AWS, catalog=c).fits} for c in (catalog, bare)]
    assert labels[0] == labels[1]


def test_without_a_price_a_candidate_is_no_near_miss_of_a_budget():
    """64 machines whose spot price is not published missed the memory by 1 %, and came first although 5 USD buy none of them."""
    spot = AWS.replace("[on-demand]", "[spot, on-demand]")
    p = plan(finetune("llama-3.1-70b", "none"), spot, goals="{max_cost: 5 USD}")
    assert not p.fits
    unpriced = [r for r in p.rejected if r.candidate.price_usd_per_hour is None]
    assert len([r for r in unpriced if {Limit.PRICE, Limit.DEVICE_MEMORY} <= {x.limit for x in r.rejections}]) > 10
    assert all(r.distance == float("inf") for r in unpriced)
    assert all(miss.candidate.price_usd_per_hour for miss in nearest_misses(p))
