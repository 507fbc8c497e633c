"""kustomize and Helm, built once from the pinned modules of `renderers/go.mod`, and charts and CRDs in Go modules of pinned versions.

`python -m tests.render.renderers` builds what the cache lacks, and downloads the modules.
"""

import hashlib
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.cluster.binaries import CACHE, go

MODULE = Path(__file__).parent / "renderers"
NAMES = ("kustomize", "helm")
SOURCES = {
    "kueue": "sigs.k8s.io/kueue@v0.19.2",
    "jobset": "sigs.k8s.io/jobset@v0.12.0",
    "karpenter": "github.com/aws/karpenter-provider-aws@v1.14.1",
    "envoy-gateway": "github.com/envoyproxy/gateway@v1.9.0",
    "kubeflow-trainer": "github.com/kubeflow/trainer/v2@v2.3.0",
    "argocd": "github.com/argoproj/argo-cd/v3@v3.4.0",
    "flux-helm": "github.com/fluxcd/helm-controller@v1.4.0",
    "flux-source": "github.com/fluxcd/source-controller@v1.7.0",
    "flux-kustomize": "github.com/fluxcd/kustomize-controller@v1.7.3",
}
"""Modules whose files have charts or CRDs. The checksum database of Go verifies them."""


def folder() -> Path:
    """Folder of the binaries of the pinned versions; another version of any module has another folder."""
    pins = b"".join((MODULE / name).read_bytes() for name in ("go.mod", "go.sum"))
    return CACHE.parent / "renderers" / hashlib.sha256(pins).hexdigest()[:16]


def missing() -> list[str]:
    return [name for name in NAMES if not (folder() / name).is_file()]


def build() -> None:
    """Raises CalledProcessError where a module or its checksum is refused, or a package does not compile."""
    partial = folder().with_suffix(".partial")
    partial.mkdir(parents=True, exist_ok=True)
    command = ["nice", "-n", "5", go() or "go", "build", "-p", "2", "-trimpath", "-ldflags=-s -w", "-o", f"{partial}/", "tool"]
    subprocess.run(command, cwd=MODULE, check=True, env=os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"})
    partial.rename(folder())


@cache
def source(name: str) -> Path | None:
    """Folder of a module of SOURCES in Go's cache; None where it was not downloaded."""
    path, _, version = SOURCES[name].partition("@")
    escaped = "".join(f"!{letter.lower()}" if letter.isupper() else letter for letter in path)
    found = Path(os.environ.get("GOMODCACHE") or Path.home() / "go" / "pkg" / "mod") / f"{escaped}@{version}"
    return found if found.is_dir() else None


def download(name: str) -> str:
    """Downloads a module of SOURCES; the error where it is refused, else empty."""
    result = subprocess.run([go() or "go", "mod", "download", "-json", SOURCES[name]], cwd=CACHE.parent, capture_output=True, check=False)
    return json.loads(result.stdout or b"{}").get("Error", "")


def needed_binary(name: str) -> Path:
    """A binary; skips the test visibly without it."""
    path = folder() / name
    if not path.is_file():
        pytest.skip(f"no {name} in {folder()}; `make cluster` builds it with Go")
    return path


def needed_source(name: str) -> Path:
    """The folder of a module; skips the test visibly without it."""
    found = source(name)
    if found is None:
        pytest.skip(f"{SOURCES[name]} is not in Go's module cache; `make cluster` downloads it")
    return found


if __name__ == "__main__":
    if missing() and not go():
        sys.exit("tests/render needs Go 1.26 to build kustomize and Helm: install it, or put `go` on PATH")
    if missing():
        print("building kustomize and Helm (once; about 5 minutes of two cores)", flush=True)
        build()
    for each in SOURCES:
        if source(each) is None and (error := download(each)):
            print(f"{SOURCES[each]} was not downloaded: {error}")
    print(folder())
