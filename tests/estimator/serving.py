"""Serving cases as the tests want them: a catalog model on a named accelerator, everything else by keyword."""

from rackwright.catalog import models
from rackwright.estimator import hardware
from rackwright.estimator.model import network_of
from rackwright.estimator.serving_case import ServingCase

WEIGHT_BYTES = {"bf16": 2.0, "fp16": 2.0, "fp8": 1.0, "fp4": 0.5625, "nf4": 0.5159}


def served(model: str, accelerator: str, numbers: str = "bf16", **said) -> ServingCase:
    found = models.find(model)
    assert found is not None, model
    a = hardware.find(accelerator)
    kv = said.pop("kv_element", 1.0 if numbers in ("fp8", "fp4") and said.get("engine") == "trtllm" else 2.0)
    usual = {"linear_bytes": WEIGHT_BYTES[numbers], "kv_element": kv, "numbers": numbers, "concurrency": float("inf")}
    return ServingCase(network_of(found.architecture), hardware.chip(a, numbers), hardware.wires(a), **{**usual, **said})
