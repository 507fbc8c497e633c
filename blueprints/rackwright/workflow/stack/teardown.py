"""Determines the machines of a stack that is being deleted, without capacity, reachable goals or a valid decision."""

from dataclasses import replace

from rackwright.clouds import profile
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level, Problem, Stage
from rackwright.sizing.plan import Fit
from rackwright.spec.spec import Goals, Limits
from rackwright.workflow.decision import Decision, decision_path
from rackwright.workflow.pipeline import Decided, Pipeline
from rackwright.workflow.recorded.revalidation import revalidate


def decide_for_teardown(pipeline: Pipeline) -> Decided:
    """The stack as it was made, from its decision; from the probable first choice, with a warning, where the file is missing or broken.

    A file that was edited by hand and no longer satisfies the spec counts as broken. Raises UserError where any answer would create
    resources instead of removing those that exist.
    """
    problems: list[Problem] = []
    file = decision_path(pipeline.path).name
    try:
        recorded = pipeline.recorded
    except UserError as error:
        problems.append(replace(error.problems[0], level=Level.WARNING))
        recorded = None
    if recorded and not recorded.by_hand:
        return pipeline.unchecked(_placed(recorded, pipeline, file), True)
    if recorded:
        now, found = revalidate(recorded, pipeline.spec, pipeline.catalog, decision_path(pipeline.path), pipeline.today)
        if all(problem.level is Level.WARNING or problem.stage is Stage.BUILD for problem in found):
            _check_region(recorded, now, f"{file} was edited by hand")
            kept = replace(now, pins=recorded.pins, expires_on=recorded.expires_on)  # others would update what is about to be deleted
            return replace(pipeline.unchecked(kept, True), problems=tuple(replace(p, level=Level.WARNING) for p in found))
    guess, state = _first_choice(pipeline), "No decision was found"
    if recorded:
        state = f"{file} was edited by hand and no longer satisfies the spec"
        _check_region(recorded, guess, state)
    reason = f"{state}; the stack is assumed to run {guess.fit.label}"
    problems.append(Problem("D-teardown", reason, level=Level.WARNING, fix="check in a preview that nothing is created"))
    return replace(pipeline.unchecked(guess, False), problems=tuple(problems))


def _check_region(recorded: Decision, made: Decision, state: str) -> None:
    """Raises UserError where the recorded place and the machines of a decision are in other regions."""
    was, now = recorded.place, made.fit.candidate
    if was and (was.cloud, was.region) != (now.cloud, now.region):
        raise _lost(f"{state}; it records a stack in {was.region}, its teardown would be in {now.region}", "restore the file")


def _placed(decision: Decision, pipeline: Pipeline, file: str) -> Decision:
    """The decision with its present entry of `infra`.

    Raises UserError when the entry or the machine is gone, or the stack has another name.
    """
    spec, fit, was = pipeline.spec, decision.fit, decision.place
    if decision.spec != spec.name:
        raise _lost(f"{file} was recorded for {decision.spec}, not {spec.name}", "restore the name")
    names = [each.candidate.machine for each in fit.each_workload]
    if lacking := next((name for name in names if name not in pipeline.catalog.machine_by_name), ""):
        raise _lost(f"{file} names {lacking}, which the catalog of this release lacks", "use the release that recorded it")
    for number, place in enumerate(spec.infra.places):
        account = getattr(place, profile(place.cloud).owner_field) or ""
        if place.cloud == fit.candidate.cloud and (was is None or was.account in ("", account)):
            return replace(decision, plan=decision.plan.with_first(_at_place(fit, number)))
    raise _lost(f"`infra` has no entry for the {fit.candidate.cloud} account that the stack runs in", "restore the entry")


def _at_place(fit: Fit, number: int) -> Fit:
    """The fit of every workload at an entry of `infra`."""
    further = tuple(_at_place(each, number) for each in fit.further)
    return replace(fit, candidate=replace(fit.candidate, place=number), further=further)


def _first_choice(pipeline: Pipeline) -> Decision:
    """The first choice of the spec, else of the spec without goals and limits."""
    relaxed = pipeline.spec.model_copy(update={"goals": Goals(), "limits": Limits()})
    for spec in (pipeline.spec, relaxed):
        one = Pipeline.of_spec(spec, pipeline.today, pipeline.own_catalog)
        if one.plan.fits:
            return one.decision_of(1)
    raise _lost("The decision is missing and no machine fits the spec, so the stack's machines are unknown", "restore the decision file")


def _lost(reason: str, fix: str) -> UserError:
    return UserError([Problem("D-teardown", reason, fix=fix)])
