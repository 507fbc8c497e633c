"""`rackwright new`: a project in the user's own repository that depends on the package as it is installed here."""

import json
import re
from datetime import date
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import Problem
from rackwright.files import write_text

TEMPLATE = Path(__file__).parent / "template"
RENAMED = {"gitignore": ".gitignore", "main.py": "__main__.py"}
"""Names that a wheel or a test run would otherwise take for their own."""
SCHEMA = "spec.schema.json"
PACKAGE = "rackwright[aws,gcp,kubernetes,report]"
LONGEST_NAME = 100
"""Characters of a project's name that Pulumi takes."""


def scaffold(directory: Path, today: date) -> list[Path]:
    """Writes the project into a new or empty folder and returns what was written, in the order of names.

    Raises UserError, with nothing written, when the folder holds anything or gives no project name.
    """
    _refuse(directory)
    files = _files(_project_name(directory), today)
    try:
        for place in files:
            (directory / place).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{directory} cannot be made: {error.strerror}"
        raise UserError([Problem("F-write", reason, fix="name a folder you may write to")]) from None
    for place, text in files.items():
        write_text(directory / place, text)
    return [directory / place for place in files]


def _files(project: str, today: date) -> dict[Path, str]:
    """Text by place in the project."""
    from jinja2 import Environment, StrictUndefined

    from rackwright.spec.schema import text

    jinja = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    values = {"project": project, "requirement": _requirement(), "today": today}
    made = {Path(SCHEMA): text()}
    for source in TEMPLATE.rglob("*"):
        if source.is_file() and source.suffix != ".pyc":
            place = source.relative_to(TEMPLATE)
            made[place.parent / RENAMED.get(place.name, place.name)] = jinja.from_string(source.read_text(encoding="utf-8")).render(values)
    return dict(sorted(made.items()))


def _refuse(directory: Path) -> None:
    if directory.exists() and not directory.is_dir():
        raise UserError([Problem("W-not-a-folder", f"{directory} is a file", fix="name a new or empty folder")])
    if directory.exists() and any(directory.iterdir()):
        raise UserError([Problem("W-not-empty", f"{directory} is not empty; nothing was written", fix="name a new or empty folder")])
    if not _project_name(directory):
        raise UserError([Problem("W-name", f"{directory} gives no project name", fix="use letters and digits in the folder's name")])


def _project_name(directory: Path) -> str:
    return re.sub(r"[^a-z0-9]+", "-", directory.resolve().name.lower()).strip("-")[:LONGEST_NAME].strip("-")


def _requirement() -> str:
    """What pip needs to get this very package: a version of an index, or the address it was installed from (PEP 610's record)."""
    try:
        found = distribution("rackwright")
    except PackageNotFoundError:  # a checkout run without installing
        return f"{PACKAGE}==0.1.0"
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    if "url" not in origin:
        return f"{PACKAGE}=={found.version}"
    vcs = origin.get("vcs_info", {})
    address = f"{vcs['vcs']}+{origin['url']}@{vcs['commit_id']}" if vcs else origin["url"]
    return f"# rackwright is installed here from an address, not from an index; name one that your team and CI reach\n{PACKAGE} @ {address}"
