"""Parameters of vision towers and their projectors, from the `vision_config` of a multimodal Hugging Face model."""

from rackwright.catalog.models.hf_fields import Fields

GEMMA3_TOKENS = 256
"""Text tokens of one image (mm_tokens_per_image of the published config.json)."""


def gemma3_tower(vision: Fields, text_hidden: int) -> int:
    """SigLIP and one projection behind a norm (transformers 4.57, models/gemma3)."""
    hidden = vision.count("hidden_size", default=768)
    patches = (vision.count("image_size", default=224) // vision.count("patch_size", default=16)) ** 2
    return _siglip_like(vision) + (patches + 1) * hidden + 2 * hidden + hidden * text_hidden + hidden


def llama4_tower(vision: Fields, text_hidden: int) -> int:
    """Encoder with class token, pixel-shuffle MLP and projector (transformers 4.57, models/llama4)."""
    hidden, out = vision.count("hidden_size", default=768), vision.count("projector_output_dim", default=4096)
    patches = (vision.count("image_size", default=448) // vision.count("patch_size", default=14)) ** 2
    adapter = vision.count("intermediate_size", default=5632) * out + out * out + out * text_hidden
    return _siglip_like(vision) + (patches + 2) * hidden + 4 * hidden + adapter


def mllama_tower(vision: Fields, text_hidden: int) -> int:
    """Local and gated global layers over tiles, tile and position tables, projector (transformers 4.57, models/mllama)."""
    hidden, tiles = vision.count("hidden_size", default=1280), vision.count("max_num_tiles", default=4)
    ratios = len(vision.items("supported_aspect_ratios")) or 8
    patches = (vision.count("image_size", default=448) // vision.count("patch_size", default=14)) ** 2
    tables = (1 + (ratios + 1) * tiles) * (patches + 1) * hidden + 2 * (ratios + 1) * tiles * hidden
    whole = vision.count("num_global_layers", default=8)
    layers = vision.count("num_hidden_layers", default=32) + whole
    ffn = vision.count("intermediate_size", default=5120)
    block = 4 * hidden * hidden + 2 * hidden * ffn + ffn + hidden + 4 * hidden
    patch = vision.count("patch_size", default=14) ** 2 * 3 * hidden
    projector = (vision.count("vision_output_dim", default=7680) + 1) * text_hidden
    gates = 2 * whole + 3
    return patch + tables + layers * block + 5 * hidden + gates + projector


def pixtral_tower(vision: Fields, text_hidden: int) -> int:
    """Gated layers without biases, 2 x 2 patch merger and a two-layer projector (transformers 4.57, models/mistral3)."""
    hidden, ffn = vision.count("hidden_size", default=1024), vision.count("intermediate_size", default=4096)
    block = 4 * hidden * hidden + 3 * hidden * ffn + 2 * hidden
    patch = vision.count("patch_size", default=16) ** 2 * 3 * hidden + hidden
    projector = 4 * hidden * hidden + hidden + hidden * text_hidden + text_hidden * text_hidden
    return patch + vision.count("num_hidden_layers", default=24) * block + projector


def gemma3_values(vision: Fields) -> int:
    """Average pooling of 4,096 patches to the 256 tokens of an image (transformers 4.57, models/gemma3)."""
    patches = (vision.count("image_size", default=224) // vision.count("patch_size", default=16)) ** 2
    return patches // GEMMA3_TOKENS * _block_values(vision, ffn_copies=2)


def llama4_values(vision: Fields) -> int:
    """Pixel shuffle of 2 x 2 patches (transformers 4.57, models/llama4)."""
    return 4 * _block_values(vision, ffn_copies=2)


def pixtral_values(vision: Fields) -> int:
    """Patch merger of 2 x 2 patches (transformers 4.57, models/mistral3)."""
    return 4 * _block_values(vision, ffn_copies=3)


def _block_values(vision: Fields, ffn_copies: int) -> int:
    """Values per patch: residual, input and output of a layer, and those of its FFN."""
    return 3 * vision.count("hidden_size", default=1024) + ffn_copies * vision.count("intermediate_size", default=4096)


def _siglip_like(vision: Fields) -> int:
    """Patch projection and layers with biases everywhere, without tables and final norm."""
    hidden, ffn = vision.count("hidden_size", default=768), vision.count("intermediate_size", default=3072)
    block = 4 * (hidden * hidden + hidden) + 2 * hidden * ffn + ffn + hidden + 4 * hidden
    patch = vision.count("patch_size", default=14) ** 2 * 3 * hidden
    return patch + vision.count("num_hidden_layers", default=12) * block
