"""Readers per Hugging Face `model_type`: fields of a config.json -> fields of `Architecture`.

Defaults are those of the configuration classes of transformers 4.57.
"""

from collections.abc import Callable, Mapping
from typing import Any

from rackwright.catalog.models.hf_fields import Fields
from rackwright.catalog.models.hf_vision import (
    gemma3_tower,
    gemma3_values,
    llama4_tower,
    llama4_values,
    mllama_tower,
    pixtral_tower,
    pixtral_values,
)

Values = dict[str, Any]
Reader = Callable[[Fields], Values]


def _decoder(c: Fields, defaults: Mapping[str, int] | None = None, tied: bool = False) -> Values:
    """Return the fields common to decoder-only models of the Llama family."""
    given = defaults or {}
    hidden, heads = c.count("hidden_size"), c.count("num_attention_heads", default=given.get("heads"))
    return {
        "layers": c.count("num_hidden_layers"),
        "hidden": hidden,
        "heads": heads,
        "kv_heads": c.count("num_key_value_heads", default=given.get("kv_heads", heads)),
        "head_dim": c.count("head_dim", default=given.get("head_dim", hidden // heads)),
        "ffn": c.count("intermediate_size"),
        "vocab": c.count("vocab_size", default=given.get("vocab")),
        "tied_embeddings": c.flag("tie_word_embeddings", default=tied),
        "max_context": c.count("max_position_embeddings", default=given.get("max_context")),
    }


def _window(c: Fields, every: int | None = None, default: int | None = None) -> Values:
    """Return the fields of local attention. `layer_types` must repeat a number of local layers and one global layer."""
    window = c.maybe("sliding_window") or default
    kinds = c.items("layer_types")
    if kinds:
        whole = [i for i, kind in enumerate(kinds) if kind == "full_attention"]
        every = whole[0] + 1 if whole else None
        if whole != (list(range(every - 1, len(kinds), every)) if every else []):
            c.refuse("layer_types", "global layers do not come at a fixed distance")
    return {"sliding_window": window, "global_every": every} if window and every != 1 else {}


def llama(c: Fields) -> Values:
    biased = c.flag("attention_bias")
    own = {"qkv_bias": "qkv" if biased else "none", "output_bias": biased, "ffn_bias": c.flag("mlp_bias")}
    return _decoder(c, {"max_context": 2048}) | own


def mistral(c: Fields) -> Values:
    return _decoder(c, {"kv_heads": 8, "max_context": 131072}) | _window(c)


def mixtral(c: Fields) -> Values:
    experts = {"experts": c.count("num_local_experts", default=8), "experts_per_token": c.count("num_experts_per_tok", default=2)}
    return mistral(c) | experts | {"expert_ffn": c.count("intermediate_size"), "ffn": 0}


def qwen2(c: Fields) -> Values:
    """Read Qwen2. Ignores `use_sliding_window`: no published checkpoint sets it, and full attention needs more memory."""
    return _decoder(c, {"max_context": 32768}) | {"qkv_bias": "qkv"}


def qwen3(c: Fields) -> Values:
    biased = c.flag("attention_bias")
    own = {"qkv_bias": "qkv" if biased else "none", "output_bias": biased, "qk_norm": True}
    return _decoder(c, {"head_dim": 128, "max_context": 32768}) | own


def qwen3_moe(c: Fields) -> Values:
    if c.items("mlp_only_layers"):
        c.refuse("mlp_only_layers", "dense layers at chosen places are not supported; write the architecture out")
    step = c.count("decoder_sparse_step", default=1)
    experts = {"experts": c.count("num_experts", "num_local_experts"), "experts_per_token": c.count("num_experts_per_tok", default=8)}
    dense = {} if step > 1 else {"ffn": 0}
    return qwen3(c) | experts | {"expert_ffn": c.count("moe_intermediate_size"), "moe_every": step} | dense


def _routed(c: Fields) -> Values:
    """Return the expert fields with DeepSeek's names."""
    if c.count("moe_layer_freq", default=1) != 1:
        c.refuse("moe_layer_freq", "only 1 is supported; write the architecture out")
    width = c.count("moe_intermediate_size")
    return {
        "experts": c.count("n_routed_experts"),
        "experts_per_token": c.count("num_experts_per_tok"),
        "expert_ffn": width,
        "shared_experts": c.maybe("n_shared_experts") or 0,
        "shared_expert_ffn": width if c.maybe("n_shared_experts") else 0,
        "dense_layers": c.maybe("first_k_dense_replace") or 0,
        "mtp_layers": c.maybe("num_nextn_predict_layers") or 0,
    }


def deepseek(c: Fields) -> Values:
    latent = {name: c.count(name) for name in ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")}
    own = {"q_lora_rank": c.maybe("q_lora_rank"), "router_bias": c.text("topk_method") == "noaux_tc"}
    own["head_dim"] = latent["qk_nope_head_dim"] + latent["qk_rope_head_dim"]
    return _decoder(c) | _routed(c) | latent | own


def glm(c: Fields) -> Values:
    return _decoder(c, {"kv_heads": 2, "head_dim": 128, "max_context": 131072}) | {
        "qkv_bias": "qkv" if c.flag("attention_bias", default=True) else "none"
    }


def glm4(c: Fields) -> Values:
    return glm(c) | {"norms_per_layer": 4}


def glm4_moe(c: Fields) -> Values:
    own = {"qkv_bias": "qkv" if c.flag("attention_bias") else "none", "qk_norm": c.flag("use_qk_norm"), "router_bias": True}
    return _decoder(c, {"head_dim": 128, "max_context": 131072}) | _routed(c) | own


def gemma(c: Fields) -> Values:
    return _decoder(c, {"head_dim": 256, "vocab": 256000, "max_context": 8192}, tied=True)


def gemma2(c: Fields) -> Values:
    return gemma(c) | {"norms_per_layer": 4} | _window(c, every=2, default=4096)


def gemma3_text(c: Fields) -> Values:
    defaults = {"heads": 8, "kv_heads": 4, "head_dim": 256, "vocab": 262208, "max_context": 131072}
    every = c.count("sliding_window_pattern", "_sliding_window_pattern", default=6)
    return _decoder(c, defaults, tied=True) | {"norms_per_layer": 4, "qk_norm": True} | _window(c, every, default=4096)


def phi3(c: Fields) -> Values:
    return _decoder(c, {"vocab": 32064, "max_context": 4096}) | _window(c)


def gpt_oss(c: Fields) -> Values:
    biased = c.flag("attention_bias", default=True)
    return (
        _decoder(c, {"head_dim": 64, "max_context": 131072})
        | _window(c, every=2, default=128)
        | {
            "ffn": 0,
            "qkv_bias": "qkv" if biased else "none",
            "output_bias": biased,
            "ffn_bias": True,
            "attention_sinks": True,
            "experts": c.count("num_local_experts"),
            "experts_per_token": c.count("num_experts_per_tok", "experts_per_token"),
            "expert_ffn": c.count("intermediate_size"),
            "router_bias": True,
        }
    )


def llama4_text(c: Fields) -> Values:
    """Read Llama 4. Every fourth layer has global attention, the others chunks; all experts are `intermediate_size` wide."""
    step, width = c.count("interleave_moe_layer_step", default=1), c.count("intermediate_size", default=8192)
    return _decoder(c, {"head_dim": 128, "kv_heads": 8, "vocab": 202048, "max_context": 131072}) | {
        "ffn": c.count("intermediate_size_mlp", default=16384) if step > 1 else 0,
        "experts": c.count("num_local_experts", default=16),
        "experts_per_token": c.count("num_experts_per_tok", default=1),
        "expert_ffn": width,
        "shared_experts": 1,
        "shared_expert_ffn": width,
        "moe_every": step,
        "sliding_window": c.count("attention_chunk_size", default=8192),
        "global_every": c.count("no_rope_layer_interval", default=4),
    }


def mllama_text(c: Fields) -> Values:
    """Read Mllama. Cross-attention layers have QK norms and two gates; the embedding has eight more rows than the head."""
    values, crossing = _decoder(c, {"vocab": 128256, "max_context": 131072}), len(c.items("cross_attention_layers")) or 8
    extra = 8 * values["hidden"] + crossing * (2 * values["head_dim"] + 2)
    return values | {"cross_attention_layers": crossing, "stem_parameters": extra}


def _multimodal(text: Reader, tower: Callable[[Fields, int], int], values_of: Callable[[Fields], int] | None = None) -> Reader:
    """Return a reader of a text model in `text_config` and an optional tower in `vision_config`."""

    def read(c: Fields) -> Values:
        values = text(c.inside("text_config"))
        if not c.has("vision_config"):
            return values
        vision = c.inside("vision_config")
        alive = {"tower_values": values_of(vision)} if values_of else {}
        return values | {"tower_parameters": tower(vision, values["hidden"])} | alive

    return read


BIASED_LAYER_NORM = {"norm": "layernorm", "gated_ffn": False, "qkv_bias": "qkv", "output_bias": True, "ffn_bias": True}
"""Fields of the original transformer layer: biases, and two ungated FFN matrices."""


def gpt2(c: Fields) -> Values:
    hidden, context = c.count("n_embd"), c.count("n_positions", "n_ctx", default=1024)
    shape = {"layers": c.count("n_layer"), "hidden": hidden, "heads": c.count("n_head"), "ffn": c.count("n_inner", default=4 * hidden)}
    text = {"vocab": c.count("vocab_size"), "tied_embeddings": True, "max_context": context, "learned_positions": context}
    return shape | text | BIASED_LAYER_NORM


def bloom(c: Fields) -> Values:
    hidden = c.count("hidden_size", "n_embed")
    shape = {"layers": c.count("n_layer", "num_hidden_layers"), "hidden": hidden, "heads": c.count("n_head", "num_attention_heads")}
    text = {"vocab": c.count("vocab_size"), "tied_embeddings": True, "max_context": c.count("seq_length", default=2048)}
    return shape | {"ffn": 4 * hidden, "embedding_norm": True} | text | BIASED_LAYER_NORM


def bert(c: Fields) -> Values:
    hidden, positions = c.count("hidden_size"), c.count("max_position_embeddings")
    shape = {"layers": c.count("num_hidden_layers"), "hidden": hidden, "heads": c.count("num_attention_heads")}
    tables = {"vocab": c.count("vocab_size"), "learned_positions": positions, "token_types": c.count("type_vocab_size", default=2)}
    ends = {"tied_embeddings": True, "embedding_norm": True, "final_norm": False, "head_parameters": hidden * hidden + hidden}
    return {"kind": "encoder", "ffn": c.count("intermediate_size"), "max_context": positions} | shape | tables | ends | BIASED_LAYER_NORM


def vit(c: Fields) -> Values:
    hidden, patch = c.count("hidden_size"), c.count("patch_size", default=16)
    size, classes = c.count("image_size", default=224), len(c.items("id2label"))
    patches = (size // patch) ** 2
    shape = {"layers": c.count("num_hidden_layers"), "hidden": hidden, "heads": c.count("num_attention_heads")}
    ends = {
        "stem_parameters": patch * patch * c.count("num_channels", default=3) * hidden + 2 * hidden,
        "learned_positions": patches + 1,
        "head_parameters": classes * (hidden + 1),
        "sample_tokens": patches + 1,
        "sample_size": size,
        "patch_size": patch,
    }
    return {"kind": "vision", "ffn": c.count("intermediate_size"), "tied_embeddings": True} | shape | ends | BIASED_LAYER_NORM


POSITIONS_PER_SECOND = 50
"""Encoder positions per second of audio: 10 ms frames, halved by a convolution (arXiv 2212.04356, section 2.2)."""


def whisper(c: Fields) -> Values:
    """Read Whisper. Stem: two convolutions of width 3, fixed encoder positions and the encoder's final norm; keys have no bias."""
    hidden, frames = c.count("d_model"), c.count("max_source_positions", default=1500)
    positions = c.count("max_target_positions", default=448)
    convolutions = 3 * hidden * (c.count("num_mel_bins", default=80) + hidden) + 2 * hidden
    shape = {"layers": c.count("decoder_layers"), "hidden": hidden, "heads": c.count("decoder_attention_heads")}
    text = {"vocab": c.count("vocab_size"), "tied_embeddings": True, "max_context": positions, "learned_positions": positions}
    encoder = {"encoder_layers": c.count("encoder_layers"), "encoder_context": frames, "sample_seconds": frames // POSITIONS_PER_SECOND}
    own = {"kind": "speech", "ffn": c.count("decoder_ffn_dim"), "stem_parameters": convolutions + (frames + 2) * hidden}
    return shape | text | encoder | own | BIASED_LAYER_NORM | {"qkv_bias": "qv"}


READERS: Mapping[str, Reader] = {
    "llama": llama,
    "mistral": mistral,
    "mixtral": mixtral,
    "qwen2": qwen2,
    "qwen3": qwen3,
    "qwen3_moe": qwen3_moe,
    "deepseek_v2": deepseek,
    "deepseek_v3": deepseek,
    "kimi_k2": deepseek,
    "glm": glm,
    "glm4": glm4,
    "glm4_moe": glm4_moe,
    "gemma": gemma,
    "gemma2": gemma2,
    "gemma3_text": gemma3_text,
    "gemma3": _multimodal(gemma3_text, gemma3_tower, gemma3_values),
    "phi3": phi3,
    "gpt_oss": gpt_oss,
    "llama4_text": llama4_text,
    "llama4": _multimodal(llama4_text, llama4_tower, llama4_values),
    "mllama_text_model": mllama_text,
    "mllama": _multimodal(mllama_text, mllama_tower),
    "mistral3": _multimodal(mistral, pixtral_tower, pixtral_values),
    "gpt2": gpt2,
    "bloom": bloom,
    "bert": bert,
    "roberta": bert,
    "xlm-roberta": bert,
    "vit": vit,
    "whisper": whisper,
}
"""Model type -> reader."""
