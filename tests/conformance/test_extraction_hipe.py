"""Extraction held to the official HIPE scorer's unit data: every NERC case, every field that its own tests compare."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from goldassay.gold import pairs
from goldassay.measures import extraction
from goldassay.measures.extraction.matching import SCHEMAS, SemEvalCounts, decisions, hipe_types

# gold, system, reference, column, and whether the reference holds macro values of this version of the scorer
CASES = [
    ("ner-1-true", "ner-1-pred", "ner-1-pred.tsv.ner-coarse-lit_ref_results", "NE-COARSE-LIT", True),
    ("ner-2-true", "ner-2-pred", "ner-2-pred.tsv.coarse-lit_ref_results", "NE-COARSE-LIT", False),
    ("ner-2-true", "ner-2-pred", "ner-2-pred.tsv.fine-lit_ref_results", "NE-FINE-LIT", False),
    ("ner-2-true", "ner-2-pred", "ner-2-pred.tsv.nested_ref_results", "NE-NESTED", False),
    ("ner-2-IOBES-true", "ner-2-IOBES-pred", "ner-2-IOBES-pred.tsv.coarse-lit_ref_results", "NE-COARSE-LIT", False),
    ("ner-lit-coarse-3-true", "ner-lit-coarse-3-pred", "ner-lit-coarse-3-pred.tsv.ref_results", "NE-COARSE-LIT", False),
    ("ner-lit-coarse-4-true", "ner-lit-coarse-4-pred", "ner-lit-coarse-4-pred.tsv.ref_results", "NE-COARSE-LIT", False),
    ("true_bundle3_de_2020", "pred_bundle3_de_2020", "pred_bundle3_de_2020.ref_results_nerc_fine", "NE-FINE-LIT", True),
]
SCHEMES = {"strict": "strict", "exact": "exact", "partial": "partial", "ent_type": "type"}


@pytest.mark.parametrize(("gold", "system", "reference", "column", "macro"), CASES)
def test_the_official_results_come_out(
    shared_data: Path, gold: str, system: str, reference: str, column: str, macro: bool
) -> None:
    folder = shared_data / "hipe-scorer"
    read = pairs(
        "extraction", folder / f"unittest-{gold}.tsv", folder / f"unittest-{system}.tsv", format="hipe", column=column
    )
    official = json.loads((folder / f"unittest-{reference}.json").read_text())
    sides = [extraction.sides(g, p)[:2] for g, p in zip(read.gold, read.pred, strict=True)]
    types = hipe_types([g for g, _ in sides])
    outcomes = [
        (kind.upper(), outcome)
        for g, p in sides
        for kind, outcome in decisions(g, [span for span in p if span.type.casefold() in types])
    ]
    checked = 0
    for kind, schemes in official.items():
        for theirs, ours in SCHEMES.items():
            at = SCHEMAS.index(ours)
            parts = Counter(outcome[at] for name, outcome in outcomes if kind in ("ALL", name))
            semeval = SemEvalCounts(*(parts[part] for part in range(5)))
            want = schemes[theirs]
            for name in ("correct", "incorrect", "partial", "missed", "spurious", "possible", "actual"):
                assert getattr(semeval, name) == want[name], (kind, theirs, name)
            counts = semeval.correct, semeval.actual - semeval.correct, semeval.possible - semeval.correct
            assert counts == (want["TP"], want["FP"], want["FN"]), (kind, theirs)
            assert semeval.counts.precision == pytest.approx(want["P_micro"], abs=1e-8)
            assert semeval.counts.recall == pytest.approx(want["R_micro"], abs=1e-8)
            assert (semeval.value if semeval.weight else 0) == pytest.approx(want["F1_micro"], abs=1e-8)
            checked += 13
    assert checked >= 4 * 13
    card = extraction.scorecard(read.gold, read.pred, protocol="hipe")
    for theirs, ours in (("strict", "macro_doc_"), ("ent_type", "macro_doc_partial_")):
        want = official["ALL"][theirs]
        if macro:
            for letter, rate in (("P", "precision"), ("R", "recall"), ("F1", "f1")):
                assert card.values[ours + rate] == pytest.approx(want[f"{letter}_macro_doc"])
    assert card.counts["strict"] == {k.lower(): official["ALL"]["strict"][k] for k in ("TP", "FP", "FN")}
    assert card.counts["partial"] == {k.lower(): official["ALL"]["ent_type"][k] for k in ("TP", "FP", "FN")}
