"""SQuAD's rules as published: the cases that pin them down, and the two identities every gold file must give.

The official script has no results beside it, so the suite replays what its definition says: ``CASES`` are answers with
their exact match and F1 by hand (the words in common stand beside each), and on each SQuAD file that is given, gold
answered with itself has exact match and F1 of 100, with nothing 0 where every question has an answer.

Source: https://rajpurkar.github.io/SQuAD-explorer/ (evaluation scripts 1.1 and 2.0)
"""

from __future__ import annotations

from pathlib import Path

from goldassay.exceptions import GoldassayError
from goldassay.gold import read
from goldassay.measures.answering import perfect, scorecard, squad
from goldassay.proof.conform.suite import SuiteResult

NAME = "squad"
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


def run(data: Path) -> SuiteResult:
    """The cases, and every SQuAD file of the folder."""
    result = SuiteResult(NAME)
    for answer, golds, exact, f1 in CASES:
        (got_exact,), (got_f1,) = squad([answer], [golds])
        result.add(f"exact match of {answer!r} against {golds}", float(exact), got_exact)
        result.near(f"F1 of {answer!r} against {golds}", float(f1), got_f1, within=1e-12)
    files = sorted((data / "xquad").glob("*.json"))
    if not files:
        raise GoldassayError(f"{data / 'xquad'} has no SQuAD files (*.json)")
    for file in files:
        gold = read(file, format="squad", task="answering")
        empty = [{"id": record["id"], "answer": ""} for record in gold]
        for name, pred, official in (
            ("gold", [{"id": record["id"], **perfect(record)} for record in gold], 1.0),
            ("no answers", empty, sum(not record["answers"] for record in gold) / len(gold)),
        ):
            values = scorecard(gold, pred, embedder=None, tokens=None).values
            for key in ("exact_match", "f1"):
                result.add(f"{file.name}, {name}: {key}", official, values[key])
    return result
