"""Roofline of small models on CPUs: memory and matrix units, prior only. Numbers in, numbers out."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

LARGEST_PARAMETERS = 3e9
"""Above this size a CPU generates text slower than people read; rackwright's choice 2026-11."""
MEMORY_SHARE, COMPUTE_SHARE = 0.7, 0.3
"""Shares of nameplate bandwidth and matrix peak; rackwright's choice 2026-11, not measured."""
FREE_MEMORY = 0.8
"""Share of memory for weights and cache; rackwright's choice 2026-11."""


@dataclass(frozen=True)
class Core:
    """Rates of one vCPU when all vCPUs of the socket are busy."""

    bandwidth_bytes_per_s: float
    bf16_flops: float
    source: str


XEON_4 = Core(
    2 * 307.2e9 / 192, 2048 * 2.6e9 / 2,
    "48xlarge: 2 x Xeon Scalable gen. 4 of 48 cores; 8 channels DDR5-4800 each; AMX: 2,048 bf16 FLOP a cycle and core, 2.6 GHz",
)  # fmt: skip
CORES: Mapping[str, Core] = MappingProxyType(
    {
        "m7i": XEON_4,
        "c7i": XEON_4,
        "r7i": XEON_4,
        "m7g": Core(
            307.2e9 / 64, 128 * 2.6e9,
            "Graviton3: 64 cores; 8 channels DDR5-4800; 2 x 256-bit SVE with BFMMLA: 128 bf16 FLOP a cycle and core, 2.6 GHz",
        ),
    }
)  # fmt: skip
"""Cores per machine family. The bandwidth per vCPU of other families is not published, or they burst."""


@dataclass(frozen=True)
class Rate:
    """Rate of the whole machine."""

    requests_per_s: float
    ttft_s: float
    tpot_s: float
    concurrency: int


def generate(
    core: Core, vcpus: int, active: float, weight_bytes: float, kv_bytes: float, tokens: tuple[float, float], running: int
) -> Rate:
    """Generation with `running` concurrent requests.

    active: weights multiplied per token. weight_bytes: read per step. kv_bytes: cache per request. tokens: input and output.
    Prompts and responses share the cores, so their times add.
    """
    reading, peak = core.bandwidth_bytes_per_s * vcpus * MEMORY_SHARE, core.bf16_flops * vcpus * COMPUTE_SHARE
    first = 2.0 * active * tokens[0] / peak
    step = max((weight_bytes + running * kv_bytes) / reading, 2.0 * active * running / peak)
    busy = running * first + tokens[1] * step
    return Rate(running / busy, first, step + running * first / tokens[1], running)


def sample_seconds(core: Core, vcpus: int, flops: float, weight_bytes: float) -> float:
    """Seconds of one request."""
    return flops / (core.bf16_flops * vcpus * COMPUTE_SHARE) + weight_bytes / (core.bandwidth_bytes_per_s * vcpus * MEMORY_SHARE)
