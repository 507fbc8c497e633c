"""config.json files of the Hub, reduced to the fields of the architecture, give the architecture of the catalog."""

import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.catalog.models import library
from rackwright.catalog.models.hf_config import ConfigError, read_hf_config, supported_types
from rackwright.estimator.model.from_architecture import count_parameters

CONFIGS = sorted((Path(__file__).parent / "configs").glob("*.json"))
LLAMA = json.loads((Path(__file__).parent / "configs" / "llama-3.1-70b.json").read_text())


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_config_gives_the_architecture_of_the_row(path):
    expected = library.find(path.stem).architecture
    read = read_hf_config(path)
    assert {k: v for k, v in vars(read).items() if v != getattr(expected, k) and not k.startswith("sample")} == {}


def test_every_supported_type_has_a_config():
    tested = {json.loads(path.read_text())["model_type"] for path in CONFIGS}
    parts_of_others = {"llama4_text", "mllama_text_model", "roberta", "vit"}
    assert tested == set(supported_types()) - parts_of_others


def test_vit_counts_its_classes():
    labels = {str(i): f"class {i}" for i in range(1000)}
    config = {"model_type": "vit", "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072}
    read, row = read_hf_config(config | {"id2label": labels}), library.find("vit-b-16").architecture
    assert (read.head_parameters, read.stem_parameters, read.sample_tokens) == (row.head_parameters, row.stem_parameters, 197)


def test_a_multimodal_config_cut_to_its_text_has_no_tower():
    config = json.loads((Path(__file__).parent / "configs" / "gemma-3-27b.json").read_text())
    del config["vision_config"]
    assert read_hf_config(config).tower_parameters == 0


def test_old_llama_without_kv_heads_has_as_many_as_heads():
    config = {key: value for key, value in LLAMA.items() if key not in ("num_key_value_heads", "head_dim")}
    a = read_hf_config(config)
    assert (a.attention, a.kv_heads, a.head_dim) == ("mha", 64, 128)


@pytest.mark.parametrize(
    ("change", "field", "words"),
    [
        ({"hidden_size": None}, "hidden_size", "is missing"),
        ({"num_hidden_layers": -3}, "num_hidden_layers", "above 0, not -3"),
        ({"vocab_size": "128k"}, "vocab_size", "whole number"),
        ({"vocab_size": True}, "vocab_size", "whole number"),
        ({"num_key_value_heads": 7}, "kv_heads", "multiple of kv_heads 7"),
        ({"hidden_size": 10**30}, "hidden_size", "whole number"),
        ({"tie_word_embeddings": "no"}, "tie_word_embeddings", "true or false"),
        ({"model_type": None}, "model_type", "is missing"),
        ({"model_type": "lama"}, "model_type", "nearest is llama"),
        ({"model_type": "mamba"}, "model_type", "write the architecture out"),
        ({"model_type": "llama4"}, "text_config", "is missing"),
    ],
)
def test_a_wrong_field_is_named(change, field, words):
    with pytest.raises(ConfigError, match=words) as error:
        read_hf_config(LLAMA | change)
    assert error.value.field == field


def test_a_field_inside_a_part_is_named_with_its_path():
    with pytest.raises(ConfigError) as error:
        read_hf_config({"model_type": "gemma3", "text_config": {"hidden_size": 2560, "num_hidden_layers": 34}})
    assert error.value.field == "text_config.intermediate_size"


def test_layers_that_are_global_at_no_fixed_distance_are_refused():
    config = json.loads((Path(__file__).parent / "configs" / "gpt-oss-20b.json").read_text())
    config["layer_types"][0] = "full_attention"
    with pytest.raises(ConfigError, match="fixed distance"):
        read_hf_config(config)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "is not JSON"),
        (b"[]", "no JSON object"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b" " * 2**23, "MiB"),
    ],
    ids=["cut off", "a list", "wrong encoding", "too deep", "too large"],
)
def test_a_file_that_is_no_config_is_refused(tmp_path, content, words):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=words):
        read_hf_config(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"nowhere\.json cannot be read"):
        read_hf_config(tmp_path / "nowhere.json")


JUNK = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=3)


@given(st.sampled_from(CONFIGS), st.data())
def test_a_mutated_config_is_read_or_refused_but_never_crashes(path, data):
    config = json.loads(path.read_text())
    part = config.get("text_config", config)
    part[data.draw(st.sampled_from(sorted(part)))] = data.draw(JUNK)
    with suppress(ConfigError):
        count_parameters(read_hf_config(config))
