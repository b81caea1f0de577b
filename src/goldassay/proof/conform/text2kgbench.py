"""Replay of Text2KGBench's per-sentence results: seven numbers for every sentence of every system that is given.

Numbers printed with two places are compared as printed, numbers in full to 1e-9.

Source: https://github.com/cenguix/Text2KGBench, data/wikidata_tekgen/baselines
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import pairs
from goldassay.measures.triples import scorecard
from goldassay.proof.conform.official import SuiteResult

NAME = "text2kgbench"
RESULTS = re.compile(r"baselines__(?P<system>.+)__eval_metrics__ont_(?P<ontology>.+)_llm_stats\.jsonl")
COLUMNS = {
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "onto_conf": "ontology_conformance",
    "rel_halluc": "relation_hallucination",
    "sub_halluc": "subject_hallucination",
    "obj_halluc": "object_hallucination",
}


def run(data: Path) -> SuiteResult:
    """Every sentence of every system."""
    folder, result = data / "text2kgbench", SuiteResult(NAME)
    files = [(file, found) for file in sorted(folder.iterdir()) if (found := RESULTS.fullmatch(file.name))]
    if not files:
        raise GoldassayError(
            f"{folder} has no official results (baselines__SYSTEM__eval_metrics__ont_NAME_llm_stats.jsonl)"
        )
    for file, found in files:
        _replay(result, folder, file, found["system"], found["ontology"])
    return result


def _replay(result: SuiteResult, folder: Path, file: Path, system: str, ontology: str) -> None:
    answers = sorted(folder.glob(f"baselines__{system}__llm_responses__ont_{ontology}_*.jsonl"))
    if not answers:
        raise GoldassayError(f"{folder} has no outputs of {system} for {ontology}")
    gold = folder / f"ground_truth__ont_{ontology}_ground_truth.jsonl"
    both = pairs("triples", gold, answers[0], format="text2kgbench")
    known = json.loads((folder / f"ontologies__{ontology}_ontology.json").read_text(encoding="utf-8"))
    ours = scorecard(both.gold, both.pred, protocol="text2kgbench", ontology=known).by["sentence"]
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        official = json.loads(line)
        if official["id"] not in ours:
            raise DataError("official results of a sentence that gold does not have", file=file, line=number)
        for column, name in COLUMNS.items():
            what = f"{system} {ontology} {official['id']} {column}"
            _compare(result, what, official[column], ours[official["id"]][name])


def _compare(result: SuiteResult, what: str, official: Any, ours: float | None) -> None:
    if isinstance(official, str):
        places = len(official.partition(".")[2])
        result.add(what, official, f"{ours:.{places}f}")
    else:
        result.near(what, float(official), ours)
