"""Candidates of a plan by name: a rank, a machine or an accelerator."""

from dataclasses import replace
from difflib import get_close_matches

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.sizing.plan import Fit, Rejected, SizingPlan
from rackwright.wording.formatting import short

NAMES_SHOWN = 6


def about(plan: SizingPlan, name: str) -> SizingPlan:
    """The plan narrowed to a rank, to the machine or accelerator of that name, else to candidates with `name` in theirs; "" is rank 1.

    `L4` is the accelerator L4, not L40S; `g6` is every machine of that family.
    """
    if not name or name.isdigit():
        rank = int(name or 1)
        return replace(plan, fits=plan.fits[rank - 1 : rank] if rank else (), rejected=() if name else plan.rejected)
    wanted = name.lower()

    def named(item: Fit | Rejected) -> bool:
        c = item.candidate
        return wanted in (c.machine.lower(), c.accelerator.lower(), short(c.accelerator).lower(), c.accelerator.lower().split()[-1])

    def similar(item: Fit | Rejected) -> bool:
        return wanted in f"{item.candidate.machine} {item.candidate.accelerator} {item.candidate.label}".lower()

    matches = named if any(map(named, (*plan.fits, *plan.rejected))) else similar
    return replace(plan, fits=tuple(filter(matches, plan.fits)), rejected=tuple(filter(matches, plan.rejected)))


def named_candidates(plan: SizingPlan, name: str) -> SizingPlan:
    """As `about`. Raises UserError where no candidate has the name, with the names that exist."""
    part = about(plan, name)
    if name and not (part.fits or part.rejected):
        raise _unknown(plan, name)
    return part


def named_candidate(plan: SizingPlan, name: str) -> Fit | Rejected:
    """The best fit of a name, else its nearest rejected candidate. Raises UserError as `named_candidates`."""
    part = about(plan, name)
    if not (part.fits or part.rejected):
        raise _unknown(plan, name)
    return (*part.fits, *part.rejected)[0]


def _unknown(plan: SizingPlan, name: str) -> UserError:
    return UserError([Problem("C-candidate", f"no candidate of this plan has rank or name {name!r}", fix=_existing(plan, name))])


def _existing(plan: SizingPlan, name: str) -> str:
    """`ranks 1 to 24; machines g6.xlarge, ...; accelerators L4, ...`: the nearest names first, the rest as a number."""
    items = (*plan.fits, *plan.rejected)
    machines = list(dict.fromkeys(item.candidate.machine for item in items))
    cards = list(dict.fromkeys(short(item.candidate.accelerator) for item in items))
    ranks = [f"rank 1 to {len(plan.fits)}"] if plan.fits else []
    lists = [f"{what} {_nearest(name, names)}" for what, names in (("a machine:", machines), ("an accelerator:", cards)) if names]
    return f"name {'; '.join((*ranks, *lists))}"


def _nearest(name: str, names: list[str]) -> str:
    near = get_close_matches(name.lower(), names, n=NAMES_SHOWN, cutoff=0.5)
    first = [*near, *(other for other in names if other not in near)][:NAMES_SHOWN]
    more = f" and {len(names) - len(first)} more" if len(names) > len(first) else ""
    return ", ".join(first) + more
