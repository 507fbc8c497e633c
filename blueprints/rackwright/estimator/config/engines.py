"""Trainers and inference engines, grouped into families with the defaults that determine memory and time.

Members of a family share kernels, sharding and kept activations. Source: documentation of the projects, 2026-11.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class EngineFamily:
    """Defaults of one engine family.

    role: "train" or "serve"; names: substrings of printed names; compiled: kernels fused by torch.compile, XLA or hand-written modules;
    flash: no s x s scores in memory; fused_loss: whole logits are never stored; weight_bytes, gradient_bytes, optimizer_bytes: per trained
    parameter in 16-bit training, an fp32 master included in optimizer_bytes; gradient_bytes 6: 16-bit gradients and an fp32 accumulator;
    sequence_parallel: norms are split with tensor parallelism; zero_stage: default sharding of the data-parallel group.
    """

    family: str
    role: str
    names: tuple[str, ...]
    compiled: bool = False
    flash: bool = True
    fused_loss: bool = False
    weight_bytes: float = 2.0
    gradient_bytes: float = 4.0
    optimizer_bytes: float = 12.0
    sequence_parallel: bool = True
    zero_stage: int = 1


ENGINES = (
    EngineFamily("megatron-deepspeed", "train", ("megatron-deepspeed", "deepspeed-megatron"), flash=False, sequence_parallel=False),
    EngineFamily("automodel", "train", ("automodel",), zero_stage=3, weight_bytes=2.0, gradient_bytes=2.0, optimizer_bytes=8.0,
                 compiled=True),
    EngineFamily("megatron", "train", ("megatron", "nemo", "mcore", "transformer engine", "mxnet", "nvidia release", "primus", "mindspeed"),
           compiled=True),
    EngineFamily("composer", "train", ("composer", "llm-foundry", "llm foundry", "mosaic"), zero_stage=3, weight_bytes=4.0,
                 optimizer_bytes=8.0),
    EngineFamily("torchtitan", "train", ("torchtitan",), zero_stage=3, weight_bytes=4.0, optimizer_bytes=8.0),
    EngineFamily("nanotron", "train", ("nanotron",), gradient_bytes=6.0),
    EngineFamily("fsdp", "train", ("fsdp", "fairscale", "olmo-core", "metaseq", "fully shard"), zero_stage=3, weight_bytes=4.0,
           optimizer_bytes=8.0),
    EngineFamily("unsloth", "train", ("unsloth",), compiled=True, fused_loss=True, zero_stage=0, gradient_bytes=2.0),
    EngineFamily("torchtune", "train", ("torchtune",), fused_loss=True, zero_stage=0, gradient_bytes=2.0, optimizer_bytes=4.0),
    EngineFamily("litgpt", "train", ("litgpt", "lit-gpt", "lit-llama", "lightning"), zero_stage=0, gradient_bytes=2.0, optimizer_bytes=4.0),
    EngineFamily("deepspeed", "train", ("deepspeed", "openrlhf"), zero_stage=3, gradient_bytes=2.0),
    EngineFamily("hf", "train", ("transformers", "hf", "hugging", "peft", "swift", "llama-factory", "axolotl", "trl", "accelerate",
                        "longlora"), zero_stage=0, gradient_bytes=2.0, optimizer_bytes=4.0),
    EngineFamily("maxtext", "train", ("maxtext", "levanter", "jax", "pax", "t5x", "torch_xla", "torchxla", "xla", "tpu", "easylm", "flax",
                                "diffusion", "palm"), compiled=True, zero_stage=3, weight_bytes=4.0, optimizer_bytes=8.0),
    EngineFamily("optimum-habana", "train", ("habana", "gaudi", "optimum"), zero_stage=1),
    EngineFamily("pytorch", "train", ("pytorch", "torch"), compiled=False, zero_stage=0),
    EngineFamily("neuron", "serve", ("neuron",), compiled=True),
    EngineFamily("habana", "serve", ("habana", "gaudi"), compiled=True),
    EngineFamily("llama.cpp", "serve", ("llama.cpp", "llama-cpp", "ctransformers", "ollama"), compiled=True),
    EngineFamily("exllama", "serve", ("exllama", "tabbyapi"), compiled=True),
    EngineFamily("trtllm", "serve", ("trtllm", "tensorrt-llm", "tensorrt", "trt-llm", "nim", "triton", "optimum nvidia",
                             "optimum-nvidia"), compiled=True),
    EngineFamily("sglang", "serve", ("sglang",), compiled=True),
    EngineFamily("jetstream", "serve", ("jetstream", "saxml", "maxengine", "disaggregated tpu", "rvllm"), compiled=True),
    EngineFamily("vllm", "serve", ("vllm", "kserve", "ray serve"), compiled=True),
    EngineFamily("gpt-fast", "serve", ("gpt-fast", "gptfast"), compiled=True),
    EngineFamily("mlc", "serve", ("mlc", "tinychat", "ctranslate", "autoawq"), compiled=True),
    EngineFamily("fastertransformer", "serve", ("fastertransformer",), compiled=True),
    EngineFamily("tgi", "serve", ("text-generation-inference", "tgi", "lmdeploy", "deepspeed-mii", "lightllm"), compiled=True),
    EngineFamily("hf", "serve", ("transformers", "hf", "hugging", "pytorch", "torch", "litgpt", "lit-gpt", "lightning", "qwen",
                         "autogptq"), compiled=False),
)  # fmt: skip
"""Families by priority: the first match is used, so specific names come before general ones."""

UNKNOWN_ENGINE = {"train": EngineFamily("other", "train", ()), "serve": EngineFamily("other", "serve", (), compiled=True)}


def engine_family(name: str, role: str) -> EngineFamily:
    """Return the family of a printed name, or UNKNOWN_ENGINE with common defaults. role: "train" or "serve"."""
    lower = name.strip().lower()
    rows = [e for e in ENGINES if e.role == role]
    exact = next((e for e in rows if lower == e.family), None)
    return exact or next((e for e in rows if any(part in lower for part in e.names)), UNKNOWN_ENGINE[role])


def release_number(name: str, release: str = "") -> float:
    """Return major * 100 + minor of the release, taken from `release` or the name; 0 without one. 0.12.0 is 12, 1.0.0rc3 is 100."""
    found = re.search(r"(\d+)\.(\d+)", release or name)
    return float(found.group(1)) * 100 + float(found.group(2)) if found else 0.0


def release_year(name: str, release: str = "") -> float:
    """Return the release date as a year with its fraction, from calendar versions ("NeMo 25.09", "2025.11") or years; 0 when unknown."""
    month = re.search(r"(?<!\d)(?:20)?(2\d)[.-](0[1-9]|1[0-2])(?![\d])", release)
    month = month or re.search(r"(?<![\d.])(2\d)\.(0[1-9]|1[0-2])(?!\d)", name)
    if month:
        return 2000 + int(month.group(1)) + (int(month.group(2)) - 0.5) / 12
    years = re.findall(r"(?<!\d)20[12]\d(?!\d)", release)
    return int(years[-1]) + 0.5 if years else 0.0
