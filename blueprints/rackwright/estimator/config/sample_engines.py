"""Engine families of whole samples: frameworks whose kernels and launches cost alike."""

SAMPLE_ENGINES = (
    ("graph", ("paddle inference", "onnx", "fastertransformer", "cuda graphs")),
    ("tensorrt", ("tensorrt", "trt", "jetpack", "triton", "aitemplate", "kernl")),
    ("compile", ("torch.compile", "inductor", "stable-fast", "nexfort", "onediff", "oneflow", "max-autotune", "mindspore")),
    ("reference", ("(ngc)", "deeplearningexamples", "detectron2", "tensorflow", "paddlepaddle", "mxnet")),
)
"""Family -> parts of printed names, by priority. tensorrt: engines that replay a fixed graph; reference: scripts of 2019 to 2021 with
their own input pipeline."""

HALF_SUM_ENGINES = ("stable-fast", "onediff", "oneflow", "nexfort")
"""Compilers for diffusion that sum in fp16 (stable-fast README: "low precision GEMM", "fp16 computation precision")."""


def sample_engine(name: str) -> str:
    """Return the family of a printed framework or compiler: graph, tensorrt, compile, reference, else eager."""
    lower = name.lower()
    return next((family for family, names in SAMPLE_ENGINES if any(part in lower for part in names)), "eager")


def sums_in_16_bit(name: str) -> bool:
    """Return whether the kernels of a printed engine sum fp16 products in fp16, which doubles the rate of GeForce cards."""
    return any(part in name.lower() for part in HALF_SUM_ENGINES)
