"""Time of writing the text of speech, token by token, beside the forward pass over its audio. Numbers in, numbers out."""

from rackwright.estimator.case import Chip
from rackwright.estimator.model.dimensions import ModelDimensions, Num
from rackwright.estimator.samples import BANDWIDTH_SHARE

TOKENS_PER_SECOND = 63.5 / 30
"""Text tokens per second of audio. MLPerf Inference v5.1, Whisper large v3 on LibriSpeech in clips of about 30 s: every Offline result has
63.5 tokens per sample."""
STEP_S = 1.5e-3
"""Launches of one step of the decoder with a fixed graph. Assumption of rackwright, 2026-11; not measured."""


def writing_seconds(n: ModelDimensions, chip: Chip, batch: Num, tokens: float, decoder_bytes: float) -> Num:
    """Return the seconds in which a batch of windows is written: each step reads the decoder's weights and every window's keys and values.

    n.layers: of encoder and decoder, half each. decoder_bytes: weights of the decoder with its vocabulary.
    """
    keys_and_values = 2.0 * 2.0 * n.layers / 2 * n.kv_heads * n.head_dim * n.sample_tokens
    return tokens * (STEP_S + (decoder_bytes + batch * keys_and_values) / (chip.bandwidth_bytes_per_s * BANDWIDTH_SHARE))
