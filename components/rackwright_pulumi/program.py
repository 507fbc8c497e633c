"""What the Pulumi program is asked to do: config and decision, before anything is built."""

from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pulumi

from rackwright import catalog as hardware
from rackwright.compile import compile_plan
from rackwright.compile.wants import StackPlan
from rackwright.cost import Bill, bill
from rackwright.decision import Decision, choose, decision_path, read_decision, renew, verify
from rackwright.errors import UserError
from rackwright.problems import Level, Problem
from rackwright.report.problems_text import rendered
from rackwright.rules import check
from rackwright.sizing import size
from rackwright.spec import Spec, load


@dataclass(frozen=True)
class Settings:
    """Config of one stack. teardown lifts every protection; simulated: the providers are the simulated cloud's; today: the clock."""

    spec_path: Path
    teardown: bool = False
    simulated: bool = False
    preview: bool = False
    today: date = date(1970, 1, 1)

    @staticmethod
    def from_config(root: Path) -> "Settings":
        """`rackwright:spec` (default stacks/<stack>.yaml), `rackwright:teardown`, `rackwright:simulated`, `rackwright:today`."""
        config = pulumi.Config("rackwright")
        today = config.get("today")
        return Settings(
            spec_path=root / (config.get("spec") or f"stacks/{pulumi.get_stack()}.yaml"),
            teardown=config.get_bool("teardown") or False,
            simulated=config.get_bool("simulated") or False,
            preview=pulumi.runtime.is_dry_run(),
            today=date.fromisoformat(today) if today else date.today(),
        )


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
        raise pulumi.RunError("\n" + rendered(error)) from None


def _decide(settings: Settings) -> Decided:
    spec = load(settings.spec_path)
    path = decision_path(settings.spec_path)
    recorded = read_decision(path)
    decision = recorded or _choice(spec, settings)
    if recorded is None:
        _tell_unrecorded(decision, path, settings)
    elif not settings.teardown:
        _stop_if_stale(recorded, spec, path)
    plan = compile_plan(spec, decision.plan, decision.fit, today=settings.today, pins=decision.pins, expires_on=decision.expires_on)
    if not settings.teardown:
        _stop_on_errors(check(plan), settings.spec_path)
    costs = bill(plan, decision.fit, spec, hardware.default())
    return Decided(spec, decision, plan, costs, recorded is not None)


def _choice(spec: Spec, settings: Settings) -> Decision:
    plan = size(spec, hardware.default(), today=settings.today)
    if not plan.fits:
        nearest = "; ".join(f"{miss.candidate.label}: {miss.rejections[0]}" for miss in plan.rejected[:3])
        raise UserError([Problem("D-no-fit", f"no machine meets every goal. Nearest: {nearest}", fix="run `rackwright plan`")])
    return choose(spec, plan, 1, settings.today)


def _tell_unrecorded(decision: Decision, path: Path, settings: Settings) -> None:
    chosen = decision.fit.candidate.label
    if settings.preview:
        pulumi.log.warn(f"This preview chose {chosen}; the choice is not recorded. Record it: {renew(path)}")
    elif not settings.simulated and not settings.teardown:
        fix = renew(path).replace("renew", "record")
        raise UserError([Problem("D-missing", f"an update needs {path.name}, so that a new price list never replaces machines", fix=fix)])


def _stop_if_stale(decision: Decision, spec: Spec, path: Path) -> None:
    found = verify(decision, spec, hardware.default())
    if found:
        fix = renew(path)
        raise UserError([Problem("D-stale", str(difference), fix=fix) for difference in found], source=path.name)


def _stop_on_errors(problems: list[Problem], spec_path: Path) -> None:
    for problem in problems:
        if problem.level is Level.WARNING:
            pulumi.log.warn(str(problem))
    errors = [problem for problem in problems if problem.level is Level.ERROR]
    if errors:
        raise UserError(errors, source=spec_path.name)


