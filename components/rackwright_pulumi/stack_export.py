"""State files of `pulumi stack export` as resource graphs (the format of `rackwright graph --json`, with the deployed `state`)."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.files import read_bytes

from rackwright_pulumi.graph_file import ExportedResource, GraphFile, StackExport
from rackwright_pulumi.resource_graph import SECRET_TEXT, STACK_TYPE
from rackwright_pulumi.simulator.provider.values import SECRET, SIGNATURE
from rackwright_pulumi.simulator.schema.difference import AUTONAMED

MAX_FILE_BYTES = 64_000_000
"""Size of a state of some ten thousand resources."""
ENGINE_INPUTS = frozenset({"version", "pluginDownloadURL", "__internal"})
"""Provider inputs that the engine adds."""
CHECKED_INPUTS = frozenset({"tagsAll"})
"""Inputs that pulumi-aws adds when it checks a resource: its tags with those of the provider."""


def graph_of_export(export: StackExport) -> dict[str, Any]:
    """The graph of a deployed stack, with `stack` and `project`. Values of secrets are masked, also if the export shows them.

    Names and defaults that a provider filled in are no inputs of the program, and are left out of `inputs`. Resources that wait for
    their deletion are left out.
    """
    resources = [each for each in export.deployment.resources if not each.delete]
    stack, project = (resources[0].urn.removeprefix("urn:pulumi:").split("::") if resources else ("", ""))[:2]
    return {"resources": [_node(each) for each in resources if each.type != STACK_TYPE], "stack": stack, "project": project}


def _node(resource: ExportedResource) -> dict[str, Any]:
    inputs = _program_inputs(resource.inputs or {})
    return {
        "type": resource.type,
        "name": resource.urn.split("::", 3)[3],
        "urn": resource.urn,
        "parent": "" if STACK_TYPE in resource.parent.split("::") else resource.parent,
        "provider": resource.provider,
        "inputs": _without(inputs, ENGINE_INPUTS if resource.type.startswith("pulumi:providers:") else CHECKED_INPUTS),
        "state": {**_masked(resource.outputs or {}), "id": resource.id},
        "dependsOn": resource.dependencies or [],
        "propertyDependencies": {key: urns or [] for key, urns in (resource.propertyDependencies or {}).items()},
        "protect": resource.protect,
        "options": {"read": True} if resource.external else {},
    }


def _program_inputs(value: Any) -> Any:
    """Inputs without the values in `__defaults`, which a provider filled in, and without generated names of Kubernetes objects."""
    if isinstance(value, list):
        return [_program_inputs(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _is_secret(value):
        return SECRET_TEXT
    listed = value.get("__defaults")
    filled = {"__defaults", *(key for key in listed if isinstance(key, str))} if isinstance(listed, list) else {"__defaults"}
    if isinstance(annotations := value.get("annotations"), dict) and AUTONAMED in annotations:
        filled.add("name")
        value = {**value, "annotations": _without(annotations, (AUTONAMED,))}
    return {key: _program_inputs(item) for key, item in _without(value, filled).items()}


def _masked(value: Any) -> Any:
    if isinstance(value, dict):
        return SECRET_TEXT if _is_secret(value) else {key: _masked(item) for key, item in value.items()}
    return [_masked(item) for item in value] if isinstance(value, list) else value


def _is_secret(value: Mapping[str, Any]) -> bool:
    return value.get(SIGNATURE) == SECRET


def _without(values: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if key not in keys}


def read_graph(path: Path) -> dict[str, Any]:
    """The graph in a file of `rackwright graph --json` or `pulumi stack export`. Raises UserError for other files."""
    try:
        found = from_json(read_bytes(path, MAX_FILE_BYTES))
        if isinstance(found, dict) and "deployment" in found:
            return graph_of_export(StackExport.model_validate(found))
        return GraphFile.model_validate(found).model_dump()
    except OSError as error:
        raise _refused(path, f"cannot be read: {error.strerror or error}", "name a spec or a graph") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        fix = "write one with `rackwright graph SPEC --json` or `pulumi stack export`"
        raise _refused(path, f"not a graph: {where}: {first['msg']}", fix) from None
    except (ValueError, RecursionError) as error:
        raise _refused(path, f"cannot be read: not JSON: {error}", "name a spec or a graph") from None


def _refused(path: Path, reason: str, fix: str) -> UserError:
    return UserError([Problem("G-file", reason, fix=fix)], str(path))
