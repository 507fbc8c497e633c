"""Each public name exists, has a docstring and types, and is documented."""

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "python.md"
PACKAGES = (
    "rackwright",
    "rackwright.spec",
    "rackwright_pulumi",
    "rackwright_pulumi.deployer",
    "rackwright_pulumi.policies",
    "rackwright_pulumi.lookup",
    "rackwright_pulumi.testing",
    "rackwright_pulumi.simulator",
)
LAZY = ("rackwright", "rackwright_pulumi", "rackwright_pulumi.simulator")


def documented(package: str) -> list[str]:
    """Names in the first column of the package's table."""
    section = GUIDE.read_text(encoding="utf-8").partition(f"## `{package}`\n")[2].partition("\n## ")[0]
    return re.findall(r"^\| `(\w+)", section, re.MULTILINE)


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_the_documented_ones_in_order(package):
    names = importlib.import_module(package).__all__
    assert documented(package) == sorted(set(names)) == list(names)


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_name_has_a_docstring(package):
    module = importlib.import_module(package)
    own = [name for name in module.__all__ if not inspect.getdoc(getattr(module, name))]
    assert own == []


@pytest.mark.parametrize("package", PACKAGES)
def test_public_functions_are_fully_annotated(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        if inspect.isfunction(found := getattr(module, name)):
            signature = inspect.signature(found)
            bare = [p.name for p in signature.parameters.values() if p.annotation is p.empty]
            assert not bare, f"{name}({', '.join(bare)})"
            assert signature.return_annotation is not signature.empty, name


@pytest.mark.parametrize("package", LAZY)
def test_static_imports_match_lazy_imports(package):
    """The imports under TYPE_CHECKING equal those of `on_first_use`."""
    module = importlib.import_module(package)
    tree = ast.parse(Path(module.__file__ or "").read_text(encoding="utf-8"))
    static = {alias.name: node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    homes = inspect.getclosurevars(module.__getattr__).nonlocals["homes"]
    assert {name: static.get(name) for name in module.__all__} == homes
    with pytest.raises(AttributeError, match="nothing_like_it"):
        _ = module.nothing_like_it


def test_the_example_of_the_package_runs(monkeypatch):
    import rackwright

    monkeypatch.chdir(ROOT)
    scope: dict = {}
    example = inspect.cleandoc("\n".join(line for line in (rackwright.__doc__ or "").splitlines() if line.startswith("    ")))
    exec(compile(example, "rackwright", "exec"), scope)
    assert scope["stack_plan"].name == "llama-70b-sft"


def test_the_guides_examples_run(monkeypatch):
    monkeypatch.chdir(ROOT)
    for example in re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(example, "docs/python.md", "exec"), {})
