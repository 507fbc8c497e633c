"""Imports that a package must not have (docs/decisions/0001), checked on every import statement."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.source_files import ROOT, parse, read

pytestmark = pytest.mark.xdist_group("sources")
PURE = ROOT / "blueprints" / "rackwright"
PULUMI = ROOT / "components" / "rackwright_pulumi"
ORDER = (
    *("lazy", "units", "diagnostics", "files", "clouds", "catalog", "spec", "estimator", "sizing", "wording", "stackplan", "cost"),
    *("validation", "compile", "workflow", "report", "cli"),
)
"""Packages of the pure half; each may import those before it."""
JOINERS = {"args", "cli", "lookup", "manifest_layouts", "package", "program", "build", "recorded_stack"}
"""Beside the component packages, the only modules of the Pulumi half that may import the pure half."""
READ_FACTS = {"policies", "simulator"}
"""These may also import the catalog, for facts and quotas of machines."""
MAY_IMPORT = {
    "deployer": ("rackwright.diagnostics", "rackwright_pulumi.deployer", "rackwright_pulumi.resource_graph"),
    "policies": (
        *("rackwright.catalog", "rackwright.diagnostics"),
        *("rackwright_pulumi.naming", "rackwright_pulumi.policies", "rackwright_pulumi.resource_graph"),
    ),
    "lookup": (
        *("rackwright.catalog", "rackwright.stackplan", "rackwright.diagnostics", "rackwright.files", "rackwright.validation"),
        *("rackwright_pulumi.lookup", "rackwright_pulumi.aws"),
    ),
}
"""Package to all that it may import of this repository."""
LOADED = "print([m for m in sys.modules if m.startswith('pulumi')])"
CLAIM = re.compile(r"numbers in, numbers out|arrays in|formulas alone|knows neither catalog|does not depend on the catalog", re.IGNORECASE)
"""Words of a docstring that declare a file of formulas."""


def imports(path: Path) -> tuple[str, ...]:
    return read(path).imports


def inside(name: str, *modules: str) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "template" not in path.parts)


def test_importing_the_pure_half_does_not_import_pulumi():
    code = "import sys, rackwright, rackwright.cli.main; from rackwright import load, size, compile_plan; " + LOADED
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_path())
    assert found.stdout.strip() == "[]"


def test_a_plan_imports_no_library_for_fitting_plotting_or_clusters():
    code = (
        "import sys; from datetime import date; from rackwright import load, size; "
        "size(load('stacks/mistral-7b-qlora.yaml'), today=date(2026, 11, 21)); "
        "print([m for m in ('scipy', 'pandas', 'altair', 'vl_convert', 'kubernetes') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_path(), cwd=ROOT)
    assert found.stdout.strip() == "[]"


def test_importing_the_components_imports_no_cloud_sdk():
    code = "import sys, rackwright_pulumi, rackwright_pulumi.cli; " + LOADED
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_path())
    assert found.stdout.strip() == "[]"


def test_a_simulated_provider_starts_without_the_catalog():
    """The engine starts two or three for each command."""
    code = "import sys, rackwright_pulumi.simulator.provider.server; print([m for m in sys.modules if m.startswith('rackwright.catalog')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_path())
    assert found.stdout.strip() == "[]"


def test_the_pure_half_imports_no_pulumi_module():
    found = [(path.relative_to(PURE).as_posix(), name) for path in files(PURE) for name in imports(path)]
    assert not [pair for pair in found if pair[1].split(".")[0].startswith(("pulumi", "rackwright_pulumi"))]


def formulas() -> list[Path]:
    """Files of estimator and sizing whose docstring declares formulas, or that hold a fitted model."""
    paths = [path for package in ("estimator", "sizing") for path in files(PURE / package)]
    claiming = {path for path in paths if path.stem != "__init__" and CLAIM.search(" ".join(read(path).docstring.split()))}
    return [path for path in paths if path in claiming or re.search(r"^MODELS = ", path.read_text(encoding="utf-8"), re.MULTILINE)]


def test_formulas_import_neither_catalog_nor_spec():
    forbidden = ("rackwright.catalog", "rackwright.spec", "rackwright.compile", "rackwright.stackplan")
    found = formulas()
    assert len(found) >= 35
    assert not [(path.relative_to(PURE).as_posix(), name) for path in found for name in imports(path) if inside(name, *forbidden)]


def test_every_package_has_a_place_in_the_order():
    there = {path.stem for path in PURE.iterdir() if not path.name.startswith("_") and path.name != "py.typed"}
    assert there == set(ORDER)


@pytest.mark.parametrize("package", ORDER)
def test_packages_import_only_packages_before_them(package):
    later = [f"rackwright.{name}" for name in ORDER[ORDER.index(package) + 1 :]]
    paths = files(PURE / package) or [PURE / f"{package}.py"]
    assert not {f"{path.name}: {name}" for path in paths for name in imports(path) if inside(name, *later)}


@pytest.mark.parametrize("package", ["validation", "cost"])
def test_packages_beside_the_compiler_do_not_import_it(package):
    """They read the StackPlan; code that the compiler shares with them is in stackplan."""
    assert not [f"{path.name}: {name}" for path in files(PURE / package) for name in imports(path) if inside(name, "rackwright.compile")]


def test_imports_inside_functions_count():
    assert "rackwright.validation" in parse("def f():\n    from rackwright import validation\n").imports


@pytest.mark.parametrize(("cloud", "other"), [("aws", "gcp"), ("gcp", "aws"), ("kubernetes", "aws"), ("kubernetes", "gcp")])
def test_clouds_do_not_import_each_other(cloud, other):
    names = [name for path in files(PULUMI / cloud) for name in imports(path)]
    assert not [name for name in names if name.startswith((f"rackwright_pulumi.{other}", f"pulumi_{other}"))]


@pytest.mark.parametrize("folder", ["aws", "gcp", "kubernetes", "blueprints"])
def test_components_import_only_the_stack_plan_of_the_pure_half(folder):
    allowed = ("rackwright.stackplan", "rackwright.diagnostics", "rackwright.lazy")
    wrong = {
        f"{path.name}: {name}"
        for path in files(PULUMI / folder)
        for name in imports(path)
        if inside(name, "rackwright") and not inside(name, *allowed)
    }
    assert not wrong


def test_only_listed_modules_import_the_pure_half():
    """Simulator and recorder work without specs."""
    packages = {"aws", "gcp", "kubernetes", "blueprints"}
    shared = ("rackwright.stackplan", "rackwright.lazy", "rackwright.diagnostics", "rackwright.files")
    looking = {
        path.relative_to(PULUMI).parts[0].removesuffix(".py")
        for path in files(PULUMI)
        for name in imports(path)
        if inside(name, "rackwright") and not inside(name, *shared)
        if not (path.relative_to(PULUMI).parts[0] in READ_FACTS and inside(name, "rackwright.catalog"))
    }
    assert looking - packages <= JOINERS


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_readers_of_graphs_and_accounts_import_only_listed_packages(package):
    ours = {name for path in files(PULUMI / package) for name in imports(path) if inside(name, "rackwright", "rackwright_pulumi")}
    assert ours
    assert not {name for name in ours if not inside(name, *MAY_IMPORT[package])}


def test_a_plan_and_its_graph_need_no_boto3():
    """The extra `lookup` is for one command."""
    names = {path.relative_to(PULUMI).parts[0] for path in files(PULUMI) for name in imports(path) if inside(name, "boto3", "botocore")}
    assert names == {"lookup"}
    assert not [name for path in files(PURE) for name in imports(path) if inside(name, "boto3", "botocore")]


@pytest.mark.parametrize("folder", ["aws", "gcp", "kubernetes", "blueprints"])
def test_argument_classes_are_used_only_in_their_module(folder):
    """Other modules pass values by name, so that the inputs of a part are visible."""
    for path in files(PULUMI / folder):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        kinds = {ast.unparse(arg.annotation) for node in functions for arg in node.args.args if arg.arg == "args" and arg.annotation}
        assert kinds <= own, path.name


@pytest.mark.parametrize("folder", ["aws", "gcp", "kubernetes", "blueprints"])
def test_component_modules_do_not_postpone_annotations(folder):
    """`from __future__ import annotations` crashes Pulumi's schema inference (pulumi/pulumi, provider analyzer)."""
    assert not [path.name for path in files(PULUMI / folder) if "__future__" in imports(path)]


def test_the_program_is_short():
    assert len((ROOT / "__main__.py").read_text().splitlines()) <= 20


def _path() -> dict[str, str]:
    import os

    return os.environ | {"PYTHONPATH": f"{ROOT / 'blueprints'}{os.pathsep}{ROOT / 'components'}"}


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in graph[node]:
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            members = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            found.extend([sorted(members)] if len(members) > 1 else [])

    for node in graph:
        if node not in index:
            visit(node)
    return found


def test_no_import_cycles():
    modules = {}
    for path in (*files(PURE), *files(PULUMI)):
        parts = path.relative_to(PURE.parent if path.is_relative_to(PURE) else PULUMI.parent).with_suffix("").parts
        modules[".".join(parts).removesuffix(".__init__")] = path
    graph = {
        name: {found for found in imports(path) if found in modules and not (name.startswith(f"{found}.") or name == found)}
        for name, path in modules.items()
    }
    assert cycles(graph) == []


def test_no_cycles_between_the_packages_of_the_pulumi_half():
    packages = {path.stem for path in PULUMI.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()} - {"__init__"}
    graph: dict[str, set[str]] = {name: set() for name in packages}
    for path in files(PULUMI):
        package = path.relative_to(PULUMI).parts[0].removesuffix(".py")
        imported = {name.split(".")[1] for name in imports(path) if name.startswith("rackwright_pulumi.")}
        graph.get(package, set()).update((imported & packages) - {package})
    assert graph["policies"] == {"naming", "resource_graph"}
    assert cycles(graph) == []


def test_cycles_are_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
