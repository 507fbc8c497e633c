"""Time to first token (TTFT) of one replica under a steady load. Does not depend on the catalog or the spec.

TTFT is the request's prompt, one iteration and a wait. Open loop: random arrivals wait for half an iteration and for earlier prompts
(M/D/1). Closed loop: requests arrive in bunches, so the wait grows with the depth of the model, with some prompts and with a share of all
other prompts; these terms are fitted on published runs, which do not separate the causes. Requests that exceed the cache wait in a queue.
"""

from dataclasses import dataclass

import numpy as np

from rackwright.estimator.calibration.coefficients import fitted
from rackwright.estimator.case import Num
from rackwright.estimator.serving import iteration
from rackwright.estimator.serving.case import ServingCase

MAX_PREFILL_UTILIZATION = 0.8
"""Highest share of time spent on prompts at which an open loop's queue is assumed stable. Assumption of rackwright, 2026-11."""


@dataclass(frozen=True)
class TtftCoefficients:
    fixed_ms: float = fitted(5.0, 0.0, 100.0, "of a request: network, tokeniser, detokeniser", "ms", 1.0)
    layer_ms: float = fitted(2.0, 0.0, 20.0, "closed loop: wait per layer, twice where it has experts, whatever the load", "ms", 0.7)
    vllm: float = fitted(0.5, 0.1, 2.0, "that wait in vLLM, which mixes prompts into iterations", "x", 0.6)
    bunch: float = fitted(0.7, 0.0, 4.0, "closed loop: prompts of others that come at the same time", "prompts", 0.7)
    others: float = fitted(0.07, 0.0, 0.5, "closed loop: share of all others' prompts in front of one's own", "", 0.7)


def extra_parts(case: ServingCase, default_tokens: Num, is_chunked: bool = True) -> Num:
    """Return the iterations of a prompt beyond those of an engine with `default_tokens` per iteration. An engine with chunked prefill
    computes at most a batch per iteration (vLLM, max_num_batched_tokens), one without it whole prompts."""
    new = case.input * (1 - case.cached_share)
    parts = np.maximum(np.ceil(new / case.batched_tokens), 1.0) if is_chunked else 1.0
    return parts - np.maximum(np.ceil(new / default_tokens), 1.0)


def first_token_seconds(case: ServingCase, k_decode: iteration.DecodeCoefficients, k: TtftCoefficients, running: Num | None = None) -> Num:
    """Return the mean seconds from sending a request to its first token. running: requests in flight; None: computed here."""
    batch = iteration.running_requests(case, k_decode) if running is None else running
    prompt = iteration.prefill_seconds(case, k_decode)
    token = iteration.token_seconds(case, k_decode, batch, prompt)
    in_step = np.maximum(iteration.share_before_first_token(case, batch), k.others * np.not_equal(case.engine, "sglang"))
    depth = k.layer_ms * 1e-3 * (case.network.layers + case.network.moe_layers) * np.where(np.equal(case.engine, "vllm"), k.vllm, 1.0)
    closed = (1 - 1 / batch) * (depth + k.bunch * prompt) + in_step * (batch - 1) * prompt
    busy = np.minimum(case.rate * prompt, MAX_PREFILL_UTILIZATION)
    arriving = token / 2 + prompt * busy / (2 * (1 - busy))
    own = k.fixed_ms * 1e-3 + (1 + case.extra_parts) * iteration.iteration_seconds(case, k_decode, batch) + prompt
    # a closed loop with more requests than places in the batch waits for a place
    waiting = np.where(np.isfinite(case.concurrency), np.maximum(case.concurrency - batch, 0), 0.0)
    return own + np.where(np.greater(case.open_loop, 0), arriving, closed) + waiting / batch * case.output * token
