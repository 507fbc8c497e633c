"""Parameter counts of transformer layers. Does not depend on the catalog or the spec.

Closed forms of the published architectures: attention h*a*d + 2*h*k*d + a*d*h, FFN g*h*f, MLA as in arXiv 2405.04434 section 2.1. Tests
compare every catalog row with its publisher's total.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

TARGET_GROUPS = {"qv": frozenset({"q", "v", "q_b", "kv_b"}), "attention": frozenset({"q", "k", "v", "o", "q_a", "q_b", "kv_a", "kv_b"})}
"""Group of targets -> its matrices. qv: PEFT's default for decoder models; for MLA the up-projections of queries and values."""


class Matrix(NamedTuple):
    """`copies` equal weight matrices of d_in x d_out, each with an optional bias vector of d_out."""

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
        """Return the parameters of LoRA's two factors over all copies (arXiv 2106.09685, section 4.1)."""
        return rank * (self.d_in + self.d_out) * self.copies


@dataclass(frozen=True)
class Block:
    """One layer. small: parameters of norms, router and sinks, which are neither quantized nor split by tensor parallelism."""

    attention: tuple[Matrix, ...]
    ffn: tuple[Matrix, ...]
    routed: tuple[Matrix, ...] = ()
    """Matrices of all routed experts."""
    active_share: float = 1.0
    """Share of the routed experts that a token uses."""
    small: int = 0

    @cached_property
    def routed_parameters(self) -> int:
        return sum(m.parameters for m in self.routed)

    @cached_property
    def shared_parameters(self) -> int:
        """Parameters that every token uses. Tensor parallelism splits them, expert parallelism does not."""
        return sum(m.parameters for m in self.attention + self.ffn) + self.small

    @property
    def total(self) -> int:
        return self.shared_parameters + self.routed_parameters

    @property
    def active(self) -> int:
        return self.shared_parameters + round(self.routed_parameters * self.active_share)

    @property
    def linear(self) -> int:
        """Weights that can be quantized."""
        return sum(m.weights for m in self.matrices)

    @property
    def matrices(self) -> tuple[Matrix, ...]:
        return self.attention + self.ffn + self.routed


@dataclass(frozen=True)
class ParameterCount:
    """Parameters of a model by component. layers: in order, so that a pipeline stage is a slice."""

    layers: tuple[Block, ...]
    embedding: int
    """Vocabulary, position and type tables."""
    head: int
    """Output projection; 0 when tied to the embedding or absent."""
    other: int = 0
    """Stem, final norm, pooler, classifier; the whole network when only its published total is known."""
    other_linear: int = 0
    tower: int = 0
    """Vision tower, text encoders and VAE."""
    mtp: int = 0
    """Multi-token-prediction modules without their copies of embedding and head; not included in any total."""

    @cached_property
    def trunk(self) -> int:
        """Parameters that pretraining and full fine-tuning train."""
        return sum(b.total for b in self.layers) + self.embedding + self.head + self.other

    @property
    def total(self) -> int:
        return self.trunk + self.tower

    @cached_property
    def active(self) -> int:
        """Trunk parameters that one text token uses, embedding table included. The FLOP formulas subtract the table."""
        return self.trunk - sum(b.total - b.active for b in self.layers)

    @cached_property
    def routed(self) -> int:
        """Parameters of the routed experts of all layers, which expert parallelism divides."""
        return sum(b.routed_parameters for b in self.layers)

    @cached_property
    def linear(self) -> int:
        """Weights that can be quantized: matrices of the layers, without embedding, head, norms, router and tower."""
        return sum(b.linear for b in self.layers) + self.other_linear

    @cached_property
    def largest_linear(self) -> int:
        """Weights of the largest matrix, the size of the dequantization buffer."""
        return max((m.d_in * m.d_out for b in self.layers for m in b.matrices), default=0)

    @cached_property
    def largest_block(self) -> int:
        return max((b.total for b in self.layers), default=0)


def gqa_matrices(hidden: int, heads: int, kv_heads: int, head_dim: int, biased: str = "", output_bias: bool = False) -> tuple[Matrix, ...]:
    """Return the matrices of attention with `kv_heads` <= `heads` key and value heads. biased: letters of q, k, v that have a bias."""
    widths = {"q": heads, "k": kv_heads, "v": kv_heads}
    inputs = tuple(Matrix(name, hidden, n * head_dim, name in biased) for name, n in widths.items())
    return (*inputs, Matrix("o", heads * head_dim, hidden, output_bias))


def mla_matrices(hidden: int, heads: int, q_rank: int | None, kv_rank: int, nope_dim: int, rope_dim: int, v_dim: int) -> tuple[Matrix, ...]:
    """Return the matrices of multi-head latent attention (arXiv 2405.04434, section 2.1). q_rank None: uncompressed queries."""
    q_width = heads * (nope_dim + rope_dim)
    query = (Matrix("q_a", hidden, q_rank), Matrix("q_b", q_rank, q_width)) if q_rank else (Matrix("q", hidden, q_width),)
    latent = (Matrix("kv_a", hidden, kv_rank + rope_dim), Matrix("kv_b", kv_rank, heads * (nope_dim + v_dim)))
    return (*query, *latent, Matrix("o", heads * v_dim, hidden))


def ffn_matrices(hidden: int, width: int, gated: bool = True, bias: bool = False, copies: int = 1) -> tuple[Matrix, ...]:
    """Return the matrices of a feed-forward network: three when gated (SwiGLU, GeGLU), else two. Empty when width or copies is 0."""
    if not width or not copies:
        return ()
    names = ("gate", "up") if gated else ("up",)
    return (*(Matrix(n, hidden, width, bias, copies) for n in names), Matrix("down", width, hidden, bias, copies))


def target_matrices(targets: str) -> frozenset[str] | None:
    """Return the matrix names of `targets`, a group or comma-separated names; None means every matrix."""
    if targets in TARGET_GROUPS:
        return TARGET_GROUPS[targets]
    names = frozenset(part.strip().removesuffix("_proj") for part in targets.split(","))
    return None if names & {"all-linear", "all", ""} else names


def lora_parameters(layers: Iterable[Block], rank: int, targets: str = "all-linear") -> int:
    """Return the trainable parameters of LoRA or QLoRA. all-linear includes every routed expert, but not the output head."""
    names = target_matrices(targets)
    return sum(m.adapter(rank) for block in layers for m in block.matrices if names is None or m.name in names)


def prompt_parameters(hidden: int, virtual_tokens: int) -> int:
    """Return the parameters of prompt tuning: one learned embedding per virtual token (arXiv 2104.08691)."""
    return hidden * virtual_tokens


def prefix_parameters(layers: int, kv_heads: int, head_dim: int, virtual_tokens: int) -> int:
    """Return the parameters of P-tuning v2 and prefix tuning: a learned key and value per layer and virtual token (arXiv 2110.07602),
    without the MLP used in training."""
    return layers * 2 * kv_heads * head_dim * virtual_tokens
