"""Parallel layouts that the geometry of a model allows, for all numbers of accelerators as arrays. Numbers in, numbers out.

docs/search.md lists the dimensions. Recompute is no column, because the search tries each value on every row.
"""

from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from rackwright.sizing.rejection import Reason

MIN_CONTEXT_TOKENS = 8192
"""Minimum tokens per accelerator; below it context parallelism costs more traffic than it saves memory."""
MAX_WAYS = 64
"""Maximum tensor or pipeline ways."""
MAX_ZERO3_WAYS = 512
"""Maximum accelerators that gather weights from one another: published runs that kept their rate end here (Composer, MPT-70B on 512 H100);
GPT-3 on 768 and 1,536 A100 fell to 88 and 44 TFLOP/s (arXiv 2104.04473, table 2). Beyond: inside each node, or pinned.
"""
HSDP_CODE = 4
"""Code of ZeRO-3 inside each node among the choices of `zero`."""


@dataclass(frozen=True)
class Grid:
    """Accelerators for geometry; machines with equal grids share their layouts.

    width: accelerators for tensor parallelism. node: accelerators of a node. slices: TPU slices; replicas do not span them.
    """

    accelerators: int
    width: int
    node: int
    slices: int = 1
    tpu: bool = False


@dataclass(frozen=True)
class JobShape:
    """Job for geometry; jobs of equal shape share their layouts.

    contexts: context ways. batch: sequences per optimizer step. together: sequences that share a micro-batch.
    """

    layers: int
    heads: int
    kv_heads: int
    experts: int
    contexts: tuple[int, ...]
    batch: int
    adapter: bool = False
    together: int = 1


@dataclass(frozen=True)
class PinnedLayout:
    """Pinned values of the spec; None is searched."""

    tensor: int | None = None
    pipeline: int | None = None
    context: int | None = None
    expert: int | None = None
    zero: int | None = None
    micro_batch: int | None = None
    recompute: str | None = None


@dataclass(frozen=True, eq=False)
class Layouts:
    """Layouts as columns of equal length, grouped by grid.

    shards: accelerators that share what the ZeRO stage splits. starts: first row of each grid, and the end.
    """

    grid: np.ndarray
    tensor: np.ndarray
    pipeline: np.ndarray
    virtual: np.ndarray
    context: np.ndarray
    expert: np.ndarray
    replicas: np.ndarray
    zero_stage: np.ndarray
    shards: np.ndarray
    micro_batch: np.ndarray
    micro_batches: np.ndarray
    starts: np.ndarray

    def __len__(self) -> int:
        return len(self.tensor)

    def take(self, rows: np.ndarray) -> "Layouts":
        """The given rows; `starts` is not updated."""
        return Layouts(**{f.name: getattr(self, f.name)[rows] for f in fields(self) if f.name != "starts"}, starts=self.starts)


class _Table:
    """A table that grows by one dimension at a time."""

    def __init__(self, columns: dict[str, np.ndarray]):
        self.columns = columns

    def __getitem__(self, name: str) -> np.ndarray:
        return self.columns[name]

    def cross(self, name: str, values: list[int], pin: int | None = None) -> "_Table":
        """Every row with every value, or with the pinned one."""
        each = np.array(values if pin is None else [pin], dtype=float)
        count = len(next(iter(self.columns.values())))
        grown = {key: np.repeat(column, len(each)) for key, column in self.columns.items()}
        return _Table({**grown, name: np.tile(each, count)})

    def where(self, keep: np.ndarray) -> "_Table":
        return _Table({key: column[keep] for key, column in self.columns.items()})

    def add(self, name: str, column: np.ndarray) -> "_Table":
        return _Table({**self.columns, name: column})


def _powers(limit: int) -> list[int]:
    return [1 << i for i in range(max(limit, 1).bit_length()) if 1 << i <= limit]


def context_ways(layers: int, sequence: int, pin: int | None = None) -> tuple[int, ...]:
    """Context ways that divide the sequence and leave enough tokens, or the pinned one."""
    ways = [pin] if pin else _powers(max(sequence // MIN_CONTEXT_TOKENS, 1)) if layers else [1]
    return tuple(c for c in ways if sequence % c == 0)


@lru_cache(maxsize=128)
def enumerate_layouts(s: JobShape, grids: tuple[Grid, ...], pins: PinnedLayout) -> Layouts:
    """All layouts in a fixed order; a grid without layouts has no rows (`why_none` returns the reason)."""
    table = _micro(
        _zero(_expert(_copies(_context(_pipeline(_tensor(_start(grids), s, pins), s, pins), s, pins), s), s, pins), pins), s, pins
    )
    starts = np.searchsorted(table["grid"], np.arange(len(grids) + 1))
    return Layouts(**{f.name: table[f.name] for f in fields(Layouts) if f.name != "starts"}, starts=starts)


def _start(grids: tuple[Grid, ...]) -> _Table:
    columns = {
        name: np.array([getattr(g, name) for g in grids], dtype=float) for name in ("accelerators", "width", "node", "slices", "tpu")
    }
    return _Table({"grid": np.arange(len(grids)), **columns})


def _tensor(t: _Table, s: JobShape, pins: PinnedLayout) -> _Table:
    """Tensor ways divide the query heads and keep key and value heads whole or evenly copied."""
    heads = s.heads or 1
    t = t.cross("tensor", [w for w in _powers(MAX_WAYS) if heads % w == 0], pins.tensor)
    whole = heads % t["tensor"] == 0
    if s.kv_heads:
        whole &= (s.kv_heads % t["tensor"] == 0) | (t["tensor"] % s.kv_heads == 0)
    return t.where(whole & (t["tensor"] <= t["width"]) & (t["accelerators"] % t["tensor"] == 0))


def _pipeline(t: _Table, s: JobShape, pins: PinnedLayout) -> _Table:
    """Stages hold ceil(layers / stages) layers; the last one holds the rest and is never empty."""
    maximum = 1 if s.adapter or not s.layers else min(s.layers, MAX_WAYS)
    t = t.cross("pipeline", list(range(1, maximum + 1)), pins.pipeline)
    p = t["pipeline"]
    filled = (p - 1) * np.ceil(s.layers / p) < s.layers if s.layers else p == 1
    alone = (t["tpu"] == 0) & (not s.adapter)
    return t.where(filled & (alone | (p == 1)) & (t["accelerators"] % (t["tensor"] * p) == 0))


def _context(t: _Table, s: JobShape, pins: PinnedLayout) -> _Table:
    """On TPU only where it is pinned."""
    t = t.cross("context", list(s.contexts))
    c = t["context"]
    searched = (c == 1) | (t["tpu"] == 0) | (pins.context is not None)
    return t.where(searched & (t["accelerators"] % (t["tensor"] * t["pipeline"] * c) == 0))


def _copies(t: _Table, s: JobShape) -> _Table:
    """Replicas divide the batch evenly and do not span slices."""
    t = t.add("replicas", t["accelerators"] / (t["tensor"] * t["pipeline"] * t["context"]))
    return t.where((s.batch % t["replicas"] == 0) & (t["replicas"] % t["slices"] == 0))


def _expert(t: _Table, s: JobShape, pins: PinnedLayout) -> _Table:
    t = t.cross("expert", [x for x in _powers(s.experts) if s.experts % x == 0] if s.experts else [1], pins.expert)
    x = t["expert"]
    return t.where((x == 1) | (((s.experts or 0.5) % x == 0) & (t["accelerators"] / t["pipeline"] % x == 0)))


def _zero(t: _Table, pins: PinnedLayout) -> _Table:
    """Stage 0 needs more memory than 1 and is not faster: it is used where no ranks share states, or if it is pinned."""
    t = t.cross("zero", [0, 1, 2, 3, HSDP_CODE])
    z, sharing = t["zero"], t["replicas"] * t["context"] / t["slices"]
    node = np.maximum(t["node"] / (t["tensor"] * t["pipeline"]), 1.0)
    stage = np.minimum(z, 3)
    alone, piped, tpu = sharing == 1, t["pipeline"] > 1, t["tpu"] > 0
    known = (z != 3) | (sharing <= MAX_ZERO3_WAYS) | (pins.zero == 3)
    inside = (z < HSDP_CODE) | ((node > 1) & (node < sharing) & (sharing % node == 0))
    shared = known & inside & ((z > 0) | (pins.zero == 0))
    allowed = np.where(tpu, z == 3, np.where(alone, z == 0, np.where(piped, z == 1, shared)))
    if pins.zero is not None:
        allowed = (allowed & ((stage == pins.zero) | alone)) if pins.zero < 3 else (allowed & (stage == 3)) | (alone & (z == 0) & ~tpu)
    t = t.add("zero_stage", stage).add("shards", np.where(z == HSDP_CODE, node, sharing))
    return t.where(allowed.astype(bool))


def _micro(t: _Table, s: JobShape, pins: PinnedLayout) -> _Table:
    t = t.cross("micro_batch", _powers(min(s.batch, 64)), pins.micro_batch)
    t = t.add("micro_batches", s.batch / t["replicas"] / t["micro_batch"])
    t = t.where((t["micro_batches"] % 1 == 0) & (t["micro_batch"] % s.together == 0))
    t = t.cross("virtual", [1, 2, 4, 8])
    v, p = t["virtual"], t["pipeline"]
    return t.where((v == 1) | ((p > 1) & (s.layers % (p * v) == 0) & (t["micro_batches"] % p == 0)))


def why_none(s: JobShape, g: Grid, pins: PinnedLayout) -> Reason:
    """The rule that leaves no layout. Without pins only the batch can."""
    if pins.tensor or pins.pipeline or pins.context or pins.expert:
        tensor = _tensor(_start((g,)), s, pins)
        if not len(tensor["grid"]):
            return Reason.TENSOR_PIN
        pipeline = _pipeline(tensor, s, pins)
        if not len(pipeline["grid"]):
            return Reason.PIPELINE_PIN
        if not len(_context(pipeline, s, pins)["grid"]) or (pins.expert and pins.expert > 1 and (not s.experts or s.experts % pins.expert)):
            return Reason.CONTEXT_OR_EXPERT
    return Reason.BATCH_NOT_DIVISIBLE
