"""Bounded reading and atomic writing of files. Every file that a spec or an argument names is read here."""

import errno
import os
import stat
import tempfile
from pathlib import Path

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem

MAX_INPUT_BYTES = 10_000_000
"""Limit of a file that a spec or an argument names, unless its reader has another."""
READABLE = 0o644
"""Mode of a new file. Temporary files are created with mode 0600."""


class NotRegularFileError(OSError):
    """The path is a directory, device, pipe or socket. kind: which of them."""

    def __init__(self, path: Path, kind: str):
        self.kind = kind
        super().__init__(errno.EINVAL, f"the path is {kind}, not a file", str(path))


class FileTooLargeError(OSError):
    """The file exceeds the limit. size_bytes: its size, or how much of it was read."""

    def __init__(self, path: Path, size_bytes: int, max_bytes: int):
        self.size_bytes = size_bytes
        super().__init__(errno.EFBIG, f"the file has {size_bytes:,} bytes; the maximum is {max_bytes:,}", str(path))


def read_bytes(path: Path, max_bytes: int = MAX_INPUT_BYTES) -> bytes:
    """Return the content of a regular file; symbolic links are followed.

    Raises OSError: NotRegularFileError, FileTooLargeError, or that of the operating system. Never waits for a pipe, and never holds more
    than `max_bytes` and one byte. A path with a NUL byte is an OSError too.
    """
    try:
        _require_regular(path, path.stat(), max_bytes)  # opening a device can have effects
        with open(path, "rb", opener=_open_without_waiting) as file:
            _require_regular(path, os.fstat(file.fileno()), max_bytes)  # the path can be replaced between the two calls
            content = file.read(max_bytes + 1)
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    if len(content) > max_bytes:
        raise FileTooLargeError(path, len(content), max_bytes)
    return content


def _open_without_waiting(path: str, flags: int) -> int:
    """Opens a path without waiting for the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


def _require_regular(path: Path, status: os.stat_result, max_bytes: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularFileError(path, "a directory" if stat.S_ISDIR(status.st_mode) else "a device, pipe or socket")
    if status.st_size > max_bytes:
        raise FileTooLargeError(path, status.st_size, max_bytes)


def write_text(path: Path, text: str, *, through_link: bool = True) -> None:
    """Replace the content of a file in one step; the content is on the disk before the name refers to it.

    through_link: write the file that a symbolic link points to; otherwise a link is refused.
    Raises UserError and changes nothing when the file cannot be written.
    """
    temporary = None
    try:
        if path.is_symlink() and not through_link:
            raise OSError(0, f"it is a symbolic link to {path.readlink()}")
        if path.exists() and not path.is_file():
            raise IsADirectoryError(0, "it is a directory or a device, not a file")
        handle, name = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
        temporary = Path(name)
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else READABLE & ~_umask())
        temporary.replace(path.resolve())
        _sync_folder(path.resolve().parent)
    except (OSError, ValueError) as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        reason = f"{path} cannot be written: {getattr(error, 'strerror', None) or error}"
        fix = "create the folder first" if isinstance(error, FileNotFoundError) else "choose a file that can be written"
        fix = "remove the link" if path.is_symlink() and not through_link else fix
        raise UserError([Problem("F-write", reason, fix=fix)]) from None


def _sync_folder(folder: Path) -> None:
    """Write the folder's entries to the disk: fsync of a file does not cover its name (fsync(2)). Not supported on Windows."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
