"""Specs in docs/serving.md and docs/kubernetes.md are read without a problem that stops them."""

import re
from pathlib import Path

import pytest
import yaml
from rackwright.spec.blueprint import Blueprint
from rackwright.spec.spec import Spec
from rackwright.validation.spec import SpecContext, spec_problems

DOCS = Path(__file__).parents[2] / "docs"
SPECS = [text for text in re.findall(r"```yaml\n(.*?)```", (DOCS / "serving.md").read_text(), re.DOTALL) if "api_version" in text]


@pytest.mark.parametrize("text", SPECS, ids=lambda text: yaml.safe_load(text)["name"])
def test_a_spec_of_the_page_has_no_errors(text):
    spec = Spec.model_validate(yaml.safe_load(text))
    assert [str(problem) for problem in spec_problems(SpecContext(spec)) if problem.level == "error"] == []


def test_receivers_of_the_page_are_read():
    blocks = re.findall(r"```yaml\n(.*?)```", (DOCS / "kubernetes.md").read_text(), re.DOTALL)
    shown = next(yaml.safe_load(text) for text in blocks if "smtp:" in text)
    blueprint = Blueprint.model_validate(shown["blueprint"])
    assert {ref.secret for ref in blueprint.secret_refs.values()} == shown["secrets"].keys()
