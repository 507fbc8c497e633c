"""Writing files so that a reader never sees half of one, and a failure leaves what was there."""

import os
import tempfile
from pathlib import Path

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem

READABLE = 0o644
"""A temporary file is its owner's alone; what is committed or shown is not."""


def write_text(path: Path, text: str) -> None:
    """Puts `text` in place of the file in one step. Raises UserError, with nothing changed, where that cannot be done."""
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
        raise _unwritable(path, error) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _unwritable(path: Path, error: OSError | ValueError) -> UserError:
    why = getattr(error, "strerror", None) or str(error)
    fix = "make the folder first" if isinstance(error, FileNotFoundError) else "name a file that can be written"
    return UserError([Problem("F-write", f"{path} cannot be written: {why}", fix=fix)])
