"""Replay of the HIPE scorer's unit data: NERC in every column, NEL with adjacent NIL mentions joined and apart.

Every figure of its reference files is compared, but for averages in three files, which were filled in by hand and which
its own tests do not compare (they leave out what has "macro" in its name there).

Source: https://github.com/hipe-eval/HIPE-scorer, hipe_evaluation/tests/data
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldassay.gold import pairs
from goldassay.measures import extraction, linking
from goldassay.measures.extraction.hipe import hipe as entities
from goldassay.measures.extraction.hipe import known_types
from goldassay.measures.linking.hipe import fates
from goldassay.measures.linking.hipe import hipe as links
from goldassay.proof.conform.hipe import Documents, figures, number
from goldassay.proof.conform.suite import SuiteResult

NAME = "hipe-scorer"
WITHIN = 1e-7  # some references give eight places


@dataclass(frozen=True)
class Case:
    """Gold, system and reference of one case; for links how adjacent NIL are read and how many candidates count."""

    gold: str
    system: str
    reference: str
    column: str
    adjacent: str = ""
    k: int = 1
    by_hand: bool = False


BUNDLE = ("true_bundle3_de_2020", "pred_bundle3_de_2020")
CASES = (
    Case("ner-1-true", "ner-1-pred", "unittest-ner-1-pred.tsv.ner-coarse-lit_ref_results", "NE-COARSE-LIT"),
    Case("ner-2-true", "ner-2-pred", "unittest-ner-2-pred.tsv.coarse-lit_ref_results", "NE-COARSE-LIT"),
    Case("ner-2-true", "ner-2-pred", "unittest-ner-2-pred.tsv.fine-lit_ref_results", "NE-FINE-LIT"),
    Case("ner-2-true", "ner-2-pred", "unittest-ner-2-pred.tsv.nested_ref_results", "NE-NESTED", by_hand=True),
    Case(
        "ner-2-IOBES-true",
        "ner-2-IOBES-pred",
        "unittest-ner-2-IOBES-pred.tsv.coarse-lit_ref_results",
        "NE-COARSE-LIT",
    ),
    *(
        Case(
            f"ner-lit-coarse-{number}-true",
            f"ner-lit-coarse-{number}-pred",
            f"unittest-ner-lit-coarse-{number}-pred.tsv.ref_results",
            "NE-COARSE-LIT",
            by_hand=True,
        )
        for number in (3, 4)
    ),
    Case(*BUNDLE, "unittest-pred_bundle3_de_2020.ref_results_nerc_fine", "NE-FINE-LIT"),
    Case(*BUNDLE, "ref_results_nerc_fine_all", "NE-FINE-LIT"),
    Case("nel-1-true", "nel-1-pred", "unittest-nel-1-pred.tsv.ref_results", "NEL-LIT", "nil"),
    *(
        Case("nel-2-true", "nel-2-pred", f"unittest-nel-2-pred.{middle}{reading}_ref_results", "NEL-LIT", adjacent)
        for reading, adjacent in (("concatNIL", "none"), ("separatedNIL", "nil"))
        for middle in ("", "tsv.")
    ),
    Case(*BUNDLE, "unittest-pred_bundle3_de_2020.ref_results_nel", "NEL-LIT", "nil", k=3),
    Case(*BUNDLE, "ref_results_nel_all", "NEL-LIT", "nil", k=3),
)


def run(data: Path) -> SuiteResult:
    """Every case."""
    result = SuiteResult(NAME)
    for case in CASES:
        folder = data / NAME
        ours = figures(_documents(folder, case))
        official = json.loads((folder / f"{case.reference}.json").read_text(encoding="utf-8"))
        for label, schemes in official.items():
            for scheme, values in schemes.items():
                for name, raw in values.items():
                    if not (case.by_hand and "macro" in name):
                        what = f"{case.reference} {label} {scheme} {name}"
                        result.maybe(what, number(raw), ours.get(label, {}).get(scheme, {}).get(name), WITHIN)
    return result


def _documents(folder: Path, case: Case) -> Documents:
    """The counts of each document, by label and scheme."""
    files = [folder / f"unittest-{name}.tsv" for name in (case.gold, case.system)]
    if case.column.startswith("NEL"):
        both = pairs("linking", *files, format="hipe", column=case.column, adjacent=case.adjacent)
        read = [linking.sides(gold, pred) for gold, pred in zip(both.gold, both.pred, strict=True)]
        return [links(fates(one.gold, one.pred, case.k)) for one in read]
    both = pairs("extraction", *files, format="hipe", column=case.column)
    return counted(both.gold, both.pred)


def counted(gold: Sequence[Any], pred: Sequence[Any]) -> Documents:
    """The counts of entities by document, in the official order."""
    read = [extraction.sides(one, other)[:2] for one, other in zip(gold, pred, strict=True)]
    types = known_types([wanted for wanted, _ in read])
    return [entities(wanted, said, types) for wanted, said in read]
