"""Lock files: every version has a hash, no file names a host or a path, and the component package uses the versions of the project."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.txt", "components/requirements.txt", ".ci/audit.txt")
PINNED = re.compile(r"^([a-z0-9][a-z0-9._-]*)==(\S+)", re.MULTILINE)


def versions(name: str) -> dict[str, str]:
    return dict(PINNED.findall((ROOT / name).read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", LOCKS)
def test_every_version_has_a_hash_and_no_file_names_a_host_or_a_path(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[a-z0-9])", text, flags=re.MULTILINE)
    assert all("--hash=sha256:" in block for block in blocks if "==" in block)
    assert versions(name)
    assert not re.search(r"https?://|--(index|extra-index|find-links)|^/|file:", text, re.MULTILINE)


def test_the_component_package_has_runtime_dependencies_only_at_the_same_versions():
    project, package = versions("requirements.txt"), versions("components/requirements.txt")
    assert package.items() <= project.items()
    assert {"pulumi", "pulumi-aws", "pulumi-gcp", "pulumi-kubernetes", "pydantic"} <= package.keys()
    assert not {"pytest", "ruff", "ty", "moto", "scipy", "altair", "boto3"} & package.keys()


def test_a_package_that_was_not_audited_ends_the_audit():
    """Without --strict, pip-audit exits with 0 where the service answers for no package."""
    command = re.search(r"^audit:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert command
    assert "pip-audit --strict " in command[1]
    assert all(name in command[1] for name in LOCKS)
