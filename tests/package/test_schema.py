"""The schema for other languages: every component with descriptions, and only types that the wire does not change."""

import ast
import json
import re
from importlib import metadata
from pathlib import Path

import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2
from rackwright_pulumi.package.served import COMPONENTS, component_class
from rackwright_pulumi.package.texts import INPUTS, OUTPUTS

from tests.package.toy import ROOT

COMMITTED = ROOT / "docs" / "schema" / "components.json"
BLUEPRINTS = ("Box", "TrainingCluster", "InferenceFleet", "TpuPod")


@pytest.fixture(scope="session")
def schema(plugin):
    return json.loads(plugin.GetSchema(provider_pb2.GetSchemaRequest()).schema)


def components_in(path: Path) -> set[tuple[str, str, str]]:
    """(module, class, token) of every component of a file."""
    module = ".".join(path.relative_to(ROOT / "components" / "rackwright_pulumi").with_suffix("").parts)
    classes = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]
    tokens = {node.name: re.search(r"rackwright:index:\w+", ast.unparse(node)) for node in classes}
    return {(module, name, token.group()) for name, token in tokens.items() if token}


def properties(schema, side):
    return [(token.rpartition(":")[2], key, prop) for token, kind in schema["resources"].items() for key, prop in kind[side].items()]


def test_the_plugin_has_the_version_of_the_distribution(plugin, schema):
    answered = plugin.GetPluginInfo(empty_pb2.Empty()).version
    assert answered == schema["version"] == metadata.version("rackwright") != "0.0.0"


def test_every_component_of_every_folder_is_served(schema):
    files = [path for room in ("blueprints", "aws", "gcp", "kubernetes") for path in components_folder(room)]
    found = set().union(*map(components_in, files))
    assert {name: module for module, name, _ in found} == COMPONENTS
    assert {token for *_, token in found} == {f"rackwright:index:{name}" for _, name, _ in found} == set(schema["resources"])


def components_folder(room: str) -> list[Path]:
    return sorted((ROOT / "components" / "rackwright_pulumi" / room).rglob("*.py"))


def test_the_committed_schema_equals_the_served_one(schema):
    assert json.loads(COMMITTED.read_text(encoding="utf-8")) == schema, f"read the difference, then `make schema` renews {COMMITTED.name}"


def test_a_blueprint_requires_only_the_plan(schema):
    for name in BLUEPRINTS:
        kind = schema["resources"][f"rackwright:index:{name}"]
        assert kind["requiredInputs"] == ["plan"]
        assert kind["inputProperties"]["plan"]["type"] == "string"
        assert kind["inputProperties"]["teardown"]["default"] is False


def test_optional_arguments_are_not_required(schema):
    for name in COMPONENTS:
        args, served = component_class(name).__init__.__annotations__["args"], schema["resources"][f"rackwright:index:{name}"]
        optional = {key for key, hint in args.__annotations__.items() if key in args.__optional_keys__ or "None" in str(hint)}
        snake = {re.sub(r"(?<!^)([A-Z])", r"_\1", key).lower() for key in served["requiredInputs"]}
        assert snake == set(args.__annotations__) - optional, name


def test_no_input_is_a_number_an_enum_or_an_object(schema):
    """Integers arrive as floats, enums as members, and outputs for nested objects never (pulumi 3.272); counts are in the plan."""
    for owner, key, prop in properties(schema, "inputProperties"):
        inner = prop.get("items") or prop.get("additionalProperties") or prop
        free = (owner, key) == ("KubernetesLayer", "refs")  # what a manifest may refer to is a text or a list of texts
        assert prop["type"] in ("string", "boolean", "array", "object")
        assert free or inner.get("type") in ("string", "boolean"), f"{owner}.{key}"


def test_references_are_types_of_the_schema_or_any(schema):
    for reference in re.findall(r'"\$ref": "([^"]+)"', json.dumps(schema)):
        assert reference == "pulumi.json#/Any" or reference.removeprefix("#/types/") in schema["types"]


def test_every_property_has_a_description(schema):
    inputs, outputs = properties(schema, "inputProperties"), properties(schema, "properties")
    outputs += [(token, key, prop) for token, kind in schema["types"].items() for key, prop in kind["properties"].items()]
    assert [f"{kind}.{key}" for kind, key, prop in [*inputs, *outputs] if len(prop.get("description", "")) < 10] == []
    assert [token for token, kind in schema["resources"].items() if len(kind["description"]) < 10] == []


def test_every_description_is_used(schema):
    used = {name for kind, key, _ in properties(schema, "inputProperties") for name in (key, f"{kind}.{key}")}
    given = {key for _, key, _ in properties(schema, "properties")} | {
        key for kind in schema["types"].values() for key in kind["properties"]
    }
    assert set(INPUTS) <= used
    assert set(OUTPUTS) <= given
