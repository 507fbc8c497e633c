"""Rates of fine-tuning rows: lengths of samples, padding, recompute that a row does not state."""

from dataclasses import replace

import numpy as np
import pytest
from rackwright.estimator.dataset.columns.cells import PrintedRow
from rackwright.estimator.dataset.columns.measured import measured_value
from rackwright.estimator.dataset.least_recompute import least_recompute
from rackwright.estimator.dataset.runs import read_row, row_readings, runs_of_model
from rackwright.estimator.training import step

from tests.estimator.memory_cases import case

ROW = {
    "row_id": "X1", "publisher": "P", "hardware": "A100-80GB", "accel_count": "8", "model": "Llama-3.1-8B", "params_b": "8.03",
    "layers": "32", "hidden": "4096", "heads": "32", "kv_heads": "8", "ffn": "14336", "vocab": "128256", "method": "lora",
    "framework": "HF PEFT", "precision": "bf16", "seq_len": "512", "micro_batch": "4", "grad_accum": "2", "peft_type": "LORA",
    "peft_rank": "16",
}  # fmt: skip


def row(csv: str = "training_more", **cells: str) -> PrintedRow:
    return PrintedRow(csv, 2, {**ROW, **cells})


@pytest.mark.parametrize(
    ("cells", "rate"),
    [
        ({"samples_per_s_total": "80"}, 80 * 512 / 8),
        ({"step_time_s": "4"}, 512 * 4 * 2 / 4),
        ({"tokens_per_s": "800"}, 100),
        ({"samples_per_s_total": "80", "notes": "seq_len is the cap, not packed"}, None),
        ({"samples_per_s_total": "80", "notes": "samples truncated to max length (mean 3234, max 9548 tokens)"}, None),
        ({"step_time_s": "4", "grad_accum": ""}, None),
    ],
)
def test_samples_of_a_known_length_are_tokens(cells, rate):
    assert measured_value(row(**cells), "tokens_per_s_per_accel") == (pytest.approx(rate) if rate else None)


def test_a_batch_of_mixed_lengths_is_padded_to_its_longest_sample():
    """Exponential lengths of mean 1,000, truncated to 2,000, drawn 200,000 times."""
    draw = np.minimum(np.random.default_rng(1).exponential(1000.0, (200_000, 4)), 2000.0)
    c = replace(case(), sequence=2000.0, mean_length=1000.0, micro_batch=4.0)
    assert c.mean_tokens == pytest.approx(draw.mean(), rel=0.01)
    assert c.padded_tokens == pytest.approx(draw.max(axis=1).mean(), rel=0.01)
    assert replace(c, mean_length=0.0).padded_tokens == replace(c, mean_length=0.0).mean_tokens == 2000.0


def test_a_rate_counts_padding_where_the_trainer_does():
    c, k = replace(case(), sequence=2000.0, mean_length=1000.0, micro_batch=4.0), step.StepCoefficients()
    real, padded = (float(step.tokens_per_s_per_accelerator(replace(c, counts_padding=x), k)) for x in (0.0, 1.0))
    assert padded / real == pytest.approx(float(c.padded_tokens / c.mean_tokens))


def test_recompute_that_a_row_leaves_out_is_the_least_that_fits():
    small, large = (case(shards=8.0, zero_stage=3.0, sequence=length) for length in (2048.0, 32768.0))
    assert least_recompute(small).recompute == 0
    assert least_recompute(large).recompute == 2


def test_only_a_blank_cell_is_inferred():
    long = {"seq_len": "16384", "micro_batch": "4", "tokens_per_s_total": "800", "accel_count": "1"}
    assert read_row(row(recompute="", **long)).case.recompute == 2
    assert read_row(row(recompute="none", **long)).case.recompute == 0


def test_adapter_targets_that_a_row_leaves_out_are_those_of_its_trainer():
    """PEFT adapts queries and values by default; other trainers adapt every matrix."""
    inputs = [read_row(row(framework=name)).case.adapter_inputs for name in ("HF Transformers + PEFT", "torchtune")]
    assert inputs[0] == 4096 < inputs[1]


def test_options_of_a_cumulative_table_add_up():
    found = {r.row.id: r.case for r in row_readings() if r.row.id in ("NT0529", "NT0531", "NT0533", "NT0537")}
    assert [(c.mean_length, float(c.compiled), c.fused_loss, c.recompute) for c in found.values()] == [
        (220.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 1.0, 1.0, 2.0), (0.0, 1.0, 1.0, 2.0)]  # fmt: skip


def test_fine_tuning_rates_are_part_of_the_fit_and_encoders_are_not():
    runs = runs_of_model(step.MODELS[0])
    tables = [run.table for run in runs if run.csv != "training_throughput"]
    assert tables.count("fine-tuning tokens/s, one box") == 130
    names = {r.row.text("model") for r in row_readings() if r.row.id in {run.row_id for run in runs}}
    assert not [name for name in names if "BERT" in name or "T5" in name]
