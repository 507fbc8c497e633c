"""Seeded mutation of JSON-like trees: other types, extreme numbers and dates, and deleted, renamed, repeated or swapped entries."""

import copy
import math
import re
from random import Random
from typing import Any

QUANTITY = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)( ?[a-zA-Z%].{0,20})")
NUMBERS = (0, -1, 0.5, 1e-9, 1, 2, 3, 7, 1e14, 10**14, 10**15, 2**40, 2**59, 2**63, 10**30, 10**400, 1e308, math.inf, -math.inf, math.nan)
DATES = (
    "9999-12-31T23:59:59Z",
    "9999-12-31T00:00:00-14:00",
    "0001-01-01T00:00:00+14:00",
    "2026-12-01T11:30:00Z",
    "9999-12-31",
    "0001-01-01",
)
QUANTITIES = ("0.01 USD", "1e12 USD", "5200 w", "0.001 ms", "1e6 PB", "1 B", "100 %", "0 %", "1e-6 USD / 1M tokens", "-100 USD", "100 EUR")
WORDS = ("", " ", "\x1b[2J", "\u202egpj", "auto", "none", "p5.48xlarge", "a" * 300, "ü", "[x]", "${x}", "..", "null", "1e400", "\ud800")
SHAPES = ([], {}, [[]], [None], {"": None}, {"stack": "a", "output": "b"}, None, True, False)


ACTIONS = ("set", "set", "scale", "scale", "scale", "delete", "rename", "repeat", "swap")


def mutated(tree: Any, random: Random) -> Any:
    """A copy of `tree` with one to four mutated places; in half of the copies only numbers change, so that more of them are valid."""
    tree, only_numbers = [copy.deepcopy(tree)], random.random() < 0.5
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        places = _places(tree)
        if only_numbers:
            places = [(holder, key) for holder, key in places if _scaled(holder[key], random) is not None] or places
        holder, key = random.choice(places)
        action = "scale" if only_numbers else random.choice(ACTIONS)
        if action == "scale" and (scaled := _scaled(holder[key], random)) is not None:
            holder[key] = scaled
        elif action == "delete" and isinstance(holder, dict):
            del holder[key]
        elif action == "rename" and isinstance(holder, dict):
            holder[random.choice(("<plain>", "kind", "x\x1b[1m", "id", "1"))] = holder.pop(key)
        elif action == "repeat" and isinstance(holder[key], list):
            holder[key] = holder[key] * 2
        elif action == "swap":
            other, place = random.choice(_places(tree))
            holder[key] = copy.deepcopy(other[place])
        else:
            holder[key] = copy.deepcopy(random.choice(random.choice((NUMBERS, DATES, QUANTITIES, WORDS, SHAPES))))
    return tree[0]


def _scaled(value: Any, random: Random) -> Any:
    """A number, or the number of a quantity such as `12h`, times a factor; None for other values."""
    factor = random.choice((0, -1, 1e-6, 0.001, 0.5, 2, 3, 7, 1000, 10**6, 10**9, 10**12))
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e200:
        return value * factor if isinstance(value, float) or factor >= 1 or factor in (0, -1) else int(value * factor)
    found = QUANTITY.fullmatch(value) if isinstance(value, str) else None
    return f"{float(found[1]) * factor:.12g}{found[2]}" if found else None


def _places(tree: Any) -> list[tuple[Any, Any]]:
    """Every (container, key or index) of a tree."""
    found, open_ = [], [tree]
    while open_:
        holder = open_.pop()
        for key, value in list(holder.items()) if isinstance(holder, dict) else list(enumerate(holder)):
            found.append((holder, key))
            if isinstance(value, (dict, list)):
                open_.append(value)
    return found


PIECES = (
    "{",
    "}",
    "[",
    "]",
    ":",
    ": ",
    ",",
    '"',
    "'",
    "- ",
    "&a ",
    "*a",
    "!!python/object ",
    "|",
    "#",
    "\t",
    "\r",
    "\0",
    "\ufeff",
    "\x1b[2J",
)
"""Texts with a meaning in YAML, JSON or CSV, and characters that none of them allows."""


def damaged(text: str, random: Random) -> bytes:
    """The bytes of a text with one to three damaged places: cut, removed, repeated, moved or with another piece or byte."""
    content = text.encode(errors="replace")
    for _ in range(random.choice((1, 1, 2, 3))):
        start, length = random.randrange(len(content) + 1), random.choice((1, 1, 2, 8, 80))
        before, part, after = content[:start], content[start : start + length], content[start + length :]
        content = random.choice(
            (
                before,
                before + after,
                before + part + part + after,
                before + after[:length] + part + after[length:],
                before + random.choice(PIECES).encode() + part + after,
                before + bytes([random.randrange(256)]) + after,
            )
        )
    return content
