"""Why no job can be written for a spec and its stack. Problems have the path in the spec."""

import re
import shlex
from collections.abc import Iterator

from rackwright.compile.jobs.environment import job_variables, pinned_variables
from rackwright.compile.jobs.job_context import JobContext
from rackwright.compile.jobs.launcher import launcher_of
from rackwright.compile.jobs.paths import checkpoint_path
from rackwright.compile.jobs.train_job import RUNTIME_KEY
from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.spec.workload import TRAINING

RUN = At() / "workloads" / 0 / "run"
MAX_NAME = 40
"""Length of a JobSet's name: pods add the replicated job, two numbers and five letters, 63 together (V-09 of Kubernetes' names)."""
NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
EXAMPLE_IMAGE = "registry.example/trainer@sha256:..."
FLAGS = {
    "tensor": ("tensor-model-parallel-size", "tensor-parallel-size", "tp-size", "tp", "ici-tensor-parallelism"),
    "pipeline": ("pipeline-model-parallel-size", "pipeline-parallel-size", "pp-size", "pp"),
    "context": ("context-model-parallel-size", "context-parallel-size", "cp-size", "cp", "ici-context-parallelism"),
    "expert": ("expert-model-parallel-size", "expert-parallel-size", "ep-size", "ep", "ici-expert-parallelism"),
}
"""Arguments of Megatron, NeMo, DeepSpeed and MaxText that set a part of the layout, with dashes and without their section."""
PROCESS_FLAGS = ("nproc-per-node", "nnodes", "num-machines")
"""Arguments of launchers that the job sets."""


def unsupported_stack(job: JobContext) -> Iterator[Problem]:
    """Why the stack runs no jobs at all."""
    workload, kind = job.spec.workload, At() / "workloads" / 0 / "kind"
    if not isinstance(workload, TRAINING):
        reason = f"`rackwright job` writes training jobs; workload {workload.name} is of kind {workload.kind}"
        fix = "servers run on the stack itself: `pulumi up`" if workload.kind == "serve" else "write a spec of kind pretrain or finetune"
        yield Problem("V-190", reason, kind, fix)
    elif not job.stack.runs_jobs:
        yield Problem("V-190", *_without_jobs(job))


def _without_jobs(job: JobContext) -> tuple[str, At, str]:
    """(reason, path, fix) for a stack whose blueprint has no JobSets."""
    stack, cluster = job.stack, "pin `blueprint.kind: training-cluster`"
    if stack.runs_container:
        reason, fix = f"The stack is a {stack.kind}, which starts the container of `run` itself", "start it with `pulumi up`"
    elif stack.cluster:
        reason, fix = f"The stack is a {stack.kind} without JobSets", "set `run.image`, which the stack starts"
    else:
        reason = f"The stack is a {stack.kind}, which has no queue for jobs"
        fix = f"run the container on the machine (`rackwright next {shlex.quote(job.path)}`)"
    return reason, At() / "blueprint" / "kind", f"{fix}, or {cluster}"


def job_problems(job: JobContext) -> list[Problem]:
    """Every reason why the job of a stack with queues cannot be written, and warnings."""
    return [*_container(job), *_name(job), *_layout(job), *_contradictions(job), *_variables(job), *_paths(job), *_train_job(job)]


def _train_job(job: JobContext) -> Iterator[Problem]:
    """The Trainer runs one replica of its job (kubeflow/trainer v2.3.0, pkg/webhooks/trainingruntime_webhook.go), and so one TPU slice."""
    if job.run.job != "trainjob":
        return
    if job.slices > 1:
        reason = f"A TrainJob runs on one TPU slice; the plan has {job.slices}"
        yield Problem("V-291", reason, RUN / "job", "leave it out: a JobSet runs on all slices")
    elif job.object(RUNTIME_KEY) is None:
        reason = "The stack has no runtime for TrainJobs"
        yield Problem("V-291", reason, RUN / "job", "add kubeflow-trainer to `blueprint.operators`, and update the stack: `pulumi up`")


def _container(job: JobContext) -> Iterator[Problem]:
    run, there = job.run, [key for key in ("image", "command") if not getattr(job.run, key)]
    if there:
        reason = f"The workload has no {' and no '.join(f'`run.{key}`' for key in there)}, so there is nothing to run"
        yield Problem("V-191", reason, RUN, f"such as run: {{image: {EXAMPLE_IMAGE}, command: [python, train.py]}}")
    elif "@sha256:" not in (run.image or ""):
        reason = f"Image {run.image} has no digest, so a restart may run another build"
        yield Problem("V-192", reason, RUN / "image", f"such as {EXAMPLE_IMAGE}", Level.WARNING)
    if job.machine.kind == "neuron" and launcher_of(job) != "none":
        reason = f"Launcher {run.launcher} starts one process per accelerator; {job.machine.name} needs one per group of Neuron cores"
        yield Problem("V-191", reason, RUN / "launcher", "set none, and start the processes in `command`")


def _name(job: JobContext) -> Iterator[Problem]:
    if len(job.name) > MAX_NAME or not NAME.fullmatch(job.name):
        form = f"at most {MAX_NAME} lower-case letters, digits and dashes, starting with a letter"
        reason = f"{job.name!r} is not a valid name of a job: use {form}"
        yield Problem("V-193", reason, fix="such as --name run-2")


def _layout(job: JobContext) -> Iterator[Problem]:
    """TP x PP x CP x DP is the number of accelerators; a decision that was edited by hand may have another."""
    layout, have = job.layout, job.nodes * job.accelerators_per_node
    if layout.accelerators != have:
        product = f"TP {layout.tensor} x PP {layout.pipeline} x CP {layout.context} x DP {layout.data} = {layout.accelerators:,}"
        reason = f"The layout needs {product} accelerators; {job.nodes} machines with {job.accelerators_per_node} each have {have:,}"
        fix = "correct `parallelism`, then record the choice again: `rackwright choose`"
        yield Problem("V-194", reason, At() / "workloads" / 0 / "parallelism", fix)


def _contradictions(job: JobContext) -> Iterator[Problem]:
    """Arguments that set another layout than the plan's."""
    for key in ("command", "args"):
        for index, name, value in _arguments(getattr(job.run, key)):
            part = next((part for part, names in FLAGS.items() if name in names), None)
            planned = getattr(job.layout, part) if part else 0
            if part and value.isdigit() and int(value) != planned:
                reason = f"`{name}` is {value}; the plan has {part} parallelism {planned}"
                fix = f"use $(PLAN_{part.upper()}_PARALLEL), or set `parallelism.{part}: {value}` and choose again"
                yield Problem("V-195", reason, RUN / key / index, fix)
            elif name in PROCESS_FLAGS and launcher_of(job) != "none":
                fix = "leave it out, or set `launcher: none`"
                yield Problem("V-195", f"`{name}` is set by launcher {launcher_of(job)} from the plan", RUN / key / index, fix)


def _arguments(words: tuple[str, ...]) -> Iterator[tuple[int, str, str]]:
    """(index, name with dashes and without its section, value) of `--name=value`, `--name value` and `section.name=value`."""
    for index, word in enumerate(words):
        name, assigned, value = word.partition("=")
        if not assigned and not word.startswith("--"):
            continue
        following = words[index + 1] if index + 1 < len(words) else ""
        yield index, name.lstrip("-+").rpartition(".")[2].replace("_", "-"), value if assigned else following


def _variables(job: JobContext) -> Iterator[Problem]:
    """Variables of the spec that would change what the job sets, first of all the transport: a missing fabric must end the job."""
    own, pins = job_variables(job), pinned_variables(job)
    for key, given in (("env", dict(job.run.env)), ("secrets", dict.fromkeys(job.run.secrets, "a secret"))):
        for name, value in given.items():
            if name in own and value != own[name]:
                why = (
                    f"it pins the fabric {job.pool.fabric}, so that the job fails instead of using TCP"
                    if name in pins
                    else "the job sets it"
                )
                yield Problem("V-196", f"{name} is {value!r}, but {why}: {own[name]!r}", RUN / key / name, "leave it out", about_key=True)


def _paths(job: JobContext) -> Iterator[Problem]:
    if checkpoint_path(job) is None and job.inventory:
        reason = "The inventory has no shared storage, and `checkpoint.uri` is not set, so a restart would lose the checkpoints"
        fix = "add `storage` to the inventory, or set such as `checkpoint: {uri: s3://team-checkpoints/runs}`"
        yield Problem("V-197", reason, At() / "workloads" / 0 / "checkpoint" / "uri", fix)
    elif checkpoint_path(job) is None:
        reason = "The checkpoint bucket is created with the stack, so its name is not known before"
        fix = "pass the outputs: `pulumi stack output --json > outputs.json`, then `--outputs outputs.json`; or set `checkpoint.uri`"
        yield Problem("V-197", reason, At() / "workloads" / 0 / "checkpoint" / "uri", fix)
