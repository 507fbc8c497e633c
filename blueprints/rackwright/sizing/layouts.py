"""Every way to spread one job over n accelerators that the model's geometry allows, as arrays. Numbers in, numbers out."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

RECOMPUTE = ("none", "full")


@dataclass(frozen=True)
class Shape:
    """What geometry depends on. batch: sequences per optimizer step; max_micro: largest micro-batch worth trying.

    per_node, domain: accelerators of a node, and those that one reaches over its scale-up link; slices: TPU slices, between which only
    whole replicas are spread; tpu: weights always sharded over the slice, no pipeline.
    """

    accelerators: int
    per_node: int
    domain: int
    layers: int
    heads: int
    kv_heads: int
    experts: int
    sequence: int
    batch: int
    slices: int = 1
    tpu: bool = False
    adapter: bool = False


@dataclass(frozen=True)
class Pins:
    """What the user fixed; None is searched."""

    tensor: int | None = None
    pipeline: int | None = None
    context: int | None = None
    expert: int | None = None
    zero: int | None = None
    micro_batch: int | None = None
    recompute: str | None = None


@dataclass(frozen=True, eq=False)
class Layouts:
    """Columns of equal length, one row per way."""

    tensor: np.ndarray
    pipeline: np.ndarray
    context: np.ndarray
    expert: np.ndarray
    replicas: np.ndarray
    zero_stage: np.ndarray
    micro_batch: np.ndarray
    recompute: np.ndarray
    micro_batches: np.ndarray
    shards: np.ndarray

    def __len__(self) -> int:
        return len(self.tensor)


def _powers(limit: int) -> list[int]:
    return [1 << i for i in range(max(limit, 1).bit_length()) if 1 << i <= limit]


def _options(pin: int | None, values: list[int]) -> list[int]:
    return [pin] if pin is not None else values


def _tensor(s: Shape, pin: int | None) -> list[int]:
    """Divides the query heads, keeps key and value heads whole or copied evenly, stays inside the scale-up domain."""
    limit = min(s.domain, s.accelerators, 64 if s.tpu else s.per_node)
    heads = s.heads or 1

    def fits(t: int) -> bool:
        return s.accelerators % t == 0 and heads % t == 0 and (not s.kv_heads or s.kv_heads % t == 0 or t % s.kv_heads == 0)

    return [t for t in _options(pin, _powers(limit)) if t <= limit and fits(t)]


def _pipeline(s: Shape, pin: int | None) -> list[int]:
    """Divides the layers; a stage spans whole nodes or divides one."""
    if s.tpu or s.adapter or not s.layers:
        return [1] if pin in (None, 1) else []
    values = [p for p in range(1, min(s.layers, s.accelerators, 64) + 1) if s.layers % p == 0]
    return [p for p in _options(pin, values) if s.layers % p == 0 and s.accelerators % p == 0]


def _context(s: Shape, pin: int | None) -> list[int]:
    """Worth its traffic only for long sequences: 8,192 tokens or more stay on each accelerator."""
    values = _powers(max(s.sequence // 8192, 1)) if s.layers and not s.tpu else [1]
    return [c for c in _options(pin, values) if s.sequence % c == 0 and s.accelerators % c == 0]


def _experts(s: Shape, pin: int | None) -> list[int]:
    values = [x for x in _powers(min(s.experts, s.accelerators)) if s.experts % x == 0] if s.experts else [1]
    return [x for x in _options(pin, values) if x == 1 or (s.experts and s.experts % x == 0)]


def _zero(s: Shape, pin: int | None, pipeline: int, replicas: int) -> list[int]:
    if s.tpu:
        return [3] if pin in (None, 3) else []
    values = [0] if replicas == 1 else [1] if pipeline > 1 else [0, 1, 2, 3]
    return _options(pin, values) if pin is None or pin in values or replicas == 1 else []


@lru_cache(maxsize=4096)
def enumerate_layouts(s: Shape, pins: Pins) -> Layouts:
    """All of them, in a fixed order; empty when geometry allows none (`why_none` says which rule)."""
    rows: list[tuple[int, ...]] = []
    recomputes = _options(None if pins.recompute is None else int(pins.recompute == "full"), [0, 1])
    for t in _tensor(s, pins.tensor):
        for p in _pipeline(s, pins.pipeline):
            for c in _context(s, pins.context):
                replicas, rest = divmod(s.accelerators, t * p * c)
                if rest or not replicas or s.batch % replicas or replicas % s.slices:
                    continue
                shards = replicas * c // s.slices
                micros = [b for b in _options(pins.micro_batch, _powers(min(s.batch // replicas, 64))) if (s.batch // replicas) % b == 0]
                for x in _experts(s, pins.expert):
                    if x > 1 and (replicas * c * t) % x:
                        continue
                    for z in _zero(s, pins.zero, p, shards):
                        for b in micros:
                            m = s.batch // replicas // b
                            rows.extend((t, p, c, x, replicas, z, b, r, m, shards) for r in recomputes)
    columns = np.array(rows, dtype=float).reshape(-1, 10).T
    return Layouts(*columns)


def why_none(s: Shape, pins: Pins) -> str:
    """The rule that leaves no layout, in words."""
    if not _tensor(s, pins.tensor):
        return f"tensor parallel {pins.tensor} must divide {s.heads} heads and stay within {s.domain} linked accelerators"
    if not _pipeline(s, pins.pipeline):
        return f"pipeline parallel {pins.pipeline} must divide {s.layers} layers and {s.accelerators} accelerators; none for TPU, adapters"
    if not _context(s, pins.context) or not _experts(s, pins.expert):
        return "context parallel must divide the sequence and expert parallel the experts"
    return f"a batch of {s.batch} sequences cannot be shared by the replicas of {s.accelerators} accelerators"
