"""What the Pulumi program is asked to do: config and decision, before anything is built."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

import pulumi
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.diagnostics.render import rendered
from rackwright.stackplan import LAYERS
from rackwright.workflow.decision import decision_path, renewal
from rackwright.workflow.pipeline import Decided, Pipeline
from rackwright.workflow.teardown import decide_for_teardown

BY_HAND = "`pulumi state unprotect --all` and `pulumi destroy` need neither spec nor decision; the cloud's own deletion protection stays"


@dataclass(frozen=True)
class Settings:
    """Config of one stack. teardown lifts every protection; simulated: the providers are the simulated cloud's; today: the clock.

    layers: those this stack builds, none named: the plan's own; below: the stack that exports those under them.
    """

    spec_path: Path
    today: date
    teardown: bool = False
    simulated: bool = False
    preview: bool = False
    layers: tuple[str, ...] = ()
    below: str = ""
    now: datetime | None = None
    """The moment, where the day is not set by hand."""

    @staticmethod
    def from_config(root: Path) -> "Settings":
        """`rackwright:spec` (default stacks/<stack>.yaml), `rackwright:teardown`, `rackwright:simulated`, `rackwright:today`.

        `rackwright:layers` ("operators,workloads", or a list) and `rackwright:below` ("organization/project/stack"): only some layers.
        Raises pulumi.RunError on a value that cannot be read.
        """
        config = pulumi.Config("rackwright")
        return Settings(
            spec_path=root / (config.get("spec") or f"stacks/{pulumi.get_stack()}.yaml"),
            today=_day(config.get("today")),
            teardown=config.get_bool("teardown") or False,
            simulated=config.get_bool("simulated") or False,
            preview=pulumi.runtime.is_dry_run(),
            now=None if config.get("today") else datetime.now(UTC),
            layers=_layers(config.get("layers")),
            below=config.get("below") or "",
        )


def _day(text: str | None) -> date:
    try:
        return date.fromisoformat(text) if text else date.today()
    except ValueError:
        raise pulumi.RunError(f"rackwright:today is {text!r}; write a date such as 2026-11-21, or leave it out") from None


def _layers(text: str | None) -> tuple[str, ...]:
    """Names in a list of JSON, which Pulumi makes of a list in its file, or between commas; in their own order whatever the text's."""
    named = {name for name in re.split(r'[\s,\[\]"]+', text or "") if name}
    unknown = named - set(LAYERS)
    if unknown:
        raise pulumi.RunError(f"rackwright:layers names {', '.join(sorted(unknown))}; layers are {', '.join(LAYERS)}")
    return tuple(layer for layer in LAYERS if layer in named)


def decide(settings: Settings) -> Decided:
    """Spec, decision and StackPlan of one stack.

    Outside the simulator an update needs the decision file, and one that the spec still agrees with; a preview shows what would be
    chosen. With teardown neither matters. Raises pulumi.RunError, which Pulumi prints without a traceback, with every problem.
    """
    config = pulumi.Config("rackwright")
    pipeline = Pipeline(
        settings.spec_path,
        settings.today,
        settings.now,
        layers=settings.layers,
        below=settings.below,
        is_configured=lambda key: config.get_secret(key) is not None,
    )
    try:
        decided = decide_for_teardown(pipeline) if settings.teardown else _decide(pipeline, settings)
    except UserError as error:
        hint = f"\nto take the stack down all the same: {BY_HAND}" if settings.teardown else ""
        raise run_error(error, hint) from None
    for problem in (*decided.edits, *decided.problems):
        pulumi.log.warn(str(problem))
    return decided


def run_error(error: UserError, hint: str = "") -> pulumi.RunError:
    """The problems as Pulumi prints them: a list, without a traceback."""
    return pulumi.RunError("\n" + rendered(error) + hint)


def _decide(pipeline: Pipeline, settings: Settings) -> Decided:
    """Raises UserError where an update would build what is not recorded, or while an open item stops it."""
    decided = pipeline.decide()
    if decided.unsettled and not settings.preview:
        raise UserError(decided.unsettled, str(settings.spec_path))
    if decided.recorded:
        return decided
    path = decision_path(settings.spec_path)
    if settings.preview:
        pulumi.log.warn(f"this preview chose {decided.decision.fit.candidate.label}; the choice is not recorded: {renewal(path, 'record')}")
    elif not settings.simulated:
        reason = f"an update needs {path.name}, so that a new price list never replaces machines"
        raise UserError([Problem("D-missing", reason, fix=renewal(path, "record"))])
    return decided
