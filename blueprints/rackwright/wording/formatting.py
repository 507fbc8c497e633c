"""Numbers as text. An unknown number is `not published`, never zero."""

from dataclasses import replace

from rackwright.clouds import profile
from rackwright.sizing.metrics import Interval
from rackwright.sizing.plan import Assumption, Candidate
from rackwright.units import GIB

UNKNOWN = "not published"
TERMS = {
    "weights": "weights",
    "gradients": "gradients",
    "optimizer": "optimizer state",
    "activations": "activations",
    "head": "logits and loss",
    "kv": "KV cache",
    "fixed": "runtime and buffers",
    "margin": "allocator reserve and safety margin",
    "measured": "peak of your measured run",
}
"""Display names of the terms of `Memory`, in order."""


def usd(value: float | None, digits: int | None = None) -> str:
    """`98.32 USD`, `2,915 USD`; cents below 100."""
    return UNKNOWN if value is None else f"{money(value, digits)} USD"


def money(value: float | None, digits: int | None = None) -> str:
    """US dollars without the unit, for a column whose title names it."""
    if value is None:
        return UNKNOWN
    return f"{value:,.{_places(value) if digits is None else digits}f}"


def money_range(interval: Interval | None) -> str:
    """`2,915 (2,655 to 3,494)`; one number where all three are the same."""
    if interval is None:
        return UNKNOWN
    places = _places(interval.p50)
    low, likely, high = (money(v, places) for v in (interval.p10, interval.p50, interval.p90))
    return likely if low == high else f"{likely} ({low} to {high})"


def usd_range(interval: Interval | None) -> str:
    shown = money_range(interval)
    if interval is None:
        return shown
    return shown.replace(" (", " USD (", 1) if "(" in shown else f"{shown} USD"


def span(seconds: float | None) -> str:
    """`38 s`, `12 min`, `27.7 h`. Hours are not converted to days, because prices are per hour."""
    return UNKNOWN if seconds is None else "{} {}".format(*_scaled(seconds, seconds))


def hours(seconds: float) -> str:
    """`168 h (7 days)`; days are added from three days on."""
    days = f"{seconds / 86400:.1f}".removesuffix(".0")
    return span(seconds) + (f" ({days} days)" if seconds >= 72 * 3600 else "")


def span_range(interval: Interval | None) -> str:
    """Median with p10 and p90 in one unit: `27.7 h (14.0 to 55.2)`."""
    if interval is None:
        return UNKNOWN
    likely, unit = _scaled(interval.p50, interval.p50)
    low, high = (_scaled(v, interval.p50)[0] for v in (interval.p10, interval.p90))
    return f"{likely} {unit}" if low == high else f"{likely} {unit} ({low} to {high})"


def gib(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value / GIB:,.1f} GiB"


def list_price(per: str, candidate: Candidate) -> str:
    """`55.04 USD per machine-hour, us-east-1, list price of 2026-07-20`; `per` names the unit."""
    if candidate.price_usd_per_hour is None:
        return f"{UNKNOWN} for these machines"
    if profile(candidate.cloud).is_owned:
        return f"{usd(candidate.price_usd_per_hour, 2)} per {per}, own servers, {candidate.price_source}"
    where = candidate.price_region or "region not named"
    return f"{usd(candidate.price_usd_per_hour, 2)} per {per}, {where}, list price of {candidate.price_as_of}"


def percent(fraction: float) -> str:
    return f"{fraction * 100:,.0f} %"


def count(value: float) -> str:
    """`8.03B`, `250k`."""
    for unit, size in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= 0.9995 * size:  # 999.9 million rounds to a billion
            return f"{value / size:,.3g}{unit}"
    return f"{value:,.0f}"


def plural(number: int, one: str) -> str:
    return f"{number:,} {one}" if number == 1 else f"{number:,} {one}s"


def short(accelerator: str) -> str:
    """Accelerator name without vendor and generation: `H100 80GB SXM5`, `TPU v6e`."""
    return accelerator.split(" (")[0].removeprefix("NVIDIA ").removesuffix(" Server Edition")


def machines(candidate: Candidate) -> str:
    """`4 x p5.48xlarge`, `1 x TPU v6e 4x8`."""
    if candidate.topology:
        return f"{candidate.slices} x {short(candidate.accelerator)} {candidate.topology}"
    return f"{candidate.nodes} x {candidate.machine}"


def machines_and_parts(candidate: Candidate) -> str:
    """`1 x p5.4xlarge in 7 x 1g.10gb (MIG)`; as `machines` for whole accelerators."""
    return machines(candidate) + divided(candidate)


def accelerators(candidate: Candidate) -> str:
    """`32 x H100 80GB SXM5`; for a slice also the machines that hold it."""
    what = f"{candidate.accelerators} x {short(candidate.accelerator)}{divided(candidate)}"
    return f"{what} on {candidate.nodes} x {candidate.machine}" if candidate.topology else what


STRATEGIES = {"mig": "MIG", "mps": "MPS", "time-slicing": "time-slicing"}


def divided(candidate: Candidate) -> str:
    """` in 7 x 1g.10gb (MIG)`, ` in 2 (MPS)`; empty for whole accelerators."""
    sharing = candidate.sharing
    if sharing is None:
        return ""
    return f" in {sharing.parts}{' x ' if sharing.profile else ''}{sharing.profile} ({STRATEGIES[sharing.strategy]})"


def shared_with(candidate: Candidate, workload: str) -> str:
    """`shared with embed`; empty for machines of one workload."""
    others = [name for name in (candidate.sharing.workloads if candidate.sharing else ()) if name != workload]
    return f"shared with {' and '.join(others)}" if others else ""


def evidence(words: str) -> str:
    """Evidence behind a predicted speed; `words` is `measured (n=70)`, `vendor claim (n=20)` or `prior only`."""
    kind, _, number = words.removesuffix(")").partition(" (n=")
    prior = "prior only: predicted from hardware peaks, without a comparable published run; allow a factor 2 either way"
    runs = {"measured": f"fitted to {number} measured runs", "vendor claim": f"fitted to {number} runs published by vendors"}
    return runs.get(kind, prior if kind == "prior only" else words)


def tell_apart(need: float, have: float) -> tuple[str, str]:
    """Both numbers with the fewest decimals that show them as different."""
    for digits in range(0 if min(need, have) >= 100 or (need == int(need) and have == int(have)) else 1, 4):
        shown = f"{need:,.{digits}f}", f"{have:,.{digits}f}"
        if shown[0] != shown[1]:
            return shown
    return f"{need:,g}", f"{have:,g}"


def _places(value: float) -> int:
    return 2 if abs(value) < 100 else 0


def _scaled(seconds: float, like: float) -> tuple[str, str]:
    """The number in the unit that suits `like` seconds."""
    unit, size = next(((u, s) for u, s in (("h", 3600.0), ("min", 60.0), ("s", 1.0)) if like >= s), ("ms", 0.001))
    number, scale = seconds / size, like / size
    whole = seconds == like and number == int(number)  # a value of the spec: 24 h, not 24.0 h
    digits = 0 if whole or unit == "ms" or scale >= 100 else 1
    return f"{number:,.{digits}f}", unit


def readable(item: Assumption) -> Assumption:
    """`restart s`, `600 s` becomes restart; `6.44245e+09 bytes per node` becomes 6.44 GB per node."""
    name, unit = item.name.replace("_", " "), item.unit
    if name.endswith((" s", " h")) and unit[:1] == name[-1]:
        name = name[:-2]
    try:
        number = float(item.value)
    except ValueError:
        return replace(item, name=name)
    if unit.startswith("bytes") and number >= 1e6:
        scale, short_unit = (1e9, "GB") if number >= 1e9 else (1e6, "MB")
        return replace(item, name=name, value=f"{number / scale:.3g}", unit=short_unit + unit.removeprefix("bytes"))
    return replace(item, name=name, value=f"{number:,.0f}" if number >= 1000 else item.value)
