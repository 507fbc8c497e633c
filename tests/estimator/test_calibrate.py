"""Calibration with the user's runs: corrections, their scope, and excluded rows."""

import json
import re

import pytest
from rackwright import UserError
from rackwright.estimator.calibration.calibrate import PRIOR_RUNS, calibrate, check_output_path, load_calibration
from rackwright.estimator.calibration.coefficients import calibration
from rackwright.estimator.dataset.columns.cells import MAX_CELL_CHARACTERS, read_file
from rackwright.estimator.dataset.runs import DATA
from rackwright.estimator.estimate import estimate

from tests.estimator.configs import training_data

SEEN = "TT0001"


def shipped_row(row_id: str = SEEN) -> dict[str, str]:
    return next(row.cells for row in read_file(DATA / "training_throughput.csv") if row.id == row_id)


def written(folder, *rows: dict[str, str]):
    path = folder / "runs.csv"
    lines = [",".join(rows[0]), *(",".join(f'"{cell}"' for cell in row.values()) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def faster(by: float, name: str = "OWN1", **changed: str) -> dict[str, str]:
    row = shipped_row()
    return row | {"row_id": name, "tokens_per_s_per_gpu": str(float(row["tokens_per_s_per_gpu"]) * by), **changed}


def test_the_correction_grows_with_the_number_of_runs(tmp_path):
    one = calibrate(written(tmp_path, faster(1.5)))
    many = calibrate(written(tmp_path, *(faster(1.5, f"OWN{i}") for i in range(8))))
    (kind, (little, n)), (much, m) = next(iter(one.factors.items())), next(iter(many.factors.values()))
    assert (n, m) == (1, 8)
    assert kind.startswith("step | ")
    gap = one.runs[0].measured / one.runs[0].before
    assert little == pytest.approx(gap ** (1 / (1 + PRIOR_RUNS)), rel=1e-3)
    assert much == pytest.approx(gap ** (8 / (8 + PRIOR_RUNS)), rel=1e-3)
    assert one.runs[0].after == pytest.approx(one.runs[0].before * little)


def test_a_correction_applies_only_to_its_class(tmp_path):
    path = tmp_path / "calibration.json"
    path.write_text(calibrate(written(tmp_path, *(faster(1.3, f"OWN{i}") for i in range(4)))).to_text())
    own = load_calibration(path)
    factor = next(iter(own.factors.values()))[0]
    data = training_data(engine={"name": "Composer"}, model="llama-2-7b", sequence=2048, recompute="full")
    plain, learned = estimate(data), estimate(data, own)
    assert plain.tokens_per_s
    assert learned.tokens_per_s
    assert learned.tokens_per_s.p50 == pytest.approx(plain.tokens_per_s.p50 * factor)
    assert learned.peak_memory_bytes == plain.peak_memory_bytes
    elsewhere = data | {"hardware": {"accelerator": "A100", "count": 8}}
    assert estimate(elsewhere) == estimate(elsewhere, own)


def test_a_cell_in_another_unit_is_reported_and_ignored(tmp_path):
    found = calibrate(written(tmp_path, faster(1.1), faster(1000, "OWN2")))
    assert [run.row_id for run in found.runs] == ["OWN1"]
    (problem,) = found.problems
    assert re.fullmatch(
        r"OWN2 tokens_per_s_per_accel: measured [\d,.e+]+ differs from predicted [\d,.e+]+ by more than 5 times", problem.reason
    )
    assert problem.fix == "check the unit; tokens_per_s_per_accel is in tokens/s"


@pytest.mark.parametrize(
    ("column", "text"), [("layers", "many"), ("seq_len", "-1"), ("hardware", "H900"), ("tokens_per_s_per_gpu", "fast")]
)
def test_a_broken_cell_invalidates_only_its_row(tmp_path, column, text):
    found = calibrate(written(tmp_path, faster(1.1), faster(1.2, "OWN2", **{column: text})))
    assert [run.row_id for run in found.runs] == ["OWN1"]
    (problem,) = found.problems
    assert text in problem.reason
    assert problem.mark
    assert problem.mark.line == 3


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "isl,osl\n"])
def test_a_file_without_runs_is_refused(tmp_path, text):
    path = tmp_path / "runs.csv"
    path.write_text(text)
    with pytest.raises(UserError):
        calibrate(path)
    with pytest.raises(UserError):
        calibrate(path.rename(tmp_path / "training_throughput.csv"))
    with pytest.raises(UserError):
        calibrate(tmp_path / "none.csv")


def test_messages_state_the_condition_and_a_fix(tmp_path):
    runs, old = tmp_path / "runs.csv", tmp_path / "old.json"
    runs.write_text("a,b\n1,2\n")
    old.write_text('{"base": "fit-0", "factors": {}}')
    shown = []
    for call in (lambda: calibrate(runs), lambda: load_calibration(old), lambda: load_calibration(runs)):
        with pytest.raises(UserError) as raised:
            call()
        shown.append((raised.value.problems[0].reason, raised.value.problems[0].fix))
    assert shown == [
        (
            "runs.csv has no column that identifies the kind of runs",
            "add one of peft_type (finetune_memory), mem_printed (training_memory), isl (inference_throughput), "
            "kv_tokens (inference_memory), "
            "tokens_per_s_per_chip (tpu_training), time_to_train_min (time_to_train), tokens_per_s_per_gpu (training_throughput), "
            "throughput_images_s (diffusion_vision)",
        ),
        (
            f"the calibration was made with coefficients fit-0, but this release has {calibration().version}",
            "run `rackwright calibrate RUNS.csv -o FILE.json` again",
        ),
        (
            "the file is not a calibration: Expecting value: line 1 column 1 (char 0)",
            "create one with `rackwright calibrate RUNS.csv -o FILE.json`",
        ),
    ]


@pytest.mark.parametrize("text", ["", "[]", '{"base": "fit-0", "factors": {}}', '{"base": 1}', '{"factors": {"a": {}}, "base": "x"}'])
def test_a_calibration_of_other_coefficients_is_refused(tmp_path, text):
    path = tmp_path / "calibration.json"
    path.write_text(text)
    with pytest.raises(UserError):
        load_calibration(path)


@pytest.mark.parametrize("factor", ["NaN", "Infinity", "-1", "0", "1e300", '"much"'])
def test_an_implausible_factor_is_refused(tmp_path, factor):
    path = tmp_path / "calibration.json"
    path.write_text(f'{{"base": "{calibration().version}", "factors": {{"step | dense | hopper": {{"factor": {factor}, "runs": 1}}}}}}')
    with pytest.raises(UserError, match=r"factor|float"):
        load_calibration(path)


def test_a_deeply_nested_calibration_is_refused(tmp_path):
    path = tmp_path / "calibration.json"
    path.write_text("[" * 100_000)
    with pytest.raises(UserError):
        load_calibration(path)


def test_only_a_calibration_is_overwritten(tmp_path):
    runs, notes, old = written(tmp_path, faster(1.1)), tmp_path / "notes.json", tmp_path / "old.json"
    notes.write_text('{"mine": 1}')
    old.write_text(calibrate(runs).to_text())
    for mine in (runs, notes):
        with pytest.raises(UserError, match="exists and is not a calibration, so it was not overwritten"):
            check_output_path(mine, runs)
    check_output_path(old, runs)
    check_output_path(tmp_path / "new.json", runs)


def test_a_long_cell_invalidates_only_its_row_and_an_unclosed_quote_gives_its_line(tmp_path):
    found = calibrate(written(tmp_path, faster(1.1), faster(1.1, "OWN2", notes="x" * 200_000), faster(1.1, "OWN3", layers="9" * 200_000)))
    assert [run.row_id for run in found.runs] == ["OWN1", "OWN2"]
    with pytest.raises(UserError, match="line 2"):
        calibrate(written(tmp_path, faster(1.1, notes="x" * (MAX_CELL_CHARACTERS + 1))))


def test_runs_without_a_usable_metric_list_the_usable_ones(tmp_path):
    with pytest.raises(UserError, match="time_to_train"):
        calibrate(written(tmp_path, read_file(DATA / "time_to_train.csv")[0].cells))


@pytest.mark.parametrize(("csv", "model"), [("training_memory", "memory"), ("finetune_memory", "adapter_memory")])
def test_files_with_equal_columns_are_distinguished_by_their_rows(tmp_path, csv, model):
    found = calibrate(written(tmp_path, *(row.cells for row in read_file(DATA / f"{csv}.csv")[:5])))
    assert {run.kind.split(" | ")[0] for run in found.runs} == {model}


def test_without_a_file_the_shipped_coefficients_are_used(tmp_path):
    assert load_calibration(None) == calibration()
    path = tmp_path / "none.json"
    path.write_text(json.dumps({"base": calibration().version, "factors": {}}))
    assert load_calibration(path) == calibration()


def test_rates_of_images_are_calibrated(tmp_path):
    runs = tmp_path / "runs.csv"
    head = "row_id,hardware,accel_count,task,model,image_size,batch_size,precision,framework,throughput_images_s"
    lines = [f"R{b},L4,1,inference,ViT-B/16,224x224,{b},fp16,PyTorch 2.4,{rate}" for b, rate in ((64, 900), (128, 950))]
    runs.write_text("\n".join([head, *lines]))
    found = calibrate(runs)
    assert not found.problems
    ((name, (_, n)),) = found.factors.items()
    assert (name, n) == ("samples | vision inference | ada cards", 2)
    assert all(abs(r.after / r.measured - 1) < abs(r.before / r.measured - 1) for r in found.runs)
