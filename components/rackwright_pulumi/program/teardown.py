"""Which machines a stack has that is to be taken down. Needs no capacity, no goal that can be met, and no decision that still stands."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pulumi
from rackwright.catalog import Catalog
from rackwright.clouds import profile
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Level, Problem
from rackwright.sizing.size import size
from rackwright.spec import Spec
from rackwright.spec.spec import Goals, Limits
from rackwright.workflow.decision import Decision, choose, read_decision
from rackwright.workflow.revalidation import revalidate

BY_HAND = "`pulumi state unprotect --all` and `pulumi destroy` need neither spec nor decision; the cloud's own deletion protection stays"


def decision_for_teardown(spec: Spec, path: Path, today: date) -> tuple[Decision, bool]:
    """(the decision by which the stack was made, whether it was recorded). A guess, with a warning, where the file is gone or broken.

    Raises UserError where any answer would make something new instead of taking down what is there.
    """
    try:
        recorded = read_decision(path)
    except UserError as error:
        pulumi.log.warn(str(error.problems[0]))
        recorded = None
    if recorded and not recorded.by_hand:
        return _placed(recorded, spec, path), True
    if recorded:
        now, found = revalidate(recorded, spec, Catalog.default(), path, today)
        if all(problem.level is Level.WARNING for problem in found):
            return now, True
    guess = _guess(spec, today)
    pulumi.log.warn(f"no decision: {guess.fit.candidate.label} is taken to be what runs; see in a preview that nothing is created")
    return guess, False


def _placed(decision: Decision, spec: Spec, path: Path) -> Decision:
    """Its entry of `infra`, which may have moved. Raises UserError when it is gone, or the stack has another name."""
    if decision.spec != spec.name:
        raise _lost(f"{path.name} is of {decision.spec}, and the spec is named {spec.name}", "put the name back")
    fit, was = decision.fit, decision.place
    for number, place in enumerate(spec.infra.places):
        account = getattr(place, profile(place.cloud).owner_field) or ""
        if place.cloud == fit.candidate.cloud and (was is None or was.account == account):
            here = replace(fit, candidate=replace(fit.candidate, place=number))
            return replace(decision, plan=replace(decision.plan, fits=(here,)))
    raise _lost(f"no place of the spec is the {fit.candidate.cloud} account the stack runs in", "put the entry of `infra` back")


def _guess(spec: Spec, today: date) -> Decision:
    """What was probably chosen: the first choice, else the first without goals and limits."""
    for asked in (spec, spec.model_copy(update={"goals": Goals(), "limits": Limits()})):
        plan = size(asked, today=today)
        if plan.fits:
            return choose(asked, plan, 1, today)
    raise _lost("without its decision nothing says which machines the stack has, and none fits the spec", "put the decision file back")


def _lost(reason: str, fix: str) -> UserError:
    return UserError([Problem("D-teardown", reason, fix=fix)])
