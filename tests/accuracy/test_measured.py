"""The measured value of a row: the first reading that is present, in the units of the benchmark."""

import pytest
from rackwright.estimator.dataset.columns.cells import BrokenCell, PrintedRow
from rackwright.estimator.dataset.columns.measured import measured_value
from rackwright.units import GIB


def row(csv: str, **cells: str) -> PrintedRow:
    return PrintedRow(csv, 2, {"row_id": "X1", **cells})


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        ({"tokens_per_s_per_gpu": "10", "tokens_per_s_total": "9999", "accel_count": "8"}, 10.0),
        ({"tokens_per_s_total": "80", "accel_count": "8", "step_time_s": "1"}, 10.0),
        ({"global_batch": "4", "seq_len": "100", "step_time_s": "5", "accel_count": "8"}, 10.0),
        ({"global_batch": "4", "seq_len": "100", "accel_count": "8"}, None),
        ({"samples_per_s_total": "5", "seq_len": "100", "accel_count": "8"}, None),
        ({"model_tflops_per_gpu": "400", "mfu_pct": "40", "accel_count": "8"}, None),
        ({"tokens_per_s_total": "80"}, None),
        ({"tokens_per_s_per_gpu": "1,007"}, 1007.0),
        ({"tokens_per_s_per_gpu": "NaN", "tokens_per_s_total": "80", "accel_count": "8"}, 10.0),
        ({"tokens_per_s_per_gpu": "0"}, None),
    ],
)
def test_the_first_present_rate_counts(cells, value):
    assert measured_value(row("training_throughput", **cells), "tokens_per_s_per_accel") == value


@pytest.mark.parametrize(
    ("unit", "publisher", "printed", "gib"),
    [
        ("GiB", "anyone", "10", 10.0),
        ("GB (as printed)", "anyone", "10", 10.0),
        ("GB (as printed)", "Lightning AI", "10", 1e10 / GIB),
        ("GiB", "Lightning AI", "10", 10.0),
        ("MB (as printed)", "anyone", "2048", 2.0),
        ("bytes", "anyone", str(3 * 2**30), 3.0),
        ("GB limit reached at this length", "anyone", "10", None),
    ],
)
def test_memory_is_read_in_the_publishers_unit(unit, publisher, printed, gib):
    cells = {"mem_printed": printed, "mem_unit": unit, "publisher": publisher, "mem_scope": "per accelerator"}
    assert measured_value(row("finetune_memory", **cells), "peak_memory_gib") == (pytest.approx(gib) if gib else None)


def test_memory_of_all_accelerators_together_is_no_reading():
    cells = {"mem_printed": "10", "mem_unit": "GiB", "mem_scope": "sum over GPUs (as printed)"}
    assert measured_value(row("finetune_memory", **cells), "peak_memory_gib") is None


@pytest.mark.parametrize("text", ["fast", "-3", "inf", "1e999", "12 tok/s"])
def test_a_broken_cell_is_reported_with_its_column(text):
    with pytest.raises(BrokenCell, match="X1 tokens_per_s_per_gpu"):
        measured_value(row("training_throughput", tokens_per_s_per_gpu=text), "tokens_per_s_per_accel")


def test_model_flops_of_a_known_convention_become_tokens_per_second():
    cells = {"row_id": "X", "model": "MaxText-32B", "params_b": "32", "seq_len": "2048", "hardware": "TPU v5e", "accel_count": "256",
             "model_tflops_per_chip": "132", "flops_convention": "MaxText of that date: full (non-causal) attention"}  # fmt: skip
    value = measured_value(PrintedRow("tpu_training", 2, cells), "tokens_per_s_per_accel")
    assert value == pytest.approx(132e12 / (6 * 32e9), rel=0.1)
    unknown = PrintedRow("tpu_training", 2, cells | {"flops_convention": "MaxText"})
    assert measured_value(unknown, "tokens_per_s_per_accel") is None
