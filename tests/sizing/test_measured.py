"""A handful of measured runs; skipped, visibly, where the collection is not beside the repository."""

from collections.abc import Iterator
from dataclasses import replace
from statistics import mean

import pytest
from rackwright.estimate import flops
from rackwright.estimate.model import network_of
from rackwright.estimate.network import Network
from rackwright.sizing import serving
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.job import TrainingJob
from rackwright.sizing.layouts import Pins
from rackwright.sizing.memory import Split, training_terms
from rackwright.sizing.priors import decode
from rackwright.sizing.recipe import Recipe
from rackwright.sizing.serving import Engine, Load
from rackwright.sizing.target import Machines, Target
from rackwright.sizing.train import best_training

from tests.sizing.helpers import network, servers
from tests.sizing.measured import FOLDER, HARDWARE, Row, dense_network, number, rows

GB, GIB = 1e9, 2**30
"""Lightning AI prints 10^9, the others 2^30."""
LLAMA_2_7B_LORA = 8 * 32 * 2 * (4096 + 4096)
"""Rank 8 on queries and values."""

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no measured runs at {FOLDER.name}; set RACKWRIGHT_MEASURED")


def printed(row_id: str) -> float:
    return float(next(r for r in rows("finetune_memory") if r["row_id"] == row_id)["mem_printed"])


def expected_bytes(n: Network, nf4: bool, tokens: int, recompute: int) -> float:
    recipe = Recipe(trainable=LLAMA_2_7B_LORA, linear_bytes=DEFAULT.nf4_bytes if nf4 else 2.0)
    terms = training_terms(n, recipe, Split(tokens=tokens, recompute=recompute), DEFAULT)
    return float(terms.allocated) * DEFAULT.reserved_per_allocated


@pytest.mark.parametrize(
    ("row", "unit", "nf4", "tokens", "recompute"),
    [
        ("FM0011", GB, False, 1304, 0),  # litgpt LoRA r8 on q, v
        ("FM0012", GB, True, 1304, 0),  # the same on nf4
        ("FM0013", GB, True, 1304, 0),  # with double quantisation
        ("FM0014", GB, False, 2 * 1304, 0),
        ("FM0095", GIB, True, 4 * 2048, 1),  # torchtune QLoRA
        ("FM0096", GIB, False, 4 * 2048, 1),  # torchtune LoRA
        ("FM0433", GIB, False, 4 * 1024, 1),  # LLaMA-Factory LoRA
        ("FM0436", GIB, True, 4 * 1024, 1),
    ],
)
def test_adapter_memory_of_llama_2_7b_within_a_quarter(row, unit, nf4, tokens, recompute):
    assert expected_bytes(network("llama-2-7b"), nf4, tokens, recompute) == pytest.approx(printed(row) * unit, rel=0.25)


def test_the_network_of_a_row_is_the_catalogs():
    from rackwright.catalog import models

    assert network_of(models.find("llama-2-7b").architecture).total == pytest.approx(6.74e9, rel=0.001)


def roomy(target: Target) -> Target:
    return replace(target, chip=replace(target.chip, memory_bytes=1e13))


def step_errors() -> Iterator[float]:
    """Predicted over measured tokens per second, less one, of dense bf16 pretraining with sequences the efficiencies were taken from."""
    for row in rows("training_throughput"):
        n, hw = dense_network(row), HARDWARE.get(row["hardware"][:4])
        s, batch, gpus, measured = (int(number(row, k)) for k in ("seq_len", "global_batch", "accel_count", "tokens_per_s_per_gpu"))
        plain = row["precision"] == "bf16" and row["evidence"] == "measured" and row["hardware"].endswith("0GB") and s < 32000
        if n is None or hw is None or not (plain and batch and gpus and measured):
            continue
        machines = Machines.of([roomy(servers(max(gpus // 8, 1), hw[0], node_bytes_per_s=hw[3].node_bytes_per_s))])
        zero, recompute = (3 if "ZeRO-3" in row["shard"] else None), ("full" if row["recompute"] == "full" else "none")
        split = {key: int(number(row, field, 1)) for key, field in (("tensor", "tp"), ("pipeline", "pp"), ("micro_batch", "micro_batch"))}
        pins = Pins(**split, context=1, zero=zero, recompute=recompute)
        job = TrainingJob(n, Recipe(), "full", "bf16", s, s, flops.training_flops_per_token(n, s) * s, batch, batch, pins)
        found = best_training(job, machines, DEFAULT)[0]
        if found.speed.tokens_per_s is not None and gpus % 8 == 0:
            yield found.speed.tokens_per_s / gpus / measured - 1


def test_dense_training_speed_is_right_on_average():
    """In sample: says that waiting is not counted twice, not how well a new model is met."""
    errors = list(step_errors())
    assert len(errors) > 120
    assert abs(mean(errors)) < 0.05
    assert mean(map(abs, errors)) < 0.13


def decode_error(row: Row, n: Network, engine: str) -> float:
    name, peak, bandwidth, links = HARDWARE[row["hardware"][:4]]
    precision, tensor = row["precision"], int(number(row, "tp", 1))
    element = 1.0 if "fp8" in row["kv_cache_precision"] else 2.0
    weights = serving.weight_bytes(n, precision)
    e = Engine(peak * (2 if precision == "fp8" else 1), 1e12, bandwidth, tensor, links.scale_up_bytes_per_s, weights, element,
               decode(engine, False, name))  # fmt: skip
    load = Load(number(row, "isl"), number(row, "isl"), number(row, "osl"), number(row, "osl"), 0.0)
    return float(serving.decode_seconds(n, e, number(row, "concurrency"), load, DEFAULT)) * 1e3 / number(row, "tpot_ms") - 1


def decode_errors() -> Iterator[tuple[int, float]]:
    engines = {"trt": "tensorrt-llm", "tensorrt": "tensorrt-llm", "vllm": "vllm"}
    for row in rows("inference_throughput"):
        engine = next((v for k, v in engines.items() if k in row["framework"].lower()), None)
        known = all(number(row, key) for key in ("tpot_ms", "isl", "osl", "concurrency")) and row["precision"] in ("bf16", "fp8")
        plain = "saturated" not in row["notes"] and number(row, "pp", 1) <= 1 and row["disaggregated"] not in ("true", "1")
        n = dense_network(row) if engine and known and plain and row["hardware"][:4] in ("H100", "H200", "B200") else None
        if n is not None:
            yield int(number(row, "tp", 1)), decode_error(row, n, engine or "")


def test_dense_decode_steps_are_as_good_as_the_fit_on_one_device_and_on_eight():
    errors = list(decode_errors())
    assert len(errors) > 120
    assert mean(abs(e) for _, e in errors) < 0.15
    for tensor in (1, 2, 4, 8):
        assert abs(mean(e for t, e in errors if t == tensor)) < 0.15, tensor
