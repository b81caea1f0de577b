"""Errors of links in words."""

from __future__ import annotations

from typing import Any

from goldassay.measures import linking as ln

Link = dict[str, Any]


def mention(start: int, end: int, *ids: str) -> Link:
    return {"start": start, "end": end, "ids": {"wikidata": list(ids)} if ids else {}}


def answer(start: int, end: int, *ids: str) -> Link:
    return {"start": start, "end": end, "candidates": [{"id": id_} for id_ in ids]}


def test_errors_say_which_candidate_stood_where() -> None:
    text = "Paris, Texas and the Louvre"
    gold = {"text": text, "links": [mention(0, 5, "Q830149"), mention(7, 12), mention(21, 27, "Q19675")]}

    def messages(*pred: Link) -> list[tuple[str, str]]:
        return [(error.kind, error.message) for error in ln.MRR()(gold, {"links": list(pred)}).errors]

    rest = (answer(7, 12), answer(21, 27, "Q19675"))
    assert messages(answer(0, 5, "Q90", "Q830149"), *rest) == [
        ("wrong_link", f'"Paris" is Q830149, which is at rank 2 below Q90, in "{text}".')
    ]
    ((kind, message),) = messages(answer(0, 5, "Q1", "Q2", "Q3", "Q4"), *rest)
    assert (kind, "not among the candidates Q1, Q2, Q3 and 1 more" in message) == ("wrong_link", True)
    answers = (answer(0, 5), answer(7, 12, "Q1439"), answer(13, 16, "Q5"), answer(20, 27, "Q19675"))
    kinds = [kind for kind, _ in messages(*answers)]
    assert kinds == ["nil_spurious", "nil_missed", "spurious", "wrong_boundary"]
    assert [kind for kind, _ in messages()] == ["missed"] * 3
    lost = ln.MRR()(gold, {"links": [{"start": None, "end": None, "text": "Lyon", "candidates": ["Q456"]}]}).errors
    assert lost[-1].message == '"Lyon" (Q456) is not in the text: copy the words exactly.'
