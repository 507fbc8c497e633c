"""Training recipe: bytes per parameter and the assumed trainer. Numbers in, numbers out."""

from dataclasses import dataclass, replace

from rackwright.estimator.config.engines import engine_family

FULL, ADAPTERS, TPU = "megatron", "hf", "maxtext"
"""Assumed trainer families: for all weights on GPU, for adapters, on TPU."""
MASTER_BYTES = 4.0
"""fp32 copy of a 16-bit weight, which the optimizer updates."""
STATES = {"adamw": 8.0, "adamw-8bit": 2 * 1.016, "sgd": 4.0}
"""Bytes of moments per trained parameter; 8-bit Adam keeps 1.6 % of scales (bitsandbytes)."""


@dataclass(frozen=True)
class Recipe:
    """Bytes and arithmetic of a training method; optimizer_bytes includes the fp32 master of 16-bit weights.

    trainable: trained parameters. frozen_bytes: per weight of a quantisable frozen matrix. frozen_other_bytes: per weight of the rest of a
    frozen base. adapter_inputs: values per token and layer that adapters keep. numbers: format of the matrix products.
    """

    family: str
    trainable: float
    is_adapter: bool = False
    weight_bytes: float = 2.0
    gradient_bytes: float = 4.0
    optimizer_bytes: float = 12.0
    frozen_bytes: float = 2.0
    frozen_other_bytes: float = 2.0
    adapter_inputs: float = 0.0
    virtual_tokens: float = 0.0
    numbers: str = "bf16"

    @property
    def passes(self) -> float:
        """FLOPs per weight and token."""
        return 4.0 if self.is_adapter else 6.0

    @property
    def activation_scale(self) -> float:
        """Bytes of an activation relative to the 2 bytes of the formulas."""
        return 2.0 if self.numbers == "fp32" else 1.0

    @property
    def compiled(self) -> float:
        return float(engine_family(self.family, "train").compiled)

    def on_tpu(self) -> "Recipe":
        """fp32 weights, as JAX trainers keep them."""
        return replace(self, family=TPU, weight_bytes=4.0, gradient_bytes=4.0, optimizer_bytes=self.optimizer_bytes - MASTER_BYTES)


def full(trainable: float, numbers: str = "bf16", optimizer: str = "adamw") -> Recipe:
    """Full training; in fp32 there is no second copy of the weights."""
    gradient = engine_family(FULL, "train").gradient_bytes
    if numbers == "fp32":
        return Recipe(FULL, trainable, False, 4.0, 4.0, STATES[optimizer], numbers=numbers)
    return Recipe(FULL, trainable, False, 2.0, gradient, STATES[optimizer] + MASTER_BYTES, numbers=numbers)


def adapted(trainable: float, frozen_bytes: float, numbers: str = "bf16", inputs: float = 0.0, virtual_tokens: float = 0.0) -> Recipe:
    """Adapter training on a frozen base. PEFT casts to fp32 what bitsandbytes did not quantise."""
    other = 4.0 if frozen_bytes < 2 or numbers == "fp32" else 2.0
    return Recipe(
        ADAPTERS, trainable, True, frozen_bytes=frozen_bytes, frozen_other_bytes=other, adapter_inputs=inputs,
        virtual_tokens=virtual_tokens, numbers=numbers,
    )  # fmt: skip
