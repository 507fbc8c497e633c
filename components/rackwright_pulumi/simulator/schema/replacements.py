"""Convert a dump of a Terraform provider's schemas to ``data/replace.gcp.json``.

``python -m rackwright_pulumi.simulator.schema.replacements DUMP.json COMMIT DATE``, where the dump maps each Terraform type to
``{field: {"force": bool, "kind": "TypeSet", "block": {...}}}``, printed by a short Go program from the provider's
``registry.ResourceMap()`` (docs/simulator.md). Names are matched to those of the SDK, where lists are plural.
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rackwright_pulumi.simulator.schema.facts import DATA, Facts, covered, facts

TARGET = DATA / "replace.gcp.json"
RENAMED = {
    "compute/resizeRequest:ResizeRequest": "compute_resize_request",
    "kms/cryptoKeyIAMMember:CryptoKeyIAMMember": "kms_crypto_key_iam_member",
    "projects/iAMMember:IAMMember": "project_iam_member",
    "projects/service:Service": "project_service",
    "secretmanager/secret:Secret": "secret_manager_secret",
    "secretmanager/secretIamMember:SecretIamMember": "secret_manager_secret_iam_member",
    "secretmanager/secretVersion:SecretVersion": "secret_manager_secret_version",
    "serviceaccount/account:Account": "service_account",
    "serviceaccount/iAMMember:IAMMember": "service_account_iam_member",
    "servicenetworking/connection:Connection": "service_networking_connection",
    "storage/bucketIAMMember:BucketIAMMember": "storage_bucket_iam_member",
    "tpu/v2QueuedResource:V2QueuedResource": "tpu_v2_queued_resource",
    "tpu/v2Vm:V2Vm": "tpu_v2_vm",
    "artifactregistry/repository:Repository": "artifact_registry_repository",
}
"""Terraform names that differ from module and class in snake case, without ``gcp:`` and ``google_``."""

Fields = dict[str, dict[str, Any]]


def terraform_name(token: str) -> str:
    """``gcp:compute/network:Network`` -> ``google_compute_network``."""
    short = token.removeprefix("gcp:")
    module, _, rest = short.partition("/")
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", rest.rpartition(":")[2]).lower()
    return "google_" + RENAMED.get(short, f"{module}_{snake}")


def wire_name(field: str, known: Mapping[str, str]) -> str | None:
    """The SDK's name of a Terraform field: camel case, plural for lists."""
    first, *rest = field.split("_")
    camel = first + "".join(part.capitalize() for part in rest)
    return next((n for n in (camel, camel + "s", camel[:-1] + "ies", camel + "es") if n in known), None)


def forced(fields: Fields, known: Mapping[str, str], of: Facts, flag: str = "force") -> tuple[list[str], list[str], list[str]]:
    """Paths that force a replacement, blocks whose addition or removal does, and paths of lists without order."""
    leaves: list[str] = []
    blocks: list[str] = []
    sets: list[str] = []
    for field, fact in sorted(fields.items()):
        name = wire_name(field, known)
        if name is None:
            continue
        inner = fact.get("block")
        if fact["kind"] == "TypeSet":
            sets.append(name)
        if fact.get("force"):
            (blocks if inner else leaves).append(name)
        if inner:
            nested = of.object(known[name])
            for into, found in zip((leaves, blocks, sets), forced(inner, nested, of), strict=True):
                into.extend(f"{name}.{path}" for path in found)
    return leaves, blocks, sets


def rows(dump: dict[str, Fields]) -> dict[str, dict[str, list[str]]]:
    """One row per supported Google Cloud type."""
    found = {}
    for token in covered(TARGET.name.split(".")[1]):
        of = facts(token)
        leaves, blocks, sets = forced(dump[terraform_name(token)], of.inputs, of)
        found[token] = {k: v for k, v in (("fields", leaves), ("blocks", blocks), ("sets", sets)) if v}
    return found


def main(dump: str, commit: str, date: str) -> None:
    source = {"what": "hashicorp/terraform-provider-google-beta: ForceNew of the resource schemas", "commit": commit, "date": date}
    document = {"sources": {"tf": source}, "types": {t: {"source": "tf", **r} for t, r in rows(json.loads(Path(dump).read_text())).items()}}
    text = json.dumps(document, separators=(",", ":")).replace('},"', '},\n"')
    TARGET.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
