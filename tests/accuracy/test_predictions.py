"""Predictions of the benchmark are complete, independent of measured values, and unaffected by broken cells in other rows."""

import csv
import random
import re
from functools import cache
from pathlib import Path

import accuracy
import pytest
from rackwright.estimator.dataset.columns.measured import METRICS
from rackwright.estimator.dataset.runs import DATA, row_readings

OUTCOMES = {
    "tokens_per_s_per_gpu", "tokens_per_s_total", "samples_per_s_total", "tokens_per_s", "samples_per_s", "tokens_per_s_per_chip",
    "tokens_per_s_per_accel", "output_tok_s_total", "output_tok_s_per_accel", "total_tok_s", "requests_per_s", "bandwidth_gb_s",
    "step_time_s", "time_to_train_min", "ttft_ms", "tpot_ms", "latency_s", "model_tflops_per_gpu", "hw_tflops_per_gpu",
    "model_tflops_per_chip", "mfu_pct", "hfu_pct", "peak_mem_gib", "mem_printed", "peak_mem_printed", "weights_grad_opt_gib",
    "activations_gib", "activation_pct_of_no_recompute", "hbm_gb_after_init", "hbm_gb_xla_estimate", "usable_mem_gib", "weights_gib",
    "non_torch_gib", "activation_peak_gib", "kv_cache_gib", "kv_tokens", "oom", "accel_hours",
    "throughput_images_s", "samples_per_s_per_accel",
}  # fmt: skip
SHUFFLED = ("row_id", "group_key", "publisher", "source")
HEAD = "row_id,group_key,publisher,hardware,accel_count,model,params_b,layers,hidden,heads,kv_heads,ffn,vocab,method,framework,precision,"
SMALL = {
    "training_throughput": HEAD + "tp,pp,dp,shard,recompute,seq_len,micro_batch,global_batch,tokens_per_s_per_gpu,peak_mem_gib,notes\n"
    "A1,a,P,H100-80GB,8,Llama-3.1-8B,8.03,32,4096,32,8,14336,128256,pretrain,torchtitan,bf16,1,1,8,FSDP,none,8192,1,8,6000,60,\n"
    "A2,a,P,H100-80GB,8,Llama-3.1-8B,8.03,thirty,4096,32,8,14336,128256,pretrain,torchtitan,bf16,1,1,8,FSDP,none,8192,1,8,6000,,\n"
    "A3,a,P,H100-80GB,8,Llama-3.1-8B,8.03,32,4096,32,8,14336,128256,pretrain,torchtitan,bf16,1,1,8,FSDP,none,8192,1,8,fast,,\n"
    "A4,a,P,Abacus-9,8,Llama-3.1-8B,8.03,32,4096,32,8,14336,128256,pretrain,torchtitan,bf16,1,1,8,FSDP,none,8192,1,8,6000,,\n"
    "A5,a,P,H100-80GB,8,Nobody-13B,,,,,,,,pretrain,Unheard-of trainer 9,bf16,,,,,,2048,,,,,\n"
    "A6,a,P,H100-80GB,8,Nobody,,,,,,,,pretrain,torchtitan,bf16,,,,,,2048,,,,,\n"
    "A7,short\n",
    "inference_memory": "row_id,model,hardware,framework,precision,tp,surprise\nK1,Llama-3.1-8B,RTX4090,vLLM,bf16,1,x\n",
}


@pytest.fixture
def small(tmp_path: Path) -> dict[tuple[str, str], accuracy.Line]:
    for name, text in SMALL.items():
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    return {(line.reading.row.id, line.metric): line for line in accuracy.lines(tmp_path)}


@cache
def embedded_lines() -> list[accuracy.Line]:
    return accuracy.lines(DATA)


def test_every_row_has_a_line_for_every_metric_of_its_file():
    made = embedded_lines()
    assert len(made) == sum(len(METRICS[r.row.csv]) for r in row_readings(DATA))
    assert {line.status for line in made} <= {"ok", "unsupported", "broken"}
    assert all(line.reason for line in made if line.status != "ok")


def test_predictions_do_not_depend_on_measured_values(tmp_path):
    draw = random.Random(4)
    for path in DATA.glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        for column in SHUFFLED:
            values = [row[column] for row in rows]
            draw.shuffle(values)
            for row, value in zip(rows, values, strict=True):
                row[column] = value
        for row in rows:
            row |= dict.fromkeys(OUTCOMES & row.keys(), "")
            row["notes"] = re.sub(r"\d[\d,]{4,}\d", "", row["notes"])
        with (tmp_path / path.name).open("w", encoding="utf-8", newline="") as file:
            out = csv.DictWriter(file, rows[0].keys())
            out.writeheader()
            out.writerows(rows)
    assert [line.cells()[5:8] for line in accuracy.lines(tmp_path)] == [line.cells()[5:8] for line in embedded_lines()]


def test_a_broken_input_cell_is_reported_and_other_rows_are_predicted(small):
    assert small["A2", "peak_memory_gib"].status == "broken"
    assert "A2 layers: 'thirty'" in small["A2", "peak_memory_gib"].reason
    assert small["A1", "peak_memory_gib"].status == "ok"
    assert small["A1", "peak_memory_gib"].measured == 60


def test_a_broken_reading_is_reported_and_not_scored(small):
    line = small["A3", "tokens_per_s_per_accel"]
    assert (line.status, line.scored) == ("broken", "")
    assert "A3 tokens_per_s_per_gpu: 'fast'" in line.reason


def test_an_unknown_accelerator_is_unsupported_and_counts_as_100_percent_error(small):
    line = small["A4", "tokens_per_s_per_accel"]
    assert (line.status, line.point().error) == ("unsupported", 1.0)
    assert "Abacus-9" in line.reason


def test_memory_of_an_unknown_accelerator_is_predicted(small):
    known, unknown = small["A1", "peak_memory_gib"].predicted, small["A4", "peak_memory_gib"].predicted
    assert known == unknown


def test_an_unknown_model_is_predicted_by_its_size(small):
    assert small["A5", "peak_memory_gib"].status == "ok"
    assert small["A6", "peak_memory_gib"].status == "unsupported"
    assert "neither layers and hidden nor params_b" in small["A6", "peak_memory_gib"].reason


def test_short_and_unusual_rows_are_kept(small):
    assert small["A7", "tokens_per_s_per_accel"].status == "unsupported"
    assert small["K1", "kv_tokens"].status == "ok"


def test_p10_p50_p90_are_in_order():
    bands = [line.predicted for line in embedded_lines() if line.predicted]
    assert bands
    assert all(0 < b.p10 <= b.p50 <= b.p90 for b in bands)


def test_the_file_matches_the_help(tmp_path, capsys):
    out = tmp_path / "out.csv"
    (tmp_path / "inference_memory.csv").write_text(SMALL["inference_memory"], encoding="utf-8")
    assert accuracy.main(["--measured", str(tmp_path), "--predictions", str(out)]) == 0
    head, line = out.read_text(encoding="utf-8").splitlines()
    assert head == "csv,row_id,metric,unit,measured,predicted,p10,p90,status,reason"
    assert line.startswith("inference_memory,K1,kv_tokens,tokens,,")
    assert "1 lines" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["none/out.csv", "."])
def test_an_unwritable_output_is_an_error_without_traceback(tmp_path, capsys, target):
    (tmp_path / "inference_memory.csv").write_text(SMALL["inference_memory"], encoding="utf-8")
    assert accuracy.main(["--measured", str(tmp_path), "--predictions", str(tmp_path / target)]) == 2
    assert "cannot be written" in capsys.readouterr().err


def test_missing_files_are_reported(tmp_path, capsys):
    (tmp_path / "inference_memory.csv").write_text(SMALL["inference_memory"], encoding="utf-8")
    assert accuracy.main(["--measured", str(tmp_path)]) == 0
    assert "tpu_training.csv" in (said := capsys.readouterr().err)
    assert "inference_memory.csv" not in said


@pytest.mark.parametrize("what", ["a folder that is not there", "a folder for a file", "a file for the folder"])
def test_an_unreadable_folder_is_an_error_without_traceback(tmp_path, capsys, what):
    (tmp_path / "training_memory.csv").mkdir()
    (tmp_path / "file").write_text("")
    folders = {"a folder that is not there": "none", "a folder for a file": ".", "a file for the folder": "file"}
    assert accuracy.main(["--measured", str(tmp_path / folders[what])]) == 2
    assert capsys.readouterr().err.startswith("accuracy: ")


def test_a_long_cell_does_not_affect_other_rows(tmp_path):
    text = SMALL["training_throughput"].replace(",thirty,", "," + "9" * 200_000 + ",")
    (tmp_path / "training_throughput.csv").write_text(text, encoding="utf-8")
    made = {(line.reading.row.id, line.metric): line for line in accuracy.lines(tmp_path)}
    assert made["A1", "tokens_per_s_per_accel"].status == "ok"
    assert made["A2", "tokens_per_s_per_accel"].status == "broken"
    assert "layers" in made["A2", "tokens_per_s_per_accel"].reason


def test_an_empty_folder_is_reported(tmp_path, capsys):
    assert accuracy.main(["--measured", str(tmp_path)]) == 2
    assert "training_throughput.csv" in capsys.readouterr().err
