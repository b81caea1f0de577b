"""Errors of labels in words."""

from __future__ import annotations

from goldassay.core.tally import Counts
from goldassay.measures import classification as c


def test_errors_say_which_label_was_taken_for_which_and_which_words_speak_for_the_right_one() -> None:
    gold = {"label": "A", "text": "Het Stadsarchief van Delft bewaart akten.", "secondary_labels": ["L"]}
    assessment = c.Accuracy()(gold, {"label": "M"})
    (error,) = assessment.errors
    assert error.kind == "wrong_label"
    assert error.message.startswith(
        'A (Archive) was taken for M (Museum): "Stadsarchief", "akten" speak for A, in "Het'
    )
    assert gold["text"][error.start : error.end] == "Stadsarchief"  # type: ignore[index]
    assert (error.gold_type, error.pred_type, error.field) == ("A", "M", "label")
    kinds = {pred: c.Accuracy()(gold, {"label": pred}).errors[0].kind for pred in ("L", None, "Z")}
    assert kinds == {"L": "secondary_label", None: "no_label", "Z": "unknown_label"}
    assert c.Accuracy()(gold, {"label": "A"}).right == ("label A (Archive)",)


def test_letters_that_are_anybodys_labels_are_not_named_as_institution_types() -> None:
    (error,) = c.Accuracy()({"label": "A", "text": "Which is a mammal?"}, {"label": "M"}).errors
    assert error.message == "A was taken for M."
    (error,) = c.Accuracy()({"label": "M", "text": "a shirt"}, {"label": "XL"}).errors
    assert (error.kind, error.message) == ("wrong_label", "M was taken for XL.")


def test_secondary_labels_have_errors_of_their_own_where_a_program_gives_any() -> None:
    gold = {"label": "X", "secondary_labels": ["M", "L"], "text": "Museum en bibliotheek"}
    assessment = c.LabelF1("micro")(gold, {"label": "X", "secondary_labels": ["M", "H"]})
    assert [(error.kind, error.gold_type or error.pred_type, error.field) for error in assessment.errors] == [
        ("missed", "L", "secondary_labels"),
        ("spurious", "H", "secondary_labels"),
    ]
    assert '"bibliotheek" speaks for it' in assessment.errors[0].message
    assert assessment.tally == Counts(2, 1, 1)
    assert not c.LabelF1("micro")(gold, {"label": "X"}).errors
