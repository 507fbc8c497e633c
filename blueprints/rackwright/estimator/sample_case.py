"""Input of the formulas for whole samples: images, denoising steps, documents, seconds of audio. Does not depend on the catalog or spec."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rackwright.estimator.case import Chip, Text
from rackwright.estimator.model.dimensions import ModelDimensions, Num

TASKS = ("inference", "training", "adapter")
"""adapter: LoRA and similar; the base is frozen, so its weights have no gradients."""
DIFFUSION = ("unet", "dit")
LARGE_TRANSFORMER_FLOPS, LARGE_CONVOLUTION_FLOPS = 2e12, 5e11
"""FLOPs per sample above which a network without a named operation is assumed to denoise images."""


@dataclass(frozen=True)
class SampleCase:
    """Forward or training passes of whole samples on one accelerator of a data-parallel group. Scalars or arrays of one length.

    network: `flops_per_sample` has the forward FLOPs of one sample in one pass (one image, one denoising step without guidance);
    batch: samples per accelerator and pass; passes: forward passes per sample, one after another (denoising steps); accelerators: size of
    the data-parallel group.
    """

    network: ModelDimensions
    chip: Chip
    batch: Num
    task: Text = "inference"
    numbers: Text = "bf16"
    """Format of the matrix products: bf16, fp16, tf32, fp32, fp8, int8."""
    engine: Text = "eager"
    """Engine family: tensorrt, graph (ONNX Runtime and similar), compile, eager, reference."""
    compiled: Num = 0.0
    """1 when torch.compile or a similar compiler fuses the kernels of an eager engine."""
    operation: Text = ""
    """Dominant operation: convolution, depthwise, transformer, encoder (text, speech), detector, unet, dit (diffusion transformer); "":
    from the dimensions."""
    passes: Num = 1.0
    guidance: Num = 1.0
    """2 with classifier-free guidance, which doubles the samples of a pass."""
    accelerators: Num = 1.0
    recompute: Num = 0.0
    """1 when the backward pass recomputes the activations."""
    trainable: Num = 0.0
    """Number of trained parameters; 0: all of the trunk."""
    weight_bytes: Num = 0.0
    """Bytes of all weights in their storage format; 0: two per parameter."""
    shards: Num = 1.0
    """Accelerators that share the optimizer state."""
    activations: Num = 0.0
    """Elements that matrix products and convolutions write per sample and pass; 0: usual for the operation."""
    kernels: Num = 0.0
    """Matrix products and convolutions per pass; 0: usual for the operation."""
    once_flops: Num = 0.0
    """FLOPs per sample outside the passes, such as decoding a latent image."""
    latency_bound: Num = 0.0
    """1 when requests arrive at random and a latency limit holds back part of the rate (MLPerf Server)."""

    boxes: Num = 0.0
    """1 when the host matches or filters the boxes that the network proposes (detectors)."""
    replayed: Num = 0.0
    """1 when the engine replays captured CUDA graphs, as TensorRT submissions to MLPerf do; else it enqueues kernel by kernel."""

    fused_attention: Num = 1.0
    """1 when one kernel computes attention over the whole sample; 0 when scores are stored, or windows are cut out and put back."""

    queued: Num = 0.0
    """1 when every core has its next batch ready, so that gaps between kernels overlap with work."""

    @property
    def is_training(self) -> Num:
        return np.not_equal(self.task, "inference")

    @cached_property
    def kind(self) -> Text:
        """Dominant operation of each case."""
        n = self.network
        is_transformer = np.greater(n.layers, 0) | np.greater(n.sample_tokens, 0)
        plain = np.where(np.greater(n.vocab, 0), "encoder", "transformer")
        transformer = np.where(np.greater(n.flops_per_sample, LARGE_TRANSFORMER_FLOPS) & np.equal(n.vocab, 0), "dit", plain)
        other = np.where(np.greater(n.flops_per_sample, LARGE_CONVOLUTION_FLOPS), "unet", "convolution")
        return np.where(np.equal(self.operation, ""), np.where(is_transformer, transformer, other), self.operation)

    @property
    def flops(self) -> Num:
        """Forward FLOPs of one pass of the batch."""
        return self.batch * self.guidance * self.network.flops_per_sample
