"""Small configurations for the tests of the estimator."""

from typing import Any

from rackwright.estimator.config.configuration import Configuration
from rackwright.estimator.config.jsonl import parse_configuration


def training_data(**changed: Any) -> dict[str, Any]:
    """Llama 3.1 8B on 8 x H100 with torchtitan; `changed` replaces keys at the top."""
    return {
        "kind": "training", "model": "llama-3.1-8b", "hardware": {"accelerator": "H100-80GB", "count": 8}, "engine": {"name": "torchtitan"},
        "sequence": 8192, "micro_batch": 1, "global_batch": 16, "recompute": "selective", **changed,
    }  # fmt: skip


def serving_data(**changed: Any) -> dict[str, Any]:
    """Llama 3.1 70B in fp8 on 4 x H200 with vLLM, 32 requests in flight."""
    return {
        "kind": "serving", "model": "llama-3.1-70b", "hardware": {"accelerator": "H200", "count": 4}, "engine": {"name": "vLLM 0.12.0"},
        "input_tokens": 1024, "output_tokens": 512, "layout": {"tensor": 4}, "concurrency": 32, "weight_numbers": "fp8", **changed,
    }  # fmt: skip


def training(**changed: Any) -> Configuration:
    return parse_configuration(training_data(**changed))


def serving(**changed: Any) -> Configuration:
    return parse_configuration(serving_data(**changed))
