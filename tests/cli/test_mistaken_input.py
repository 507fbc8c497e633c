"""Mistakes of a first day: a decision file in place of its spec, amounts below zero or in another currency, a pin without numbers."""

import pytest

TODAY = ("--today", "2026-11-21")


@pytest.mark.parametrize("command", ["validate", "plan", "choose", "graph"])
def test_a_decision_file_given_as_a_spec_is_named(command, rackwright, stacks):
    assert rackwright("choose", "mistral-7b-qlora.yaml", *TODAY).status == 0
    before = (stacks / "mistral-7b-qlora.decision.json").read_text()
    found = rackwright(command, "mistral-7b-qlora.decision.json", *(() if command == "validate" else TODAY))
    assert found.status == 2
    assert "The file is a decision, which `rackwright choose` wrote, not a spec" in found.err
    assert "fix: give the spec beside it, mistral-7b-qlora.yaml" in found.err
    assert (stacks / "mistral-7b-qlora.decision.json").read_text() == before
    assert len(list(stacks.glob("*.decision*"))) == 1, "no decision of a decision"


@pytest.mark.parametrize(
    ("cost", "reason", "fix"),
    [
        ("-100 USD", "`-100 USD` is negative; expected an amount of money between 0.01 USD and 1e12 USD", ""),
        ("100 EUR", "`100 EUR` is in EUR; amounts are in US dollars (USD)", "convert it to USD, such as 9000 USD"),
    ],
)
def test_an_amount_says_what_is_wrong_with_it(cost, reason, fix, rackwright, stacks):
    path = stacks / "mistral-7b-qlora.yaml"
    path.write_text(path.read_text().replace("60 USD", cost))
    found = rackwright("plan", path.name, "--json", *TODAY)
    assert found.status == 2
    (problem,) = found.json["problems"]
    assert (problem["reason"], problem["fix"], problem["path"]) == (reason, fix, "goals.max_cost")
    assert problem["line"]


def test_a_pin_on_a_machine_without_published_numbers_says_so(rackwright, stacks):
    path = stacks / "mistral-7b-qlora.yaml"
    path.write_text(path.read_text().replace("capacity: {ordered: [on-demand, spot]}", "pin: {instance: g4ad.xlarge}"))
    found = rackwright("plan", path.name, *TODAY)
    assert found.status == 1
    assert "`g4ad.xlarge` has AMD Radeon Pro V520, whose FLOP/s and memory bandwidth are not published" in " ".join(found.err.split())
