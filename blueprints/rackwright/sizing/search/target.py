"""The hardware of one search, in numbers. Knows neither catalog nor spec."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np

from rackwright.estimator.case import Chip, Wires, stack_cases
from rackwright.sizing.search.layouts import Grid

C = TypeVar("C")


@dataclass(frozen=True)
class Target:
    """So many equal machines. chip: as it multiplies in 16 bit; flops: dense peak by format; memory, links: in chip and wires; slices:
    TPU slices, 0 for GPUs. Equal targets share one search, wherever they are sold and at whatever price."""

    accelerator: str
    vendor: str
    chip: Chip
    wires: Wires
    nodes: int
    per_node: int
    flops: tuple[tuple[str, float], ...] = ()
    slices: int = 0

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
        """Tensor parallelism stays inside a machine and inside the scale-up domain; on TPU, whose published runs shard fully instead,
        on the chips of one host."""
        width = min(int(self.wires.domain), self.accelerators, self.per_node)
        return Grid(self.accelerators, width, self.per_node, max(self.slices, 1), self.tpu)

    @property
    def few_bits(self) -> str:
        """The best format of weights it computes in below 16 bit, "" for none."""
        return next((name for name in ("fp8", "int8") if name in dict(self.flops)), "")

    def peak(self, numbers: str) -> float:
        """Dense peak in that format, tf32 for fp32; in 16 bit where it has no arithmetic for it."""
        peaks = dict(self.flops)
        return (peaks.get("tf32") if numbers == "fp32" else None) or peaks.get(numbers) or self.chip.base_peak_flops


@dataclass(frozen=True, eq=False)
class TargetArrays:
    """Targets side by side: chip and wires of arrays, one element a target; grids: the different ones, grid: which of them each has."""

    targets: tuple[Target, ...]
    chip: Chip
    wires: Wires
    accelerators: np.ndarray
    nodes: np.ndarray
    slices: np.ndarray
    per_node: np.ndarray
    grids: tuple[Grid, ...]
    grid: np.ndarray
    _by_format: dict[str, "TargetArrays"] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(targets: Sequence[Target]) -> "TargetArrays":
        """Of at least one."""
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
        """GPUs and TPUs apart, each with where its targets stand here: their trainers differ."""
        tpu = np.array([t.tpu for t in self.targets], dtype=bool)
        apart = [np.flatnonzero(tpu == kind) for kind in (False, True)]
        return tuple((which, TargetArrays.of([self.targets[i] for i in which.tolist()])) for which in apart if len(which))

    def computing(self, numbers: str) -> "TargetArrays":
        """Multiplying in that format; the same object for the same question."""
        if numbers not in self._by_format:
            peaks = np.array([t.peak(numbers) for t in self.targets])
            self._by_format[numbers] = replace(self, chip=replace(self.chip, peak_flops=peaks), _by_format={})
        return self._by_format[numbers]


def rows_of(columns: C, rows: np.ndarray) -> C:
    """A dataclass of arrays, or of such dataclasses, at those rows; what is one for all stays."""

    def at(value: Any) -> Any:
        return value[rows] if isinstance(value, np.ndarray) else rows_of(value, rows) if is_dataclass(value) else value

    return type(columns)(**{f.name: at(getattr(columns, f.name)) for f in fields(cast(Any, columns))})
