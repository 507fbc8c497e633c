"""One sample of a workload that generates no text: image, audio, document; the network scaled to it, and its passes."""

import math
from dataclasses import dataclass, field, replace

from rackwright.catalog.models.architecture import Architecture
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.model.sample_shape import with_document_length, with_image_size
from rackwright.sizing.assumptions import Assumptions
from rackwright.sizing.node.formulas import NODE_ASSUMPTIONS
from rackwright.sizing.plan import Assumption
from rackwright.spec.media import Image
from rackwright.spec.workload import Batch, Finetune, Pretrain, Serve

DEFAULT = "default; set {}"


@dataclass(frozen=True)
class Sample:
    """unit: key of `sizing.unit.UNITS`. units: of one sample, such as seconds of audio. network: FLOPs of one pass over one sample.

    passes: of the network per sample. operation: dominant one, as in `SampleCase`. words: `image of 1024x1024, 30 steps`.
    """

    unit: str
    network: ModelDimensions
    units: float = 1.0
    passes: float = 1.0
    operation: str = "transformer"
    words: str = ""
    assumed: tuple[Assumption, ...] = field(default=())


def generates_text(w: Serve | Batch, architecture: Architecture) -> bool:
    """Whether requests are answered token by token; a language model with `sequence_length` computes embeddings."""
    return architecture.kind == "llm" and architecture.layers > 0 and w.sequence_length is None


def request_sample(w: Serve | Batch, architecture: Architecture, n: ModelDimensions, a: Assumptions) -> Sample:
    """The sample of one request to a model that generates no text."""
    if architecture.kind in ("diffusion", "vision"):
        return _image(w.image or Image(), architecture, n, a)
    if architecture.kind == "speech":
        seconds, window = w.audio.seconds if w.audio else None, float(architecture.sample_seconds or 30)
        assumed = () if seconds else (Assumption("audio.seconds", f"{window:g}", "s per request", DEFAULT.format("audio: {seconds: ...}")),)
        seconds = seconds or window
        passes = float(math.ceil(seconds / window))
        words = f"{seconds:g} s of audio" + (f", {passes:g} windows of {window:g} s" if passes > 1 else "")
        return Sample("audio-second", n, seconds, passes, words=words, assumed=assumed)
    tokens = float(w.sequence_length or (w.input_tokens.mean if w.input_tokens else 0.0))
    if not tokens:
        return Sample("request", n)
    return Sample("document", with_document_length(n, tokens, architecture.kind == "encoder"), words=f"document of {tokens:g} tokens")


def training_sample(w: Pretrain | Finetune, architecture: Architecture, n: ModelDimensions, a: Assumptions) -> Sample:
    """The sample of a network that is trained on whole images or audio: one pass per step."""
    if architecture.kind in ("diffusion", "vision"):
        found = _image(w.image or Image(), architecture, n, a)
        return replace(found, passes=1.0, words=found.words.split(",")[0])
    if architecture.kind == "speech":
        return Sample("audio-second", n, float(architecture.sample_seconds or 30), words=architecture.sample or "")
    return Sample("request", n, operation=operation(architecture))


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
    if architecture.sample_tokens or architecture.layers:
        return "transformer"
    return "unet" if architecture.kind == "diffusion" else "convolution"


def _image(image: Image, architecture: Architecture, n: ModelDimensions, a: Assumptions) -> Sample:
    """A published size that is unknown cannot be scaled: the FLOPs of the published sample apply."""
    assumed: list[Assumption] = []
    published = architecture.sample_size
    size = image.size or ((published, published) if published else None)
    if published and size:
        n = with_image_size(n, size, published, architecture.patch_size or 0, architecture.attention_flops_per_sample or 0.0)
    if size and not image.size:
        assumed.append(Assumption("image.size", f"{size[0]}x{size[1]}", "pixels", "size of the published model; set image.size"))
    if image.size and not published:
        why = "published for a size that is not stated"
        assumed.append(Assumption("flops_per_sample", f"{n.flops_per_sample:.3g}", "FLOPs per pass", why))
    words = f"image of {size[0]}x{size[1]}" if size else "image"
    if architecture.kind == "vision":
        return Sample("image", n, operation=operation(architecture), words=words, assumed=tuple(assumed))
    steps = image.steps or a.denoising_passes
    words += f", {steps:g} steps" + (" with guidance" if image.guidance else "")
    return Sample("image", n, 1.0, steps * (2.0 if image.guidance else 1.0), operation(architecture), words, tuple(assumed))
