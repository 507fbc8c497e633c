"""Custom workloads: the user's measured runs, scaled to other accelerators."""

import pytest
from rackwright.catalog import Catalog
from rackwright.diagnostics.problem import Level, Problem
from rackwright.estimator.config import accelerators
from rackwright.estimator.config.accelerator_variants import variants
from rackwright.sizing.assumptions import DEFAULT
from rackwright.sizing.job import CustomJob, CustomRun
from rackwright.sizing.rejection import Limit, Reason
from rackwright.sizing.search.measured_runs import EQUAL_RUNS, OWN_SPREAD, measured_outcome
from rackwright.sizing.search.outcome import Outcome
from rackwright.spec import examine
from rackwright.units import GIB
from rackwright.wording.formatting import TERMS
from rackwright.wording.rejections import explanation

from tests.sizing.helpers import AWS, plan, servers

A100, H100, B200, L4 = "NVIDIA A100 80GB SXM4", "NVIDIA H100 80GB SXM5", "NVIDIA B200 SXM", "NVIDIA L4"


def run(accelerator: str, count: int, rate: float, gib: float = 31.0) -> CustomRun:
    a = accelerators.find(accelerator)
    return CustomRun("NVIDIA", count, a.base_peak * a.sustained_share, a.bandwidth_bytes_per_s, gib * GIB, rate)


def outcome(accelerator: str, count: int, *runs: CustomRun) -> Outcome:
    return measured_outcome(CustomJob(runs, 1e6), servers(1, accelerator, count), "bf16", DEFAULT)


def rates(found: Outcome) -> tuple[float, float, float]:
    """The slow end, the median and the fast end of the interval."""
    middle = found.speed.samples_per_s
    return middle / found.band.high, middle, middle / found.band.low


def test_the_measured_machine_has_the_measured_rate():
    found = outcome(A100, 8, run(A100, 8, 420.0))
    assert found.speed.samples_per_s == pytest.approx(420)
    assert found.work_s == pytest.approx(1e6 / 420)
    assert (found.band.low, found.band.high) == pytest.approx((1 / OWN_SPREAD, OWN_SPREAD))
    assert found.evidence == "your measured runs (n=1)"
    assert not found.rejections


def test_one_run_leaves_open_what_binds():
    """H100 over A100: 1.64 times the bandwidth (3.35 over 2.04 TB/s), and the ratio of their sustained FLOP/s."""
    slow, middle, fast = rates(outcome(H100, 8, run(A100, 8, 420.0)))
    first, second = run(A100, 8, 1.0), run(H100, 8, 1.0)
    ratios = second.bandwidth_bytes_per_s / first.bandwidth_bytes_per_s, second.flops / first.flops
    assert min(ratios) == pytest.approx(1.64, abs=0.01)
    assert (slow, fast) == pytest.approx((420 * min(ratios) / OWN_SPREAD, 420 * max(ratios) * OWN_SPREAD))
    assert middle == pytest.approx(420 * (ratios[0] * ratios[1]) ** 0.5)


@pytest.mark.parametrize("bound", ["flops", "bandwidth_bytes_per_s"])
def test_a_run_on_a_second_accelerator_tells_what_binds(bound):
    first = run(A100, 8, 420.0)
    ratio = getattr(run(H100, 8, 1.0), bound) / getattr(first, bound)
    one, two = outcome(B200, 8, first), outcome(B200, 8, first, run(H100, 8, 420.0 * ratio))
    expected = 420 * getattr(run(B200, 8, 1.0), bound) / getattr(first, bound)
    assert two.speed.samples_per_s == pytest.approx(expected, rel=2 * EQUAL_RUNS)
    assert two.band.high / two.band.low < one.band.high / one.band.low


def test_runs_on_two_counts_tell_how_the_rate_scales():
    one = rates(outcome(A100, 32, run(A100, 1, 60.0)))
    two = rates(outcome(A100, 32, run(A100, 1, 60.0), run(A100, 8, 60.0 * 8**0.8)))
    assert two[1] == pytest.approx(60 * 32**0.8, rel=0.15)
    assert two[2] / two[0] < one[2] / one[0]
    assert one[2] == pytest.approx(60 * 32 * OWN_SPREAD)


def test_runs_that_contradict_each_other_widen_the_interval():
    agreed = outcome(A100, 8, run(A100, 8, 420.0), run(A100, 8, 430.0))
    found = outcome(A100, 8, run(A100, 8, 420.0), run(A100, 8, 1260.0))
    assert agreed.band.high == pytest.approx(OWN_SPREAD)
    assert found.band.high > 2 * OWN_SPREAD / 1.2
    assert found.speed.samples_per_s == pytest.approx((420 * 1260) ** 0.5)


def test_memory_is_that_of_the_nearest_smaller_count():
    runs = run(A100, 2, 100.0, gib=60), run(A100, 8, 380.0, gib=31)
    assert outcome(A100, 4, *runs).memory.total_bytes == 60 * GIB
    assert outcome(A100, 16, *runs).memory.total_bytes == 31 * GIB


@pytest.mark.parametrize(
    ("accelerator", "count", "limit", "words"),
    [
        (L4, 8, Limit.DEVICE_MEMORY, "peak of your measured run"),
        (A100, 4, Limit.THROUGHPUT, "the memory of one accelerator is known from measured runs on this number and more"),
        ("AMD MI300X", 8, Limit.DATA, "no measured run is on an accelerator of AMD, so the rate on AMD Instinct MI300X is unknown"),
    ],
)
def test_machines_that_the_runs_do_not_describe_are_rejected(accelerator, count, limit, words):
    target = servers(1, accelerator, count)
    target = target if accelerator != "AMD MI300X" else type(target)(**{**vars(target), "vendor": "AMD"})
    (found,) = measured_outcome(CustomJob((run(A100, 8, 420.0),), 1e6), target, "bf16", DEFAULT).rejections
    assert (found.limit, explanation(found)) == (limit, words)


def test_a_plan_scales_the_runs_to_every_offer():
    spec = f"{{name: fold, kind: custom, samples: 2e7, measured: [{{accelerator: A100-80GB, accelerators: 8, memory: 31 GiB, {RATE}}}]}}"
    found = plan(spec, AWS, goals="{max_duration: 48h}")
    assert found.chosen.evidence == "your measured runs (n=1)"
    assert {f.candidate.accelerators for f in found.fits} >= {8, 16}
    assert all(f.candidate.accelerators >= 8 for f in found.fits)
    h100 = next(f for f in found.fits if f.candidate.label.startswith("1 x p5.48xlarge"))
    assert h100.duration_s.p10 < 2e7 / (420 * 3) < h100.duration_s.p90
    assert {x.reason for r in found.rejected for x in r.rejections} >= {Reason.FEWER_THAN_MEASURED}


RATE = "samples_per_second: 420"


def test_the_memory_of_a_measured_run_is_one_term_that_is_not_called_weights():
    memory = outcome(A100, 8, run(A100, 8, 420.0)).memory
    assert (memory.weights_bytes, memory.measured_bytes, memory.total_bytes) == (0, 31 * GIB, 31 * GIB)
    assert {term for term in TERMS if getattr(memory, f"{term}_bytes")} == {"measured"}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("h100", 3), ("H100", 3), ("NVIDIA H100", 3), ("H100-80GB", 2), ("a100", 3), ("h200", 2),
        ("H100 SXM", 0), ("h100-pcie", 0), ("nvidia-h100-80gb", 0), ("A100-80GB", 0), ("L4", 0), ("T4", 0), ("A10", 0), ("B200", 0),
        ("x9", 0),
    ],
)  # fmt: skip
def test_a_name_of_several_variants_is_ambiguous(name, found):
    """`h100` was read as SXM5, which has 1.7 times the bandwidth of PCIe."""
    names = variants(name, Catalog.default())
    assert len(names) >= found if found else names == ()


def test_an_ambiguous_accelerator_is_asked_for():
    problem = refused("{accelerator: h100, accelerators: 8, memory: 31 GiB, samples_per_second: 420}")
    assert (problem.code, str(problem.at)) == ("S-176", "workloads[0].measured[0].accelerator")
    assert "NVIDIA H100 80GB SXM5, NVIDIA H100 80GB PCIe, NVIDIA H100 94GB NVL" in problem.reason


def refused(*runs: str) -> Problem:
    return examined(*runs)[0]


def examined(*runs: str) -> list[Problem]:
    head = "api_version: rackwright/v1\nname: t\nworkloads: [{name: fold, kind: custom, samples: 2e7, measured: ["
    reading = examine(f"{head}{', '.join(runs)}]}}]\ninfra: {{any_of: [{AWS}]}}")
    return [*reading.problems]


@pytest.mark.parametrize(("other", "level"), [(430, None), (470, None), (500, Level.WARNING), (800, Level.WARNING), (1260, Level.ERROR)])
def test_runs_on_the_same_accelerators_that_differ_by_more_than_noise(other, level):
    one = "{accelerator: A100-80GB, accelerators: 8, memory: 31 GiB, samples_per_second: 420}"
    two = f"{{accelerator: NVIDIA A100 80GB SXM4, accelerators: 8, memory: 31 GiB, samples_per_second: {other}}}"
    found = [problem for problem in examined(one, two) if problem.code == "S-177"]
    assert [problem.level for problem in found] == ([level] if level else [])
    if found:
        assert str(found[0].at) == "workloads[0].measured[1].samples_per_second"
        assert f"Runs on 8 x NVIDIA A100 80GB SXM4 have 420 and {other:,} samples/s" in found[0].reason


def test_runs_on_other_counts_may_differ():
    one = "{accelerator: A100-80GB, accelerators: 8, memory: 31 GiB, samples_per_second: 420}"
    assert not [
        problem
        for problem in examined(one, one.replace("accelerators: 8", "accelerators: 2").replace("420", "110"))
        if problem.code == "S-177"
    ]
