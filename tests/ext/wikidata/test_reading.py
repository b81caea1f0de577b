"""Articles in pieces: nothing is lost between them, and what two of them say is said once."""

from __future__ import annotations

import json
import logging
from itertools import pairwise
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.utils import DummyLM

from goldassay import workspace
from goldassay._support.exceptions import GoldassayError
from goldassay.ext.wikidata.evaluation import read_triples
from goldassay.ext.wikidata.reading import ArticleReader, chunks, merge, resolve_subject


@pytest.mark.parametrize(("size", "overlap"), [(200, 0), (200, 60), (500, 100), (37, 10), (10_000, 300)])
def test_every_sentence_is_in_some_piece(size: int, overlap: int) -> None:
    sentences = [f"Sentence {i} is here." for i in range(100)]
    text = " ".join(sentences[:50]) + "\n\n" + " ".join(sentences[50:])
    pieces = list(chunks(text, size, overlap))
    assert all(len(piece) <= size for piece in pieces)
    assert all(any(sentence in piece for piece in pieces) for sentence in sentences)
    assert len(pieces) == 1 or len(pieces) < 4 * len(text) / max(1, size - overlap)


def test_without_a_place_to_break_it_still_ends() -> None:
    pieces = list(chunks("x" * 1000, 300, 50))
    assert "".join(pieces).count("x") >= 1000
    assert max(map(len, pieces)) <= 300
    assert list(chunks("", 10, 0)) == []
    with pytest.raises(GoldassayError, match="the overlap must be from 0 to the size"):
        list(chunks("x", 10, 10))


def test_pieces_overlap_in_whole_sentences() -> None:
    text = " ".join(f"Sentence {i} is here." for i in range(20))
    first, second = list(chunks(text, 120, 50))[:2]
    shared = second[: second.index(".") + 1]
    assert first.endswith(first[first.index(shared) :])
    assert second.startswith("Sentence")


@pytest.mark.parametrize(
    ("subject", "title", "name"),
    [
        ("She", "Marie Curie", "Marie Curie"),
        ("his", "Bob", "Bob"),
        ("Sie", "Marie Curie", "Marie Curie"),
        ("CURIE", "Marie Curie", "Marie Curie"),
        ("Irène Curie", "Marie Curie", "Irène Curie"),
        ("Marie Curie", "Marie Curie (film)", "Marie Curie (film)"),
        ("Nobel Prize", "Nobel Prize in Physics", "Nobel Prize"),  # another thing
        ("curie", "Marie Curie", "curie"),  # the unit
        (" x ", "", "x"),
    ],
)
def test_the_subject_is_made_the_title(subject: str, title: str, name: str) -> None:
    assert resolve_subject(subject, title) == name


def test_duplicates_keep_the_greatest_confidence() -> None:
    triples: list[dict[str, Any]] = [
        {"subject": "Ann", "predicate": "wdt:P19", "object": "Delft", "confidence": None},
        {"subject": "ann", "predicate": "P19", "object": "DELFT", "confidence": 0.3},
        {"subject": "Ann", "predicate": "P19", "object": "Gouda", "confidence": 0.2},
        {"subject": "Ann", "predicate": "P1082", "object": "+5", "confidence": 0.2},
        {"subject": "Ann", "predicate": "P1082", "object": "*", "confidence": 0.2},
    ]
    merged = merge(triples)
    assert [(triple["object"], triple["confidence"]) for triple in merged] == [
        ("Delft", 0.3), ("Gouda", 0.2), ("+5", 0.2), ("*", 0.2),
    ]  # fmt: skip


def test_text_without_spaces_between_sentences_overlaps_in_sentences() -> None:
    text = "".join(f"第{n:02d}句话在这里。" for n in range(30))
    pieces = list(chunks(text, 60, 20))
    assert all(triple.endswith("。") for triple in pieces)
    assert all(second.startswith(first[-18:]) for first, second in pairwise(pieces))


def test_what_stands_across_a_cut_in_a_sentence_is_whole_in_the_next_piece() -> None:
    pieces = list(chunks(" ".join(f"word{n:03d}" for n in range(100)), 100, 30))
    for first, second in pairwise(pieces):
        assert second.startswith(" ".join(first.split()[-3:]))


def test_a_number_and_its_negative_are_two() -> None:
    triples = [
        {"subject": "x", "predicate": "P2044", "object": value, "confidence": 0.5} for value in ("5 m", "−5 m", "-5 m")
    ]
    assert [triple["object"] for triple in merge(triples)] == ["5 m", "−5 m"]


def test_the_program_for_articles_asks_piece_by_piece(root: Path) -> None:
    program: Any = workspace.load(root / "programs" / "triples.py").Articles()
    assert isinstance(program, ArticleReader)
    program.size = 60
    program.overlap = 20
    says = [
        [{"subject": "She", "predicate": "place of birth", "object": "Warsaw", "confidence": 0.6}],
        [{"subject": "Marie Curie", "predicate": "place of birth", "object": "Warsaw", "confidence": 0.9}],
        [{"subject": "Curie", "predicate": "spouse", "object": "Pierre Curie", "confidence": 0.7}],
    ]
    text = "Marie Curie was a physicist. She was born in Warsaw, which is a city. Curie married Pierre Curie in 1895."
    assert len(list(chunks(text, 60, 20))) == 3
    with dspy.context(lm=DummyLM([{"statements": json.dumps(triple)} for triple in says])):
        triples = program(text=text, title="Marie Curie").triples
    assert triples == [
        {"subject": "Marie Curie", "predicate": "P19", "object": "Warsaw", "confidence": 0.9},
        {"subject": "Marie Curie", "predicate": "P26", "object": "Pierre Curie", "confidence": 0.7},
    ]
    assert [name for name, _ in program.named_predictors()] == ["reader.say"]


def test_a_module_is_asked_without_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    class Reader(dspy.Module):  # type: ignore[misc]
        def forward(self, text: str, title: str) -> dspy.Prediction:
            return dspy.Prediction(triples=[(title, "P19", "Warsaw")])

    logger = logging.getLogger("dspy")
    logger.addHandler(caplog.handler)
    try:
        assert read_triples(Reader(), "", "Marie Curie") == [("Marie Curie", "P19", "Warsaw")]
    finally:
        logger.removeHandler(caplog.handler)
    assert not caplog.records
