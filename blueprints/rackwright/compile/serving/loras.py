"""LoRA adapters of a model server: arguments of vLLM and SGLang, and where adapters are."""

from collections.abc import Iterator

from rackwright.compile.serving.model_server import WEIGHTS_PATH
from rackwright.compile.storage.buckets import HUB
from rackwright.estimator.launch_flags import allocated_rank
from rackwright.spec.workload import Serve

OF_WEIGHTS = "weights://"
"""Scheme of adapters in a folder below that of the weights."""
UPDATES = {"VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True"}
"""https://docs.vllm.ai/en/v0.27.0/features/lora/#dynamically-serving-lora-adapters"""


def vllm_lora_arguments(workload: Serve) -> Iterator[str]:
    if loras := workload.loras:
        yield from ("--enable-lora", f"--max-loras={loras.count}", f"--max-lora-rank={allocated_rank(loras.rank)}")
        if len(loras.adapters) > loras.count:
            yield f"--max-cpu-loras={len(loras.adapters)}"
        if loras.adapters:
            yield from ("--lora-modules", *_named(workload))


def sglang_lora_arguments(workload: Serve) -> Iterator[str]:
    """https://docs.sglang.io/advanced_features/lora.html"""
    if loras := workload.loras:
        yield from ("--enable-lora", f"--max-loras-per-batch={loras.count}", f"--max-lora-rank={loras.rank}")
        if loras.adapters:
            yield from ("--lora-paths", *_named(workload))


def _named(workload: Serve) -> list[str]:
    """name=path of each adapter; a repository of the hub is its own path, and is downloaded by the server."""
    adapters = workload.loras.adapters if workload.loras else {}
    return [f"{name}={_path(uri)}" for name, uri in adapters.items()]


def _path(uri: str) -> str:
    return f"{WEIGHTS_PATH}/{uri.removeprefix(OF_WEIGHTS)}" if uri.startswith(OF_WEIGHTS) else uri.removeprefix(HUB)
