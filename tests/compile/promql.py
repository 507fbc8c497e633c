"""Expressions of Prometheus: balanced brackets, known functions, and the metrics and labels that they name."""

import re

STRING = re.compile(r'"(?:[^"\\\\]|\\\\.)*"')
WORD = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*")
FUNCTIONS = {"avg", "avg_over_time", "count", "histogram_quantile", "increase", "max"}
FUNCTIONS |= {"rate", "sum", "sum_over_time", "time", "vector"}
OPERATORS = {"and", "or", "unless", "by", "without", "on", "ignoring", "group_left", "group_right"}
PAIRS = {")": "(", "]": "[", "}": "{"}
SUFFIXES = ("_bucket", "_sum", "_count")


def metrics_of(expression: str) -> set[str]:
    """Names of the metrics. Raises ValueError for unbalanced brackets, an unknown function or a window without a unit."""
    text = STRING.sub('""', expression)
    _check_brackets(text)
    for window in re.findall(r"\[([^]]*)\]", text):
        if not all(re.fullmatch(r"\d+(ms|s|m|h|d)", part) for part in window.split(":")):
            raise ValueError(f"window [{window}]")
    text = re.sub(r"\{[^}]*\}|\[[^]]*\]", "", text)
    text = re.sub(r"\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)", r"\1", text)
    found = set()
    for match in WORD.finditer(re.sub(r"\b\d[\w.]*", "", text)):
        word, called = match[0], text[match.end() :].lstrip().startswith("(")
        if word in OPERATORS:
            continue
        if word in FUNCTIONS:
            continue
        if called:
            raise ValueError(f"unknown function {word}")
        found.add(word)
    return found


def _check_brackets(text: str) -> None:
    stack: list[str] = []
    for letter in text:
        if letter in PAIRS.values():
            stack.append(letter)
        elif letter in PAIRS and (not stack or stack.pop() != PAIRS[letter]):
            raise ValueError(f"unbalanced {letter} in {text}")
    if stack:
        raise ValueError(f"open {stack} in {text}")


def base_name(metric: str) -> str:
    """The metric without the suffix of a histogram."""
    return next((metric.removesuffix(suffix) for suffix in SUFFIXES if metric.endswith(suffix)), metric)
