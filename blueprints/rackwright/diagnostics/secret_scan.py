"""Finds where a YAML file has secrets: by parser events, and by lines from where the file is not YAML."""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import yaml

from rackwright.diagnostics.secrets import is_secret_name, is_secret_text

MAX_EVENTS = 100_000
"""Events of a longer file are not read; its lines are searched instead."""
MAX_DEPTH = 100
"""Open collections; deeper files are searched by lines."""
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
INDENT = re.compile(r"[ \t]*")
STARTS_IN_LINE = re.compile(
    r"([\w.-]+)[\"']?\s*[:=]|(&\w|-[\w-]*(?:key|token|secret|passw(?:or)?d|passphrase|credentials?)[\"']?[\s,])", re.IGNORECASE
)
"""A key or variable; an anchor, because its value may be used as a secret; a command-line option."""
OPTION = re.compile(r"(key|token|secret|passw(or)?d|passphrase|credentials?)$", re.IGNORECASE)
"""End of a command-line option whose value is the next argument."""
TOP_LEVEL_KEY = re.compile(r"[a-z_]+:(\s|$)")
MEMBER_NAME = re.compile(r"[A-Za-z_]{1,12}")
"""A key inside the entry of a secret that can be printed: `secret`, `config`, or one that is misspelt."""


REFERENCE_KEYS = ("secret", "config")
REFERENCE = re.compile(r"(?=.{2,32}$)(?:[A-Za-z][a-z]+|[A-Z]{2,})(?:[-_.:]?(?:[A-Za-z][a-z]+|[A-Z]{2,})){0,4}[-_]?\d{0,2}")
"""A name made of words, as hf-token or hfToken. The name in `{secret: NAME}` and `{config: KEY}` is printed where it has this form."""


@dataclass
class SecretSpans:
    """values: texts that are never printed; names: keys of the file, which are; cuts: line (0-based) -> first hidden column of it."""

    values: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    cuts: dict[int, int] = field(default_factory=dict)

    def cut(self, line: int, column: int) -> None:
        self.cuts[line] = min(column, self.cuts.get(line, column))


@dataclass
class _Frame:
    """An open collection. secret: everything in it is hidden; env: its keys name variables; key: the scalar whose value comes next."""

    mapping: bool
    secret: bool
    env: bool
    anchor: str | None
    key: Any = None
    option: bool = False


def secret_spans(lines: list[str]) -> SecretSpans:
    """Every secret of a file, also of one that cannot be parsed to its end."""
    scan = _EventScan(lines)
    if not scan.run("\n".join(lines)):
        _scan_lines(lines, scan.spans)
    return scan.spans


class _EventScan:
    """Walks parser events; no alias is expanded."""

    def __init__(self, lines: list[str]):
        self.lines, self.spans = lines, SecretSpans()
        self.frames: list[_Frame] = []
        self.anchored: dict[str, list[Any]] = {}
        self.open_anchors: list[str] = []

    def run(self, text: str) -> bool:
        """Whether the whole file could be read."""
        try:
            loader = LOADER(text)
            for _ in range(MAX_EVENTS):
                event = loader.get_event()
                if isinstance(event, yaml.StreamEndEvent) or len(self.frames) > MAX_DEPTH:
                    return isinstance(event, yaml.StreamEndEvent)
                self._take(event)
        except (yaml.YAMLError, ValueError):
            return False
        return False

    def _take(self, event: Any) -> None:
        frame = self.frames[-1] if self.frames else None
        if isinstance(event, yaml.CollectionEndEvent):
            closed = self.frames.pop()
            if closed.anchor:
                self.open_anchors.remove(closed.anchor)
        elif isinstance(event, yaml.NodeEvent) and frame and frame.mapping and frame.key is None:
            self._key(event, frame)
        elif isinstance(event, yaml.NodeEvent):
            self._value(event, frame)
            if frame:
                frame.key = None

    def _key(self, event: Any, frame: _Frame) -> None:
        frame.key = event
        if not isinstance(event, yaml.ScalarEvent):
            self._value(event, frame)
            return
        if not frame.secret:
            self.spans.names.add(event.value)
            return
        line, column = event.end_mark.line, event.end_mark.column
        rest = self.lines[line][column:].lstrip(" \t\"'") if line < len(self.lines) else ""
        depth = sum(each.secret for each in self.frames)
        if not rest.startswith(":") or (depth > 1 and not MEMBER_NAME.fullmatch(event.value)):
            self._hide(event)
        else:
            self.spans.names.add(event.value)

    def _value(self, event: Any, frame: _Frame | None) -> None:
        key = frame.key if frame else None
        name = key.value if isinstance(key, yaml.ScalarEvent) else ""
        env = bool(frame and frame.env)
        secret = bool(
            frame and (frame.secret or frame.option or (frame.mapping and is_secret_name(name, env)) or (env and name == "value"))
        )
        if isinstance(event, yaml.CollectionStartEvent):
            self.frames.append(_Frame(isinstance(event, yaml.MappingStartEvent), secret, env or name == "env", event.anchor))
            if event.anchor:
                self.open_anchors.append(event.anchor)
                self.anchored[event.anchor] = []
            return
        if isinstance(event, yaml.ScalarEvent):
            for anchor in (*self.open_anchors, *filter(None, [event.anchor])):
                self.anchored.setdefault(anchor, []).append(event)
            secret = secret or is_secret_text(event.value)
        if secret and not self._is_reference(name, event):
            self._hide(event, key)
        if frame:
            text = event.value if isinstance(event, yaml.ScalarEvent) else ""
            frame.option = not frame.mapping and text.startswith("-") and "=" not in text and OPTION.search(text) is not None

    def _is_reference(self, name: str, event: Any) -> bool:
        """Whether the scalar is the name in `{secret: NAME}` or `{config: KEY}` inside the entry of a secret."""
        inside = len(self.frames) > 1 and self.frames[-2].secret and self.frames[-1].mapping
        named = inside and name in REFERENCE_KEYS and isinstance(event, yaml.ScalarEvent) and REFERENCE.fullmatch(event.value)
        return bool(named) and not is_secret_text(event.value)

    def _hide(self, event: Any, key: Any = None) -> None:
        if isinstance(event, yaml.AliasEvent):
            for scalar in self.anchored.get(event.anchor, ()):
                self._hide(scalar)
            self.spans.values |= {f"*{event.anchor}"} if event.anchor not in self.anchored else set()
        else:
            self.spans.values |= {event.value, *filter(None, [event.tag])}
            for convert in (int, lambda digits: int(digits, 0), float):  # a number can be printed in another form
                with suppress(ValueError):
                    self.spans.values.add(str(convert(event.value)))
        start, end = event.start_mark, event.end_mark
        if key is not None and key.end_mark.line < start.line:
            self.spans.cut(key.end_mark.line, key.end_mark.column)
            start = key.end_mark
        else:
            self.spans.cut(start.line, start.column)
        for line in range(start.line + 1, end.line + (end.column > 0)):
            self.spans.cut(line, 0)


def _scan_lines(lines: list[str], spans: SecretSpans) -> None:
    """Hides the rest of each line after a secret name, and the lines that continue it, by indentation, open brackets and quotes."""
    indent, depth, quotes, inside = 0, 0, 0, False
    for number, line in enumerate(lines):
        start = INDENT.match(line).end()  # ty: ignore
        continues = not line.strip() or start > indent or depth > 0 or line[start:].startswith("-")
        inside = inside and (quotes % 2 == 1 or (continues and not TOP_LEVEL_KEY.match(line)))
        if inside:
            spans.cut(number, start)
            depth += _brackets(line)
            quotes += _quotes(line)
        elif found := next((m for m in STARTS_IN_LINE.finditer(line) if m[2] or m[1] == "env" or is_secret_name(m[1])), None):
            rest = line[found.end() :]
            inside, indent, depth, quotes = True, start, _brackets(line), _quotes(rest)
            spans.cut(number, len(line) - len(rest.lstrip()))


def _brackets(line: str) -> int:
    return sum(line.count(c) for c in "{[") - sum(line.count(c) for c in "}]")


def _quotes(text: str) -> int:
    return text.count('"') + text.count("'")
