"""Replays of what is official in answering: RAGChecker's example, and SQuAD's rules as published.

`ragchecker`: from the verdicts of its file, every value of every answer and all eleven means. The means are printed in
per cent with one place and compared as printed; the values of an answer are given in full.

`squad`: the official script has no results beside it, so the suite replays what its definition says. ``CASES`` are
answers with their exact match and F1 by hand (the words in common stand beside each), and on each SQuAD file that is
given, gold answered with itself has exact match and F1 of 100, with nothing 0 where every question has an answer.

Source: https://github.com/amazon-science/RAGChecker, examples/checking_outputs.json;
https://rajpurkar.github.io/SQuAD-explorer/ (evaluation scripts 1.1 and 2.0)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold import read
from goldassay.measures import answering
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
