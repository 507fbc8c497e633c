"""A plan with changed values: `pools[gpu].nics[0].kind` finds by name or key, `[+]` appends."""

import json
import re
from typing import Any

from rackwright.stackplan import StackPlan

STEP = re.compile(r"([^.\[\]]+)|\[([^\]]*)\]")


def changed(plan: StackPlan, changes: dict[str, Any]) -> StackPlan:
    data = json.loads(plan.to_json())
    for path, value in changes.items():
        _set(data, [name or f"[{index}]" for name, index in STEP.findall(path)], value)
    return StackPlan.from_json(json.dumps(data))


def _set(data: Any, steps: list[str], value: Any) -> None:
    for step in steps[:-1]:
        data = data[_key(data, step)]
    last = steps[-1]
    if last == "[+]":
        data.append(value)
    else:
        data[_key(data, last)] = value


def _key(data: Any, step: str) -> str | int:
    if not step.startswith("["):
        return step
    name = step[1:-1]
    if not isinstance(data, list):
        return name
    if name.lstrip("-").isdigit():
        return int(name)
    return next(i for i, item in enumerate(data) if isinstance(item, dict) and name in (item.get("name"), item.get("key")))
