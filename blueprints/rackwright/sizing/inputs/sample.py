"""One sample of a workload on whole samples: image, audio, document; the network scaled to it, and its passes."""

import math
from dataclasses import dataclass, replace

from rackwright.catalog.models.architecture import Architecture
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.from_architecture import count_parameters
from rackwright.estimator.model.sample_shape import with_document_length, with_image_size, with_transcript
from rackwright.estimator.serving.transcript import TOKENS_PER_SECOND
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.job import NO_SAMPLE, Sample
from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS
from rackwright.sizing.note import Note, NoteKind
from rackwright.sizing.plan import Assumption
from rackwright.spec.media import Image
from rackwright.spec.workload import Batch, Finetune, Pretrain, Serve

WINDOW_S = 30.0
"""Seconds of audio per pass of Whisper (arXiv 2212.04356, section 2.2), where the catalog states no other."""


@dataclass(frozen=True)
class ScaledNetwork:
    """A network with the FLOPs of one pass over one sample. described: the sample; assumed: what the spec does not set."""

    network: ModelDimensions
    sample: Sample = NO_SAMPLE
    described: Note | None = None
    assumed: tuple[Assumption, ...] = ()


def generates_text(w: Serve | Batch, architecture: Architecture) -> bool:
    """Whether requests are answered token by token; a language model with `sequence_length` computes embeddings."""
    return architecture.kind == "llm" and architecture.layers > 0 and w.sequence_length is None


def request_sample(w: Serve | Batch, architecture: Architecture, n: ModelDimensions, a: Assumptions) -> ScaledNetwork:
    """The network for one request; a request to a model that generates text is no sample."""
    if generates_text(w, architecture):
        return ScaledNetwork(n, Sample("token" if isinstance(w, Serve) else "request"))
    if architecture.kind in ("diffusion", "vision"):
        return _image(w, w.image or Image(), architecture, n, a)
    if architecture.kind == "speech":
        return _audio(w.audio.seconds if w.audio else None, architecture, n)
    tokens = float(w.sequence_length or (w.input_tokens.mean if w.input_tokens else 0.0))
    if not tokens:
        return ScaledNetwork(n, Sample("request"))
    scaled = with_document_length(n, tokens, architecture.kind == "encoder")
    return ScaledNetwork(scaled, Sample("document", operation=operation(architecture)), Note(NoteKind.SAMPLE_DOCUMENT, {"tokens": tokens}))


def training_sample(w: Pretrain | Finetune, architecture: Architecture, n: ModelDimensions, a: Assumptions) -> ScaledNetwork:
    """The network for one sample of training: whole images and windows of audio in one pass, text in tokens."""
    if architecture.kind in ("diffusion", "vision"):
        return _image(w, w.image or Image(), architecture, n, a)
    if architecture.kind == "speech":
        return replace(_audio(None, architecture, n), assumed=())
    return ScaledNetwork(n, Sample("request", operation=operation(architecture)) if architecture.kind == "other" else NO_SAMPLE)


def image_bytes(w: Pretrain | Finetune | Serve | Batch, architecture: Architecture) -> float:
    """Bytes on disk of one image that the workload reads; 0 where it reads none."""
    reads = architecture.kind == "vision" or (architecture.kind == "diffusion" and isinstance(w, (Pretrain, Finetune)))
    if not reads:
        return 0.0
    data = None if isinstance(w, Serve) else w.data
    if data and data.size and data.samples:
        return data.size / data.samples
    return NODE_ASSUMPTIONS.diffusion_bytes if architecture.kind == "diffusion" else NODE_ASSUMPTIONS.vision_bytes


def operation(architecture: Architecture) -> str:
    """Dominant operation: networks without positions are convolutional, a U-Net where they denoise."""
    if architecture.kind in ("encoder", "llm", "speech"):
        return "encoder"
    if architecture.sample_tokens or architecture.layers:
        return "dit" if architecture.kind == "diffusion" else "transformer"
    return "unet" if architecture.kind == "diffusion" else "convolution"


def _image(
    w: Pretrain | Finetune | Serve | Batch, image: Image, architecture: Architecture, n: ModelDimensions, a: Assumptions
) -> ScaledNetwork:
    """A published size that is unknown cannot be scaled: the FLOPs of the published sample apply."""
    published = architecture.sample_size
    size = image.size or ((published, published) if published else None)
    assumed = () if image.size or not size else (Assumption("image.size", f"{size[0]}x{size[1]}", "pixels", "published model"),)
    if published and size:
        n = with_image_size(n, size, published, architecture.patch_size or 0, architecture.attention_flops_per_sample or 0.0)
    sample = Sample("image", operation=operation(architecture), image_bytes=image_bytes(w, architecture))
    values: dict[str, int | float | str] = {"size": f"{size[0]}x{size[1]}" if size else "published size"}
    if architecture.kind == "vision" or not isinstance(w, (Serve, Batch)):
        return ScaledNetwork(n, sample, Note(NoteKind.SAMPLE_IMAGE, values), assumed)
    steps, kind = image.steps or a.denoising_passes, NoteKind.SAMPLE_GUIDED_IMAGE if image.guidance else NoteKind.SAMPLE_DENOISED_IMAGE
    sample = replace(sample, passes=float(steps), guidance=2.0 if image.guidance else 1.0)
    return ScaledNetwork(n, sample, Note(kind, values | {"steps": steps}), assumed)


def _audio(seconds: float | None, architecture: Architecture, n: ModelDimensions) -> ScaledNetwork:
    """Windows of speech, each with the text that its decoder writes; a network without layers has its published FLOPs."""
    window = float(architecture.sample_seconds or WINDOW_S)
    assumed = () if seconds else (Assumption("audio.seconds", f"{window:g}", "s per request", "one window"),)
    length = seconds or window
    sample = Sample("audio-second", length, float(math.ceil(length / window)), operation=operation(architecture))
    described = Note(NoteKind.SAMPLE_AUDIO, {"seconds": length})
    if not architecture.encoder_layers:
        return ScaledNetwork(n, sample, described, assumed)
    layers, first, tokens = count_parameters(architecture).layers, architecture.encoder_layers, TOKENS_PER_SECOND * window
    encoder, decoder = (float(sum(layer.total for layer in part)) for part in (layers[:first], layers[first:]))
    scaled = with_transcript(n, encoder, decoder, n.sample_tokens, tokens)
    sample = replace(sample, written_tokens=tokens, decoder_parameters=decoder + n.vocab * n.hidden)
    return ScaledNetwork(scaled, sample, described, assumed)
