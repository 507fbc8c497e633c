"""An architecture in the spec: defaults, and errors that name the field."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.catalog.models.architecture import FIELDS, ConfigError, from_fields
from rackwright.estimator.model.from_architecture import count_parameters, model_dimensions

SMALL = {"layers": 4, "hidden": 512, "heads": 8, "ffn": 2048, "vocab": 32000}


def test_omitted_fields_are_derived():
    a = from_fields(SMALL)
    assert (a.kind, a.kv_heads, a.head_dim, a.attention, a.gated_ffn) == ("llm", 8, 64, "mha", True)


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"layer": 4}, "layer", "did you mean 'layers'"),
        ({"vocab": 0}, "vocab", "vocab is missing"),
        ({"heads": 7}, "head_dim", "is missing"),
        ({"kv_heads": 3}, "kv_heads", "multiple of kv_heads"),
        ({"layers": 0}, "layers", "is missing"),
        ({"layers": 10**9}, "layers", "more than 10000"),
        ({"layers": -1}, "layers", "whole number"),
        ({"layers": 2.5}, "layers", "whole number"),
        ({"hidden": "wide"}, "hidden", "whole number"),
        ({"hidden": True}, "hidden", "whole number"),
        ({"gated_ffn": 1}, "gated_ffn", "true or false"),
        ({"norm": "batch"}, "norm", "rmsnorm, layernorm"),
        ({"ffn": 0}, "ffn", "dense FFN"),
        ({"experts": 8}, "experts_per_token", "is missing"),
        ({"experts": 8, "experts_per_token": 9, "expert_ffn": 64}, "experts_per_token", "more than experts"),
        ({"experts": 8, "experts_per_token": 2, "expert_ffn": 64, "moe_every": 0}, "moe_every", "is missing"),
        ({"experts": 8, "experts_per_token": 2, "expert_ffn": 64, "moe_every": 0, "ffn": 0}, "moe_every", "is missing"),
        ({"parameter_count": 7}, "parameter_count", "write out the shape"),
        ({"dense_layers": 5}, "dense_layers", "more than layers"),
        ({"kv_lora_rank": 512}, "qk_nope_head_dim", "is missing"),
        ({"sliding_window": 0}, "sliding_window", "leave it out"),
        ({"flops_per_sample": float("nan")}, "flops_per_sample", "number"),
    ],
)
def test_a_wrong_field_is_named(change, field, words):
    with pytest.raises(ConfigError, match=words) as error:
        from_fields(SMALL | change)
    assert error.value.field == field


def test_a_network_known_by_its_total_needs_no_layers():
    assert from_fields({"kind": "diffusion", "parameter_count": 1000}).attention == "none"


def test_a_billion_layers_are_refused_before_they_are_iterated():
    """Found by mutation: without a dense FFN, the check iterated over every layer first."""
    with pytest.raises(ConfigError, match="more than 10000"):
        from_fields(SMALL | {"ffn": 0, "layers": 10**9})


JUNK = (
    st.none() | st.booleans() | st.integers(-1, 4) | st.integers() | st.floats() | st.text(max_size=4) | st.lists(st.integers(), max_size=2)
)


@given(st.dictionaries(st.sampled_from(FIELDS), JUNK, max_size=6))
def test_any_mixture_of_fields_is_counted_or_refused(changes):
    with suppress(ConfigError):
        a = from_fields(SMALL | changes)
        assert count_parameters(a).total > 0
        assert a.global_layers + a.local_layers + a.cross_attention_layers == a.layers


def test_a_dense_model_uses_no_experts_per_token():
    """Configurations of dense models may name them; the estimator took them for a share of no experts."""
    dense = from_fields(SMALL)
    assert model_dimensions(from_fields(SMALL | {"experts_per_token": 2})) == model_dimensions(dense)
