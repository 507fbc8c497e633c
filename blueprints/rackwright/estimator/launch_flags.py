"""Command-line flags that run a configuration with torchrun, Megatron, MaxText or vLLM.

Versions: Megatron-LM core 0.14, vLLM 0.12, PyTorch 2.9 torchrun, MaxText of 2026-10. Paths of data and checkpoints are not included.
"""

import json
from bisect import bisect_left
from collections.abc import Iterator

from rackwright.catalog.models.architecture import Architecture
from rackwright.estimator.config.configuration import ServingConfig, ServingLayout, TrainingConfig
from rackwright.estimator.training.activations import SPLIT_BACKWARD

MEGATRON_NUMBERS = {
    "bf16": "--bf16", "fp16": "--fp16", "fp8": "--bf16 --fp8-format hybrid", "mxfp8": "--bf16 --fp8-format e4m3 --fp8-recipe mxfp8",
    "fp4": "--bf16 --fp4-format e2m1",
}  # fmt: skip
MEGATRON_FSDP = {"zero2": "optim_grads", **dict.fromkeys(("zero3", "fsdp", "hsdp"), "optim_grads_params")}
"""Shard -> sharding strategy of Megatron-FSDP."""
OFFLOAD_MODULES, EXPERT_OFFLOAD_MODULES = "attn_norm core_attn attn_proj mlp_norm", " expert_fc1 moe_act"
"""Modules whose inputs Megatron-Core can offload to the host (docs/source/api-guide/fine_grained_activation_offloading.md)."""
VLLM_CACHE_DTYPES = {"fp8": "fp8", "int8": "int8_per_token_head", "fp4": "nvfp4"}
"""Cache format -> --kv-cache-dtype (vllm-project/vllm@002f10e, vllm/config/cache.py, CacheDType)."""
VLLM_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values of --max-lora-rank (vllm-project/vllm v0.26.0, vllm/config/lora.py, MaxLoRARanks)."""
VLLM_QUANTIZATIONS = {"fp8": "fp8", "int8": "compressed-tensors", "int4": "awq", "nf4": "bitsandbytes", "fp4": "modelopt_fp4"}
"""Weight format -> --quantization."""


def allocated_rank(rank: int) -> int:
    """The rank for which vLLM allocates memory: the next one that it supports, and its highest for ranks above."""
    return VLLM_RANKS[min(bisect_left(VLLM_RANKS, rank), len(VLLM_RANKS) - 1)]


def training_flags(config: TrainingConfig, a: Architecture, per_node: int, is_tpu: bool = False) -> dict[str, str]:
    """Return launcher -> flags: torchrun and Megatron on GPUs, MaxText on TPUs."""
    if is_tpu:
        return {"maxtext": " ".join(_maxtext(config))}
    nodes = -(-config.hardware.count // per_node)
    each = min(per_node, config.hardware.count)
    torchrun = f"torchrun --nnodes={nodes} --nproc-per-node={each} --rdzv-backend=c10d --rdzv-endpoint=$MASTER_ADDR:29500"
    # Megatron-LM has neither schedules with delayed weight gradients nor offloaded weights, so its command is left out
    if config.layout.schedule in SPLIT_BACKWARD or "parameters" in config.offload:
        return {"torchrun": torchrun}
    flags = (*_megatron_model(config, a), *_megatron_layout(config, per_node), *_megatron_memory(config, a))
    return {"torchrun": torchrun, "megatron": " ".join(flags)}


def serving_flags(config: ServingConfig) -> dict[str, str]:
    """Return launcher -> `vllm serve` command of one replica; disaggregated: one command per pool."""
    if config.prefill is None or config.decode is None:
        return {"vllm": " ".join(_vllm(config, config.layout))}
    sides = {"prefill": (config.prefill.layout, "kv_producer"), "decode": (config.decode.layout, "kv_consumer")}
    transfer = {name: json.dumps({"kv_connector": "NixlConnector", "kv_role": role}) for name, (_, role) in sides.items()}
    return {
        f"vllm-{name}": " ".join((*_vllm(config, layout), f"--kv-transfer-config '{transfer[name]}'"))
        for name, (layout, _) in sides.items()
    }


def _megatron_model(config: TrainingConfig, a: Architecture) -> Iterator[str]:
    yield f"--num-layers {a.layers} --hidden-size {a.hidden} --ffn-hidden-size {a.ffn or a.expert_ffn} --num-attention-heads {a.heads}"
    if a.kv_lora_rank:
        yield f"--multi-latent-attention --kv-lora-rank {a.kv_lora_rank} --qk-head-dim {a.qk_nope_head_dim}"
        yield f"--qk-pos-emb-head-dim {a.qk_rope_head_dim} --v-head-dim {a.v_head_dim}"
        if a.q_lora_rank:
            yield f"--q-lora-rank {a.q_lora_rank}"
    else:
        yield f"--kv-channels {a.head_dim}"
        if a.kv_heads != a.heads:
            yield f"--group-query-attention --num-query-groups {a.kv_heads}"
    if a.gated_ffn:
        yield "--swiglu"
    if not a.tied_embeddings:
        yield "--untie-embeddings-and-output-weights"
    if a.norm == "rmsnorm":
        yield "--normalization RMSNorm"
    if a.is_moe:
        yield f"--num-experts {a.experts} --moe-router-topk {a.experts_per_token} --moe-ffn-hidden-size {a.expert_ffn} --moe-grouped-gemm"
        if a.shared_experts:
            yield f"--moe-shared-expert-intermediate-size {a.shared_experts * a.shared_expert_ffn}"
    yield f"--seq-length {config.sequence} --max-position-embeddings {max(a.max_context or 0, config.sequence)}"


def _megatron_layout(config: TrainingConfig, per_node: int) -> Iterator[str]:
    w = config.layout
    yield f"--tensor-model-parallel-size {w.tensor} --pipeline-model-parallel-size {w.pipeline} --context-parallel-size {w.context}"
    if w.virtual > 1:
        yield f"--num-virtual-stages-per-pipeline-rank {w.virtual}"
    if w.expert > 1:
        yield f"--expert-model-parallel-size {w.expert} --expert-tensor-parallel-size {w.expert_tensor or 1}"
        yield "--moe-token-dispatcher-type alltoall"
    if w.tensor > 1 and w.sequence_parallel is not False:
        yield "--sequence-parallel"
    if strategy := MEGATRON_FSDP.get(w.shard or ""):
        yield f"--use-megatron-fsdp --data-parallel-sharding-strategy {strategy} --ckpt-format fsdp_dtensor"
        yield "--use-distributed-optimizer --no-gradient-accumulation-fusion"
        if w.shard == "hsdp":
            group = config.hardware.count // (w.tensor * w.pipeline)  # shard_group accelerators, or a node, hold all weights
            yield f"--num-distributed-optimizer-instances {max(group // min(w.shard_group or per_node, group), 1)}"
    elif w.shard != "none":
        yield "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather"
    batch = f" --global-batch-size {config.global_batch}" if config.global_batch else ""
    yield f"--micro-batch-size {config.micro_batch}{batch} {MEGATRON_NUMBERS.get(config.numbers, '')}".rstrip()


def _megatron_memory(config: TrainingConfig, a: Architecture) -> Iterator[str]:
    if config.recompute == "full":
        yield "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1"
    elif config.recompute == "selective":
        yield "--recompute-granularity selective"
    if "optimizer" in config.offload:
        yield "--optimizer-cpu-offload --overlap-cpu-optimizer-d2h-h2d --use-precision-aware-optimizer"
    if "activations" in config.offload:
        yield f"--fine-grained-activation-offloading --offload-modules {OFFLOAD_MODULES}{EXPERT_OFFLOAD_MODULES if a.is_moe else ''}"
    if config.engine.attention == "eager":
        yield "--attention-backend unfused"
    if config.engine.loss == "fused":
        yield "--cross-entropy-loss-fusion --cross-entropy-fusion-impl te"


def _maxtext(config: TrainingConfig) -> Iterator[str]:
    w, h = config.layout, config.hardware
    each = (config.global_batch or config.micro_batch * h.count) / h.count
    yield f"max_target_length={config.sequence} per_device_batch_size={each:.12g}"
    yield f"ici_tensor_parallelism={w.tensor} ici_fsdp_parallelism=-1 dcn_data_parallelism={h.slices}"
    if w.context > 1:
        yield f"ici_context_parallelism={w.context}"
    if w.expert > 1:
        yield f"ici_expert_parallelism={w.expert}"
    yield f"remat_policy={ {'none': 'minimal', 'selective': 'save_qkv_proj', 'full': 'full'}[config.recompute] }"
    if config.numbers in ("fp8", "int8"):
        yield f"quantization={config.numbers}"


def _vllm(config: ServingConfig, w: ServingLayout) -> Iterator[str]:
    yield "vllm serve" + (f" {config.model}" if isinstance(config.model, str) else " MODEL")
    yield f"--tensor-parallel-size {w.tensor}"
    if w.pipeline > 1:
        yield f"--pipeline-parallel-size {w.pipeline}"
    if w.attention_data > 1:
        yield f"--data-parallel-size {w.attention_data}"
    if w.expert > 1:
        yield "--enable-expert-parallel"
    if config.weight_numbers == "fp16":
        yield "--dtype half"
    if config.weight_numbers in VLLM_QUANTIZATIONS:
        yield f"--quantization {VLLM_QUANTIZATIONS[config.weight_numbers]}"
    if config.kv_numbers in VLLM_CACHE_DTYPES:
        yield f"--kv-cache-dtype {VLLM_CACHE_DTYPES[config.kv_numbers]}"
    yield f"--max-model-len {config.max_context or round(config.input_tokens + config.output_tokens)}"
    for flag, value in (("--max-num-seqs", config.max_sequences), ("--max-num-batched-tokens", config.max_batched_tokens),
                        ("--gpu-memory-utilization", config.memory_share)):  # fmt: skip
        if value is not None:
            yield f"{flag} {value:g}"
    if config.prefix_hit_rate:
        yield "--enable-prefix-caching"
    if config.loras:
        yield f"--enable-lora --max-loras {config.loras} --max-lora-rank {allocated_rank(config.lora_rank)}"
    if config.speculation:
        draft = {"method": "eagle3", "model": "DRAFT", "num_speculative_tokens": config.speculation.draft}
        yield f"--speculative-config '{json.dumps(draft)}'"
