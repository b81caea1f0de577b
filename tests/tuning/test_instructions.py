"""What is proposed without a model: places, rules that say something, examples of any type."""

from __future__ import annotations

import datetime
import enum
from pathlib import Path
from typing import Any

import dspy
import pytest
from pydantic import BaseModel

from goldassay.core.measure import Error
from goldassay.tuning import instructions
from goldassay.tuning.edits import Diagnosis, covering
from goldassay.tuning.patches import apply, read, write
from goldassay.tuning.patterns import Pattern


class Kind(enum.Enum):
    PLACE = "TOP"


class Name(BaseModel):
    text: str
    kind: Kind
    since: datetime.date | None = None


def program(type_: Any = str) -> Any:
    return dspy.Predict(dspy.Signature("text -> names").with_updated_fields("names", type_=type_))


def pattern(kind: str, gold: str = "", pred: str = "", contexts: tuple[str, ...] = ("",)) -> Pattern:
    errors = tuple(Error(kind, "", gold="Delft", context=context) for context in contexts)
    return Pattern(kind, gold, pred, ("Delft",), errors, ("1",), 0.1)


def rules(confusion: Pattern) -> list[str]:
    slots = instructions.rules(Diagnosis([confusion], program(), []))
    return [str(patch.text) for patches in slots.values() for patch in patches]


def test_the_place_is_the_word_that_most_errors_share() -> None:
    after = ("he lived in Delft", "In Delft it rains", "…who, in Delft, wrote")
    assert pattern("missed", "TOP", contexts=after).place == 'after "in"'
    assert pattern("missed", "TOP", contexts=("Delft lies low",) * 3).place == 'before "lies"'
    assert pattern("missed", "TOP", contexts=after[:2]).place == ""
    assert pattern("missed", "TOP", contexts=(*after, "to Delft", "near Delft")).place == ""
    assert pattern("missed", "TOP").place == ""
    unnamed = (Error("no_label", "", context="a text without a name"),) * 3
    assert Pattern("no_label", "", "", (), unnamed, (), 0.0).place == ""


def test_rules_name_the_place_of_a_confusion() -> None:
    confusion = pattern("wrong_type", "PER", "TOP", ("Mrs Delft spoke", "with Mrs Delft", "as Mrs Delft said"))
    assert confusion.state()["place"] == 'after "mrs"'
    assert rules(confusion)[-1] == 'A name after "mrs" is PER, not TOP.'
    assert rules(pattern("missed", "PER", "", ("Mrs Delft",) * 3))[-1] == 'Find PER after "mrs" too.'


def test_a_name_wrong_in_type_and_in_its_ends_is_told_both() -> None:
    error = Error("wrong_type_and_boundary", "", gold="Rijksmuseum Twenthe", pred="Twenthe")
    pattern = Pattern(error.kind, "MUS", "TOP", (error.gold,), (error,), ("1",), 0.1)
    assert rules(pattern) == [
        'What looks like TOP is MUS when it is used as in "Rijksmuseum Twenthe".',
        "Include 'Rijksmuseum' in MUS: give the whole name.",
    ]


def test_answers_that_no_text_holds_are_told_so() -> None:
    assert rules(pattern("unanswerable")) == ["Where the texts do not hold the answer, say that there is none."]
    assert rules(pattern("unsupported")) == ["Say only what stands in the texts."]


@pytest.mark.parametrize("kind", ["missed", "spurious"])
def test_what_has_no_type_gives_no_rule(kind: str) -> None:
    assert rules(pattern(kind)) == []  # a document that was not found


@pytest.mark.parametrize(
    ("type_", "value", "plain"),
    [
        (
            list[Name],
            [Name(text="Delft", kind=Kind.PLACE, since=datetime.date(1246, 4, 15))],
            [{"text": "Delft", "kind": "TOP", "since": "1246-04-15"}],
        ),
        (Kind, Kind.PLACE, "TOP"),
        (dict[str, Kind], {"a": Kind.PLACE}, {"a": "TOP"}),
        (set[str], {"Delft"}, ["Delft"]),
        (datetime.date, datetime.date(1246, 4, 15), "1246-04-15"),
    ],
)
def test_an_example_of_any_type_is_written_applied_and_saved(
    type_: Any, value: Any, plain: Any, tmp_path: Path
) -> None:
    train = [dspy.Example(id="1", text="In Delft.", names=value).with_inputs("text")]
    ((patch,),) = covering(Diagnosis([pattern("missed", "TOP")], program(type_), train)).values()
    labels = read(write(patch, tmp_path))
    assert labels == patch
    assert labels.example == {"text": "In Delft.", "names": plain}
    apply(program(type_), labels).save(str(tmp_path / "state.json"))
    loaded = program(type_)
    loaded.load(str(tmp_path / "state.json"))
    assert loaded.demos[0]["names"] == plain
