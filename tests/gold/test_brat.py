"""brat standoff: spans in pieces, references, attributes, relations."""

from __future__ import annotations

from pathlib import Path

import pytest

from goldassay._support.exceptions import DataError
from goldassay.gold import read, write

TEXT = "Noord- en Zuid-Holland\nhebben musea."
ANN = """T1\tTOP 0 6;15 22\tNoord- Holland
T2\tTOP 10 22\tZuid-Holland
N1\tReference T2 Wikidata:Q694\tZuid-Holland
A1\tNIL T1
R1\tlies_in Arg1:T1 Arg2:T2
E1\tEvent:T1
#1\tAnnotatorNotes T1\tnote
*\tEquiv T1 T2
"""


def folder(place: Path, ann: str = ANN, text: str = TEXT) -> Path:
    (place / "nl").mkdir()
    (place / "nl" / "one.txt").write_text(text, encoding="utf-8")
    (place / "nl" / "one.ann").write_text(ann, encoding="utf-8")
    return place


def test_entities_with_pieces(tmp_path: Path) -> None:
    assert read(folder(tmp_path), task="extraction") == [
        {
            "id": "nl/one",
            "text": TEXT,
            "entities": [
                {"start": 0, "end": 22, "type": "TOP", "text": "Noord- Holland", "fragments": [(0, 6), (15, 22)]},
                {"start": 10, "end": 22, "type": "TOP", "text": "Zuid-Holland"},
            ],
        }
    ]


def test_references_and_nil_are_links(tmp_path: Path) -> None:
    links = read(folder(tmp_path), task="linking")[0]["links"]
    assert [(link["text"], link["ids"]) for link in links] == [
        ("Noord- Holland", {}),
        ("Zuid-Holland", {"wikidata": ["Q694"]}),
    ]
    pred = read(tmp_path, format="brat", task="linking", side="pred")[0]["links"]
    assert [link["candidates"] for link in pred] == [[], [{"id": "Q694", "kb": "wikidata"}]]


def test_relations_are_triples(tmp_path: Path) -> None:
    assert read(folder(tmp_path), task="triples")[0]["triples"] == [
        {"subject": "Noord- Holland", "predicate": "lies_in", "object": "Zuid-Holland"}
    ]


def test_an_event_stands_for_its_trigger(tmp_path: Path) -> None:
    places = [tmp_path / "events", tmp_path / "triggers"]
    for place, ann in zip(places, (ANN.replace("Arg1:T1", "Arg1:E1").replace("NIL T1", "NIL E1"), ANN), strict=True):
        place.mkdir()
        folder(place, ann)
    for task in ("triples", "linking", "extraction"):
        events, triggers = (read(place, task=task) for place in places)
        assert events == triggers


def test_a_line_break_in_a_span_reads_as_a_space(tmp_path: Path) -> None:
    record = read(folder(tmp_path, "T1\tTOP 15 29\tHolland hebben\n"), task="extraction")[0]
    assert record["entities"][0]["text"] == "Holland\nhebben"


def test_an_empty_ann_file_has_no_annotations(tmp_path: Path) -> None:
    assert read(folder(tmp_path, ""), task="extraction")[0]["entities"] == []


def test_pieces_are_written_and_read_back(tmp_path: Path) -> None:
    records = read(folder(tmp_path), task="extraction")
    write(tmp_path / "out", records, format="brat", task="extraction")
    assert read(tmp_path / "out", task="extraction") == records


@pytest.mark.parametrize(
    ("ann", "expected"),
    [
        (
            "T1\tTOP 9 21\tZuid-Holland\n",
            "one.ann:1: record nl/one: text[9:21] is ' Zuid-Hollan', not 'Zuid-Holland', which",
        ),
        ("T1\tTOP 9\tZuid\n", "one.ann:1: record nl/one: not as in the format brat"),
        ("T1\tTOP 0 5\tNoord\nT1\tTOP 0 5\tNoord\n", "one.ann:2: record nl/one: T1 is there twice"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, ann: str, expected: str) -> None:
    with pytest.raises(DataError) as caught:
        read(folder(tmp_path, ann), task="extraction")
    assert expected in str(caught.value)


def test_a_relation_to_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"one.ann:1: record nl/one: not as in the format brat: no 'T1'"):
        read(folder(tmp_path, "R1\tr Arg1:T1 Arg2:T2\n"), task="triples")


def test_an_ann_file_without_its_text(tmp_path: Path) -> None:
    (folder(tmp_path) / "nl" / "one.txt").unlink()
    with pytest.raises(DataError, match=r"one.txt: no such file"):
        read(tmp_path, task="extraction")


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no .ann file in this folder"):
        read(tmp_path, task="extraction")


@pytest.mark.parametrize("name", ["../out", "/etc/out", "a/../../out", "C:out", "..", "a\\..\\b"])
def test_an_id_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="cannot be the name of a file inside the folder"):
        write(tmp_path / "out", [{"id": name, "text": "x", "entities": []}], format="brat", task="extraction")
