"""Atomic writing of files."""

import os
import tempfile
from pathlib import Path

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem

READABLE = 0o644
"""Mode of a new file. Temporary files are created with mode 0600."""


def write_text(path: Path, text: str) -> None:
    """Replace the content of a file in one step. Raises UserError and changes nothing when the file cannot be written."""
    temporary = None
    try:
        if path.exists() and not path.is_file():
            raise IsADirectoryError(0, "it is a directory or a device, not a file")
        handle, name = tempfile.mkstemp(dir=path.resolve().parent, prefix=f".{path.name}.")
        temporary = Path(name)
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        temporary.chmod(path.stat().st_mode & 0o777 if path.exists() else READABLE & ~_umask())
        temporary.replace(path.resolve())
    except (OSError, ValueError) as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        reason = f"{path} cannot be written: {getattr(error, 'strerror', None) or error}"
        fix = "create the folder first" if isinstance(error, FileNotFoundError) else "choose a file that can be written"
        raise UserError([Problem("F-write", reason, fix=fix)]) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
