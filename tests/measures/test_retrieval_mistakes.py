"""The errors of retrieval, in words."""

from __future__ import annotations

from goldassay.measures import retrieval as r

GOLD = {"id": "q", "query": "museum", "relevant": {"a": 3, "b": 2, "c": 1, "x": 0}}


PRED = {"results": [{"doc_id": d, "score": s} for d, s in [("b", 5.0), ("x", 4.0), ("u", 3.0), ("a", 2.0)]]}


def test_errors_say_what_stood_above() -> None:
    pred = {"results": [*PRED["results"][:3], {"doc_id": "a", "score": 2.0, "text": "Het  Rijksmuseum"}]}
    assessment = r.RR()(GOLD, pred)
    errors, right = assessment.errors, assessment.right
    assert [error.kind for error in errors] == ["outranked", "missed"]
    assert errors[0].message == (
        "Relevant document a (grade 3, “Het Rijksmuseum”) is at rank 4, below b (grade 2), x (grade 0), u (not judged)."
    )
    assert errors[1].message == "Relevant document c (grade 1) was not retrieved: it is not among the 4 results."
    assert right == ("b (grade 2) at rank 1",)
    assert {error.field for error in errors} == {"results"}
    assert r.RR()({"relevant": []}, pred).errors[0].kind == "spurious"
