"""Rows of models: the published parameter totals, and sources."""

import re
import time

import pytest
from rackwright.catalog.models import library
from rackwright.estimator.model.from_architecture import count_parameters

ROWS = library.rows()
COUNTED = [row for row in ROWS if row.architecture.parameter_count is None]
MIXTURES = [row for row in ROWS if row.architecture.is_moe]
KNOWN_TOTALS = {
    "llama-3.1-8b": 8_030_261_248,
    "llama-3.1-70b": 70_553_706_496,
    "mistral-7b-v0.1": 7_241_732_096,
    "mistral-7b": 7_248_023_552,
    "mixtral-8x7b": 46_702_792_704,
    "qwen2.5-7b": 7_615_616_512,
    "gemma-2-27b": 27_227_128_320,
    "llama-3.2-11b-vision": 10_670_220_835,
    "gpt-oss-20b": 20_914_757_184,
    "bert-base": 109_482_240,
    "vit-b-16": 86_567_656,
    "whisper-large-v3": 1_543_490_560,
}


def by_name(row):
    return row.name


def as_published(row):
    """The model's total of the parameters that its publisher counts."""
    parts = count_parameters(row.architecture)
    copies = parts.mtp + parts.embedding + parts.head if parts.mtp else 0
    return {"model": parts.total, "trunk": parts.trunk, "checkpoint": parts.total + copies}[row.published.counts]


@pytest.mark.parametrize("row", COUNTED, ids=by_name)
def test_formula_agrees_with_the_published_total(row):
    assert as_published(row) == pytest.approx(row.published.parameters, rel=0.005)


@pytest.mark.parametrize("name", KNOWN_TOTALS)
def test_formula_gives_the_checkpoint_to_the_last_parameter(name):
    assert count_parameters(library.find(name).architecture).total == KNOWN_TOTALS[name]


@pytest.mark.parametrize("row", MIXTURES, ids=by_name)
def test_active_parameters_agree_with_the_publisher(row):
    parts = count_parameters(row.architecture)
    left_out = sum({"embedding": parts.embedding, "head": parts.head}[part] for part in row.published.active_without)
    assert parts.active - left_out == pytest.approx(row.published.active_parameters, rel=0.025)


def test_deepseek_v3_main_model_and_its_extra_module():
    parts = count_parameters(library.find("deepseek-v3").architecture)
    assert parts.total == pytest.approx(671.03e9, rel=1e-4)
    assert parts.total + parts.mtp + parts.embedding + parts.head == pytest.approx(684.53e9, rel=1e-4)
    assert 11.5e9 < parts.mtp < 11.7e9


@pytest.mark.parametrize(
    ("name", "whole", "local"),
    [
        ("gemma-2-27b", 23, 23),
        ("gemma-3-1b", 4, 22),
        ("gemma-3-27b", 10, 52),
        ("gpt-oss-120b", 18, 18),
        ("llama-4-scout", 12, 36),
        ("llama-3.2-11b-vision", 32, 0),
        ("mistral-7b-v0.1", 0, 32),
        ("mistral-7b", 32, 0),
    ],
)
def test_which_layers_see_the_whole_context(name, whole, local):
    a = library.find(name).architecture
    assert (a.global_layers, a.local_layers) == (whole, local)


def test_every_other_layer_of_maverick_has_experts():
    a = library.find("llama-4-maverick").architecture
    assert [a.is_moe_layer(i) for i in range(4)] == [False, True, False, True]
    assert library.find("deepseek-v3").architecture.moe_layers == 58


def test_names_and_aliases_name_one_model_each():
    keys = [key.lower() for row in ROWS for key in (row.name, *row.aliases)]
    assert sorted({k for k in keys if keys.count(k) > 1}) == []
    assert len(ROWS) >= 55


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_a_row_has_its_source(row):
    assert re.fullmatch(r"[a-z0-9][a-z0-9.-]*", row.name)
    for source in (row.source, row.published.source):
        assert source.startswith(("https://", "arXiv "))
    assert re.fullmatch(r"20\d\d-[01]\d", row.as_of)
    assert re.fullmatch(r"20\d\d-[01]\d", row.released)
    assert row.publisher


@pytest.mark.parametrize("row", [row for row in ROWS if row.architecture.kind == "diffusion"], ids=by_name)
def test_a_diffusion_row_has_the_operations_of_one_sample(row):
    assert row.architecture.flops_per_sample > 1e12
    assert row.architecture.sample
    assert row.architecture.tower_parameters > 0


def test_models_are_found_by_name_and_alias_ignoring_case():
    assert library.find("meta-llama/llama-3.1-70b").name == "llama-3.1-70b"
    assert library.find(" Mistral-7B ").name == "mistral-7b"
    assert library.find("llama-9") is None


def test_a_misspelt_name_gets_the_nearest_ones():
    assert library.nearest("lama-3.1-70b")[0] == "llama-3.1-70b"
    assert library.nearest("Qwen2.5_7B")[0] == "qwen2.5-7b"
    assert library.nearest("zzzzzzzz") == ()


def test_reading_all_rows_takes_milliseconds():
    library.rows.cache_clear()
    start = time.perf_counter()
    library.rows()
    assert time.perf_counter() - start < 0.1, "budget 0.03 s on a quiet machine"
