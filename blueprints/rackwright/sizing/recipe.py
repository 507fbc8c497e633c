"""How a job is trained, in bytes per parameter."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Recipe:
    """How it is trained. trainable 0: all of the trunk; frozen_bytes: per frozen parameter outside `linear`; linear_bytes: inside;
    activation_bytes: per number kept for the backward pass."""

    weight_bytes: float = 2.0
    optimizer_bytes: float = 12.0
    trainable: float = 0.0
    frozen_bytes: float = 2.0
    linear_bytes: float = 2.0
    activation_bytes: float = 2.0

    @property
    def is_adapter(self) -> bool:
        return self.trainable > 0

    @property
    def passes(self) -> float:
        """FLOPs per weight and token."""
        return 4.0 if self.is_adapter else 6.0
