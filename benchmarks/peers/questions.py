"""Scored rows in the words of each peer, or why it has no words for one: a gap. Numbers and texts in, plain data out.

A gap is what the peer cannot express or does not ship; what it answers is judged, whatever it leaves out.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Question = dict[str, Any]

CARDS = {
    "A100": "a100-sxm-80gb", "A100-80GB": "a100-sxm-80gb", "A100-40GB": "a100-sxm-40gb", "H100-80GB": "h100-sxm-80gb",
    "V100": "v100-sxm-32gb",
}  # fmt: skip
"""Printed accelerators among those llm-analysis ships."""
SYSTEMS = {
    "A100-80GB": "a100_sxm", "A100-40GB": "a100_sxm", "H100-80GB": "h100_sxm", "H200-141GB": "h200_sxm", "B200": "b200_sxm",
    "GB200": "gb200", "GB300": "gb300", "L40S": "l40s", "RTX-PRO-6000-Blackwell-SE": "rtx_pro_6000_server",
}  # fmt: skip
"""Printed accelerators among those aiconfigurator ships."""
ENGINES = {"trtllm": "trtllm", "tensorrt-llm": "trtllm", "vllm": "vllm", "sglang": "sglang"}
NAMES = {
    "Llama-3.1-8B": "meta-llama/Meta-Llama-3.1-8B", "meta-llama/Llama-3.1-8B-Instruct": "meta-llama/Meta-Llama-3.1-8B",
    "nvidia/Llama-3.1-8B-Instruct-FP8": "meta-llama/Meta-Llama-3.1-8B", "Llama-3.1-70B": "meta-llama/Meta-Llama-3.1-70B",
    "meta-llama/Llama-3.1-70B": "meta-llama/Meta-Llama-3.1-70B", "Llama-3.3-70B": "meta-llama/Meta-Llama-3.1-70B",
    "Llama-4-Scout": "meta-llama/Llama-4-Scout-17B-16E-Instruct", "Llama-4-Maverick": "meta-llama/Llama-4-Maverick-17B-128E-Instruct",
    "Mixtral-8x7B": "mistralai/Mixtral-8x7B-v0.1", "Mixtral-8x22B": "mistralai/Mixtral-8x22B-v0.1", "Qwen3-30B-A3B": "Qwen/Qwen3-30B-A3B",
    "zhipuai/GLM-5": "zai-org/GLM-5-FP8",
}  # fmt: skip
"""Printed models under the names of configurations it ships; equal widths count as equal."""
OWN_FORMATS = {
    "deepseek-ai/DeepSeek-R1": "fp8", "deepseek-ai/DeepSeek-V3": "fp8", "MiniMaxAI/MiniMax-M2.5": "fp8", "zai-org/GLM-5-FP8": "fp8",
    "moonshotai/Kimi-K2.5": "int4",
}  # fmt: skip
"""Number format of checkpoints that are published quantised."""
FORMATS = {
    "fp8": {"gemm_quant_mode": "fp8", "moe_quant_mode": "fp8", "kvcache_quant_mode": "fp8"},
    "fp4": {"gemm_quant_mode": "nvfp4", "moe_quant_mode": "nvfp4", "kvcache_quant_mode": "fp8"},
}


class Gap(Exception):
    """Why a peer has no answer."""


def asked(rows: Iterable[Any], words: Callable[[Any], Question]) -> tuple[list[Question], dict[str, str]]:
    """A question for each row, or its gap by row id. A row with several metrics is asked once."""
    questions: dict[str, Question] = {}
    gaps: dict[str, str] = {}
    for row in rows:
        if row.id in questions or row.id in gaps:
            continue
        try:
            questions[row.id] = {"id": row.id, **words(row)}
        except Gap as gap:
            gaps[row.id] = str(gap)
    return list(questions.values()), gaps


def training(row: Any, efficiency: float = 0.5) -> Question:
    """For llm-analysis. efficiency: share of peak FLOP/s; its own advice for training is 0.5."""
    case = row.case
    _refuse(case)
    n, experts = case.network, case.network.experts
    wide = 1.5 if n.gated else 1.0  # it counts two matrices: three of a gated layer keep their weights
    ffn = (n.expert_ffn if experts else n.ffn) * wide
    return {
        "gpu": _of(CARDS, row.cells, "hardware", "accelerator not in its list"),
        "efficiency": efficiency,
        "model": {
            "num_layers": n.layers, "n_head": n.heads, "hidden_dim": n.hidden, "vocab_size": n.vocab, "max_seq_len": int(case.sequence),
            "num_key_value_heads": n.kv_heads, "ffn_embed_dim": ffn, "expansion_ratio": ffn / n.hidden,
            "moe_num_experts": experts or 1, "moe_top_k": n.top_k or 1,
        },
        "layout": {
            "tp_size": int(case.tensor), "pp_size": int(case.pipeline), "dp_size": int(case.replicas), "ep_size": int(case.expert),
            "sp_size": int(case.tensor) if case.sequence_parallel else 1,
        },
        "recompute": int(case.recompute),
        "zero": int(case.zero_stage),
        "step": {
            "batch_size_per_gpu": int(case.micro_batch), "gradient_accumulation_steps": int(case.micro_batches),
            "seq_len": int(case.sequence), "flash_attn": bool(case.flash), "softmax_dropout": bool(case.dropout),
            "global_batch_size": int(case.micro_batch) * int(case.micro_batches) * int(case.replicas),
        },
    }  # fmt: skip


def _refuse(case: Any) -> None:
    """Raises Gap for what llm-analysis cannot express."""
    n = case.network
    whole = all(float(x) == int(x) > 0 for x in (case.micro_batch, case.micro_batches, case.replicas))
    gaps = (
        (case.chip.is_tpu, "TPU"),
        (case.adapter, "adapters on a frozen base"),
        (case.numbers not in ("bf16", "fp16"), "FP8 and FP4 training"),
        (not n.layers or not n.heads, "no layers of a decoder"),
        (n.kv_rank, "latent attention"),
        (n.experts and (n.shared_ffn or n.moe_layers < n.layers), "shared experts, or dense layers between expert layers"),
        (n.heads * n.head_dim != n.hidden, "attention wider or narrower than the hidden size"),
        (case.context > 1, "context parallelism"),
        (case.recompute and case.recompute_share < 1, "recompute of some layers only"),
        (case.offload_optimizer or case.offload_activations, "offload"),
        (not whole, "no whole micro-batches and replicas"),
    )
    for found, why in gaps:
        if found:
            raise Gap(why)


def serving(row: Any) -> Question:
    """For aiconfigurator. Rows of its own sample carry the sample's id, and are asked as the sample prints them."""
    case, cells = row.case, row.cells
    each = int(case.tensor) * int(case.attention_data)
    settings: Question = {
        "model_path": NAMES.get(cells["model"], cells["model"]),
        "system_name": _of(SYSTEMS, cells, "hardware", "accelerator without tables"),
        "backend_name": _of(ENGINES, {"framework": cells["framework"].lower().split(" ")[0]}, "framework", "engine without tables"),
        "isl": int(case.input), "osl": int(case.output), "tp_size": int(case.tensor), "pp_size": int(case.pipeline),
        "attention_dp_size": int(case.attention_data), **FORMATS.get(str(case.numbers), {}),
    }  # fmt: skip
    if case.network.experts:
        settings |= {"moe_ep_size": int(case.expert), "moe_tp_size": max(each // int(case.expert), 1)}
    if row.metric != "output_tok_s_per_accel":
        settings["batch_size"] = max(round(float(case.concurrency) / float(case.attention_data)), 1)
    own = re.search(r"silicon_sample\.csv id=(\S+)", cells["source_path"])
    native = OWN_FORMATS.get(settings["model_path"], "-") in cells["precision"].lower()
    return {"settings": settings, "own_formats": native, **({"sample": own.group(1)} if own else {})}


def _of(known: Mapping[str, str], cells: Mapping[str, str], column: str, why: str) -> str:
    printed = cells[column].strip()
    if printed not in known:
        raise Gap(f"{why}: {printed}")
    return known[printed]
