"""Serving platforms other than NVIDIA's servers under a current engine: other vendors, engines without captured graphs, small cards.

The iteration model (iteration.py, throughput.py) is fitted on current engines on Ampere, Hopper and Blackwell servers. Each coefficient
here acts on one vendor or one class of engines and is neutral for all others, so it is fitted on the runs of those platforms alone.
"""

from dataclasses import dataclass

import numpy as np

from rackwright.estimator.calibration.coefficients import fitted
from rackwright.estimator.case import OTHER_VENDORS, Num, has_label
from rackwright.estimator.serving.case import ServingCase

LAYERWISE_ENGINES = ("llama.cpp", "exllama", "mlc")
"""Engines for one or few users whose matrix-vector kernels do not reach the bandwidth of HBM."""
SCHEDULED_RELEASE = 8.0
"""vLLM 0.8, the first release with the V1 scheduler by default. Earlier ones schedule, sample and detokenise between iterations and give
a prompt an iteration of its own (vLLM V1 announcement, January 2025)."""
OVERLAP_POWER = 3.0
"""Exponent of the smooth maximum of the times of host and accelerator, as for whole samples (sample_rate.py)."""
TPU_SCHEDULED_RELEASE = 14.0
"""The same on TPU: 0.13.3 takes about 30 ms for a step of 200 sequences of a 0.5B model on one v6e (NI1846). Later releases do not: 64
sequences of a 70B model take 25 ms on eight v6e (IN1835)."""
WEIGHT_ONLY = ("int4", "nf4", "int8")
"""Weight formats that are expanded to 16 bit before the product."""
FOUR_BIT = ("int4", "nf4")
"""Weight formats that engines with captured graphs expand inside the product. Marlin kernels keep nearly all of the fourfold gain of 4 bit
up to 16 to 32 sequences and lose it with more (arXiv 2408.11743)."""
HOST_STAGED_BYTES_PER_S = 40e9
"""PCIe 3 and 4 cards exchange through the memory of the host, which all of them share; PCIe 5 servers allow peer access."""

GAUDI = 1 + OTHER_VENDORS.index("gaudi")
"""Chip.vendor of Intel Gaudi."""


@dataclass(frozen=True)
class PlatformCoefficients:
    neuroncore: float = fitted(1.3, 0.8, 3.0, "time on AWS Neuron over the iteration model", "x", 0.3)
    gaudi: float = fitted(1.3, 0.8, 3.0, "the same on Intel Gaudi", "x", 0.3)
    cdna: float = fitted(1.3, 0.8, 3.0, "the same on AMD Instinct", "x", 0.3)
    tpu: float = fitted(1.0, 0.8, 3.0, "the same on TPU", "x", 0.3)
    eager_us: float = fitted(400.0, 50.0, 1200.0, "per layer and iteration without captured graphs", "us", 0.4)
    own_prompt: float = fitted(0.5, 0.0, 2.0, "iterations per prompt in engines that do not mix prompts into decode steps", "", 0.7)
    step_us: float = fitted(700.0, 0.0, 5000.0, "per iteration of vLLM before 0.8: scheduling in Python between steps", "us", 1.0)
    early_sequence_us: float = fitted(100.0, 0.0, 1500.0, "per request and iteration of those releases", "us", 1.0)
    card_layers: float = fitted(0.9, 0.3, 2.0, "launch time of layers on cards without a scale-up link over servers", "x", 0.3)
    expert_loop_us: float = fitted(5.0, 0.0, 50.0, "per expert and layer in Optimum Habana, which loops over the experts", "us", 0.7)
    vector_tb_s: float = fitted(1.1, 0.4, 3.0, "bandwidth that matrix-vector kernels of layerwise engines reach at most", "TB/s", 0.3)
    vendor_products: float = fitted(1.2, 0.8, 10.0, "more time of matrix products on other vendors' accelerators", "x", 0.5)
    card_products: float = fitted(1.2, 0.8, 5.0, "the same on cards without a scale-up link", "x", 0.5)
    expanding: float = fitted(5.0, 1.0, 30.0, "time of products with weight-only formats, without captured graphs", "x", 0.5)
    expanding_layers: float = fitted(1.3, 1.0, 4.0, "launches of weight-only formats over 16 bit, without captured graphs", "x", 0.3)
    weight_only: float = fitted(1.8, 1.0, 10.0, "time of products with 4-bit weights, with captured graphs, over 16-bit weights", "x", 0.5)
    card_join_us: float = fitted(30.0, 0.0, 300.0, "of a small all-reduce between cards without a scale-up link", "us", 0.7)
    card_link_share: float = fitted(
        0.2, 0.01, 1.0, "of PCIe bandwidth, what all-reduces of decode steps reach through host memory", "", 0.5
    )
    gaudi_join_us: float = fitted(60.0, 0.0, 300.0, "of a small all-reduce between Gaudi accelerators", "us", 0.5)
    tail: float = fitted(0.4, 0.0, 2.0, "waves lost at the end of a run whose requests differ in length", "", 1.0)


NESTED = {"model": "platform", "kind": PlatformCoefficients}
"""Metadata of a field that holds these coefficients: `Calibration.of` fills it from the model "platform"."""


def vendor_factor(case: ServingCase, k: PlatformCoefficients) -> Num:
    """Return the time on the accelerator's software stack over the iteration model; 1 on NVIDIA GPUs."""
    factors = np.array([1.0, *(getattr(k, name) for name in OTHER_VENDORS)])
    return factors[np.asarray(case.chip.vendor, dtype=int)]


def is_nvidia(case: ServingCase) -> Num:
    """Return whether the accelerator is an NVIDIA GPU."""
    return np.less_equal(case.chip.vendor, 0)


def is_early_vllm(case: ServingCase) -> Num:
    """Return whether vLLM schedules between iterations."""
    before = np.where(np.greater(case.chip.is_tpu, 0), TPU_SCHEDULED_RELEASE, SCHEDULED_RELEASE)
    return np.equal(case.engine, "vllm") & np.greater(case.release, 0) & np.less(case.release, before)


def read_factor(case: ServingCase, k: PlatformCoefficients, share: float) -> Num:
    """Return the time of reading weights over bandwidth times share. Kernels of layerwise and eager engines reach a fixed bandwidth."""
    limited = has_label(case.engine, LAYERWISE_ENGINES)
    return np.where(limited, np.maximum(1.0, case.chip.bandwidth_bytes_per_s * share / (k.vector_tb_s * 1e12)), 1.0)


def decode_product_factor(case: ServingCase, k: PlatformCoefficients) -> Num:
    """Return the time of the products of decode steps over that of prompts with the same tokens. Engines with captured graphs expand
    4-bit weights in the product itself, which prompts of many tokens hide."""
    return np.where(has_label(case.numbers, FOUR_BIT) & np.greater(case.compiled, 0), k.weight_only, 1.0)


def product_factor(case: ServingCase, k: PlatformCoefficients) -> Num:
    """Return the time of products over that on NVIDIA servers. Engines without captured graphs expand weights before each product."""
    expanding = np.where(has_label(case.numbers, WEIGHT_ONLY) & np.less_equal(case.compiled, 0), k.expanding, 1.0)
    card = np.where(np.less_equal(case.links.is_linked, 0), k.card_products, 1.0)
    return expanding * np.where(is_nvidia(case), card, k.vendor_products)


def computed_experts(case: ServingCase) -> Num:
    """Return the expert weights multiplied per token. Optimum Habana computes every expert for every token and weighs the results
    (huggingface/optimum-habana, modeling_mixtral.py: "Loop over all available experts"); the others compute the chosen experts."""
    n = case.network
    every = n.active_routed * np.maximum(n.experts, 1) / np.maximum(n.top_k, 1)
    return np.where(np.equal(case.engine, "habana"), every, n.active_routed)


def scheduling_seconds(case: ServingCase, k: PlatformCoefficients, sequences: Num) -> Num:
    """Return the seconds between two iterations of an engine that schedules between them. sequences: per rank."""
    return np.where(is_early_vllm(case), k.step_us + sequences * k.early_sequence_us, 0.0) * 1e-6


def launched_from_python(case: ServingCase, k: PlatformCoefficients, device_s: Num) -> Num:
    """Return the seconds of an iteration whose kernels take `device_s`. Without captured graphs the host launches them at the same time, so
    the slower of both decides."""
    kernels = np.where(has_label(case.numbers, WEIGHT_ONLY), k.expanding_layers, 1.0)
    host_s = case.network.layers * k.eager_us * kernels * 1e-6
    slower = (device_s**OVERLAP_POWER + host_s**OVERLAP_POWER) ** (1 / OVERLAP_POWER)
    return np.where(np.greater(case.compiled, 0), device_s, slower)


def layer_factor(case: ServingCase, k: PlatformCoefficients) -> Num:
    """Return the launch time of layers over that on servers with a scale-up link."""
    return np.where(np.greater(case.links.is_linked, 0), 1.0, k.card_layers)


def expert_loop_seconds(case: ServingCase, k: PlatformCoefficients) -> Num:
    """Return the seconds of an iteration in which Optimum Habana loops over the experts of each layer."""
    experts = case.network.moe_layers * case.network.experts
    return np.where(np.equal(case.engine, "habana"), experts * k.expert_loop_us * 1e-6, 0.0)


def prompt_iterations(case: ServingCase, k: PlatformCoefficients) -> Num:
    """Return the iterations that each prompt of another request costs besides its products."""
    return np.where(is_early_vllm(case) | np.less_equal(case.compiled, 0), k.own_prompt, 0.0)


def join_seconds(case: ServingCase, k: PlatformCoefficients, linked_us: float) -> Num:
    """Return the latency of a small all-reduce. linked_us: over a scale-up link of NVIDIA or AMD."""
    linked = np.where(np.equal(case.chip.vendor, GAUDI), k.gaudi_join_us, linked_us)
    return np.where(np.greater(case.links.is_linked, 0), linked, k.card_join_us) * 1e-6


def is_host_staged(case: ServingCase) -> Num:
    """Return whether the accelerators exchange through the memory of their host."""
    return np.less_equal(case.links.is_linked, 0) & np.less(case.links.scale_up_bytes_per_s, HOST_STAGED_BYTES_PER_S)


def decode_link_share(case: ServingCase, k: PlatformCoefficients, share: float) -> Num:
    """Return the share of the link bandwidth that small all-reduces reach. share: over a scale-up link or peer access."""
    return np.where(is_host_staged(case), k.card_link_share, share)


def host_contention(case: ServingCase, group: Num) -> Num:
    """Return the factor on exchanges of cards that share the memory of their host; 1 with a scale-up link or peer access."""
    return np.where(is_host_staged(case), np.maximum(group / 2, 1.0), 1.0)
