"""Inputs of the serving formulas, scalars or arrays as in case.py. Does not depend on the catalog or the spec."""

from dataclasses import dataclass

from rackwright.estimator.case import Chip, Links, Num, Text
from rackwright.estimator.model.dimensions import ModelDimensions


@dataclass(frozen=True)
class ServingCase:
    """One deployment under one load. A replica has tensor * pipeline * attention_data accelerators; experts are spread over all of them.

    linear_bytes: bytes per quantizable weight, scales included; kv_element: bytes per cached value; concurrency: requests in flight per
    replica, inf when offline (as many as the cache holds); input, output: mean tokens per request; rate: requests/s per replica;
    cached_share: share of input tokens in the prefix cache; memory_share: engine's memory option; batched_tokens: tokens per iteration;
    open_loop: 1 when requests arrive at a rate.
    """

    network: ModelDimensions
    chip: Chip
    links: Links
    tensor: Num = 1.0
    pipeline: Num = 1.0
    expert: Num = 1.0
    attention_data: Num = 1.0
    replicas: Num = 1.0
    linear_bytes: Num = 2.0
    kv_element: Num = 2.0
    input: Num = 1024.0
    output: Num = 1024.0
    concurrency: Num = 1.0
    rate: Num = 0.0
    cached_share: Num = 0.0
    memory_share: Num = 0.9
    batched_tokens: Num = 8192.0
    extra_parts: Num = 0.0
    """Iterations that compute a prompt, beyond those of the engine's default batch, which the fitted coefficients include."""
    max_sequences: Num = 0.0
    """Limit of running sequences; 0: the engine's default."""
    max_context: Num = 0.0
    numbers: Text = "bf16"
    kv_numbers: Text = "bf16"
    engine: Text = "vllm"
    release: Num = 0.0
    """Major * 100 + minor of the engine's release; 0: unknown."""
    compiled: Num = 1.0
    flash: Num = 1.0
    open_loop: Num = 0.0
    requests: Num = 0.0
    """Requests of an offline run, all queued at the start; 0: unlimited."""
    varied: Num = 0.0
    """1 when requests differ in length, as in a data set of conversations, so that few of them run at the end of an offline run."""
    accepted_tokens: Num = 1.0
    """Mean tokens per target step with speculative decoding."""
    accepted_low: Num = 1.0
    """The same at the lowest plausible acceptance (p10), and below at the highest (p90)."""
    accepted_high: Num = 1.0
    draft_share: Num = 0.0
    """Time of drafting over the time of a target step."""
    draft_tokens: Num = 0.0
    """Draft tokens per step, which the target model processes with its own token."""
    adapters: Num = 0.0
    adapter_rank: Num = 16.0

    @property
    def accelerators(self) -> Num:
        """Accelerators of one replica."""
        return self.tensor * self.pipeline * self.attention_data
