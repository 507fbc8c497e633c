"""Effects of the options of a model server as text: each figure of the chosen replica without the option and with it."""

from collections.abc import Iterator, Mapping

from rackwright.sizing.metrics import OptionEffect, ReplicaFigures
from rackwright.wording.formatting import count, gib, span

MIN_CHANGE = 0.01
"""Relative change below which a figure is not shown."""
FIGURES = (
    ("weights_bytes", "weights", gib),
    ("activations_bytes", "activations", gib),
    ("kv_tokens", "KV cache", lambda tokens: f"{count(tokens)} tokens"),
    ("ttft_s", "TTFT", span),
    ("tpot_s", "TPOT", span),
    ("pause_s", "longest pause between tokens", span),
    ("requests_per_s", "one replica", lambda rate: f"{rate:,.3g} requests/s"),
)
"""Field of ReplicaFigures -> its name and its format."""


def option_text(effect: OptionEffect) -> str:
    """`kv_dtype int8: KV cache 570K tokens to 1.11M tokens, TPOT 24 ms to 22 ms, one replica 5.32 requests/s to 6.06 requests/s`."""
    changes = ", ".join(_changes(effect.before, effect.after))
    return f"{effect.key} {_value(effect)}: {changes or 'no figure of the chosen replica changes by 1 % or more'}"


def _value(effect: OptionEffect) -> str:
    match effect.key, effect.value:
        case "speculation", {"draft": draft, "acceptance": float(acceptance)}:
            return f"{draft} drafts, {acceptance:.0%} accepted"
        case "disaggregation", dict(pools):
            return _pools(pools)
        case "disaggregation", str(mode) if effect.searched:
            return f"{mode} ({_pools(effect.searched)})"
        case "prefix_cache_hit_rate", float(share):
            return f"{share:.0%}"
    return str(effect.value).lower()


def _pools(replicas: Mapping[str, object]) -> str:
    return f"{replicas['prefill']} prefill, {replicas['decode']} decode"


def _changes(before: ReplicaFigures, after: ReplicaFigures) -> Iterator[str]:
    if before.ttft_s is None and after.ttft_s is not None:
        yield "without it this number of replicas does not carry the traffic"
    for field, name, text in FIGURES:
        old, new = getattr(before, field), getattr(after, field)
        if old is not None and new is not None and abs(new - old) >= MIN_CHANGE * old:
            yield f"{name} {text(old)} to {text(new)}"
