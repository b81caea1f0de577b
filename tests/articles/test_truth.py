"""The founding kit's ground truth: read, its defects found, a pattern program scored on it end to end."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldassay.articles.people import Truth, problems, read_truth
from goldassay.articles.readers import ArticlePatterns
from goldassay.exceptions import DataError
from goldassay.measures import triples
from goldassay.wikibase.alignment import PropertyAlignmentTable

TEXT = (
    "Marie Curie (7 November 1867 – 4 July 1934) was a physicist and chemist. She was born in Warsaw. In 1895 she "
    "married the French physicist Pierre Curie. She won the Nobel Prize in Physics in 1903 and received the Nobel "
    "Prize in Chemistry in 1911. She was awarded the Davy Medal. She was a professor at the University of Paris. "
    "She died in Sancellemoz and was buried at the Panthéon."
)


@pytest.fixture
def truth(shared_data: Path) -> Truth:
    return read_truth(shared_data / "wikidata-benchmark" / "marie-curie.jsonl")


def test_all_lines_are_read_and_what_says_them_all_is_perfect(truth: Truth) -> None:
    assert len(truth.lines) == len(truth.record["triples"]) == 45
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
    assert found == {
        ("direction", "mc-011"),  # "discovered" is P61 seen from the other end
        ("direction", "mc-012"),
        ("direction", "mc-014"),  # so is "founded" of P112
        ("direction", "mc-015"),
        ("direction", "mc-038"),
        ("property", "mc-013"),  # "coined" has nothing to do with P735, given name
        ("property", "mc-045"),  # the country of birth is no place of birth
    }


def test_a_pattern_program_end_to_end(truth: Truth) -> None:
    said = ArticlePatterns()(text=TEXT, title="Marie Curie")
    card = triples.scorecard([truth.record], [said], alignment=truth.alignment)
    # found: P569, P570, P19, P26, P166 physics, P166 chemistry, P166 Davy Medal, P108, P119, P106 twice = 11 of 45;
    # wrong as the truth sees it: died in Sancellemoz, where the truth has Passy
    assert {name: card.counts["triples"][name] for name in ("tp", "fp", "fn")} == {"tp": 11, "fp": 1, "fn": 34}
    assert card.values["precision"] == 11 / 12
    assert card.values["recall"] == 11 / 45


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
