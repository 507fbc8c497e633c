"""Text of a file. Files that are too large or not UTF-8 text are refused before parsing."""

import re
from difflib import get_close_matches
from pathlib import Path

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import BREAK, Mark, Problem
from rackwright.files import FileTooLargeError, NotRegularFileError, read_bytes

LARGEST_BYTES = 1_000_000
"""A spec has some kilobytes; a larger file is something else."""
FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x84\x86-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that YAML 1.2 does not allow in a file (section 5.1, c-printable)."""


def read_file(path: Path, most_bytes: int = LARGEST_BYTES) -> str:
    """The text of `path`. Raises UserError: missing, no file, unreadable, too large, not UTF-8."""
    try:
        content = read_bytes(path, most_bytes)
    except FileTooLargeError as error:
        raise too_large(error.size_bytes, str(path), most_bytes) from None
    except OSError as error:
        raise _unreadable(path, error) from None
    return decode(content, str(path), most_bytes)


def decode(content: bytes, source: str, most_bytes: int = LARGEST_BYTES) -> str:
    """Raises UserError when `content` is too large or not UTF-8; a byte-order mark is dropped."""
    if len(content) > most_bytes:
        raise too_large(len(content), source, most_bytes)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig", "replace")
        guess = "UTF-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "Latin-1 or Windows-1252"
        problem = Problem(
            "S-encoding", f"The file is not UTF-8: byte 0x{content[error.start]:02x}", fix=f"save it as UTF-8; it looks like {guess}"
        )
        raise UserError([problem.with_mark(position(before, len(before)))], source) from None


def check_characters(text: str, source: str) -> None:
    """Raises UserError at the first character that YAML does not allow."""
    if found := FORBIDDEN.search(text):
        code = f"U+{ord(found[0]):04X}"
        fix = "save it as UTF-8; it looks like UTF-16" if found[0] == "\0" else "remove it"
        problem = Problem("S-encoding", f"The control character {code} is not allowed in YAML", fix=fix)
        raise UserError([problem.with_mark(position(text, found.start()))], source)


def position(text: str, offset: int) -> Mark:
    """Line and column of the character at `offset`."""
    breaks = list(BREAK.finditer(text, 0, offset))
    return Mark(len(breaks) + 1, offset - (breaks[-1].end() if breaks else 0) + 1)


def too_large(size: int, source: str, most_bytes: int = LARGEST_BYTES) -> UserError:
    fix = "give the path of the spec, not of the data" if most_bytes == LARGEST_BYTES else "split it"
    reason = f"The file has {size:,} bytes; the maximum is {most_bytes:,}"
    return UserError([Problem("S-size", reason, fix=fix)], source)


def _unreadable(path: Path, error: OSError) -> UserError:
    if isinstance(error, NotRegularFileError):
        return _refused(f"The path is {error.kind}, not a file", path)
    if isinstance(error, FileNotFoundError) and path.is_symlink():
        return _refused(f"The path is a link to {path.readlink()}, which does not exist", path)
    if isinstance(error, FileNotFoundError):
        present = [p.name for p in path.parent.glob("*.yaml")] if path.parent.is_dir() else []
        near = get_close_matches(path.name, present, n=1)
        return _refused("The file does not exist", path, fix=f"did you mean {path.with_name(near[0])}?" if near else "")
    return _refused(f"The file cannot be read: {error.strerror or error}", path)


def _refused(reason: str, path: Path, fix: str = "") -> UserError:
    return UserError([Problem("S-file", reason, fix=fix)], str(path))
