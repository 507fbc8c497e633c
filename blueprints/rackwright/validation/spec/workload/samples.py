"""S-120..S-126, N-35: requests, images, audio and documents compared with the kind of the model."""

from collections.abc import Iterator

from rackwright.catalog.models.architecture import Architecture
from rackwright.diagnostics.problem import At, Level, Stage
from rackwright.diagnostics.rule import Violation
from rackwright.spec.media import Image
from rackwright.spec.workload import TRAINING, Batch, Serve, Workload
from rackwright.validation.spec.registry import SpecContext, rule
from rackwright.validation.spec.workload.model_shape import known
from rackwright.validation.spec.workload.serving_options import GROUPED

TOKENS = ("input_tokens", "output_tokens")
EXAMPLES = {"input_tokens": "input_tokens: {mean: 800}", "output_tokens": "output_tokens: {mean: 200}"}
SAMPLE_KEYS = {"image": ("diffusion", "vision"), "audio": ("speech",), "sequence_length": ("encoder", "llm")}
"""Keys that describe one sample -> kinds of model that have it."""
INSTEAD = {
    "diffusion": "image: {size: 1024, steps: 30, guidance: true}",
    "vision": "image: {size: 224}",
    "speech": "audio: {seconds: 30}",
    "encoder": "sequence_length: 256",
}
"""Kind of model that generates no text -> the key that describes its sample."""
KINDS = {"diffusion": "a diffusion model", "vision": "a vision model", "speech": "a speech model", "encoder": "an encoder"}
KINDS |= {"llm": "a language model", "other": "this model"}
WITHOUT_ANSWERS = {
    "diffusion": "a diffusion model generates no tokens",
    "vision": "a vision model generates no tokens",
    "speech": "speech models are sized with a 16-bit cache and without drafts",
    "encoder": "an encoder generates no tokens",
    "llm": "embeddings have no output tokens and keep no KV cache",
}
"""Kind of model, or a language model that computes embeddings -> why options of text generation mean nothing."""
OF_ANSWERS = (
    "speculation", "kv_dtype", "prefix_cache_hit_rate", "chunked_prefill", "max_batched_tokens", "disaggregation", "tpot",
)  # fmt: skip
"""Options of text generation."""
GROUPED_KINDS = ("llm", "speech", "other")
"""Kinds of model whose layers awq and gptq quantize."""
OF_TEXT_DATA = ("tokens_per_sample", "packed")
"""Keys of `data` that describe text."""


def inference(context: SpecContext) -> Iterator[tuple[At, Serve | Batch, Architecture]]:
    """Serving and batch workloads with a known architecture."""
    return ((at, w, architecture) for at, w, architecture in known(context) if isinstance(w, (Serve, Batch)))


@rule("S-120")
def steps_need_a_size(context: SpecContext) -> Iterator[Violation]:
    """`steps` and `guidance` require the size of the image, which determines the time of a step."""
    for at, workload in context.each(*TRAINING, Serve, Batch):
        if workload.image and workload.image.size is None and (given := {"steps", "guidance"} & workload.image.model_fields_set):
            key = max(given)
            message = f"`{key}` is set without `size`; the time of a step depends on the size of the image"
            yield Violation(at / "image" / key, "add size: 1024, or the size that you generate", message, about_key=True)


@rule("S-121")
def text_has_lengths(context: SpecContext) -> Iterator[Violation]:
    """A language model requires input_tokens and output_tokens, or sequence_length for embeddings; an encoder requires sequence_length."""
    architectures = {at: architecture for at, _, architecture in inference(context)}
    for at, workload in context.each(Serve, Batch):
        kind = architectures[at].kind if at in architectures else ""
        missing = [key for key in TOKENS if getattr(workload, key) is None]
        is_text = kind == "llm" or (not kind and len(missing) == 1)
        if is_text and missing and workload.sequence_length is None:
            embeddings = "; for embeddings sequence_length: 256" if kind else ""
            yield Violation(at, EXAMPLES[missing[0]] + embeddings, f"`{missing[0]}` is missing", about_key=True)
        elif kind == "encoder" and workload.sequence_length is None and workload.input_tokens is None:
            yield Violation(at, INSTEAD["encoder"], "`sequence_length` is missing", about_key=True)


@rule("S-122")
def keys_suit_the_model(context: SpecContext) -> Iterator[Violation]:
    """Keys and options must suit the kind of the model: each describes its samples, or changes their memory or time."""
    for at, workload, architecture in known(context):
        kind, text = architecture.kind, architecture.kind == "llm" and getattr(workload, "sequence_length", None) is None
        for key, kinds in SAMPLE_KEYS.items():
            if getattr(workload, key, None) is not None and kind not in kinds and kind != "other":
                fix = "leave it out" if isinstance(workload, TRAINING) else f"write {INSTEAD.get(kind, 'input_tokens and output_tokens')}"
                yield Violation(at / key, fix, f"`{key}` does not describe a sample of {KINDS[kind]}", about_key=True)
        if isinstance(workload, (Serve, Batch)) and text:
            for key in ("batch_size", "latency"):
                if getattr(workload, key, None) is not None:
                    fix = "leave it out: the engine forms batches from its KV cache" if key == "batch_size" else "use ttft and tpot"
                    yield Violation(at / key, fix, f"`{key}` has no effect for a model that generates text", about_key=True)
        yield from _denoising_keys(at, workload, kind)
        if isinstance(workload, (Serve, Batch)) and not text and kind != "other":
            yield from _options_of_answers(at, workload, kind)
        if isinstance(workload, TRAINING) and kind not in SAMPLE_KEYS["sequence_length"] and kind != "other":
            for key in OF_TEXT_DATA:
                if key in workload.data.model_fields_set:
                    message = f"`{key}` has no effect: the data of {KINDS[kind]} has no tokens"
                    yield Violation(at / "data" / key, "leave it out", message, about_key=True)


def _options_of_answers(at: At, workload: Serve | Batch, kind: str) -> Iterator[Violation]:
    """Options of text generation, revenue per token and 4-bit formats of language models, where no text is generated."""
    for key in OF_ANSWERS:
        if key in type(workload).model_fields and getattr(workload, key) != type(workload).model_fields[key].default:
            yield Violation(at / key, "leave it out", f"`{key}` has no effect: {WITHOUT_ANSWERS[kind]}", about_key=True)
    if isinstance(workload, Serve) and workload.revenue is not None:
        message = "`revenue` is per output token, and the model writes none"
        yield Violation(at / "revenue", "write revenue_per_request, such as 0.002 USD", message, about_key=True)
    if workload.quantization in GROUPED and kind not in GROUPED_KINDS:
        message = f"{workload.quantization} quantizes the layers of language models; this is {KINDS[kind]}"
        yield Violation(at / "quantization", "set fp8, int8 or auto", message)


def _denoising_keys(at: At, workload: Workload, kind: str) -> Iterator[Violation]:
    """`steps` and `guidance` outside the inference of diffusion models."""
    image: Image | None = getattr(workload, "image", None)
    trains = isinstance(workload, TRAINING)
    why = "training has one pass per image" if trains else "a vision model has one pass per image"
    given = image.model_fields_set if image and (trains or kind == "vision") else set()
    for key in ("steps", "guidance"):
        if key in given:
            yield Violation(at / "image" / key, "leave it out", f"`{key}` has no effect: {why}", about_key=True)


@rule("S-123")
def sample_is_described_once(context: SpecContext) -> Iterator[Violation]:
    """A sample must have either token counts or one of `image`, `audio` and `sequence_length`, and one limit of its time."""
    for at, workload in context.each(Serve, Batch):
        sample = next((key for key in SAMPLE_KEYS if getattr(workload, key) is not None), None)
        for key in TOKENS if sample else ():
            if getattr(workload, key) is not None:
                yield Violation(at / key, "keep one", f"`{sample}` and `{key}` are both set", about_key=True)
        for key in ("ttft", "tpot") if isinstance(workload, Serve) and workload.latency else ():
            if getattr(workload, key) is not None:
                yield Violation(at / key, "keep latency", f"`latency` and `{key}` are both set", about_key=True)


@rule("S-124", Level.WARNING)
def token_counts_suit_the_model(context: SpecContext) -> Iterator[Violation]:
    """Requests of models that generate no text should have `image`, `audio` or `sequence_length` instead of token counts."""
    for at, workload, architecture in inference(context):
        key = next((key for key in TOKENS if getattr(workload, key) is not None), None)
        if key and architecture.kind in INSTEAD and not any(getattr(workload, sample) is not None for sample in SAMPLE_KEYS):
            length = f"sequence_length: {workload.input_tokens.mean:.0f}" if workload.input_tokens else INSTEAD["encoder"]
            fix = length if architecture.kind == "encoder" else INSTEAD[architecture.kind]
            counted = "`input_tokens` is read as the length of a document" if architecture.kind == "encoder" else "token counts are ignored"
            message = f"{KINDS[architecture.kind].capitalize()} generates no text: {counted}"
            yield Violation(at / key, f"replace input_tokens and output_tokens by {fix}", message, about_key=True)


@rule("S-125")
def batch_has_one_amount(context: SpecContext) -> Iterator[Violation]:
    """A batch must have exactly one of `requests` and `data.samples`."""
    for at, workload in context.each(Batch):
        if (workload.requests is None) == (workload.data.samples is None):
            neither = workload.requests is None
            message = "Neither `requests` nor `data.samples` is set" if neither else "`requests` and `data.samples` are both set"
            place = at if neither else at / "data" / "samples"
            yield Violation(place, "add data: {samples: 1000000}" if neither else "keep one", message, about_key=True)


@rule("S-126")
def document_fits_the_context(context: SpecContext) -> Iterator[Violation]:
    """A document must not be longer than the context of the model."""
    for at, workload, architecture in inference(context):
        length, limit = workload.sequence_length, architecture.max_context
        if length and limit and length > limit:
            message = f"sequence_length ({length:,}) exceeds the model's context of {limit:,} tokens"
            yield Violation(at / "sequence_length", f"set {limit} or less, and cut longer documents into parts", message)


@rule("N-35", Level.WARNING, stage=Stage.BUILD, link="https://docs.vllm.ai/en/v0.27.0/models/supported_models/")
def images_have_a_server(context: SpecContext) -> Iterator[Violation]:
    """vLLM, the default server, runs no diffusion or vision models; their container must be set in `run`."""
    for at, workload, architecture in inference(context):
        served = isinstance(workload, Serve) and context.spec.blueprint.kind != "box"
        if served and architecture.kind in ("diffusion", "vision") and workload.run.image is None:
            message = f"The default server, vLLM, does not run {KINDS[architecture.kind]}"
            yield Violation(at / "model", "set run.image and run.command to a server of this model", message, about_key=True)
