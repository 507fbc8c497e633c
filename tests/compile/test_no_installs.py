"""Containers that rackwright writes install nothing when they start: an air-gapped cluster has no package registry."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rackwright

from tests import own_plans, plans

INSTALLS = re.compile(
    r"\b(apt(-get)?|yum|dnf|microdnf|apk|zypper|conda|mamba|npm|gem|cargo|go|pip3?|uv) +(-\S+ +)*(install|add|get)\b|\bgit +clone\b"
)
DOWNLOADS = re.compile(r"\b(curl|wget)\b")
PLANS = plans.ALL | plans.FLEETS | own_plans.OWN
LAUNCHERS = Path(rackwright.__file__).parent / "compile" / "jobs" / "launchers"


@pytest.mark.parametrize("name", PLANS)
def test_no_container_installs_packages(name):
    plan = PLANS[name]()
    texts = [text for manifest in plan.manifests for text in texts_in(manifest.body)]
    texts += [text for release in plan.releases for text in texts_in(release.values)]
    assert [text for text in texts if INSTALLS.search(text) or DOWNLOADS.search(text)] == []


@pytest.mark.parametrize("path", sorted(LAUNCHERS.iterdir()), ids=lambda path: path.name)
def test_no_launcher_installs_packages(path):
    assert not INSTALLS.search(path.read_text())
    assert not DOWNLOADS.search(path.read_text())


@pytest.mark.parametrize("text", ["apt-get update && apt-get -y install curl", "pip install -U vllm", "apk add rdma-core", "git clone x"])
def test_the_search_finds_installs(text):
    assert INSTALLS.search(text)


def texts_in(value: Any) -> Iterator[str]:
    """Every text, with the words of commands in one line."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, (list, tuple)):
        if value and all(isinstance(item, str) for item in value):
            yield " ".join(value)
        for item in value:
            yield from texts_in(item)
