"""benchmarks/scoreable.toml: every condition has a row that satisfies it and one that does not."""

from pathlib import Path

import pytest
from rackwright.estimator.dataset.columns.cells import PrintedRow
from rackwright.estimator.dataset.columns.scoring import FILE, exclusion_reason, scoring_rule, scoring_rules

BASE = {
    "training_throughput": {"seq_len": "2048", "heads": "32", "tokens_per_s_per_gpu": "1000", "pp": "1", "model": "Llama-3-8B"},
    "training_memory": {"mem_printed": "60", "mem_unit": "GiB", "mem_scope": "per accelerator", "recompute": "none", "hidden": "4096",
                        "mem_kind": "peak reserved"},
    "finetune_memory": {"mem_printed": "60", "mem_unit": "GiB", "mem_scope": "per accelerator", "recompute": "full", "layers": "32",
                        "seq_len": "2048", "micro_batch": "1", "hardware": "A100-80GB", "accel_count": "1", "method": "lora"},
    "tpu_training": {"seq_len": "2048", "params_b": "32", "tokens_per_s_per_chip": "500"},
    "training_more": {"seq_len": "2048", "micro_batch": "2", "accel_count": "1", "nodes": "1", "tokens_per_s_total": "3000",
                      "model": "Llama-3-8B", "method": "lora", "hardware": "A100", "framework": "torchtune", "notes": ""},
    "time_to_train": {"time_to_train_min": "10", "hardware": "H100", "accel_count": "8", "metric_kind": "MLPerf Training v5.0"},
    "inference_throughput": {"isl": "1024", "tp": "8", "concurrency": "64", "batch_size": "16", "attention_dp": "4", "tpot_ms": "20",
                             "ttft_ms": "300", "output_tok_s_per_accel": "100", "scenario": "offline max throughput"},
    "diffusion_vision": {"throughput_images_s": "100", "latency_s": "0.01", "batch_size": "1", "accel_count": "1", "task": "inference",
                         "model": "ResNet-50", "steps": ""},
    "inference_more": {"requests_per_s": "100", "isl": "128", "batch_size": "8", "accel_count": "1", "model": "BERT-base",
                       "precision": "fp16", "hardware": "L4", "scenario": "latency, batch 1", "tpot_ms": "30",
                       "output_tok_s_per_accel": "30"},
}  # fmt: skip
ENCODERS = {("training_more", "samples_per_s_per_accel"): {"samples_per_s_total": "100", "model": "BERT-large"}}
"""Cells that differ for a metric of other networks in the same file."""

SPOILED = [
    ("training_throughput", "tokens_per_s_per_accel", {"seq_len": ""}, "seq_len is blank"),
    ("training_throughput", "tokens_per_s_per_accel", {"heads": "nan"}, "heads is blank"),
    ("training_throughput", "tokens_per_s_per_accel", {"model": "T5-220M"}, "T5"),
    ("training_throughput", "tokens_per_s_per_accel", {"pp": "4"}, "global_batch"),
    ("training_throughput", "tokens_per_s_per_accel", {"notes": "went OOM at step 3"}, "OOM"),
    ("training_throughput", "tokens_per_s_per_accel", {"source_path": "docs/perf.md (26.02)"}, "(26.02)"),
    ("training_throughput", "tokens_per_s_per_accel", {"tokens_per_s_per_gpu": ""}, "no reading"),
    ("training_throughput", "peak_memory_gib", {"peak_mem_gib": "50"}, "reported only"),
    ("training_memory", "peak_memory_gib", {"recompute": ""}, "recompute is blank"),
    ("training_memory", "peak_memory_gib", {"oom": "true"}, "oom"),
    ("training_memory", "peak_memory_gib", {"hidden": "2047"}, "hidden"),
    ("training_memory", "peak_memory_gib", {"mem_kind": "as printed by authors (not defined)"}, "not defined"),
    ("inference_more", "output_tok_s_per_accel", {"publisher": "dstack", "notes": "AMD checkpoint, 2 replicas of 4 cards"}, "2 replicas"),
    (
        "inference_more",
        "output_tok_s_per_accel",
        {"publisher": "AWS Neuron", "batch_size": "1", "osl": "8192", "output_tok_s_total": "31.4", "ttft_ms": "2368", "tpot_ms": "13.4"},
        "conflict",
    ),
    ("training_more", "tokens_per_s_per_accel", {"seq_len": ""}, "seq_len"),
    ("training_more", "tokens_per_s_per_accel", {"micro_batch": ""}, "micro_batch"),
    ("training_more", "tokens_per_s_per_accel", {"n_experts": "8"}, "n_experts"),
    ("training_more", "tokens_per_s_per_accel", {"method": "peft-other"}, "peft-other"),
    ("training_more", "tokens_per_s_per_accel", {"model": "BERT-large"}, "BERT"),
    ("training_more", "tokens_per_s_per_accel", {"hardware": "Trainium1"}, "Trainium"),
    ("training_more", "tokens_per_s_per_accel", {"notes": "this row adds: Baseline"}, "Baseline"),
    ("training_more", "tokens_per_s_per_accel", {"nodes": "2"}, "nodes"),
    ("training_more", "peak_memory_gib", {"peak_mem_gib": "50"}, "reported only"),
    ("finetune_memory", "tokens_per_s_per_accel", {"tokens_per_s": "3000", "accel_count": "16", "shard": "FSDP"}, "accel_count"),
    ("finetune_memory", "tokens_per_s_per_accel", {"tokens_per_s": "3000", "publisher": "Hugging Face PEFT"}, "PEFT"),
    ("finetune_memory", "tokens_per_s_per_accel", {"tokens_per_s": "3000", "framework": "torchtune"}, "torchtune"),
    ("finetune_memory", "tokens_per_s_per_accel", {"tokens_per_s": "3000", "notes": "cumulative table"}, "cumulative"),
    ("finetune_memory", "tokens_per_s_per_accel", {"tokens_per_s": "3000", "method": "inference"}, "inference"),
    ("finetune_memory", "tokens_per_s_per_accel", {}, "no reading"),
    ("finetune_memory", "peak_memory_gib", {"seq_len": ""}, "seq_len"),
    ("finetune_memory", "peak_memory_gib", {"micro_batch": ""}, "micro_batch"),
    ("finetune_memory", "peak_memory_gib", {"recompute": ""}, "recompute"),
    ("finetune_memory", "peak_memory_gib", {"layers": ""}, "layers"),
    ("finetune_memory", "peak_memory_gib", {"mem_scope": "sum over GPUs (as printed)"}, "no reading"),
    ("finetune_memory", "peak_memory_gib", {"mem_unit": "GB limit reached at this length"}, "no reading"),
    ("finetune_memory", "peak_memory_gib", {"hardware": "GPU-24GB (limit)"}, "limit"),
    ("finetune_memory", "peak_memory_gib", {"hardware": "any"}, "any"),
    ("finetune_memory", "peak_memory_gib", {"accel_count": "8"}, "shard"),
    ("finetune_memory", "peak_memory_gib", {"notes": "memory rounded to 1 GB"}, "memory rounded"),
    ("finetune_memory", "peak_memory_gib", {"notes": "Cumulative optimisation table"}, "cumulative"),
    ("inference_throughput", "tpot_ms", {"disaggregated": "true"}, "disaggregated"),
    ("inference_throughput", "tpot_ms", {"notes": "saturated queue"}, "saturated"),
    ("inference_throughput", "tpot_ms", {"tp": "32"}, "tp is not at most 16"),
    ("inference_throughput", "tpot_ms", {"isl": ""}, "isl"),
    ("inference_throughput", "tpot_ms", {"concurrency": "16"}, "batch_size x attention_dp"),
    ("inference_throughput", "tpot_ms", {"concurrency": ""}, "batch_size x attention_dp"),
    (
        "inference_throughput",
        "tpot_ms",
        {"framework": "vllm 0.12.0", "hardware": "H200-141GB", "model": "Llama-3.1-8B-Instruct-FP8"},
        "excluded",
    ),
    ("inference_throughput", "ttft_ms", {"attention_dp": ""}, "batch_size x attention_dp"),
    ("inference_throughput", "output_tok_s_per_accel", {"scenario": "online serving, open loop"}, "offline"),
    ("inference_throughput", "output_tok_s_per_accel", {"scenario": "MLPerf Offline"}, "MLPerf"),
    ("diffusion_vision", "samples_per_s_per_accel", {"publisher": "SimpleTuner"}, "SimpleTuner"),
    ("diffusion_vision", "samples_per_s_per_accel", {"framework": "MLCommons reference implementation"}, "reference implementation"),
    ("diffusion_vision", "samples_per_s_per_accel", {"task": "dreambooth-hra"}, "hra"),
    ("diffusion_vision", "samples_per_s_per_accel", {"model": "SDXL-base-1.0"}, "steps"),
    ("diffusion_vision", "latency_s", {"batch_size": "8"}, "no reading"),
    ("diffusion_vision", "latency_s", {"task": "training"}, "no reading"),
    ("inference_more", "samples_per_s_per_accel", {"isl": ""}, "isl"),
    ("inference_more", "samples_per_s_per_accel", {"model": "Llama-3-8B"}, "bert"),
    ("inference_more", "samples_per_s_per_accel", {"model": "xlm-roberta-base", "publisher": "AWS Neuron"}, "xlm-roberta-base"),
    ("training_more", "samples_per_s_per_accel", {"seq_len": ""}, "seq_len"),
    ("inference_more", "output_tok_s_per_accel", {"scenario": "MLPerf Offline"}, "MLPerf"),
    ("inference_more", "output_tok_s_per_accel", {"scenario": "online serving, open loop"}, "open loop"),
    ("inference_more", "output_tok_s_per_accel", {"precision": ""}, "precision is blank"),
    ("inference_more", "output_tok_s_per_accel", {"hardware": "MI300X", "notes": "meta FP8 checkpoint"}, "excluded"),
    ("inference_more", "tpot_ms", {"statistic": "ms/token includes prefill and queue"}, "includes prefill"),
]

KEPT = [
    ("training_throughput", "tokens_per_s_per_accel", {"pp": "4", "global_batch": "64"}),
    ("training_throughput", "tokens_per_s_per_accel", {"pp": "4", "micro_batch": "8", "notes": "local batch fed"}),
    ("finetune_memory", "peak_memory_gib", {"accel_count": "8", "shard": "FSDP"}),
    ("finetune_memory", "tokens_per_s_per_accel", {"tokens_per_s": "3000"}),
    ("finetune_memory", "tokens_per_s_per_accel", {"tokens_per_s": "3000", "framework": "torchtune", "notes": "packed to 2048"}),
    ("training_more", "tokens_per_s_per_accel", {"method": "pretrain", "nodes": "8", "accel_count": "64"}),
    ("inference_throughput", "tpot_ms", {"attention_dp": "", "batch_size": "64"}),
    ("inference_throughput", "tpot_ms", {"tp": "16"}),
    ("diffusion_vision", "samples_per_s_per_accel", {"model": "SDXL-base-1.0", "steps": "20"}),
    ("diffusion_vision", "samples_per_s_per_accel", {"model": "SD-1.5", "metric": "seconds per denoising iteration"}),
    ("diffusion_vision", "samples_per_s_per_accel", {"task": "dreambooth-lora", "samples_per_s": "2"}),
    ("inference_more", "samples_per_s_per_accel", {"isl": "", "scenario": "MLPerf Offline"}),
]


def row(csv: str, of: str = "", /, **cells: str) -> PrintedRow:
    return PrintedRow(csv, 2, {"row_id": "X1", **BASE[csv], **ENCODERS.get((csv, of), {}), **cells})


@pytest.mark.parametrize("csv", BASE)
def test_the_base_row_is_scored(csv):
    for rule in scoring_rules():
        if rule.csv == csv and rule.metric != "accel_hours" and (csv, rule.metric) != ("finetune_memory", "tokens_per_s_per_accel"):
            assert exclusion_reason(row(csv, rule.metric), rule.metric, [row(csv, rule.metric)]) is None


@pytest.mark.parametrize(("csv", "metric", "change", "why"), SPOILED, ids=lambda v: str(v) if isinstance(v, dict) else "")
def test_one_cell_can_exclude_a_row(csv, metric, change, why):
    reason = exclusion_reason(row(csv, metric, **change), metric)
    assert reason is not None
    assert why.lower() in reason.lower()


@pytest.mark.parametrize(("csv", "metric", "change"), KEPT, ids=lambda v: str(v) if isinstance(v, dict) else "")
def test_rows_that_meet_the_rule_are_scored(csv, metric, change):
    assert exclusion_reason(row(csv, metric, **change), metric) is None


def test_a_time_over_three_times_the_median_of_its_equals_is_left_out():
    equals = [row("time_to_train", time_to_train_min=minutes) for minutes in ("10", "11", "12", "40")]
    assert exclusion_reason(equals[3], "time_to_train_min", equals) is not None
    assert exclusion_reason(equals[2], "time_to_train_min", equals) is None
    other = row("time_to_train", time_to_train_min="40", accel_count="4")
    assert exclusion_reason(other, "time_to_train_min", [*equals, other]) is None


def test_accelerator_hours_count_only_without_a_time():
    assert exclusion_reason(row("time_to_train", accel_hours="5"), "accel_hours") == "no reading"
    assert exclusion_reason(row("time_to_train", time_to_train_min="", accel_hours="5"), "accel_hours") is None


@pytest.mark.parametrize(
    ("csv", "metric", "change", "table"),
    [
        ("training_throughput", "tokens_per_s_per_accel", {}, "tokens/s dense"),
        ("training_throughput", "tokens_per_s_per_accel", {"n_experts": "8"}, "tokens/s MoE"),
        ("finetune_memory", "peak_memory_gib", {"method": "qlora"}, "LoRA + QLoRA memory"),
        ("finetune_memory", "peak_memory_gib", {"method": "prompt-tuning", "peft_type": "PROMPT_TUNING x"}, "soft prompts (apart)"),
        ("finetune_memory", "peak_memory_gib", {"method": "sft"}, "full SFT memory (reported)"),
        ("training_more", "tokens_per_s_per_accel", {"method": "qlora"}, "fine-tuning tokens/s, one box"),
        ("training_more", "tokens_per_s_per_accel", {"method": "pretrain"}, "pretraining on other accelerators (reported)"),
        ("finetune_memory", "tokens_per_s_per_accel", {}, "fine-tuning tokens/s, one box"),
        ("time_to_train", "time_to_train_min", {"metric_kind": "published wall-clock"}, "time to train, other (reported)"),
    ],
)
def test_a_row_belongs_to_the_first_matching_table(csv, metric, change, table):
    rule = scoring_rule(csv, metric)
    assert rule is not None
    assert rule.table(row(csv, **change)).name == table


def test_benchmark_and_estimator_read_the_same_file():
    assert (Path(__file__).parents[2] / "benchmarks" / "scoreable.toml").resolve() == FILE.resolve()
