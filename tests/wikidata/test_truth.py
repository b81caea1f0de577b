"""A ground truth in the form of the founding kit's, and that one: read, its defects found, a program scored on it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from goldassay.exceptions import DataError
from goldassay.measures import triples
from goldassay.wikidata.alignment import PropertyAlignmentTable
from goldassay.wikidata.annotations import Truth, problems, read_truth
from goldassay.wikidata.readers import ArticlePatterns

TEXT = (
    "Marie Curie (7 November 1867 – 4 July 1934) was a physicist and chemist. She was born in Warsaw. In 1895 she "
    "married the French physicist Pierre Curie. She won the Nobel Prize in Physics in 1903 and received the Nobel "
    "Prize in Chemistry in 1911. She was awarded the Davy Medal. She was a professor at the University of Paris. "
    "She died in Sancellemoz and was buried at the Panthéon."
)


LINES = [  # name, predicates, object, its kind, property
    ("own-1", ["born_in", "was_born_in"], "Warsaw", "iri", "P19"),
    ("own-2", ["born_on"], "1867-11-07", "literal", "P569"),
    ("own-3", ["died_in"], "Passy", "iri", "P20"),
    ("own-4", ["married_to"], "Pierre Curie", "iri", "P26"),
    ("own-5", ["discovered"], "Radium", "iri", "P61"),  # P61 is seen from the other end: who discovered it
    ("own-6", ["coined"], "radioactivity", "literal", "P735"),  # which is no given name
]


@pytest.fixture
def truth(tmp_path: Path) -> Truth:
    """Six statements in the form of the kit's ground truth, of which two are of a wrong property."""
    file = tmp_path / "truth.jsonl"
    names = ("id", "predicates", "object", "object_type", "wikidata_property")
    rows = ({**dict(zip(names, line, strict=True)), "subject": "Marie_Curie"} for line in LINES)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return read_truth(file)


def test_all_lines_are_read_and_what_says_them_all_is_perfect(truth: Truth) -> None:
    assert len(truth.lines) == len(truth.record["triples"]) == 6
    assert truth.record["triples"][0] == {
        "subject": "Marie Curie", "predicate": "P19", "object": "Warsaw", "object_type": "item",
    }  # fmt: skip
    card = triples.scorecard([truth.record], [triples.perfect(truth.record)], alignment=truth.alignment)
    assert card.values["f1"] == 1.0
    # any of its predicates says a line
    said = {"triples": [{"subject": "Marie_Curie", "predicate": "was_born_in", "object": "warsaw"}]}
    assert triples.match(truth.record, said, triples.alignment(truth.alignment)).pairs


def test_its_defects(truth: Truth) -> None:
    found = {(one.kind, one.name) for one in problems(truth, PropertyAlignmentTable.ours())}
    assert found == {("direction", "own-5"), ("property", "own-6")}


def test_a_pattern_program_end_to_end(truth: Truth) -> None:
    said = ArticlePatterns()(text=TEXT, title="Marie Curie")
    card = triples.scorecard([truth.record], [said], alignment=truth.alignment)
    # found: P19, P569, P26; wrong as the truth sees it: died in Sancellemoz, where the truth has Passy
    assert {name: card.counts["triples"][name] for name in ("tp", "fp", "fn")} == {"tp": 3, "fp": 1, "fn": 3}
    assert card.values["recall"] == 3 / 6


def test_the_real_ground_truth(shared_data: Path) -> None:
    truth = read_truth(shared_data / "wikidata-benchmark" / "marie-curie.jsonl")
    assert len(truth.lines) == len(truth.record["triples"]) == 45
    found = {(one.kind, one.name) for one in problems(truth, PropertyAlignmentTable.ours())}
    assert found == {
        ("direction", "mc-011"),  # "discovered" is P61 seen from the other end
        ("direction", "mc-012"),
        ("direction", "mc-014"),  # so is "founded" of P112
        ("direction", "mc-015"),
        ("direction", "mc-038"),
        ("property", "mc-013"),  # "coined" has nothing to do with P735, given name
        ("property", "mc-045"),  # the country of birth is no place of birth
    }
    said = ArticlePatterns()(text=TEXT, title="Marie Curie")
    card = triples.scorecard([truth.record], [said], alignment=truth.alignment)
    # found: P569, P570, P19, P26, P166 physics, P166 chemistry, P166 Davy Medal, P108, P119, P106 twice = 11 of 45;
    # wrong as the truth sees it: died in Sancellemoz, where the truth has Passy
    assert {name: card.counts["triples"][name] for name in ("tp", "fp", "fn")} == {"tp": 11, "fp": 1, "fn": 34}
    assert card.values["precision"] == 11 / 12


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "truth.jsonl:1: not JSON"),
        ("[]", "a statement has a subject and an object"),
        ('{"id": "a", "subject": "s", "object": "o", "predicates": []}', "record a, predicates: the predicates are a"),
        (
            '{"id": "a", "subject": "s", "object": "o", "predicates": ["p"], "wikidata_property": "Q1"}',
            "not a property id: 'Q1'",
        ),
        ('{"subject": "s", "object": "o", "predicates": ["p"], "object_type": "x"}', "not iri or literal: 'x'"),
    ],
)
def test_nonsense_is_told_with_its_place(tmp_path: Path, line: str, message: str) -> None:
    file = tmp_path / "truth.jsonl"
    file.write_text(f"{line}\n")
    with pytest.raises(DataError) as error:
        read_truth(file)
    assert message in str(error.value)
