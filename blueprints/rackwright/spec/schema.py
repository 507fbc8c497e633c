"""The JSON Schema that editors read: exported from the models, with the sentences that stand under their fields.

`python -m rackwright.spec.schema` prints it; docs/schema/spec.json is the committed copy.
"""

import ast
import inspect
import json
import sys
from functools import cache
from typing import Any

from pydantic import BaseModel

from rackwright.spec.reading.model_fields import all_models
from rackwright.spec.spec import API_VERSION, Spec

SCHEMA_ID = f"urn:{API_VERSION.replace('/', ':')}:spec"


def spec_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a spec as it is written in YAML: quantities are text with a unit, no value is null."""
    schema = Spec.model_json_schema()
    for model in models():
        entry = schema if model is Spec else schema["$defs"].get(model.__name__)
        for name, field in entry["properties"].items() if entry else ():
            field.pop("title", None)
            entry["properties"][name] = _described(_without_null(field), sentences(model).get(name, ""))
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, "title": "rackwright spec"}
    return about | {key: value for key, value in schema.items() if key not in about}


def text() -> str:
    """The schema as it is committed."""
    return json.dumps(spec_schema(), indent=2, ensure_ascii=False) + "\n"


def models() -> list[type[BaseModel]]:
    """Every model of the spec, the whole first, then in the order in which a reader meets them."""
    return list(dict.fromkeys(model for _, model in all_models()))


def sentences(model: type) -> dict[str, str]:
    """Field -> the sentence under it in the source, fields of base classes included."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if base.__module__.startswith("rackwright."):
            found |= _of_module(base.__module__).get(base.__name__, {})
    return found


@cache
def _of_module(module: str) -> dict[str, dict[str, str]]:
    """Class -> field -> the string that follows the field."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: dict(_pairs(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _pairs(node: ast.ClassDef) -> list[tuple[str, str]]:
    pairs = []
    for field, after in zip(node.body, node.body[1:], strict=False):
        said = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and isinstance(after.value.value, str)
        if said and isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            pairs.append((field.target.id, " ".join(ast.literal_eval(after.value).split())))
    return pairs


def _without_null(field: dict[str, Any]) -> dict[str, Any]:
    """Leaving a key out is how a spec says nothing; `key: null` is a problem."""
    alternatives = [one for one in field.get("anyOf", ()) if one != {"type": "null"}]
    if "anyOf" in field and len(alternatives) < len(field["anyOf"]):
        rest = {key: value for key, value in field.items() if key not in ("anyOf", "default") or (key == "default" and value is not None)}
        return rest | (alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives})
    return field


def _described(field: dict[str, Any], sentence: str) -> dict[str, Any]:
    """Our sentence first, then what the type says of its form. A default in base units is no default a user could write."""
    form = field.get("description", "")
    description = f"{sentence.rstrip('.')} ({form})." if sentence and form else sentence or form
    if field.get("type") == "string" and not isinstance(field.get("default", ""), str):
        field = {key: value for key, value in field.items() if key != "default"}
    if isinstance(default := field.get("default"), dict):
        field = field | {"default": {key: value for key, value in default.items() if value is not None}}
    if "patternProperties" in field:
        field = field | {"additionalProperties": False}
    return field | ({"description": description} if description else {})


if __name__ == "__main__":
    sys.stdout.write(text())
