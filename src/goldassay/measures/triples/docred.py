"""DocRED's F1 of relations, its F1 without the facts of the training set (Ign F1), and its F1 of evidence.

A statement is (subject, predicate, object) by its ids, or by its words where it has none. ``evidence`` is a list of
sentence numbers on both sides. Gold says with ``in_train`` which statements the training set has (the format
``docred`` finds them).

Yao et al., DocRED, ACL 2019, and https://github.com/thunlp/DocRED (evaluation.py)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from goldassay.measure import EMPTY, Measure, Review
from goldassay.measures.triples import mistakes, records
from goldassay.measures.triples.matching import Matching
from goldassay.measures.triples.records import Triple
from goldassay.statistics.evidence import Floats
from goldassay.tally import Counts, Number, Sums, divide

Key = tuple[str, str, str]
FORMULAS = {
    "relations": "2 tp / (2 tp + fp + fn) of statements",
    "ign": "P = (tp − seen) / (tp − seen + fp), R = tp / (tp + fn), F1 = 2 P R / (P + R); seen: tp of the training set",
    "evidence": "2 tp / (2 tp + fp + fn) of evidence sentences; those of a wrong statement are fp",
}


@dataclass(frozen=True, slots=True)
class Unseen(Sums):
    """Counts of statements, ``seen`` of whose true positives the training set has; ``value`` is Ign F1.

    >>> Unseen(tp=3, fp=1, fn=1, seen=2).value      # P 1/2, R 3/4
    0.6
    """

    tp: Number = 0.0
    fp: Number = 0.0
    fn: Number = 0.0
    seen: Number = 0.0

    @property
    def weight(self) -> Number:
        """How many statements there are."""
        return self.tp + self.fp + self.fn

    @property
    def value(self) -> Number:
        """Ign F1; 1 without evidence."""
        new = self.tp - self.seen
        precision, recall = divide(new, new + self.fp), divide(self.tp, self.tp + self.fn)
        return divide(2 * precision * recall, precision + recall) + (self.weight == 0)


@dataclass(frozen=True)
class DocRED(Measure[Any]):
    """F1 over the corpus of ``relations``, without the facts of the training set (``ign``), or of their ``evidence``.

    A statement that is predicted again counts once, where it is most confident, else first.

    >>> written = {"subject": "Emma", "predicate": "author", "object": "Austen", "evidence": [0, 2], "in_train": True}
    >>> gold = {"triples": [written, {"subject": "Emma", "predicate": "year", "object": "1815", "evidence": [1]}]}
    >>> pred = {"triples": [{**written, "evidence": [2]}, {**written, "object": "Scott", "evidence": [3]}]}
    >>> [DocRED(of)(gold, pred).tally.value for of in ("relations", "ign", "evidence")]     # evidence: P 1/2, R 1/3
    [0.5, 0.0, 0.4]
    """

    task = "triples"
    gold_fields = ("triples",)
    pred_fields = ("triples",)
    fixed = {"repeated": "once", "match": "ids, else words", "average": "micro", "empty": EMPTY}
    source = "Yao et al., ACL 2019 (evaluation.py)"
    in_key = ("of",)
    choices = {"of": tuple(FORMULAS)}

    of: str = "relations"

    @property
    def key(self) -> str:
        """``docred_f1``, ``docred_ign_f1``, ``docred_evidence_f1``."""
        return "docred_f1" if self.of == "relations" else f"docred_{self.of}_f1"

    @property
    def zero(self) -> Any:  # type: ignore[override]
        """No evidence."""
        return Unseen() if self.of == "ign" else Counts()

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The formula of the value."""
        return FORMULAS[self.of]

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Floats:
        """A row an example: tp, fp, fn and seen of statements, then tp, fp, fn of evidence."""
        rows = [_row(*pair) for pair in zip(gold, pred, strict=True)]
        return np.array(rows, float).reshape(-1, 7)

    def tallies(self, batch: Floats) -> Any:
        """The counts of each example."""
        columns = {"relations": batch[:, :3], "ign": batch[:, :4], "evidence": batch[:, 4:]}[self.of]
        return type(self.zero)(*columns.T)

    def errors(self, gold: object, pred: object) -> Review:
        """Missed and spurious statements."""
        expected, mine = _sides(gold, pred)
        places = {_key(statement): at for at, statement in enumerate(expected)}
        pairs = {at: places[key] for at, key in enumerate(mine) if key in places}
        return mistakes.errors(Matching(expected, list(mine.values()), pairs), gold)


def _sides(gold: object, pred: object) -> tuple[list[Triple], dict[Key, Triple]]:
    """The statements of both sides, each predicted one once, by its ids or words."""
    mine = records.predicted_triples(pred)[::-1]
    return records.gold_triples(gold), {_key(statement): statement for statement in mine}


def _row(gold: object, pred: object) -> tuple[float, ...]:
    statements, mine = _sides(gold, pred)
    expected = {_key(statement): statement for statement in statements}
    trained = {_key(statement) for statement in statements if statement.triple.get("in_train")}
    hits = mine.keys() & expected.keys()
    right = sum(len(_evidence(mine[key]) & _evidence(expected[key])) for key in hits)
    evidenced = sum(len(_evidence(statement)) for statement in mine.values())
    sentences = sum(len(statement.triple.get("evidence") or ()) for statement in statements)
    counts = len(hits), len(mine) - len(hits), len(expected) - len(hits), len(hits & trained)
    return *counts, right, evidenced - right, sentences - right


PROTOCOL = {
    "RE_F1": DocRED(),
    "Evi_F1": DocRED("evidence"),
    "RE_ignore_annotated_F1": DocRED("ign"),
}
"""The values under the names of the evaluation script."""


def _key(statement: Triple) -> Key:
    ids = (statement.triple.get(f"{part}_id") for part in ("subject", "predicate", "object"))
    subject, predicate, value = (
        word if id_ in (None, "") else str(id_) for id_, word in zip(ids, statement.key, strict=True)
    )
    return subject, predicate, value


def _evidence(statement: Triple) -> frozenset[Any]:
    return frozenset(statement.triple.get("evidence") or ())
