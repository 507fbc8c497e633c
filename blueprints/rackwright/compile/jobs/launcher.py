"""Command of a job's container: the user's command under a launcher, from the templates in `launchers/`.

A template is YAML: a list of arguments. `$(NAME)` is an environment variable, which Kubernetes inserts.
"""

import base64
import json
from functools import cache
from typing import TYPE_CHECKING, Any

import yaml

from rackwright.compile.jobs.job_context import Launch

if TYPE_CHECKING:
    from jinja2 import Environment

PYTHON = ("python", "python3")
NO_LAUNCHER = "none"


def launcher_of(job: Launch) -> str:
    """Name of the launcher: the spec's, or for `auto` torchrun for a Python command on GPUs, and none otherwise."""
    named = job.run.launcher
    if named != "auto":
        return named
    command = (*job.run.command, *job.run.args)
    is_python = bool(command) and (command[0] in PYTHON or command[0].endswith(".py"))
    return "torchrun" if is_python and job.machine.kind == "gpu" else NO_LAUNCHER


def command_of(job: Launch) -> list[str]:
    """The container's command with its arguments."""
    launcher, given = launcher_of(job), [*job.run.command, *job.run.args]
    if launcher == NO_LAUNCHER:
        return given
    text = _templates().get_template(f"{launcher}.yaml.j2").render(_values(job, launcher, given))
    return [str(part) for part in yaml.safe_load(text)]


def _values(job: Launch, launcher: str, given: list[str]) -> dict[str, Any]:
    """Values that a template reads. program: command without its interpreter, which the launcher starts; script, arguments: its parts."""
    own = launcher != "maxtext"
    return {
        "program": _program(given),
        "script": _program(job.run.command) if own else list(job.run.command),
        "arguments": list(job.run.args),
        "nodes": job.nodes,
        "processes_per_node": job.accelerators_per_node,
        "slices": job.slices,
        "layout": job.layout,
        "global_batch_size": job.sizing.facts.global_batch_size,
        "sequence_length": job.sizing.facts.sequence_length,
        "mixed_precision": {"bf16": "bf16", "fp16": "fp16", "fp8": "fp8"}.get(job.fit.candidate.precision, "no"),
        "world_info": _world_info(job),
    }


def _program(command: tuple[str, ...] | list[str]) -> list[str]:
    """The command without `python`, because launchers start Python themselves; `-m module` stays."""
    return list(command[1:] if command and command[0] in PYTHON else command)


def _world_info(job: Launch) -> str:
    """DeepSpeed's list of machines: host -> indexes of its accelerators, as base64 of JSON."""
    indexes = list(range(job.accelerators_per_node))
    return base64.urlsafe_b64encode(json.dumps({job.host(rank): indexes for rank in range(job.nodes)}).encode()).decode()


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("rackwright.compile.jobs", "launchers")
    return Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
