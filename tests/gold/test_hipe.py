"""HIPE TSV: text and offsets, both campaigns' comments, NEL cells, and systems laid on gold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.nightly import by_day

from goldassay._support.exceptions import DataError
from goldassay.gold import pairs, read

HEADER = "TOKEN\tNE-COARSE-LIT\tNEL-LIT\tMISC"
ROWS = [
    "# hipe2022:document_id = one",
    "Das\tO\t_\t_",
    "Museum\tB-org\tQ1|Q2\t_",
    "Lud\tI-org\tQ1|Q2\tNoSpaceAfter",
    "¬\tI-org\tQ1|Q2\tEndOfLine|NoSpaceAfter",
    "wig\tI-org\tQ1|Q2\tNoSpaceAfter",
    ".\tO\t_\tEndOfSentence",
    "# hipe2022:document_id = two",
    "Otto\tB-pers\tNIL\t_",
    "Anna\tB-pers\tNIL\t_",
]


def write(file: Path, rows: list[str], header: str = HEADER) -> Path:
    file.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return file


def test_text_and_offsets_follow_the_flags(tmp_path: Path) -> None:
    records = read(write(tmp_path / "a.tsv", ROWS), task="extraction")
    assert [record["text"] for record in records] == ["Das Museum Lud¬\nwig.", "Otto Anna"]
    assert records[0]["entities"] == [{"start": 4, "end": 19, "type": "org", "text": "Museum Lud¬\nwig"}]


def test_nel_cells_hold_alternatives_and_neighbouring_nil_mentions(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tsv", ROWS)
    gold = read(file, task="linking")
    assert gold[0]["links"] == [{"start": 4, "end": 19, "text": "Museum Lud¬\nwig", "ids": {"wikidata": ["Q1", "Q2"]}}]
    assert [(link["text"], link["ids"]) for link in gold[1]["links"]] == [("Otto", {}), ("Anna", {})]
    joined = read(file, task="linking", adjacent="none")
    assert [link["text"] for link in joined[1]["links"]] == ["Otto Anna"]
    pred = read(file, task="linking", side="pred")
    assert pred[0]["links"][0]["candidates"] == [{"id": "Q1", "score": 1.0}, {"id": "Q2", "score": 0.5}]


def test_a_system_without_comments_is_aligned_by_its_tokens(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.tsv", ROWS)
    bare = [row for row in ROWS if not row.startswith("#")]
    both = pairs("extraction", gold, write(tmp_path / "pred.tsv", bare))
    assert [record["id"] for record in both.pred] == ["one", "two"]
    assert [record["entities"] for record in both.pred] == [record["entities"] for record in both.gold]


def test_a_system_that_cut_words_otherwise_is_aligned_by_its_characters(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.tsv", ROWS)
    rows = ["Das\tO\t_", "Museum\tB-org\tQ1", "Lud¬wig.\tI-org\tQ1", "Ot\tB-pers\tNIL", "to\tI-pers\tNIL", "Anna\tO\t_"]
    both = pairs("extraction", gold, write(tmp_path / "pred.tsv", rows, "TOKEN\tNE-COARSE-LIT\tNEL-LIT"))
    assert both.pred[0]["entities"] == [{"start": 4, "end": 20, "type": "org", "text": "Museum Lud¬\nwig."}]
    assert both.pred[1]["entities"] == [{"start": 0, "end": 4, "type": "pers", "text": "Otto"}]


def test_documents_in_another_order_are_found_by_their_ids(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.tsv", ROWS)
    both = pairs("extraction", gold, write(tmp_path / "pred.tsv", [*ROWS[7:], *ROWS[:7]]))
    assert [record["entities"] for record in both.pred] == [record["entities"] for record in both.gold]


def message(gold: Path, pred: Path) -> str:
    with pytest.raises(DataError) as caught:
        pairs("extraction", gold, pred)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(str(pred.parent) + "/", "")


def test_a_real_mismatch_names_document_line_and_both_forms(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.tsv", ROWS)
    rows = [row.replace("Otto\t", "Hugo\t") for row in ROWS]
    expected = "'Otto' in gold is 'Hugo' here; both files must hold the same text"
    assert message(gold, write(tmp_path / "pred.tsv", rows)) == f"pred.tsv:10: record two: {expected}"


def test_a_system_that_ends_early_or_goes_on(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.tsv", ROWS)
    for name, rows, fit, size in (("short.tsv", ROWS[:-1], 1, 1), ("long.tsv", [*ROWS, "Karl\tO\t_\t_"], 2, 3)):
        assert f"record two: {fit} tokens fit gold's text, of {size}" in message(gold, write(tmp_path / name, rows))


def test_an_unknown_document(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.tsv", ROWS)
    other = write(tmp_path / "pred.tsv", ["# document_id = three", "Otto\tO\t_\t_"])
    assert message(gold, other) == "pred.tsv:2: record three: prediction for a document that gold does not have"


def complaint(file: Path, **options: Any) -> str:
    with pytest.raises(DataError) as caught:
        read(file, task="extraction", **options)
    return str(caught.value).replace(str(file.parent) + "/", "")


def test_a_wrong_column_lists_the_columns(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tsv", ROWS)
    expected = "a.tsv:1: no column NE-FINE-LIT; there are TOKEN, NE-COARSE-LIT, NEL-LIT, MISC"
    assert complaint(file, column="NE-FINE-LIT") == expected


def test_a_tag_outside_the_scheme(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tsv", [*ROWS, "Karl\tX-pers\t_\t_"])
    expected = "tag 'X-pers' is outside the scheme IOB2, which has O, I-TYPE, B-TYPE"
    assert complaint(file) == f"a.tsv:12: record two: {expected}"


def test_a_line_cut_off(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tsv", [*ROWS, "Karl"])
    assert complaint(file) == "a.tsv:12: 1 columns, and none is NE-COARSE-LIT; is the line cut off?"


def test_a_repeated_document_id_gets_a_number(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tsv", [*ROWS, "# document_id = one", "Karl\tO\t_\t_"])
    assert [record["id"] for record in read(file, task="extraction")] == ["one", "two", "one#2"]


def test_a_hash_can_be_a_token(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tsv", ["#\tO\t_\tNoSpaceAfter", "7\tO\t_\t_"])
    assert read(file, task="extraction")[0]["text"] == "#7"


def test_comments_of_2020_and_comments_spread_over_columns(tmp_path: Path) -> None:
    """As the files of that year have them, and as a table program leaves them: each word in a cell of its own."""
    rows = ["# language = de", "# date = 1898-11-17", "# document_id = NZZ-1898-11-17-c-p0002", "Bern\tB-loc\tQ70\t_"]
    (record,) = read(write(tmp_path / "a.tsv", rows), task="extraction")
    assert (record["id"], record["language"], record["strata"]["decade"]) == ("NZZ-1898-11-17-c-p0002", "de", "1890s")
    spread = [*rows[:2], "#\tdocument_id\t=\tEXP-1888-01-09-a-i0035", *rows[3:]]
    (record,) = read(write(tmp_path / "b.tsv", spread), task="linking", side="pred")
    assert record["id"] == "EXP-1888-01-09-a-i0035"


@pytest.mark.parametrize(
    "column",
    by_day(
        ("NE-COARSE-LIT", "NE-COARSE-METO", "NE-FINE-LIT", "NE-FINE-COMP", "NE-NESTED"), "NE-COARSE-LIT", "NE-NESTED"
    ),
)
def test_every_column_is_read_with_proved_offsets(own: Path, real_data: Path, column: str) -> None:
    for file in [own / "hipe.tsv", *sorted((real_data / "hipe2022").glob("ajmc-test-*.tsv"))]:
        for record in read(file, task="extraction", column=column):
            for span in record["entities"]:
                assert record["text"][span["start"] : span["end"]] == span["text"]


@pytest.mark.parametrize("files", by_day(("ajmc-*.tsv", "*.tsv"), "ajmc-*.tsv"))
def test_mentions_are_counted_like_their_begin_tags(own: Path, real_data: Path, files: str) -> None:
    """Every B- begins an entity; the German training file has one entity more, whose type changes half-way."""
    extra = {"ajmc-train-de.tsv": 1}
    for file in [own / "hipe.tsv", *sorted((real_data / "hipe2022").glob(files))]:
        rows = [row.split("\t") for row in file.read_text(encoding="utf-8").split("\n")]
        begins = sum(1 for row in rows if len(row) > 1 and row[1].startswith("B-"))
        records = read(file, task="extraction", format="hipe")
        assert sum(len(record["entities"]) for record in records) == begins + extra.get(file.name, 0)
