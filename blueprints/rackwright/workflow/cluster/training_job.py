"""The job of a decided stack: compile/jobs with the files that a command names."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from rackwright.compile.jobs.job_context import JobContext
from rackwright.compile.jobs.write_job import Job, job_of
from rackwright.compile.mirror import with_mirrored_images
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.validation.spec_paths import in_spec
from rackwright.workflow.decided import Decided
from rackwright.workflow.pipeline import Pipeline
from rackwright.workflow.stack.outputs import read_outputs


def training_job(pipeline: Pipeline, decided: Decided, name: str = "", outputs: Path | None = None) -> Job:
    """The JobSet of the decided machines. name: default that of the workload. outputs: a file of the stack's outputs.

    Raises UserError with lines of the spec.
    """
    known: dict[str, Any] = read_outputs(outputs) if outputs else {}
    decision = decided.decision
    place = decision.fit.candidate.place
    context = JobContext(
        decided.spec,
        decision.plan,
        decision.fit,
        pipeline.catalog,
        decided.plan,
        name or decided.spec.workload.name,
        known,
        str(pipeline.path),
    )
    try:
        made = job_of(context)
    except UserError as error:
        raise UserError(_marked(error.problems, pipeline, place), str(pipeline.path)) from None
    registry = decided.spec.registry
    body = with_mirrored_images(made.body, registry) if registry else made.body
    return replace(made, body=body, warnings=_marked(made.warnings, pipeline, place))


def _marked(problems: tuple[Problem, ...], pipeline: Pipeline, place: int) -> tuple[Problem, ...]:
    """The problems with their lines in the spec."""
    return in_spec(problems, pipeline.spec, place, text=pipeline.content)
