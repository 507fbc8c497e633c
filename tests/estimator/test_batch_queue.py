"""The latency formula of a replica with dynamic batches, compared with a simulation of the queue."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rackwright.estimator.serving.batch_queue import NORMAL_QUANTILES, latency_percentile

REQUESTS = 20_000


def simulated(rate, fixed_s, each_s, batch):
    """Seconds from arrival to answer of requests at random times; a free replica takes all that wait, up to a batch."""
    arrivals, found = np.cumsum(np.random.default_rng(1).exponential(1 / rate, REQUESTS)), np.empty(REQUESTS)
    now, first = 0.0, 0
    while first < REQUESTS:
        now = max(now, arrivals[first])
        count = min(max(int(np.searchsorted(arrivals, now, side="right")) - first, 1), batch)
        now += fixed_s + each_s * count
        found[first : first + count] = now - arrivals[first : first + count]
        first += count
    return found[REQUESTS // 10 :]


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
@pytest.mark.parametrize(
    ("fixed_s", "each_s", "batch"),
    [(0.004, 0.0026, 1), (0.1, 2.0, 1), (0.02, 0.02, 4), (0.02, 0.02, 16), (0.004, 0.0026, 64), (0.05, 0.005, 16)],
)
def test_formula_agrees_with_a_simulated_queue(fixed_s, each_s, batch, load):
    rate = load * batch / (fixed_s + each_s * batch)
    seen = simulated(rate, fixed_s, each_s, batch)
    for percentile in (50, 95, 99):
        expected = float(np.quantile(seen, percentile / 100))
        assert latency_percentile(rate, fixed_s, each_s, batch, percentile) == pytest.approx(expected, rel=0.21)


@given(
    rate=st.floats(0.1, 100), fixed_s=st.floats(0, 1), each_s=st.floats(1e-4, 1), batch=st.sampled_from([1, 2, 8, 64]),
    percentile=st.sampled_from(sorted(NORMAL_QUANTILES)),
)  # fmt: skip
def test_more_traffic_is_never_faster_and_no_answer_is_faster_than_its_pass(rate, fixed_s, each_s, batch, percentile):
    slow, fast = (float(latency_percentile(r, fixed_s, each_s, batch, percentile)) for r in (rate, rate / 2))
    assert slow >= fast * (1 - 1e-9)
    assert fast >= fixed_s + each_s - 1e-12


def test_a_queue_beyond_its_capacity_has_no_latency():
    assert latency_percentile(11.0, 0.0, 0.1, 1, 95) == np.inf
