"""Engine families of whole samples: frameworks whose kernels and launches cost alike."""

SAMPLE_ENGINES = (
    ("graph", ("paddle inference", "onnx")),
    ("tensorrt", ("tensorrt", "trt", "jetpack", "triton", "fastertransformer", "aitemplate", "kernl", "cuda graphs")),
    ("compile", ("torch.compile", "inductor", "stable-fast", "nexfort", "onediff", "oneflow", "max-autotune", "mindspore")),
    ("reference", ("(ngc)", "deeplearningexamples", "detectron2", "tensorflow", "paddlepaddle", "mxnet")),
)
"""Family -> parts of printed names, by priority. tensorrt: engines that replay a fixed graph; reference: scripts of 2019 to 2021 with
their own input pipeline."""


def sample_engine(name: str) -> str:
    """Return the family of a printed framework or compiler: graph, tensorrt, compile, reference, else eager."""
    lower = name.lower()
    return next((family for family, names in SAMPLE_ENGINES if any(part in lower for part in names)), "eager")
