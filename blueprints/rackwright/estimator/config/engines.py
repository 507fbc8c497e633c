"""Trainers and servers by the names people print, as families with the defaults that decide memory and time.

A family is code that behaves alike: kernels, what it shards, what it keeps. Sources are the projects' own documentation of 2026-11.
"""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class EngineFamily:
    """compiled: kernels fused by torch.compile, XLA or hand-written fused modules; flash: no s x s scores in memory; fused_loss: whole
    logits are never held; weight, gradient, optimizer_bytes: per trained parameter in 16-bit training, fp32 master inside optimizer;
    gradient_bytes 6: 16-bit gradients beside an fp32 accumulator;
    sequence_parallel: norms are split along with tensor parallelism; zero_stage: what the data-parallel group shards unless said."""

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
    EngineFamily("trtllm", "serve", ("trtllm", "tensorrt-llm", "tensorrt", "trt-llm", "nim", "triton"), compiled=True),
    EngineFamily("sglang", "serve", ("sglang",), compiled=True),
    EngineFamily("vllm", "serve", ("vllm", "kserve", "ray serve"), compiled=True),
    EngineFamily("gpt-fast", "serve", ("gpt-fast", "gptfast"), compiled=True),
    EngineFamily("jetstream", "serve", ("jetstream", "saxml", "maxengine", "disaggregated tpu"), compiled=True),
    EngineFamily("fastertransformer", "serve", ("fastertransformer",), compiled=True),
    EngineFamily("tgi", "serve", ("text-generation-inference", "tgi", "lmdeploy", "deepspeed-mii", "lightllm"), compiled=True),
    EngineFamily("hf", "serve", ("transformers", "hf", "hugging", "pytorch", "torch", "litgpt", "lit-gpt", "qwen"), compiled=False),
)  # fmt: skip
"""First match wins, so the particular stands before the general."""

UNKNOWN_ENGINE = {"train": EngineFamily("other", "train", ()), "serve": EngineFamily("other", "serve", (), compiled=True)}


def engine_family(name: str, role: str) -> EngineFamily:
    """The family of a printed name; `other`, with common defaults, where none is known."""
    said = name.strip().lower()
    rows = [e for e in ENGINES if e.role == role]
    whole = next((e for e in rows if said == e.family), None)
    return whole or next((e for e in rows if any(part in said for part in e.names)), UNKNOWN_ENGINE[role])


def release_number(name: str, said: str = "") -> float:
    """Major * 100 + minor of the release that is printed in or beside the name; 0 where there is none. 0.12.0 is 12, 1.0.0rc3 is 100."""
    found = re.search(r"(\d+)\.(\d+)", said or name)
    return float(found.group(1)) * 100 + float(found.group(2)) if found else 0.0


def release_year(name: str, said: str = "") -> float:
    """When a release came out, as a year with its fraction: of calendar releases ("NeMo 25.09", "2025.11") and of years; 0 where neither
    name nor release says."""
    month = re.search(r"(?<!\d)(?:20)?(2\d)[.-](0[1-9]|1[0-2])(?![\d])", said) or re.search(r"(?<![\d.])(2\d)\.(0[1-9]|1[0-2])(?!\d)", name)
    if month:
        return 2000 + int(month.group(1)) + (int(month.group(2)) - 0.5) / 12
    years = re.findall(r"(?<!\d)20[12]\d(?!\d)", said)
    return int(years[-1]) + 0.5 if years else 0.0
