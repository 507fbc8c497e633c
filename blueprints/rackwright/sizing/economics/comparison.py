"""One service on many accelerators side by side: what a replica answers within the goals, and what that costs. List prices, on demand.

Every rate is the estimator's. Joins it to the cheapest published price of each accelerator, wherever that is.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rackwright.catalog import query
from rackwright.catalog.read import Catalog
from rackwright.catalog.rows import CapacityMode, Machine, Offering
from rackwright.estimator.result import Interval
from rackwright.sizing.economics.formulas import cheapest_first, per_million
from rackwright.sizing.economics.replica import Replica, ServiceRequest, most_running, replica
from rackwright.sizing.job import weight_bytes
from rackwright.sizing.search import cpu_roofline
from rackwright.units import GIB, HOUR

ACCELERATORS = (
    "NVIDIA T4", "NVIDIA L4", "NVIDIA L40S", "NVIDIA A100 40GB SXM4", "NVIDIA A100 80GB SXM4", "NVIDIA H100 80GB SXM5",
    "TPU v5e", "TPU v6e (Trillium)",
)  # fmt: skip


@dataclass(frozen=True)
class ComparisonRow:
    """A replica at its price. usd_per_hour: of the replica, its share of the machine; usd_per_request, usd_per_million_tokens: of one
    that is always as full as is planned with; None: no price is published, or it does not run."""

    replica: Replica
    machine: str
    region: str
    usd_per_hour: float | None
    price_as_of: str
    price_source: str
    usd_per_request: Interval | None
    usd_per_million_tokens: Interval | None

    @property
    def runs(self) -> bool:
        return self.replica.requests_per_s is not None


def compare(asked: ServiceRequest, catalog: Catalog, accelerators: Sequence[str] = ACCELERATORS) -> tuple[ComparisonRow, ...]:
    """The cheapest first; those without a price after them; those it does not run on last."""
    rows = [_row(best_replica(asked, name, catalog), name, asked, catalog) for name in accelerators]
    rows += list(_processors(asked, catalog))
    priced = cheapest_first([r.usd_per_request.p50 if r.usd_per_request else None for r in rows])
    return tuple(sorted((rows[i] for i in priced), key=lambda r: not r.runs))


def _row(made: Replica, name: str, asked: ServiceRequest, catalog: Catalog) -> ComparisonRow:
    found = cheapest(catalog, lambda m: m.accelerator == name and m.accelerator_fraction == 1, made.accelerators)
    if found is None or found.price_usd_per_hour is None:
        return ComparisonRow(made, found.machine.name if found else "", "", None, "", "", None, None)
    shared = found.machine.accelerator_count // made.accelerators
    return priced(made, found, found.price_usd_per_hour / shared, asked)


def priced(made: Replica, found: Offering, usd: float, asked: ServiceRequest) -> ComparisonRow:
    """usd: of the replica and hour."""
    rate, out = made.requests_per_s, asked.tokens[1] if asked.generates else 0.0
    each = None if rate is None else _inverse(rate, usd / HOUR / asked.reserve)
    tokens = None if each is None or not out else Interval(*(per_million(v, out) or 0.0 for v in (each.p10, each.p50, each.p90)), each.n)
    return ComparisonRow(made, found.machine.name, found.region, usd, found.price_as_of, found.price_source, each, tokens)


def _inverse(rate: Interval, amount: float) -> Interval:
    return Interval(amount / rate.p90, amount / rate.p50, amount / rate.p10, rate.n)


def cheapest(catalog: Catalog, fits: Callable[[Machine], bool], count: int = 1) -> Offering | None:
    """The on-demand machine whose share for `count` accelerators costs least in any region; None where none is sold with so many."""
    found = [o for m in catalog.machines if fits(m) and m.accelerator_count >= count for o in _on_sale(catalog, m)]

    def share(o: Offering) -> float:
        return (o.price_usd_per_hour or 0.0) / (max(o.machine.accelerator_count // count, 1) if count else 1)

    return min(found, key=lambda o: (o.price_usd_per_hour is None, share(o), o.machine.name, o.region), default=None)


def _on_sale(catalog: Catalog, m: Machine) -> list[Offering]:
    """Once per published price; once without, where there is none."""
    mode = CapacityMode.ON_DEMAND
    if not m.orderable or m.cloud == "kubernetes" or mode not in m.capacity_modes:
        return []
    sku = m.accelerator if m.kind == "tpu" and m.accelerator else m.name
    regions = [row.region or "" for row in catalog.prices_by_sku.get((sku, mode), ())] or [""]
    return [query.offer(catalog, m, region, mode) for region in regions]


def best_replica(asked: ServiceRequest, accelerator: str, catalog: Catalog) -> Replica:
    """The fewest accelerators, as machines are sold, that hold the model and keep the goals."""
    sold = {m.accelerator_count for m in catalog.machines if m.accelerator == accelerator and m.orderable} or {1}
    found = replica(asked, accelerator)
    for width in (2, 4, 8):
        if found.refused and asked.generates and width <= max(sold):
            found = replica(asked, accelerator, width)
    return found


def _processors(asked: ServiceRequest, catalog: Catalog) -> Iterator[ComparisonRow]:
    """The cheapest CPU machine that answers, or why none does."""
    n, name = asked.network, "CPU"
    if n.active > cpu_roofline.LARGEST_PARAMETERS:
        reason = f"{n.active / 1e9:,.1f} billion active parameters, a CPU serves {cpu_roofline.LARGEST_PARAMETERS / 1e9:g} at most"
        yield ComparisonRow(Replica(name, 0, refused=reason), "", "", None, "", "", None, None)
        return
    found = []
    for m in catalog.machines:
        core = cpu_roofline.CORES.get(m.family) if m.kind == "cpu" else None
        offer = cheapest(catalog, lambda other, m=m: other.name == m.name, 0) if core else None
        if core and offer and offer.price_usd_per_hour:
            found.append(priced(_on_processors(asked, core, m), offer, offer.price_usd_per_hour, asked))
    running = [r for r in found if r.usd_per_request]
    yield min(running or found, key=lambda r: (r.usd_per_request.p50 if r.usd_per_request else 0.0, r.machine))


def _on_processors(asked: ServiceRequest, core: cpu_roofline.Core, m: Machine) -> Replica:
    """A whole machine; a factor 2 either way."""
    n, vcpus, name = asked.network, m.vcpus or 0, f"CPU, {m.vcpus} vCPU of {m.family}"
    weights = weight_bytes(n, asked.numbers)
    room = (m.memory_bytes or 0) * cpu_roofline.FREE_MEMORY - weights
    if room <= 0:
        return Replica(name, 0, refused=f"weights of {weights / GIB:,.1f} GiB in {(m.memory_bytes or 0) / GIB:,.0f} GiB")
    if not asked.generates:
        flops = (n.flops_per_sample or 2.0 * n.matmul * asked.tokens[0]) * asked.passes
        taken = cpu_roofline.sample_seconds(core, vcpus, flops * (1 + asked.lora_overhead), weights * asked.passes)
        late = asked.ttft_s is not None and taken > asked.ttft_s
        words = f"an answer takes {taken:,.1f} s, {asked.ttft_s:g} s allowed" if late else ""
        return Replica(name, 0, refused=words) if late else _prior(name, 1 / taken, taken, None, 1)
    cache = (asked.tokens[0] + asked.tokens[1] / 2) * 2.0 * n.kv_heads * n.head_dim * 2.0 * n.layers

    def at(running: int) -> cpu_roofline.Rate:
        return cpu_roofline.generate(core, vcpus, n.active, weights, cache, asked.tokens, running)

    def keeps(running: int) -> bool:
        r = at(running)
        fast = r.tpot_s <= (asked.tpot_s or math.inf) and r.ttft_s <= (asked.ttft_s or math.inf)
        return fast and running * cache <= room

    if not (most := most_running(keeps)):
        r = at(1)
        return Replica(name, 0, refused=f"first token after {r.ttft_s:,.1f} s, then {r.tpot_s * 1000:,.0f} ms each, without other traffic")
    r = at(most)
    return _prior(name, r.requests_per_s, r.ttft_s, r.tpot_s, most)


def _prior(name: str, rate: float, ttft_s: float, tpot_s: float | None, running: int) -> Replica:
    return Replica(name, 0, Interval(rate / 2, rate, rate * 2), ttft_s, tpot_s, running, "prior only: a roofline, nothing measured")
