"""Hardware of a search, in numbers. Does not depend on the catalog or the spec."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from rackwright.estimator.case import Chip, Links, stack_cases
from rackwright.sizing.search.training.layouts import Grid

C = TypeVar("C")
WIDE_WEIGHT_BYTES = 1.5
"""Bytes per weight above which quantization is a remedy."""


@dataclass(frozen=True)
class Target:
    """A number of equal machines.

    chip: at its 16-bit rate. flops: dense peak by format. slices: TPU slices, 0 for GPUs. sharing: how its accelerators are divided, "" for
    whole ones; each part runs one replica. slowdown: p90 of times over their median that the other parts cause.
    is_whole_machine: each replica uses every accelerator of a machine, as pods on TPU must.
    is_slice_rate_known: whether the bandwidth between its slices is published. Equal targets share one search in all places.
    """

    accelerator: str
    vendor: str
    chip: Chip
    wires: Links
    nodes: int
    per_node: int
    flops: tuple[tuple[str, float], ...] = ()
    slices: int = 0
    sharing: str = ""
    slowdown: float = 1.0
    is_slice_rate_known: bool = True
    is_whole_machine: bool = False

    @property
    def accelerators(self) -> int:
        return self.nodes * self.per_node

    @property
    def tpu(self) -> bool:
        return bool(self.chip.is_tpu)

    @property
    def neuron(self) -> bool:
        return self.vendor == "AWS"

    @property
    def grid(self) -> Grid:
        """Grid of the target; tensor parallelism stays inside a machine and its scale-up domain, on TPU inside a host."""
        width = min(int(self.wires.domain), self.accelerators, self.per_node)
        return Grid(self.accelerators, width, self.per_node, max(self.slices, 1), self.tpu)

    @property
    def few_bits(self) -> str:
        """The best weight format below 16 bit that it computes in, "" for none."""
        return next((name for name in ("fp8", "int8") if name in dict(self.flops)), "")

    def quantization(self, weight_bytes: float) -> tuple[str, ...]:
        """`quantization: fp8` as a remedy for weights of so many bytes; none where they are narrow already."""
        return (f"quantization: {self.few_bits}",) if self.few_bits and weight_bytes > WIDE_WEIGHT_BYTES else ()

    def peak(self, numbers: str) -> float:
        """Dense peak of a format, tf32 for fp32; of 16 bit where the format is not supported."""
        peaks = dict(self.flops)
        return (peaks.get("tf32") if numbers == "fp32" else None) or peaks.get(numbers) or self.chip.base_peak_flops


def sixteen_bits(target: Target) -> str:
    """The 16-bit format that it computes in."""
    return "bf16" if "bf16" in dict(target.flops) else "fp16"


@dataclass(frozen=True, eq=False)
class TargetArrays:
    """Targets as arrays, one element per target. grids: the distinct grids. grid: index of the grid of each target."""

    targets: tuple[Target, ...]
    chip: Chip
    wires: Links
    accelerators: np.ndarray
    nodes: np.ndarray
    slices: np.ndarray
    per_node: np.ndarray
    grids: tuple[Grid, ...]
    grid: np.ndarray
    _by_format: dict[str, "TargetArrays"] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(targets: Sequence[Target]) -> "TargetArrays":
        """Arrays of at least one target."""
        grids = tuple(dict.fromkeys(t.grid for t in targets))
        place = {g: i for i, g in enumerate(grids)}
        return TargetArrays(
            targets=tuple(targets),
            chip=stack_cases([t.chip for t in targets]),
            wires=stack_cases([t.wires for t in targets]),
            accelerators=np.array([t.accelerators for t in targets], dtype=float),
            nodes=np.array([t.nodes for t in targets], dtype=float),
            per_node=np.array([t.per_node for t in targets], dtype=float),
            slices=np.array([max(t.slices, 1) for t in targets], dtype=float),
            grids=grids,
            grid=np.array([place[t.grid] for t in targets]),
        )

    @cached_property
    def kinds(self) -> tuple[tuple[np.ndarray, "TargetArrays"], ...]:
        """GPUs and TPUs separately, with their indexes; they use different trainers."""
        tpu = np.array([t.tpu for t in self.targets], dtype=bool)
        apart = [np.flatnonzero(tpu == kind) for kind in (False, True)]
        return tuple((which, TargetArrays.of([self.targets[i] for i in which.tolist()])) for which in apart if len(which))

    def computing(self, numbers: str) -> "TargetArrays":
        """The targets at the rate of a format; cached."""
        if numbers not in self._by_format:
            peaks = np.array([t.peak(numbers) for t in self.targets])
            self._by_format[numbers] = replace(self, chip=replace(self.chip, peak_flops=peaks), _by_format={})
        return self._by_format[numbers]


def rows_of(columns: C, rows: np.ndarray) -> C:
    """The rows of a dataclass of arrays, recursively; scalars stay."""

    def at(value: Any) -> Any:
        return value[rows] if isinstance(value, np.ndarray) else rows_of(value, rows) if is_dataclass(value) else value

    return type(columns)(**{f.name: at(getattr(columns, f.name)) for f in fields(cast(Any, columns))})
