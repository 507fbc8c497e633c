"""`rackwright new`: a project in the user's repository that depends on the installed package."""

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
"""Files that have another name in the template, because wheels and test runs would use them."""
SCHEMA = "spec.schema.json"
PACKAGE = "rackwright[aws,gcp,kubernetes,report]"
MAX_NAME_LENGTH = 100
"""Maximum length of a Pulumi project name."""


def scaffold(directory: Path, today: date) -> list[Path]:
    """Writes the project into a new or empty folder and returns the written paths, sorted.

    Raises UserError, with nothing written, if the folder is not empty or its name is no project name.
    """
    _check_folder(directory)
    files = _files(_project_name(directory), today)
    try:
        for path in files:
            (directory / path).parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = f"{directory} cannot be created: {error.strerror}"
        raise UserError([Problem("F-write", reason, fix="name a writable folder")]) from None
    for path, text in files.items():
        write_text(directory / path, text)
    return [directory / path for path in files]


def _files(project: str, today: date) -> dict[Path, str]:
    """Text by path in the project."""
    from jinja2 import Environment, StrictUndefined

    from rackwright.spec.schema import text

    jinja = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    values = {"project": project, "requirement": _requirement(), "today": today}
    files = {Path(SCHEMA): text()}
    for source in TEMPLATE.rglob("*"):
        if source.is_file() and source.suffix != ".pyc":
            path = source.relative_to(TEMPLATE)
            files[path.parent / RENAMED.get(path.name, path.name)] = jinja.from_string(source.read_text(encoding="utf-8")).render(values)
    return dict(sorted(files.items()))


def _check_folder(directory: Path) -> None:
    """Raises UserError for a file, a folder with files, and a name without letters and digits."""
    if directory.exists() and not directory.is_dir():
        raise UserError([Problem("W-not-a-folder", f"{directory} is a file", fix="name a new or empty folder")])
    if directory.exists() and any(directory.iterdir()):
        raise UserError([Problem("W-not-empty", f"{directory} is not empty; nothing was written", fix="name a new or empty folder")])
    if not _project_name(directory):
        raise UserError([Problem("W-name", f"the name of {directory} has no letters or digits", fix="name a folder such as models")])


def _project_name(directory: Path) -> str:
    return re.sub(r"[^a-z0-9]+", "-", directory.resolve().name.lower()).strip("-")[:MAX_NAME_LENGTH].strip("-")


def _requirement() -> str:
    """The pip requirement of the installed package: a version, or the URL it was installed from (PEP 610)."""
    try:
        found = distribution("rackwright")
    except PackageNotFoundError:  # a checkout that is not installed
        return f"{PACKAGE}==0.1.0"
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    if "url" not in origin:
        return f"{PACKAGE}=={found.version}"
    vcs = origin.get("vcs_info", {})
    url = f"{vcs['vcs']}+{origin['url']}@{vcs['commit_id']}" if vcs else origin["url"]
    return f"# rackwright was installed from a URL, not from a package index; use a URL that your team and CI can reach\n{PACKAGE} @ {url}"
