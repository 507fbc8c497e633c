"""`rackwright lookup`."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.files import read_bytes, write_text
from rackwright.stackplan import StackPlan

from rackwright_pulumi.lookup.account import Account, NotAnswered
from rackwright_pulumi.lookup.compare import SERVICES, Answers


def as_lines(found: Answers) -> list[str]:
    """Terminal output: differences first, each text once with every place, then checks that were not possible with the reason, then
    confirmed checks."""
    places: dict[tuple[str, str, str, str], list[str]] = {}
    for p in found.problems:
        places.setdefault((str(p.level), p.code, p.reason, p.fix), []).append(str(p.at))
    lines = [f"{level} {code}: {', '.join(at)}\n    {reason}\n    fix: {fix}" for (level, code, reason, fix), at in places.items()]
    by_reason: dict[str, list[str]] = {}
    for name, reason in found.unasked:
        by_reason.setdefault(reason, []).append(name)
    lines += [f"not checked: {', '.join(names)}\n    {reason}" for reason, names in by_reason.items()]
    lines += [f"agrees: {', '.join(found.agreed)}"] if found.agreed else []
    return [*lines, f"{len(places)} difference{'s' * (len(places) != 1)}, {len(found.agreed)} agree, {len(found.unasked)} not checked"]


def as_json(found: Answers) -> dict[str, object]:
    return {
        "problems": [problem.as_json() for problem in found.problems],
        "agreed": list(found.agreed),
        "not_checked": [{"what": what, "why": why} for what, why in found.unasked],
    }


def write_quotas(path: Path, plan: StackPlan, account: Account, today: date) -> int:
    """Write the account's quotas in the plan's region to a file for a spec's `quotas`, and keep those of other regions.

    Returns the number of quotas. Raises UserError if a call fails, or if the file has another format.
    """

    def rows() -> dict[str, dict[str, dict[str, Any]]]:
        found = {code: {"value": value, "name": name} for service in SERVICES for code, (name, value) in account.quotas(service).items()}
        return {plan.place.region: dict(sorted(found.items()))}

    return write_quota_rows(path, plan, rows, today)


def write_quota_rows(path: Path, plan: StackPlan, read: Callable[[], dict[str, dict[str, dict[str, Any]]]], today: date) -> int:
    """As `write_quotas`, of any cloud. read: region -> code -> value and name or usage; it raises NotAnswered if a call fails."""
    try:
        rows = read()
    except NotAnswered as error:
        raise UserError([Problem("K-09", f"Cannot read the quotas: {error}", fix="use credentials that can list service quotas")]) from None
    old = _old(path)
    regions = {**old.get("regions", {}), **rows}
    document = {"account": plan.place.account, "exported_on": today.isoformat(), "regions": regions}
    write_text(path, json.dumps(document, indent=1) + "\n")
    return sum(map(len, rows.values()))


def _old(path: Path) -> dict[str, dict]:
    if not path.exists():
        return {}
    try:
        found = json.loads(read_bytes(path))
        return found if isinstance(found["regions"], dict) else {}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise UserError([Problem("K-09", "The file has no quotas, and was not changed", fix="use another file name")], str(path)) from None
