"""Disaggregated services: replicas that compute prompts and replicas that generate answers, with the transfer of the KV cache between them.

Both kinds have the same layout. Each pool is searched on its own: prompts for the time to the first token, answers for the time per output
token and the cache. Does not depend on the catalog or the spec.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np

from rackwright.estimator.case import Num
from rackwright.estimator.serving.iteration import prefill_seconds
from rackwright.estimator.serving.throughput import kv_transfer_seconds
from rackwright.sizing.search.serving.replicas import ReplicaLoad, ServingLayouts

L = TypeVar("L", bound=ServingLayouts)


@dataclass(frozen=True, eq=False)
class PrefillLayouts(ServingLayouts):
    """Replicas that compute prompts only. after_s: pessimistic seconds from the end of a prompt to the first token."""

    after_s: np.ndarray

    def at(self, rows: np.ndarray) -> "PrefillLayouts":
        return _made(PrefillLayouts, super().at(rows), after_s=self.after_s[rows])

    def loaded(self, replicas: Num, max_utilisation: float) -> ReplicaLoad:
        """Load with the prompts spread evenly over the replicas: random arrivals wait for earlier prompts (M/G/1)."""
        case = replace(self.case, rate=self.job.rate / replicas)
        prompt = prefill_seconds(case, self.decode)
        busy = np.minimum(case.rate * prompt, 1 - 1e-6)
        wait = prompt * busy / (2 * (1 - busy)) + self._tail(case, prompt, self.job.ttft[1] if self.job.ttft else 50)
        ttft = (self.ttft.fixed_ms * 1e-3 + prompt + wait) * self.first_slow + self.after_s
        carries = case.rate * prompt <= max_utilisation
        ok = carries & (ttft <= (self.job.ttft[0] if self.job.ttft else np.inf))
        return ReplicaLoad(ttft, np.zeros_like(ttft), busy, carries, ok)


@dataclass(frozen=True, eq=False)
class PooledLayouts(ServingLayouts):
    """Both pools. prefill_share: part of the replicas that computes prompts."""

    prefill_share: np.ndarray

    def at(self, rows: np.ndarray) -> "PooledLayouts":
        return _made(PooledLayouts, super().at(rows), prefill_share=self.prefill_share[rows])

    def spread(self, s: ServingLayouts, which: np.ndarray) -> "PooledLayouts":
        """Other layouts with the shares of these. which: the row of each among these."""
        return _made(PooledLayouts, s, prefill_share=self.prefill_share[which])

    def loaded(self, replicas: Num, max_utilisation: float) -> ReplicaLoad:
        answers = generating(self).loaded(replicas * (1 - self.prefill_share), max_utilisation)
        prompts = computing(self, answers.tpot_s).loaded(replicas * self.prefill_share, max_utilisation)
        return replace(answers, ttft_s=prompts.ttft_s, carries=prompts.carries & answers.carries, ok=prompts.ok & answers.ok)


def generating(s: ServingLayouts) -> ServingLayouts:
    """The replicas that generate answers: prompts arrive in their cache."""
    job = replace(s.job, ttft=None, cached_share=1.0)
    return _made(ServingLayouts, s, job=job, case=replace(s.case, cached_share=1.0, extra_parts=0.0))


def computing(s: ServingLayouts, token_s: np.ndarray) -> PrefillLayouts:
    """The replicas that compute prompts. token_s: of the first step of an answer."""
    return _made(PrefillLayouts, s, after_s=kv_transfer_seconds(s.case, s.case) + token_s)


def pooled(s: ServingLayouts, max_utilisation: float, among: np.ndarray) -> tuple[PooledLayouts, np.ndarray]:
    """The layouts with both pools, and the minimum replicas of both together; 0 where no number meets the goals, or outside `among`."""
    assert s.job.pools is not None, "no pools"
    if all(s.job.pools):
        prefill, decode = (np.full(len(s.ways.target), float(count)) for count in s.job.pools)
        found = _made(PooledLayouts, s, prefill_share=prefill / (prefill + decode))
        is_met = among & found.loaded(prefill + decode, max_utilisation).ok
    else:
        decode = generating(s).fewest(max_utilisation, among)
        token_s = generating(s).loaded(np.maximum(decode, 1).astype(float), max_utilisation).tpot_s
        prefill = computing(s, token_s).fewest(max_utilisation, among & (decode > 0))
        is_met = (prefill > 0) & (decode > 0)
        found = _made(PooledLayouts, s, prefill_share=np.where(is_met, prefill / np.maximum(prefill + decode, 1), 0.5))
    return found, np.where(is_met, prefill + decode, 0).astype(int)


def _made(kind: type[L], s: ServingLayouts, **changes: Any) -> L:
    """The layouts as another kind. changes: fields that differ, and those that only that kind has."""
    same = {f.name: getattr(s, f.name) for f in fields(ServingLayouts)}
    return kind(**(same | changes))
