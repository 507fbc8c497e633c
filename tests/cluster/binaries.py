"""Binaries of the control plane, built once from the pinned modules of `binaries/go.mod` into a cache outside the repository.

`python -m tests.cluster.binaries` builds what the cache lacks, and prints the folder.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

MODULE = Path(__file__).parent / "binaries"
NAMES = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
STAGES, STAGE_FOLDERS = "stages.yaml", ("node/fast", "node/heartbeat-with-lease", "pod/fast")
"""What kwok does with nodes and pods: files of its module, joined into one beside its binary."""
GO_PATH = "/usr/local/go/bin"
CACHE = Path(os.environ.get("RACKWRIGHT_CLUSTER_CACHE") or Path.home() / ".cache" / "rackwright" / "cluster")


def folder() -> Path:
    """Folder of the binaries of the pinned versions; another version of any module has another folder."""
    pins = b"".join((MODULE / name).read_bytes() for name in ("go.mod", "go.sum"))
    return CACHE / hashlib.sha256(pins).hexdigest()[:16]


def missing() -> list[str]:
    return [name for name in (*NAMES, STAGES) if not (folder() / name).is_file()]


def etcd() -> str | None:
    return shutil.which("etcd")


def go() -> str | None:
    return shutil.which("go", path=os.pathsep.join((os.environ.get("PATH", ""), GO_PATH)))


def build() -> None:
    """Raises CalledProcessError where a module or its checksum is refused, or a package does not compile."""
    partial = folder().with_suffix(".partial")
    partial.mkdir(parents=True, exist_ok=True)
    command = ["nice", "-n", "5", go() or "go", "build", "-p", "2", "-trimpath", "-ldflags=-s -w", "-o", f"{partial}/", "tool"]
    subprocess.run(command, cwd=MODULE, check=True, env=os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly -buildvcs=false"})
    _copy_stages(partial / STAGES)
    partial.rename(folder())


def _copy_stages(path: Path) -> None:
    where = subprocess.run([go() or "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"], cwd=MODULE, check=True, capture_output=True)
    root = Path(where.stdout.decode().strip()) / "kustomize" / "stage"
    files = [file for name in STAGE_FOLDERS for file in sorted((root / name).glob("*.yaml")) if not file.name.startswith("kustom")]
    path.write_text("\n---\n".join(file.read_text() for file in files))


if __name__ == "__main__":
    if missing() and not go():
        sys.exit("tests/cluster needs Go 1.26 to build its control plane: install it, or put `go` on PATH")
    if missing():
        print("building the control plane (once; about 5 minutes of two cores)", flush=True)
        build()
    print(folder())
