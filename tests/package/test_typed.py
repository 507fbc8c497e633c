"""Type checkers read the types of the packages: programs of users are clean, and their mistakes are found.

mypy and pyright run in strict mode, where they are on PATH; they may be in another environment.
"""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import pulumi
from pulumi import ResourceOptions
from pulumi_aws import Provider
from rackwright import StackPlan
from rackwright.stackplan import KeyPlan
from rackwright_pulumi import TrainingCluster
from rackwright_pulumi.aws.key import AwsKey

aws = Provider("aws", region="us-east-1")
key = AwsKey("key", {"key": KeyPlan(), "account": "123456789012", "region": "us-east-1", "tags": {}}, ResourceOptions(provider=aws))


def sft(plan: StackPlan) -> pulumi.Output[str]:
    TrainingCluster("sft", {"plan": plan, "kms_key_arn": key.key_arn}, ResourceOptions(providers=[aws]))
    return key.key_arn
"""


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEMPLATE = ROOT / "blueprints" / "rackwright" / "cli" / "scaffold" / "template"
CHECKERS = {
    "ty": (str(Path(sys.executable).parent / "ty"), "check", "--output-format", "concise", "--python", sys.prefix),
    "mypy": ("mypy", "--strict", "--follow-imports=silent", "--python-executable", sys.executable),
    "pyright": ("pyright", "--project", "strict.json", "--pythonpath", sys.executable),
}
STRICT = '{"typeCheckingMode": "strict", "extraPaths": ["%s", "%s"]}'


def examples() -> dict[str, str]:
    """Examples of the guides and programs of `rackwright new` by file name. Fragments use the function `program` of the page."""
    found = {f"{page.stem.lower()}_{number}.py": text for page in PAGES for number, text in enumerate(_examples_of(page))}
    for name, text in found.items():
        if "record(program" in text and "def program" not in text:
            found[name] = f"def program() -> None: ...\n\n\n{text}"
    return found | {f"new_{path.name}": path.read_text(encoding="utf-8") for path in TEMPLATE.rglob("*.py")}


def _examples_of(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def checked(folder: Path, programs: dict[str, str], checker: str = "ty") -> subprocess.CompletedProcess[str]:
    if not shutil.which(CHECKERS[checker][0]):
        pytest.skip(f"{checker} is not installed")
    for name, text in programs.items():
        (folder / name).write_text(text, encoding="utf-8")
    folders = [str(ROOT / half) for half in ("blueprints", "components")]
    (folder / "strict.json").write_text(STRICT % tuple(folders), encoding="utf-8")
    paths = [part for path in folders for part in ("--extra-search-path", path)] if checker == "ty" else []
    command = [*CHECKERS[checker], *paths, *([] if checker == "pyright" else programs)]
    environment = os.environ | {"MYPYPATH": os.pathsep.join(folders), "MYPY_CACHE_DIR": str(folder / "cache")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("package", ["blueprints/rackwright", "components/rackwright_pulumi"])
def test_the_packages_are_marked_as_typed(package):
    """https://typing.python.org/en/latest/spec/distributing.html#packaging-type-information"""
    assert (ROOT / package / "py.typed").exists()


@pytest.mark.parametrize("checker", ["ty", *(pytest.param(name, marks=pytest.mark.slow) for name in ("mypy", "pyright"))])
def test_programs_of_users_have_no_type_errors(tmp_path, checker):
    programs = examples() | {"program.py": PROGRAM}
    assert len(programs) > 20
    done = checked(tmp_path, programs, checker)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("KeyPlan(),", "3,"),
        ('"kms_key_arn"', '"key_arn"'),
        ('{"plan": plan, ', "{"),
        ("import StackPlan", "import StackPlam"),
        ("import TrainingCluster", "import TrainingClusters"),
        (".key import AwsKey", ".storage import AwsStore"),
    ],
    ids=["part", "key", "plan", "name", "component", "module"],
)
def test_a_mistake_in_a_users_program_is_found(tmp_path, right, wrong):
    assert right in PROGRAM
    done = checked(tmp_path, {"program.py": PROGRAM.replace(right, wrong)})
    assert done.returncode == 1, done.stdout


def test_type_checkers_know_all_names_of_a_package():
    """mypy and pyright accept every name of a module that assigns `__getattr__`."""
    packages = [
        path for half in ("blueprints", "components") for path in (ROOT / half).rglob("__init__.py") if "on_first_use(" in path.read_text()
    ]
    assert len(packages) > 10
    for path in packages:
        assigned = [node for node in ast.parse(path.read_text(encoding="utf-8")).body if "__getattr__" in ast.unparse(node)]
        assert [ast.unparse(node.test) for node in assigned if isinstance(node, ast.If)] == ["not TYPE_CHECKING"], path


def test_examples_are_fully_annotated():
    """mypy does not check the body of a function without annotations."""
    functions = [
        (name, node)
        for name, text in examples().items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    assert len(functions) > 5
    assert [f"{name}: {node.name}" for name, node in functions if not node.returns or not all(a.annotation for a in node.args.args)] == []


def test_no_argument_of_a_component_is_any():
    """The source is read, because a Part is `str` at runtime, for Pulumi's schema analyzer."""
    files = sorted((ROOT / "components" / "rackwright_pulumi").rglob("*.py"))
    classes = [node for path in files for node in ast.parse(path.read_text(encoding="utf-8")).body if isinstance(node, ast.ClassDef)]
    arguments = [node for node in classes if node.name.endswith(("Args", "Inputs"))]
    assert len(arguments) > 20
    fields = [(node.name, field) for node in arguments for field in node.body if isinstance(field, ast.AnnAssign)]
    untyped = [
        f"{name}.{ast.unparse(field.target)}" for name, field in fields if re.search(r"\bAny\b|\bobject\b", ast.unparse(field.annotation))
    ]
    assert untyped == []
