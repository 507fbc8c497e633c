"""`rackwright estimate` and `calibrate`: invalid lines and files, examples of the guide."""

import csv
import json
import re
from pathlib import Path

import pytest

GOOD = {
    "kind": "training", "model": "llama-3.1-8b", "hardware": {"accelerator": "H100-80GB", "count": 8},
    "engine": {"name": "torchtitan"}, "sequence": 8192, "recompute": "selective",
}  # fmt: skip
LINES = {
    "no JSON": "{",
    "no object": "[]",
    "a list of kinds": '{"kind": [1]}',
    "nested without end": "[" * 100_000,
    "a number of thousands of digits": '{"kind": ' + "9" * 5000 + "}",
    "a list for a number": json.dumps(GOOD | {"model": {"layers": [1]}}),
    "a lone half of a character": json.dumps(GOOD | {"model": "\ud800"}),
    "a constraint violated": json.dumps(GOOD | {"micro_batches": 3, "global_batch": 8}),
    "a key twice": '{"kind": "training", "kind": "serving"}',
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_invalid_line_is_reported_and_others_are_estimated(rackwright, tmp_path, monkeypatch, line):
    monkeypatch.chdir(tmp_path)
    path = Path("runs.jsonl")
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join((json.dumps(GOOD), line, json.dumps(GOOD))).encode())
    result = rackwright("estimate", path, "--json")
    found = [json.loads(one) for one in result.out.splitlines()]
    assert (result.status, [one["ok"] for one in found], found[1]["line"]) == (2, [True, False, True], 2)
    result = rackwright("estimate", path)
    assert (result.status, result.out.count("training: fits")) == (2, 2)
    assert "runs.jsonl:2:1: error E-" in result.err
    assert len(result.widest) <= 100


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_empty_file_is_an_error(rackwright, tmp_path, text):
    path = tmp_path / "runs.jsonl"
    path.write_text(text)
    assert rackwright("estimate", path).status == 2
    assert json.loads(rackwright("estimate", path, "--json").out)["problems"][0]["code"] == "E-json"


def test_files_larger_than_a_spec_are_read(rackwright, tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text((json.dumps(GOOD) + " " * 90_000 + "\n") * 25)
    assert rackwright("estimate", path).status == 0


def test_calibrate_does_not_overwrite_its_input(rackwright, tmp_path, monkeypatch):
    from rackwright.estimator.dataset.columns.cells import read_file
    from rackwright.estimator.dataset.runs import DATA

    monkeypatch.chdir(tmp_path)
    row, runs = read_file(DATA / "training_throughput.csv")[0].cells, tmp_path / "runs.csv"
    with runs.open("w", newline="") as file:
        csv.writer(file).writerows([row.keys(), row.values()])
    before = runs.read_bytes()
    refused = rackwright("calibrate", runs, "-o", runs)
    assert (refused.status, runs.read_bytes()) == (2, before)
    assert "E-calibration" in refused.err
    first, again = (rackwright("calibrate", runs) for _ in range(2))
    assert (first.status, first.out) == (0, again.out)
    assert rackwright("calibrate", runs, "-o", "none/x.json").status == 2


GUIDE = (Path(__file__).parents[2] / "docs" / "estimate.md").read_text(encoding="utf-8")


def shown(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)


def test_examples_of_the_estimate_guide(rackwright, tmp_path, monkeypatch):
    """The configurations fit, the program runs, and a calibration changes only estimates of the class of its runs."""
    monkeypatch.chdir(tmp_path)
    Path("runs.jsonl").write_text(shown("json")[0])
    exec(compile(shown("python")[0], "docs/estimate.md", "exec"), {})
    plain = rackwright("estimate", "runs.jsonl")
    assert (plain.status, plain.out.count(": fits"), len(plain.widest) <= 100) == (0, 3, True)
    assert "own runs" not in plain.out
    for text, moved in zip(shown("csv"), (0, 1), strict=True):
        Path("mine.csv").write_text(text)
        learned = rackwright("calibrate", "mine.csv")
        assert learned.status == 0
        assert "not read" not in learned.out
        mine = rackwright("estimate", "runs.jsonl", "--calibration", "calibration.json").out
        assert (mine.count("own runs  without them"), mine.count("generation; unchanged")) == (moved, 3 - moved)


def test_unknown_columns_are_reported(rackwright, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(shown("csv")[0].replace("accel_count", "num_gpus"))
    assert "not read  unknown columns: `num_gpus`" in rackwright("calibrate", "mine.csv").out
    assert json.loads(rackwright("calibrate", "mine.csv", "--json").out)["unread"] == ["num_gpus"]


def test_numbers_have_no_exponent_and_have_units(rackwright, tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text(shown("json")[0])
    out = rackwright("estimate", path).out
    assert not re.search(r"\de\+\d", out)
    assert "tokens/s per accelerator measured" in out
    assert "context 0" not in out


def test_memory_that_fits_at_the_median_alone_names_the_percentile_that_decided(rackwright, tmp_path):
    """`does not fit   median` stood above 78.6 GiB of 80."""
    run = {
        "kind": "training", "model": "llama-3.1-8b", "sequence": 4096, "micro_batch": 2, "global_batch": 64, "engine": {"name": "hf"},
        "hardware": {"accelerator": "A100-80GB", "count": 8}, "layout": {"data": 8, "shard": "zero3"},
    }  # fmt: skip
    (tmp_path / "run.jsonl").write_text(json.dumps(run) + "\n", encoding="utf-8")
    found = json.loads(rackwright("estimate", tmp_path / "run.jsonl", "--json").out)
    assert found["peak_memory_bytes"]["p50"] <= found["capacity_bytes"] < found["peak_memory_bytes"]["p90"]
    assert not found["fits"]
    assert "training: does not fit at p90, which decides as in a plan; fits at p50" in rackwright("estimate", tmp_path / "run.jsonl").out
