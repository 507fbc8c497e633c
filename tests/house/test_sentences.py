"""Sizing gives typed reasons and notes with numbers; every sentence about a plan is in `wording`."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SIZING = Path(__file__).parents[2] / "blueprints" / "rackwright" / "sizing"
MAX_WORDS = 3
WORD = re.compile(r"[A-Za-z][a-z'-]+[,.;:]?")
EXEMPT_CALLS = {"Assumption", "assumed", "_training", "Problem", "Bug", "CatalogError"}
"""Sources and units of assumptions, problems of a spec, and errors of ours: typed values that carry their own text."""


def sentences(tree: ast.AST) -> Iterator[str]:
    """String literals of more than MAX_WORDS words that the code builds; docstrings, names of enums, EXEMPT_CALLS and sources left out."""
    for node in ast.iter_child_nodes(tree):
        is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        is_source = isinstance(node, ast.Assign) and re.search("SOURCE|OWN|FIT|LLAMA3", ast.unparse(node.targets[0]))
        is_enum = isinstance(node, ast.ClassDef) and [ast.unparse(base) for base in node.bases] == ["StrEnum"]
        if is_docstring or is_source or is_enum or (isinstance(node, ast.Call) and ast.unparse(node.func) in EXEMPT_CALLS):
            continue
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "0" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        else:
            yield from sentences(node)
            continue
        if sum(bool(WORD.fullmatch(word)) for word in text.split()) > MAX_WORDS:
            yield text


@pytest.mark.parametrize("path", sorted(SIZING.rglob("*.py")), ids=lambda path: str(path.relative_to(SIZING)))
def test_sizing_builds_no_sentences(path):
    assert list(sentences(ast.parse(path.read_text(encoding="utf-8")))) == []


def test_a_sentence_is_found():
    code = 'def f(n):\n    """A docstring of more words."""\n    return f"{n} accelerators are paid for but idle"\n'
    assert list(sentences(ast.parse(code))) == ["0 accelerators are paid for but idle"]
