"""The charts' values files and the schemas of CRDs, from outside the repository; tests without them are skipped visibly."""

import os
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(os.environ.get("RACKWRIGHT_CONTRACTS") or Path(__file__).resolve().parents[3] / "shared" / "contracts")
needs_contracts = pytest.mark.skipif(not ROOT.is_dir(), reason="no ../shared/contracts and RACKWRIGHT_CONTRACTS is not set")


def chart_file(name: str, version: str) -> str:
    return (ROOT / "chart-values" / f"{name}-{version.partition('@')[0].removeprefix('v')}.yaml").read_text()


def chart_values(name: str, version: str) -> dict[str, Any]:
    return yaml.safe_load(chart_file(name, version))


PASSED_ON = ("nodeSelector.", "podSecurityContext.", "alertmanager.config.global.", "grafana.nodeSelector", "grafana.tolerations")
"""Values that a chart writes into its pods as they are."""
COMMENTED = {"customMetrics": "# customMetrics:", "dcgmExporter.config": "  # config:"}
"""Values without a default, which the chart's file has as a comment."""


def unknown_values(given: dict[str, Any], chart: str, version: str) -> list[str]:
    """Paths of the values of a release that its chart does not have."""
    unknown = [path for path in unknown_paths(given, chart_values(chart, version)) if not path.startswith(PASSED_ON)]
    return [path for path in unknown if path not in COMMENTED or COMMENTED[path] not in chart_file(chart, version)]


def unknown_paths(given: dict[str, Any], known: dict[str, Any], path: str = "") -> list[str]:
    """Paths of `given` that the chart does not have. Below an empty or absent default every path is valid: the chart passes it on."""
    found = []
    for key, value in given.items():
        here = f"{path}.{key}".strip(".")
        if key not in known:
            found.append(here)
        elif isinstance(value, dict) and isinstance(known[key], dict) and known[key]:
            found += unknown_paths(value, known[key], here)
    return found


def merged(chart: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """As Helm merges values: maps by key, all else replaced."""
    both = {key: merged(chart[key], given[key]) for key in chart.keys() & given.keys() if isinstance(chart[key], dict)}
    return chart | given | both


def crd_schemas() -> dict[tuple[str, str], dict[str, Any]]:
    """(apiVersion, kind) to schema, of the contracts."""
    return schemas_in(ROOT / "crds")


@cache
def schemas_in(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """(apiVersion, kind) to schema, of the CRDs in a folder. Fields that the CRD lacks are errors, as in strict server-side apply."""
    found = {}
    for file in sorted(folder.rglob("*.yaml")):
        for crd in yaml.load_all(file.read_text(), Loader=yaml.CSafeLoader):
            if not crd or crd.get("kind") != "CustomResourceDefinition":
                continue
            for version in crd["spec"]["versions"]:
                api = f"{crd['spec']['group']}/{version['name']}"
                schema = _closed(version["schema"]["openAPIV3Schema"])
                schema["properties"]["metadata"] = {"type": "object"}
                found[api, crd["spec"]["names"]["kind"]] = schema
    return found


def errors_of(body: dict[str, Any]) -> list[str] | None:
    """Violations of the CRD by an object; None without a CRD for the object's kind."""
    schema = crd_schemas().get((body["apiVersion"], body["kind"]))
    return None if schema is None else _violations(schema, body)


def strict_errors(body: dict[str, Any], folder: Path) -> list[str]:
    """Violations of the CRD in a folder by an object. Raises KeyError where the folder has no CRD for its kind."""
    return _violations(schemas_in(folder)[body["apiVersion"], body["kind"]], body)


def _violations(schema: dict[str, Any], body: dict[str, Any]) -> list[str]:
    found = jsonschema.Draft7Validator(schema).iter_errors(body)
    return [f"{'.'.join(map(str, e.absolute_path))}: {e.message}" for e in found]


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {key: value for key, value in schema.items() if key == "pattern"}
    out = {key: _closed(value) for key, value in schema.items()}
    if isinstance(out.get("pattern"), str) and "(?i)" in out["pattern"]:
        out["pattern"] = "(?i)" + out["pattern"].replace("(?i)", "")  # Go allows the flag anywhere
    if isinstance(out.get("properties"), dict) and "additionalProperties" not in out and "type" in schema:
        out["additionalProperties"] = bool(schema.get("x-kubernetes-preserve-unknown-fields"))
    return out
