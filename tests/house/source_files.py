"""Content of the repository's Python files. A process parses each file once; its tests share the xdist group `sources`."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIBRARY = ("blueprints", "components")


@dataclass(frozen=True)
class SourceFile:
    """Facts of one file. strings: line and text of each string that is not a docstring; functions: name with its classes, and lines."""

    lines: int
    docstring: str
    imports: tuple[str, ...]
    attributes_read: frozenset[str]
    strings: tuple[tuple[int, str], ...]
    functions: tuple[tuple[str, int], ...]


@cache
def python_files(*folders: str) -> tuple[Path, ...]:
    """Sorted files of folders below the root, without templates of new projects."""
    return tuple(path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")) if "template" not in path.parts)


@cache
def read(path: Path) -> SourceFile:
    """Parse one file."""
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> SourceFile:
    """An import is found anywhere in the file: `from a import b` names a and a.b, since b may be a module."""
    tree = ast.parse(text)
    imports, attributes, strings, skipped = [], set(), [], set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Load):
                attributes.add(node.attr)
        elif isinstance(node, ast.Expr):
            skipped.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            skipped.update(node.values)
            strings.append((node.lineno, "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)))
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str) and node not in skipped:  # ast.walk visits parents first
                strings.append((node.lineno, node.value))
        elif isinstance(node, ast.Import):
            imports += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports += [node.module, *(f"{node.module}.{name.name}" for name in node.names)]
    facts = (tuple(imports), frozenset(attributes), tuple(strings), tuple(_functions(tree)))
    return SourceFile(len(text.splitlines()), ast.get_docstring(tree) or "", *facts)


def _functions(node: ast.AST, stem: str = "") -> list[tuple[str, int]]:
    found = []
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            found.append((f"{stem}{child.name}", (child.end_lineno or 0) - child.lineno + 1))
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            found += _functions(child, f"{stem}{child.name}.")
    return found
