"""Conversion of a pinned configuration to the case that the formulas take, with catalog data and engine defaults."""

from collections.abc import Iterator
from typing import Any

from rackwright.catalog.models.architecture import Architecture
from rackwright.catalog.networks import find_network
from rackwright.catalog.read import Catalog
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.estimator.case import RECOMPUTE, Chip, Links, TrainingCase
from rackwright.estimator.config import accelerators
from rackwright.estimator.config.configuration import (
    EngineConfig,
    HardwareConfig,
    SampleConfig,
    ServingConfig,
    ServingPool,
    TrainingConfig,
)
from rackwright.estimator.config.constraints import serving_problems, training_problems
from rackwright.estimator.config.engines import EngineFamily, engine_family, release_number, release_year
from rackwright.estimator.config.sample_engines import sample_engine
from rackwright.estimator.launch_flags import allocated_rank
from rackwright.estimator.model.adapters import adapter_inputs
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.from_architecture import architecture_of, count_parameters, model_dimensions
from rackwright.estimator.model.layer_parameters import lora_parameters, prefix_parameters, prompt_parameters
from rackwright.estimator.sample_case import SampleCase
from rackwright.estimator.serving import memory
from rackwright.estimator.serving.case import ServingCase
from rackwright.estimator.serving.speculation import speculation_fields
from rackwright.units import GIB

BYTES_PER_WEIGHT = {
    "fp32": 4.0, "tf32": 4.0, "bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "mxfp8": 1.03125, "int8": 1.01, "fp4": 0.5625, "int4": 0.53,
}  # fmt: skip
"""Bytes per weight of a matrix with its scales (mxfp8: one byte per 32; nvfp4: one per 16; int4: groups of 128). nf4: see below."""
NF4_BYTES_PER_WEIGHT = {False: 0.5 + 4 / 64, True: 0.5 + 1 / 64 + 4 / (64 * 256)}
"""Double quantization -> bytes per nf4 weight: fp32 scales per block of 64, or 8-bit scales of scales (QLoRA, arXiv 2305.14314, sec. 3)."""
SAME_NETWORK_TOLERANCE = 0.2
"""Relative difference of FLOPs below which a model of the catalog and a published network of its name are the same network."""
ZERO_STAGES = {"none": 0, "zero1": 1, "zero2": 2, "zero3": 3, "fsdp": 3, "hsdp": 3}
MOMENT_BYTES = {"adamw-bf16": 4.0, "adamw-8bit": 2 * 1.016, "sgd": 4.0, "muon": 4.0}
"""Bytes of moments per trained parameter; adamw: those of the engine. 8-bit Adam keeps 1.6 % of scales (bitsandbytes), Muon one fp32 moment
(arXiv 2502.16982). An fp32 master weight is added when the engine keeps one beside a 16-bit weight."""
MASTER_BYTES, MIN_BYTES_WITH_MASTER = 4.0, 12.0
"""Bytes of the fp32 copy of a 16-bit weight, and the least state size of engines that keep one."""
STAGE_MICRO_BATCH_TRAINERS = ("torchtitan",)
"""Trainers that split the batch into as many micro-batches as pipeline stages by default (torchtitan, pipeline_parallel_microbatches)."""
BITSANDBYTES = ("nf4", "fp4", "int8")
KBIT_TRAINERS = ("hf", "deepspeed")
"""Trainers that prepare a bitsandbytes base with PEFT, which casts unquantized parameters to fp32."""
REAL_ROUTING_IMBALANCE = 1.3
"""Tokens of the fullest expert rank over the mean with a trained router. Assumption of rackwright, 2026-11; not measured."""
KV_ELEMENT_BYTES = {"fp8": 1.0, "int8": 1.0, "fp4": 0.5625}
MEMORY_SHARE = 0.9
"""Default gpu_memory_utilization of vLLM; TensorRT-LLM's free_gpu_memory_fraction is 0.9 of the memory beside the weights."""
BATCHED_TOKENS = 8192.0
"""Default max_num_batched_tokens of recent vLLM releases on large GPUs, and max_num_tokens of TensorRT-LLM."""
FP8_CACHE_ENGINES = ("trtllm", "habana")
"""Engines whose 8-bit checkpoints have an 8-bit cache: TensorRT-LLM follows NVIDIA's FP8 and NVFP4 checkpoints, which specify it; Optimum
Habana's FP8 configuration quantizes the cache (750 sequences of 2,176 tokens of Llama 2 70B take 535 GB in 16 bit, four Gaudi 2 have
384 GB). Others cache in 16 bit."""
ALL_MEMORY_ENGINES = ("tgi",)
"""Engines that take all memory that is free at the start (text-generation-inference, CUDA_MEMORY_FRACTION 1.0)."""
GRAPHS_SINCE = {"vllm": 3.0, "tgi": 200.0}
"""First release that captures decode steps in CUDA graphs: vLLM 0.2.7 (January 2024; release 3 is 0.3), TGI 2.0 (April 2024)."""
GGUF_INT4_BYTES = 0.61
"""Bytes per weight of Q4_K_M: 4.58 GiB for the 8.03 billion weights of Llama 3 8B (llama.cpp, tools/quantize/README.md)."""


def training_case(config: TrainingConfig, *, checked: bool = True, catalog: Catalog | None = None) -> TrainingCase:
    """Convert a training configuration to a case.

    checked: False for measured runs, which are valid by definition. catalog: of the accelerator, default: the embedded one.
    Raises UserError with every violated constraint.
    """
    architecture = architecture_of(config.model)
    n, h, e = model_dimensions(architecture), config.hardware, engine_family(config.engine.name, "train")
    a = found_accelerator(h, catalog)
    chip, links = chip_and_links(a, h, config.numbers)
    if checked:
        raise_problems(training_problems(config, n, a))
    return TrainingCase(
        network=n,
        chip=chip,
        links=links,
        sequence=float(config.sequence),
        micro_batch=float(config.micro_batch),
        trainable=_trainable(config, architecture, n),
        moe_imbalance=REAL_ROUTING_IMBALANCE if config.routing == "real" and n.is_moe else 1.0,
        mean_length=0.0 if config.packed else float(config.mean_length or 0.0),
        numbers=config.numbers,
        **_layout_fields(config, links, e),
        recompute=float(RECOMPUTE.index(config.recompute)),
        recompute_share=config.recompute_share,
        offload_optimizer=float("optimizer" in config.offload),
        offload_activations=float("activations" in config.offload),
        offload_parameters=float("parameters" in config.offload),
        fused_backward=float(config.optimizer_in_backward),
        fused_loss=float(e.fused_loss if config.engine.loss is None else config.engine.loss == "fused"),
        **_state_fields(config, e),
        **_adapter_fields(config, architecture, e),
        **_kernel_fields(config.engine, e),
    )


def sample_case(config: SampleConfig, *, catalog: Catalog | None = None) -> SampleCase:
    """Convert a configuration of whole samples to a case. catalog: of the accelerator, default: the embedded one. Raises UserError."""
    architecture, h = architecture_of(config.model), config.hardware
    n = model_dimensions(architecture)
    chip, _ = chip_and_links(found_accelerator(h, catalog), h, config.numbers)
    network = find_network(config.model) if isinstance(config.model, str) else None
    same = network if network and abs(network.flops / n.flops_per_sample - 1) < SAME_NETWORK_TOLERANCE else None
    task = "inference" if not config.train else "adapter" if config.adapter else "training"
    return SampleCase(
        network=n, chip=chip, batch=float(config.batch), task=task, numbers=config.numbers, engine=sample_engine(config.engine.name),
        compiled=float(bool(config.engine.compiled)), operation=same.operation if same else "", passes=float(config.passes),
        accelerators=float(h.count), recompute=float(config.recompute == "full"), activations=same.moved if same else 0.0,
        kernels=float(same.layers) if same else 0.0,
    )  # fmt: skip


def _layout_fields(config: TrainingConfig, links: Links, e: EngineFamily) -> dict[str, Any]:
    """Return the fields of parallelism and sharding. Without expert parallelism, experts are split like every other matrix."""
    w, count = config.layout, config.hardware.count
    replicas = w.data or max(count // (w.tensor * w.pipeline * w.context), 1)
    usual = w.pipeline if e.family in STAGE_MICRO_BATCH_TRAINERS else 1
    sequences = config.global_batch or replicas * config.micro_batch * usual
    group = replicas * w.context
    return {
        "accelerators": float(count),
        "micro_batches": float(config.micro_batches or max(sequences // (replicas * config.micro_batch), 1)),
        "tensor": float(w.tensor),
        "pipeline": float(w.pipeline),
        "virtual": float(w.virtual),
        "context": float(w.context),
        "expert": float(w.expert),
        "expert_tensor": float(w.expert_tensor or (w.tensor if w.expert == 1 else 1)),
        "schedule": w.schedule,
        "replicas": float(replicas),
        "shards": float(w.shard_group or (min(int(links.per_node), group) if w.shard == "hsdp" else group)),
        "zero_stage": float(ZERO_STAGES[w.shard] if w.shard else e.zero_stage),
        "sequence_parallel": float(e.sequence_parallel if w.sequence_parallel is None else w.sequence_parallel),
        "slices": float(config.hardware.slices),
    }


def _state_fields(config: TrainingConfig, e: EngineFamily) -> dict[str, float]:
    """Return the bytes per trained parameter. fp32 weights need no master copy, and 16-bit states have none."""
    weight = BYTES_PER_WEIGHT.get(config.weight_numbers or "", e.weight_bytes)
    master = MASTER_BYTES if e.optimizer_bytes >= MIN_BYTES_WITH_MASTER and config.optimizer != "adamw-bf16" else 0.0
    moments = MOMENT_BYTES.get(config.optimizer, e.optimizer_bytes - master)
    return {
        "weight_bytes": weight,
        "gradient_bytes": BYTES_PER_WEIGHT.get(config.gradient_numbers or "", e.gradient_bytes),
        "optimizer_bytes": moments + (master if weight < MASTER_BYTES else 0.0),
    }


def _adapter_fields(config: TrainingConfig, architecture: Architecture, e: EngineFamily) -> dict[str, Any]:
    """Return the fields of an adapter on a frozen base; empty without an adapter."""
    adapter = config.adapter
    if adapter is None:
        return {}
    prompts = adapter.type in ("p-tuning", "prompt")
    base = config.base_numbers or ("nf4" if adapter.type == "qlora" else "")
    return {
        "adapter": 1.0,
        "passes": 4.0,
        "virtual_tokens": float(adapter.virtual_tokens) if prompts else 0.0,
        "adapter_inputs": 0.0 if prompts else adapter_inputs(count_parameters(architecture).layers, adapter.targets),
        "frozen_bytes": NF4_BYTES_PER_WEIGHT[config.double_quantised] if base == "nf4" else BYTES_PER_WEIGHT.get(base, 2.0),
        "frozen_numbers": base,
        "frozen_other_bytes": 4.0 if e.family in KBIT_TRAINERS and base in BITSANDBYTES else 2.0,
    }


def _kernel_fields(engine: EngineConfig, e: EngineFamily) -> dict[str, Any]:
    return {
        "engine": e.family,
        "compiled": float(e.compiled if engine.compiled is None else engine.compiled),
        "flash": float(e.flash if engine.attention is None else engine.attention == "flash"),
        "released": release_year(engine.name, engine.release),
    }


def serving_case(
    config: ServingConfig, pool: ServingPool | None = None, *, checked: bool = True, catalog: Catalog | None = None
) -> ServingCase:
    """Convert a serving configuration to the case of one replica.

    pool: one side of a disaggregated deployment; None: the whole deployment. checked, catalog, errors: as in `training_case`.
    """
    architecture = architecture_of(config.model)
    n, h, e = model_dimensions(architecture), config.hardware, engine_family(config.engine.name, "serve")
    a = found_accelerator(h, catalog)
    chip, links = chip_and_links(a, h, config.weight_numbers)
    if checked:
        raise_problems(serving_problems(config, n, a, architecture.weights_format))
    w = pool.layout if pool else config.layout
    replicas = max((pool.accelerators if pool else h.count) // (w.tensor * w.pipeline * w.attention_data), 1)
    kv = config.kv_numbers or ("fp8" if e.family in FP8_CACHE_ENGINES and config.weight_numbers in ("fp8", "fp4") else "bf16")
    return ServingCase(
        network=n,
        chip=chip,
        links=links,
        tensor=float(w.tensor),
        pipeline=float(w.pipeline),
        expert=float(w.expert),
        attention_data=float(w.attention_data),
        replicas=float(replicas),
        linear_bytes=_weight_bytes(config.weight_numbers, e),
        numbers=config.weight_numbers,
        kv_element=KV_ELEMENT_BYTES.get(kv, BYTES_PER_WEIGHT.get(kv, 2.0)),
        kv_numbers=kv,
        release=release_number(config.engine.name, config.engine.release),
        adapters=float(config.loras),
        adapter_rank=float(allocated_rank(config.lora_rank) if e.family == "vllm" else config.lora_rank),
        **_load_fields(config, replicas, e, memory.has_small_vllm_defaults(chip)),
        **(speculation_fields(s.draft, s.acceptance, s.draft_share) if (s := config.speculation) else {}),
        **{name: value for name, value in _kernel_fields(config.engine, e).items() if name not in ("released", "compiled")},
        compiled=float(_has_graphs(config.engine, e)),
    )


def _weight_bytes(numbers: str, e: EngineFamily) -> float:
    if numbers == "int4" and e.family == "llama.cpp":
        return GGUF_INT4_BYTES
    return NF4_BYTES_PER_WEIGHT[True] if numbers == "nf4" else BYTES_PER_WEIGHT[numbers]


def _has_graphs(engine: EngineConfig, e: EngineFamily) -> bool:
    """Return whether decode steps run from captured graphs or compiled programs."""
    if engine.compiled is not None:
        return engine.compiled
    return e.compiled and not 0 < release_number(engine.name, engine.release) < GRAPHS_SINCE.get(e.family, 0.0)


def _load_fields(config: ServingConfig, replicas: int, e: EngineFamily, has_small_defaults: bool) -> dict[str, float]:
    """Return the load of one replica and the limits of its engine."""
    is_server = config.concurrency is not None or config.requests_per_s is not None
    is_small_server = e.family == "vllm" and has_small_defaults and is_server
    return {
        "input": float(config.input_tokens),
        "output": float(config.output_tokens),
        "concurrency": min(config.concurrency, config.requests or config.concurrency) / replicas if config.concurrency else float("inf"),
        "rate": (config.requests_per_s or 0.0) / replicas,
        "requests": (config.requests or 0.0) / replicas,
        "open_loop": float(config.requests_per_s is not None and config.concurrency is None),
        "cached_share": config.prefix_hit_rate,
        "memory_share": config.memory_share or (1.0 if e.family in ALL_MEMORY_ENGINES else MEMORY_SHARE),
        "batched_tokens": float(config.max_batched_tokens or (memory.SMALL_VLLM_BATCHED_TOKENS if is_small_server else BATCHED_TOKENS)),
        "varied": float(config.varied_lengths),
        "max_sequences": float(config.max_sequences or 0),
        "max_context": float(config.max_context or 0),
    }


def found_accelerator(h: HardwareConfig, catalog: Catalog | None = None) -> accelerators.AcceleratorRates:
    """Return the rates of a configuration's accelerator. catalog: default: the embedded one. Raises UserError for an unknown one."""
    try:
        return accelerators.find(h.accelerator, catalog)
    except accelerators.UnknownAccelerator:
        reason = f"{h.accelerator[:60]!r} is not an accelerator with published peak and bandwidth"
        fix = "a name listed by `rackwright catalog accelerators`"
        raise UserError([Problem("E-accelerator", reason, At() / "hardware" / "accelerator", fix)]) from None


def chip_and_links(a: accelerators.AcceleratorRates, h: HardwareConfig, numbers: str) -> tuple[Chip, Links]:
    """Return accelerator and links with the values that a configuration overrides. numbers: format of the matrix products."""
    memory = h.memory_gib * GIB if h.memory_gib else None
    chip = accelerators.chip(a, numbers, memory, h.power_watts)
    return chip, accelerators.links(a, h.per_node, h.scale_up_gb_s, h.scale_up_domain, h.scale_out_gb_s, h.count // h.slices)


def raise_problems(problems: Iterator[Problem]) -> None:
    found = list(problems)
    if found:
        raise UserError(found)


def _trainable(config: TrainingConfig, architecture: Architecture, n: ModelDimensions) -> float:
    a = config.adapter
    if a is None:
        return n.trunk
    if a.parameters:
        return float(a.parameters)
    if a.type == "p-tuning":
        return float(prefix_parameters(architecture.layers, architecture.kv_heads, architecture.head_dim, a.virtual_tokens or 20))
    if a.type == "prompt":
        return float(prompt_parameters(architecture.hidden, a.virtual_tokens or 20))
    return float(lora_parameters(count_parameters(architecture).layers, a.rank, a.targets)) or 0.005 * n.total
