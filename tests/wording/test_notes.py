"""Every note of sizing has a text, and gives the values that its text names."""

import ast
import string
from functools import cache
from pathlib import Path

import pytest
from rackwright.sizing.note import Note, NoteKind
from rackwright.wording.notes import TEXTS, note_text

SIZING = Path(__file__).parents[2] / "blueprints" / "rackwright" / "sizing"


@cache
def values_given() -> dict[str, set[str]]:
    """Kind -> keys of the literal `values`, for every `Note(NoteKind.X, {...})` of sizing."""
    calls = (
        node
        for path in SIZING.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Note" and isinstance(node.args[0], ast.Attribute)
    )
    return {
        call.args[0].attr: {ast.literal_eval(key) for key in call.args[1].keys if key}
        for call in calls
        if len(call.args) > 1 and isinstance(call.args[1], ast.Dict)
    }


def fields(kind: NoteKind) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(TEXTS[kind]) if name}


@pytest.mark.parametrize("kind", NoteKind)
def test_every_kind_has_a_sentence_of_25_words_at_most(kind):
    assert all(len(sentence.split()) <= 25 for sentence in TEXTS[kind].replace(": ", ". ").split(". "))


@pytest.mark.parametrize("kind", NoteKind)
def test_a_note_gives_the_values_of_its_text(kind):
    assert kind.name not in values_given() or fields(kind) == values_given()[kind.name]


def test_values_are_given_to_notes_of_sizing():
    assert values_given().keys() <= set(NoteKind.__members__)
    assert len(values_given()) > 20


def test_numbers_have_thousands_separators_and_units():
    note = Note(NoteKind.REVENUE_AT_PEAK, {"earned_usd": 12345.6, "cost_usd": 2000})
    assert note_text(note) == "Revenue is at most 12,346 USD a month at peak traffic; machines cost 2,000 USD a month"


def test_notes_of_one_kind_differ_by_their_values():
    assert Note(NoteKind.IDLE_ACCELERATORS, {"idle": 7}) != Note(NoteKind.IDLE_ACCELERATORS, {"idle": 6})
    assert len({Note(NoteKind.IDLE_ACCELERATORS, {"idle": 7}), Note(NoteKind.IDLE_ACCELERATORS, {"idle": 7})}) == 1
