"""Parsing of a configuration: one line of JSONL, or plain data."""

import json
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Problem
from rackwright.estimator.config.configuration import CONFIGURATION_ADAPTER, Configuration, SampleConfig, ServingConfig, TrainingConfig

KINDS: dict[str, type[BaseModel]] = {"training": TrainingConfig, "serving": ServingConfig, "samples": SampleConfig}
KEY_SYNONYMS = {
    "seq_len": "sequence", "sequence_length": "sequence", "global_batch_size": "global_batch", "micro_batch_size": "micro_batch",
    "tp": "tensor", "pp": "pipeline", "cp": "context", "ep": "expert", "dp": "data", "gpu": "accelerator", "isl": "input_tokens",
    "osl": "output_tokens", "precision": "numbers", "framework": "engine",
}  # fmt: skip
"""Key of other tools -> key of a configuration."""
UNION_BRANCH_LABELS = ("str", "dict[str,any]")
"""Labels that pydantic adds to the path of a field with two types. They are removed from paths."""
MAX_PROBLEMS = 50
"""Problems reported per line."""
MAX_QUOTED_CHARACTERS = 60
"""Characters of an invalid value that a message quotes."""


def parse_line(line: str) -> Configuration:
    """Parse one line of JSON as a configuration. Raises UserError with every problem and its path."""
    try:
        data = json.loads(line, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as fault:
        raise UserError([Problem("E-json", f"invalid JSON: {fault}", fix="write one JSON object per line")]) from None
    if not isinstance(data, dict):
        reason = f"the line is not a JSON object: {quote_value(data)}"
        raise UserError([Problem("E-json", reason, fix='start with {"kind": "training", ...')])
    return parse_configuration(data)


def parse_configuration(data: Mapping[str, Any]) -> Configuration:
    """Validate plain data as a configuration. Raises UserError with every problem and its path."""
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        reason = f"{quote_value(kind)} is not a kind of configuration" if "kind" in data else "'kind' is missing"
        raise UserError([Problem("E-kind", reason, At() / "kind", f"one of {', '.join(KINDS)}")])
    try:
        return CONFIGURATION_ADAPTER.validate_python(data)
    except ValidationError as failure:
        found = {str(p.at): p for p in map(_problem, failure.errors(include_url=False))}
        raise UserError(list(found.values())[:MAX_PROBLEMS]) from None


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise UserError([Problem("E-json", f"duplicate key {quote_value(key)}", At() / key, "remove one of them")])
        found[key] = value
    return found


def _problem(error: Mapping[str, Any]) -> Problem:
    at = At(tuple(step for i, step in enumerate(error["loc"]) if not (i == 0 and step in KINDS) and step not in UNION_BRANCH_LABELS))
    kind = str(error["type"])
    if kind == "extra_forbidden":
        return Problem("E-unknown-key", f"unknown key {at.steps[-1]!r}", at, _key_hint(error["loc"]))
    if kind == "missing":
        return Problem("E-missing", f"{at.steps[-1]!r} is missing", at, f"add {at.steps[-1]}")
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ").replace("should be", "must be", 1)
    return Problem("E-value", f"{message}; got {quote_value(error.get('input'))}", at)


def quote_value(value: Any) -> str:
    """Return a value for a message, at most MAX_QUOTED_CHARACTERS long."""
    try:
        text = repr(value)
    except ValueError:  # Python refuses to print integers of more than 4,300 digits
        text = "a number of thousands of digits"
    return text if len(text) < MAX_QUOTED_CHARACTERS else text[: MAX_QUOTED_CHARACTERS - 3] + "..."


def _key_hint(loc: tuple[Any, ...]) -> str:
    """Return a fix for an unknown key: the most similar key, else all valid keys."""
    kind: type[BaseModel] | None = KINDS.get(str(loc[0]))
    for step in loc[1:-1]:
        field = kind.model_fields.get(str(step)) if kind else None
        kinds = (field.annotation, *getattr(field.annotation, "__args__", ())) if field else ()
        kind = next((t for t in kinds if isinstance(t, type) and issubclass(t, BaseModel)), None)
    known = list(kind.model_fields) if kind else []
    key = str(loc[-1])
    near = KEY_SYNONYMS[key] if KEY_SYNONYMS.get(key) in known else next(iter(get_close_matches(key, known, 1, 0.6)), "")
    return f"did you mean `{near}`?" if near else f"one of {', '.join(known)}" if known else ""
