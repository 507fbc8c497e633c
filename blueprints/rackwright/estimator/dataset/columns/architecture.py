"""Architecture of a row: the catalog's when the columns agree with it, otherwise reconstructed from columns and published totals.

Missing columns are filled with usual proportions. Gated feed-forward networks, tied embeddings, shared experts and dense first layers are
chosen so that the parameter count is closest to the published one.
"""

import re
from dataclasses import asdict
from functools import cache, lru_cache
from itertools import product
from math import log
from typing import Any, NamedTuple

from rackwright.catalog.models import library
from rackwright.catalog.models.architecture import Architecture, ConfigError, from_fields
from rackwright.estimator.dataset.columns.cells import PrintedRow, UnsupportedRow
from rackwright.estimator.model.from_architecture import count_parameters

FAMILIES = (
    "bloom", "maxtext", "deepseek", "kimi", "qwen", "gpt-oss", "mixtral", "mistral", "zephyr", "nemotron", "llama", "gpt", "mpt", "glm",
    "minimax", "gemma", "falcon", "phi", "stablelm", "baichuan", "opt", "t5",
)  # fmt: skip
COLUMNS = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "n_experts", "top_k", "moe_ffn")
WIDTH_PER_LAYER = 128
"""hidden / layers of dense decoders: 100 to 145 from 1 to 400 billion parameters (Llama 2 and 3, Qwen 2.5, GPT-3)."""
HEAD_DIM = 128
VOCAB = {"gpt": 50304, "bloom": 250880, "nemotron": 256000, "gemma": 262144, "qwen": 151936, "deepseek": 129280, "glm": 151552,
         "kimi": 163840, "minimax": 200064}  # fmt: skip
"""Vocabulary by family when the row has none, from the tokenizers of the families."""
OTHER_VOCAB = 32000
UNGROUPED = ("gpt", "bloom", "mpt", "opt", "pythia")
"""Families from before grouped-query attention (arXiv 2305.13245) and gated feed-forward nets: 4 x hidden, learned positions."""
MULTI_HEAD = re.compile(r"codellama-(7|13)b|llama-?2-(7|13)b|vicuna|baichuan|persimmon|qwen1\.5-(0\.5|1\.8|4|7|14|72)b|qwen-(1_8|7|14|72)b")
"""Models without grouped-query attention in families that have it (their config.json)."""
HYBRID = (
    (re.compile(r"gemma-?[34]"), {"sliding_window": 1024, "global_every": 6}),
    (re.compile(r"gemma-?2"), {"sliding_window": 4096, "global_every": 2}),
    (re.compile(r"olmo-?3|command-?(a|r7b)\b"), {"sliding_window": 4096, "global_every": 4}),
    (re.compile(r"jamba"), {"sliding_window": 64, "global_every": 8, "moe_every": 2}),
    (re.compile(r"minimax-?(text|vl|m1)"), {"sliding_window": 64, "global_every": 8}),
    (re.compile(r"qwen3\.5|qwen3-next"), {"sliding_window": 64, "global_every": 4}),
    (re.compile(r"nemotron[-_]3[-_](nano|super|ultra)"), {"sliding_window": 64, "global_every": 8, "moe_every": 2}),
    (re.compile(r"nemotron[-_]?(3|h\b)"), {"sliding_window": 64, "global_every": 8}),
)
"""Layers with a constant cache, by model name: Gemma 3 (arXiv 2503.19786), Qwen3-Next (its model card: three linear layers, then one of
attention), Nemotron-H (arXiv 2504.03624: about one attention layer in eight to nine); in Nemotron 3 every second layer has experts;
Gemma 2 (arXiv 2408.00118), Olmo 3 and Command A (their config.json), Jamba (arXiv 2403.19887), MiniMax-01 (arXiv 2501.08313). A
state-space layer counts as a window of 64."""
UNTIED = re.compile(r"stablelm|phi-?[12]\b|phi-1[._]5")
"""Families with a separate head whose names round the size down, so that tied embeddings would seem to fit (their config.json)."""
PLAIN = re.compile(r"falcon(?![-_ ]?(h|3|e|mamba))|starcoder2|phi-?[12]\b|phi-1[._]5|nemotron-?4|\bbert|pythia|persimmon|fairseq|galactica")
"""Later models with ungated feed-forward networks of two matrices (their config.json)."""
TIED = re.compile(r"command-?r|gemma|\baya\b|smollm")
"""Families with tied embeddings."""
TOTALS = (
    (re.compile(r"nemotron[-_]?3[-_]super"), 4096, 120.0, 12.0),
    (re.compile(r"nemotron[-_]?3[-_](nano|5[-_]lightning)|nemotron-3\.5-lightning"), 2688, 31.6, 3.6),
)
"""(pattern, hidden size, billions of total and active parameters) of models that neither name nor columns describe. Source: model cards."""
MLA = {"q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
"""Latent attention of DeepSeek-V3 (arXiv 2412.19437, section 4.2), which later models use unchanged."""
MLA_EXPERTS = 128
"""Number of experts from which a row without KV heads is assumed to use latent attention."""
VOCAB_TOLERANCE = 0.015
"""Relative difference below which two vocabularies are equal except for padding."""
TOTAL_TOLERANCE = 0.005
"""Log ratio below which two totals are equal within rounding."""
SKIPPED_LAYERS_PENALTY = 0.4
"""Penalty, as a log ratio, for layers without experts in between. Assumption of rackwright, 2026-11."""
SAME_MODEL_TOLERANCE = 0.2
"""Log ratio of totals above which two models differ, even with the same name."""
VARIANTS = re.compile(r"[-_ ](instruct|chat|base|hf|it|fp8|nvfp4|mxfp4|fp4|awq|gptq|int4|int8|4bit|8bit|bf16|like|style|final)\b.*$")


class RowArchitecture(NamedTuple):
    """Architecture of a row. model: value for `Configuration.model`; assumed: one sentence per value missing in the row."""

    model: str | dict[str, Any]
    architecture: Architecture
    assumed: tuple[str, ...] = ()


def row_architecture(row: PrintedRow) -> RowArchitecture:
    """Return the architecture of a row. Raises UnsupportedRow when the model size is unknown, BrokenCell for unreadable cells."""
    given = tuple(row.count(c) for c in COLUMNS)
    totals = (row.number("params_b"), row.number("active_params_b"), row.count("seq_len"))
    return _shape(row.text("model"), given, *totals, _hints(row))


def model_family(name: str) -> str:
    """Return the model family: llama, qwen, deepseek, gpt, ... Folds for unseen families leave out a whole family."""
    lower = name.lower()
    found = next((f for f in FAMILIES if f in lower), None) or re.split(r"[^a-z]", lower.split("/")[-1])[0]
    return {"zephyr": "mistral"}.get(found, found) or "other"


def _hints(row: PrintedRow) -> tuple[tuple[str, Any], ...]:
    """Return architecture fields from the notes. Megatron's tests tie the embeddings by default."""
    hints: dict[str, Any] = {}
    if "swiglu" in row.notes or "relu" in row.notes or "llama-like" in row.lower("model"):
        hints["gated_ffn"] = "relu" not in row.notes
    if "untied embeddings" in row.notes or row.lower("model").startswith("megatron test"):
        hints["tied_embeddings"] = "untied embeddings" not in row.notes
    if re.search(r"\bmla\b", row.notes):
        hints |= MLA
    return tuple(hints.items())


@lru_cache(maxsize=4096)
def _shape(
    name: str, given: tuple[int | None, ...], params_b: float | None, active_b: float | None, sequence: int | None, hints: tuple = ()
) -> RowArchitecture:
    known = {c: v for c, v in zip(COLUMNS, given, strict=True) if v}
    totals = next(((t, a) for p, h, t, a in TOTALS if p.search(name.lower()) and known.get("hidden", h) == h), (None, None))
    params_b = params_b or totals[0] or _billions_in_name(name, r"(\d+(?:\.\d+)?)\s*([mbt])(?![a-z0-9])", "n_experts" in known)
    active_b = active_b or totals[1] or _billions_in_name(name, r"a(\d+(?:\.\d+)?)(b)(?![a-z0-9])")
    found = None if hints else _in_catalog(name, known, params_b)
    if found:
        vocab = known.get("vocab", found.architecture.vocab)
        if abs(vocab / found.architecture.vocab - 1) <= VOCAB_TOLERANCE:
            return RowArchitecture(found.name, found.architecture)
        fields = asdict(found.architecture) | {"vocab": vocab}
        return RowArchitecture(fields, from_fields(fields))
    fixed = dict(hints) | next((fields for pattern, fields in HYBRID if pattern.search(name.lower())), {})
    if UNTIED.search(name.lower()):
        fixed["tied_embeddings"] = False
    if not params_b:  # without a total, the name decides
        fixed = ({"gated_ffn": False} if PLAIN.search(name.lower()) else {}) | fixed
        fixed = ({"tied_embeddings": True} if TIED.search(name.lower()) else {}) | fixed
    made = _reconstructed(name, known, params_b, active_b, sequence, fixed)
    if params_b and abs(log(count_parameters(made.architecture).total / params_b / 1e9)) > SAME_MODEL_TOLERANCE:
        fewer = {c: v for c, v in known.items() if c not in ("ffn", "moe_ffn")}
        reason = "the columns contradict the published total, so FFN widths follow the total"
        made = _reconstructed(name, fewer, params_b, active_b, sequence, fixed)
        return made._replace(assumed=(*made.assumed, reason))
    return made


def _in_catalog(name: str, known: dict[str, int], params_b: float | None) -> library.ModelRow | None:
    """Return the catalog model with the same name and columns, or with the same columns when enough are given."""
    keys = [name, name.split("/")[-1], VARIANTS.sub("", name.split("/")[-1].lower())]
    named = next((m for key in keys if (m := library.find(key) or _catalog_index().get(_normalized_name(key)))), None)
    if named and named.architecture.kind == "llm" and _columns_agree(named.architecture, known):
        c = count_parameters(named.architecture)  # the size in a name is the total or the active parameters
        if known or not params_b or any(abs(log(total / params_b / 1e9)) < SAME_MODEL_TOLERANCE for total in (c.total, c.active)):
            return named
    if {"layers", "hidden", "heads", "n_experts", "moe_ffn"} <= known.keys():
        return next((m for m in library.rows() if m.architecture.is_moe and _columns_agree(m.architecture, known)), None)
    return None


@cache
def _catalog_index() -> dict[str, library.ModelRow]:
    found: dict[str, library.ModelRow] = {}
    for row in library.rows():
        for key in (row.name, *(alias.split("/")[-1] for alias in row.aliases)):
            found.setdefault(_normalized_name(key), row)
    return found


def _normalized_name(name: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", name.lower())


def _columns_agree(a: Architecture, known: dict[str, int]) -> bool:
    own = {"layers": a.layers, "hidden": a.hidden, "heads": a.heads, "n_experts": a.experts, "top_k": a.experts_per_token,
           "moe_ffn": a.expert_ffn}  # fmt: skip
    if a.attention != "mla":
        own |= {"kv_heads": a.kv_heads, "head_dim": a.head_dim}
    if not a.is_moe:
        own["ffn"] = a.ffn
    return all(known.get(c, value) == value for c, value in own.items())


def _billions_in_name(name: str, pattern: str, largest: bool = False) -> float | None:
    """Return the billions of parameters in a name: the first number, or the largest ("OLMoE-1B-7B" has 7, of which 1 is active)."""
    found = re.findall(r"(?<![a-z0-9.])" + pattern, name.lower())
    sizes = [float(number) * {"m": 1e-3, "b": 1.0, "t": 1e3}[unit] for number, unit in found]
    return (max(sizes) if largest else sizes[0]) if sizes else None


def _reconstructed(
    name: str, known: dict[str, int], params_b: float | None, active_b: float | None, sequence: int | None, fixed: dict[str, Any]
) -> RowArchitecture:
    if not params_b and not {"layers", "hidden"} <= known.keys():
        raise UnsupportedRow(f"model {name!r}: neither layers and hidden nor params_b are given")
    assumed: list[str] = []
    old = model_family(name) in UNGROUPED
    base = _widths(name, known, params_b, active_b, assumed)
    if old and "ffn" not in known and "n_experts" not in known and "hidden" in known:
        known, fixed = known | {"ffn": 4 * base["hidden"]}, {"gated_ffn": False} | fixed
    total, active = (params_b or 0) * 1e9, (active_b or 0) * 1e9
    # combinations of fields that no column gives, most usual first
    names = ("gated_ffn", "tied_embeddings", "learned_positions", "dense_layers", "shared_experts", "moe_every")
    moe = ((0, 1, 3), (0, 1), (1, 2)) if "n_experts" in known else ((0,), (0,), (1,))
    parts = product((not old, old), (False, True), (0, sequence) if old and sequence else (0,), *moe)
    choices = (dict(zip(names, part, strict=True)) for part in parts)
    candidates = [fields for choice in choices if (fields := _fields(base, known, choice | fixed, total, "moe_every" in fixed))]
    if not candidates:
        raise UnsupportedRow(f"model {name!r}: no architecture matches the columns")
    best = min(candidates, key=lambda f: _distance(f, total, active))  # ties: the first, most usual choice
    architecture = _architecture(best)
    assert architecture is not None
    return RowArchitecture(best, architecture, tuple(assumed))


def _widths(name: str, known: dict[str, int], params_b: float | None, active_b: float | None, assumed: list[str]) -> dict[str, Any]:
    """Return all fields except those of the feed-forward networks."""

    def take(column: str, value: int) -> int:
        if column not in known:
            assumed.append(f"{column} not given: {value}")
        return known.get(column, value)

    trunk = (active_b or params_b or 0) * 1e9
    wide = (trunk / 12 / known["layers"]) ** 0.5 if "layers" in known else (trunk * WIDTH_PER_LAYER / 12) ** (1 / 3)
    hidden = take("hidden", _round_to_multiple(wide or 128.0 * known.get("layers", 32), 1024 if wide > 4096 else 128))
    layers = take("layers", max(round((trunk or 12 * WIDTH_PER_LAYER**2 * 32**3) / (12 * hidden * hidden)), 1))
    heads = take("heads", max(hidden // known.get("head_dim", HEAD_DIM if hidden >= 2048 else 64), 1))
    mla = "kv_heads" not in known and known.get("n_experts", 0) >= MLA_EXPERTS
    is_multi_head = model_family(name) in UNGROUPED or MULTI_HEAD.search(name.lower())
    grouped = "heads" not in known and hidden >= 4096 and heads % 8 == 0 and not is_multi_head
    kv_heads = heads if mla else take("kv_heads", 8 if grouped else heads)
    head_dim = take("head_dim", max(hidden // heads, 1))
    base = {"layers": layers, "hidden": hidden, "heads": heads, "kv_heads": kv_heads if heads % kv_heads == 0 else heads}
    base |= {"head_dim": head_dim, "vocab": take("vocab", VOCAB.get(model_family(name), OTHER_VOCAB))}
    return base | ({**MLA, "head_dim": MLA["qk_nope_head_dim"] + MLA["qk_rope_head_dim"]} if mla else {})


def _fields(base: dict[str, Any], known: dict[str, int], choice: dict[str, Any], total: float, skips: bool) -> dict[str, Any] | None:
    """Return one candidate; FFN widths without a column are solved from the total. skips: some layers are known to have no experts."""
    fields = base | choice
    if fields["dense_layers"] >= fields["layers"]:
        return None
    if "n_experts" not in known:
        fields["ffn"] = known.get("ffn") or _solve_width(fields, "ffn", total, 4 * base["hidden"])
    else:
        fields |= {"experts": known["n_experts"], "experts_per_token": min(known.get("top_k", 2), known["n_experts"])}
        fields["ffn"] = known.get("ffn") or 4 * base["hidden"]
        fields["expert_ffn"] = known.get("moe_ffn") or _solve_width(fields, "expert_ffn", total, known.get("ffn") or base["hidden"])
        fields["ffn"] = known.get("ffn") or _solve_width(fields, "ffn", total, 4 * base["hidden"])
        fields["shared_expert_ffn"] = fields["expert_ffn"] if fields["shared_experts"] else 0
        if fields["ffn"] == fields["expert_ffn"] and (fields["dense_layers"] or choice["moe_every"] > 1) and not skips:
            return None
        if not fields["dense_layers"] and fields["moe_every"] == 1:
            fields["ffn"] = 0
    return fields if _architecture(fields) else None


def _solve_width(fields: dict[str, Any], name: str, total: float, usual: int) -> int:
    """Return the width, a multiple of 64, that gives the total; `usual` without a total."""
    low, high = (_architecture(fields | {name: width}) for width in (64, 128))
    if not total or low is None or high is None:
        return usual
    each = (count_parameters(high).total - count_parameters(low).total) / 64
    if not each:
        return usual
    return _round_to_multiple((total - count_parameters(low).total) / each + 64, 64) if total > count_parameters(low).total else 64


def _distance(fields: dict[str, Any], total: float, active: float) -> tuple[int, int]:
    """Return the sort key of a candidate: log distance of the totals, then the number of unusual choices."""
    c = count_parameters(from_fields(fields))
    missed = (abs(log(c.total / total)) if total else 0.0) + (abs(log(c.active / active)) if active else 0.0)
    if not total and fields["moe_every"] > 1:
        missed += SKIPPED_LAYERS_PENALTY  # active parameters alone are weak evidence for half of the experts
    plain = fields.get("kv_lora_rank") and fields.get("experts") and not fields["shared_experts"]
    unusual = (fields["tied_embeddings"], fields["dense_layers"], fields["moe_every"] > 1, fields["learned_positions"], plain)
    return round(missed / TOTAL_TOLERANCE), sum(map(bool, unusual))


def _architecture(fields: dict[str, Any]) -> Architecture | None:
    try:
        return from_fields(fields)
    except ConfigError:
        return None


def _round_to_multiple(value: float, step: int) -> int:
    return max(round(value / step), 1) * step
