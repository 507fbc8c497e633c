"""The embedded catalog is read where a caller enters without one; every function below takes the caller's catalog."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
CALL = "Catalog.default()"
ENTRY_POINTS = {
    "blueprints/rackwright/workflow/sized_spec.py": "the pipeline, which passes its catalog on",
    "blueprints/rackwright/stackplan/storage.py": "LustrePlan of a StackPlan without the name of its tier",
    "blueprints/rackwright/sizing/size.py": "sizing without the pipeline, for benchmarks",
    "blueprints/rackwright/compile/compile.py": "rackwright.compile_plan",
    "blueprints/rackwright/validation/spec/registry.py": "rackwright.load",
    "blueprints/rackwright/validation/stack/registry.py": "validation.stack.check",
    "blueprints/rackwright/validation/stack/quota.py": "validation.stack.check_quota",
    "blueprints/rackwright/estimator/estimate.py": "rackwright.estimate",
    "blueprints/rackwright/estimator/config/accelerators.py": "accelerators.find",
    "blueprints/rackwright/cli/cluster_commands.py": "`rackwright inventory`",
    "blueprints/rackwright/report/terminal/catalog.py": "`rackwright catalog`",
    "blueprints/rackwright/report/reference/accelerators_page.py": "`python -m rackwright.report.reference.accelerators_page`",
    "components/rackwright_pulumi/lookup/compare.py": "lookup.look_up",
    "components/rackwright_pulumi/policies/launch_templates.py": "rules over recorded resources, which have no spec",
    "components/rackwright_pulumi/policies/network_interfaces.py": "rules over recorded resources, which have no spec",
    "components/rackwright_pulumi/policies/sizes.py": "rules over recorded resources, which have no spec",
    "components/rackwright_pulumi/simulator/limits/machines.py": "the simulated cloud is a separate process without a pipeline",
}
"""File -> the public function or process that starts without a catalog."""


def test_only_entry_points_read_the_embedded_catalog():
    folders = [ROOT / "blueprints" / "rackwright", ROOT / "components" / "rackwright_pulumi"]
    sources = (path for folder in folders for path in folder.rglob("*.py"))
    found = {str(path.relative_to(ROOT)) for path in sources if CALL in path.read_text(encoding="utf-8")}
    assert found == set(ENTRY_POINTS), "take the catalog as an argument, or add the entry point with its public name"
