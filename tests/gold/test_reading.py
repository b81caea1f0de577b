"""Reading files and aligning them: what comes out, and the one-line errors for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold import pairs, read
from goldassay.gold.records import problems

TEXT = "Het Rijksmuseum staat in Amsterdam."
GOLD = {
    "id": "a",
    "text": TEXT,
    "entities": [
        {"start": 4, "end": 15, "type": "GRP.HER.MUS", "text": "Rijksmuseum"},
        {"start": 25, "end": 34, "type": "TOP", "text": "Amsterdam"},
    ],
}
PRED = {"id": "a", "entities": [{"start": 4, "end": 15, "type": "GRP.HER.MUS", "text": "Rijksmuseum"}]}


def write(file: Path, *rows: object) -> Path:
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def complaint(file: Path, task: str = "extraction", **options: Any) -> str:
    with pytest.raises(GoldassayError) as caught:
        read(file, task=task, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(file.parent) + "/", "")


def test_jsonl_gives_the_records(tmp_path: Path) -> None:
    assert read(write(tmp_path / "gold.jsonl", GOLD), task="extraction") == [GOLD]


def test_a_byte_order_mark_and_crlf_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    file.write_bytes(b"\xef\xbb\xbf" + json.dumps(GOLD).encode() + b"\r\n\r\n")
    assert read(file, task="extraction") == [GOLD]


def test_line_separators_inside_a_text_do_not_cut_the_line(tmp_path: Path) -> None:
    record = {"id": "a", "text": "x\u2028y\u0085z", "entities": []}
    assert read(write(tmp_path / "gold.jsonl", record), task="extraction") == [record]


def test_offsets_are_code_points(tmp_path: Path) -> None:
    """The emoji beyond the BMP is one character, a combining accent is one of its own."""
    text = "🏛 muse\u0301e"
    spans = [{"start": 2, "end": 8, "type": "GRP.HER.MUS", "text": "muse\u0301e"}]
    record = {"id": "a", "text": text, "entities": spans}
    assert read(write(tmp_path / "gold.jsonl", record), task="extraction") == [record]


def test_a_number_is_taken_as_an_id(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.jsonl", {**GOLD, "id": 12})
    assert read(file, task="extraction")[0]["id"] == "12"


def test_no_such_file(tmp_path: Path) -> None:
    assert complaint(tmp_path / "none.jsonl") == "none.jsonl: no such file"


def test_an_empty_file(tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    file.write_bytes(b"\xef\xbb\xbf\r\n")
    assert complaint(file) == "gold.jsonl: the file is empty"


def test_invalid_utf8_is_named_with_line_and_byte(tmp_path: Path) -> None:
    file = tmp_path / "gold.jsonl"
    file.write_bytes(b'\n{"id": "caf\xe9"}\n')
    assert complaint(file) == "gold.jsonl:2: not UTF-8 at byte 12 (0xe9); save the file as UTF-8"


def test_a_line_cut_off(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.jsonl", GOLD, '{"id": "b", "text": "Het Ri')
    assert complaint(file).startswith("gold.jsonl:2: not JSON: Unterminated string starting at")


def test_a_field_too_many_beside_messages_names_these() -> None:
    fields = {"id": "a", "messages": [], "model": "x"}
    (error,) = problems(fields, "trajectories", "pred")
    assert '(`map={"trajectory": "messages"}`)' in str(error)


def test_a_field_that_is_not_there(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.jsonl", {"id": "a", "text": "x"})
    assert (
        complaint(file)
        == 'gold.jsonl:1: record a, entities: this field is missing; name its column (`map={"entities": "COLUMN"}`)'
    )


def test_a_field_too_many(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.jsonl", {**GOLD, "txt": "x"})
    assert (
        complaint(file)
        == "gold.jsonl:1: record a, txt: no such field in this record; put what is your own under 'meta', "
        'or let `map={"entities": "entities"}` do that'
    )


def test_an_offset_that_is_text(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.jsonl", {**GOLD, "entities": [{"start": "4", "end": 15, "type": "TOP"}]})
    assert complaint(file) == "gold.jsonl:1: record a, entities[0].start: input should be a valid integer, found '4'"


def test_offsets_that_do_not_match_say_where_the_text_stands(tmp_path: Path) -> None:
    spans = [{"start": 3, "end": 14, "type": "GRP.HER.MUS", "text": "Rijksmuseum"}]
    file = write(tmp_path / "gold.jsonl", {**GOLD, "entities": spans})
    expected = "text[3:14] is ' Rijksmuseu', not 'Rijksmuseum', which is at 4:15"
    assert complaint(file) == f"gold.jsonl:1: record a, entities[0]: {expected}"


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ((5, 5), "the end (5) is not after the start (5)"),
        ((30, 99), "30:99 reaches beyond the text, which has 35 characters"),
    ],
)
def test_spans_that_cannot_be(tmp_path: Path, span: tuple[int, int], expected: str) -> None:
    spans = [{"start": span[0], "end": span[1], "type": "TOP"}]
    file = write(tmp_path / "gold.jsonl", {**GOLD, "entities": spans})
    assert complaint(file) == f"gold.jsonl:1: record a, entities[0]: {expected}"


def test_a_duplicate_id(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.jsonl", GOLD, GOLD)
    assert complaint(file) == "gold.jsonl: record a: duplicate document id; each record needs its own"


def test_an_unknown_format_lists_the_formats(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.jsonl", GOLD)
    assert complaint(file, format="xml").startswith("no format 'xml'; the formats are jsonl, iob2, conll, hipe")


def test_a_slip_of_the_keyboard_is_no_task_of_ones_own(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.jsonl", GOLD)
    assert complaint(file, "extracton") == "no task 'extracton'; did you mean 'extraction'?"
    assert read(file, task="ner")[0]["entities"]  # a task of one's own has records with any fields


def test_a_name_that_tells_no_format(tmp_path: Path) -> None:
    assert "its format does not follow from its name" in complaint(write(tmp_path / "gold.dat", GOLD))


def test_pairs_are_aligned_by_id_and_missing_ones_are_counted(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.jsonl", {**GOLD, "id": "b"}, GOLD)
    pred = write(tmp_path / "pred.jsonl", PRED)
    both = pairs("extraction", gold, pred)
    assert both.pred == [{"id": "b", "entities": []}, PRED]
    (warning,) = both.warnings
    assert warning.startswith("1 of 2 gold records have no prediction (b); they count as empty ones, unless")


def test_a_prediction_for_an_unknown_document(tmp_path: Path) -> None:
    gold, pred = write(tmp_path / "gold.jsonl", GOLD), write(tmp_path / "pred.jsonl", {**PRED, "id": "z"})
    with pytest.raises(DataError, match=r"pred.jsonl: record z: prediction for a document that gold does not have"):
        pairs("extraction", gold, pred)


def test_predicted_offsets_are_proved_against_golds_text(tmp_path: Path) -> None:
    wrong = {"id": "a", "entities": [{"start": 24, "end": 33, "type": "TOP", "text": "Amsterdam"}]}
    gold, pred = write(tmp_path / "gold.jsonl", GOLD), write(tmp_path / "pred.jsonl", wrong)
    with pytest.raises(DataError, match=r"pred.jsonl: record a, entities\[0\]: .* which is at 25:34"):
        pairs("extraction", gold, pred)


def test_deep_nesting_is_an_error_and_no_crash(tmp_path: Path) -> None:
    file = write(tmp_path / "gold.jsonl", '{"id": "a", "meta": ' + '{"x":' * 100_000)
    assert complaint(file).startswith("gold.jsonl:1: not JSON")


def test_right_to_left_and_combining_characters_keep_their_offsets(tmp_path: Path) -> None:
    text = "متحف‎ الخط — מוזיאון e\u0301"
    start = text.index("מוזיאון")
    spans = [{"start": start, "end": start + 7, "type": "GRP.HER.MUS", "text": "מוזיאון"}]
    record = {"id": "a", "text": text, "entities": spans}
    assert read(write(tmp_path / "gold.jsonl", record), task="extraction") == [record]


def test_nan_is_no_score(tmp_path: Path) -> None:
    record = '{"id": "q", "results": [{"doc_id": "d", "score": NaN}]}'
    message = complaint(write(tmp_path / "run.jsonl", record), "retrieval", side="pred")
    assert message == "run.jsonl:1: NaN is not JSON"


def test_a_negative_grade(tmp_path: Path) -> None:
    record = {"id": "q", "query": "x", "relevant": {"d": -1}}
    message = complaint(write(tmp_path / "gold.jsonl", record), "retrieval")
    assert message == ("gold.jsonl:1: record q, relevant.d: input should be greater than or equal to 0, found -1")


@pytest.mark.parametrize(("value", "good"), [("a", True), (7, True), (True, False), ([], False), ("", False)])
def test_types_of_ids(tmp_path: Path, value: object, good: bool) -> None:
    file = write(tmp_path / "gold.jsonl", {**GOLD, "id": value})
    if good:
        assert read(file, task="extraction")[0]["id"] == str(value)
    else:
        assert ", id: " in complaint(file)


@pytest.mark.parametrize("suffix", ["jsonl", "json"])
def test_bad_lines_may_be_passed_over_on_both_sides(tmp_path: Path, suffix: str) -> None:
    def entry(name: str, **more: Any) -> dict[str, Any]:
        spans = [{"start": 0, "end": 3, "type": "AGT"}]
        return {"id": name, "text": "Ada", ("entities" if suffix == "jsonl" else "ner_annotations"): spans, **more}

    gold, pred = tmp_path / f"gold.{suffix}", tmp_path / f"pred.{suffix}"
    wrong = {"start": 3, "end": 30, "type": "AGT"}
    sides = (
        [entry("a"), entry("b", **{list(entry("b"))[2]: [wrong]}), entry("c")],
        [entry("a"), entry("b"), entry("c", **{list(entry("c"))[2]: [wrong]})],
    )
    for file, rows in zip((gold, pred), sides, strict=True):
        if suffix == "jsonl" and file is pred:
            rows = [{key: value for key, value in row.items() if key != "text"} for row in rows]
            rows[2]["entities"] = [{"start": 5, "end": 2, "type": "AGT"}]
        text = json.dumps(rows) if suffix == "json" else "".join(json.dumps(row) + "\n" for row in rows)
        file.write_text(text, encoding="utf-8")
    both = pairs("extraction", gold, pred, skip_bad=2)
    assert [record["id"] for record in both.gold] == ["a", "c"]  # b's gold cannot be read, nor what was said of it
    assert [len(record["entities"]) for record in both.pred] == [1, 0]
    assert any("2 faults were passed over; the first: " in text and "record b" in text for text in both.warnings)
    with pytest.raises(DataError, match="record [bc]"):
        pairs("extraction", gold, pred, skip_bad=1)
    with pytest.raises(DataError, match="record b"):
        pairs("extraction", gold, pred)
