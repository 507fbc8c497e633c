"""Parameter counts of transformer layers. Numbers in, numbers out: knows neither catalog nor spec.

Formulas: the closed forms of the published architectures (attention h*a*d + 2*h*k*d + a*d*h, FFN g*h*f, MLA as in arXiv 2405.04434
section 2.1); the catalog's rows are the check, each against its publisher's own total.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

AdapterTargets = Literal["all-linear", "attention", "qv"]
QUERY_AND_VALUE = frozenset({"q", "v", "q_b", "kv_b"})
"""PEFT's default targets for decoder models; for MLA the up-projections that make queries and values."""


class Matrix(NamedTuple):
    """`copies` equal weight matrices of d_in x d_out, each with a bias vector of d_out or none."""

    name: str
    d_in: int
    d_out: int
    bias: bool = False
    copies: int = 1

    @property
    def weights(self) -> int:
        return self.d_in * self.d_out * self.copies

    @property
    def parameters(self) -> int:
        return self.weights + (self.d_out * self.copies if self.bias else 0)

    def adapter(self, rank: int) -> int:
        """LoRA's two factors, for every copy (arXiv 2106.09685, section 4.1)."""
        return rank * (self.d_in + self.d_out) * self.copies


@dataclass(frozen=True)
class Block:
    """One layer. `small`: norms, router, sinks; read by every token, never quantised, never split by tensor parallelism."""

    attention: tuple[Matrix, ...]
    ffn: tuple[Matrix, ...]
    routed: tuple[Matrix, ...] = ()
    """All routed experts of the layer; of them the token reads `active_share`."""
    active_share: float = 1.0
    small: int = 0

    @cached_property
    def routed_parameters(self) -> int:
        return sum(m.parameters for m in self.routed)

    @cached_property
    def shared_parameters(self) -> int:
        """What every token reads, and what tensor parallelism, not expert parallelism, splits."""
        return sum(m.parameters for m in self.attention + self.ffn) + self.small

    @property
    def total(self) -> int:
        return self.shared_parameters + self.routed_parameters

    @property
    def active(self) -> int:
        return self.shared_parameters + round(self.routed_parameters * self.active_share)

    @property
    def linear(self) -> int:
        """Weights a 4 or 8 bit format can hold."""
        return sum(m.weights for m in self.matrices)

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        return self.attention + self.ffn + self.routed


@dataclass(frozen=True)
class ParameterCount:
    """Where the parameters of a model are. `layers` in order, so that a pipeline stage is a slice of it."""

    layers: tuple[Block, ...]
    embedding: int
    """Vocabulary, position and type tables."""
    head: int
    """Output projection; 0 when tied to the embedding or absent."""
    other: int = 0
    """Stem, final norm, pooler, classifier; the whole network where only its published total is known."""
    other_linear: int = 0
    tower: int = 0
    """Beside the stack: vision tower, text encoders, VAE."""
    mtp: int = 0
    """Multi-token-prediction modules without their copies of embedding and head; in no total."""

    @cached_property
    def trunk(self) -> int:
        """What pretraining and full fine-tuning train."""
        return sum(b.total for b in self.layers) + self.embedding + self.head + self.other

    @property
    def total(self) -> int:
        return self.trunk + self.tower

    @cached_property
    def active(self) -> int:
        """What one text token reads of the trunk, embedding table included (N_a of the FLOP formulas, which subtract the table)."""
        return self.trunk - sum(b.total - b.active for b in self.layers)

    @cached_property
    def routed(self) -> int:
        """Parameters of routed experts, over all layers: what expert parallelism divides."""
        return sum(b.routed_parameters for b in self.layers)

    @cached_property
    def linear(self) -> int:
        """Weights a 4 or 8 bit format can hold: matrices of the layers, not embedding, head, norms, router, tower."""
        return sum(b.linear for b in self.layers) + self.other_linear

    @cached_property
    def largest_linear(self) -> int:
        """Weights of the largest single matrix: the buffer a dequantisation needs."""
        return max((m.d_in * m.d_out for b in self.layers for m in b.matrices), default=0)

    @cached_property
    def largest_block(self) -> int:
        return max((b.total for b in self.layers), default=0)


def gqa_matrices(hidden: int, heads: int, kv_heads: int, head_dim: int, biased: str = "", output_bias: bool = False) -> tuple[Matrix, ...]:
    """Attention with `kv_heads` <= `heads` key and value heads. `biased`: the letters of q, k, v that have a bias."""
    widths = {"q": heads, "k": kv_heads, "v": kv_heads}
    inputs = tuple(Matrix(name, hidden, n * head_dim, name in biased) for name, n in widths.items())
    return (*inputs, Matrix("o", heads * head_dim, hidden, output_bias))


def mla_matrices(hidden: int, heads: int, q_rank: int | None, kv_rank: int, nope_dim: int, rope_dim: int, v_dim: int) -> tuple[Matrix, ...]:
    """Multi-head latent attention (arXiv 2405.04434, section 2.1). `q_rank` None: queries are not compressed."""
    q_width = heads * (nope_dim + rope_dim)
    query = (Matrix("q_a", hidden, q_rank), Matrix("q_b", q_rank, q_width)) if q_rank else (Matrix("q", hidden, q_width),)
    latent = (Matrix("kv_a", hidden, kv_rank + rope_dim), Matrix("kv_b", kv_rank, heads * (nope_dim + v_dim)))
    return (*query, *latent, Matrix("o", heads * v_dim, hidden))


def ffn_matrices(hidden: int, width: int, gated: bool = True, bias: bool = False, copies: int = 1) -> tuple[Matrix, ...]:
    """Feed-forward network; gated (SwiGLU, GeGLU) has three matrices, else two. Empty when width or copies is 0."""
    if not width or not copies:
        return ()
    names = ("gate", "up") if gated else ("up",)
    return (*(Matrix(n, hidden, width, bias, copies) for n in names), Matrix("down", width, hidden, bias, copies))


def lora_parameters(layers: Iterable[Block], rank: int, targets: AdapterTargets = "all-linear") -> int:
    """Trainable parameters of LoRA or QLoRA; all-linear reaches every routed expert, the output head stays as it is."""
    return sum(m.adapter(rank) for block in layers for m in _targeted(block, targets))


def _targeted(block: Block, targets: AdapterTargets) -> Sequence[Matrix]:
    if targets == "all-linear":
        return block.matrices
    return [m for m in block.attention if targets == "attention" or m.name in QUERY_AND_VALUE]


def prompt_parameters(hidden: int, virtual_tokens: int) -> int:
    """Prompt tuning: one learned embedding per virtual token (arXiv 2104.08691)."""
    return hidden * virtual_tokens


def prefix_parameters(layers: int, kv_heads: int, head_dim: int, virtual_tokens: int) -> int:
    """P-tuning v2 and prefix tuning: a learned key and value per layer and virtual token (arXiv 2110.07602), without the training MLP."""
    return layers * 2 * kv_heads * head_dim * virtual_tokens
