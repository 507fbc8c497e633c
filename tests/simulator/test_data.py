"""The simulator's tables agree with the installed SDKs, with each other and with the documentation."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import rackwright_pulumi.simulator as simulator
from rackwright_pulumi.simulator.computed.names import NAMES
from rackwright_pulumi.simulator.limits import refusals
from rackwright_pulumi.simulator.limits.machines import MACHINE_READERS
from rackwright_pulumi.simulator.schema import facts as catalog
from rackwright_pulumi.simulator.schema.generate import DATA, covered
from rackwright_pulumi.simulator.schema.references import REFERENCES

PLACES = {"account", "region", "project", "zone", "location"}
ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "simulator.md"


@pytest.mark.slow
@pytest.mark.parametrize("cloud", catalog.CLOUDS)
def test_committed_facts_match_the_installed_sdk(cloud):
    """In a separate process: the SDK loads modules on first use, and modules that other tests loaded partially stay so."""
    code = f"import json; from rackwright_pulumi.simulator.schema.generate import sdk_facts; print(json.dumps(sdk_facts({cloud!r})))"
    path = os.pathsep.join(str(ROOT / half) for half in ("blueprints", "components"))
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": path}
    )
    kept = json.loads((DATA / f"types.{cloud}.json").read_text(encoding="utf-8"))
    assert json.loads(printed.stdout) == kept, "run python -m rackwright_pulumi.simulator.schema.generate"


def test_types_are_listed_once():
    for cloud in catalog.CLOUDS:
        assert len(covered(cloud)) == len(set(covered(cloud))) == len(catalog.covered(cloud))


def test_naming_rules_refer_to_existing_inputs():
    for token, rule in NAMES.items():
        known = set(catalog.facts(token).inputs)
        assert {rule.property, *rule.unique} - PLACES - {""} <= known, token


def test_references_refer_to_existing_inputs():
    for reference in REFERENCES:
        facts = catalog.facts(reference.child)
        catalog.facts(reference.parent)
        known = facts.inputs
        for part in reference.path.split("."):
            assert part in known, reference
            known = facts.object(known[part])


@pytest.mark.parametrize("table", [refusals.DELETION_PROTECTION, dict.fromkeys(refusals.PERMANENT_NAMES), MACHINE_READERS])
def test_tables_refer_to_supported_types(table):
    assert all(catalog.find(token) for token in table)


def test_the_public_names_exist_and_are_in_the_guide():
    guide = GUIDE.read_text(encoding="utf-8")
    for name in simulator.__all__:
        assert getattr(simulator, name)
        assert f"`{name}`" in guide, name


def test_the_guide_lists_every_setting():
    guide = GUIDE.read_text(encoding="utf-8")
    names = [name for name in vars(simulator.SimulatedCloud) if not name.startswith("_")]
    assert [name for name in names if f"`{name}" not in guide] == []


def test_the_guides_examples_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        exec(compile(example, "docs/simulator.md", "exec"), {})


def test_the_guide_counts_the_types():
    types = sum(len(catalog.covered(cloud)) for cloud in catalog.CLOUDS)
    assert f"It supports {types} resource types" in GUIDE.read_text(encoding="utf-8")
