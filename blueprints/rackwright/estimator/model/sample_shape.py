"""Dimensions of a model for one sample: an image of another size, or a document. Does not depend on the catalog or the spec."""

from dataclasses import replace

from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.flops import FLOPS_PER_WEIGHT, attention_flops, forward_flops_per_token


def with_image_size(
    n: ModelDimensions, size: tuple[int, int], published: int, patch: int = 0, attention_flops: float = 0.0
) -> ModelDimensions:
    """Return the dimensions for images of `size` (width, height) in pixels, with the FLOPs of one pass over one image.

    published: width and height of `n.flops_per_sample`. patch: pixels per side of one position, 0 for a convolutional network.
    attention_flops: part of `n.flops_per_sample` in attention; where it is 0 it follows from the layers, 4 h t^2 per layer of width h and
    t positions. Convolutions and products grow with the pixels, attention with their square.
    """
    base = (published // patch) ** 2 if patch else published**2
    pixels = (size[0] // patch) * (size[1] // patch) if patch else size[0] * size[1]
    others = n.sample_tokens - base if patch else 0  # positions of text and class token, which do not depend on the image
    ratio = (others + max(pixels, 1)) / (others + base)
    attention = attention_flops or 4.0 * n.layers * n.hidden * n.sample_tokens**2
    flops = (n.flops_per_sample - attention) * ratio + attention * ratio**2
    return replace(n, flops_per_sample=flops, sample_tokens=round(n.sample_tokens * ratio))


def with_document_length(n: ModelDimensions, tokens: float, is_encoder: bool) -> ModelDimensions:
    """Return the dimensions for documents of `tokens`, with the FLOPs of one pass over one document.

    An encoder attends in both directions, twice the causal attention. An embedding needs no logits.
    """
    each = forward_flops_per_token(n, tokens) - (0.0 if is_encoder else FLOPS_PER_WEIGHT["forward"] * n.vocab * n.hidden)
    both = float(attention_flops(n, tokens, FLOPS_PER_WEIGHT["forward"])) if is_encoder else 0.0
    return replace(n, flops_per_sample=float(each + both) * tokens, sample_tokens=round(tokens))


def with_transcript(n: ModelDimensions, encoder: float, decoder: float, positions: int, tokens: float) -> ModelDimensions:
    """Return the dimensions for one window of speech: the encoder reads `positions`, the decoder writes `tokens` of text.

    encoder, decoder: parameters of their layers. The decoder projects the keys and values of its cross-attention once per window, about a
    seventh of its layers' products: two of fourteen h x h matrices (arXiv 2212.04356, section 2.2).
    """
    attention = 4.0 * n.layers / 2 * n.hidden * positions**2
    projections = 2.0 / 14.0 * decoder * positions
    flops = FLOPS_PER_WEIGHT["forward"] * (encoder * positions + projections + (decoder + n.vocab * n.hidden) * tokens) + attention
    return replace(n, flops_per_sample=flops, sample_tokens=positions)
