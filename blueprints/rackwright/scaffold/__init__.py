"""`rackwright new`: a project in the user's own repository that depends on the published package."""

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rackwright.errors import UserError
from rackwright.problems import Problem

TEMPLATE = Path(__file__).parent / "template"
RENAMED = {"gitignore": ".gitignore", "main.py": "__main__.py"}


def scaffold(directory: Path) -> list[Path]:
    """Writes the project into a new or empty folder and returns what was written.

    Raises UserError, with nothing written, when the folder holds anything or cannot be a project's name.
    """
    from jinja2 import Environment, StrictUndefined

    _refuse(directory)
    jinja = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    values = {"project": _project_name(directory), "version": _version()}
    written = []
    for source in sorted(TEMPLATE.rglob("*")):
        if source.is_dir() or source.suffix == ".pyc":
            continue
        place = source.relative_to(TEMPLATE)
        target = directory / place.parent / RENAMED.get(place.name, place.name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(jinja.from_string(source.read_text(encoding="utf-8")).render(values), encoding="utf-8")
        written.append(target)
    return written


def _refuse(directory: Path) -> None:
    if directory.exists() and not directory.is_dir():
        raise UserError([Problem("W-not-a-folder", f"{directory} is a file", fix="name a new or empty folder")])
    if directory.exists() and any(directory.iterdir()):
        raise UserError([Problem("W-not-empty", f"{directory} is not empty; nothing was written", fix="name a new or empty folder")])
    if not _project_name(directory):
        raise UserError([Problem("W-name", f"{directory} gives no project name", fix="use letters and digits in the folder's name")])


def _project_name(directory: Path) -> str:
    return re.sub(r"[^a-z0-9]+", "-", directory.resolve().name.lower()).strip("-")


def _version() -> str:
    try:
        return version("rackwright")
    except PackageNotFoundError:  # a checkout run without installing
        return "0.1.0"
