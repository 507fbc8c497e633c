"""Answers of an account compared with the catalog: differences are warnings, missing answers are listed, the plan is unchanged."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from rackwright.catalog.read import Catalog
from rackwright.cli.main import run
from rackwright.cli.terminal import BAD_INPUT, NOT_FEASIBLE
from rackwright.diagnostics.errors import UserError
from rackwright.diagnostics.problem import At, Level, Problem
from rackwright.spec.reading.quotas_file import read_quotas
from rackwright_pulumi.lookup import NotAnswered, command, compare, look_up
from rackwright_pulumi.lookup.compare import Answers, differences

from tests import plans

SPEC = Path(__file__).parents[2] / "stacks" / "chat-eks.yaml"
TRAINING = plans.compiled(plans.training_case())
BOX = plans.compiled(plans.box_case())


def machine(name):
    return Catalog.default().machine_by_name[name]


@pytest.mark.parametrize(
    "name", ["p4d.24xlarge", "p5.48xlarge", "p5en.48xlarge", "g6e.48xlarge", "trn1.32xlarge", "inf2.48xlarge", "g5.xlarge"]
)
def test_the_catalog_agrees_with_the_recorded_answers_of_ec2(account, name):
    assert list(differences(machine(name), account.instance_type(name))) == []


def test_a_difference_is_reported_with_both_values(account):
    wrong = replace(machine("p5.48xlarge"), efa_interfaces=31, network_cards=None)
    assert list(differences(wrong, account.instance_type("p5.48xlarge"))) == [("EFA interfaces", 31, 32)]


def test_zones_are_compared_by_the_names_of_the_account(account):
    sold = account.zones_selling("p4d.24xlarge")
    assert sold
    assert all(zone.startswith("us-east-1") for zone in sold)
    assert list(compare._zones(At(), "p4d.24xlarge", (sold[0],), account)) == []
    (problem,) = compare._zones(At(), "p4d.24xlarge", ("us-east-1z",), account)
    assert problem.fix == f"set infra zones to one of {', '.join(sold)}"


def test_another_account_is_reported(account):
    assert list(compare._account(TRAINING, account)) == []
    other = replace(TRAINING, place=replace(TRAINING.place, account="999999999999"))
    (problem,) = compare._account(other, account)
    assert "123456789012" in problem.reason


def test_an_unsupported_eks_version_is_reported(answering):
    account = answering("eks", "eks.json")
    old = replace(TRAINING, cluster=replace(TRAINING.cluster, version="1.30"))
    (problem,) = compare._kubernetes(old, account)
    assert problem.reason == "Kubernetes 1.30 is extended support"
    assert problem.fix == "use a version in standard support: 1.35, 1.36"


def test_an_unknown_add_on_version_is_reported(answering):
    account = answering("eks", "eks.json")
    account.cluster_versions()
    index = next(i for i, addon in enumerate(TRAINING.addons) if addon.name == "pod-network")
    newer = tuple(replace(a, version="v9.9.9") if i == index else a for i, a in enumerate(TRAINING.addons))
    (problem,) = compare._addon(replace(TRAINING, addons=newer), index, account)
    assert problem.reason == "EKS does not offer vpc-cni v9.9.9 for Kubernetes 1.35"
    assert problem.fix == "use one of v1.22.3-eksbuild.1, v1.21.1-eksbuild.1, v1.20.4-eksbuild.2"


def test_a_newer_node_image_is_reported_and_not_used(answering):
    account = answering("ssm", "ssm.json")
    (problem,) = compare._node_image(TRAINING, "al2023-nvidia", "1.35.6-20260728", account)
    assert "AWS recommends 1.35.9-20261112" in problem.reason


def test_a_reservation_that_differs_from_the_spec_is_reported(answering):
    account = answering("ec2", "reservation.json")
    capacity = TRAINING.pool("gpu").capacity
    said = replace(capacity, mode="reservation", reservation_id="cr-0123456789abcdef0", machine="p5.48xlarge", zone="us-east-1a", count=4)
    reasons = [problem.reason for problem in compare._reservation(At(), said, account)]
    assert reasons == [
        "cr-0123456789abcdef0 has machine p5en.48xlarge, not p5.48xlarge",
        "cr-0123456789abcdef0 has zone us-east-1b, not us-east-1a",
        "cr-0123456789abcdef0 has count 2, not 4",
    ]


def test_every_difference_is_a_warning_and_the_plan_is_unchanged(account):
    before = TRAINING.to_json()
    found = look_up(TRAINING, account)
    assert {problem.level for problem in found.problems} <= {Level.WARNING}
    assert TRAINING.to_json() == before
    assert "facts of p5.48xlarge" in found.agreed


def test_one_failed_call_hides_no_other_answer(refusing):
    found = look_up(TRAINING, refusing("eks", "describe_cluster_versions"))
    assert ("Kubernetes 1.35", "AccessDeniedException: not authorized to perform it") in found.unasked
    assert "account" in found.agreed


@pytest.mark.parametrize("plan", [TRAINING, BOX], ids=["training", "box"])
def test_without_credentials_every_check_is_listed_as_unchecked(nobody, plan):
    found = look_up(plan, nobody)
    assert (found.problems, found.agreed) == ((), ())
    assert {why for _, why in found.unasked} == {"no AWS credentials found; set AWS_PROFILE, or run `aws sso login`"}
    assert command.as_lines(found)[-1].endswith(f"{len(found.unasked)} not checked")


def test_unknown_machines_and_images_raise_not_answered(account):
    with pytest.raises(NotAnswered):
        account.instance_type("p99.metal")
    with pytest.raises(NotAnswered, match="not found in this region"):
        account.image("no such image")


def test_written_quotas_are_read_as_quotas_of_the_spec(account, tmp_path):
    path = tmp_path / "quotas.json"
    account.quotas = lambda service: {"vpc": {"L-F678F1CE": ("VPCs per Region", 5.0)}}.get(service, {})
    assert command.write_quotas(path, TRAINING, account, plans.TODAY) == 1
    assert read_quotas(path) == {"us-east-1": {"L-F678F1CE": 5.0}}
    west = replace(TRAINING, place=replace(TRAINING.place, region="us-west-2"))
    command.write_quotas(path, west, account, plans.TODAY)
    assert set(read_quotas(path)) == {"us-east-1", "us-west-2"}
    path.write_text("not quotas")
    with pytest.raises(UserError, match="was not changed"):
        command.write_quotas(path, TRAINING, account, plans.TODAY)
    assert path.read_text() == "not quotas"


def test_answers_are_available_as_plain_data(nobody):
    assert json.loads(json.dumps(command.as_json(look_up(BOX, nobody))))["not_checked"]


@pytest.mark.parametrize(("options", "status"), [((), BAD_INPUT), (("--strict",), NOT_FEASIBLE), (("--json",), BAD_INPUT)])
def test_a_lookup_that_checks_nothing_fails(nobody, options, status, capsys):
    assert run(["lookup", str(SPEC), "--today", "2026-11-21", *options]) == status
    assert "no AWS credentials found" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "status"), [((), 0), (("--strict",), NOT_FEASIBLE)])
def test_strict_fails_if_a_check_was_not_possible(monkeypatch, options, status):
    found = Answers((), ("Kubernetes 1.35",), (("quotas", "not permitted"),))
    monkeypatch.setattr("rackwright_pulumi.lookup.look_up", lambda *_: found)
    assert run(["lookup", str(SPEC), "--today", "2026-11-21", *options]) == status


def test_a_difference_of_several_places_is_printed_once():
    problem = Problem("K-03", "Zone use1-az6 does not offer p5.48xlarge", At() / "pools" / 0, "use use1-az1")
    other = replace(problem, at=At() / "pools" / 1)
    lines = command.as_lines(Answers((problem, other), ("account",), ()))
    assert lines[0].startswith("error K-03: pools[0], pools[1]\n")
    assert lines[-1] == "1 difference, 1 agree, 0 not checked"
