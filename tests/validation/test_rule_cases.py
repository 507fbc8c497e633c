"""Every rule on plans that satisfy it and plans that violate it, with the exact text. One file per rule in tests/cases/rules,
with a document for every base plan. `RACKWRIGHT_RENEW=rule-cases pytest -n 0 tests/validation` writes the texts; read the difference."""

import os
from pathlib import Path

import pytest
import yaml
from rackwright.diagnostics.errors import Bug
from rackwright.validation.stack import RULES, check, refuse_broken_invariants

from tests import gce_plans, gke_plans, own_plans, plans
from tests.validation.changes import changed

FILES = sorted((Path(__file__).parents[1] / "cases" / "rules").glob("*.yaml"))
NEED_MORE_THAN_A_PLAN = {"C-block", "D-secret", "R-115", "R-116", "S-114", "S-116", "S-201", "V-111", "V-115", "V-131", "V-132"}
NEED_MORE_THAN_A_PLAN |= {"V-133", "V-139", "V-140", "V-176", "V-177", "V-178", "V-213", "V-216", "V-220", "V-221", "V-222", "V-290"}
"""Rules over bill, quotas, clock, configuration and spec; test_context_rules.py and compile/test_zones.py have their cases."""
BASES = {
    name: build()
    for bases in (plans.ALL, plans.NODES, plans.FLEETS, gke_plans.GKE, gke_plans.GKE_OPTIONS, gce_plans.GCE, own_plans.OWN)
    for name, build in bases.items()
} | {"tpu-2": plans.compiled(plans.tpu_case(slices=2))}


def said(plan, code):
    return [str(problem) for problem in check(plan) if problem.code == code]


def renew(file):
    cases = list(yaml.safe_load_all(file.read_text()))
    for case in cases:
        for row in case["breaks"]:
            row["says"] = said(changed(BASES[case["plan"]], row["change"]), file.stem)
    file.write_text(yaml.safe_dump_all(cases, sort_keys=False, allow_unicode=True, width=200))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_rule(file):
    code = file.stem
    if os.environ.get("RACKWRIGHT_RENEW") == "rule-cases":
        renew(file)
    for case in yaml.safe_load_all(file.read_text()):
        base = BASES[case["plan"]]
        assert said(base, code) == []
        for change in case.get("holds", ()):
            assert said(changed(base, change), code) == [], change
        for row in case["breaks"]:
            assert said(changed(base, row["change"]), code) == row["says"], row["change"]


def test_every_rule_has_a_case():
    assert {rule.code for rule in RULES} == {file.stem for file in FILES} | NEED_MORE_THAN_A_PLAN


def test_rule_ids_are_unique():
    codes = [rule.code for rule in RULES]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("name", BASES)
def test_compiled_plans_satisfy_every_rule(name):
    assert check(BASES[name]) == []


def test_a_warning_is_acknowledged_by_its_id_and_an_error_never():
    broken = changed(BASES["training"], {"pools[gpu].adjacent": False, "network.self_reachable": False})
    assert {p.code for p in check(broken)} == {"V-21", "V-29"}
    assert {p.code for p in check(broken, acknowledged=["V-21", "V-29"])} == {"V-21"}


def test_a_broken_invariant_is_a_bug_and_a_broken_user_rule_is_not():
    refuse_broken_invariants(
        check(changed(BASES["training"], {"network.subnets[nodes].cidr": "10.0.0.0/28", "pools[gpu].adjacent": False}))
    )
    broken = check(changed(BASES["training"], {"network.self_reachable": False}))
    with pytest.raises(Bug, match=r"violates an invariant: V-21 at network\.self_reachable"):
        refuse_broken_invariants(broken)
