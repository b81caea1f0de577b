"""Hostile and odd input: a clear error or the right result, never a crash, and memory bounded."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold import load, read, write
from goldassay.gold.audit import audit

TASKS = ("extraction", "classification", "linking", "retrieval", "answering", "triples")
FORMATS = ("jsonl", "json", "iob2", "brat", "hipe", "tsv", "csv", "trec", "squad", "text2kgbench", "kit")


def line(text: str, start: int, end: int, **more: Any) -> str:
    span = {"start": start, "end": end, "type": "TOP", "text": text[start:end]}
    return json.dumps({"id": "d", "text": text, "entities": [span], **more}, ensure_ascii=False)


def saved(folder: Path, content: str | bytes, name: str = "extraction.jsonl") -> Path:
    file = folder / name
    file.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return file


@pytest.mark.parametrize("deep", ["[" * 100_000, '{"a":' * 100_000, '{"id": "d", "meta": ' + '{"a":' * 50_000])
def test_deep_nesting(tmp_path: Path, deep: str) -> None:
    for name, task in (("x.jsonl", "extraction"), ("x.json", "extraction"), ("x.json", "answering")):
        with pytest.raises(DataError, match="not JSON"):
            read(saved(tmp_path, deep, name), task=task)
    assert not audit(saved(tmp_path, deep + "\n"), task="extraction").clean


def test_a_yaml_bomb_and_deep_yaml(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 40))
    with pytest.raises(DataError, match="aliases are not read here"):
        read(saved(tmp_path, bomb, "kit.yaml"), task="linking")
    assert audit(tmp_path / "kit.yaml").kinds == {"unreadable": 1}
    with pytest.raises(DataError, match="not YAML"):
        read(saved(tmp_path, "a: " + "[" * 3_000, "deep.yaml"), task="linking")
    with pytest.raises(DataError, match="not YAML"):
        read(saved(tmp_path, "!!python/object/apply:os.system ['true']", "code.yaml"), task="linking")


def test_a_card_names_no_file_outside_of_its_set(tmp_path: Path) -> None:
    saved(tmp_path, line("Delft", 0, 5), "secret.jsonl")
    folder = tmp_path / "set"
    folder.mkdir()
    saved(folder, "files: {extraction: ../secret.jsonl}", "card.yaml")
    for call in (lambda: load(folder), lambda: audit(folder)):
        with pytest.raises(DataError, match="lies outside the set"):
            call()


def test_a_zip_is_no_gold_and_nothing_is_unpacked(tmp_path: Path) -> None:
    file = tmp_path / "extraction.jsonl"
    with zipfile.ZipFile(file, "w") as out:
        out.writestr("../escaped.jsonl", line("Delft", 0, 5))
    with pytest.raises(DataError):
        read(file, task="extraction")
    with pytest.raises(GoldassayError):
        read(file.rename(tmp_path / "gold.zip"), task="extraction")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gold.zip"]


def test_invalid_utf8_says_where(tmp_path: Path) -> None:
    file = saved(tmp_path, line("Delft", 0, 5).encode() + b"\n" + b'{"id": "\xff"}\n')
    with pytest.raises(DataError, match=r"extraction\.jsonl:2: not UTF-8 at byte \d+ \(0xff\)"):
        read(file, task="extraction")
    assert audit(file).findings[0].line == 2


def test_crlf_and_a_byte_order_mark_change_nothing(tmp_path: Path) -> None:
    plain = read(saved(tmp_path, line("In Delft", 3, 8) + "\n"), task="extraction")
    odd = saved(tmp_path, b"\xef\xbb\xbf" + line("In Delft", 3, 8).encode() + b"\r\n")
    assert read(odd, task="extraction") == plain
    assert audit(odd).clean


ODD = ["\U0001f3db \u05de\u05d5\u05d6 in Delft", "cafe\u0301 \U0001f468\u200d\U0001f469\u200d\U0001f467 naast Delft"]


def odd(task: str, index: int, text: str) -> dict[str, Any]:
    """A record whose text has an emoji beyond the BMP, right-to-left letters, or a combining accent."""
    start = text.index("Delft")
    span = {"start": start, "end": start + 5, "text": "Delft"}
    parts: dict[str, dict[str, Any]] = {
        "extraction": {"text": text, "entities": [{**span, "type": "TOP"}]},
        "classification": {"text": text, "label": "M"},
        "linking": {"text": text, "links": [{**span, "ids": {"wikidata": ["Q690"]}}]},
        "retrieval": {"query": text, "relevant": {text.split()[0]: 2}},
        "answering": {"question": text, "answers": ["Delft"], "context": text, "answer_starts": [start]},
        "triples": {"text": text, "triples": [{"subject": text, "predicate": "P131", "object": "Delft"}]},
    }
    return {"id": f"d{index}", **parts[task]}


@pytest.mark.parametrize(
    ("task", "form", "name"),
    [
        *((task, "jsonl", "x.jsonl") for task in TASKS),
        *(("extraction", form, f"x.{form}") for form in ("iob2", "conll", "hipe")),
        *((task, "brat", "x") for task in ("extraction", "linking")),
        ("linking", "hipe", "x.hipe"),
        *(("classification", form, f"x.{form}") for form in ("tsv", "csv")),
        ("retrieval", "trec", "x.qrels"),
        ("answering", "squad", "x.json"),
    ],
)
def test_in_every_format_crlf_and_a_byte_order_mark_change_nothing(
    tmp_path: Path, task: str, form: str, name: str
) -> None:
    place = tmp_path / name
    write(place, [odd(task, index, text) for index, text in enumerate(ODD)], task=task, format=form)
    plain = read(place, task=task, format=form)
    for record, text in zip(plain, ODD, strict=True):
        for span in record.get("entities", []) + record.get("links", []):
            # Offsets are code points: the place is the same in every format, whatever its units of text are.
            assert (span["start"], record["text"][span["start"] : span["end"]]) == (text.index("Delft"), "Delft")
        assert record.get("answer_starts", [text.index("Delft")]) == [text.index("Delft")]
    # Line ends inside of brat's texts are content, not format, so those stay.
    for file in [place] if place.is_file() else place.rglob("*.ann"):
        file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))
    assert read(place, task=task, format=form) == plain


@pytest.mark.parametrize(
    ("text", "start", "end", "covered"),
    [
        ("\U0001f3db museum in Delft", 12, 17, "Delft"),  # beyond the BMP: one code point, two UTF-16 units
        ("cafe\u0301 in Delft", 9, 14, "Delft"),  # e and a combining accent: two code points
        ("caf\u00e9 in Delft", 8, 13, "Delft"),  # composed: one
        (
            "\u05de\u05d5\u05d6\u05d9\u05d0\u05d5\u05df \u05d1\u05d7\u05d9\u05e4\u05d4",
            9,
            13,
            "\u05d7\u05d9\u05e4\u05d4",
        ),
        ("\U0001f468\u200d\U0001f469\u200d\U0001f467 Delft", 6, 11, "Delft"),  # a family: five code points
        ("line\u2028Delft", 5, 10, "Delft"),  # a Unicode line separator is no end of line
    ],
)
def test_offsets_are_code_points(tmp_path: Path, text: str, start: int, end: int, covered: str) -> None:
    assert text[start:end] == covered
    file = saved(tmp_path, line(text, start, end) + "\n")
    [record] = read(file, task="extraction")
    assert record["entities"][0]["text"] == covered
    assert audit(file).clean
    write(tmp_path / "again.jsonl", [record], task="extraction")
    assert read(tmp_path / "again.jsonl", task="extraction") == [record]


def test_offsets_in_utf16_units_are_found_and_put_right(tmp_path: Path) -> None:
    row = {
        "id": "d",
        "text": "\U0001f3db in Delft",
        "entities": [{"start": 6, "end": 11, "type": "TOP", "text": "Delft"}],
    }
    [finding] = audit(saved(tmp_path, json.dumps(row) + "\n")).findings
    assert finding.fix == {"start": 5, "end": 10}


@drawn(60)
@given(
    st.one_of(st.binary(max_size=200), st.text(max_size=100).map(str.encode)),
    st.sampled_from(TASKS),
    st.sampled_from(FORMATS),
)
def test_noise_is_refused_or_read_never_a_crash(noise: bytes, task: str, form: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        name = {"brat": "x.ann", "kit": "x.yaml"}.get(form, f"x.{form}")
        file = saved(Path(folder), noise, name)
        if form == "brat":
            saved(Path(folder), noise, "x.txt")
        message = ""
        try:
            read(file, task=task, format=form)
        except GoldassayError as error:
            message = str(error)
        assert "\n" not in message.strip()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@drawn(60)
@given(st.sampled_from(TASKS), st.data())
def test_wrong_values_in_the_right_fields_are_findings(task: str, data: st.DataObject) -> None:
    import tempfile

    from goldassay.gold.shapes import SHAPES

    names = sorted(SHAPES["gold"][task].__annotations__)
    record = data.draw(st.dictionaries(st.sampled_from(names), json_values, min_size=1))
    with tempfile.TemporaryDirectory() as folder:
        file = saved(Path(folder), json.dumps(record) + "\n", f"{task}.jsonl")
        try:
            records = read(file, task=task)
        except DataError:
            assert not audit(file, task=task).clean
        else:
            assert len(records) == 1
            audit(file, task=task)


@pytest.mark.parametrize(
    ("form", "options"), [("jsonl", "foo: 1"), ("iob2", "adjacent: nil"), ("trec", "tokens: true")]
)
def test_an_option_that_a_format_does_not_have_is_one_line(tmp_path: Path, form: str, options: str) -> None:
    task = "retrieval" if form == "trec" else "extraction"
    (tmp_path / "card.yaml").write_text(f"files:\n  {task}: {{path: x, format: {form}, {options}}}\n", encoding="utf-8")
    (tmp_path / "x").write_text("A\tO\n", encoding="utf-8")
    with pytest.raises(GoldassayError, match=f"format {form} has no option '{options.split(':')[0]}'"):
        len(load(tmp_path).task(task))
    with pytest.raises(GoldassayError, match=f"format {form} has no option"):
        audit(tmp_path)


def test_lines_that_end_in_cr_alone_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.conll").write_bytes(b"A\tB-X\rB\tO\r")
    with pytest.raises(DataError, match="its lines end in CR alone; save it with LF or CRLF"):
        read(tmp_path / "x.conll", task="extraction")
