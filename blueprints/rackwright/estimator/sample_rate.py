"""Time of one pass over whole samples: matrix work, memory traffic and kernel launches, with coefficients fitted to published runs.

The accelerator's time is matrix FLOPs over the sustained rate plus bytes over memory bandwidth. An eager engine launches kernels from the
host at the same time, so that the slower of both decides; an engine with a fixed graph pays a short gap per kernel. The sustained rate is
a share of the peak that falls with board power and with the size of the accelerator. Does not depend on the catalog or the spec.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rackwright.estimator.calibration.coefficients import FittedModel, fitted
from rackwright.estimator.case import Chip, Text, lookup_by_label
from rackwright.estimator.model.dimensions import Num
from rackwright.estimator.sample_case import DIFFUSION, SampleCase
from rackwright.estimator.samples import BANDWIDTH_SHARE, FLOPS_PER_WATT

METRIC, FILES = "samples_per_s_per_accel", ("diffusion_vision", "inference_more", "training_more")
TRANSFORMERS = ("transformer", "encoder", "dit")
REFERENCE_FLOPS = 250e12
"""Sustained 16-bit FLOP/s of an A100, of which the efficiency coefficients are a share."""
REFERENCE_DENSITY = 16.0
"""16-bit matrix over fp32 vector FLOP/s of an A100: 312 over 19.5. V100, T4: 8; A10, L4, L40S: 4; RTX 3090, RTX 4090: 2."""
HALF_RATE_DENSITY = 3.0
"""Density below which a card sums 16-bit products in fp32 at half the rate of its matrix units: GeForce."""
OVERLAP_POWER = 3.0
"""Exponent of the smooth maximum of the accelerator's and the host's time. Assumption of rackwright, 2026-11."""
TRAFFIC_OVERLAP_POWER = {"tensorrt": 3.0, "compile": 1.5, "graph": 1.5}
"""Exponent of the smooth maximum of matrix work and memory traffic: fused kernels do both at once, eager ones one after the other (1).
Chosen on all rows, which gave 3.0 and 1.4."""
ELEMENT_BYTES = {"fp8": 1.0, "int8": 1.0, "fp4": 1.0, "fp32": 4.0, "tf32": 4.0}
"""Bytes per activation element; others: 2."""
BACKWARD_LAUNCHES = 3.0
"""Kernel launches of a training step over those of its forward pass: backward twice, as its FLOPs."""
OPTIMIZER_PASSES = 6.0
"""Times that the weights are read or written in one optimizer step with Adam: gradient, two moments, weight."""
USUAL_KERNELS = {
    "convolution": 60.0,
    "depthwise": 90.0,
    "transformer": 75.0,
    "encoder": 75.0,
    "detector": 110.0,
    "unet": 600.0,
    "dit": 600.0,
}
"""Matrix products and convolutions of networks of each kind, from the rows of catalog/data/models/networks.csv."""
USUAL_ACTIVATIONS_PER_FLOP = {
    "convolution": 1.35e-3, "depthwise": 1.1e-2, "transformer": 5e-4, "encoder": 5e-4, "detector": 7e-4, "unet": 3e-4, "dit": 1.2e-4,
}  # fmt: skip
"""Elements written per forward FLOP of networks of each kind, from the rows of catalog/data/models/networks.csv."""
ELEMENTS_PER_TOKEN = 9.0
"""Elements written per token, layer and hidden unit: query, key and value 3, attention 1, its projection 1, feed-forward network 4."""
ON_CHIP_GENERATIONS = ("neuroncore-v1",)
"""Generations that keep activations in the memory of their cores (AWS Neuron, Inferentia architecture). Only weights are read."""
KERNELS_PER_LAYER, FUSED_KERNELS_PER_LAYER = 6.0, 5.0
"""Matrix products of a transformer layer: query-key-value, scores, values, output, two of the feed-forward network. Fused attention
computes scores and values in one kernel."""
UNFUSED_GENERATIONS = ("volta", "turing")
"""Generations on which torch.compile gains no bandwidth: Triton's tensor-core kernels begin with Ampere. Diffusers docs: SD 1.5 on T4 gains
6 %, on A100 up to 100 %."""
GRAPH_GENERATIONS = ("tpu", "neuroncore", "gaudi", "ascend")
"""Generations, by prefix, that run a compiled graph whatever the front end."""
REFERENCE_CLOCK_GHZ = 1.41
"""Boost clock of an A100, at which the gaps of fixed graphs are given."""
CLOCK_GHZ = {"volta": 1.53, "turing": 1.59, "ampere": 1.41, "ada": 2.4, "hopper": 1.83, "blackwell": 1.965}
"""Boost clock of a generation's accelerators: the gap between kernels of a graph takes cycles, not seconds. NVIDIA data sheets."""


@dataclass(frozen=True)
class PassCoefficients:
    """Coefficients of `pass_seconds` that vision and diffusion both have, each with its own values."""

    narrow: float = fitted(0.8, 0.3, 1.3, "8-bit formats: share of their rate that is reached")
    tf32: float = fitted(0.9, 0.3, 1.5, "tf32, the same")
    power: float = fitted(0.7, 0.0, 1.3, "exponent of the power limit over the peak")
    size: float = fitted(0.1, 0.0, 0.6, "exponent of the peak over an A100's: larger accelerators are filled less")
    half_rate: float = fitted(1.2, 0.8, 1.6, "cards that sum 16-bit products in fp32 at half rate, so that matrix units are fed in time")
    tpu: float = fitted(0.8, 0.05, 2.0, "TPUs over GPUs of the same peak")
    neuron: float = fitted(0.6, 0.05, 2.0, "NeuronCores, the same")
    gaudi: float = fitted(0.4, 0.05, 2.0, "Gaudi, the same")
    ascend: float = fitted(0.3, 0.05, 2.0, "Ascend, the same")
    traffic_eager: float = fitted(6.0, 1.0, 40.0, "reads and writes per activation element, one kernel per operation")
    traffic_compiled: float = fitted(4.0, 0.5, 30.0, "the same with fused kernels")
    traffic_engine: float = fitted(2.0, 0.5, 10.0, "the same in TensorRT")
    traffic_backward: float = fitted(1.2, 0.3, 4.0, "traffic per FLOP of a training step over that of a forward pass")
    launch_eager: float = fitted(6e-5, 1e-6, 5e-4, "host time per matrix product with its neighbours, eager", "s")
    launch_compiled: float = fitted(3e-5, 1e-6, 5e-4, "the same with torch.compile", "s")
    launch_graph: float = fitted(8e-6, 1e-6, 1e-4, "gap per matrix product in a fixed graph", "s")
    server: float = fitted(0.9, 0.5, 1.1, "rate under random arrivals with a latency limit over the offline rate")
    scaling: float = fitted(0.03, 0.0, 0.3, "time added to a training step per doubling of the accelerators")


@dataclass(frozen=True)
class VisionCoefficients(PassCoefficients):
    """Coefficients of networks on images and text."""

    convolution: float = fitted(0.6, 0.1, 1.25, "dense convolutions over the sustained rate of a large matrix product")
    depthwise: float = fitted(0.5, 0.1, 1.25, "networks with depthwise convolutions, the same")
    transformer: float = fitted(0.65, 0.1, 1.25, "transformers, the same")
    encoder: float = fitted(0.65, 0.1, 1.25, "encoders of text and speech, the same")
    detector: float = fitted(0.6, 0.1, 1.25, "detectors with region proposals, the same")
    fp32: float = fitted(1.2, 0.3, 2.5, "fp32 convolutions, the same; Winograd's algorithm needs fewer FLOPs")
    graph: float = fitted(0.7, 0.05, 2.0, "graph runtimes without tuned kernels (ONNX Runtime, Paddle Inference) over TensorRT")
    traffic_transformer: float = fitted(0.8, 0.1, 2.0, "traffic per element of transformers over convolutional networks")
    launch_reference: float = fitted(1.2e-4, 1e-6, 5e-4, "host time per matrix product in reference scripts of 2019 to 2021", "s")
    input_inference: float = fitted(3e-4, 0.0, 5e-3, "host time per image of these scripts: decoding and copies", "s")
    input_training: float = fitted(1e-4, 0.0, 2e-3, "the same in training", "s")
    traffic_fused: float = fitted(0.7, 0.2, 1.5, "the same with fused attention over the whole sample, over windows or stored scores")
    launch_replayed: float = fitted(6e-6, 1e-6, 1e-4, "gap per matrix product in replayed CUDA graphs", "s")
    boxes_inference: float = fitted(1e-2, 0.0, 1e-1, "time per image of detectors in reference scripts: filtering boxes on the host", "s")
    boxes_training: float = fitted(1e-3, 0.0, 1e-1, "the same in training: matching boxes with ground truth", "s")
    proposals_training: float = fitted(1e-2, 0.0, 1e-1, "the same with region proposals, in training", "s")


@dataclass(frozen=True)
class DenoisingCoefficients(PassCoefficients):
    """Coefficients of diffusion networks. fp32 to input_training: constants, as no run tells them apart."""

    unet: float = fitted(0.6, 0.1, 1.25, "U-Nets over the sustained rate of a large matrix product")
    dit: float = fitted(0.65, 0.1, 1.25, "diffusion transformers, the same")
    traffic_transformer: float = fitted(1.5, 0.3, 6.0, "traffic per element of diffusion transformers over U-Nets")
    fp32, graph = 1.0, 0.7
    launch_reference, input_inference, input_training = 1.2e-4, 0.0, 0.0
    traffic_fused, launch_replayed, boxes_inference, boxes_training, proposals_training = 1.0, 6e-6, 0.0, 0.0, 0.0


def pass_seconds(case: SampleCase, k: Any) -> Num:
    """Return the seconds of one pass of a batch: forward, or forward, backward and update in training."""
    n, chip, kind, training = case.network, case.chip, case.kind, np.asarray(case.is_training)
    rounds = np.where(training, np.where(np.equal(case.task, "adapter"), 2.0, 3.0) + case.recompute, 1.0)
    per_second = chip.bandwidth_bytes_per_s * BANDWIDTH_SHARE
    is_transformer = np.isin(kind, TRANSFORMERS)
    traffic = _traffic(case, k) * np.where(is_transformer, _attention_traffic(case, k), 1.0) * np.where(training, k.traffic_backward, 1.0)
    width = lookup_by_label(case.numbers, ELEMENT_BYTES, 2.0)
    written = np.where(np.isin(chip.generation, ON_CHIP_GENERATIONS), 0.0, activations(case))
    weights = n.total * np.where(training, OPTIMIZER_PASSES, np.minimum(case.batch, chip.cores))  # each core reads them
    moved = case.batch * case.guidance * written * rounds * traffic + weights
    overlap = lookup_by_label(_engine(case), TRAFFIC_OVERLAP_POWER, 1.0)
    computing, moving = case.flops * rounds / matrix_flops_per_s(case, k), moved * width / per_second
    device = (computing**overlap + moving**overlap) ** (1 / overlap)
    host = kernels(case) * _launch_s(case, k) * np.where(training, BACKWARD_LAUNCHES + case.recompute, 1.0)
    reads_images = np.equal(_engine(case), "reference") & np.not_equal(kind, "encoder")
    host = host + case.batch * np.where(reads_images, np.where(training, k.input_training, k.input_inference), 0.0)
    boxes = np.where(reads_images, case.batch * case.boxes, 0.0) * _boxes_s(case, k)
    overlapped = (device**OVERLAP_POWER + host**OVERLAP_POWER) ** (1 / OVERLAP_POWER)
    is_serial = np.isin(_engine(case), ("tensorrt", "graph")) & np.equal(case.queued, 0)
    seconds = np.where(is_serial, device + host, overlapped)
    return (seconds + boxes) * np.where(training, 1 + k.scaling * np.log2(np.maximum(case.accelerators, 1)), 1.0)


def batch_seconds(case: SampleCase, k: Any) -> Num:
    """Return the seconds until the samples of a batch are complete: all passes, and the work outside them."""
    once = case.batch * case.once_flops / matrix_flops_per_s(case, k)
    return (pass_seconds(case, k) * case.passes + once) / np.where(np.greater(case.latency_bound, 0), k.server, 1.0)


def samples_per_s(case: SampleCase, k: Any) -> np.ndarray:
    """Return the samples per second and accelerator."""
    return np.asarray(case.batch / batch_seconds(case, k))


def matrix_flops_per_s(case: SampleCase, k: Any) -> Num:
    """Return the FLOP/s of the network's matrix products and convolutions."""
    chip, kind = case.chip, case.kind
    of_kind = {name: getattr(k, name) for name in USUAL_KERNELS if hasattr(k, name)}
    share = lookup_by_label(kind, of_kind, 1.0) * lookup_by_label(case.numbers, {"fp8": k.narrow, "int8": k.narrow}, 1.0)
    share = share * np.where(np.equal(case.numbers, "tf32"), k.tf32, 1.0)
    share = share * np.where(np.equal(case.numbers, "fp32") & ~np.isin(kind, TRANSFORMERS), k.fp32, 1.0)
    share = share * np.where(np.equal(case.engine, "graph") & ~_runs_graph(chip), k.graph, 1.0)
    for prefix, factor in zip(GRAPH_GENERATIONS, (k.tpu, k.neuron, k.gaudi, k.ascend), strict=True):
        share = share * np.where(np.char.startswith(np.asarray(chip.generation, dtype=str), prefix), factor, 1.0)
    base = chip.base_peak_flops * chip.sustained_share
    vector = np.where(np.greater(chip.vector_flops, 0), chip.vector_flops, chip.base_peak_flops / REFERENCE_DENSITY)
    density = chip.base_peak_flops / vector
    share = share * np.where(np.less(density, HALF_RATE_DENSITY), k.half_rate, 1.0) * _busy_share(case)
    limit = np.minimum(1.0, chip.watts * lookup_by_label(chip.generation, FLOPS_PER_WATT, np.inf) / base)
    return share * chip.peak_flops * chip.sustained_share * limit**k.power * np.maximum(base / REFERENCE_FLOPS, 1.0) ** -k.size


def activations(case: SampleCase) -> Num:
    """Return the elements written per sample and pass."""
    n = case.network
    usual = n.flops_per_sample * lookup_by_label(case.kind, USUAL_ACTIVATIONS_PER_FLOP, 5e-4)
    is_known = np.isin(case.kind, TRANSFORMERS) & np.greater(n.layers, 0) & np.greater(n.sample_tokens, 0)
    usual = np.where(is_known, ELEMENTS_PER_TOKEN * n.layers * n.hidden * n.sample_tokens, usual)
    return np.where(np.greater(case.activations, 0), case.activations, usual)


def kernels(case: SampleCase) -> Num:
    """Return the matrix products and convolutions of one pass."""
    usual = lookup_by_label(case.kind, USUAL_KERNELS, USUAL_KERNELS["transformer"])
    each = np.where(np.greater(case.fused_attention, 0), FUSED_KERNELS_PER_LAYER, KERNELS_PER_LAYER)
    usual = np.where(np.greater(case.network.layers, 0), each * case.network.layers, usual)
    return np.where(np.greater(case.kernels, 0), case.kernels, usual)


def _busy_share(case: SampleCase) -> Num:
    """Return the share of the cores that work: a NeuronCore runs whole samples, so a batch of one leaves the others idle."""
    return np.minimum(case.batch / case.chip.cores, 1.0)


def _runs_graph(chip: Chip) -> Num:
    return np.any([np.char.startswith(np.asarray(chip.generation, dtype=str), prefix) for prefix in GRAPH_GENERATIONS], axis=0)


def _engine(case: SampleCase) -> Text:
    """Return the engine family that applies: a compiled graph on TPUs, Neuron, Gaudi and Ascend; compile for a compiled eager engine."""
    named = np.where(np.equal(case.engine, "eager") & np.greater(case.compiled, 0), "compile", case.engine)
    named = np.where(np.equal(named, "compile") & np.isin(case.chip.generation, UNFUSED_GENERATIONS), "eager", named)
    return np.where(_runs_graph(case.chip), "graph", named)


def _traffic(case: SampleCase, k: Any) -> Num:
    """Return the reads and writes per activation element. Graph runtimes on GPUs do not fuse as compilers do."""
    by_engine = {"tensorrt": k.traffic_engine, "compile": k.traffic_compiled}
    found = lookup_by_label(_engine(case), by_engine, k.traffic_eager)
    return np.where(_runs_graph(case.chip), k.traffic_compiled, found)


def _attention_traffic(case: SampleCase, k: Any) -> Num:
    """Return the traffic per element of transformers over convolutional networks."""
    return k.traffic_transformer * np.where(np.greater(case.fused_attention, 0) & np.equal(case.kind, "transformer"), k.traffic_fused, 1.0)


def _boxes_s(case: SampleCase, k: Any) -> Num:
    """Return the host time per image of networks that propose boxes."""
    matching = np.where(np.equal(case.kind, "detector"), k.proposals_training, k.boxes_training)
    return np.where(case.is_training, matching, k.boxes_inference)


def _launch_s(case: SampleCase, k: Any) -> Num:
    gap = np.where(np.greater(case.replayed, 0), k.launch_replayed, k.launch_graph)
    gap = gap * REFERENCE_CLOCK_GHZ / lookup_by_label(case.chip.generation, CLOCK_GHZ, REFERENCE_CLOCK_GHZ)
    by_engine = {"reference": k.launch_reference, "compile": k.launch_compiled}
    host = lookup_by_label(_engine(case), by_engine, k.launch_eager)
    return np.where(np.isin(_engine(case), ("tensorrt", "graph")), gap, host)


def classes(case: SampleCase) -> tuple[str, ...]:
    """Return the residual classes of one case: the kind of network with its task, then the task."""
    kind = str(case.kind)
    family = "diffusion" if kind in DIFFUSION else "encoder" if kind == "encoder" or case.network.vocab else "vision"
    task = "training" if bool(case.is_training) else "inference"
    return (f"{family} {task}", task, "all")


def _is_other(case: Any) -> bool:
    return isinstance(case, SampleCase) and not _is_denoising(case)


def _is_denoising(case: Any) -> bool:
    return isinstance(case, SampleCase) and str(case.kind) in DIFFUSION


MODELS = (
    FittedModel("samples", METRIC, FILES, VisionCoefficients, samples_per_s, classes, _is_other),
    FittedModel("denoising", METRIC, FILES, DenoisingCoefficients, samples_per_s, classes, _is_denoising),
)
