"""Constraints on a pinned configuration: every violation has its path, the failed condition and a fix."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from rackwright import UserError
from rackwright.estimator.config.jsonl import MAX_PROBLEMS, parse_configuration
from rackwright.estimator.estimate import estimate
from rackwright.estimator.estimate_lines import estimate_lines

from tests.estimator.configs import serving_data, training_data

MESSAGES = Path(__file__).with_name("messages.txt")
H100 = {"accelerator": "H100-80GB"}
THREE, A100 = H100 | {"count": 3}, {"accelerator": "A100-80GB", "count": 4}
SHAPE = {"layers": 2, "hidden": 256, "heads": 4, "ffn": 512, "vocab": 100}
MOE = {"model": "mixtral-8x7b"}
HALF = {"accelerators": 4, "layout": {"tensor": 4}}


def samples_data(**changed: Any) -> dict[str, Any]:
    """SDXL on one L4."""
    return {"kind": "samples", "model": "sdxl", "hardware": {"accelerator": "L4"}, **changed}


VIOLATED = {
    "tensor does not divide the heads": (training_data(layout={"tensor": 3}, hardware=THREE), "layout.tensor"),
    "more stages than layers": (training_data(layout={"pipeline": 64}, hardware={**H100, "count": 64}), "layout.pipeline"),
    "more virtual stages than layers": (training_data(layout={"pipeline": 8, "virtual": 8}), "layout.virtual"),
    "experts in a dense model": (training_data(layout={"expert": 8}), "layout.expert"),
    "experts that do not divide": (training_data(model="mixtral-8x7b", layout={"expert": 3}), "layout.expert"),
    "context that does not divide": (training_data(layout={"context": 8}, sequence=8190), "layout.context"),
    "a split that is no whole part": (training_data(layout={"tensor": 2, "data": 3}), "layout"),
    "a batch that cannot be shared": (training_data(global_batch=12), "global_batch"),
    "fp4 on an A100": (training_data(hardware={"accelerator": "A100-80GB", "count": 8}, numbers="fp4"), "numbers"),
    "fp8 on an A100": (training_data(hardware={"accelerator": "A100-80GB", "count": 8}, numbers="fp8"), "numbers"),
    "fp4 weights in training on an H100": (training_data(weight_numbers="fp4"), "weight_numbers"),
    "fp8 gradients on a T4": (training_data(hardware={"accelerator": "T4", "count": 8}, gradient_numbers="fp8"), "gradient_numbers"),
    "mxfp8 on an H100": (training_data(numbers="mxfp8"), "numbers"),
    "bf16 on a T4": (training_data(hardware={"accelerator": "T4", "count": 8}, numbers="bf16"), "numbers"),
    "training in int8": (training_data(numbers="int8"), "numbers"),
    "fp4 weights on a T4": (serving_data(hardware={"accelerator": "T4"}, model="llama-3.2-1b", weight_numbers="fp4"), "weight_numbers"),
    "longer than the model allows": (training_data(sequence=262144), "sequence"),
    "requests longer than the model": (serving_data(input_tokens=131072), "input_tokens"),
    "an accelerator nobody makes": (training_data(hardware={"accelerator": "H900"}), "hardware.accelerator"),
    "a model nobody published": (training_data(model="llama-9"), "model"),
    "slices of unequal size": (training_data(hardware={"accelerator": "v6e", "count": 256, "slices": 3}), "hardware.slices"),
    "one pool of two": (serving_data(prefill={"accelerators": 4}), "decode"),
    "10^30 parameters": (
        training_data(model={"layers": 10**30, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "ffn": 1, "vocab": 9}),
        "model.layers",
    ),
    "parameters beyond any model": (training_data(model=SHAPE | {"hidden": 2**59, "ffn": 2**59}), "model.hidden"),
    "a list for a number": (training_data(model={"layers": [1]}), "model.layers"),
    "a model of another type": (training_data(model=[1]), "model"),
    "tokens through a network without layers": (training_data(model="sdxl"), "model"),
    "answers of a network without layers": (serving_data(model="sdxl"), "model"),
    "samples of a language model": (samples_data(model="llama-3.1-8b"), "model"),
    "fp8 samples on an A100": (samples_data(hardware={"accelerator": "A100-80GB"}, numbers="fp8"), "numbers"),
    "an adapter that is not trained": (samples_data(adapter={"type": "lora"}), "adapter"),
    "a GPU without a name": (training_data(hardware={"accelerator": "gpu", "count": 8}), "hardware.accelerator"),
    "memory that is not made": (training_data(hardware={**H100, "memory_gib": 1e30}), "hardware.memory_gib"),
    "power that starts nothing": (training_data(hardware={**H100, "power_watts": 1}), "hardware.power_watts"),
    "power in the name": (training_data(hardware={"accelerator": "H100-80GB-1W"}), "hardware.accelerator"),
    "a slice larger than a pod": (training_data(hardware={"accelerator": "v6e", "count": 512}), "hardware.slices"),
    "slices of GPUs": (training_data(hardware={**H100, "count": 8, "slices": 2}), "hardware.slices"),
    "half-filled nodes": (training_data(hardware={**H100, "count": 12}, global_batch=12), "hardware.per_node"),
    "virtual stages without a pipeline": (training_data(layout={"virtual": 4}), "layout.virtual"),
    "interleaved, not virtual": (training_data(layout={"pipeline": 4, "schedule": "interleaved"}), "layout.virtual"),
    "more expert ranks than accelerators": (
        training_data(**MOE, layout={"expert": 8}, hardware={**H100, "count": 2}), "layout.expert",
    ),
    "more sharing than replicas": (training_data(layout={"shard": "hsdp", "shard_group": 64}), "layout.shard_group"),
    "two sizes of a batch": (training_data(micro_batches=999), "micro_batches"),
    "samples longer than the sequence": (training_data(packed=False, mean_length=9000), "mean_length"),
    "packed samples with a length": (training_data(mean_length=100), "mean_length"),
    "training in nf4": (training_data(numbers="nf4"), "numbers"),
    "weights trained in int4": (training_data(weight_numbers="int4"), "weight_numbers"),
    "a frozen base without adapter": (training_data(base_numbers="nf4"), "base_numbers"),
    "a rank wider than the model": (training_data(adapter={"type": "lora", "rank": 9999}), "adapter.rank"),
    "matrices nobody has": (training_data(adapter={"type": "lora", "targets": "q,foo"}), "adapter.targets"),
    "more trained than there is": (training_data(adapter={"type": "lora", "parameters": 1e15}), "adapter.parameters"),
    "a cache in nf4": (serving_data(kv_numbers="nf4"), "kv_numbers"),
    "a cache in fp4 on an H200": (serving_data(kv_numbers="fp4"), "kv_numbers"),
    "a context too short for its requests": (serving_data(max_context=1000), "max_context"),
    "two kinds of load": (serving_data(requests_per_s=3), "requests_per_s"),
    "a queued job that arrives": (serving_data(concurrency=None, requests_per_s=3, requests=9), "requests_per_s"),
    "less than a request": (serving_data(concurrency=1e-9), "concurrency"),
    "drafts longer than the answer": (serving_data(speculation={"draft": 9999, "acceptance": 0.5}), "speculation.draft"),
    "served experts of a dense model": (serving_data(layout={"tensor": 4, "expert": 4}), "layout.expert"),
    "expert ranks beyond a replica": (serving_data(**MOE, layout={"tensor": 4, "expert": 8}), "layout.expert"),
    "replicas that are not there": (serving_data(layout={"tensor": 2, "replicas": 7}), "layout.replicas"),
    "wider than the count": (serving_data(layout={"tensor": 8}), "layout"),
    "adapters wider than the model": (serving_data(loras=2, lora_rank=99999), "lora_rank"),
    "pools of more than there is": (serving_data(prefill=HALF, decode=HALF), "hardware.count"),
    "a pool narrower than its replica": (
        serving_data(prefill=HALF | {"accelerators": 2}, decode=HALF | {"accelerators": 2}), "prefill.layout",
    ),
}  # fmt: skip
INVALID = {
    "zero batch": ({"micro_batch": 0}, "micro_batch"),
    "negative batch": ({"global_batch": -16}, "global_batch"),
    "NaN": ({"sequence": float("nan")}, "sequence"),
    "infinity": ({"tokens": float("inf")}, "tokens"),
    "text": ({"sequence": "long"}, "sequence"),
    "half a sequence": ({"micro_batch": 0.5}, "micro_batch"),
    "an unknown key": ({"seq_len": 4096}, "seq_len"),
    "an unknown key inside": ({"layout": {"tp": 2}}, "layout.tp"),
    "an unknown number format": ({"numbers": "fp2"}, "numbers"),
    "more evaluations than a float holds": ({"evaluations": 10**400}, "evaluations"),
    "a number too long to print": ({"micro_batch": 10**5000}, "micro_batch"),
    "a kind that is a list": ({"kind": [1]}, "kind"),
    "a share of recompute above one": ({"recompute_share": 2}, "recompute_share"),
}


@pytest.mark.parametrize(("data", "path"), VIOLATED.values(), ids=VIOLATED)
def test_a_violated_constraint_has_its_path(data, path):
    assert str(_problem(data).at) == path


@pytest.mark.parametrize(("changed", "path"), INVALID.values(), ids=INVALID)
def test_an_invalid_value_has_its_path(changed, path):
    assert str(_problem(training_data(**changed)).at) == path


def test_every_message_states_the_condition_and_a_fix():
    cases = VIOLATED | {name: (training_data(**changed), path) for name, (changed, path) in INVALID.items()}
    problems = {name: _problem(data) for name, (data, _) in cases.items()}
    shown = "".join(f"{name}\n    {p.code} {p.at}: {p.reason}\n    fix: {p.fix}\n" for name, p in problems.items())
    if os.environ.get("RACKWRIGHT_RENEW") == "messages":
        MESSAGES.write_text(shown, encoding="utf-8")
    assert shown == MESSAGES.read_text(encoding="utf-8"), "RACKWRIGHT_RENEW=messages pytest tests/estimator/test_resolve.py"


def test_keys_of_other_tools_get_a_hint():
    assert _problem(training_data(seq_len=4096)).fix == "did you mean `sequence`?"
    assert _problem(training_data(layout={"tp": 2})).fix == "did you mean `tensor`?"


def test_a_quantised_adapter_has_a_quantised_base():
    said, meant = (estimate(training_data(adapter={"type": "qlora"}, **more)) for more in ({}, {"base_numbers": "nf4"}))
    assert said == meant


def test_assumptions_list_missing_fields():
    assert any("'foo'" in said for said in estimate(training_data(engine={"name": "foo"})).assumptions)
    on_v100 = estimate(training_data(hardware={"accelerator": "V100", "count": 8}))
    assert any("fp16" in said for said in on_v100.assumptions)
    assert "--fp16" in on_v100.launch["megatron"]
    assert "--bf16" not in on_v100.launch["megatron"]
    assert not any("fp16" in said or "engine" in said for said in estimate(training_data()).assumptions)


def test_an_engine_without_a_cache_pool_fits_when_its_cache_fits():
    assert estimate(serving_data(model="llama-3.1-8b", engine={"name": "transformers"}, layout={}, hardware={"accelerator": "H200"})).fits


@pytest.mark.parametrize("text", ['{"kind": "training", "kind": "serving"}', '{"sequence": ' + "9" * 5000 + "}", "[" * 100_000, "\0", "[]"])
def test_an_invalid_line_does_not_affect_others(text):
    first, second = estimate_lines(text + "\r\n" + json.dumps(training_data()))
    assert (first.estimate, bool(first.problems), second.problems) == (None, True, ())


def test_the_number_of_reported_problems_is_limited():
    with pytest.raises(UserError) as raised:
        parse_configuration(training_data(**{f"k{i}": 1 for i in range(5000)}))
    assert len(raised.value.problems) == MAX_PROBLEMS


def test_every_violated_constraint_is_reported_at_once():
    with pytest.raises(UserError) as raised:
        estimate(training_data(layout={"tensor": 3, "pipeline": 64, "expert": 2}, hardware={**H100, "count": 192}))
    assert [str(p.at) for p in raised.value.problems][:3] == ["layout.tensor", "layout.pipeline", "layout.expert"]


def _problem(data: dict[str, Any]):
    with pytest.raises(UserError) as raised:
        estimate(data)
    return raised.value.problems[0]


def test_vllm_allocates_the_next_rank_that_it_supports():
    weights = [estimate(serving_data(loras=16, lora_rank=rank)).memory.weights for rank in (24, 32)]
    assert weights[0] == weights[1]
