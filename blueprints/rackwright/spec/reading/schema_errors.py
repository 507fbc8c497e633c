"""Pydantic errors -> problems with a message, a path of the spec and a fix."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from rackwright.diagnostics.problem import At, Problem
from rackwright.spec.base import quote
from rackwright.spec.reading.model_fields import KEY, at_of, choices_at, description_at, did_you_mean, homes, keys_at, nearest

Error = Mapping[str, Any]
KINDS = ("pretrain", "finetune", "serve", "batch", "custom")
OTHER_KEYS = {
    "deadline": "max_duration",
    "budget": "max_cost",
    "batch_size": "global_batch_size",
    "seq_len": "sequence_length",
    "max_seq_length": "sequence_length",
    "context_length": "max_context",
    "max_model_len": "max_context",
    "r": "rank",
    "target_modules": "targets",
    "instance_type": "pin",
}
"""Key of another tool -> our key."""
OTHER_KINDS = {method: f"write `kind: finetune` with `adapter: {{type: {method}}}`" for method in ("lora", "qlora", "p-tuning")}
OTHER_KINDS |= {
    "inference": "did you mean `serve`?",
    "training": "did you mean `pretrain` or `finetune`?",
    "sft": "did you mean `finetune`?",
}
FIRST_KEYS = ("mean", "target", "ordered", "base", "type")
"""Keys that a value without its mapping belongs to."""
LATER = "; more checks run once it is set"
"""Ends the fix of a missing key without which rules cannot run."""
PERCENTILE = re.compile(r"p(50|90|95|99)")
"""Key of other tools for a limit at a percentile."""
Message = tuple[str, str, str]
"""Code, reason, fix."""

CODES = {
    "S-file": "the file cannot be opened",
    "S-size": "the file exceeds 1 MB",
    "S-encoding": "the file is not UTF-8, or contains control characters",
    "S-empty": "the file is empty",
    "S-syntax": "the file is not YAML",
    "S-documents": "the file contains more than one YAML document",
    "S-depth": "the file is nested more than 50 levels deep",
    "S-too-many": "the file has more than 20,000 values after aliases are expanded",
    "S-alias": "an alias without an anchor before it, or inside its own anchor",
    "S-tag": "a YAML tag, which is not supported",
    "S-merge": "a YAML merge key, which is not supported",
    "S-key": "a key that is not plain text",
    "S-duplicate-key": "a duplicate key",
    "S-null": "a key without a value",
    "S-version": "an api_version that this release does not support",
    "S-unknown-key": "an unknown key",
    "S-missing": "a required key is missing",
    "S-type": "a value of the wrong type",
    "S-unit": "a quantity without a unit, or with a wrong one",
    "S-range": "a number out of range",
    "S-choice": "a value that is not among the allowed ones",
    "S-pattern": "a text that does not match its format",
    "S-date": "not a date with time and time zone",
}
"""Every code of the reader, with its condition."""

SECRET_FIXES = {
    (
        "secret",
    ): "write {secret: NAME}, declare secrets: {NAME: {config: KEY}}, run `pulumi config set --secret KEY`, and revoke this value",
    ("config",): "write {config: KEY}, run `pulumi config set --secret KEY`, and revoke this value",
}
"""Keys of a reference to a secret -> what to write in place of the secret itself."""
TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "float_type": "a number",
}
RANGES = {"greater_than": ("more than", "gt"), "greater_than_equal": ("at least", "ge"), "less_than": ("less than", "lt")}
RANGES |= {"less_than_equal": ("at most", "le")}


def is_echo(error: Error, data: object) -> bool:
    """Whether the error only repeats others: a list counts as empty when all of its items are wrong."""
    return error["type"] == "too_short" and bool(value_at(data, at_of(error)))


def problem_of(error: Error, data: object) -> Problem:
    """One pydantic error as a problem without mark. `data`: what was validated."""
    at = at_of(error)
    kind = str(error["type"])
    formatter = FORMATTERS.get(kind) or (_type if kind in TYPES else _bound if kind in RANGES else None)
    code, reason, fix = formatter(error, at, data) if formatter else ("S-type", str(error["msg"]), "")
    return Problem(code, reason, at=at / "kind" if kind.startswith("union_tag") else at, fix=fix)


def wrong_kind(got: object, at: At) -> Problem:
    """An unknown kind of workload."""
    return Problem(
        "S-choice", f"{quote(got)} is not a kind of workload", at=at, fix=OTHER_KINDS.get(str(got), "") or did_you_mean(got, KINDS)
    )


def is_about_key(error: Error) -> bool:
    """Whether the caret belongs under the key, not under its value."""
    return error["type"] == "extra_forbidden" or error["loc"][-1:] == (KEY,)


def _unknown_key(error: Error, at: At, data: object) -> Message:
    key, parent = at.steps[-1], At(at.steps[:-1])
    kind = _kind(data, at)
    what = f"a {kind} workload" if kind else f"`{parent}`" if parent.steps else "a spec"
    return "S-unknown-key", f"{quote(key)} is not a key of {what}", _right_place(str(key), parent, kind, data)


def _right_place(key: str, parent: At, kind: str | None, data: object) -> str:
    """The nearest valid key, or the section that has this key."""
    present, owner = value_at(data, parent), value_at(data, At(parent.steps[:2]) / "kind")
    known = [name for name in keys_at(parent, kind) if not isinstance(present, dict) or name not in present]
    if "capacity" in parent.steps and isinstance(present, dict) and (forms := {"capacity_block", "reservation"} & set(present)):
        return f"leave it out: an entry with `{min(forms)}` has no other key; list another mode as a separate entry"
    if kind and (others := [other for other in KINDS if key in keys_at(parent, other)]):
        return f"it is valid for {' and '.join(others)} workloads"
    if near := OTHER_KEYS[key] if OTHER_KEYS.get(key) in known else nearest(key, known):
        return f"did you mean `{near}`?"
    if "percentile" in known and (found := PERCENTILE.fullmatch(key)) and isinstance(present, dict):
        return f"write {{target: {quote(present[key]).strip('`')}, percentile: {found[1]}}}"
    if places := [place for place in homes().get(key, ()) if _is_near(place, parent, owner)]:
        return "move it " + " or ".join(f"into `{place}`" if place else "to the top level of the file" for place in places[:2])
    return f"valid keys: {', '.join(known)}" if known else ""


def _is_near(place: str, parent: At, owner: object) -> bool:
    """Whether a section contains `parent`, is part of it, or lies beside it. owner: kind of the workload that has `parent`."""
    home, here = place.split(".") if place else [], [step for step in parent.steps if isinstance(step, str)]
    if home[:1] == ["workloads"] and owner in KINDS and home[1:] and home[1] not in keys_at(At(parent.steps[:2]), str(owner)):
        return False
    shared = min(len(home), len(here))
    return home[:shared] == here[:shared] or home[:-1] == here[:-1]


def _missing(error: Error, at: At, data: object) -> Message:
    present = value_at(data, At(at.steps[:-1]))
    known = keys_at(At(at.steps[:-1]))
    unknown = [key for key in present if key not in known] if isinstance(present, dict) else []
    typo = nearest(at.steps[-1], unknown)
    name = str(at.steps[-1])
    example = EXAMPLES.get(name) or (f"one of {', '.join(choices)}" if (choices := choices_at(at)) else "")
    later = LATER if name == "model" or (len(at.steps) == 1 and name in ("workloads", "infra")) else ""
    return "S-missing", f"`{name}` is missing", f"rename `{typo}`" if typo else example + later


def _no_kind(error: Error, at: At, data: object) -> Message:
    if error["type"] == "union_tag_not_found":
        return "S-missing", "`kind` is missing", "kind is one of " + ", ".join(KINDS) + LATER
    problem = wrong_kind(value_at(data, at / "kind"), at)
    return problem.code, problem.reason, problem.fix


BOOLEAN_WORDS = {True: {"true", "yes", "on"}, False: {"false", "no", "off"}}
"""Words that YAML 1.1 reads as a boolean."""


def _choice(error: Error, at: At, data: object) -> Message:
    choices, got = choices_at(at), error["input"]
    extra = {"api_access": " or {cidrs: [...]}", "cluster": " or {stack: ..., output: ...}"}.get(str(at.steps[-1]), "")
    near = nearest(got, choices)
    if isinstance(got, (int, float)) and not isinstance(got, bool) and choices and all(choice.isdigit() for choice in choices):
        near = min(choices, key=lambda choice: abs(int(choice) - got))
    fix = f"did you mean `{near}`?" if near else f"one of {', '.join(choices)}{extra}"
    if isinstance(got, bool) and BOOLEAN_WORDS[got] & {*choices}:
        fix += f"; YAML reads the word as {quote(got)}, so write it in quotes"
    return "S-choice", f"{quote(got)} is not an allowed value", fix


def _own_validator(error: Error, at: At, data: object) -> Message:
    """Raised by our own validators, with code, reason and fix."""
    context = error.get("ctx", {})
    fix, choices = context.get("fix", ""), [choice for choice in choices_at(at) if choice == "auto"]
    if isinstance(error["input"], dict):
        near = nearest(next(iter(error["input"]), ""), ("capacity_block", "reservation"))
        fix = f"did you mean `{near}`?" if near else fix
    return str(error["type"]), context.get("reason", error["msg"]), fix + (", or auto" if fix and choices else "")


def _type(error: Error, at: At, data: object) -> Message:
    got = error["input"]
    fix = ""
    if error["type"] == "string_type" and isinstance(got, (int, float)):
        fix = "put it in quotes"
    elif error["type"] == "tuple_type" and isinstance(got, (str, int, float, dict)):
        fix = f"write a list: [{quote(got).strip('`')}]" if not isinstance(got, dict) else "write a list: one item per line, each with `- `"
    elif error["type"] == "bool_type" and str(got).lower() in ("yes", "on", "no", "off"):
        fix = f"write {'true' if str(got).lower() in ('yes', 'on') else 'false'}"
    elif error["type"] in ("model_type", "dict_type", "model_attributes_type") and (keys := keys_at(at, _kind(data, at))):
        mapping = ""
        if keys[0] in FIRST_KEYS and isinstance(got, (str, int, float)):
            value = quote(got).strip("`")
            mapping = f"write `{{{keys[0]}: {f'[{value}]' if keys[0] == 'ordered' else value}}}`; "
        fix = SECRET_FIXES.get(keys) or f"{mapping}valid keys: {', '.join(keys)}"
    return "S-type", f"Expected {TYPES[error['type']]}, got {quote(got)}", fix


def _bound(error: Error, at: At, data: object) -> Message:
    """A limit of a number, or of the length of a text or list."""
    if error["type"] in RANGES:
        words, bound = RANGES[error["type"]]
        return "S-range", f"The value must be {words} {error['ctx'][bound]:,}, got {quote(error['input'])}", ""
    if error["type"] == "string_too_long":
        return "S-pattern", f"The text is longer than {error['ctx']['max_length']} characters", ""
    return "S-range", "The value must not be empty", ""


def _pattern(error: Error, at: At, data: object) -> Message:
    looks = "letters, digits, underscores" if error["loc"][-1] == KEY else description_at(at)
    return "S-pattern", f"{quote(error['input'])} does not match the expected format", looks


FORMATTERS: dict[str, Callable[[Error, At, object], Message]] = {
    "extra_forbidden": _unknown_key,
    "missing": _missing,
    "union_tag_not_found": _no_kind,
    "union_tag_invalid": _no_kind,
    "literal_error": _choice,
    "string_pattern_mismatch": _pattern,
    "string_too_short": _bound,
    "string_too_long": _bound,
    "too_short": _bound,
}
FORMATTERS |= dict.fromkeys(("S-unit", "S-range", "S-type", "S-date", "S-choice"), _own_validator)


EXAMPLES = {
    "api_version": "api_version: rackwright/v1",
    "name": "name: a-short-name",
    "workloads": "workloads: [{name: ..., kind: finetune, ...}]",
    "infra": "infra: {any_of: [{cloud: aws, regions: [us-east-1]}]}",
    "model": "model: {base: llama-3.1-8b}",
    "data": "data: {samples: 10000, tokens_per_sample: 500}",
}


def _kind(data: object, at: At) -> str | None:
    """Kind of the workload that `at` is a direct part of."""
    if len(at.steps) > 3 or at.steps[:1] != ("workloads",) or len(at.steps) < 2:
        return None
    kind = value_at(data, At(at.steps[:2]) / "kind")
    return str(kind) if kind in KINDS else None


def value_at(data: object, at: At) -> object:
    """The value at `at` of plain data; None where it has none."""
    for step in at.steps:
        if isinstance(data, Mapping):
            data = data.get(str(step))
        elif isinstance(data, list) and isinstance(step, int) and step < len(data):
            data = data[step]
        else:
            return None
    return data
