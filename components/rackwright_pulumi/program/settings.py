"""Settings and decision of the Pulumi program, read before any resource is declared."""

from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

import pulumi
from pulumi.runtime.config import get_config
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.diagnostics.render import rendered
from rackwright.stackplan.plan import layers_of
from rackwright.units import YEARS
from rackwright.workflow.clock import clock
from rackwright.workflow.decision import decision_path, renewal
from rackwright.workflow.pipeline import Decided, Pipeline
from rackwright.workflow.stack.teardown import decide_for_teardown

BY_HAND = "run `pulumi state unprotect --all`, then `pulumi destroy`; the deletion protection of the cloud stays on"


@dataclass(frozen=True)
class Settings:
    """Config of one stack. teardown: remove every protection. simulated: use the providers of the simulated cloud.

    layers: those that this stack builds; empty for the layers of the plan. upstream_stack: the stack with the lower layers.
    """

    spec_path: Path
    today: date
    teardown: bool = False
    simulated: bool = False
    preview: bool = False
    layers: tuple[str, ...] = ()
    upstream_stack: str = ""
    now: datetime | None = None
    """Current time; None if `rackwright:today` is set."""

    @staticmethod
    def from_config(root: Path) -> "Settings":
        """`rackwright:spec` (default stacks/<stack>.yaml), `rackwright:teardown`, `rackwright:simulated`, `rackwright:today`.

        `rackwright:layers` ("operators,workloads", or a list) and `rackwright:below` ("organization/project/stack") select layers.
        Raises pulumi.RunError for an invalid value.
        """
        config = pulumi.Config("rackwright")
        today, now = clock(_day(config.get("today")))
        return Settings(
            spec_path=root / (config.get("spec") or f"stacks/{pulumi.get_stack()}.yaml"),
            today=today,
            teardown=config.get_bool("teardown") or False,
            simulated=config.get_bool("simulated") or False,
            preview=pulumi.runtime.is_dry_run(),
            now=now,
            layers=_layers(config.get("layers")),
            upstream_stack=config.get("below") or "",
        )


def _day(text: str | None) -> date | None:
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError:
        raise pulumi.RunError(f"rackwright:today is {text!r}, not a date. Set it to a date such as 2026-11-21, or remove it") from None
    if day and day.year not in YEARS:
        raise pulumi.RunError(f"rackwright:today is {text!r}. Set it to a date from {YEARS[0]} to {YEARS[-1]}, or remove it")
    return day


def _layers(text: str | None) -> tuple[str, ...]:
    try:
        return layers_of(text or "")
    except ValueError as error:
        raise pulumi.RunError(f"rackwright:layers has {error}") from None


def decide(settings: Settings) -> Decided:
    """Spec, decision and StackPlan of one stack.

    Outside the simulator an update needs a decision file that satisfies the spec; a preview shows the choice without one. A teardown
    needs neither. Raises pulumi.RunError, which Pulumi prints without a traceback, with every problem.
    """
    config = pulumi.Config("rackwright")
    pipeline = Pipeline(
        settings.spec_path,
        settings.today,
        settings.now,
        layers=settings.layers,
        upstream_stack=settings.upstream_stack,
        is_configured=lambda key: bool((get_config(config.full_key(key)) or "").strip()),  # vLLM takes an empty API key as none
    )
    try:
        decided = decide_for_teardown(pipeline) if settings.teardown else _decide(pipeline, settings)
    except UserError as error:
        hint = f"\nTo take the stack down without the program: {BY_HAND}" if settings.teardown else ""
        raise run_error(error, hint) from None
    warnings = (*_other_stack_name(decided.plan.name, settings), *decided.edits, *decided.problems)
    for text in dict.fromkeys(f"{problem.code} at {problem.at}: {problem.advice}" for problem in warnings):
        pulumi.log.warn(text)
    return decided


def _other_stack_name(name: str, settings: Settings) -> tuple[Problem, ...]:
    """A warning about a stack with another name than its spec; stacks of single layers share a spec, and have different names."""
    stack = pulumi.get_stack()
    if settings.layers or settings.teardown or stack == name:
        return ()
    reason = f"The stack is {stack}, its spec is {name}: resources are named {name}, and those of another stack with this spec conflict"
    fix = f"run `pulumi stack select {name}`, or copy {settings.spec_path.name} with `name: {stack}`"
    return (Problem("D-stack-name", reason, At() / "name", fix, Level.WARNING),)


def run_error(error: UserError, hint: str = "") -> pulumi.RunError:
    """The problems as Pulumi prints them: a list, without a traceback."""
    return pulumi.RunError("\n" + rendered(error) + hint)


def _decide(pipeline: Pipeline, settings: Settings) -> Decided:
    """Raises UserError where an update would build what is not recorded, or while an item of Before you build blocks it."""
    decided = pipeline.decide()
    if decided.unsettled and not settings.preview:
        raise UserError(decided.unsettled, str(settings.spec_path))
    if decided.recorded:
        return decided
    path = decision_path(settings.spec_path)
    if settings.preview:
        pulumi.log.warn(f"This preview shows {decided.decision.fit.label}, which is not recorded; {renewal(path, 'record')}")
    elif not settings.simulated:
        reason = f"An update needs {path.name}, because new prices could replace machines without it"
        raise UserError([Problem("D-missing", reason, fix=renewal(path, "record"))])
    return decided
