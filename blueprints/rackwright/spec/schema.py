"""JSON Schema of the spec for editors. Field descriptions are the docstrings below the fields of the models.

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
    """Return the JSON Schema (draft 2020-12) of a spec in YAML: quantities are strings with a unit, and null is not allowed."""
    schema = Spec.model_json_schema()
    for model in models():
        entry = schema if model is Spec else schema["$defs"].get(model.__name__)
        for name, field in entry["properties"].items() if entry else ():
            field.pop("title", None)
            entry["properties"][name] = _described(_without_null(field), sentences(model).get(name, ""))
    about = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": SCHEMA_ID, "title": "rackwright spec"}
    return about | {key: value for key, value in schema.items() if key not in about}


def text() -> str:
    """Return the schema as formatted JSON, the content of docs/schema/spec.json."""
    return json.dumps(spec_schema(), indent=2, ensure_ascii=False) + "\n"


def models() -> list[type[BaseModel]]:
    """Return every model of the spec, root first, in order of first use."""
    return list(dict.fromkeys(model for _, model in all_models()))


def sentences(model: type) -> dict[str, str]:
    """Return field -> docstring below the field in the source, including inherited fields."""
    found: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if base.__module__.startswith("rackwright."):
            found |= _of_module(base.__module__).get(base.__name__, {})
    return found


@cache
def _of_module(module: str) -> dict[str, dict[str, str]]:
    """Return class -> field -> docstring below the field, of one module."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: dict(_pairs(node)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _pairs(node: ast.ClassDef) -> list[tuple[str, str]]:
    pairs = []
    for field, docstring in zip(node.body, node.body[1:], strict=False):
        is_text = isinstance(docstring, ast.Expr) and isinstance(docstring.value, ast.Constant) and isinstance(docstring.value.value, str)
        if is_text and isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            pairs.append((field.target.id, " ".join(ast.literal_eval(docstring.value).split())))
    return pairs


def _without_null(field: dict[str, Any]) -> dict[str, Any]:
    """Remove `null` from the alternatives of a field. Optional keys are left out of a spec; `key: null` is an error."""
    alternatives = [one for one in field.get("anyOf", ()) if one != {"type": "null"}]
    if "anyOf" in field and len(alternatives) < len(field["anyOf"]):
        rest = {key: value for key, value in field.items() if key not in ("anyOf", "default") or (key == "default" and value is not None)}
        return rest | (alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives})
    return field


def _described(field: dict[str, Any], sentence: str) -> dict[str, Any]:
    """Add the description: the field's docstring, then the format of its type. Drops defaults in base units, which are invalid in YAML."""
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
