"""Published rows of training memory as configurations, and the error of the priors alone on all of them."""

import numpy as np
import pytest
from rackwright.estimator.case import stack_cases
from rackwright.estimator.dataset import runs as rows
from rackwright.estimator.dataset.columns.cells import PrintedRow, read_file
from rackwright.estimator.training.memory import MODELS

from tests.estimator.memory_cases import PRIOR

ROWS = {row.id: row for row in read_file(rows.DATA / "training_memory.csv")}


def read(row_id: str, **cells: str):
    row = ROWS[row_id]
    found = rows.read_row(PrintedRow(row.csv, row.line, row.cells | cells))
    assert found.case is not None, found.reason
    return found.case


def test_megatron_rows_give_the_last_stage_and_layers_per_chunk():
    c = read("TM0205")  # "virtual stage layers 1", 32 layers, pp 4, logging rank
    assert (c.virtual, c.measured_stage, c.measures_reserved) == (8, 3, 0)
    assert (c.sequence_parallel, c.dropout) == (0, 1)


def test_a_run_without_a_count_uses_eight_nodes_or_its_layout():
    c = read("TM0193")
    assert (c.accelerators, c.replicas, c.shards, c.micro_batches) == (64, 8, 8, 64)
    assert read("TM0195").accelerators == 32, "nodes of four"
    assert read("TM0193", pp="16").accelerators == 256, "16 experts x 16 stages"
    assert read("TM0193", accel_count="128").accelerators == 128


@pytest.mark.parametrize(("row_id", "split"), [("TM0256", 2), ("TM0193", 1), ("TM0239", 4)])
def test_few_experts_are_split_by_tensor_parallelism_and_many_are_not(row_id, split):
    assert read(row_id).expert_tensor == split


def test_hybrid_stacks_count_two_layers_a_block():
    n = read("TM0261").network
    assert n.layers == 26
    assert n.trunk == pytest.approx(31.6e9, rel=0.05)


@pytest.mark.parametrize(("row_id", "reserved"), [("TM0001", 1), ("TM0205", 0), ("TM0156", 0)])
def test_only_peaks_labelled_reserved_include_the_reserve(row_id, reserved):
    assert read(row_id).measures_reserved == reserved


def test_modules_of_selective_recompute_are_parsed():
    c = read("TM0245")
    assert (c.recompute, c.recompute_norms, c.recompute_mlp, c.recompute_act, c.recompute_up) == (1, 1, 1, 1, 1)


def test_priors_predict_every_scored_row():
    """Targets of the fit are 9 and 14 %; the error of unfitted coefficients is slightly larger."""
    runs = rows.runs_of_model(MODELS[0])
    case = stack_cases([run.case for run in runs])
    missed = np.abs(np.asarray(MODELS[0].predict(case, PRIOR)) / [run.measured for run in runs] - 1)
    moe = case.network.experts > 0
    assert len(runs) == 55
    assert missed[~moe].mean() < 0.09
    assert missed[moe].mean() < 0.13
