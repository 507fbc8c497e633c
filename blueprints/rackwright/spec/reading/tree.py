"""YAML text -> a tree with the line of each value. Events are read one by one, so neither depth nor aliases cost memory.

Plain values follow the core schema of YAML 1.2 (as editors do): `no` is text, dates are text, `0123` is a number.
"""

import re
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import yaml

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import BREAK, At, Mark, Problem
from rackwright.spec.reading.source import FORBIDDEN

MOST_VALUES = 20_000
"""Values after every alias is written out; the longest real spec has some hundreds."""
DEEPEST = 50
"""Nested levels; a spec needs 9."""
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
NULL, TRUE, FALSE = ({"", "~", "null", "Null", "NULL"}, {"true", "True", "TRUE"}, {"false", "False", "FALSE"})
INTEGER = re.compile(r"[-+]?[0-9]{1,300}|0o[0-7]{1,300}|0x[0-9a-fA-F]{1,300}")
FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")


@dataclass
class YamlNode:
    """One value: plain, list of nodes, or mapping name -> node. `size` counts the values in it."""

    mark: Mark
    value: "str | int | float | bool | list[YamlNode] | dict[str, YamlNode] | None" = None
    keys: dict[str, Mark] = field(default_factory=dict)
    size: int = 1

    def plain(self) -> object:
        """The value as Python data."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        return [node.plain() for node in self.value] if isinstance(self.value, list) else self.value

    def nearest(self, at: At, key: bool = False) -> Mark:
        """Position of the value at `at`, or of its nearest parent in the file; with `key`, position of the key."""
        node, mark = self, self.mark
        for step in at.steps:
            child = node.child(step)
            if child is None:
                return mark
            mark = node.keys[step] if key and step in node.keys else child.mark
            node = child
        return mark

    def child(self, step: str | int) -> "YamlNode | None":
        if isinstance(self.value, dict):
            return self.value.get(str(step))
        return self.value[step] if isinstance(self.value, list) and isinstance(step, int) and step < len(self.value) else None


def parse(text: str, source: str) -> tuple[YamlNode, list[Problem]]:
    """The tree, and its YAML problems that do not prevent reading: duplicate keys, tags, merge keys.

    Raises UserError where nothing can be read: syntax, depth, too many values, an empty file, several documents.
    """
    reader = _Reader(text)
    try:
        root = reader.document()
    except yaml.MarkedYAMLError as error:
        raise UserError([_syntax(error, text)], source) from None
    except yaml.YAMLError as error:
        raise UserError([Problem("S-syntax", f"Not valid YAML: {error}")], source) from None
    except _StopError as stop:
        raise UserError([stop.problem], source) from None
    finally:
        reader.loader.dispose()
    if root is None or root.value is None:
        raise UserError([Problem("S-empty", "The file contains no spec", fix="copy one of stacks/, or run `rackwright new`")], source)
    return root, reader.problems


class _StopError(Exception):
    def __init__(self, problem: Problem):
        self.problem = problem


class _Reader:
    """Recursive descent over parser events; DEEPEST bounds it."""

    def __init__(self, text: str):
        self.loader = LOADER(text)
        self.problems: list[Problem] = []
        self.anchors: dict[str, YamlNode | None] = {}
        self.values = 0

    def document(self) -> YamlNode | None:
        self.loader.get_event()  # start of the stream
        if not self.loader.check_event(yaml.DocumentStartEvent):
            return None
        self.loader.get_event()
        root = self._node(At())
        self.loader.get_event()  # end of the document
        if self.loader.check_event(yaml.DocumentStartEvent):
            second = self.loader.peek_event()
            self._stop("S-documents", "The file contains more than one YAML document", second, "split the file at `---`")
        return root

    def _node(self, at: At) -> YamlNode:
        event = self.loader.get_event()
        self._count(1, event)
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event, at)
        if event.anchor:
            self.anchors[event.anchor] = None
        if event.tag not in (None, "!"):
            self._wrong("S-tag", f"YAML tag {event.tag} is not supported", event, at, "remove the tag")
        if isinstance(event, yaml.ScalarEvent):
            if found := FORBIDDEN.search(event.value):
                self._wrong("S-encoding", f"The text contains the control character U+{ord(found[0]):04X}", event, at, "remove it")
            node = YamlNode(_mark(event), resolve(event.value) if event.implicit[0] else event.value)
        else:
            if len(at.steps) >= DEEPEST:
                self._stop("S-depth", f"The file is nested more than {DEEPEST} levels deep", event)
            node = self._sequence(event, at) if isinstance(event, yaml.SequenceStartEvent) else self._mapping(event, at)
        if event.anchor:
            self.anchors[event.anchor] = node
        return node

    def _alias(self, event: Any, at: At) -> YamlNode:
        node = self.anchors.get(event.anchor)
        if node is None:
            why = "is inside its own anchor" if event.anchor in self.anchors else "has no anchor before it"
            self._stop("S-alias", f"Alias *{event.anchor} {why}", event)
        self._count(node.size - 1, event)
        return replace(node, mark=_mark(event))

    def _sequence(self, event: Any, at: At) -> YamlNode:
        items: list[YamlNode] = []
        while not self.loader.check_event(yaml.SequenceEndEvent):
            items.append(self._node(at / len(items)))
        self.loader.get_event()
        return YamlNode(_mark(event), items, size=1 + sum(item.size for item in items))

    def _mapping(self, event: Any, at: At) -> YamlNode:
        node, inside = YamlNode(_mark(event), {}), {}
        while not self.loader.check_event(yaml.MappingEndEvent):
            start = self.loader.peek_event()
            key = self._key(start, at)
            value = self._node(at / ("?" if key is None else key))
            node.size += value.size
            if key is None:
                continue
            if key in inside:
                reason = f"`{key}` is already set on line {node.keys[key].line}"
                self._wrong("S-duplicate-key", reason, start, at / key, "keep one")
            else:
                node.keys[key], inside[key] = _mark(start), value
        self.loader.get_event()
        node.value = inside
        return node

    def _key(self, start: Any, at: At) -> str | None:
        """Reads the key that starts with `start`; None when it cannot be one."""
        self._node(at / "?")
        if not isinstance(start, yaml.ScalarEvent):
            self._wrong("S-key", "A key must be plain text, not a list, mapping or alias", start, at)
            return None
        if start.value == "<<" and start.implicit[0]:
            self._wrong("S-merge", "Merge keys (`<<`) are not supported", start, at / "<<", "write the keys out")
            return None
        return start.value

    def _count(self, values: int, event: yaml.Event) -> None:
        self.values += values
        if self.values > MOST_VALUES:
            self._stop("S-too-many", f"The file has more than {MOST_VALUES:,} values after aliases are expanded", event)

    def _wrong(self, code: str, reason: str, event: Any, at: At, fix: str = "") -> None:
        self.problems.append(Problem(code, reason, at=at, fix=fix, mark=_mark(event)))

    def _stop(self, code: str, reason: str, event: Any, fix: str = "") -> NoReturn:
        raise _StopError(Problem(code, reason, fix=fix, mark=_mark(event)))


def resolve(text: str) -> str | int | float | bool | None:
    """The value of a plain scalar."""
    if text in NULL:
        return None
    if text in TRUE or text in FALSE:
        return text in TRUE
    if INTEGER.fullmatch(text):
        return int(text, 0 if text[:2] in ("0o", "0x") else 10)
    return float(text.replace(".inf", "inf").replace(".nan", "nan")) if FLOAT.fullmatch(text) else text


def _mark(event: Any) -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)


def _syntax(error: yaml.MarkedYAMLError, text: str) -> Problem:
    found: Any = error.problem_mark or error.context_mark
    lines = BREAK.split(text)
    line = lines[found.line] if found.line < len(lines) else ""
    mark = Mark(min(found.line + 1, len(lines)), found.column + 1)
    if line[: found.column + 1].strip(" ").startswith("\t"):
        return Problem("S-syntax", "The line is indented with a tab; YAML allows spaces only", fix="replace the tab with spaces", mark=mark)
    start: Any = error.context_mark
    opened = f" (opened on line {start.line + 1})" if start and start.line != found.line else ""
    context = f"{error.context}{opened}: " if error.context else ""
    value = line.partition(": ")[2]
    needs_quotes = value[:1] in tuple("@`%&*!|>") or ": " in value
    fix = "put quotes around a value that contains a colon, or starts with one of @ ` % & * ! | >" if needs_quotes else ""
    return Problem("S-syntax", f"Not valid YAML: {context}{error.problem}", fix=fix, mark=mark)
