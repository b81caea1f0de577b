"""IOB2 and its relatives: documents, sentences, schemes, malformed tags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldassay import score
from goldassay._support.exceptions import GoldassayError
from goldassay.gold import pairs, read

SENTENCES = "Het O\nRijksmuseum B-MUS\nAmsterdam I-MUS\n\nin O\nUtrecht B-TOP\n"


def write(file: Path, content: str) -> Path:
    file.write_text(content, encoding="utf-8")
    return file


def entities(file: Path, **options: Any) -> list[list[tuple[str, str]]]:
    records = read(file, task="extraction", **options)
    return [[(span["type"], span["text"]) for span in record["entities"]] for record in records]


def test_without_documents_each_sentence_is_one(tmp_path: Path) -> None:
    records = read(write(tmp_path / "a.iob2", SENTENCES), task="extraction")
    assert [(record["id"], record["text"]) for record in records] == [
        ("1", "Het Rijksmuseum Amsterdam"),
        ("2", "in Utrecht"),
    ]
    assert records[0]["entities"] == [{"start": 4, "end": 25, "type": "MUS", "text": "Rijksmuseum Amsterdam"}]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("-DOCSTART- -X- O O", "1"),
        ("-DOCSTART- (947testa CRICKET)", "947testa"),
        ("# newdoc id = nl-1", "nl-1"),
        ("# id nl-1\tdomain=nl", "nl-1"),
        ("# document_id = nl-1", "nl-1"),
    ],
)
def test_documents_keep_their_sentences_together(tmp_path: Path, line: str, name: str) -> None:
    records = read(write(tmp_path / "a.conll", f"{line}\n\n{SENTENCES}"), task="extraction")
    assert [(record["id"], record["text"]) for record in records] == [(name, "Het Rijksmuseum Amsterdam\nin Utrecht")]


def test_no_entity_crosses_a_sentence(tmp_path: Path) -> None:
    file = write(tmp_path / "a.conll", "-DOCSTART- O\n\nOtto B-PER\n\nAnna I-PER\n")
    assert entities(file) == [[("PER", "Otto"), ("PER", "Anna")]]


@pytest.mark.parametrize(
    ("scheme", "tags", "expected"),
    [
        ("IOB1", "I-T I-T B-T O", ["a b", "c"]),
        ("IOB2", "B-T I-T B-T O", ["a b", "c"]),
        ("IOE", "I-T E-T E-T O", ["a b", "c"]),
        ("IOBES", "B-T E-T S-T O", ["a b", "c"]),
        ("BILOU", "B-T L-T U-T O", ["a b", "c"]),
    ],
)
def test_every_scheme_is_read(tmp_path: Path, scheme: str, tags: str, expected: list[str]) -> None:
    rows = "\n".join(f"{form}\t{tag}" for form, tag in zip("abcd", tags.split(), strict=True))
    file = write(tmp_path / "a.iob2", rows)
    for malformed in ("conlleval", "strict"):
        spans = entities(file, scheme=scheme, malformed=malformed)
        assert spans == [[("T", text) for text in expected]], malformed


def test_both_readings_of_malformed_tags(tmp_path: Path) -> None:
    """An orphan I- and a change of type: two entities as conlleval reads them, none of them as IOB2 is written."""
    file = write(tmp_path / "a.iob2", "a I-T\nb O\nc B-T\nd I-U\n")
    assert entities(file) == [[("T", "a"), ("T", "c"), ("U", "d")]]
    assert entities(file, malformed="strict") == [[("T", "c")]]


def test_columns_are_named_by_their_number(tmp_path: Path) -> None:
    file = write(tmp_path / "a.conll", "Utrecht B-TOP O\n")
    assert entities(file) == [[]]
    assert entities(file, column="2") == [[("TOP", "Utrecht")]]


def test_one_file_may_hold_gold_and_predictions_as_conlleval_reads_it(tmp_path: Path) -> None:
    file = write(tmp_path / "both.txt", "EU B-ORG B-ORG\nin O O\nBern B-LOC I-PER\n")
    aligned = pairs("extraction", file, file, format="conll", column="2:3")
    types = [[span["type"] for span in side[0]["entities"]] for side in (aligned.gold, aligned.pred)]
    assert types == [["ORG", "LOC"], ["ORG", "PER"]]


def test_a_hash_is_a_token_where_it_has_a_tag(tmp_path: Path) -> None:
    file = write(tmp_path / "a.iob2", "# O\n7 O\n")
    assert read(file, task="extraction")[0]["text"] == "# 7"


@pytest.mark.parametrize(
    "rows",
    [
        "Bern \tB-LOC\nist \tO\n",  # a space before the tab
        "Bern\tB-LOC\t\nist\tO\t\n",  # a tab behind the tag
        " \tO\nBern\tB-LOC\n\u00a0\tI-LOC\n",  # tokens of white space alone
    ],
)
def test_white_space_in_cells_changes_no_value(tmp_path: Path, rows: str) -> None:
    files = write(tmp_path / "gold.conll", rows), write(tmp_path / "pred.conll", rows)
    assert score("extraction", *files).counts["strict"] == {"tp": 1, "fp": 0, "fn": 0}


def test_other_sentence_breaks_are_aligned_by_tokens(tmp_path: Path) -> None:
    gold = write(tmp_path / "gold.iob2", SENTENCES)
    pred = write(tmp_path / "pred.iob2", SENTENCES.replace("\n\n", "\n"))
    both = pairs("extraction", gold, pred)
    assert [record["entities"] for record in both.pred] == [record["entities"] for record in both.gold]


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ("Otto X-PER\n", {}, "a.iob2:1: record 1: tag 'X-PER' is outside the scheme IOB2, which has O, I-TYPE, B-TYPE"),
        ("Otto E-PER\n", {"scheme": "IOB2"}, "a.iob2:1: record 1: tag 'E-PER' is outside the scheme IOB2"),
        ("Otto O\nAnna\n", {}, "a.iob2:2: no column 2 ('Anna'); a token and a tag are needed"),
        ("Otto O\n", {"column": "3"}, "a.iob2:1: no column 3 ('Otto O'); a token"),
        ("Otto O\n", {"column": "NER"}, "iob2 names a column by its number (1 is the first), not 'NER'"),
        ("Otto O\n", {"scheme": "IOB9"}, "no tag scheme 'IOB9'; the schemes are IOB1, IOB2, IOE"),
        ("Otto O\n", {"malformed": "loose"}, "no reading 'loose' of malformed tags"),
        ("# newdoc id = a\nOtto O\n# newdoc id = a\nAnna O\n", {}, "a.iob2: record a: duplicate document id"),
        ("\n# text = x\n", {}, "a.iob2: no tokens in the file"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    tmp_path: Path, content: str, options: dict[str, Any], expected: str
) -> None:
    file = write(tmp_path / "a.iob2", content)
    with pytest.raises(GoldassayError) as caught:
        read(file, task="extraction", **options)
    message = str(caught.value).replace(str(tmp_path) + "/", "")
    assert message.startswith(expected)
    assert "\n" not in message


@pytest.mark.parametrize(("tags", "tokens"), [("B I O", ["a b"]), ("B E S", ["a b", "c"]), ("I-LOC I O", ["a", "b"])])
def test_tags_without_a_type_have_the_type_of_seqeval(tmp_path: Path, tags: str, tokens: list[str]) -> None:
    rows = "".join(f"{token} {tag}\n" for token, tag in zip("abc", tags.split(), strict=True))
    (spans,) = entities(write(tmp_path / "a.conll", rows))
    assert [text for _, text in spans] == tokens
    assert spans[-1][0] == "_"
