"""Demonstrations as edits: sets that cover, empty answers, words of the prompt, bounds, the order of labels."""

from __future__ import annotations

from typing import Any, Literal

import dspy
import pytest

from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import Error
from goldassay.tuning.edits import Diagnosis, LabelWords, counter_example, cover, covering, nearest_examples
from goldassay.tuning.instructions import definitions, list_length, rules
from goldassay.tuning.patches import apply
from goldassay.tuning.patterns import Pattern
from goldassay.tuning.wrappers import check_fits, inmost


def example(name: str, text: str, *mentions: tuple[str, str]) -> Any:
    inputs = [{"text": word, "type": kind} for word, kind in mentions]
    return dspy.Example(id=name, text=text, mentions=inputs).with_inputs("text")


TRAIN = [
    example("a", "In Delft", ("Delft", "TOP")),
    example("b", "In Gouda", ("Gouda", "TOP")),
    example("c", "Museum X in 1885", ("Museum X", "MUS"), ("1885", "TMP")),
    example("d", "Nothing here at all"),
    example("e", "Nothing"),
    example("f", "A very long text without anything of use in it " * 3),
]


def program() -> Any:
    return dspy.Predict(dspy.Signature("text -> mentions: list[dict]", "Find names."))


def pattern(kind: str, gold: str, pred: str, loss: float, *documents: str) -> Pattern:
    errors = tuple(Error(kind, "", gold="x", gold_type=gold, pred_type=pred) for _ in documents)
    return Pattern(kind, gold, pred, (), errors, documents, loss)


def test_a_set_covers_each_costly_pattern_once_before_any_twice() -> None:
    result = [pattern("missed", "TOP", "", 0.5, "a", "b"), pattern("missed", "TMP", "", 0.4, "c")]
    chosen = [entry["id"] for entry in cover(TRAIN, result, program(), 2)]
    assert sorted(chosen) == ["a", "c"]  # "b" shows what "a" shows; "a" stands first among equals
    assert "f" not in [item["id"] for item in cover(TRAIN, result, program(), 6)]  # it costs more than it brings
    assert cover([], result, program(), 2) == []


def test_examples_whose_labels_are_as_frequent_are_equals_in_whatever_order_they_are_added() -> None:
    kinds = [(letter, period) for letter in "abcdefgh" for period in (1, 2, 3, 5, 6)]
    labels = [[f"{letter}{period}-{number // period:02}" for letter, period in kinds] for number in range(30)]
    pool = [dspy.Example(text="x", mentions=texts).with_inputs("text") for texts in labels]
    for first in range(0, 30, 3):
        turned = [*pool[first:], *pool[:first]]
        assert cover(turned, [], program(), 1) == turned[:1]


def test_the_most_covering_example_stands_next_to_the_question() -> None:
    diagnosis = Diagnosis(
        [pattern("missed", "TMP", "", 0.4, "c"), pattern("missed", "TOP", "", 0.1, "a")], program(), TRAIN
    )
    patches = covering(diagnosis, 2)["demonstrations"]
    assert patches[-1].examples == ["c"]
    patched: Any = diagnosis.program
    for patch in patches:
        patched = apply(patched, patch, any_version=True)
    assert [demo["text"] for demo in patched.demos] == [patch.example["text"] for patch in patches if patch.example]
    again = Diagnosis(diagnosis.patterns, patched, TRAIN)
    assert not {item.id for item in covering(again, 2).get("demonstrations", [])} & {
        each_patch.id for each_patch in patches
    }


def test_where_too_much_is_found_an_example_with_nothing_in_it_is_shown() -> None:
    many = Diagnosis([pattern("spurious", "", "TOP", 0.2, "d")], program(), TRAIN)
    (patch,) = counter_example(many)["counter-example"]
    assert patch.example == {"text": "Nothing here at all", "mentions": []}  # of middle length
    assert counter_example(Diagnosis([pattern("missed", "TOP", "", 0.2, "a")], program(), TRAIN)) == {}


def test_nearest_examples_are_an_edit_too() -> None:
    (patch,) = nearest_examples(Diagnosis([], program(), TRAIN), 2)["nearest"]
    patched: Any = apply(program(), patch)
    assert [example["text"] for example in patched.nearest(text="In Delft and Gouda")][-1] in ("In Delft", "In Gouda")
    assert type(inmost(apply(patched, patch, any_version=True))) is type(program())  # in place of it
    assert nearest_examples(Diagnosis([], patched, TRAIN)) == {}


def test_what_no_predictor_can_be_shown_names_to_demo() -> None:
    wrong = [dspy.Example(id="1", text="x", entities=[]).with_inputs("text")]
    with pytest.raises(GoldassayError, match=r"needs mentions, and the examples have entities, id, text; .*to_demo"):
        check_fits(program(), wrong)
    check_fits(program(), TRAIN)


KIND = Literal["museum", "archive", "library"]


def label(name: str, text: str, code: str, kind: str) -> Any:
    return dspy.Example(id=name, text=text, label=code, type=kind).with_inputs("text")


LABELS = [
    label("1", "het stadsarchief bewaart akten", "A", "archive"),
    label("2", "dit stadsarchief is gesloten", "A", "archive"),
    label("3", "het museum toont schilderijen", "M", "museum"),
    label("4", "een museum en een tuin", "M", "museum"),
    label("5", "dit museum bewaart ook akten", "M", "museum"),
    label("6", "de bibliotheek", "L", "library"),
]


def classifier() -> Any:
    return dspy.Predict(dspy.Signature("text -> type").with_updated_fields("type", type_=KIND))


def test_rules_say_what_the_prompt_says_and_name_a_cue() -> None:
    confused = pattern("wrong_label", "A", "M", 0.2, "1", "2")
    ((patch,),) = rules(Diagnosis([confused], classifier(), LABELS)).values()
    assert patch.text == 'A text with "stadsarchief" is archive, not museum.'
    for unknown in ("L", "Z"):  # one text: no cue; no word for it
        assert rules(Diagnosis([pattern("wrong_label", unknown, "M", 0.2, "6")], classifier(), LABELS)) == {}
    assert LabelWords(classifier(), LABELS).cues("M", "A") == ["museum"]


def test_lists_have_bounds() -> None:
    many = [example(str(n), f"text {n}", *[(f"w{k}", "TOP") for k in range(n % 4)]) for n in range(20)]
    (bound,) = list_length(Diagnosis([pattern("spurious", "", "TOP", 0.2, "1")], program(), many))["bound"]
    assert bound.text == "Give at most 3 mentions."


def test_definitions_contrast_what_is_confused() -> None:
    (patch,) = definitions(Diagnosis([pattern("wrong_type", "MUS", "TOP", 0.2, "c")], program(), TRAIN))["definitions"]
    assert patch.text == 'MUS is "Museum X"; "Delft", "Gouda" is TOP.'
