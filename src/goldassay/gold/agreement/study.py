"""The study of several annotators: the readings of their records, and the figures made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from goldassay.core.evidence import row as row_of
from goldassay.core.fields import clusters
from goldassay.core.tally import Counts, Mean
from goldassay.gold.agreement.coefficients import Coefficient
from goldassay.gold.agreement.results import Disagreement, Figure
from goldassay.gold.outputs import as_text
from goldassay.gold.records import first_acceptable, folded_answers, grades, labels_of, leaves
from goldassay.gold.shapes import Record
from goldassay.measures.extraction import Span, SpanBatch
from goldassay.measures.extraction.records import spans
from goldassay.statistics import interval
from goldassay.text.words import places

Records = Sequence[Record]
Compared = list[tuple[Any, Any]]  # a record that annotators have in common, and what is compared of it
SETS = ("extraction", "triples", "records", "trajectories")
"""Tasks whose records hold a set: spans, statements, fields, calls."""


@dataclass
class Study:
    """The records of several annotators, a row each (None if one lacks it), and the figures made of them."""

    names: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    draws: Record
    figures: list[Figure] = field(default_factory=list)

    def read(self, reading_of: Callable[[Any], Any]) -> list[list[Any]]:
        """What each record says; None where an annotator lacks it."""
        return [[None if record is None else reading_of(record) for record in row] for row in self.rows]

    def among(self, readings: Sequence[Sequence[Any]], names: Sequence[str]) -> Compared:
        """What these annotators' records say, of the records that all of them have."""
        columns = [self.names.index(name) for name in names]
        rows = ((row, [values[column] for column in columns]) for row, values in zip(self.rows, readings, strict=True))
        return [(row, values) for row, values in rows if None not in values]

    def add(self, name: str, between: Sequence[str], tallies: Compared, units: int, type_: str | None = None) -> None:
        """Add a figure, with a bootstrap interval over records, or over the documents that they name.

        Args:
            name: The figure's name.
            between: The annotators that it is between.
            tallies: The records that are compared, each with its tally.
            units: How many units were compared.
            type_: The type or label that it is of, if it is of one.
        """
        bounds = None
        if tallies:
            records, evidence = zip(*tallies, strict=True)
            zero = Coefficient(kind=evidence[0].kind) if isinstance(evidence[0], Coefficient) else type(evidence[0])()
            total = sum(evidence, zero)
            if total.defined is not None if isinstance(total, Coefficient) else total.weight:
                documents = clusters([next(filter(None, row)) for row in records])
                bounds = interval(evidence, zero, clusters=documents, method="bootstrap", **self.draws)
        self.figures.append(Figure(name, tuple(between), type_, units, bounds))

    def add_coefficient(self, name: str, between: Sequence[str], units: Compared, kind: str = "cohen") -> None:
        """Add a coefficient of the units of each record, which are counted unless only one annotator has a value."""
        compared = sum(sum(value is not None for value in unit) > 1 for _, values in units for unit in values)
        self.add(name, between, [(row, Coefficient.of(values, kind)) for row, values in units], compared)

    def add_sets(self, name: str, pair: Sequence[str], sets: Compared) -> None:
        """Add the F1 of two sets a record."""
        tallies = [(row, Counts(len(a & b), len(b - a), len(a - b))) for row, (a, b) in sets]
        self.add(name, pair, tallies, sum(len(a | b) for _, (a, b) in sets))

    def compare_values(self, task: str, level: str) -> None:
        """Observed agreement and kappa for each pair (and each label), Fleiss' kappa, Krippendorff's alpha."""
        readings = self.read(lambda record: _values(task, record))
        secondary = self.read(_secondary)
        for pair in combinations(self.names, 2):
            units = _complete(self.among(readings, pair))
            same = [(row, Mean(float(sum(a == b for a, b in values)), float(len(values)))) for row, values in units]
            self.add("observed", pair, same, sum(len(values) for _, values in units))
            self.add_coefficient("cohen_kappa", pair, units)
            if task == "classification":
                values = {value for _, values in units for unit in values for value in unit}
                for label in sorted(values, key=lambda value: (isinstance(value, str), value)):
                    of_label = [(row, [[value == label for value in unit] for unit in values]) for row, values in units]
                    used = sum(any(unit) for _, values in of_label for unit in values)
                    tallies = [(row, Coefficient.of(values, "cohen")) for row, values in of_label]
                    self.add("cohen_kappa", pair, tallies, used, label)
                sets = self.among(secondary, pair)
                if any(any(values) for _, values in sets):
                    self.add_sets("secondary_f1", pair, sets)
        self.add_coefficient("fleiss_kappa", self.names, _complete(self.among(readings, self.names)), "fleiss")
        every = [(row, _units(values)) for row, values in zip(self.rows, readings, strict=True)]
        self.add_coefficient(f"alpha_{level}", self.names, every, level)

    def compare_spans(self) -> None:
        """Strict and partial F1 for each pair of annotators, in all and for each type; kappa and alpha over words."""
        readings = self.read(lambda record: spans(record["entities"]))
        tags = self.read(_word_types)
        types = sorted({span.type for row in readings for values in row for span in values or ()})
        for pair in combinations(self.names, 2):
            pairs = self.among(readings, pair)
            for match, kind in (("strict", None), ("partial", None), *(("strict", kind) for kind in types)):
                spans_of_side = [
                    [[span for span in values[side] if kind in (None, span.type)] for _, values in pairs]
                    for side in (0, 1)
                ]
                counts = SpanBatch(*spans_of_side).counts(match)
                tallies = [(row, row_of(counts, index)) for index, (row, _) in enumerate(pairs)]
                self.add(f"{match}_f1", pair, tallies, sum(map(max, *(map(len, side) for side in spans_of_side))), kind)
            self.add_coefficient("word_kappa", pair, _complete(self.among(tags, pair)))
        marked = [
            (row, [unit for unit in _units(values) if any(tag not in ("O", None) for tag in unit)])
            for row, values in zip(self.rows, tags, strict=True)
        ]
        coefficients = [(row, Coefficient.of(values, "nominal")) for row, values in marked]
        self.add("word_alpha", self.names, coefficients, sum(len(values) for _, values in marked))

    def disagreements(self, task: str) -> list[Disagreement]:
        """Each place or statement for which the annotators of a record do not all give the same value."""
        result = []
        for row in self.rows:
            by_name = {name: record for name, record in zip(self.names, row, strict=True) if record}
            answers = {name: _answers(task, record) for name, record in by_name.items()}
            where = dict.fromkeys(key for answer in answers.values() for key in answer)
            for key in sorted(where) if task in SETS else where:
                stated = {name: answer.get(key) for name, answer in answers.items()}
                if len(set(stated.values())) > 1:
                    result.append(Disagreement(str(next(iter(by_name.values()))["id"]), key.strip(), stated))
        return result


def _units(row: Sequence[Mapping[Any, Any] | None]) -> list[list[Any]]:
    """The values of all annotators, place by place; None if one has no value there."""
    where = dict.fromkeys(key for values in row for key in values or ())
    return [[values.get(key) if values else None for values in row] for key in where]


def _complete(readings: Compared) -> Compared:
    """The values of all annotators at the places where each has one."""
    return [(row, [unit for unit in _units(values) if None not in unit]) for row, values in readings]


def _values(task: str, record: Record) -> dict[str, Any]:
    """What a record says, place by place; of a mention Wikidata's identifiers if there are any, NIL without any."""
    if task == "classification":
        return {"label": record["label"]} if "label" in record else {label: True for _, label in labels_of(record)}
    if task == "retrieval":
        return grades(record)
    if task == "answering":
        return {"answer": " | ".join(sorted(folded_answers(record))) or "unanswerable"}
    links = {}
    for link in record["links"]:
        used = {base: sorted(ids) for base, ids in link["ids"].items() if ids}
        base = "wikidata" if "wikidata" in used else min(used, default="")
        links[f"{link['start']}:{link['end']}"] = f"{base}:{'+'.join(used[base])}" if used else "NIL"
    return links


def _secondary(record: Record) -> set[str]:
    return set(record.get("secondary_labels") or ())


def _word_types(record: Record) -> dict[int, str]:
    """The type over each word; of nested spans the shortest, ``O`` outside."""
    inner = sorted(spans(record["entities"]), key=lambda span: span.end - span.start)
    words = [Span(start, end, "") for start, end in places(record["text"])]
    types = (next((span.type for span in inner if span.overlaps(word)), "O") for word in words)
    return dict(enumerate(types))


def statements(record: Record) -> list[tuple[str, ...]]:
    """The statements of a record of triples, the leaf fields of a structured one with their values, or the calls.

    Two are the same if they are in all parts but for case and spaces.
    """
    if "record" in record:
        parts: list[tuple[Any, ...]] = [*leaves(record["record"])]
    elif "calls" in record:
        parts = [(call["name"], as_text(call.get("args") or {})) for call in first_acceptable(record["calls"])]
    else:
        parts = [(triple["subject"], triple["predicate"], triple["object"]) for triple in record["triples"]]
    return [tuple(" ".join(str(text).split()).casefold() for text in statement) for statement in parts]


def _answers(task: str, record: Record) -> dict[str, str | None]:
    """What a record says, place by place or statement by statement, as text."""
    if task == "extraction":
        kinds: dict[str, list[str]] = {}
        for span in spans(record["entities"]):
            key = f"{span.start:>7}:{span.end} {record['text'][span.start : span.end]!r}"
            kinds.setdefault(key, []).append(span.type)
        return {key: ", ".join(sorted(kinds_of_key)) for key, kinds_of_key in kinds.items()}
    if task in SETS:
        return {" · ".join(statement): "stated" for statement in statements(record)}
    second = {"secondary_labels": " ".join(sorted(_secondary(record))) or None} if task == "classification" else {}
    return {key: str(value) for key, value in _values(task, record).items()} | second
