"""What the Pulumi program is asked to do: config and decision, before anything is built."""

import re
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

import pulumi
from rackwright.catalog import Catalog
from rackwright.cost import Bill, bill, check_budget
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.excerpt import rendered
from rackwright.diagnostics.problem import Level, Problem
from rackwright.report.rejections import rejection_text
from rackwright.sizing.size import size
from rackwright.spec import Spec, load
from rackwright.spec.quotas import known_quotas
from rackwright.stackplan import LAYERS, StackPlan
from rackwright.validation.stack import check, check_quota
from rackwright.workflow.decision import Decision, choose, compiled, decision_path, read_decision, renewal
from rackwright.workflow.revalidation import revalidate

from rackwright_pulumi.program.teardown import BY_HAND, decision_for_teardown


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


@dataclass(frozen=True)
class Decided:
    """Everything the build reads."""

    spec: Spec
    decision: Decision
    plan: StackPlan
    bill: Bill
    recorded: bool


def decide(settings: Settings) -> Decided:
    """Spec, decision and StackPlan of one stack.

    Outside the simulator an update needs the decision file, and one that the spec still agrees with; a preview shows what would be
    chosen. With teardown neither matters. Raises pulumi.RunError, which Pulumi prints without a traceback, with every problem.
    """
    try:
        return _decide(settings)
    except UserError as error:
        hint = f"\nto take the stack down all the same: {BY_HAND}" if settings.teardown else ""
        raise run_error(error, hint) from None


def run_error(error: UserError, hint: str = "") -> pulumi.RunError:
    """The problems as Pulumi prints them: a list, without a traceback."""
    return pulumi.RunError("\n" + rendered(error) + hint)


def _decide(settings: Settings) -> Decided:
    spec = load(settings.spec_path)
    path = decision_path(settings.spec_path)
    decision, recorded = decision_for_teardown(spec, path, settings.today) if settings.teardown else _decision(spec, path, settings)
    plan = compiled(decision, spec, settings.today, settings.now)
    plan = replace(plan, layers=settings.layers or plan.layers, below=settings.below)
    costs = bill(plan, decision.fit, spec, Catalog.default())
    if not settings.teardown:
        rules = check(plan, [entry.rule for entry in spec.acknowledge])
        chosen = decision.fit.candidate
        short = check_quota(plan, known_quotas(spec, chosen.place, chosen.region))
        _stop_on_errors([*rules, *short, *check_budget(costs, plan, decision.fit, spec)], settings.spec_path)
    return Decided(spec, decision, plan, costs, recorded)


def _decision(spec: Spec, path: Path, settings: Settings) -> tuple[Decision, bool]:
    """(what is recorded, as the spec reads now, or what would be chosen; whether it is recorded)."""
    recorded = read_decision(path)
    if recorded is None:
        made = _choice(spec, settings)
        _tell_unrecorded(made, path, settings)
        return made, False
    now, found = revalidate(recorded, spec, Catalog.default(), path, settings.today)
    _stop_on_errors(found, path)
    return now, True


def _choice(spec: Spec, settings: Settings) -> Decision:
    plan = size(spec, today=settings.today)
    if not plan.fits:
        nearest = "; ".join(f"{miss.candidate.label}: {rejection_text(miss.rejections[0])}" for miss in plan.rejected[:3])
        reason = f"no machine meets every goal. Nearest: {nearest}"
        raise UserError([Problem("D-no-fit", reason, fix=f"run `rackwright plan {settings.spec_path.name}`")])
    return choose(spec, plan, 1, settings.today)


def _tell_unrecorded(decision: Decision, path: Path, settings: Settings) -> None:
    if settings.preview:
        pulumi.log.warn(f"this preview chose {decision.fit.candidate.label}; the choice is not recorded: {renewal(path, 'record')}")
    elif not settings.simulated:
        reason = f"an update needs {path.name}, so that a new price list never replaces machines"
        raise UserError([Problem("D-missing", reason, fix=renewal(path, "record"))])


def _stop_on_errors(problems: list[Problem], source: Path) -> None:
    for problem in problems:
        if problem.level is Level.WARNING:
            pulumi.log.warn(str(problem))
    errors = [problem for problem in problems if problem.level is Level.ERROR]
    if errors:
        raise UserError(errors, source=str(source))
