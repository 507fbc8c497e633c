"""Serving cases for tests: a catalog model on an accelerator; keywords set the rest."""

from rackwright.catalog.models import library
from rackwright.estimator.config import accelerators
from rackwright.estimator.model.from_architecture import model_dimensions
from rackwright.estimator.serving.case import ServingCase

WEIGHT_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "fp4": 0.5625, "nf4": 0.5159}


def served(model: str, accelerator: str, numbers: str = "bf16", **changed) -> ServingCase:
    found = library.find(model)
    assert found is not None, model
    a = accelerators.find(accelerator)
    kv = changed.pop("kv_element", 1.0 if numbers in ("fp8", "fp4") and changed.get("engine") == "trtllm" else 2.0)
    usual = {"linear_bytes": WEIGHT_BYTES[numbers], "kv_element": kv, "numbers": numbers, "concurrency": float("inf")}
    return ServingCase(model_dimensions(found.architecture), accelerators.chip(a, numbers), accelerators.links(a), **{**usual, **changed})
