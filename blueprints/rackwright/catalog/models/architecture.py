"""Architecture of a model, with validation. Does not depend on the catalog's files or on formulas."""

import dataclasses
import math
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Literal

Kind = Literal["llm", "encoder", "speech", "vision", "diffusion", "other"]
Norm = Literal["rmsnorm", "layernorm"]
AttentionKind = Literal["none", "mha", "gqa", "mqa", "mla"]
Biases = Literal["none", "qkv", "qv"]
WeightsFormat = Literal["bf16", "fp8", "fp4"]

MAX_WIDTH = 10**7
"""Upper limit of widths, heads, experts and vocabularies. The widest of the catalog is a vocabulary of 262,144."""
MAX_COUNT = 10**9
"""Upper limit of every other count, such as contexts and windows in tokens. The longest published context has 10 million."""
MAX_PARAMETERS = 10**16
"""Upper limit of parameter counts, and of layers x the parameters of one layer. Products with tokens then stay below 2**63, the range of
numpy's integers."""
MAX_FLOPS = 2**60
"""Upper limit of the operations of one sample."""
MAX_LAYERS = 10_000
"""Upper limit of layers, because parameters are counted layer by layer. The deepest model of the catalog has 126."""


class ConfigError(ValueError):
    """A model description is invalid. field: the invalid entry, "" for the whole description."""

    def __init__(self, message: str, *, field: str = ""):
        self.field = field
        super().__init__(message)


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """A stack of transformer layers, or a network known only by its published totals.

    0 means "none" (a U-Net has no `layers`); None means "not published" or "not set". parameter_count: published total of networks that
    are not a stack of equal layers; it replaces the count of estimator/model/from_architecture.py.
    """

    kind: Kind = "llm"
    layers: int = 0
    hidden: int = 0
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    ffn: int = 0
    gated_ffn: bool = True
    vocab: int = 0
    tied_embeddings: bool = False
    max_context: int | None = None

    norm: Norm = "rmsnorm"
    norms_per_layer: int = 2
    final_norm: bool = True
    embedding_norm: bool = False
    qk_norm: bool = False
    qkv_bias: Biases = "none"
    output_bias: bool = False
    ffn_bias: bool = False
    attention_sinks: bool = False
    """One learned logit per head."""

    sliding_window: int | None = None
    """Attention window of local layers, tokens; None: every layer has global attention."""
    global_every: int | None = None
    """Every n-th layer has global attention; None with a window: every layer is local."""
    cross_attention_layers: int = 0
    """Number of `layers` that attend to the tower's output; they have no cache per text token."""

    q_lora_rank: int | None = None
    kv_lora_rank: int | None = None
    qk_nope_head_dim: int | None = None
    qk_rope_head_dim: int | None = None
    v_head_dim: int | None = None

    experts: int = 0
    experts_per_token: int = 0
    expert_ffn: int = 0
    shared_experts: int = 0
    shared_expert_ffn: int = 0
    dense_layers: int = 0
    """Number of first layers with a dense FFN of width `ffn`."""
    moe_every: int = 1
    """Every n-th layer after the dense layers has experts; 2: layers 1, 3, 5, ... counted from 0."""
    router_bias: bool = False
    mtp_layers: int = 0
    """Multi-token-prediction modules after the stack; not included in totals unless stated."""

    encoder_layers: int = 0
    """Encoder layers of an encoder-decoder model, same width; every decoder layer then has cross-attention."""
    encoder_context: int = 0
    learned_positions: int = 0
    token_types: int = 0
    stem_parameters: int = 0
    """Parameters before the first layer: patch projection, convolutions, fixed encoder positions."""
    head_parameters: int = 0
    """Parameters after the last layer without the vocabulary head: pooler, classifier."""
    tower_parameters: int = 0
    """Parameters besides the stack: vision tower and projector; for diffusion the text encoders and the VAE."""
    tower_values: int = 0
    """Values of the vision tower alive at once per text token of an image: its patches per token, times 3 widths and the FFN's inputs and
    outputs."""

    weights_format: WeightsFormat = "bf16"
    """Number format of the published layer matrices."""

    parameter_count: int | None = None
    linear_parameter_count: int | None = None
    """Part of `parameter_count` in matrices that can be quantized to 4 or 8 bit."""
    flops_per_sample: float | None = None
    """Floating-point operations of a forward pass over one `sample`; a multiply-add counts as 2."""
    sample: str | None = None
    attention_flops_per_sample: float | None = None
    """Part of `flops_per_sample` in attention scores and weighted sums, which grows with the square of the positions."""
    sample_tokens: int | None = None
    """Tokens or positions of one `sample`."""
    sample_size: int | None = None
    """Width and height of the image of one `sample`, pixels."""
    patch_size: int | None = None
    """Width and height of the part of an image that is one position, pixels."""
    sample_seconds: int | None = None
    """Seconds of audio of one `sample`."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            _check_type(name, value)
        _check_shape(self)

    @property
    def attention(self) -> AttentionKind:
        if self.kv_lora_rank:
            return "mla"
        if not self.heads:
            return "none"
        return "mha" if self.kv_heads == self.heads else "mqa" if self.kv_heads == 1 else "gqa"

    @property
    def is_moe(self) -> bool:
        return self.experts > 0

    def is_moe_layer(self, index: int) -> bool:
        """Return whether layer `index`, counted from 0, has routed experts."""
        return self.is_moe and index >= self.dense_layers and (index + 1) % self.moe_every == 0

    @property
    def moe_layers(self) -> int:
        return sum(self.is_moe_layer(i) for i in range(self.layers))

    @property
    def global_layers(self) -> int:
        """Number of layers whose cache grows with the context."""
        own = self.layers - self.cross_attention_layers
        if self.sliding_window is None:
            return own
        return own // self.global_every if self.global_every else 0

    @property
    def local_layers(self) -> int:
        """Number of layers whose cache is limited to `sliding_window` tokens."""
        return self.layers - self.cross_attention_layers - self.global_layers


_HINTS = typing.get_type_hints(Architecture)
FIELDS = tuple(field.name for field in dataclasses.fields(Architecture))


def from_fields(values: Mapping[str, Any]) -> Architecture:
    """Return the architecture of a spec or a catalog row.

    values: fields of `Architecture`; `kv_heads` defaults to `heads`, `head_dim` to hidden / heads, `shared_expert_ffn` to `expert_ffn`.
    Raises ConfigError with the unknown, missing or invalid field.
    """
    for name in values:
        if name not in FIELDS:
            near = get_close_matches(str(name), FIELDS, n=1)
            raise ConfigError(f"unknown field {name!r}" + (f"; did you mean {near[0]!r}?" if near else ""), field=str(name))
    filled = dict(values)
    heads, hidden = filled.get("heads"), filled.get("hidden")
    filled.setdefault("kv_heads", heads or 0)
    if isinstance(heads, int) and isinstance(hidden, int) and heads > 0 and hidden % heads == 0:
        filled.setdefault("head_dim", hidden // heads)
    if filled.get("shared_experts"):
        filled.setdefault("shared_expert_ffn", filled.get("expert_ffn", 0))
    return Architecture(**filled)


def _check_type(name: str, value: Any) -> None:
    hint = _HINTS[name]
    options = typing.get_args(hint) or (hint,)
    if typing.get_origin(hint) is Literal:
        if value not in options:
            raise ConfigError(f"{name} must be one of {', '.join(options)}, not {value!r}", field=name)
        return
    if value is None and type(None) in options:
        return
    if bool in options or str in options:
        if not isinstance(value, options):
            raise ConfigError(f"{name} must be {'true or false' if bool in options else 'text'}, not {value!r}", field=name)
        return
    if isinstance(value, bool) or not isinstance(value, (int, float) if float in options else int) or not 0 <= value < math.inf:
        raise ConfigError(f"{name} must be a whole number, 0 or more, not {value!r}", field=name)
    if value > (limit := _limit(name)):
        raise ConfigError(f"{name} {value} is more than {limit}", field=name)
    if value == 0 and type(None) in options:
        raise ConfigError(f"{name} must be more than 0; leave it out when there is none", field=name)


def _limit(name: str) -> int:
    """Upper limit of a count."""
    if name in ("layers", "encoder_layers", "mtp_layers"):
        return MAX_LAYERS
    if name.endswith("flops_per_sample"):
        return MAX_FLOPS
    if "parameter" in name:
        return MAX_PARAMETERS
    return MAX_COUNT if any(word in name for word in ("context", "window", "positions", "tokens")) else MAX_WIDTH


def _check_size(a: Architecture) -> None:
    """Refuse shapes with more parameters than MAX_PARAMETERS, by an upper bound of the widths of one layer."""
    experts = a.experts * a.expert_ffn + a.shared_experts * a.shared_expert_ffn
    width = a.heads * a.head_dim + a.ffn + experts + a.vocab + (a.q_lora_rank or 0) + (a.kv_lora_rank or 0)
    latent = ((a.q_lora_rank or 0) + (a.kv_lora_rank or 0)) * a.heads
    latent *= (a.qk_nope_head_dim or 0) + (a.qk_rope_head_dim or 0) + (a.v_head_dim or 0)
    parameters = (a.layers + a.encoder_layers + a.mtp_layers) * (3 * a.hidden * width + latent)
    if parameters > MAX_PARAMETERS:
        raise ConfigError(f"layers x the widths of a layer give up to {parameters:.1e} parameters, more than {MAX_PARAMETERS:.0e}")


def _check_shape(a: Architecture) -> None:
    _check_size(a)
    if a.experts:
        _require(a, "experts_per_token", "expert_ffn", "moe_every")
    if a.experts and a.experts_per_token > a.experts:
        raise ConfigError(f"experts_per_token {a.experts_per_token} is more than experts {a.experts}", field="experts_per_token")
    if a.parameter_count is None:
        _require(a, "layers", "hidden", "heads", "kv_heads", "head_dim")
        if not a.ffn and a.moe_layers < a.layers:
            raise ConfigError("ffn is needed: at least one layer has a dense FFN", field="ffn")
    elif a.kind == "llm":
        raise ConfigError("parameter_count is for networks without equal layers; write out the shape of an llm", field="parameter_count")
    if a.kind == "llm":
        _require(a, "vocab")
    if a.kv_heads and a.heads % a.kv_heads:
        raise ConfigError(f"heads {a.heads} must be a multiple of kv_heads {a.kv_heads}", field="kv_heads")
    if a.kv_lora_rank:
        _require(a, "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
    for part in ("dense_layers", "cross_attention_layers"):
        if getattr(a, part) > a.layers:
            raise ConfigError(f"{part} {getattr(a, part)} is more than layers {a.layers}", field=part)


def _require(a: Architecture, *names: str) -> None:
    for name in names:
        if not getattr(a, name):
            raise ConfigError(f"{name} is missing", field=name)
