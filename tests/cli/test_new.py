"""`rackwright new`: the written files, and their use with the published package."""

import ast
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from datetime import date
from pathlib import Path

import pytest
from rackwright.cli.scaffold import scaffold
from rackwright.diagnostics.errors import UserError

pytestmark = pytest.mark.xdist_group("wheel")  # it is built once
ROOT = Path(__file__).parents[2]
TODAY = date(2026, 11, 21)
PROJECT = {
    ".gitignore",
    "Pulumi.yaml",
    "README.md",
    "__main__.py",
    "pytest.ini",
    "requirements.txt",
    "spec.schema.json",
    "stacks/dev.yaml",
    "tests/test_stack.py",
}


def test_new_folder_is_created(tmp_path):
    written = scaffold(tmp_path / "My Models (2026)", TODAY)
    assert {str(path.relative_to(tmp_path / "My Models (2026)")) for path in written} == PROJECT
    assert "name: my-models-2026\n" in (tmp_path / "My Models (2026)" / "Pulumi.yaml").read_text()


def test_empty_folder_is_used(tmp_path):
    assert len(scaffold(tmp_path, TODAY)) == len(PROJECT)


@pytest.mark.parametrize("content", ["notes.txt", ".git"])
def test_folder_with_files_is_refused(tmp_path, content):
    (tmp_path / content).touch()
    with pytest.raises(UserError, match="W-not-empty"):
        scaffold(tmp_path, TODAY)
    assert [path.name for path in tmp_path.iterdir()] == [content]


def test_folder_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match="F-write"):
        scaffold(tmp_path / "file" / "project", TODAY)


def test_program_equals_the_program_of_this_repository():
    """Both programs must stay equal."""
    ours = (ROOT / "__main__.py").read_text().partition("settings = ")[2]
    theirs = (ROOT / "blueprints" / "rackwright" / "cli" / "scaffold" / "template" / "main.py").read_text().partition("settings = ")[2]
    assert theirs.replace("Path(__file__).resolve().parent", "ROOT") == ours


DOTTED = re.compile(r"(?<!-m )(?<![\w.])(rackwright(?:_pulumi)?(?:\.\w+)*)\.(\w+)\b")
"""Dotted names of the packages, without modules of `python -m`."""


def test_project_and_guides_use_documented_names_only():
    """Imports, and dotted names in the text. docs/python.md has a name in the table of its module, or with its module."""
    template = ROOT / "blueprints" / "rackwright" / "cli" / "scaffold" / "template"
    pages = {
        path: path.read_text(encoding="utf-8") for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *template.rglob("*.py"))
    }
    sources = [text for path, text in pages.items() if path.suffix == ".py"]
    sources += [block for text in pages.values() for block in re.findall(r"```python\n(.*?)```", text, re.DOTALL)]
    used = {found for source in sources for found in _imported(source)}
    used |= {found for text in pages.values() for found in DOTTED.findall(text)}
    assert len(used) > 60
    assert sorted(used - _documented()) == []


def _imported(source: str) -> list[tuple[str, str]]:
    """(module, name) of imports from the packages."""
    imports = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    return [(node.module or "", alias.name) for node in imports for alias in node.names if (node.module or "").startswith("rackwright")]


def _documented() -> set[tuple[str, str]]:
    """(module, name) of every name in docs/python.md."""
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    found = set(re.findall(r"`(rackwright[\w.]*)\.(\w+)", text))
    for section in text.split("\n## ")[1:]:
        heading, _, content = section.partition("\n")
        found |= {(heading.strip("`"), name) for name in re.findall(r"^\| `(\w+)", content, re.MULTILINE)}
        for cloud in ("aws", "gcp"):
            parts = re.findall(rf"`(\w+)` \| `({cloud.title()}\w+)`", content)
            found |= {(f"rackwright_pulumi.{cloud}.{module}", name) for module, name in parts}
    parts = text.partition("`rackwright.stackplan` has the parts")[2].partition("\n\n")[0]
    found |= {("rackwright.stackplan", name) for name in re.findall(r"`(\w+)`", parts)}
    modules = {module for module, _ in found}
    return found | {tuple(module.rsplit(".", 1)) for module in modules if "." in module}


@pytest.mark.parametrize(
    ("record", "requirement"),
    [
        (None, "rackwright[aws,gcp,kubernetes,report]==9.9"),
        ('{"url": "file:///src/rackwright", "dir_info": {"editable": true}}', "file:///src/rackwright"),
        ('{"url": "https://git.example/r", "vcs_info": {"vcs": "git", "commit_id": "abc"}}', "git+https://git.example/r@abc"),
    ],
)
def test_requirement_can_be_installed_by_pip(record, requirement, tmp_path, monkeypatch):
    """A version that is not in an index fails in the first command of the project."""

    class Installed:
        version = "9.9"

        def read_text(self, name):
            return record

    monkeypatch.setattr("rackwright.cli.scaffold.distribution", lambda name: Installed())
    scaffold(tmp_path, TODAY)
    assert requirement in (tmp_path / "requirements.txt").read_text()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built offline by the build backend alone."""
    pytest.importorskip("hatchling")
    folder = tmp_path_factory.mktemp("dist")
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, source)
    (source / "README.md").touch()
    for name in ("blueprints", "components"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", build, str(folder)], cwd=source, check=True, capture_output=True, text=True, env=_clean())
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory) -> Path:
    """A fresh environment that has the wheel; its dependencies are those of the environment the tests run in."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-compile", "--no-deps", "--no-index", str(wheel)]
    subprocess.run(pip, check=True, capture_output=True, text=True, env=_clean())
    # plain paths: the outer environment's own .pth files, which lead to the checkout, are not read
    (next(folder.glob("lib/python*/site-packages")) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def test_wheel_contains_all_data_files(wheel):
    packed = set(zipfile.ZipFile(wheel).namelist())
    kept = {
        str(path.relative_to(ROOT / half))
        for half in ("blueprints", "components")
        for path in (ROOT / half).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.relative_to(ROOT / half).parts[0].startswith("rackwright")
    }
    assert kept <= packed
    assert {Path(name).suffix for name in kept} >= {".j2", ".css", ".csv", ".json", ".sh", ".yaml", ".txt"}


def test_project_works_with_the_installed_wheel(python, tmp_path):
    """new, plan, report, graph and the tests of the project, with the wheel and without this checkout."""
    rackwright = python.parent / "rackwright"
    project = tmp_path / "models"
    where = _run(python, "-c", "import rackwright, rackwright_pulumi; print(rackwright.__file__, rackwright_pulumi.__file__)", cwd=tmp_path)
    assert str(ROOT) not in where
    assert where.count("site-packages") == 2
    _run(rackwright, "new", project, cwd=tmp_path)
    commands = (["plan", "--full"], ["report", "-o", str(tmp_path / "report.md")], ["graph"])
    code = f"from rackwright.cli.main import run; raise SystemExit(max(run([*line, 'stacks/dev.yaml']) for line in {commands}))"
    printed = _run(python, "-c", code, cwd=project)
    assert "bill for" in printed
    assert "aws:ec2/instance" in printed
    assert (tmp_path / "report.md").exists()
    assert "3 passed" in _run(python, "-m", "pytest", "-p", "no:cacheprovider", cwd=project)
    shutil.copy(ROOT / "stacks" / "chat-serve.yaml", project / "stacks" / "dev.yaml")
    assert "1 passed" in _run(python, "-m", "pytest", "-p", "no:cacheprovider", "-k", "ingress", cwd=project), "a fleet with an API key"


@pytest.mark.engine
def test_pulumi_previews_the_project(python, tmp_path):
    if not shutil.which("pulumi"):
        pytest.skip("the pulumi CLI is not on PATH")
    from rackwright_pulumi.simulator import Engine, SimulatedCloud

    project = tmp_path / "models"
    _run(python.parent / "rackwright", "new", project, cwd=tmp_path)
    config = {"rackwright:simulated": "true", "rackwright:today": TODAY.isoformat()}
    cloud = SimulatedCloud(tmp_path / "cloud.sqlite")
    engine = Engine(project, cloud, tmp_path / "work", stack="dev", project="models", python=python, config=config)
    engine.prepare()
    assert engine.preview()["changeSummary"]["create"] > 30
    assert cloud.is_empty()


def _clean() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST"))}
    return kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the project's tests need no plugin of this environment


def _run(*command: object, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=_clean(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
