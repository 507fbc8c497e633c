"""What is to be trained, in numbers. Knows neither catalog nor spec."""

from dataclasses import dataclass, field

from rackwright.estimate.case import RECOMPUTE
from rackwright.estimate.network import Network
from rackwright.sizing.layouts import Pins, Shape
from rackwright.sizing.recipe import Recipe


@dataclass(frozen=True)
class TrainingJob:
    """method: full, lora, qlora, p-tuning or sample; sequence: positions per sequence; tokens_per_sequence: what memory counts (samples
    for networks without layers); flops_per_sequence: model FLOPs of one sequence, forward and backward; adaptable: may take an adapter.
    """

    network: Network
    recipe: Recipe
    method: str
    precision: str
    sequence: int
    tokens_per_sequence: float
    flops_per_sequence: float
    batch: int
    sequences: float
    pins: Pins = field(default_factory=Pins)
    counts_tokens: bool = True
    adaptable: bool = True

    @property
    def steps(self) -> float:
        return self.sequences / self.batch

    @property
    def shape(self) -> Shape:
        n = self.network
        return Shape(n.layers, n.heads, n.kv_heads, n.experts, self.sequence, self.batch, self.recipe.is_adapter)

    @property
    def recomputes(self) -> tuple[int, ...]:
        """Codes that may be used, least first."""
        return (0, 1, 2) if self.pins.recompute is None else (RECOMPUTE.index(self.pins.recompute),)
