"""Constraints on a pinned configuration. A violated constraint is a problem with path, failed condition and fix."""

import math
from collections.abc import Iterator

from rackwright.diagnostics.problem import At, Problem
from rackwright.estimator.config.accelerators import INFERENCE_ONLY, UNNAMED, AcceleratorRates, links, nearest_format
from rackwright.estimator.config.configuration import HardwareConfig, SampleConfig, ServingConfig, ServingLayout, TrainingConfig
from rackwright.estimator.config.conflicts import conflict_problems
from rackwright.estimator.model.block_scales import BLOCK, uneven_shard
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.layer_parameters import TARGET_GROUPS, target_matrices

MAX_PARAMETERS = 1e16
"""Thousands of times the largest published model; a larger count is a typing error."""
MAX_MEMORY_GIB = 16 * 1024
"""Memory of one accelerator, GiB: dozens of times the largest one on sale."""
MIN_POWER_SHARE = 0.05
"""Lowest power cap over design power. H100's lowest cap is 200 of 700 W (nvidia-smi -q -d POWER)."""
MATRICES = frozenset({"q", "k", "v", "o", "q_a", "q_b", "kv_a", "kv_b", "gate", "up", "down"})
"""Matrix names that `adapter.targets` accepts."""
FROZEN_ONLY_FORMATS = ("nf4", "int4")
"""Storage formats of frozen weights. They have no arithmetic, so nothing trains in them."""
CACHE_FORMATS = ("fp32", "bf16", "fp16", "fp8", "int8", "fp4")


def training_problems(config: TrainingConfig, n: ModelDimensions, a: AcceleratorRates) -> Iterator[Problem]:
    """Yield every constraint that a training configuration violates."""
    w, at = config.layout, At() / "layout"
    yield from _model_problems(n)
    yield from _hardware_problems(config.hardware, a, config.numbers, "numbers", trains=True)
    yield from _length_problems(config.sequence, n, "sequence")
    yield from _format_problems(config, a)
    yield from _adapter_problems(config, n)
    yield from _width_problems(w.tensor, w.pipeline, n, at)
    if w.virtual > 1 and w.pipeline == 1:
        yield Problem("E-virtual", f"virtual is {w.virtual}, but there is no pipeline (pipeline: 1)", at / "virtual", "virtual: 1")
    elif w.virtual > 1 and n.layers and w.pipeline * w.virtual > n.layers:
        reason = f"pipeline {w.pipeline} x virtual {w.virtual} = {w.pipeline * w.virtual} stages exceed the {n.layers:g} layers"
        yield Problem("E-virtual", reason, at / "virtual", f"at most {max(n.layers // w.pipeline, 1):g}")
    if w.schedule == "interleaved" and w.virtual == 1:
        yield Problem("E-virtual", "schedule interleaved needs 2 or more virtual stages, got 1", at / "virtual", "virtual: 2")
    if w.expert > 1 and not n.is_moe:
        yield Problem("E-experts", f"expert is {w.expert}, but the model has no experts", at / "expert", "expert: 1")
    elif w.expert > 1 and n.experts % w.expert:
        reason = f"expert {w.expert} does not divide the model's {n.experts:g} experts"
        yield Problem("E-experts", reason, at / "expert", _divisor_hint(n.experts))
    if w.context > 1 and config.sequence % w.context:
        reason = f"context {w.context} does not divide the sequence of {config.sequence} tokens"
        yield Problem("E-context", reason, at / "context", _divisor_hint(config.sequence, config.hardware.count))
    if config.mean_length and config.packed:
        reason = f"mean_length {config.mean_length:g} has no effect, because packed samples fill the sequence"
        yield Problem("E-length", reason, At() / "mean_length", "packed: false")
    elif config.mean_length and config.mean_length > config.sequence:
        reason = f"mean_length {config.mean_length:g} exceeds the sequence of {config.sequence} tokens"
        yield Problem("E-length", reason, At() / "mean_length", f"at most {config.sequence}")
    yield from conflict_problems(config, a)
    h = config.hardware  # trainers start the same number of processes on every node, so the accelerators must fill whole nodes
    node = int(links(a, h.per_node, count=max(h.count // h.slices, 1)).per_node)
    if h.count > node and h.count % node:
        fix = _divisor_hint(h.count) if h.count < 1000 else f"count: a multiple of {node}"
        reason = f"count {h.count} is not a multiple of the {node} accelerators per node"
        yield Problem("E-nodes", reason, At() / "hardware" / "per_node", fix)
    yield from _split_problems(config)


def _split_problems(config: TrainingConfig) -> Iterator[Problem]:
    """Yield problems of the layout against the accelerator count, and of the replicas against the batch."""
    w, count, at = config.layout, config.hardware.count, At() / "layout"
    split = w.tensor * w.pipeline * w.context
    if count % split or (w.data and w.data * split != count):
        factors = f"tensor x pipeline x context{' x data' if w.data else ''} = {split * (w.data or 1)}"
        verb = "is not equal to" if w.data else "does not divide"
        yield Problem("E-split", f"{factors} {verb} the {count} accelerators", at, f"hardware.count: a multiple of {split}")
        return
    replicas, expert_group = w.data or count // split, w.expert * (w.expert_tensor or 1)
    if count // w.pipeline % expert_group:
        reason = f"expert x expert_tensor = {expert_group} does not divide the {count // w.pipeline} accelerators of a pipeline stage"
        field = "expert" if w.expert > 1 else "expert_tensor"
        yield Problem("E-experts", reason, at / field, f"a product that divides {count // w.pipeline}")
    if w.shard_group and replicas * w.context % w.shard_group:
        reason = f"shard_group {w.shard_group} does not divide the {replicas * w.context} accelerators of the data-parallel group"
        yield Problem("E-shard", reason, at / "shard_group", _divisor_hint(replicas * w.context))
    each = replicas * config.micro_batch
    if config.global_batch and config.global_batch % each:
        reason = f"{replicas} replicas x micro_batch {config.micro_batch} = {each} does not divide global_batch {config.global_batch}"
        yield Problem("E-batch", reason, At() / "global_batch", f"a multiple of {each}")
    elif config.global_batch and config.micro_batches and config.micro_batches * each != config.global_batch:
        product = f"micro_batches {config.micro_batches} x {replicas} replicas x micro_batch {config.micro_batch}"
        reason = f"{product} = {config.micro_batches * each}, but global_batch is {config.global_batch}"
        yield Problem("E-batch", reason, At() / "micro_batches", f"{config.global_batch // each}, or leave it out")


def _format_problems(config: TrainingConfig, a: AcceleratorRates) -> Iterator[Problem]:
    """Yield formats that no trainer or not this accelerator computes in; `numbers` without a peak is a problem of the hardware."""
    if "numbers" in config.model_fields_set and config.numbers == "bf16" and "bf16" not in dict(a.flops):
        yield _format_problem(a, "bf16", "numbers", True)
    for field in ("numbers", "weight_numbers", "gradient_numbers"):
        numbers = getattr(config, field)
        if numbers in INFERENCE_ONLY and not a.is_tpu:  # MaxText trains in int8 (AQT)
            reason = f"no GPU trainer multiplies in {numbers}"
            yield Problem("E-numbers", reason, At() / field, nearest_format(numbers, dict(a.flops), trains=True))
        elif (field != "numbers" and numbers and a.peak(numbers) is None) or (numbers == "mxfp8" and _has_fp8_alone(a)):
            yield _format_problem(a, numbers, field, True)
        elif numbers in FROZEN_ONLY_FORMATS:
            fix = f"bf16; for the frozen base of an adapter use base_numbers: {numbers}"
            reason = f"{numbers} is a storage format of frozen weights; training in it is not possible"
            yield Problem("E-numbers", reason, At() / field, fix)
    if config.base_numbers and config.adapter is None:
        reason = f"base_numbers is {config.base_numbers}, but no adapter is set, so there is no frozen base"
        yield Problem("E-adapter", reason, At() / "base_numbers", 'adapter: {"type": "qlora"}')


def _has_fp8_alone(a: AcceleratorRates) -> bool:
    """Return whether the accelerator has fp8, but no scales per block: those came with fp4 (NVIDIA Blackwell, AMD CDNA 4, Trainium3)."""
    return a.peak("fp8") is not None and a.peak("fp4") is None


def _format_problem(a: AcceleratorRates, numbers: str, field: str, trains: bool) -> Problem:
    """Return the problem of a format without arithmetic. The nearest format comes first."""
    formats = ", ".join(name for name, _ in a.flops if not (trains and name in INFERENCE_ONLY))
    fix = f"{nearest_format(numbers, dict(a.flops), trains)}, the nearest of {formats}"
    return Problem("E-numbers", f"{a.name} has no {numbers} arithmetic", At() / field, fix)


def _adapter_problems(config: TrainingConfig, n: ModelDimensions) -> Iterator[Problem]:
    a, at = config.adapter, At() / "adapter"
    if a is None:
        return
    if n.hidden and a.rank > n.hidden:
        yield Problem("E-rank", f"rank {a.rank} exceeds the hidden size of {n.hidden:g}", at / "rank", f"at most {n.hidden:g}")
    if unknown := (target_matrices(a.targets) or frozenset()) - MATRICES:
        known = ", ".join(("all-linear", *TARGET_GROUPS, *sorted(MATRICES)))
        yield Problem("E-targets", f"unknown matrix {', '.join(sorted(unknown))[:80]}", at / "targets", f"one of {known}")
    if a.parameters and a.parameters > n.total:
        reason = f"{a.parameters:,.0f} trainable parameters exceed the model's {n.total:,.0f}"
        yield Problem("E-adapter", reason, at / "parameters", f"at most {n.total:.0f}")
    if a.virtual_tokens > config.sequence:
        reason = f"{a.virtual_tokens} virtual tokens exceed the sequence of {config.sequence} tokens"
        yield Problem("E-length", reason, at / "virtual_tokens", f"at most {config.sequence}")


def serving_problems(config: ServingConfig, n: ModelDimensions, a: AcceleratorRates, native: str = "bf16") -> Iterator[Problem]:
    """Yield every constraint that a serving configuration violates. native: format of the published weights."""
    needed = config.input_tokens + config.output_tokens
    yield from _model_problems(n)
    yield from _hardware_problems(config.hardware, a, config.weight_numbers, "weight_numbers")
    yield from _length_problems(config.max_context or needed, n, "max_context" if config.max_context else "input_tokens")
    if config.max_context and config.max_context < needed:
        reason = f"max_context {config.max_context:,} is less than the {needed:,.0f} tokens of a request"
        yield Problem("E-length", reason, At() / "max_context", f"at least {needed:.0f}")
    kv = config.kv_numbers
    if kv and kv not in CACHE_FORMATS:
        yield Problem("E-numbers", f"no engine supports a KV cache in {kv}", At() / "kv_numbers", f"one of {', '.join(CACHE_FORMATS)}")
    elif kv == "fp4" and a.peak("fp4") is None:
        yield Problem("E-numbers", f"{config.hardware.accelerator} has no fp4 arithmetic", At() / "kv_numbers", "fp8")
    yield from _load_problems(config)
    if config.loras and n.hidden and config.lora_rank > n.hidden:
        reason = f"lora_rank {config.lora_rank} exceeds the hidden size of {n.hidden:g}"
        yield Problem("E-rank", reason, At() / "lora_rank", f"at most {n.hidden:g}")
    if (config.prefill is None) != (config.decode is None):
        given, missing = ("prefill", "decode") if config.prefill else ("decode", "prefill")
        yield Problem("E-pools", f"{given} is set without {missing}", At() / missing, f"set {missing} too, or remove {given}")
    elif config.prefill and config.decode:
        for name, pool in (("prefill", config.prefill), ("decode", config.decode)):
            yield from _replica_layout_problems(pool.layout, pool.accelerators, n, At() / name / "layout")
        both = config.prefill.accelerators + config.decode.accelerators
        if both != config.hardware.count:
            reason = f"prefill and decode have {both} accelerators together, but hardware.count is {config.hardware.count}"
            yield Problem("E-pools", reason, At() / "hardware" / "count", f"count: {both}")
    else:
        yield from _replica_layout_problems(config.layout, config.hardware.count, n, At() / "layout")
    if native == "fp8" == config.weight_numbers:
        yield from _block_problems(config, n)


def _block_problems(config: ServingConfig, n: ModelDimensions) -> Iterator[Problem]:
    """Yield layouts that split a block of FP8 weights, which has one scale."""
    pools = (("prefill", config.prefill), ("decode", config.decode))
    layouts = [(At() / name / "layout", pool.layout) for name, pool in pools if pool] or [(At() / "layout", config.layout)]
    for at, w in layouts:
        width, shard = uneven_shard(n, w.tensor, w.expert)
        if shard:
            even = ", ".join(str(t) for t in range(1, w.tensor) if w.tensor % t == 0 and not uneven_shard(n, t, min(w.expert, t))[1])
            reason = f"tensor {w.tensor} splits {width:,.0f} columns into {shard:g}, no multiple of the {BLOCK} that share an FP8 scale"
            yield Problem("E-split", reason, at / "tensor", f"one of {even}")


def _replica_layout_problems(w: ServingLayout, count: int, n: ModelDimensions, at: At) -> Iterator[Problem]:
    yield from _width_problems(w.tensor, w.pipeline, n, at)
    each = w.tensor * w.pipeline * w.attention_data
    if w.expert > 1 and not n.is_moe:
        yield Problem("E-experts", f"expert is {w.expert}, but the model has no experts", at / "expert", "expert: 1")
    elif w.expert > 1 and (each % w.expert or w.expert > n.experts):
        limit = f"the {each} accelerators of a replica" if each % w.expert else f"the model's {n.experts:g} experts"
        reason = f"expert {w.expert} {'does not divide' if each % w.expert else 'exceeds'} {limit}"
        yield Problem("E-experts", reason, at / "expert", _divisor_hint(each))
    if count % each:
        reason = f"tensor x pipeline x attention_data = {each} does not divide the {count} accelerators"
        yield Problem("E-split", reason, at, f"a number of accelerators that is a multiple of {each}")
    elif w.replicas > 1 and w.replicas * each != count:
        reason = f"{w.replicas} replicas of {each} accelerators need {w.replicas * each}, but there are {count}"
        yield Problem("E-split", reason, at / "replicas", f"{count // each}")


def _load_problems(config: ServingConfig) -> Iterator[Problem]:
    if config.concurrency and config.concurrency < 1:
        yield Problem("E-load", f"concurrency {config.concurrency:g} is less than one request", At() / "concurrency", "at least 1")
    for field in ("concurrency", "requests"):
        if config.requests_per_s and getattr(config, field):
            reason = f"requests_per_s (open loop) and {field} are both set"
            yield Problem("E-load", reason, At() / "requests_per_s", f"leave out requests_per_s or {field}")
    if config.speculation and config.speculation.draft > config.output_tokens:
        reason = f"{config.speculation.draft} draft tokens exceed the answer of {config.output_tokens:g} tokens"
        yield Problem("E-load", reason, At() / "speculation" / "draft", f"at most {config.output_tokens:g}")
    if config.max_batched_tokens and config.max_batched_tokens < (config.max_sequences or 1):
        reason = f"max_batched_tokens {config.max_batched_tokens} is less than max_sequences {config.max_sequences}"
        yield Problem("E-load", reason, At() / "max_batched_tokens", f"at least {config.max_sequences}")
    if config.engine.loss or config.engine.attention == "eager":
        name = "loss" if config.engine.loss else "attention"
        yield Problem("E-engine", f"engine.{name} applies to training only", At() / "engine" / name, "leave it out")


def sample_problems(config: SampleConfig, n: ModelDimensions, a: AcceleratorRates) -> Iterator[Problem]:
    """Yield every constraint that a configuration of whole samples violates."""
    if not n.flops_per_sample:
        fix = "kind: training or kind: serving for a language model"
        yield Problem("E-model", "the model has no known FLOPs per sample", At() / "model", fix)
    if n.total > MAX_PARAMETERS:
        yield _too_many_parameters(n)
    yield from _hardware_problems(config.hardware, a, config.numbers, "numbers", config.train)
    if config.adapter and not config.train:
        yield Problem("E-adapter", "an adapter is set, but train is false", At() / "adapter", "train: true, or leave out adapter")


def _model_problems(n: ModelDimensions) -> Iterator[Problem]:
    if not n.layers:
        yield Problem("E-model", "the model has no layers that process tokens", At() / "model", "kind: samples")
    if n.total > MAX_PARAMETERS:
        yield _too_many_parameters(n)


def _too_many_parameters(n: ModelDimensions) -> Problem:
    reason = f"the model has {float(n.total):.2g} parameters, more than {MAX_PARAMETERS:.0e}"
    return Problem("E-model", reason, At() / "model", "correct layers, hidden or experts")


def _hardware_problems(h: HardwareConfig, a: AcceleratorRates, numbers: str, field: str, trains: bool = False) -> Iterator[Problem]:
    at = At() / "hardware"
    if a.name == UNNAMED:
        reason = f"{h.accelerator!r} does not identify an accelerator"
        yield Problem("E-accelerator", reason, at / "accelerator", "a name listed by `rackwright catalog accelerators`")
    if numbers not in ("fp32", "tf32") and not (a.reads(numbers) if field == "weight_numbers" else a.peak(numbers)):
        yield _format_problem(a, numbers, field, trains)
    if h.memory_gib and h.memory_gib > MAX_MEMORY_GIB:
        reason = f"memory_gib {h.memory_gib:g} exceeds {MAX_MEMORY_GIB} GiB per accelerator"
        yield Problem("E-memory", reason, at / "memory_gib", f"at most {MAX_MEMORY_GIB}")
    cap = h.power_watts or a.power_watts
    if cap and a.tdp_watts and cap < MIN_POWER_SHARE * a.tdp_watts:
        reason = f"a power cap of {cap:g} W is below {MIN_POWER_SHARE:.0%} of the accelerator's {a.tdp_watts:g} W"
        place = at / ("power_watts" if h.power_watts else "accelerator")
        yield Problem("E-power", reason, place, f"at least {MIN_POWER_SHARE * a.tdp_watts:g}")
    if h.slices > 1 and not a.is_tpu:
        yield Problem("E-slices", f"slices is {h.slices}, but {a.name} is not a TPU", at / "slices", "slices: 1")
    elif h.count % h.slices:
        yield Problem("E-slices", f"slices {h.slices} does not divide count {h.count}", at / "slices", _divisor_hint(h.count))
    elif a.is_tpu and (chips := h.count // h.slices) > a.domain:
        reason = f"count {h.count} over slices {h.slices} makes slices of {chips} chips; the largest slice of {a.name} has {a.domain}"
        yield Problem("E-slices", reason, at / "slices", f"slices: {math.ceil(h.count / a.domain)}")


def _length_problems(longest: float, n: ModelDimensions, field: str) -> Iterator[Problem]:
    if n.max_context and longest > n.max_context:
        reason = f"{longest:,.0f} tokens exceed the model's maximum context of {n.max_context:,.0f}"
        yield Problem("E-length", reason, At() / field, f"at most {n.max_context:.0f}")


def _width_problems(tensor: int, pipeline: int, n: ModelDimensions, at: At) -> Iterator[Problem]:
    if n.heads and n.heads % tensor:
        reason = f"tensor {tensor} does not divide the model's {n.heads:g} attention heads"
        yield Problem("E-heads", reason, at / "tensor", _divisor_hint(n.heads))
    if pipeline > max(n.layers, 1):
        reason = f"pipeline {pipeline} exceeds the model's {n.layers:g} layers"
        yield Problem("E-layers", reason, at / "pipeline", f"at most {n.layers:g}")


def _divisor_hint(whole: float, limit: int = 4096) -> str:
    """Return a fix that lists the divisors of `whole` up to `limit`."""
    return "one of " + ", ".join(str(i) for i in range(1, int(min(whole, limit)) + 1) if whole % i == 0)
