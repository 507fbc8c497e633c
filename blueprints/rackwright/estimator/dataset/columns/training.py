"""Conversion of rows of the training and fine-tuning files to configurations. Blank parallelism columns are inferred from the others."""

import re
from typing import Any

from rackwright.catalog.read import Catalog
from rackwright.estimator.config.configuration import TrainingConfig
from rackwright.estimator.dataset.columns.architecture import RowArchitecture, row_architecture
from rackwright.estimator.dataset.columns.cells import PrintedRow, UnsupportedRow
from rackwright.estimator.dataset.columns.hardware import accelerator_count, hardware_fields
from rackwright.estimator.model.from_architecture import count_parameters

DEFAULT_SEQUENCE = 2048
"""Sequence length when a row has none: that of most published runs."""
TPU_TOKENS = 32768
"""Tokens per chip and step when a TPU row has no batch; published recipes use 8,192 to 65,536."""
STEP_TOKENS = 2**21
"""Tokens per pretraining step when a row has no batch; GPT-3, LLaMA and similar models used 1.5 to 4 million."""
NUMBER_FORMATS = (
    ("fp32", ("fp32", "float32")), ("mxfp8", ("mxfp8", "fp8-mx", "finer-grained", "mx 1x32", "rowwise")),
    ("fp4", ("nvfp4", "mxfp4", "fp4")), ("fp8", ("fp8",)), ("bf16", ("bf16", "bfloat16")),
    ("fp16", ("fp16", "float16", "half")), ("tf32", ("tf32",)), ("int4", ("int4", "w4a", "4bit", "4-bit", "awq", "gptq", "q4_")),
    ("int8", ("int8", "w8a", "8bit", "8-bit", "q8_")),
)  # fmt: skip
"""Format -> words for it. The first match decides."""
FROZEN_FORMATS = (("nf4", ("nf4", "bnb-4bit", "bnb 4bit", "bitsandbytes 4")), ("fp4", ("fp4",)), ("int8", ("int8", "8bit", "8-bit")),
          ("int4", ("int4", "int2", "4bit", "4-bit", "gptq", "awq")))  # fmt: skip
FULL_RECOMPUTE = re.compile(
    r"full|block|uniform|yes|true|on\b|1\b|enabled|(gradient|activation)[ _]checkpointing|checkpointing|every layer|all layers"
)
"""Recompute cells that mean full recompute; all others are selective."""
FUSED_LOSS = re.compile(r"liger|chunked cross|loss_fusion|fused cross|fused linear")
MODULES = (("norms", "layernorm"), ("mlp", " mlp"), ("act", "moe_act"), ("up", "up_proj"))
"""Module -> its word in "selective ([layernorm mla_up_proj mlp moe_act])"."""
OFFLOADS = (("optimizer", ("optim",)), ("activations", ("activation",)), ("parameters", ("param", "weight")))
SHARDS = (
    ("zero0", "none"), ("zero1", "zero1"), ("zero2", "zero2"), ("zero3", "zero3"), ("shardgrad", "zero2"), ("grad+opt", "zero2"),
    ("hybrid", "hsdp"), ("hsdp", "hsdp"), ("fsdp", "fsdp"), ("fullshard", "fsdp"), ("fullyshard", "fsdp"), ("distributedoptim", "zero1"),
    ("distoptim", "zero1"),
)  # fmt: skip
"""Words for sharding without separators -> shard. The first match decides."""
ADAPTERS = (
    "lora", "qlora", "peft-other", "adapter", "adapter-v2", "prompt-tuning", "p-tuning", "prefix-tuning", "dora", "qdora", "llamapro",
)  # fmt: skip
SOFT_PROMPT = re.compile(r"prompt|p[_-]tuning|prefix|cartridge")
"""Methods that train vectors before the sequence, not matrices."""
MATRICES = {"q_proj": "q", "k_proj": "k", "v_proj": "v", "o_proj": "o", "gate_proj": "gate", "up_proj": "up", "down_proj": "down",
            "c_attn": "q,k,v", "query_key_value": "q,k,v", "self_attn": "q,k,v,o"}  # fmt: skip

UNPRINTED_RANK = (("torchtune", 8), ("deepspeed", 64))
"""Default ranks of torchtune's recipes, and of DeepSpeed scripts of model publishers (Qwen's finetune.py)."""


def training_config(row: PrintedRow, catalog: Catalog | None = None) -> tuple[TrainingConfig, RowArchitecture]:
    """Return the training configuration of a row. Raises UnsupportedRow, BrokenCell, or pydantic's ValidationError."""
    if row.lower("method") == "inference":
        raise UnsupportedRow("method is inference, which is not a training run")
    found = row_architecture(row)
    sequence = row.count("seq_len") or DEFAULT_SEQUENCE
    layout = _layout_fields(row, found)
    config = TrainingConfig.model_validate(
        {
            "id": row.id,
            "model": found.model,
            "hardware": hardware_fields(row, catalog),
            "engine": row_engine(row),
            "sequence": sequence,
            "layout": layout,
            "numbers": row_number_format(row) or "bf16",
            "tokens": row.number("tokens_total"),
            "recompute": row_recompute(row),
            **_batch_fields(row, layout),
            **_precision_fields(row),
            **_adapter_fields(row, found),
        }
    )
    return config, found


def row_number_format(row: PrintedRow) -> str | None:
    """Return the format of the matrix products; None when the row has none."""
    return next((name for name, words in NUMBER_FORMATS if any(w in row.lower("precision") for w in words)), None)


def row_engine(row: PrintedRow) -> dict[str, Any]:
    notes = f"{row.notes} {row.lower('framework')}"
    off = re.search(r"(?<!no )\beager\b|flash-?attention off", notes)
    return {
        "name": row.text("framework") or "pytorch",
        "release": row.text("as_of"),
        "compiled": True if re.search(r"(?<!no )compile", notes) or "liger" in notes else False if re.search(r"\beager\b", notes) else None,
        "attention": "flash" if re.search(r"flash-?attention(-2)?( on)?\b(?! off)", notes) else "eager" if off and "off" in notes else None,
        "loss": "fused" if FUSED_LOSS.search(f"{notes} {row.lower('model')}") else None,
    }


def row_recompute(row: PrintedRow) -> str:
    """Return none, selective or full; blank is none. TPU policies that offload or save projections, and minimal, are selective."""
    cell = row.lower("recompute")
    if re.match(r"(none|no|off|false|disabled|without|0)\b", cell) or not cell:
        return "none"
    return "full" if FULL_RECOMPUTE.match(cell) else "selective"


def measurement_fields(row: PrintedRow, pipeline: float) -> dict[str, float]:
    """Return the fields of a TrainingCase for the kind of memory peak and the modules of selective recompute.

    Megatron's tests log on the last rank, which is the last stage. Allocated or active memory excludes the allocator reserve.
    """
    kind, named = row.lower("mem_kind"), row.lower("recompute") if "[" in row.lower("recompute") else ""
    allocated = re.search(r"allocated|active|breakdown|activation memory", kind) and "reserved" not in kind
    return {
        "measures_reserved": float(not allocated),
        "measured_stage": pipeline - 1 if "logging rank" in row.lower("mem_scope") else -1.0,
        **{f"recompute_{part}": float(word in named) for part, word in MODULES},
    }


def _precision_fields(row: PrintedRow) -> dict[str, Any]:
    precision, optimizer, notes, offload = row.lower("precision"), row.lower("optimizer"), row.notes, row.lower("offload")
    usual = next((name for name in ("muon", "sgd") if name in optimizer), "adamw")
    found: dict[str, Any] = {
        "optimizer": "adamw-8bit" if re.search(r"8[-_]?bit", optimizer) else usual,
        "optimizer_in_backward": "backward" in optimizer,
        "weight_numbers": "fp32" if "mixed" in precision or "fp32 weights" in notes else None,
        "gradient_numbers": "bf16" if "mode pure" in notes else None,
        "offload": [part for part, words in OFFLOADS if any(w in offload for w in words)],
        "routing": "balanced",
    }
    if "qkv_proj_offloaded" in row.lower("recompute"):
        found["offload"] = ["activations"]
    return found


def _layout_fields(row: PrintedRow, found: RowArchitecture) -> dict[str, Any]:
    """Return parallelism and sharding. When several columns are blank, the batch gives the number of accelerators per replica."""
    tensor, pipeline, context, data = (row.count(c) for c in ("tp", "pp", "cp", "dp"))
    accelerators = accelerator_count(row)
    if row.csv == "tpu_training":
        printed = re.search(r"x tp(\d+)", row.lower("shard"))
        tensor = tensor or (int(printed.group(1)) if printed else None)
        batch, replicas = row.count("global_batch"), accelerators // (tensor or 1)
        if batch and batch < replicas and replicas % batch == 0:  # a batch smaller than the number of chips uses context parallelism
            context = replicas // batch
    elif tensor is None and pipeline is None and context is None:
        tensor, pipeline = _infer_tensor_pipeline(row, accelerators, data)
    split = (tensor or 1) * (pipeline or 1) * (context or 1)
    shard = row.lower("shard")
    group = re.search(r"group (\d+)", shard) or re.search(r"fsdp(\d+)", shard)
    experts = found.architecture.experts  # NeMo Automodel spreads experts over all replicas; other trainers do not
    expert = min(accelerators // split, experts) or None if experts and "automodel" in row.lower("framework") else None
    layout = {
        "tensor": tensor, "pipeline": pipeline, "context": context, "virtual": row.count("vp"),
        "expert": row.count("ep") or expert,
        "data": data if data and data * split == accelerators else max(accelerators // split, 1),
        "shard": _shard(shard, row), "shard_group": int(group.group(1)) if group and int(group.group(1)) > 1 else None,
        "sequence_parallel": True if "sequence parallel" in f"{row.notes} {row.lower('recompute')}" else None,
    }  # fmt: skip
    return {k: v for k, v in layout.items() if v is not None}


def _shard(printed: str, row: PrintedRow) -> str | None:
    if not printed:
        return "none" if "not sharded" in row.lower("optimizer") else "fsdp" if row.csv == "tpu_training" else None
    bare = re.sub(r"[\s_-]|stage", "", printed)
    stage = next((stage for word, stage in SHARDS if word in bare), None)
    if stage:
        return "fsdp" if stage == "zero3" and "fsdp" in printed else stage
    megatron = re.search(r"megatron|nemo", row.lower("framework"))
    return None if printed == "ddp" and megatron else "none"


def _infer_tensor_pipeline(row: PrintedRow, accelerators: int, data: int | None) -> tuple[int | None, int | None]:
    """Return tensor, at most 8, and pipeline of one replica, from global batch = replicas x accumulation x micro-batch."""
    batch, steps = row.count("global_batch"), row.count("grad_accum")
    copies = data or (batch // (steps * (row.count("micro_batch") or 1)) if batch and steps else None)
    one = accelerators // copies if copies and accelerators % copies == 0 else 1
    tensor = next(t for t in (8, 4, 2, 1) if one % t == 0)
    return (tensor, one // tensor) if one > 1 else (None, None)


def _batch_fields(row: PrintedRow, layout: dict[str, Any]) -> dict[str, Any]:
    """Return micro-batch and micro-batches of one replica."""
    whole, micro, steps, replicas = row.count("global_batch"), row.count("micro_batch"), row.count("grad_accum"), layout["data"]
    if micro and "local batch fed" in row.notes:
        micro, steps, whole = 1, micro, None
    sequence = row.count("seq_len") or DEFAULT_SEQUENCE
    if row.csv == "tpu_training":
        per_chip, tensor = row.number("per_device_batch"), layout.get("tensor", 1)
        each = per_chip * tensor * layout.get("context", 1) if per_chip else None
        return {"micro_batch": max(round(each or (whole / replicas if whole else TPU_TOKENS / sequence * tensor)), 1), "micro_batches": 1}
    each = micro or (max(round(whole / replicas / steps), 1) if whole and steps else 1)
    usual = max(round(STEP_TOKENS / (replicas * each * sequence)), 1)
    count = max(round(whole / replicas / each), 1) if whole else steps or (usual if row.csv == "training_throughput" else None)
    return {"micro_batch": each, "global_batch": whole, "micro_batches": count}


def _adapter_fields(row: PrintedRow, found: RowArchitecture) -> dict[str, Any]:
    method, kind, quantised = row.lower("method"), row.lower("peft_type"), row.lower("quantization")
    base = next((n for n, words in FROZEN_FORMATS if any(w in quantised for w in words)), None)
    adapted = method in ADAPTERS or "lora" in f"{method} {kind}" or bool(SOFT_PROMPT.search(kind))
    if not adapted or kind.startswith("full"):
        return {}
    base = base or ("nf4" if re.search(r"\bqd?o?lora", f"{method} {kind}") else None)
    soft = bool(SOFT_PROMPT.search(f"{method} {kind}"))
    trained = row.count("trainable_params")
    virtual = round(trained / found.architecture.hidden) if soft and trained and found.architecture.hidden else 0
    framework = row.lower("framework")
    printed = row.lower("peft_targets") or ("q,v" if "peft" in framework and "peft_targets" not in row.cells else "")
    rank = row.count("peft_rank") or next((rank for name, rank in UNPRINTED_RANK if name in framework), 16)
    names = [MATRICES.get(part, part) for part in re.findall(r"[a-z_]+", printed)]
    targets = sorted({n for name in names for n in name.split(",")} & set("qkvo") | {n for n in names if n in ("gate", "up", "down")})
    is_all = not printed or "linear" in printed or printed.startswith("all")
    if "embeddings and output head" in printed and not trained:  # trained with the adapters
        matrices = (m for b in count_parameters(found.architecture).layers for m in b.matrices)
        trained = float(2 * found.architecture.vocab * found.architecture.hidden + sum(m.adapter(rank) for m in matrices))
    adapter = {
        "type": ("prompt" if "prompt" in f"{method} {kind}" else "p-tuning") if soft else "qlora" if base else "lora",
        "rank": rank,
        "targets": "all-linear" if is_all else ",".join(targets) or "all-linear",
        "virtual_tokens": virtual if 0 < virtual <= 1000 else 0,
        "parameters": trained,
    }
    return {"adapter": adapter, "base_numbers": base, "double_quantised": base == "nf4" and ("dq" in quantised or "bnb" not in quantised)}
