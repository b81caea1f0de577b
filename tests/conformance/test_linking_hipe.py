"""Linking held to the official HIPE scorer's unit data: every NEL case, both readings of adjacent NIL, every field."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from goldassay.gold import pairs
from goldassay.measures import linking
from goldassay.measures.extraction.matching import SemEvalCounts
from goldassay.measures.linking.matching import Matching, hipe

# gold, system, reference, adjacent NIL, cut-off
NEL2 = "nel-2-pred"
CASES = [
    ("nel-1-true", "nel-1-pred", "unittest-nel-1-pred.tsv.ref_results", "nil", 1),
    ("nel-2-true", NEL2, f"unittest-{NEL2}.concatNIL_ref_results", "none", 1),
    ("nel-2-true", NEL2, f"unittest-{NEL2}.tsv.concatNIL_ref_results", "none", 1),
    ("nel-2-true", NEL2, f"unittest-{NEL2}.separatedNIL_ref_results", "nil", 1),
    ("nel-2-true", NEL2, f"unittest-{NEL2}.tsv.separatedNIL_ref_results", "nil", 1),
    # the official test of this bundle allows several candidates: "Qwrong|Q1435" counts for Q1435
    ("true_bundle3_de_2020", "pred_bundle3_de_2020", "unittest-pred_bundle3_de_2020.ref_results_nel", "nil", 3),
    ("true_bundle3_de_2020", "pred_bundle3_de_2020", "ref_results_nel_all", "nil", 5),
]
SCHEMES = {"strict": "strict", "exact": "exact", "partial": "partial", "ent_type": "type"}
COUNTS = ("correct", "incorrect", "partial", "missed", "spurious", "possible", "actual")


def read(folder: Path, gold: str, system: str, adjacent: str) -> Any:
    files = (folder / f"unittest-{name}.tsv" for name in (gold, system))
    return pairs("linking", *files, format="hipe", column="NEL-LIT", adjacent=adjacent)


@pytest.mark.parametrize(("gold", "system", "reference", "adjacent", "k"), CASES)
def test_the_official_results_come_out(
    shared_data: Path, gold: str, system: str, reference: str, adjacent: str, k: int
) -> None:
    folder = shared_data / "hipe-scorer"
    sides = read(folder, gold, system, adjacent)
    official = json.loads((folder / f"{reference}.json").read_text())
    both = [linking.sides(g, p) for g, p in zip(sides.gold, sides.pred, strict=True)]
    outcomes = [Matching(document).outcomes(k) for document in both]
    assert {"ALL", *(name for document in outcomes for name, _ in document)} == set(official)
    for name, schemes in official.items():
        for theirs, ours in SCHEMES.items():
            rows = [[outcome for id_, outcome in document if name in ("ALL", id_)] for document in outcomes]
            each = [hipe(document, ours) for document in rows if document or name == "ALL"]
            semeval, figures = sum(each, SemEvalCounts(0, 0, 0, 0, 0)), schemes[theirs]
            for field in COUNTS:
                assert getattr(semeval, field) == figures[field], (name, theirs, field)
            counts = semeval.correct, semeval.actual - semeval.correct, semeval.possible - semeval.correct
            assert counts == (figures["TP"], figures["FP"], figures["FN"]), (name, theirs)
            assert semeval.counts.precision == pytest.approx(figures["P_micro"], abs=1e-9)
            assert semeval.counts.recall == pytest.approx(figures["R_micro"], abs=1e-9)
            assert (semeval.value if semeval.weight else 0) == pytest.approx(figures["F1_micro"], abs=1e-9)
            _macro(each, figures, (name, theirs))


def _macro(each: list[SemEvalCounts], want: dict[str, Any], where: object) -> None:
    """Means by document: those without answers leave P, without gold leave R, without either leave F1."""
    values = {
        "P": [document.counts.precision for document in each if document.actual],
        "R": [document.counts.recall for document in each if document.possible],
        "F1": [document.value for document in each if document.actual and document.possible],
    }
    for rate, numbers in values.items():
        expected = want[f"{rate}_macro_doc"]
        if expected is None or math.isnan(expected):
            assert not numbers, where
        else:
            assert sum(numbers) / len(numbers) == pytest.approx(expected, abs=1e-9), (where, rate)


def own(folder: Path, gold: list[str], system: list[str], adjacent: str = "nil") -> Any:
    """Rows of a token, its coarse tag and its link, read as the linked mentions of both sides."""
    files = []
    for name, rows in (("gold.tsv", gold), ("system.tsv", system)):
        lines = ["TOKEN\tNE-COARSE-LIT\tNEL-LIT\tMISC", *("\t".join([*row.split(), "_"]) for row in rows)]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        files.append(folder / name)
    return pairs("linking", *files, format="hipe", adjacent=adjacent)


@pytest.mark.parametrize(("adjacent", "link"), [("nil", (3, 1, 1)), ("none", (2, 1, 2))])
def test_the_protocol_by_its_name(tmp_path: Path, adjacent: str, link: tuple[int, int, int]) -> None:
    """A system takes a linked neighbour for NIL: where adjacent NIL mentions are joined, one of its two goes with it.

    As in the scorer's case nel-2, whose counts these are.
    """
    gold = ["M B-pers NIL", ". O _", "Berteaux B-pers Q3300415", "Lasies B-pers NIL", "Reinach B-pers Q172161"]
    system = ["M B-pers NIL", ". O _", "Berteaux B-pers NIL", "Lasies B-pers NIL", "Reinach B-pers Q172161"]
    sides = own(tmp_path, gold, system, adjacent)
    card = linking.scorecard(sides.gold, sides.pred, protocol="hipe")
    assert tuple(card.counts["link"].values()) == link
    assert "matching=hipe" in card.conventions["link_f1"]


def test_candidates_count_as_far_as_the_cut_off(tmp_path: Path) -> None:
    """One is right at once, one at the second place by its span, one at the fourth and by overlap alone."""
    gold = ["Bern B-loc Q70", "und O _", "Jura B-loc Q12755", "im O _", "Kanton B-loc Q11943", "Zug I-loc Q11943"]
    system = [*gold[:2], "Jura B-loc Qwrong|Q12755", "im O _", "Kanton O _", "Zug B-loc Q1|Q2|Q3|Q11943"]
    sides = own(tmp_path, gold, system)
    for protocol in (None, "hipe"):
        card = linking.scorecard(sides.gold, sides.pred, protocol=protocol)
        assert [card.counts[name]["tp"] for name in ("link", "link@3", "link@5")] == [1, 2, 3]
        assert [card.counts[name]["tp"] for name in ("strong_link", "strong_link@3", "strong_link@5")] == [1, 2, 2]
        assert card.values["macro_doc_link_f1"] == pytest.approx(1 / 3)
