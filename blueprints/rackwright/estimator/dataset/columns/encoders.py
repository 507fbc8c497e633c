"""Conversion of rows of encoder and speech models, in the files of language models, to cases of whole samples."""

import re
from typing import NamedTuple

from rackwright.catalog.read import Catalog
from rackwright.estimator.config import accelerators
from rackwright.estimator.dataset.columns.cells import PrintedRow, UnsupportedRow
from rackwright.estimator.dataset.columns.hardware import accelerator_name
from rackwright.estimator.dataset.columns.samples import (
    has_fused_attention,
    is_over_cores,
    sample_chip,
    sample_engine_family,
    sample_number_format,
)
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.sample_case import SampleCase

FILES = ("inference_more", "training_more")
WORDS = re.compile(r"bert|electra|minilm|mpnet|distiluse|\bbge\b|wav2vec|^ast-|rnn-?t\b|whisper", re.IGNORECASE)
"""Encoders, sentence embeddings and speech models, by name."""


class EncoderShape(NamedTuple):
    """Layers, hidden size, millions of parameters, heads of 64."""

    layers: int
    hidden: int
    parameters_m: float


class SpeechWork(NamedTuple):
    """Dimensions, elements written per sample, and kernels of one batch."""

    network: ModelDimensions
    activations: float
    kernels: float


BINNING_SCRIPTS, BINNED_TOKENS = re.compile(r"^(pytorch|paddlepaddle) \(ngc\)"), 512.0
"""Scripts that batch sequences of similar length without padding (NVIDIA LDDL), and the cap that half of the tokens fill: with 512 tokens
the printed 19 sequences/s on V100 in fp32 would be 19 TFLOP/s, above its peak of 15.7."""
RECURRENT = re.compile(r"rnn-?t")
"""Recurrent networks compute in fp16, also where the log prints no format: 13,600 and 13,200 samples/s on A100-40GB (NI0016, NI0017)."""
SHAPES = (
    (RECURRENT, None),
    (re.compile(r"whisper"), None),
    (re.compile(r"l3\b"), EncoderShape(3, 384, 17.4)),
    (re.compile(r"minilm-l6"), EncoderShape(6, 384, 22.7)),
    (re.compile(r"minilm"), EncoderShape(12, 384, 33.4)),
    (re.compile(r"albert-small"), EncoderShape(6, 768, 11.7)),
    (re.compile(r"distil"), EncoderShape(6, 768, 66.4)),
    (re.compile(r"large"), EncoderShape(24, 1024, 335.0)),
    (re.compile(r""), EncoderShape(12, 768, 110.0)),
)
"""Name -> shape, the first that matches. Source: config.json of the models on Hugging Face; others are as BERT-base."""
SQUAD_TOKENS = 178.0
"""Mean tokens of SQuAD v1.1 in MLPerf, whose engines remove the padding to 384. Source: MLPerf Inference, language/bert."""
USUAL_TOKENS = 128.0
FILLING_FLOPS = 1e14
"""FLOPs of a forward pass of a blank batch, large enough to fill an accelerator. Assumption of rackwright, 2026-11."""
SPEECH = {
    "rnn": SpeechWork(ModelDimensions(total=49e6, trunk=49e6, flops_per_sample=13.6e9, vocab=29), 3.4e6, 2200.0),
    "whisper": SpeechWork(ModelDimensions(total=1.54e9, trunk=1.54e9, flops_per_sample=2.42e12, vocab=51866), 1.04e10, 20_700.0),
}
"""Speech models of MLPerf. RNN-T: 0.94 G multiply-adds per second of audio from its LSTM widths, 7.2 s per utterance (LibriSpeech
dev-clean), one kernel per step of an LSTM and six per step of greedy decoding. Whisper large v3: 1,500 positions through 32 layers of
1,280, and 80 tokens of text, each of which reads the keys and values of those positions in 32 layers: 9.8e9 elements."""


def is_encoder_row(row: PrintedRow) -> bool:
    return row.csv in FILES and bool(WORDS.search(row.text("model")))


def encoder_case(row: PrintedRow, catalog: Catalog | None = None) -> SampleCase:
    """Return the case of a row. Raises UnsupportedRow for whole files of audio, UnknownAccelerator, and BrokenCell."""
    if "audio" in row.lower("scenario"):
        raise UnsupportedRow(f"{row.id} scenario: whole files of audio are not one sample")
    training, count = row.csv == "training_more", row.count("accel_count") or 1
    a = accelerators.find(accelerator_name(row), catalog)
    name = row.lower("model")
    numbers = "fp16" if RECURRENT.search(name) else sample_number_format(row, a.generation)
    shape = next(found for pattern, found in SHAPES if pattern.search(name))
    tokens = row.number("seq_len" if training else "isl") or (SQUAD_TOKENS if "mlperf" in row.lower("scenario") else USUAL_TOKENS)
    if "padding removed" in row.lower("framework"):
        tokens /= 2  # FasterTransformer measures batches with half of the tokens padded
    if tokens == BINNED_TOKENS and row.lower("method") == "pretrain" and BINNING_SCRIPTS.search(row.lower("framework")):
        tokens /= 2
    if shape is None:
        spoken = SPEECH["whisper" if "whisper" in name else "rnn"]
        network, written, kernels = spoken.network, spoken.activations, spoken.kernels
    else:
        network, written, kernels = _dimensions(shape, tokens), _activations(shape, tokens, row), 0.0
    return SampleCase(
        network=network, chip=sample_chip(row, a, numbers), batch=_batch(row, network, count, training, a.cores),
        task="training" if training else "inference", numbers=numbers, engine=_engine(row), operation="encoder",
        accelerators=float(count), activations=written, kernels=kernels, latency_bound=float("server" in row.lower("scenario")),
        replayed=float("mlperf" in row.lower("scenario")), fused_attention=float(has_fused_attention(row)),
        queued=float(is_over_cores(row)),
    )  # fmt: skip


def _dimensions(shape: EncoderShape, tokens: float) -> ModelDimensions:
    layers, hidden, parameters_m = shape
    flops = 24.0 * layers * hidden**2 * tokens + 4.0 * layers * hidden * tokens**2
    total = 1e6 * parameters_m
    return ModelDimensions(
        layers=layers, hidden=hidden, total=total, trunk=total, flops_per_sample=flops, sample_tokens=round(tokens), vocab=30522
    )


def _activations(shape: EncoderShape, tokens: float, row: PrintedRow) -> float:
    """Return the elements written: 9 h per token and layer, and the scores of heads of 64 where the kernel stores them."""
    scores = 0.0 if has_fused_attention(row) else shape.layers * shape.hidden / 64 * tokens**2
    return 9.0 * shape.layers * shape.hidden * tokens + scores


def _batch(row: PrintedRow, network: ModelDimensions, count: int, training: bool, cores: int) -> float:
    """Return the samples per accelerator and pass. A blank batch fills the accelerator."""
    if training:
        whole = row.number("global_batch")
        printed = row.number("micro_batch") or (whole / count if whole else None)
    else:
        printed = row.number("batch_size")
    filling = min(max(FILLING_FLOPS / network.flops_per_sample, 1.0), 256.0 if training else 1024.0)
    on_cores = cores if is_over_cores(row) else 1  # each core runs its own batch
    return (printed or filling) * on_cores


def _engine(row: PrintedRow) -> str:
    """Return the engine family. TensorFlow's graph executor launches faster than reference scripts in PyTorch."""
    return "eager" if "tensorflow" in row.lower("framework") else sample_engine_family(row)
