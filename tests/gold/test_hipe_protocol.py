"""HIPE under its protocol, each rule by its smallest case; the 14 official system files stand in tests/conformance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold import pairs, read
from goldassay.measures import extraction, linking

HEADER = "TOKEN\tNE-COARSE-LIT\tNEL-LIT\tMISC"


def write(file: Path, *rows: str, header: str = HEADER) -> Path:
    cells = [row if row.startswith("# ") else "\t".join(row.split(" ")) for row in rows]
    file.write_text("\n".join([header, *cells]) + "\n", encoding="utf-8")
    return file


def both(folder: Path, gold: list[str], pred: list[str], task: str = "linking", protocol: str = "hipe") -> Any:
    files = write(folder / "gold.tsv", *gold), write(folder / "pred.tsv", *pred)
    return pairs(task, *files, format="hipe", protocol=protocol)


def counts(folder: Path, gold: list[str], pred: list[str], task: str = "linking", protocol: str = "hipe") -> Any:
    sides = both(folder, gold, pred, task, protocol)
    module: Any = {"linking": linking, "extraction": extraction}[task]
    card = module.scorecard(sides.gold, sides.pred, protocol=protocol)
    return {name: tuple(card.counts[name].values()) for name in card.counts}


def ids(records: list[dict[str, Any]]) -> list[tuple[str, list[str]]]:
    links = [link for record in records for link in record["links"]]
    return [
        (link["text"], link["ids"].get("wikidata", []) if "ids" in link else [c["id"] for c in link["candidates"]])
        for link in links
    ]


def test_a_row_that_starts_with_a_hash_is_no_token_however_many_columns_it_fills(tmp_path: Path) -> None:
    gold = ["Das O _ _", "#us B-LOC Q30 _", "###ender", "Athen B-LOC Q1524 _"]
    system = ["Das O _ _", "Athen B-LOC Q1524 _"]
    assert both(tmp_path, gold, system).gold[0]["text"] == "Das Athen"
    assert counts(tmp_path, gold, system)["strong_link"] == (1, 0, 0)
    assert counts(tmp_path, system, gold)["strong_link"] == (1, 0, 0)
    # outside the protocol a row that fills the header's columns is a token, whatever it begins with
    assert read(tmp_path / "pred.tsv", task="linking")[0]["text"] == "Das #us Athen"


def test_forms_need_not_be_equal_where_the_counts_are(tmp_path: Path) -> None:
    gold, system = ['"" O _ _', "_ O _ _", "Bern B-LOC Q70 _"], ['"""" O _ _', "O O _ _", "Bern B-LOC Q70 _"]
    sides = both(tmp_path, gold, system)
    assert sides.warnings == ["2 of 3 tokens differ from gold's; they are aligned by position"]
    assert counts(tmp_path, gold, system)["strong_link"] == (1, 0, 0)
    with pytest.raises(DataError, match="both files must hold the same text"):
        pairs("linking", tmp_path / "gold.tsv", tmp_path / "pred.tsv", format="hipe")
    with pytest.raises(DataError, match="both files must hold the same text"):
        both(tmp_path, gold, system[1:])


def test_a_system_that_is_one_document_is_cut_by_golds_lengths(tmp_path: Path) -> None:
    gold = ["# document_id = a", "Bern B-LOC Q70 _", "# document_id = b", "in O _ _", "Jura B-LOC Q247613 _"]
    system = ["# document_id = all", "Bem B-LOC Q70 _", "in O _ _", "Jura B-LOC Q247613 _"]
    sides = both(tmp_path, gold, system)
    assert [[link["text"] for link in record["links"]] for record in sides.pred] == [["Bern"], ["Jura"]]
    assert counts(tmp_path, gold, system)["link"] == (2, 0, 0)


def test_two_entities_with_one_id_are_two_mentions(tmp_path: Path) -> None:
    rows = ["Athen B-LOC Q1524 _", "Athen B-LOC Q1524 _"]
    assert counts(tmp_path, rows, rows)["strong_link"] == (2, 0, 0)
    # HIPE-2020 bounds them by the link cell alone
    assert counts(tmp_path, rows, rows, protocol="hipe2020")["strong_link"] == (1, 0, 0)


def test_gold_keeps_the_first_link_of_a_mention_and_a_system_is_split(tmp_path: Path) -> None:
    rows = ["Berner B-LOC NIL _", "Jura I-LOC Q247613 _"]
    sides = both(tmp_path, rows, rows)
    assert ids(sides.gold) == [("Berner Jura", [])]
    assert ids(sides.pred) == [("Berner", []), ("Jura", ["Q247613"])]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # O closes a mention; a link at O is a mention of one token, also where the neighbour has the same
        (["a B-LOC Q1 _", "b O Q1 _", "c O Q1 _", "d O - _"], [("a", ["Q1"]), ("b", ["Q1"]), ("c", ["Q1"])]),
        # another type opens a mention without B-
        (["a I-LOC Q1 _", "b I-PERS Q1 _"], [("a", ["Q1"]), ("b", ["Q1"])]),
        # S- is B-, E- is I-
        (["a B-LOC Q1 _", "b E-LOC Q1 _", "c S-LOC Q1 _"], [("a b", ["Q1"]), ("c", ["Q1"])]),
        # what follows E- or S- without B- goes on, as what follows I- or B- does
        (
            ["a B-LOC Q1 _", "b E-LOC Q1 _", "c I-LOC Q1 _", "d S-LOC Q1 _", "e E-LOC Q1 _"],
            [("a b c", ["Q1"]), ("d e", ["Q1"])],
        ),
        # a mention whose link is _, - or O is dropped
        (["a B-LOC _ _", "b B-LOC - _", "c B-LOC O _", "d B-LOC NIL _"], [("d", [])]),
    ],
)
def test_linked_mentions_are_bounded_by_the_entities(
    tmp_path: Path, rows: list[str], expected: list[tuple[str, list[str]]]
) -> None:
    sides = both(tmp_path, rows, rows)
    assert ids(sides.gold) == ids(sides.pred) == expected


@pytest.mark.parametrize(
    ("task", "strict", "fuzzy"), [("linking", "strong_link", "link"), ("extraction", "strict", "partial")]
)
def test_a_strict_match_includes_the_words(tmp_path: Path, task: str, strict: str, fuzzy: str) -> None:
    gold, system = ["Neu B-LOC Q1 NoSpaceAfter", "york I-LOC Q1 _"], ["Neu B-LOC Q1 NoSpaceAfter", "yorck I-LOC Q1 _"]
    counted = counts(tmp_path, gold, system, task)
    assert (counted[strict], counted[fuzzy]) == ((0, 1, 1), (1, 0, 0))
    # the words as they stand together count, not where they are cut
    assert counts(tmp_path, gold, ["Ne B-LOC Q1 NoSpaceAfter", "uyork I-LOC Q1 _"], task)[strict] == (1, 0, 0)


def test_an_overlap_by_the_words_is_partial_and_another_id_on_the_span_is_not(tmp_path: Path) -> None:
    gold = ["Neu B-LOC Q1 _"]
    same, other = (counts(tmp_path, gold, [f"Neü B-LOC {qid} _"]) for qid in ("Q1", "Q2"))
    # correct, incorrect, partial, missed, spurious
    assert (same["hipe_exact"][:3], same["hipe_partial"][:3]) == ((0, 1, 0), (0, 0, 1))
    assert (other["hipe_exact"][:3], other["hipe_partial"][:3]) == ((1, 0, 0), (1, 0, 0))


@pytest.mark.parametrize(("task", "strict"), [("linking", "strong_link"), ("extraction", "strict")])
def test_cells_compare_without_case(tmp_path: Path, task: str, strict: str) -> None:
    gold, system = ["Otto b-pers q5 _", "in o nil _"], ["Otto B-PERS Q5 _", "in O NIL _"]
    assert counts(tmp_path, gold, system, task)[strict][1:] == (0, 0)


def test_entities_too_go_on_until_o_another_type_or_b(tmp_path: Path) -> None:
    # E- is I- and S- is B-: two mentions, as in B I I O B I, whatever the scheme would say
    gold = ["a B-LOC _ _", "b I-LOC _ _", "c I-LOC _ _", "d O _ _", "e B-LOC _ _", "f I-LOC _ _"]
    system = ["a B-LOC _ _", "b E-LOC _ _", "c I-LOC _ _", "d _ _ _", "e S-loc _ _", "f E-LOC _ _"]
    assert counts(tmp_path, gold, system, "extraction")["strict"] == (2, 0, 0)


def test_where_no_entities_are_annotated_a_link_goes_on(tmp_path: Path) -> None:
    # "_" is neither O nor B- nor I-: one mention with the first link, as the official scorer has it
    gold = ["Bern B-LOC Q70 _", "Genf B-LOC Q71 _"]
    sides = both(tmp_path, gold, ["Bern _ Q70 _", "Genf _ Q71 _"])
    assert ids(sides.pred) == [("Bern Genf", ["Q70"])]


def test_a_cell_that_a_row_lacks_is_nothing(tmp_path: Path) -> None:
    gold, system = ["Bern B-LOC Q70 _", "und O _ _"], ["Bern B-LOC Q70", "und"]
    assert counts(tmp_path, gold, system)["strong_link"] == (1, 0, 0)
    with pytest.raises(DataError, match="1 columns, and none is NEL-LIT; is the line cut off"):
        pairs("linking", tmp_path / "gold.tsv", tmp_path / "pred.tsv", format="hipe")


def test_a_document_without_tokens_is_none(tmp_path: Path) -> None:
    gold = ["# document_id = a", "Bern B-LOC Q70 _", "# document_id = b", "# document_id = c", "Genf B-LOC Q71 _"]
    system = ["# document_id = a", "Bern B-LOC Q70 _", "# document_id = c", "Genf B-LOC Q71 _"]
    for left, other in ((gold, system), (system, gold)):
        assert counts(tmp_path, left, other)["strong_link"] == (2, 0, 0)
        assert counts(tmp_path, left, other, "extraction")["strict"] == (2, 0, 0)


def test_line_ends_a_mark_of_byte_order_and_other_columns_change_nothing(tmp_path: Path) -> None:
    rows = [
        "TOKEN\tMISC\tNEL-LIT\tNE-COARSE-LIT",
        "# hipe2022:document_id = a",
        "a\u2028b\t_\tQ70\tB-loc",
        ".\t_\t_\tO",
    ]
    gold, pred = tmp_path / "gold.tsv", tmp_path / "pred.tsv"
    write(gold, "# document_id = other", "a\u2028b B-LOC Q70 _", ". O _ _")
    pred.write_bytes("\ufeff".encode() + "\r\n".join(rows).encode())
    aligned = pairs("linking", gold, pred, format="hipe", protocol="hipe")
    assert (ids(list(aligned.pred)), aligned.warnings) == ([("a\u2028b", ["Q70"])], [])


def test_without_the_protocol_other_tokens_are_refused(tmp_path: Path) -> None:
    gold, pred = write(tmp_path / "gold.tsv", "Bern B-LOC Q70 _"), write(tmp_path / "pred.tsv", "Bem B-LOC Q70 _")
    with pytest.raises(DataError, match="both files must hold the same text"):
        pairs("linking", gold, pred, format="hipe")


def test_the_tag_set_of_2022(tmp_path: Path) -> None:
    # types that gold does not have count as spurious if the tag set knows them, in any case; others are left out
    gold = ["a O _ _"] * 6
    system = [f"a B-{kind} _ _" for kind in ("PER", "humanprod", "time", "comp.name", "comp", "nonsense")]
    assert counts(tmp_path, gold, system, "extraction")["strict"] == (0, 5, 0)


def test_gold_counts_with_its_first_alternative(tmp_path: Path) -> None:
    gold = ["Bern B-LOC Q70|Q11911 _"]
    assert counts(tmp_path, gold, ["Bern B-LOC Q11911 _"])["link"] == (0, 1, 1)
    assert counts(tmp_path, gold, ["Bern B-LOC Q11911|Q70 _"])["link@3"] == (1, 0, 0)
    assert ids(read(tmp_path / "gold.tsv", task="linking")) == [("Bern", ["Q70", "Q11911"])]  # but under the protocol


def test_what_the_protocol_needs_is_said(tmp_path: Path) -> None:
    file = write(tmp_path / "a.tsv", "Bern Q70 _", header="TOKEN\tNEL-LIT\tMISC")
    with pytest.raises(DataError, match="no column NE-COARSE"):
        read(file, task="linking", protocol="hipe")
    assert len(read(file, task="linking", protocol="hipe2020")[0]["links"]) == 1
    with pytest.raises(GoldassayError, match="there are hipe and hipe2020"):
        read(file, task="linking", protocol="conll")
