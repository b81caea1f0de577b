"""The alignment table: what a predicate means, and what is wrong with a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldassay._support.exceptions import DataError
from goldassay.ext.wikidata.alignment import PropertyAlignmentTable, problems


@pytest.fixture(scope="module")
def table() -> PropertyAlignmentTable:
    return PropertyAlignmentTable.of()


def test_ours_has_sixty_properties_and_no_defect(table: PropertyAlignmentTable) -> None:
    assert len(table.by_id) >= 60
    assert all(row.predicates and row.label and row.type for row in table.rows)
    assert list(problems(table)) == []
    assert PropertyAlignmentTable.of() is table  # reading it takes a sixth of a second


@pytest.mark.parametrize(("predicate", "property"), [
    ("dateOfBirth", "P569"), ("placeOfBirth", "P19"), ("birthPlace", "P19"), ("headquarters_location", "P159"),
    ("schema:successorOf", "P155"), ("schema:predecessorOf", "P156"),
])  # fmt: skip
def test_names_as_programs_write_them(table: PropertyAlignmentTable, predicate: str, property: str) -> None:
    assert table.meaning(predicate).properties == {property}


@pytest.mark.parametrize(
    "predicate",
    [
        "schema:birthDate",
        "http://schema.org/birthDate",
        "https://schema.org/birthDate",
        "<http://schema.org/birthDate>",
        "pgc:birthDate",
        "https://pg-ripple.org/compile#birthDate",  # the prefix is declared in the table
        "birth_date",
        "date of birth",
        "P569",
        "wdt:P569",
        "http://www.wikidata.org/prop/direct/P569",
    ],
)
def test_an_iri_a_prefixed_name_and_a_label_are_one_predicate(table: PropertyAlignmentTable, predicate: str) -> None:
    assert table.meaning(predicate).properties == {"P569"}


@pytest.mark.parametrize(
    ("predicate", "kinds", "value", "properties", "inverted"),
    [
        ("born", (), "7 November 1867", {"P569"}, set()),
        ("born", (), "Warsaw", {"P19"}, set()),
        ("born", (), None, {"P19", "P569"}, set()),
        ("founded", ("organization",), "1920", {"P571"}, set()),
        ("founded", ("person",), "Curie Institute", set(), {"P112"}),
        ("created", ("work",), "1503", {"P571"}, set()),
        ("rel:childOf", ("person",), "Marie Curie", set(), {"P40"}),
        ("rel:parentOf", ("person",), "Irène", {"P40"}, set()),
        ("is a", ("person",), "physicist", {"P31", "P106"}, set()),  # a human, or a physicist
        ("is a", ("place",), "city", {"P31"}, set()),
        ("is a", (), "city", {"P31", "P106"}, set()),
        ("capital", ("place",), "Paris", {"P36"}, set()),
        ("ex:hobby", ("person",), "gardening", set(), set()),
    ],
)
def test_subject_and_object_say_which_property_is_meant(
    table: PropertyAlignmentTable,
    predicate: str,
    kinds: tuple[str, ...],
    value: str | None,
    properties: set[str],
    inverted: set[str],
) -> None:
    meaning = table.meaning(predicate, kinds, value)
    assert (set(meaning.properties), set(meaning.inverted)) == (properties, inverted)


def test_values_and_inverses(table: PropertyAlignmentTable) -> None:
    assert table.by_id["P21"].items["male"] == "Q6581097"
    assert [table.by_id[name].inverse for name in ("P749", "P26", "P19")] == ["P355", "P26", None]


def test_the_kits_table_and_its_defects(shared_data: Path) -> None:
    kit = PropertyAlignmentTable.of(shared_data / "wikidata-benchmark" / "property-alignment-v1.yaml")
    assert len(kit.rows) == kit.declared == 61
    assert len(kit.by_id) == 60  # P856 twice
    assert kit.by_id["P21"].items["male"] == "Q6581097"  # from its notes
    defects = [(defect["kind"], defect["name"]) for defect in problems(kit)]
    assert sorted(defects) == [("duplicate", "P856"), ("prefix", "ex"), ("prefix", "pgc")]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{wikidata_pid: X1, predicates: [a]}", r"alignments\[0\]\.wikidata_pid: .*, got 'X1'"),
        ("{wikidata_pid: P1, predicates: [a], inverse: Q1}", "inverse: .*, got 'Q1'"),
        ("{wikidata_pid: P1, predicates: [a], type: thing}", "type: Input should be '', 'item', 'time'"),
        ("{wikidata_pid: P1, predicates: [a], domain: person}", "domain: .*, got 'person'"),
        ("{wikidata_pid: P1, predicates: [a], range: [city]}", "range.0: Input should be 'person', 'organization'"),
        ("{wikidata_pid: P1, predicates: 3}", "predicates: .* tuple, got 3"),
        ("{wikidata_pid: P1, predicates: [a], alignment_confidence: 2}", "alignment_confidence: .*, got 2"),
        ("{wikidata_pid: P1, predicates: [a], values: {male: 5}}", "values.male: .* string, got 5"),
    ],
)
def test_nonsense_is_told_with_its_place(tmp_path: Path, row: str, message: str) -> None:
    file = tmp_path / "table.yaml"
    file.write_text(f"alignments: [{row}]")
    with pytest.raises(DataError, match=message):
        PropertyAlignmentTable.of(file)


def test_a_wrong_count_and_an_empty_row_are_reported(tmp_path: Path) -> None:
    file = tmp_path / "table.yaml"
    file.write_text(
        "count: 5\nalignments:\n- {wikidata_pid: P1, predicates: []}\n"
        "- {wikidata_pid: P2, predicates: [a], inverse: P3}\n- {wikidata_pid: P3, predicates: [b], inverse: P4}\n"
    )
    defects = list(problems(PropertyAlignmentTable.of(file)))
    assert [defect["kind"] for defect in defects] == ["count", "unreachable"]
    assert defects[0]["message"] == "5 rows declared, 3 counted"
