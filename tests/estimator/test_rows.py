"""A published row becomes the configuration that it describes; architectures come from the catalog, the columns or the totals."""

import pytest
from rackwright.estimator.dataset import runs
from rackwright.estimator.dataset.columns.architecture import model_family, row_architecture
from rackwright.estimator.dataset.columns.cells import PrintedRow, UnsupportedRow
from rackwright.estimator.dataset.columns.hardware import hardware_fields
from rackwright.estimator.dataset.columns.training import row_recompute, training_config
from rackwright.estimator.model.from_architecture import count_parameters

LLAMA = {"model": "Llama-3.1-8B", "params_b": "8.03", "layers": "32", "hidden": "4096", "heads": "32", "kv_heads": "8", "head_dim": "128",
         "ffn": "14336", "vocab": "128256"}  # fmt: skip
RUN = LLAMA | {"hardware": "H100-80GB", "accel_count": "64", "framework": "torchtitan", "precision": "bf16", "method": "pretrain",
               "seq_len": "8192", "micro_batch": "2", "global_batch": "256", "tp": "2", "pp": "4", "dp": "8"}  # fmt: skip
SERVED = LLAMA | {"hardware": "H100-80GB", "accel_count": "8", "framework": "vllm 0.12.0", "precision": "fp8", "isl": "1024", "osl": "128"}


def row(csv: str = "training_throughput", base: dict[str, str] = RUN, **cells: str) -> PrintedRow:
    return PrintedRow(csv, 2, {"row_id": "X1", **base, **cells})


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Llama-3.1-8B", "llama-3.1-8b"), ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1-8b"), ("llama3.1-8b", "llama-3.1-8b"),
        ("nvidia/Llama-3.1-8B-Instruct-FP8", "llama-3.1-8b"), ("deepseek-ai/DeepSeek-R1", "deepseek-r1"),
        ("nvidia/DeepSeek-V3.1-NVFP4", "deepseek-v3"), ("Llama4-Scout-17B-16E", "llama-4-scout"), ("Qwen/Qwen3-32B", "qwen3-32b"),
    ],
)  # fmt: skip
def test_models_are_found_by_every_published_spelling(name, found):
    assert row_architecture(PrintedRow("x", 2, {"model": name})).model == found


def test_columns_that_contradict_the_name_win():
    found = row_architecture(row(layers="16", params_b="")).architecture
    assert (found.layers, found.hidden) == (16, 4096)


def test_another_vocabulary_is_kept():
    assert row_architecture(row(vocab="32000")).architecture.vocab == 32000
    assert row_architecture(row(vocab="128300")).model == "llama-3.1-8b"


def test_a_name_is_rejected_when_its_size_differs():
    assert count_parameters(row_architecture(PrintedRow("x", 2, {"model": "GPT-2 style 13B"})).architecture).total == pytest.approx(
        13e9, rel=0.02
    )


def test_columns_can_identify_a_catalog_model():
    """No column has latent attention."""
    known = {"layers": "61", "hidden": "7168", "heads": "64", "n_experts": "384", "top_k": "8", "moe_ffn": "2048", "vocab": "163840"}
    assert row_architecture(PrintedRow("x", 2, {"model": "moonshotai/Kimi-K2.5", **known})).architecture.kv_lora_rank == 512


@pytest.mark.parametrize(
    ("cells", "total", "gated", "tied"),
    [
        ({"params_b": "8.86", "layers": "32", "hidden": "4096", "heads": "32", "ffn": "14336", "vocab": "131072"}, 8.86, True, False),
        ({"params_b": "6.65", "layers": "32", "hidden": "4096", "heads": "32", "ffn": "16384", "vocab": "50368"}, 6.65, False, True),
        ({"params_b": "176", "layers": "70", "hidden": "14336", "heads": "112", "ffn": "57344", "vocab": "250000"}, 176, False, True),
    ],
)
def test_missing_columns_follow_from_the_published_total(cells, total, gated, tied):
    found = row_architecture(PrintedRow("x", 2, {"model": "Somebody's", **cells})).architecture
    assert count_parameters(found).total == pytest.approx(total * 1e9, rel=0.01)
    assert (found.gated_ffn, found.tied_embeddings) == (gated, tied)


@pytest.mark.parametrize("name", ["Brand-New-7B", "Brand-New 700M", "New-MoE-100B-A12B"])
def test_a_size_is_enough_and_is_listed_as_assumption(name):
    found = row_architecture(PrintedRow("x", 2, {"model": name}))
    size = {"Brand-New-7B": 7e9, "Brand-New 700M": 0.7e9, "New-MoE-100B-A12B": 100e9}[name]
    assert count_parameters(found.architecture).total == pytest.approx(size, rel=0.03)
    assert any("hidden" in said for said in found.assumed)


def test_expert_width_follows_from_total_and_active_parameters():
    cells = {"model": "New-30B-A3B", "layers": "48", "hidden": "2048", "heads": "32", "kv_heads": "4", "head_dim": "128",
             "n_experts": "128", "top_k": "8", "vocab": "151936"}  # fmt: skip
    total = count_parameters(row_architecture(PrintedRow("x", 2, cells)).architecture)
    assert total.total == pytest.approx(30e9, rel=0.03)
    assert total.active == pytest.approx(3e9, rel=0.25)


def test_a_row_without_size_is_unsupported():
    with pytest.raises(UnsupportedRow, match="neither layers and hidden nor params_b"):
        row_architecture(PrintedRow("x", 2, {"model": "Mystery"}))


@pytest.mark.parametrize(
    ("name", "found"),
    [("meta-llama/Llama-3-8B", "llama"), ("CodeLlama-34B", "llama"), ("GPT-181B (BLOOM sizing sweep)", "bloom"), ("gpt-oss-20b", "gpt-oss"),
     ("GPT-3-5B", "gpt"), ("openbuddy-zephyr-7b-chat", "mistral"), ("Qwen-7B", "qwen"), ("Zeta-9", "zeta"), ("", "other")],
)  # fmt: skip
def test_families(name, found):
    assert model_family(name) == found


@pytest.mark.parametrize(
    ("name", "found"),
    [("H100-80GB", "H100"), ("H100-96GB-500W", "H100"), ("A100-80GB-330W", "A100"), ("TPU v5p", "TPU-v5p"), ("H100-NVL-94GB", "H100-NVL"),
     ("RTX4090 (A100 with capped memory)", "RTX4090"), ("", "none")],
)  # fmt: skip
def test_accelerators_without_memory_and_power(name, found):
    assert runs.accelerator_label(name) == found


@pytest.mark.parametrize(
    ("said", "found"),
    [("FSDP full (ZeRO-3)", "fsdp"), ("FSDP grad+opt (ZeRO-2)", "zero2"), ("ZeRO-1 (distributed optimizer)", "zero1"), ("HSDP", "hsdp"),
     ("FSDP2 (group 64)", "fsdp"), ("ZeRO-0", "none"), ("DDP", "none"), ("ZeRO-3", "zero3"), ("", None)],
)  # fmt: skip
def test_shards(said, found):
    assert training_config(row(shard=said))[0].layout.shard == found


def test_a_shard_group_is_parsed():
    assert training_config(row(shard="FSDP2 (group 64)"))[0].layout.shard_group == 64


@pytest.mark.parametrize(
    ("said", "found"),
    [("fp8 (finer-grained variant: mx 1x32 or 128x128 sub-channel)", "mxfp8"), ("mxfp8", "mxfp8"), ("nvfp4", "fp4"), ("fp8-cs", "fp8"),
     ("bf16-true", "bf16"), ("bfloat16", "bf16"), ("fp16", "fp16"), ("fp8 tensorwise", "fp8"), ("fp8_full", "fp8"), ("", "bf16")],
)  # fmt: skip
def test_number_formats(said, found):
    assert training_config(row(precision=said))[0].numbers == found


@pytest.mark.parametrize(
    ("said", "found"),
    [("full", "full"), ("none", "none"), ("", "none"), ("none + sequence parallel", "none"), ("selective (per-op)", "selective"),
     ("minimal", "selective"), ("qkv_proj_offloaded", "selective")],
)  # fmt: skip
def test_recompute(said, found):
    assert row_recompute(row(recompute=said)) == found


def test_the_batch_gives_the_accelerators_per_replica():
    config, _ = training_config(row(tp="", pp="", dp="", micro_batch="", global_batch="16", grad_accum="4"))
    assert (config.layout.tensor, config.layout.pipeline, config.layout.data) == (8, 2, 4)


def test_a_local_batch_is_split_into_single_sequences():
    config, _ = training_config(row(notes="local batch fed", micro_batch="8", global_batch=""))
    assert (config.micro_batch, config.micro_batches) == (1, 8)


def test_replicas_that_contradict_the_count_are_ignored():
    assert training_config(row(dp="5"))[0].layout.data == 8


def test_tpu_batches_are_per_chip():
    cells = {"tp": "16", "pp": "", "dp": "", "micro_batch": "", "global_batch": "", "per_device_batch": "1", "accel_count": "256",
             "hardware": "TPU v5e", "framework": "MaxText/JAX", "shard": "FSDP16 x TP16"}  # fmt: skip
    config, _ = training_config(row("tpu_training", **cells))
    assert (config.layout.tensor, config.layout.data, config.micro_batch) == (16, 16, 16)
    assert config.micro_batches == 1


@pytest.mark.parametrize(
    ("said", "frozen", "double"),
    [("bnb.nf4-dq", "nf4", True), ("bnb.nf4", "nf4", False), ("nf4", "nf4", True), ("int4 GPTQ", "int4", False), ("int8", "int8", False)],
)
def test_frozen_bases(said, frozen, double):
    config, _ = training_config(row("finetune_memory", method="qlora", quantization=said, peft_rank="8", peft_targets="q,v"))
    assert (config.base_numbers, config.double_quantised) == (frozen, double)
    assert config.adapter is not None
    assert (config.adapter.rank, config.adapter.type) == (8, "qlora")


def test_prompts_count_their_virtual_tokens():
    config, _ = training_config(row("finetune_memory", method="prompt-tuning", trainable_params=str(20 * 4096)))
    assert config.adapter is not None
    assert (config.adapter.type, config.adapter.virtual_tokens) == ("prompt", 20)


@pytest.mark.parametrize(
    ("said", "each"),
    [("RoCE 1600 Gb/s per node", 25.0), ("NVSwitch 8-GPU + RDMA 400 Gb/s per GPU", 50.0), ("NVLink + 4x OmniPath 100 Gb/s", 6.25),
     ("DGX SuperPOD (NVSwitch + 8x HDR IB)", 25.0), ("NVSwitch 8-GPU + EFA 3200 Gb/s per node", 50.0), ("NVSwitch 8-GPU", None)],
)  # fmt: skip
def test_networks(said, each):
    assert hardware_fields(row(interconnect=said)).get("scale_out_gb_s") == each


@pytest.mark.parametrize(
    ("cells", "layout"),
    [
        ({"tp": "4"}, (4, 1, 2)),
        ({"tp": "1", "attention_dp": "8"}, (1, 8, 1)),
        ({"tp": "8", "attention_dp": "8"}, (1, 8, 1)),
        ({"tp": ""}, (8, 1, 1)),
        ({"tp": "4", "pp": "2"}, (4, 1, 1)),
    ],
)
def test_serving_layouts(cells, layout):
    case = runs.read_row(row("inference_throughput", SERVED, **cells)).case
    assert case is not None
    assert (case.tensor, case.attention_data, case.replicas) == layout


@pytest.mark.parametrize(
    ("cells", "each"),
    [({"concurrency": "64", "tp": "8"}, 64.0), ({"batch_size": "8", "attention_dp": "8", "tp": "1"}, 64.0),
     ({"request_rate_per_s": "inf", "tp": "8"}, float("inf")), ({"request_rate_per_s": "4", "tp": "8"}, float("inf"))],
)  # fmt: skip
def test_requests_in_flight(cells, each):
    case = runs.read_row(row("inference_throughput", SERVED, **cells)).case
    assert case is not None
    assert case.concurrency == each


@pytest.mark.parametrize("cells", [{"layers": "many"}, {"hidden": "-1"}, {"accel_count": "1.5"}, {"seq_len": "1e400"}])
def test_broken_cells_are_reported(cells):
    found = runs.read_row(row(**cells))
    assert found.status == "broken"
    assert f"X1 {next(iter(cells))}" in found.reason


@pytest.mark.parametrize(
    "cells", [{"hardware": "Abacus"}, {"params_b": "1e30", "layers": "", "hidden": ""}, {"seq_len": "1e30"}, {"heads": "7"}, {"tp": "3"}]
)
def test_invalid_cells_never_raise(cells):
    assert runs.read_row(row(**cells)).status in ("ok", "unsupported", "broken")


def test_nearly_every_row_of_the_repository_is_converted():
    """Not converted: networks without published FLOPs, recommenders, and accelerators without published peaks."""
    found = [r for r in runs.row_readings() if "not a decoder" not in r.reason]
    assert sum(r.status == "ok" for r in found) >= 0.94 * len(found)
    assert not [r.row.id for r in found if r.status == "broken"]
