"""What the formulas of serving see: numbers or arrays, like case.py. Knows neither catalog nor spec."""

from dataclasses import dataclass

from rackwright.estimator.case import Chip, Num, Text, Wires
from rackwright.estimator.model.dimensions import ModelDimensions


@dataclass(frozen=True)
class ServingCase:
    """One deployment under one load. Per replica: tensor * pipeline * attention_data accelerators (experts lie across all of them).

    linear_bytes: per weight of a matrix a narrow format can hold, scales included; kv_element: bytes of a cached number; concurrency:
    requests in flight in one replica, inf when offline (as many as the cache holds); input, output: mean tokens of a request.
    """

    network: ModelDimensions
    chip: Chip
    wires: Wires
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
    max_sequences: Num = 0.0
    """0: no limit but the cache."""
    max_context: Num = 0.0
    numbers: Text = "bf16"
    kv_numbers: Text = "bf16"
    engine: Text = "vllm"
    release: Num = 0.0
    """Major * 100 + minor of the engine's release, 0 unknown."""
    compiled: Num = 1.0
    flash: Num = 1.0
    open_loop: Num = 0.0
    requests: Num = 0.0
    """Of a whole offline run, all there at the start; 0: without end."""
    accepted_tokens: Num = 1.0
    """Mean tokens a target step yields (speculative decoding); draft_share: of a step that drafting adds."""
    draft_share: Num = 0.0
    draft_tokens: Num = 0.0
    """Proposed per step, which the target multiplies along with its own token."""
    adapters: Num = 0.0
    adapter_rank: Num = 16.0

    @property
    def accelerators(self) -> Num:
        """Of one replica."""
        return self.tensor * self.pipeline * self.attention_data
