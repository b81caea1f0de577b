"""Replays of numbers that were published example by example: RAGChecker's, SQuAD's rules, Text2KGBench's sentences.

`ragchecker`: from the verdicts of its file, every value of every answer and all eleven means. The means are printed in
per cent with one place and compared as printed; the values of an answer are given in full.

`squad`: the official script has no results beside it, so the suite replays what its definition says. ``CASES`` are
answers with their exact match and F1 by hand (the words in common stand beside each), and on each SQuAD file that is
given, gold answered with itself has exact match and F1 of 100, with nothing 0 where every question has an answer.

`text2kgbench`: seven numbers for every sentence of every system that is given. Numbers printed with two places are
compared as printed, numbers in full to 1e-9.

Source: https://github.com/amazon-science/RAGChecker, examples/checking_outputs.json;
https://rajpurkar.github.io/SQuAD-explorer/ (evaluation scripts 1.1 and 2.0);
https://github.com/cenguix/Text2KGBench, data/wikidata_tekgen/baselines
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import pairs, read
from goldassay.measures import answering
from goldassay.measures.triples import scorecard
from goldassay.proof.conform.official import SuiteResult

FILE = "checking_outputs.json"
CASES: tuple[tuple[str, tuple[str, ...], float, float], ...] = (
    ("Denver Broncos", ("Denver Broncos", "The Denver Broncos"), 1, 1),
    ("the Broncos!", ("Broncos",), 1, 1),  # articles and punctuation are no words
    ("A  Bronco\tan", ("bronco",), 1, 1),  # nor is white space
    ("Broncos", ("Denver Broncos",), 0, 2 / 3),  # P 1/1, R 1/2
    ("Denver Denver Broncos", ("Denver Broncos Denver Denver",), 0, 6 / 7),  # common 3: P 3/3, R 3/4
    ("in the year 1800", ("1800", "year 1801"), 0, 1 / 2),  # gold 1: P 1/3, R 1/1; gold 2: P 1/3, R 1/2
    ("well-known", ("wellknown",), 1, 1),  # punctuation is deleted, not replaced
    ("theatre", ("atre",), 0, 0),  # an article is a whole word
    ("", (), 1, 1),  # no answer where there is none (2.0)
    ("1800", (), 0, 0),
    ("", ("1800",), 0, 0),
    ("a", ("the",), 1, 1),  # both empty after normalisation: equal (2.0)
)


def ragchecker(data: Path) -> SuiteResult:
    """Every number of RAGChecker's file."""
    path, result = data / "ragchecker" / FILE, SuiteResult("ragchecker")
    found = files.json_value(path)
    if not isinstance(found, dict) or not isinstance(found.get("results"), list):
        raise DataError("not RAGChecker's output: an object with 'results' and 'metrics' is needed", file=path)
    rows = []
    for row in found["results"]:
        ours = {name: share.value for name, share in answering.Support.of(row, row.get("query_id")).values.items()}
        rows.append(ours)
        for name, official in row.get("metrics", {}).items():
            result.near(f"{name} of query {row['query_id']}", float(official), ours.get(name))
    for group in found.get("metrics", {}).values():
        for name, official in group.items():
            result.add(f"mean {name}", official, _mean(rows, name))
    return result


def _mean(rows: list[dict[str, Any]], name: str) -> float | None:
    """The mean over the answers, in per cent with one place."""
    values = [row[name] for row in rows if name in row]
    return round(100 * sum(values) / len(values), 1) if values else None


def squad(data: Path) -> SuiteResult:
    """SQuAD's cases, and every SQuAD file of the folder."""
    result = SuiteResult("squad")
    for answer, golds, exact, f1 in CASES:
        (got_exact,), (got_f1,) = answering.squad([answer], [golds])
        result.add(f"exact match of {answer!r} against {golds}", float(exact), got_exact)
        result.near(f"F1 of {answer!r} against {golds}", float(f1), got_f1, within=1e-12)
    there = sorted((data / "xquad").glob("*.json"))
    if not there:
        raise GoldassayError(f"{data / 'xquad'} has no SQuAD files (*.json)")
    for file in there:
        gold = read(file, format="squad", task="answering")
        empty = [{"id": record["id"], "answer": ""} for record in gold]
        for name, pred, official in (
            ("gold", [{"id": record["id"], **answering.perfect(record)} for record in gold], 1.0),
            ("no answers", empty, sum(not record["answers"] for record in gold) / len(gold)),
        ):
            values = answering.scorecard(gold, pred, embedder=None, tokens=None).values
            for key in ("exact_match", "f1"):
                result.add(f"{file.name}, {name}: {key}", official, values[key])
    return result


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


def text2kgbench(data: Path) -> SuiteResult:
    """Every sentence of every system."""
    folder, result = data / "text2kgbench", SuiteResult("text2kgbench")
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
