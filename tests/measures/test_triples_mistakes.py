"""The errors of triples, in words."""

from __future__ import annotations

from typing import Any

from goldassay.measures import triples as t


def triple(subject: str, predicate: str, value: Any, **more: Any) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": value, **more}


def example(*triples: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"triples": list(triples), **more}


def test_errors_say_in_which_words_the_text_says_it() -> None:
    text = "Het Rijksmuseum werd in het jaar 1798 gesticht en staat nu aan het Museumplein in Amsterdam."
    gold = example(triple("Rijksmuseum", "P571", "1798"), triple("Rijksmuseum", "P131", "Amsterdam"), text=text)
    assessment = t.F1()(gold, example(triple("Rijksmuseum", "P571", "1885"), triple("Rijksmuseum", "P84", "Cuypers")))
    assert [error.kind for error in assessment.errors] == ["missed", "wrong_object", "spurious"]
    missed, wrong, spurious = assessment.errors
    assert missed.message == (
        "Missed (Rijksmuseum, P131, Amsterdam). The text says it: “…nu aan het Museumplein in Amsterdam.…”."
    )
    assert text[missed.start : missed.end] == "Amsterdam"
    assert wrong.message.startswith("P571 of Rijksmuseum is 1798, not 1885. The text says it: “…")
    assert "het jaar 1798 gesticht" in wrong.context
    assert spurious.message.endswith("and the text does not contain 'Cuypers'.")
    assert {error.field for error in assessment.errors} == {"triples"}
    assert t.F1()(gold, gold).right == (
        "(Rijksmuseum, P131, Amsterdam)",
        "(Rijksmuseum, P571, 1798)",
    )
    absent = t.F1()(example(triple("a", "P1", "zinc"), text="Nothing."), example())
    assert absent.errors[0].message == "Missed (a, P1, zinc). The text does not say it in these words."
