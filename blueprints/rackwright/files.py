"""Atomic writing of files."""

import os
import tempfile
from pathlib import Path

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem

READABLE = 0o644
"""Mode of a new file. Temporary files are created with mode 0600."""


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
