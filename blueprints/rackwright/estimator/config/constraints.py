"""The laws a pinned configuration must keep. Each broken one is a problem with its path, its reason and a way out."""

from collections.abc import Iterator

from rackwright.diagnostics.problem import At, Problem
from rackwright.estimator.config import accelerators
from rackwright.estimator.config.configuration import (
    HardwareConfig,
    SampleConfig,
    ServingConfig,
    ServingLayout,
    ServingPool,
    TrainingConfig,
)
from rackwright.estimator.config.conflicts import conflict_problems
from rackwright.estimator.model.adapters import TARGET_GROUPS, target_matrices
from rackwright.estimator.model.dimensions import ModelDimensions

MAX_PARAMETERS = 1e16
"""Thousands of times the largest model that is published; beyond it a description is a slip."""
MAX_MEMORY_GIB = 16 * 1024
"""Of one accelerator: dozens of times the largest that is sold."""
MIN_POWER_SHARE = 0.05
"""Of an accelerator's design power, below which it does not run; H100's lowest cap is 200 of 700 W (nvidia-smi -q -d POWER)."""
MATRICES = frozenset({"q", "k", "v", "o", "q_a", "q_b", "kv_a", "kv_b", "gate", "up", "down"})
"""Names an adapter can be told to follow."""
FROZEN_ONLY_FORMATS = ("nf4", "int4")
"""Formats of frozen weights: no gradient updates them, and no unit multiplies in them."""
CACHE_FORMATS = ("fp32", "bf16", "fp16", "fp8", "int8", "fp4")


def training_problems(config: TrainingConfig, n: ModelDimensions) -> Iterator[Problem]:
    """Every law a training configuration breaks."""
    w, at = config.layout, At() / "layout"
    yield from _model_problems(n)
    yield from _hardware_problems(config.hardware, config.numbers, "numbers")
    yield from _length_problems(config.sequence, n, "sequence")
    yield from _format_problems(config)
    yield from _adapter_problems(config, n)
    yield from _width_problems(w.tensor, w.pipeline, n, at)
    if w.virtual > 1 and w.pipeline == 1:
        yield Problem("E-virtual", f"{w.virtual} virtual stages without a pipeline", at / "virtual", "virtual: 1")
    elif w.virtual > 1 and n.layers and w.pipeline * w.virtual > n.layers:
        yield Problem("E-virtual", f"{w.pipeline} x {w.virtual} virtual stages for {n.layers:g} layers", at / "virtual")
    if w.schedule == "interleaved" and w.virtual == 1:
        yield Problem("E-virtual", "an interleaved schedule has at least 2 virtual stages", at / "virtual", "virtual: 2")
    if w.expert > 1 and not n.is_moe:
        yield Problem("E-experts", "the model has no experts to spread", at / "expert", "expert: 1")
    elif w.expert > 1 and n.experts % w.expert:
        yield Problem("E-experts", f"{w.expert} does not divide the {n.experts:g} experts", at / "expert", _divisor_hint(n.experts))
    if w.context > 1 and config.sequence % w.context:
        yield Problem("E-context", f"{w.context} does not divide a sequence of {config.sequence}", at / "context")
    if config.mean_length and (config.packed or config.mean_length > config.sequence):
        reason = "packed samples fill the sequence" if config.packed else f"longer than a sequence of {config.sequence}"
        yield Problem("E-length", reason, At() / "mean_length", "packed: false" if config.packed else f"at most {config.sequence}")
    yield from conflict_problems(config)
    yield from _nodes_problems(config.hardware)
    yield from _split_problems(config)


def _split_problems(config: TrainingConfig) -> Iterator[Problem]:
    """Layout x count, then replicas x batch."""
    w, count, at = config.layout, config.hardware.count, At() / "layout"
    split = w.tensor * w.pipeline * w.context
    if count % split or (w.data and w.data * split != count):
        ways = f"tensor x pipeline x context{' x data' if w.data else ''} = {split * (w.data or 1)}"
        yield Problem("E-split", f"{ways} does not make {count} accelerators", at, f"count: a multiple of {split}")
        return
    replicas, spread = w.data or count // split, w.expert * (w.expert_tensor or 1)
    if count // w.pipeline % spread:
        reason = f"expert x expert_tensor = {spread} does not divide the {count // w.pipeline} accelerators of a pipeline stage"
        yield Problem("E-experts", reason, at / ("expert" if w.expert > 1 else "expert_tensor"))
    if w.shard_group and replicas * w.context % w.shard_group:
        reason = f"{w.shard_group} does not divide the {replicas * w.context} accelerators that could share"
        yield Problem("E-shard", reason, at / "shard_group", _divisor_hint(replicas * w.context))
    each = replicas * config.micro_batch
    if config.global_batch and config.global_batch % each:
        reason = f"{replicas} replicas x micro-batches of {config.micro_batch} do not divide a batch of {config.global_batch}"
        yield Problem("E-batch", reason, At() / "global_batch", f"a multiple of {each}")
    elif config.global_batch and config.micro_batches and config.micro_batches * each != config.global_batch:
        reason = f"{config.micro_batches} x {replicas} replicas x {config.micro_batch} is not a batch of {config.global_batch}"
        yield Problem("E-batch", reason, At() / "micro_batches", f"{config.global_batch // each}, or leave it out")


def _format_problems(config: TrainingConfig) -> Iterator[Problem]:
    for field in ("numbers", "weight_numbers", "gradient_numbers"):
        if (said := getattr(config, field)) in FROZEN_ONLY_FORMATS:
            yield Problem("E-numbers", f"nothing trains in {said}", At() / field, "base_numbers, for the frozen base of an adapter")
    if config.base_numbers and config.adapter is None:
        yield Problem("E-adapter", "only an adapter leaves a base frozen", At() / "base_numbers", 'adapter: {"type": "qlora"}')


def _adapter_problems(config: TrainingConfig, n: ModelDimensions) -> Iterator[Problem]:
    a, at = config.adapter, At() / "adapter"
    if a is None:
        return
    if n.hidden and a.rank > n.hidden:
        yield Problem("E-rank", f"a rank of {a.rank} is wider than the model's {n.hidden:g}", at / "rank", f"at most {n.hidden:g}")
    if strange := (target_matrices(a.targets) or frozenset()) - MATRICES:
        known = ", ".join(("all-linear", *TARGET_GROUPS, *sorted(MATRICES)))
        yield Problem("E-targets", f"no matrix is called {', '.join(sorted(strange))[:80]}", at / "targets", f"known: {known}")
    if a.parameters and a.parameters > n.total:
        yield Problem("E-adapter", f"{a.parameters:,.0f} trainable parameters of {n.total:,.0f}", at / "parameters")
    if a.virtual_tokens > config.sequence:
        yield Problem("E-length", f"more virtual tokens than a sequence of {config.sequence}", at / "virtual_tokens")


def serving_problems(config: ServingConfig, n: ModelDimensions) -> Iterator[Problem]:
    """Every law a serving configuration breaks."""
    needed = config.input_tokens + config.output_tokens
    yield from _model_problems(n)
    yield from _hardware_problems(config.hardware, config.weight_numbers, "weight_numbers")
    yield from _length_problems(config.max_context or needed, n, "max_context" if config.max_context else "input_tokens")
    if config.max_context and config.max_context < needed:
        reason = f"{config.max_context:,} tokens, but a request has {needed:,.0f}"
        yield Problem("E-length", reason, At() / "max_context", f"at least {needed:.0f}")
    yield from _cache_problems(config)
    yield from _load_problems(config)
    if config.loras and n.hidden and config.lora_rank > n.hidden:
        yield Problem("E-rank", f"a rank of {config.lora_rank} is wider than the model's {n.hidden:g}", At() / "lora_rank")
    if (config.prefill is None) != (config.decode is None):
        yield Problem("E-pools", "prefill and decode are given together or not at all", At() / ("decode" if config.prefill else "prefill"))
    elif config.prefill and config.decode:
        yield from _pool_problems(config.hardware.count, config.prefill, config.decode, n)
    else:
        yield from _replica_layout_problems(config.layout, config.hardware.count, n, At() / "layout")


def _pool_problems(count: int, prefill: ServingPool, decode: ServingPool, n: ModelDimensions) -> Iterator[Problem]:
    for name, pool in (("prefill", prefill), ("decode", decode)):
        yield from _replica_layout_problems(pool.layout, pool.accelerators, n, At() / name / "layout")
    both = prefill.accelerators + decode.accelerators
    if both != count:
        yield Problem("E-pools", f"pools of {both} accelerators, of {count}", At() / "hardware" / "count", f"count: {both}")


def _replica_layout_problems(w: ServingLayout, count: int, n: ModelDimensions, at: At) -> Iterator[Problem]:
    yield from _width_problems(w.tensor, w.pipeline, n, at)
    each = w.tensor * w.pipeline * w.attention_data
    if w.expert > 1 and not n.is_moe:
        yield Problem("E-experts", "the model has no experts to spread", at / "expert", "expert: 1")
    elif w.expert > 1 and (each % w.expert or w.expert > n.experts):
        reason = f"{w.expert} ways for {n.experts:g} experts on the {each} accelerators of a replica"
        yield Problem("E-experts", reason, at / "expert", _divisor_hint(each))
    if count % each:
        yield Problem("E-split", f"a replica of {each} does not divide {count} accelerators", at, f"a multiple of {each}")
    elif w.replicas > 1 and w.replicas * each != count:
        yield Problem("E-split", f"{w.replicas} replicas of {each} are not {count} accelerators", at / "replicas", f"{count // each}")


def _cache_problems(config: ServingConfig) -> Iterator[Problem]:
    kv = config.kv_numbers
    if kv and kv not in CACHE_FORMATS:
        yield Problem("E-numbers", f"no engine keeps a cache in {kv}", At() / "kv_numbers", f"one of {', '.join(CACHE_FORMATS)}")
    elif kv == "fp4" and accelerators.find(config.hardware.accelerator).peak("fp4") is None:
        yield Problem("E-numbers", f"no fp4 arithmetic on {config.hardware.accelerator}", At() / "kv_numbers", "fp8")


def _load_problems(config: ServingConfig) -> Iterator[Problem]:
    if config.concurrency and config.concurrency < 1:
        yield Problem("E-load", f"{config.concurrency:g} requests in flight are none", At() / "concurrency", "at least 1")
    for field in ("concurrency", "requests"):
        if config.requests_per_s and getattr(config, field):
            reason = f"requests arrive at a rate or {field} says how many there are, not both"
            yield Problem("E-load", reason, At() / "requests_per_s", f"leave out requests_per_s or {field}")
    if config.speculation and config.speculation.draft > config.output_tokens:
        reason = f"{config.speculation.draft} drafted tokens for an answer of {config.output_tokens:g}"
        yield Problem("E-load", reason, At() / "speculation" / "draft")
    if config.max_batched_tokens and config.max_batched_tokens < (config.max_sequences or 1):
        reason = f"{config.max_batched_tokens} tokens a step do not reach {config.max_sequences} sequences"
        yield Problem("E-load", reason, At() / "max_batched_tokens", f"at least {config.max_sequences}")
    if config.engine.loss or config.engine.attention == "eager":
        name = "loss" if config.engine.loss else "attention"
        yield Problem("E-engine", f"of training: a server has no such choice of {name}", At() / "engine" / name, "leave it out")


def sample_problems(config: SampleConfig, n: ModelDimensions) -> Iterator[Problem]:
    """Every law a configuration of whole samples breaks."""
    if not n.flops_per_sample:
        yield Problem("E-model", "its work per sample is not known", At() / "model", "kind: training or serving for a language model")
    if n.total > MAX_PARAMETERS:
        yield _too_many(n)
    yield from _hardware_problems(config.hardware, config.numbers, "numbers")
    if config.adapter and not config.train:
        yield Problem("E-adapter", "an adapter is trained; its passes cost what the network's do", At() / "adapter", "train: true")


def _model_problems(n: ModelDimensions) -> Iterator[Problem]:
    if not n.layers:
        yield Problem("E-model", "it is no stack of layers that tokens pass", At() / "model", "kind: samples")
    if n.total > MAX_PARAMETERS:
        yield _too_many(n)


def _too_many(n: ModelDimensions) -> Problem:
    return Problem("E-model", f"{float(n.total):.2g} parameters; at most {MAX_PARAMETERS:.0e}", At() / "model")


def _hardware_problems(h: HardwareConfig, numbers: str, field: str) -> Iterator[Problem]:
    a, at = accelerators.find(h.accelerator), At() / "hardware"
    if a.name == accelerators.UNNAMED:
        yield Problem("E-accelerator", f"{h.accelerator!r} names no accelerator", at / "accelerator", "see rackwright catalog accelerators")
    if numbers not in ("fp32", "tf32") and a.peak(numbers) is None:
        yield Problem("E-numbers", f"no {numbers} arithmetic on {a.name}", At() / field)
    if h.memory_gib and h.memory_gib > MAX_MEMORY_GIB:
        yield Problem("E-memory", f"{h.memory_gib:g} GiB on one accelerator", at / "memory_gib", f"at most {MAX_MEMORY_GIB}")
    cap = h.power_watts or a.power_watts
    if cap and a.tdp_watts and cap < MIN_POWER_SHARE * a.tdp_watts:
        field = "power_watts" if h.power_watts else "accelerator"
        yield Problem("E-power", f"{cap:g} W for an accelerator of {a.tdp_watts:g} W", at / field)
    if h.slices > 1 and not a.is_tpu:
        yield Problem("E-slices", f"{a.name} comes in nodes, not in slices", at / "slices", "slices: 1")
    elif h.count % h.slices:
        yield Problem("E-slices", f"{h.slices} slices of {h.count} accelerators", at / "slices")


def _nodes_problems(h: HardwareConfig) -> Iterator[Problem]:
    """A trainer starts the same number of processes on every node."""
    node = int(accelerators.wires(accelerators.find(h.accelerator), h.per_node, count=max(h.count // h.slices, 1)).per_node)
    if h.count > node and h.count % node:
        fix = _divisor_hint(h.count) if h.count < 1000 else f"count: a multiple of {node}"
        yield Problem("E-nodes", f"{h.count} accelerators do not fill nodes of {node}", At() / "hardware" / "per_node", fix)


def _length_problems(longest: float, n: ModelDimensions, field: str) -> Iterator[Problem]:
    if n.max_context and longest > n.max_context:
        reason = f"{longest:,.0f} tokens, but the model was made for {n.max_context:,.0f}"
        yield Problem("E-length", reason, At() / field, f"at most {n.max_context:.0f}")


def _width_problems(tensor: int, pipeline: int, n: ModelDimensions, at: At) -> Iterator[Problem]:
    if n.heads and n.heads % tensor:
        yield Problem("E-heads", f"{tensor} does not divide the {n.heads:g} attention heads", at / "tensor", _divisor_hint(n.heads))
    if pipeline > max(n.layers, 1):
        yield Problem("E-layers", f"{pipeline} pipeline stages for {n.layers:g} layers", at / "pipeline", f"at most {n.layers:g}")


def _divisor_hint(whole: float) -> str:
    most = int(min(whole, 4096))
    return "one of " + ", ".join(str(i) for i in range(1, most + 1) if whole % i == 0)
