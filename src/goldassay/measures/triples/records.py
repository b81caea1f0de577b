"""Statements as they are read, and which prediction covers which gold statement.

A record has ``triples``, a list of mappings (or objects) with ``subject``, ``predicate`` and ``object``, and optional
fields: ids, labels, ``object_type``, ``rank``, ``domain``, ``verdict``, ``supported``, ``confidence``. Statements
of gold that are deprecated, and those of excluded value types on both sides, are left out.

A prediction covers a statement of the same subject, an aligned predicate and the same object. A gold statement is
covered once; the matching has as many pairs as possible, so neither the order of statements nor a near miss decides.
Where predictions compete for a statement, the more confident one is served first.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property, partial
from typing import Any

from goldassay._support.exceptions import DataError
from goldassay.core.fields import read
from goldassay.core.measure import Review, gold_field, pred_field
from goldassay.core.tally import Counts
from goldassay.measures.assignment import assign
from goldassay.measures.triples import objects
from goldassay.measures.triples.objects import EXACTLY, TripleMatching

TRIPLE_FIELDS = (
    "subject", "predicate", "object", "object_type", "subject_id", "predicate_id", "object_id", "object_labels",
    "evidence", "rank", "domain", "verdict", "supported", "confidence", "in_train",
)  # fmt: skip
VERDICTS = ("correct", "incorrect", "uncertain", "in_wikidata")
VERDICT_TRUTH = {"correct": True, "in_wikidata": True, "incorrect": False}


@dataclass(slots=True)
class Triple:
    """A triple, read: its subject as an item, its properties, its value."""

    triple: Mapping[str, Any]
    subject: objects.NamedItem | None
    properties: frozenset[str]
    aligned: bool
    kind: str
    value: objects.Value | None
    key: tuple[str, str, str]
    verdict: str
    confidence: float | None

    @property
    def supported(self) -> bool:
        """Whether it is aligned, and annotated as said by the text."""
        return self.aligned and self.triple.get("supported") is True

    @property
    def words(self) -> str:
        """The statement for a person."""
        return f"({', '.join(self.key)})"


@dataclass
class MatchedTriples:
    """The statements of one example and which prediction covers which gold statement."""

    gold: list[Triple]
    pred: list[Triple]
    pairs: dict[int, int] = field(default_factory=dict)
    """From the index of a prediction to that of the gold statement that it covers."""
    text: str = ""
    review: Review | None = None
    """Its errors, once they are written."""

    @cached_property
    def covered(self) -> list[Triple]:
        """Gold statements that a prediction covers."""
        return [self.gold[index] for index in self.pairs.values()]

    @cached_property
    def missed(self) -> list[Triple]:
        """Gold statements that nothing covers."""
        covered = {*self.pairs.values()}
        return [statement for index, statement in enumerate(self.gold) if index not in covered]

    @cached_property
    def unmatched(self) -> list[Triple]:
        """Predictions that cover nothing."""
        return [prediction for index, prediction in enumerate(self.pred) if index not in self.pairs]

    @cached_property
    def counts(self) -> dict[str, Counts]:
        """tp and fn under gold's property, fp under the predicted one.

        Unaligned predictions are unknown, not wrong, and left out; so are unaligned gold statements. A wrong prediction
        whose predicate may mean several properties counts under one that gold has.
        """
        counts: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
        properties = frozenset[str]().union(*(statement.properties for statement in self.gold))
        for index, rows in enumerate((self.covered, self.unmatched, self.missed)):
            for row in rows:
                if row.aligned:
                    counts[min(properties & row.properties or row.properties)][index] += 1.0
        return {name: Counts(*counts[name]) for name in sorted(counts)}

    @property
    def confidences(self) -> list[tuple[float, float]]:
        """Confidence and correctness of each prediction that has a confidence and a known truth.

        A prediction judged uncertain is left out; one neither judged nor matched counts as wrong, since gold does not
        have it.
        """
        return [
            (row.confidence, float(index in self.pairs or VERDICT_TRUTH.get(row.verdict, False)))
            for index, row in enumerate(self.pred)
            if row.confidence is not None and (index in self.pairs or row.verdict != "uncertain")
        ]


def match(gold: object, pred: object, comparing: TripleMatching = EXACTLY) -> MatchedTriples:
    """The matching of one example.

    >>> gold = {"triples": [{"subject": "Rijksmuseum", "predicate": "P571", "object": "1798-11-19"}]}
    >>> pred = {"triples": [{"subject": "rijksmuseum", "predicate": "wdt:P571", "object": "19 November 1798"}]}
    >>> match(gold, pred).pairs
    {0: 0}
    """
    matching = statements(gold, pred, comparing)
    expected = matching.gold
    by_property = defaultdict(list)
    for index, statement in enumerate(expected):
        for name in statement.properties:
            by_property[name].append(index)
    candidates: dict[int, list[int]] = {}
    for number, prediction in enumerate(matching.pred):
        value = cache(partial(objects.read, prediction.triple))  # the object, read as each type that gold has
        near = sorted({index for name in prediction.properties for index in by_property[name]})
        candidates[number] = [
            index
            for index in near
            if comparing.same(expected[index].value, value(expected[index].kind))
            and comparing.same_item(expected[index].subject, prediction.subject)
        ]
    matching.pairs = assign(candidates)
    return matching


def related(gold: Triple, pred: Triple) -> bool:
    """Whether both are about one property of one subject."""
    return not gold.properties.isdisjoint(pred.properties) and EXACTLY.same_item(gold.subject, pred.subject)


def statements(gold: object, pred: object, comparing: TripleMatching = EXACTLY) -> MatchedTriples:
    """The statements of both sides: gold's by their words, without deprecated ones; the most confident first."""
    name = read(gold, "id", None)
    expected = _triples(gold_field(gold, "triples"), comparing, name)
    predicted = _triples(pred_field(pred, "triples"), comparing, name)
    return MatchedTriples(
        sorted((row for row in expected if row.triple.get("rank") != "deprecated"), key=lambda row: row.key),
        sorted(predicted, key=lambda row: (row.confidence is None, -(row.confidence or 0.0), row.key)),
        text=str(read(gold, "text", None) or ""),
    )


def as_written(gold: object, pred: object) -> tuple[list[object], list[object]]:
    """The statements of both sides that count, as they are and in their order."""

    def counts(triple: object) -> bool:
        return not (isinstance(triple, Mapping) and (triple.get("rank") == "deprecated" or EXACTLY.excludes(triple)))

    expected = listed(gold_field(gold, "triples"))
    predicted = listed(pred_field(pred, "triples"))
    return [*filter(counts, expected)], [*filter(counts, predicted)]


def listed(triples: Collection[object] | None, name: str | int | None = None) -> Collection[Any]:
    """The triples of one side; a tuple is subject, predicate and object.

    Raises:
        DataError: They are not listed.
    """
    if isinstance(triples, (str, Mapping)) or (triples and not isinstance(triples, Iterable)):
        raise DataError(f"'triples' is a list of triples, not {triples!r}", record=name, field="triples")
    return [
        dict(zip(TRIPLE_FIELDS, triple, strict=False)) if isinstance(triple, (list, tuple)) else triple
        for triple in triples or ()
    ]


def _triples(triples: Collection[object] | None, comparing: TripleMatching, name: str | int | None) -> list[Triple]:
    """The triples of one side, without those of excluded types."""
    rows = []
    for raw in listed(triples, name):
        row = raw if isinstance(raw, Mapping) else {key: read(raw, key, None) for key in TRIPLE_FIELDS}
        if isinstance(row.get("predicate"), Enum):
            row = {**row, "predicate": row["predicate"].value}
        verdict = row.get("verdict") or ""
        confidence = row.get("confidence")
        try:
            if verdict:
                check_verdicts([verdict])
            for field in TRIPLE_FIELDS[:3]:
                if row.get(field) is None:
                    raise DataError(f"a triple needs a {field!r}, found {raw!r}")
            if confidence is not None and not (isinstance(confidence, int | float) and 0.0 <= confidence <= 1.0):
                raise DataError(f"a confidence lies between 0 and 1, not {confidence!r}")
        except DataError as error:
            raise error.at(record=name, field="triples") from None
        if comparing.excludes(row):
            continue
        subject = objects.item(row["subject"], row.get("subject_id"))
        properties = comparing.properties(str(row.get("predicate_id") or row["predicate"]))
        key = (objects.written(row["subject"]), str(row["predicate"]), objects.written(row["object"]))
        kind = objects.kind(row)
        aligned = comparing.aligned(properties)
        value = objects.read(row, kind)
        rows.append(Triple(row, subject, properties, aligned, kind, value, key, verdict, confidence))
    return rows


def check_verdicts(verdicts: Iterable[str]) -> None:
    """Raise a `DataError` unless each is one of `VERDICTS`."""
    if unknown := {*verdicts} - {*VERDICTS}:
        raise DataError(f"a verdict is one of {', '.join(VERDICTS)}, not {unknown.pop()!r}")
