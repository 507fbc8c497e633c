"""The laws a pinned configuration must keep. Each broken one is a problem with its path, its reason and a way out."""

from collections.abc import Iterator

from rackwright.estimator import hardware
from rackwright.estimator.config import HardwareConfig, ServingConfig, TrainingConfig
from rackwright.estimator.contradictions import contradictions
from rackwright.estimator.network import Network
from rackwright.problems import At, Problem


def training_problems(config: TrainingConfig, n: Network) -> Iterator[Problem]:
    """Every law a training configuration breaks."""
    w, at = config.layout, At() / "layout"
    yield from _common_problems(config.hardware, config.numbers, config.sequence, n, "sequence")
    if n.heads and n.heads % w.tensor:
        yield Problem("E-heads", f"{w.tensor} does not divide the {n.heads:g} attention heads", at / "tensor", _divisors(n.heads))
    if w.pipeline > max(n.layers, 1):
        yield Problem("E-layers", f"{w.pipeline} pipeline stages for {n.layers:g} layers", at / "pipeline", f"at most {n.layers:g}")
    if w.virtual > 1 and n.layers and w.pipeline * w.virtual > n.layers:
        yield Problem("E-virtual", f"{w.pipeline} x {w.virtual} virtual stages for {n.layers:g} layers", at / "virtual")
    if w.expert > 1 and not n.is_moe:
        yield Problem("E-experts", "the model has no experts to spread", at / "expert", "expert: 1")
    elif w.expert > 1 and n.experts % w.expert:
        yield Problem("E-experts", f"{w.expert} does not divide the {n.experts:g} experts", at / "expert", _divisors(n.experts))
    if w.context > 1 and config.sequence % w.context:
        yield Problem("E-context", f"{w.context} does not divide a sequence of {config.sequence}", at / "context")
    yield from contradictions(config)
    split = w.tensor * w.pipeline * w.context
    if config.hardware.count % split or (w.data and w.data * split != config.hardware.count):
        ways = f"tensor x pipeline x context{' x data' if w.data else ''} = {split * (w.data or 1)}"
        yield Problem("E-split", f"{ways} does not make {config.hardware.count} accelerators", at, f"count: a multiple of {split}")
        return
    replicas = w.data or config.hardware.count // split
    if config.global_batch and config.global_batch % (replicas * config.micro_batch):
        reason = f"{replicas} replicas x micro-batches of {config.micro_batch} do not divide a batch of {config.global_batch}"
        yield Problem("E-batch", reason, At() / "global_batch", f"a multiple of {replicas * config.micro_batch}")


def serving_problems(config: ServingConfig, n: Network) -> Iterator[Problem]:
    """Every law a serving configuration breaks."""
    w, at = config.layout, At() / "layout"
    longest = config.max_context or config.input_tokens + config.output_tokens
    yield from _common_problems(config.hardware, config.weight_numbers, longest, n, "max_context" if config.max_context else "input_tokens")
    if n.heads and n.heads % w.tensor:
        yield Problem("E-heads", f"{w.tensor} does not divide the {n.heads:g} attention heads", at / "tensor", _divisors(n.heads))
    if w.pipeline > max(n.layers, 1):
        yield Problem("E-layers", f"{w.pipeline} pipeline stages for {n.layers:g} layers", at / "pipeline", f"at most {n.layers:g}")
    each = w.tensor * w.pipeline * w.attention_data
    if config.hardware.count % each and not config.prefill:
        yield Problem("E-split", f"a replica of {each} does not divide {config.hardware.count} accelerators", at, f"a multiple of {each}")
    if (config.prefill is None) != (config.decode is None):
        yield Problem("E-pools", "prefill and decode are given together or not at all", At() / ("decode" if config.prefill else "prefill"))


def _common_problems(h: HardwareConfig, numbers: str, longest: float, n: Network, field: str) -> Iterator[Problem]:
    a = hardware.find(h.accelerator)
    if numbers not in ("fp32", "tf32") and a.peak(numbers) is None:
        yield Problem("E-numbers", f"no {numbers} arithmetic on {a.name}", At() / ("numbers" if field == "sequence" else "weight_numbers"))
    if n.max_context and longest > n.max_context:
        reason = f"{longest:,.0f} tokens, but the model was made for {n.max_context:,.0f}"
        yield Problem("E-length", reason, At() / field, f"at most {n.max_context:.0f}")
    if h.count % h.slices:
        yield Problem("E-slices", f"{h.slices} slices of {h.count} accelerators", At() / "hardware" / "slices")


def _divisors(whole: float) -> str:
    return "one of " + ", ".join(str(i) for i in range(1, int(whole) + 1) if whole % i == 0)
