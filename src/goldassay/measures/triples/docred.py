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
from goldassay.tally import Counts, Number, divide
from goldassay.tally.sums import Sums

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

    ``repeated``: a statement that is predicted again counts ``once`` (where it is most confident, else first), or
    ``each`` time, as in the first version of the official script.

    >>> written = {"subject": "Emma", "predicate": "author", "object": "Austen", "evidence": [0, 2], "in_train": True}
    >>> gold = {"triples": [written, {"subject": "Emma", "predicate": "year", "object": "1815", "evidence": [1]}]}
    >>> pred = {"triples": [{**written, "evidence": [2]}, {**written, "object": "Scott", "evidence": [3]}]}
    >>> [DocRED(of)(gold, pred).tally.value for of in ("relations", "ign", "evidence")]     # evidence: P 1/2, R 1/3
    [0.5, 0.0, 0.4]
    """

    task = "triples"
    gold_fields = ("triples",)
    pred_fields = ("triples",)
    fixed = {"match": "ids, else words", "average": "micro", "empty": EMPTY}
    source = "Yao et al., ACL 2019 (evaluation.py)"
    shares = ("repeated",)
    in_key = ("of",)
    choices = {"of": tuple(FORMULAS), "repeated": ("once", "each")}

    of: str = "relations"
    repeated: str = "once"

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
        rows = [self._row(*pair) for pair in zip(gold, pred, strict=True)]
        return np.array(rows, float).reshape(-1, 7)

    def tallies(self, batch: Floats) -> Any:
        """The counts of each example."""
        columns = {"relations": batch[:, :3], "ign": batch[:, :4], "evidence": batch[:, 4:]}[self.of]
        return type(self.zero)(*columns.T)

    def errors(self, gold: object, pred: object) -> Review:
        """Missed and spurious statements."""
        expected, mine = self._sides(gold, pred)
        places = {_key(statement): at for at, statement in enumerate(expected)}
        pairs = {at: places[_key(statement)] for at, statement in enumerate(mine) if _key(statement) in places}
        return mistakes.errors(Matching(expected, mine, pairs), gold)

    def _sides(self, gold: object, pred: object) -> tuple[list[Triple], list[Triple]]:
        mine = records.predicted_triples(pred)
        if self.repeated == "once":
            mine = list({_key(statement): statement for statement in reversed(mine)}.values())
        return records.gold_triples(gold), mine

    def _row(self, gold: object, pred: object) -> tuple[float, ...]:
        expected, mine = self._sides(gold, pred)
        theirs = {_key(statement): statement for statement in expected}
        trained = {_key(statement) for statement in expected if statement.triple.get("in_train")}
        sentences = sum(len(statement.triple.get("evidence") or ()) for statement in expected)
        hits = [statement for statement in mine if _key(statement) in theirs]
        tp, evidenced = len(hits), sum(len(_evidence(statement)) for statement in mine)
        right = sum(len(_evidence(statement) & _evidence(theirs[_key(statement)])) for statement in hits)
        seen = sum(_key(statement) in trained for statement in hits)
        return tp, len(mine) - tp, len(theirs) - tp, seen, right, evidenced - right, sentences - right


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
