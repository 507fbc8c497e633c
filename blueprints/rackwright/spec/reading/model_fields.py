"""Keys, choices and descriptions of a path of the spec, from the models."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from functools import cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from rackwright.diagnostics.problem import At
from rackwright.spec.base import OneOf
from rackwright.spec.spec import Spec

NEAR = 0.6
"""Minimum similarity of a misspelt name and a valid one (the default of difflib)."""
LONGEST_NAME = 100
KEY = "[key]"
"""How pydantic marks a problem with a mapping's key."""


def at_of(error: Mapping[str, Any]) -> At:
    """The user's path of a pydantic error: the names of union members, which pydantic puts between, are left out."""
    loc = error["loc"]
    steps = loc[:2] + loc[3:] if len(loc) > 2 and loc[0] == "workloads" and isinstance(loc[1], int) else loc
    own = len(steps) - (error["type"] in ("extra_forbidden", "missing"))  # the last step of these is a key, not a tag
    tags = [step == KEY or (isinstance(step, str) and step[:1] == "<" and step[-1:] == ">") for step in steps]
    return At(tuple(step for i, step in enumerate(steps) if i >= own or not tags[i]))


def keys_at(at: At, kind: str | None = None) -> tuple[str, ...]:
    """Keys that the mapping at `at` may have; `kind` narrows a workload to one kind."""
    models = (a for a in _annotations(at) if isinstance(a, type) and issubclass(a, BaseModel))
    models = (m for m in models if not (kind and "kind" in m.model_fields) or kind in get_args(m.model_fields["kind"].annotation))
    return tuple(dict.fromkeys(key for model in models for key in model.model_fields))


def choices_at(at: At) -> tuple[str, ...]:
    """Allowed words or numbers at `at`; empty if any text is valid."""
    found: list[object] = []
    for annotation in _annotations(at):
        if get_origin(annotation) is Literal:
            found += get_args(annotation)
        elif get_origin(annotation) is Annotated:
            found += [word for info in _infos(annotation) for mark in info.metadata if isinstance(mark, OneOf) for word in mark.names()]
    return tuple(dict.fromkeys(str(word) for word in found))


def description_at(at: At) -> str:
    """What the text at `at` looks like, "" where that is not described."""
    found = (info.description for annotation in _annotations(at) if get_origin(annotation) is Annotated for info in _infos(annotation))
    return next((text for text in found if text), "")


@cache
def homes() -> dict[str, tuple[str, ...]]:
    """Every key of the spec -> the places that have it, shortest first: `max_cost` -> (`goals`,). Keys of inventory files are left out."""
    known: dict[str, dict[str, None]] = {}
    for place, model in all_models():
        for key in model.model_fields if "inventory" not in place.split(".") else ():
            known.setdefault(key, {})[place] = None
    return {key: tuple(places) for key, places in known.items()}


def nearest(word: object, known: Iterable[str]) -> str:
    """The most similar known name, the first of equally similar ones; "" below the minimum similarity."""
    matcher = SequenceMatcher(b=_folded(str(word)[:LONGEST_NAME]))

    def likeness(name: str) -> float:
        matcher.set_seq1(_folded(name))
        return matcher.ratio() if matcher.real_quick_ratio() >= NEAR and matcher.quick_ratio() >= NEAR else 0.0

    scores = {name: likeness(name) for name in known}
    best = max(scores, key=scores.__getitem__, default="")
    return best if best and scores[best] >= NEAR else ""


def _folded(name: str) -> str:
    return name.lower().replace("-", "_")


def did_you_mean(word: object, known: Iterable[str], most: int = 12) -> str:
    """A fix: the nearest name, else all of them where they are few."""
    known = list(dict.fromkeys(known))
    if near := nearest(word, known):
        return f"did you mean `{near}`?"
    return f"one of {', '.join(known)}" if len(known) <= most else ""


def _annotations(at: At) -> list[Any]:
    """Every annotation at `at`, with unions split."""
    current: list[Any] = [Spec]
    for step in at.steps:
        current = list(_flat(inner for annotation in current for inner in _inside(annotation, step)))
    return current


def _inside(annotation: Any, step: str | int) -> Iterator[Any]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if field := annotation.model_fields.get(str(step)):
            yield Annotated[field.annotation, field]
    elif get_origin(annotation) is tuple and isinstance(step, int):
        yield get_args(annotation)[0]
    elif get_origin(annotation) is dict:
        yield get_args(annotation)[1]


def _flat(annotations: Iterable[Any]) -> Iterator[Any]:
    for annotation in annotations:
        origin = get_origin(annotation)
        if origin is Annotated:
            yield annotation
            yield from _flat([get_args(annotation)[0]])
        elif origin in (Union, UnionType):
            yield from _flat(get_args(annotation))
        else:
            yield annotation


def _infos(annotation: Any) -> list[FieldInfo]:
    return [info for info in get_args(annotation)[1:] if isinstance(info, FieldInfo)]


def all_models() -> Iterator[tuple[str, type[BaseModel]]]:
    """Every model with its path in the spec, breadth first."""
    queue: list[tuple[str, Any]] = [("", Spec)]
    while queue:
        place, annotation = queue.pop(0)
        for part in _flat([annotation]):
            if get_origin(part) in (tuple, dict):
                queue += [(place, inner) for inner in get_args(part) if inner is not Ellipsis]
            elif isinstance(part, type) and issubclass(part, BaseModel):
                yield place, part
                queue += [(f"{place}.{key}".lstrip("."), field.annotation) for key, field in part.model_fields.items()]
