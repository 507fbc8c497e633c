"""The nearest measured run: an identical run first, its differences as text, from the rows of the package."""

from dataclasses import replace

import pytest
from rackwright.catalog import Catalog
from rackwright.estimator.config.configuration import CONFIGURATION_ADAPTER
from rackwright.estimator.config.resolve import serving_case, training_case
from rackwright.estimator.dataset import nearest_runs as room
from rackwright.estimator.dataset import runs
from rackwright.estimator.dataset.nearest_runs import distance, nearest_runs

TRAINED = {"kind": "training", "model": "llama-3.1-8b", "engine": {"name": "torchtitan"}, "sequence": 8192}
SERVED = {"kind": "serving", "model": "llama-3.1-70b", "engine": {"name": "vllm"}, "input_tokens": 1024, "output_tokens": 1024,
          "concurrency": 64, "layout": {"tensor": 4}, "weight_numbers": "fp8"}  # fmt: skip


def runs_near(plain: dict, **hardware):
    config = CONFIGURATION_ADAPTER.validate_python({**plain, "hardware": {"accelerator": "H100-96GB-500W", "count": 8, **hardware}})
    return {run.metric: run for run in nearest_runs(config, training_case(config) if config.kind == "training" else serving_case(config))}


def test_a_published_run_is_its_own_nearest():
    run = runs_near(TRAINED)["tokens_per_s_per_accel"]
    assert (run.hardware, run.model, run.engine) == ("H100-96GB-500W", "Llama-3.1-8B", "torchtitan")
    assert run.distance < 0.05
    assert run.differs == ()
    assert run.predicted == pytest.approx(run.measured, rel=0.5)


def test_differences_are_listed():
    run = runs_near(TRAINED, count=32)["tokens_per_s_per_accel"]
    assert any(said.startswith("count ") and said.endswith("instead of 32") for said in run.differs)


def test_each_kind_of_work_has_its_metrics():
    assert set(runs_near(TRAINED)) == {"tokens_per_s_per_accel", "peak_memory_gib"}
    assert set(runs_near(TRAINED | {"tokens": 1e12})) == {"tokens_per_s_per_accel", "peak_memory_gib", "time_to_train_min"}
    assert set(runs_near(SERVED)) == {"output_tok_s_per_accel", "tpot_ms", "ttft_ms", "kv_tokens"}


def test_the_nearest_run_of_an_adapter_is_an_adapter():
    run = runs_near(TRAINED | {"adapter": {"type": "lora"}})["peak_memory_gib"]
    found = next(r.row for r in runs.row_readings() if r.row.id == run.row_id)
    assert found.text("method") == "lora"


def test_every_nearest_run_has_a_source():
    for plain in (TRAINED, SERVED):
        assert all(run.source.startswith("https://") and run.measured > 0 and run.unit for run in runs_near(plain).values())


def test_distance_is_symmetric_and_zero_for_equal_runs():
    likes = [run.features for run in room._comparable_runs("tokens_per_s_per_accel", ("training_throughput",))][::40]
    assert all(distance(a, a) == 0 for a in likes)
    assert all(distance(a, b) == pytest.approx(distance(b, a)) for a in likes for b in likes)


def test_runs_are_compared_by_the_accelerators_of_the_given_catalog():
    """A catalog in which the H100 has another name and half its peak: its runs keep their distance, and their predictions change."""
    catalog = Catalog.default()
    renamed = {"NVIDIA H100 80GB SXM5": "NVIDIA H100 80GB SXM9"}
    halves = {"bf16_flops": 0.5e15, "measured_bf16_flops": 0.4e15}
    own = replace(
        catalog, accelerators=tuple(replace(a, name=renamed[a.name], **halves) if a.name in renamed else a for a in catalog.accelerators)
    )
    config = CONFIGURATION_ADAPTER.validate_python({**TRAINED, "hardware": {"accelerator": "H100-96GB-500W", "count": 8}})
    shipped, given = (
        {run.metric: run for run in nearest_runs(config, training_case(config, catalog=c), c)}["tokens_per_s_per_accel"]
        for c in (catalog, own)
    )
    assert given.row_id == shipped.row_id
    assert given.distance == shipped.distance
    assert given.predicted != shipped.predicted
