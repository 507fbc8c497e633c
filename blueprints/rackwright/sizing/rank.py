"""Order of fits and rejections, and the words that explain it. Ties are broken by label, so the order never depends on the input's."""

from collections.abc import Iterable, Sequence

from rackwright.sizing.plan import Candidate, Fit, Interval, Limit, Rejected, SizingPlan, Speed

HOUR = 3600.0


def ranked(fits: Iterable[Fit], order: dict[tuple, tuple[int, int]], optimize_for: str, vertical_first: bool) -> tuple[Fit, ...]:
    """Goals met before goals overruled by a pin, earlier places and capacity modes first, priced before unpriced, one machine before
    many unless time is asked for, then the objective."""
    fits = list(fits)
    best_cost = min((f.cost_usd.p50 for f in fits if f.cost_usd), default=1.0) or 1.0
    best_time = min((_seconds(f) for f in fits), default=1.0) or 1.0

    def key(f: Fit) -> tuple:
        cost = f.cost_usd.p50 / best_cost if f.cost_usd else float("inf")
        time = _seconds(f) / best_time
        score = {"cost": (cost, time), "time": (time, cost), "balanced": (cost * time, cost)}[optimize_for]
        overruled = sum(w.startswith("pinned although") for w in f.warnings)
        several = vertical_first and optimize_for != "time" and spread(f.candidate)
        hourly = f.usd_per_hour if f.usd_per_hour is not None else float("inf")
        objective = tuple(round(s, 6) for s in score)
        borrowed = f.candidate.price_region != f.candidate.region  # the price of another place: behind the place that has its own
        return (overruled, order[identity(f.candidate)], f.cost_usd is None, several, objective, hourly, borrowed, f.candidate.label)

    return tuple(sorted(fits, key=key))


def identity(c: Candidate) -> tuple:
    """What tells candidates of one plan apart; of two equal places the first one's is kept."""
    return (c.cloud, c.machine, c.topology, c.slices, c.nodes, c.region, c.capacity, c.capacity_id)


def spread(c: Candidate) -> bool:
    """Whether the job leaves one scale-up unit: one machine, or one TPU slice, whose hosts share one interconnect."""
    return c.slices > 1 if c.topology else c.nodes > 1


def _seconds(f: Fit) -> float:
    if f.duration_s is not None:
        return f.duration_s.p50
    return (f.speed.ttft_s or 0.0) + (f.speed.tpot_s or 0.0)


def by_distance(rejected: Iterable[Rejected]) -> tuple[Rejected, ...]:
    """Nearest first; candidates that could not be computed, whose distance says least, after those that could."""

    def key(r: Rejected) -> tuple:
        return (r.duration_s is None, r.distance, len(r.rejections), r.cost_usd is None, r.cost_usd or 0.0, r.candidate.label)

    return tuple(sorted(rejected, key=key))


def usd(amount: float) -> str:
    return f"{amount:,.2f} USD" if amount < 100 else f"{amount:,.0f} USD"


def nearest_misses(plan: SizingPlan, n: int = 3) -> tuple[Rejected, ...]:
    """The nearest of each machine, so that n lines tell n things; each `remedy` says what would make it feasible."""
    first: dict[str, Rejected] = {}
    for miss in plan.rejected:
        first.setdefault(miss.candidate.machine + miss.candidate.topology, miss)
    return tuple(first.values())[:n]


def name(c: Candidate) -> str:
    what = f"{c.slices} x {c.accelerator} {c.topology} ({c.nodes} x {c.machine})" if c.topology else f"{c.nodes} x {c.machine}"
    return what if c.topology else f"{what} ({c.accelerators} x {c.accelerator})"


def why(c: Candidate, speed: Speed, duration: Interval | None, cost: Interval | None, binding: str) -> str:
    """One sentence: what, how spread, how long, how much, what is tightest."""
    parts = [f"{name(c)} in {c.region or 'your cluster'}, {c.capacity}"]
    if duration:
        parts.append(f"{c.parallelism}: {duration.p50 / HOUR:.1f} h ({duration.p10 / HOUR:.1f} to {duration.p90 / HOUR:.1f})")
    elif speed.tpot_s:
        replicas = f"{c.replicas} replicas" if c.replicas > 1 else "1 replica"
        parts.append(f"{replicas} of {c.parallelism}: first token {speed.ttft_s:.2f} s, then {speed.tpot_s * 1000:.0f} ms per token")
    elif speed.ttft_s:
        parts.append(f"{c.replicas} {'replicas' if c.replicas > 1 else 'replica'}: an answer in {speed.ttft_s:.2f} s")
    if cost:
        parts.append(usd(cost.p50) + ("" if duration else " a month"))
    return "; ".join([*parts, f"tightest: {binding}"])


def scaling(fits: Sequence[Fit], rejected: Sequence[Rejected], serves: bool, optimize_for: str) -> str:
    """Why one machine, or why many, with the numbers that decided it."""
    if not fits:
        return _nothing(rejected)
    chosen = fits[0]
    if chosen.candidate.pinned:
        return f"The place is pinned to {name(chosen.candidate)}: sizing only checks that it can work, and what it costs."
    if serves:
        return _scaled_for_traffic(chosen)
    if not spread(chosen.candidate):
        unit, link = ("slice", ": its hosts share one interconnect") if chosen.candidate.topology else ("machine", "")
        time = f" and {chosen.duration_s.p50 / HOUR:.1f} h" if chosen.duration_s else ""
        needs = f"{name(chosen.candidate)} needs {chosen.memory.fill:.0%} of its accelerator memory{time}"
        return f"One {unit} is enough{link}. {needs}. {_against_more(fits, unit)}"
    return _why_many(chosen, fits, rejected, optimize_for)


def _against_more(fits: Sequence[Fit], unit: str) -> str:
    """One machine comes first even where several would cost less; whoever pays is told."""
    paid = fits[0].cost_usd
    several = [(f.cost_usd.p50, rank, f) for rank, f in enumerate(fits, 1) if f.cost_usd and spread(f.candidate)]
    cost, rank, cheapest = min(several, key=lambda row: row[:2], default=(0.0, 0, fits[0]))
    if paid is None or rank == 0 or cost >= paid.p50:
        return f"More {unit}s would only add a network between them."
    other = f"rank {rank}, {name(cheapest.candidate)}, costs {usd(cost)} instead of {usd(paid.p50)}"
    return f"It comes first because it has no network to fail; {other}."


def _why_many(chosen: Fit, fits: Sequence[Fit], rejected: Sequence[Rejected], optimize_for: str) -> str:
    c = chosen.candidate
    single = next((f for f in fits if not spread(f.candidate)), None)
    many = name(c) + ("" if c.fabric == "none" else f" over {c.fabric.upper()}")
    if single is not None:
        ask = "goals.optimize_for is time" if optimize_for == "time" else "the order of places and capacity puts it first"
        return f"Several machines although one ({name(single.candidate)}) would do, because {ask}: {many}."
    if c.capacity_id:
        return f"{c.capacity_id} holds {c.nodes} machines, and the job is spread over all of them: {many}, {c.parallelism}."
    alone = [r for r in rejected if not spread(r.candidate) and r.candidate.capacity == c.capacity]
    same = next((r for r in alone if r.candidate.machine == c.machine), None)
    other = next((r for r in alone if r.distance < float("inf")), None)
    said = [f"{name(r.candidate)} fails on {' and on '.join(map(str, r.rejections))}" for r in dict.fromkeys(filter(None, (same, other)))]
    first = "No single machine meets the goals" + (": " + "; the nearest, ".join(said) if said else "")
    return f"{first}. So the job is spread over {many}, {c.parallelism}."


def _scaled_for_traffic(chosen: Fit) -> str:
    c = chosen.candidate
    width = f"{c.parallelism.tensor} accelerators" if c.parallelism.tensor > 1 else "one accelerator"
    up = f"One replica fits {width} of {c.machine}, so no replica spans machines"
    if c.replicas == 1:
        return f"{up}; one replica carries the traffic."
    rate = f" for {chosen.speed.requests_per_s:g} requests/s" if chosen.speed.requests_per_s else ""
    return (
        f"{up}; {c.replicas} replicas on {c.nodes} {'machine' if c.nodes == 1 else 'machines'} are needed{rate} within the latency goals."
    )


def _nothing(rejected: Sequence[Rejected]) -> str:
    counts: dict[Limit, int] = {}
    for r in rejected:
        counts[r.rejections[0].limit] = counts.get(r.rejections[0].limit, 0) + 1
    worst = sorted(counts.items(), key=lambda kv: (-kv[1], kv[0]))[:3]
    return "Nothing meets every goal" + (": " + ", ".join(f"{n} fail on {limit}" for limit, n in worst) if worst else "")
