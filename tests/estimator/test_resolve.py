"""The laws a pinned configuration must keep: each broken one is named with path and reason."""

from typing import Any

import pytest
from rackwright import UserError
from rackwright.estimator.estimate import estimate

from tests.estimator.configs import serving_data, training_data

H100 = {"accelerator": "H100-80GB"}
THREE, A100 = H100 | {"count": 3}, {"accelerator": "A100-80GB", "count": 4}
BROKEN = {
    "tensor does not divide the heads": (training_data(layout={"tensor": 3}, hardware=THREE), "layout.tensor", "32 attention heads"),
    "more stages than layers": (training_data(layout={"pipeline": 64}, hardware={**H100, "count": 64}), "layout.pipeline", "32 layers"),
    "more virtual stages than layers": (training_data(layout={"pipeline": 8, "virtual": 8}), "layout.virtual", "32 layers"),
    "experts in a dense model": (training_data(layout={"expert": 8}), "layout.expert", "no experts"),
    "experts that do not divide": (training_data(model="mixtral-8x7b", layout={"expert": 3}), "layout.expert", "8 experts"),
    "context that does not divide": (training_data(layout={"context": 8}, sequence=8190), "layout.context", "8190"),
    "a split that is no whole part": (training_data(layout={"tensor": 2, "data": 3}), "layout", "does not make 8"),
    "a batch that cannot be shared": (training_data(global_batch=12), "global_batch", "batch of 12"),
    "fp4 on an A100": (training_data(hardware={"accelerator": "A100-80GB", "count": 8}, numbers="fp4"), "numbers", "no fp4"),
    "fp8 on an A100": (training_data(hardware={"accelerator": "A100-80GB", "count": 8}, numbers="fp8"), "numbers", "no fp8"),
    "fp4 weights on an A100": (serving_data(hardware=A100, weight_numbers="fp4"), "weight_numbers", "no fp4"),
    "longer than the model allows": (training_data(sequence=262144), "sequence", "131,072"),
    "requests longer than the model": (serving_data(input_tokens=131072), "input_tokens", "131,072"),
    "an accelerator nobody makes": (training_data(hardware={"accelerator": "H900"}), "hardware.accelerator", "no accelerator"),
    "a model nobody published": (training_data(model="llama-9"), "model", "llama-9"),
    "slices of unequal size": (training_data(hardware={"accelerator": "v6e", "count": 256, "slices": 3}), "hardware.slices", "3 slices"),
    "one pool of two": (serving_data(prefill={"accelerators": 4}), "decode", "together"),
    "10^30 parameters": (
        training_data(model={"layers": 10**30, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "ffn": 1, "vocab": 9}),
        "model.layers", "",
    ),
}  # fmt: skip
UNREADABLE = {
    "zero batch": ({"micro_batch": 0}, "micro_batch"),
    "negative batch": ({"global_batch": -16}, "global_batch"),
    "NaN": ({"sequence": float("nan")}, "sequence"),
    "infinity": ({"tokens": float("inf")}, "tokens"),
    "text": ({"sequence": "long"}, "sequence"),
    "half a sequence": ({"micro_batch": 0.5}, "micro_batch"),
    "an unknown key": ({"seq_len": 4096}, "seq_len"),
    "an unknown key inside": ({"layout": {"tp": 2}}, "layout.tp"),
    "an unknown number format": ({"numbers": "fp2"}, "numbers"),
}


@pytest.mark.parametrize(("data", "path", "words"), BROKEN.values(), ids=BROKEN)
def test_a_broken_law_has_path_and_reason(data, path, words):
    problem = _problem(data)
    assert (str(problem.at), words in problem.reason) == (path, True), problem


@pytest.mark.parametrize(("changed", "path"), UNREADABLE.values(), ids=UNREADABLE)
def test_what_cannot_be_read_has_its_path(changed, path):
    assert str(_problem(training_data(**changed)).at) == path


def test_another_tools_key_is_led_home():
    assert _problem(training_data(seq_len=4096)).fix == "did you mean `sequence`?"
    assert _problem(training_data(layout={"tp": 2})).fix == "did you mean `tensor`?"


def test_every_law_is_reported_at_once():
    with pytest.raises(UserError) as raised:
        estimate(training_data(layout={"tensor": 3, "pipeline": 64, "expert": 2}, hardware={**H100, "count": 192}))
    assert [str(p.at) for p in raised.value.problems][:3] == ["layout.tensor", "layout.pipeline", "layout.expert"]


def _problem(data: dict[str, Any]):
    with pytest.raises(UserError) as raised:
        estimate(data)
    return raised.value.problems[0]
