"""Conversion of rows of diffusion_vision.csv to cases of whole samples."""

import re
from dataclasses import replace

from rackwright.catalog.networks import ImageNetwork, find_network
from rackwright.catalog.read import Catalog
from rackwright.estimator.case import Chip
from rackwright.estimator.config import accelerators
from rackwright.estimator.config.accelerators import AcceleratorRates
from rackwright.estimator.config.sample_engines import sample_engine, sums_in_16_bit
from rackwright.estimator.dataset.columns.cells import PrintedRow, UnsupportedRow
from rackwright.estimator.dataset.columns.hardware import accelerator_name
from rackwright.estimator.model.dimensions import ModelDimensions
from rackwright.estimator.sample_case import SampleCase

SIZE = re.compile(r"(\d+)\s*x\s*(\d+)")
GLOBAL_BATCH = re.compile(r"batch_size is over all|images per second, all cards; batch|is global|over all npus|over the slice")
"""Texts of the columns metric and notes that count the batch over all accelerators."""
PER_ITERATION = "denoising iteration"
"""Text of the column metric of rows that time single denoising steps."""
USUAL_PIXELS, USUAL_PARAMETERS_M = 224.0**2, 25.0
"""Of a network that only the row describes and that prints no size."""
WRITTEN_PER_ROOT = {"convolution": 0.7, "transformer": 0.8}
"""Elements written per square root of FLOPs x pixels: 0.55 in ResNet-50, 0.79 in YOLOv5s, 1.07 in EfficientNet-B0, 0.8 in Swin-T."""
UNSPECIFIED_WORK = {False: 2e13, True: 1e13}
"""FLOPs of a forward pass of a blank batch, in inference and training: large enough to fill an accelerator. Assumption, 2026-11."""
MAX_UNSPECIFIED_BATCH = {False: 1024.0, True: 256.0}
USUAL_STEPS = {"pixart": 20.0, "sd3": 28.0, "flux": 28.0, "ddpm": 1000.0, "stable-diffusion": 50.0, "sdxl": 50.0}
"""Default num_inference_steps of the pipelines in diffusers, for rows without steps, which are not scored."""
DECODER_FLOPS_PER_PIXEL = 2.5e12 / 512**2
"""FLOPs of the latent decoder of Stable Diffusion per pixel, counted from its configuration (vae/config.json)."""
GUIDED = ("unet", "pixart", "sd3")
"""Operations and networks that run a guided step as two samples. FLUX is distilled: one sample."""
TOKENS_PER_ATTENTION = 9 * 64
"""Tokens at which attention scores are as many elements as the matrix products of a layer write: 9h per token, heads of 64."""
FLOPS_PER_SCORE = 4 * 64
"""Attention FLOPs per score: two products over a head of 64."""
GLOBAL_ATTENTION = re.compile(r"vit|deit|beit|eva|aimv2|cait|xcit")
BOX_NETWORKS = re.compile(r"rcnn|rpn|retinanet|efficientdet|ssd")
"""Networks that propose boxes, which the host of a reference script filters, or matches with ground truth."""
WINDOWED_ATTENTION = re.compile(r"swin|sam |maxvit|coat|levit|mvit|davit|mobilevit|efficientvit|xcit|fastvit|nextvit|tiny_vit|gcvit|repvit")
MAXQ_WATTS = 300.0
"""Power of RTX PRO 6000 Max-Q. Source: NVIDIA data sheet, 2025."""


def sample_case(row: PrintedRow, catalog: Catalog | None = None) -> SampleCase:
    """Return the case of a row. Raises UnsupportedRow when the network, its steps or the accelerator are unknown, and BrokenCell."""
    network, count, training = _network(row), row.count("accel_count") or 1, row.lower("task") != "inference"
    a = accelerators.find(accelerator_name(row), catalog)
    numbers = sample_number_format(row, a.generation)
    per_image = 1.0
    if network.is_diffusion and not training and PER_ITERATION not in row.lower("metric"):
        usual = next((steps for name, steps in USUAL_STEPS.items() if network.name.startswith(name)), 50.0)
        per_image = float(row.number("steps") or usual)
    is_guided = network.is_diffusion and not training and any(part in f"{network.operation} {network.name}" for part in GUIDED)
    is_whole = network.is_diffusion and per_image > 1
    return SampleCase(
        network=ModelDimensions(total=network.parameters, trunk=network.parameters, flops_per_sample=network.flops),
        chip=sample_chip(row, a, numbers),
        batch=_batch(row, network, count, training, a.cores),
        task=_task(row, training),
        numbers=numbers,
        engine=sample_engine_family(row),
        operation=network.operation,
        passes=per_image,
        guidance=2.0 if is_guided else 1.0,
        accelerators=float(count),
        recompute=float(bool(re.search(r"checkpointing layer|gradient checkpointing", row.lower("scenario")))),
        activations=_activations(row, network),
        kernels=float(network.layers),
        once_flops=DECODER_FLOPS_PER_PIXEL * network.image_px**2 if is_whole else 0.0,
        latency_bound=float("server" in row.lower("scenario")),
        boxes=float(bool(BOX_NETWORKS.search(network.name)) and (training or "ssd" not in network.name)),
        fused_attention=float(has_fused_attention(row) and attends_globally(network)),
        queued=float(is_over_cores(row)),
        replayed=float("mlperf" in row.lower("scenario")),
    )


def sample_chip(row: PrintedRow, a: AcceleratorRates, numbers: str) -> Chip:
    """Return the accelerator of a row. GeForce cards multiply in fp16 at twice their rate where an engine sums in fp16."""
    is_max_q = "max-q" in row.lower("hardware").replace("maxq", "max-q")
    found = accelerators.chip(a, numbers, power_watts=MAXQ_WATTS if is_max_q else None)
    is_doubled = numbers == "fp16" and "GeForce" in a.name and sums_in_16_bit(f"{row.text('framework')} {row.text('compile')}")
    return replace(found, peak_flops=2 * found.peak_flops) if is_doubled else found


def _network(row: PrintedRow) -> ImageNetwork:
    """Return the network at the row's image size. Printed FLOPs and parameters replace those of the catalog."""
    name, printed = row.text("model"), row.number("gflops_per_sample")
    size = SIZE.match(row.lower("image_size"))
    pixels = float(size.group(1)) * float(size.group(2)) if size else 0.0
    found = find_network(name)
    if found is None and not printed:
        raise UnsupportedRow(f"{row.id} model: {name!r} has no published FLOPs")
    parameters = row.number("params_m")
    if found is None:
        operation = "transformer" if re.search(r"swin|mlp|mixer|vit", name.lower()) else "convolution"
        pixels, flops = pixels or USUAL_PIXELS, 1e9 * (printed or 0.0)
        written = WRITTEN_PER_ROOT[operation] * (flops * pixels) ** 0.5
        found = ImageNetwork(name, operation, round(pixels**0.5), 1e6 * (parameters or USUAL_PARAMETERS_M), flops, written)
    elif pixels and "3d" not in found.name:
        found = found.at(pixels)
    return replace(found, parameters=1e6 * parameters) if parameters else found


def _batch(row: PrintedRow, network: ImageNetwork, count: int, training: bool, cores: int) -> float:
    """Return the samples per accelerator and pass. A blank batch fills the accelerator."""
    printed = row.number("batch_size")
    if not printed:
        return min(max(UNSPECIFIED_WORK[training] / network.flops, 1.0), MAX_UNSPECIFIED_BATCH[training])
    texts = f"{row.lower('metric')} {row.notes}"
    if is_over_cores(row):
        return cores * printed  # each core runs its own batch
    is_global = bool(GLOBAL_BATCH.search(texts)) or "detectron2" in row.lower("framework")
    return printed / count if is_global else printed


def is_over_cores(row: PrintedRow) -> bool:
    """Return whether every core processes separate batches from a queue."""
    return "over the cores" in row.lower("scenario")


def _task(row: PrintedRow, training: bool) -> str:
    if not training:
        return "inference"
    return "training" if row.lower("task") in ("training", "full fine-tune", "dreambooth") else "adapter"


def sample_number_format(row: PrintedRow, generation: str) -> str:
    """Return the format of the products. Weight-only formats compute in 16 bit, as do dynamic ones without a compiler."""
    printed, compiled = row.lower("precision"), bool(row.text("compile")) and row.lower("compile") != "no"
    is_weight_only = re.search(r"wo\b|weights|nf4|qlora|base", printed)
    is_dynamic = re.search(r"int8 dynamic" if compiled else r"dq|dynamic|torchao", printed)
    if not is_weight_only and not is_dynamic and (narrow := re.search(r"int8|fp8", printed)):
        return narrow.group(0)
    is_engine = sample_engine_family(row) == "tensorrt"
    if re.search(r"fp16|bf16|mixed", printed):
        return "fp16"
    if "mlperf" in row.lower("scenario") and is_engine:
        return "int8"  # closed division on TensorRT: 8-bit weights, also where the log prints fp32 or nothing
    if "neuron" in row.lower("framework"):
        return "bf16"  # the compiler casts fp32 matrix products by default (--auto-cast matmult)
    if "tf32" in printed:
        return "fp32" if generation in ("volta", "turing") else "tf32"
    return "fp32" if "fp32" in printed or "detectron2" in row.lower("framework") else "fp16"


def sample_engine_family(row: PrintedRow) -> str:
    family = sample_engine(f"{row.text('framework')} {row.text('compile')}")
    is_tuned = "mlperf" in row.lower("scenario") and family == "eager" and not re.search("pytorch|krai", row.lower("framework"))
    return "tensorrt" if is_tuned else family


def _activations(row: PrintedRow, network: ImageNetwork) -> float:
    """Return the elements written per pass, with the attention scores where the kernel stores them."""
    is_fused = has_fused_attention(row)
    if network.attention_flops or network.is_diffusion:
        return network.moved + (0.0 if is_fused else network.attention_flops / FLOPS_PER_SCORE)
    if not is_fused or not attends_globally(network):
        return network.moved
    tokens = 0.9 * network.flops / (2 * network.parameters)  # a tenth of the FLOPs are attention's
    return network.moved * TOKENS_PER_ATTENTION / (TOKENS_PER_ATTENTION + tokens)


def attends_globally(network: ImageNetwork) -> bool:
    """Return whether attention is over the whole image, not over windows."""
    return bool(GLOBAL_ATTENTION.search(network.name)) and not WINDOWED_ATTENTION.search(network.name)


def has_fused_attention(row: PrintedRow) -> bool:
    """Return whether attention does not store its scores: PyTorch 2 (SDPA), xformers, compilers, and engines of 2022 and later."""
    framework = row.lower("framework")
    if "default attention" in framework:
        return False
    release = re.search(r"pytorch \(?(?:nightly )?(\d+)", framework)
    if release and "xformers" not in framework:
        return int(release.group(1)) >= 2 or "nightly" in framework or "neuron" in framework
    return row.lower("compile") not in ("", "no") or bool(
        re.search("xformers|sdpa|diffusers|mlperf|tensorrt|jax", f"{framework} {row.lower('scenario')}")
    )
