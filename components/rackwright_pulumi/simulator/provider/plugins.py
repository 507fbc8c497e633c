"""Plugin folders for the Pulumi engine: one executable per cloud, with absolute paths, for ``plugins.providers`` in Pulumi.yaml."""

import shlex
import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from rackwright_pulumi.simulator.schema.facts import CLOUDS, sdk_version


def write_plugins(folder: Path, state: Path, python: Path | None = None, clouds: Sequence[str] = CLOUDS) -> dict[str, Path]:
    """Write ``folder/<cloud>/pulumi-resource-<cloud>`` for each cloud; returns the folder for Pulumi.yaml by cloud.

    state: the cloud file, shared by the three; RACKWRIGHT_SIMULATED_CLOUD overrides it at run time.
    python: an interpreter with pulumi (default: this one). Unchanged files are not rewritten.
    """
    home = Path(__file__).resolve().parents[3]
    folders = {}
    for cloud in clouds:
        folders[cloud] = Path(folder).resolve() / cloud
        folders[cloud].mkdir(parents=True, exist_ok=True)
        path, text = folders[cloud] / f"pulumi-resource-{cloud}", _script(cloud, Path(state), Path(python or sys.executable), home)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return folders


def _script(cloud: str, state: Path, python: Path, home: Path) -> str:
    call = [str(python.absolute()), "-m", "rackwright_pulumi.simulator.provider.server", "--cloud", cloud, "--state", str(state.resolve())]
    path = f"PYTHONPATH={shlex.quote(str(home))}${{PYTHONPATH:+:$PYTHONPATH}}"
    return f'#!/bin/sh\n# simulated {cloud}, SDK {sdk_version(cloud)}\n{path} exec {shlex.join(call)} "$@"\n'


if __name__ == "__main__":
    for cloud, folder in write_plugins(Path(sys.argv[1]), Path(sys.argv[2])).items():
        print(f"{cloud}: {folder}")
