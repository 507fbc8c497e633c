"""Mutated files of every kind: each command answers or refuses, without a traceback.

A run has RACKWRIGHT_MUTATION_S seconds of CPU (default 8). The seed rotates by day and is printed after every run; RACKWRIGHT_SEED sets
it. `python -m tests.properties 50000` runs a number of inputs, and one input again.
"""

import os
import time

import pytest
from rackwright.workflow import decision

from tests.properties.commands import Outcome, call, numbered
from tests.properties.inputs import KINDS

LIMIT_S = float(os.environ.get("RACKWRIGHT_MUTATION_S", "8"))
SEED = int(os.environ["RACKWRIGHT_SEED"])


def check(kind: str, number: int, folder) -> None:
    arguments = numbered(kind, number, SEED, folder)
    print(f"python -m tests.properties 1 --seed {SEED} --kind {kind} --first {number}\nrackwright {' '.join(map(str, arguments))}")
    outcome = call(arguments)
    assert not outcome.fault, outcome.fault


@pytest.mark.parametrize("kind", KINDS)
def test_a_mutated_input_gives_an_answer_or_a_refusal(kind, tmp_path, record_property):
    end, number = time.process_time() + LIMIT_S / len(KINDS), 0
    while time.process_time() < end or not number:
        number += 1
        check(kind, number, tmp_path)
    record_property("mutated_inputs", (kind, number))


@pytest.mark.parametrize("kind", KINDS)
def test_a_valid_input_of_each_kind_is_accepted(kind, tmp_path):
    """Otherwise every mutated input of the kind would be refused for the same reason."""
    outcome = call(numbered(kind, 1, 1, tmp_path, is_mutated=False))
    assert outcome.status == 0, outcome.output


def test_a_traceback_is_a_fault(tmp_path, monkeypatch):
    def broken(*_: object) -> None:
        raise KeyError("plan_digest")

    monkeypatch.setattr(decision, "_is_as_written", broken)
    with pytest.raises(KeyError, match="plan_digest"):
        check("decision", 1, tmp_path)


@pytest.mark.parametrize("text", ["price: nan USD", "-inf", "[NaN, Infinity]", "\x1b[2J"])
def test_an_answer_with_no_number_or_a_control_character_is_a_fault(text):
    assert Outcome(0, text, 0.0).fault


@pytest.mark.parametrize("text", ["infra, nano, info", "12.3 USD", 'unread: ["-inf", "nan"]'])
def test_an_answer_with_numbers_has_no_fault(text):
    assert not Outcome(0, text, 0.0).fault
