"""Latency of a replica that runs all waiting requests in one pass, up to a maximum batch. Numbers in, numbers out; arrays broadcast.

Requests arrive at random (Poisson), and a pass of b requests takes s(b) = fixed + each * b. While a pass runs, the next batch collects.
"""

import numpy as np

from rackwright.estimator.model.dimensions import Num

NORMAL_QUANTILES = {50: 0.0, 90: 1.2816, 95: 1.6449, 99: 2.3263}


def latency_percentile(rate: Num, fixed_s: Num, each_s: Num, batch: Num, percentile: int) -> Num:
    """Return the seconds from arrival to answer at a percentile of requests; inf where the queue grows without limit.

    rate: requests per second of the replica. fixed_s, each_s: seconds of a pass, and of each request in it. batch: maximum batch.
    The size of a batch is that of the arrivals during the pass before: mean m = rate * fixed / (1 - u) with u = rate * each, variance
    m / (1 - u^2), and requests see larger batches more often. A request waits for the rest of a running pass, uniform over it, or in the
    queue of full batches (Kingman, arrivals of groups of `batch`), whichever is longer. A batch of 1 is the M/D/1 queue. Simulations of
    the queue agree within 20 % where batches pay (tests/estimator/test_batch_queue.py).
    """
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = percentile / 100
        load = rate * (fixed_s + each_s * batch) / batch
        u = np.minimum(rate * each_s, 1 - 1e-9)
        mean = np.maximum(rate * fixed_s / (1 - u), 1e-12)
        variance = mean / (1 - u**2)
        seen = np.clip(mean + NORMAL_QUANTILES[percentile] * np.sqrt(variance) + variance / (2 * mean), 1.0, batch)
        middle = np.clip(mean + variance / (2 * mean), 1.0, batch)
        busy = np.minimum(rate * (fixed_s + each_s * middle) / middle, 1.0)
        pass_s = fixed_s + each_s * seen
        rest_s = np.where(np.greater(batch, 1), pass_s * np.maximum(share - 1 + busy, 0.0) / busy, 0.0)
        full_s = fixed_s + each_s * batch
        queue_s = full_s / (2 * batch * np.maximum(1 - load, 1e-12)) * np.log(np.maximum(load / (1 - share), 1.0))
        return np.where(np.less(load, 1), pass_s + np.maximum(rest_s, queue_s), np.inf)
