"""Input of the formulas for whole samples: images, denoising steps, documents, seconds of audio. Does not depend on the catalog or spec."""

from dataclasses import dataclass

import numpy as np

from rackwright.estimator.case import Chip, Text
from rackwright.estimator.model.dimensions import ModelDimensions, Num

TASKS = ("inference", "training", "adapter")
"""adapter: LoRA and similar; the base is frozen, so its weights have no gradients."""


@dataclass(frozen=True)
class SampleCase:
    """Forward or training passes of whole samples on one accelerator of a data-parallel group. Scalars or arrays of one length.

    network: `flops_per_sample` has the forward FLOPs of one sample in one pass (one image, one denoising step without guidance);
    batch: samples per accelerator and pass; passes: forward passes per sample (denoising steps, twice with guidance); accelerators: size
    of the data-parallel group.
    """

    network: ModelDimensions
    chip: Chip
    batch: Num
    task: Text = "inference"
    numbers: Text = "bf16"
    """Format of the matrix products: bf16, fp16, tf32, fp32, fp8, int8."""
    engine: Text = "eager"
    """Engine family: tensorrt, eager, xla, neuron, graph."""
    compiled: Num = 0.0
    """1 when the kernels are fused: torch.compile, TensorRT, XLA, graph mode."""
    operation: Text = "transformer"
    """Dominant operation: transformer, convolution, depthwise (grouped convolutions of few channels), unet."""
    passes: Num = 1.0
    accelerators: Num = 1.0
    recompute: Num = 0.0
    """1 when the backward pass recomputes the activations."""
    trainable: Num = 0.0
    """Number of trained parameters; 0: all of the trunk."""
    weight_bytes: Num = 0.0
    """Bytes of all weights in their storage format; 0: two per parameter."""
    shards: Num = 1.0
    """Accelerators that share the optimizer state."""

    @property
    def is_training(self) -> Num:
        return np.not_equal(self.task, "inference")

    @property
    def flops(self) -> Num:
        """Forward FLOPs of one pass of the batch."""
        return self.batch * self.network.flops_per_sample
