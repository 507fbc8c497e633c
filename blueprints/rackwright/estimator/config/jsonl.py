"""A JSONL file -> configurations: one a line, each line with its own problems, so that a broken one costs only itself."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Mark, Problem
from rackwright.estimator.config.configuration import CONFIGURATION_ADAPTER, Configuration, SampleConfig, ServingConfig, TrainingConfig

KINDS: dict[str, type[BaseModel]] = {"training": TrainingConfig, "serving": ServingConfig, "samples": SampleConfig}
KEY_SYNONYMS = {
    "seq_len": "sequence", "sequence_length": "sequence", "global_batch_size": "global_batch", "micro_batch_size": "micro_batch",
    "tp": "tensor", "pp": "pipeline", "cp": "context", "ep": "expert", "dp": "data", "gpu": "accelerator", "isl": "input_tokens",
    "osl": "output_tokens", "precision": "numbers", "framework": "engine",
}  # fmt: skip
"""What other tools call a key, by our name for it."""
UNION_BRANCH_LABELS = ("str", "dict[str,any]")
"""What pydantic puts into the path of a field of two types; nobody wrote these."""
MAX_PROBLEMS = 50
"""Of one line, that are shown."""
MAX_QUOTED_CHARACTERS = 60
"""Characters of a wrong value that are quoted."""


@dataclass(frozen=True)
class ConfigurationLine:
    """number: from 1; config is None where there are problems."""

    number: int
    config: Configuration | None
    problems: tuple[Problem, ...] = ()


def read_lines(text: str) -> Iterator[ConfigurationLine]:
    """Empty lines are left out. Never raises UserError."""
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        if line.strip():
            try:
                yield ConfigurationLine(number, parse_configuration(_json(line)))
            except UserError as error:
                yield ConfigurationLine(number, None, tuple(p.with_mark(p.mark or Mark(number, 1)) for p in error.problems))


def parse_configuration(data: Mapping[str, Any]) -> Configuration:
    """Plain data as a configuration. Raises UserError with every problem, each at its path."""
    kind = data.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise UserError(
            [Problem("E-kind", f"{quote_value(kind)} is no kind of configuration", At() / "kind", f"one of {', '.join(KINDS)}")]
        )
    try:
        return CONFIGURATION_ADAPTER.validate_python(data)
    except ValidationError as failure:
        found = {str(p.at): p for p in map(_problem, failure.errors(include_url=False))}
        raise UserError(list(found.values())[:MAX_PROBLEMS]) from None


def _json(line: str) -> Mapping[str, Any]:
    try:
        data = json.loads(line, object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as fault:
        raise UserError([Problem("E-json", f"not JSON: {fault}", fix="one configuration a line, as JSON")]) from None
    if not isinstance(data, dict):
        raise UserError([Problem("E-json", "a configuration is a JSON object", fix='start with {"kind": "training", ...')])
    return data


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise UserError([Problem("E-json", f"{quote_value(key)} stands twice", At() / key)])
        found[key] = value
    return found


def _problem(error: Mapping[str, Any]) -> Problem:
    at = At(tuple(step for i, step in enumerate(error["loc"]) if not (i == 0 and step in KINDS) and step not in UNION_BRANCH_LABELS))
    kind = str(error["type"])
    if kind == "extra_forbidden":
        return Problem("E-unknown-key", f"{at.steps[-1]!r} is not a key here", at, _key_hint(error["loc"]))
    if kind == "missing":
        return Problem("E-missing", f"{at.steps[-1]!r} must be given", at)
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    return Problem("E-value", f"{message}; got {quote_value(error.get('input'))}", at)


def quote_value(value: Any) -> str:
    """A wrong value as a message quotes it; a whole number too long to print is told by its sign."""
    try:
        said = repr(value)
    except ValueError:
        said = "a number of thousands of digits"
    return said if len(said) < MAX_QUOTED_CHARACTERS else said[: MAX_QUOTED_CHARACTERS - 3] + "..."


def _key_hint(loc: tuple[Any, ...]) -> str:
    """The key that was meant, else those that are known at the place."""
    kind: type[BaseModel] | None = KINDS.get(str(loc[0]))
    for step in loc[1:-1]:
        field = kind.model_fields.get(str(step)) if kind else None
        kinds = (field.annotation, *getattr(field.annotation, "__args__", ())) if field else ()
        kind = next((t for t in kinds if isinstance(t, type) and issubclass(t, BaseModel)), None)
    known = list(kind.model_fields) if kind else []
    key = str(loc[-1])
    near = KEY_SYNONYMS[key] if KEY_SYNONYMS.get(key) in known else next(iter(get_close_matches(key, known, 1, 0.6)), "")
    return f"did you mean `{near}`?" if near else f"known here: {', '.join(known)}" if known else ""
