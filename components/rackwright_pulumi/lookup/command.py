"""`rackwright lookup`."""

import json
from datetime import date
from pathlib import Path

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.stackplan import StackPlan

from rackwright_pulumi.lookup.account import Account, NotAnswered
from rackwright_pulumi.lookup.compare import SERVICES, Answers


def as_lines(found: Answers) -> list[str]:
    """What is said on a terminal: differences first, then what was not checked and why, then what agrees."""
    lines = [f"{p.level} {p.code}: {p.at}\n    {p.reason}\n    fix: {p.fix}" for p in found.problems]
    by_reason: dict[str, list[str]] = {}
    for what, why in found.unasked:
        by_reason.setdefault(why, []).append(what)
    lines += [f"not checked: {', '.join(whats)}\n    {why}" for why, whats in by_reason.items()]
    lines += [f"agrees: {', '.join(found.agreed)}"] if found.agreed else []
    return [*lines, f"{len(found.problems)} differences, {len(found.agreed)} agree, {len(found.unasked)} not checked; nothing was changed"]


def as_json(found: Answers) -> dict[str, object]:
    return {
        "problems": [problem.as_json() for problem in found.problems],
        "agreed": list(found.agreed),
        "not_checked": [{"what": what, "why": why} for what, why in found.unasked],
    }


def write_quotas(path: Path, plan: StackPlan, account: Account, today: date) -> int:
    """Writes what the account grants in the plan's region, in the form a spec's `quotas` reads; quotas of other regions in it stay.

    Returns how many were written. Raises UserError when the account does not answer, or the file is of something else.
    """
    try:
        rows = {code: {"value": value, "name": name} for service in SERVICES for code, (name, value) in account.quotas(service).items()}
    except NotAnswered as silence:
        raise UserError(
            [Problem("K-09", f"quotas cannot be read: {silence}", fix="use credentials that may list service quotas")]
        ) from None
    old = _old(path)
    regions = {**old.get("regions", {}), plan.place.region: dict(sorted(rows.items()))}
    written = {"account": plan.place.account, "exported_on": today.isoformat(), "regions": regions}
    path.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
    return len(rows)


def _old(path: Path) -> dict[str, dict]:
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_bytes())
        return found if isinstance(found["regions"], dict) else {}
    except (ValueError, KeyError, TypeError):
        raise UserError([Problem("K-09", "the file is not one of quotas, and is left as it is", fix="name another")], str(path)) from None
