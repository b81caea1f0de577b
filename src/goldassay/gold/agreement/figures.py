"""The figures of an agreement study, with intervals, and the disagreements: on values and on sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.fields import clusters
from goldassay.gold.agreement.coefficients import Coefficient
from goldassay.gold.records import folded_answers, grades, labels_of
from goldassay.measures.extraction import Batch, Span
from goldassay.measures.extraction.records import spans
from goldassay.measures.records.matching import Comparing, Item
from goldassay.measures.records.records import record_of
from goldassay.statistics import Interval, interval
from goldassay.statistics.evidence import row as row_of
from goldassay.tally import Counts, Mean
from goldassay.text.words import places

SETS = ("extraction", "triples", "records")  # tasks whose records hold a set: spans, statements, fields
Rows = Sequence[Any]  # what each record says; None if one of the annotators who are compared lacks it


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its name, between whom, for which type (None: all), and how many units were compared.

    ``interval`` is None if the figure is not defined, because nothing was compared or nothing varies.
    """

    name: str
    between: tuple[str, ...]
    type: str | None
    units: int
    interval: Interval | None

    @property
    def value(self) -> float | None:
        """The figure without its interval."""
        return self.interval.value if self.interval else None


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A place in a record, and the value that each annotator gave (None: nothing)."""

    record: str
    where: str
    values: Mapping[str, str | None]


@dataclass
class Study:
    """The records of several annotators, a row each (None if one lacks it), and the figures made of them."""

    task: str
    names: Sequence[str]
    rows: Sequence[Sequence[Any]]
    draws: Mapping[str, Any]
    figures: list[Figure] = field(default_factory=list)

    def compare(self, level: str | None = None) -> None:
        """Add the figures of the task; ``level`` is Krippendorff's."""
        if self.task not in SETS:
            self._values(level or ("ordinal" if self.task == "retrieval" else "nominal"))
        elif level not in (None, "nominal"):
            values = "classification, linking, retrieval, answering"
            raise GoldassayError(f"a level is for values ({values}), not for {self.task}")
        elif self.task == "extraction":
            self._spans()
        else:
            self._statements()

    def add(self, name: str, between: Sequence[str], tallies: Rows, units: int, type_: str | None = None) -> None:
        """Add a figure, with a bootstrap interval over records, or over the documents that they name.

        Args:
            name: The figure's name.
            between: The annotators that it is between.
            tallies: A tally a record, None for those that are not compared.
            units: How many units were compared.
            type_: The type or label that it is of, if it is of one.
        """
        compared = [(row, tally) for row, tally in zip(self.rows, tallies, strict=True) if tally is not None]
        bounds = None
        if compared:
            records, evidence = zip(*compared, strict=True)
            zero: Any = Coefficient(evidence[0].kind) if isinstance(evidence[0], Coefficient) else type(evidence[0])()
            total: Any = sum(evidence, zero)
            if total.defined is not None if isinstance(total, Coefficient) else total.weight:
                documents = clusters([next(filter(None, row)) for row in records])
                bounds = interval(evidence, zero, clusters=documents, method="bootstrap", **self.draws)
        self.figures.append(Figure(name, tuple(between), type_, units, bounds))

    def _read(self, reading_of: Callable[[Any], Any]) -> list[list[Any]]:
        return [[None if record is None else reading_of(record) for record in row] for row in self.rows]

    def _among(self, readings: Rows, names: Sequence[str]) -> Rows:
        """What these annotators' records say."""
        columns = [self.names.index(name) for name in names]
        rows = ([reading[column] for column in columns] for reading in readings)
        return [None if None in row else row for row in rows]

    def _values(self, level: str) -> None:
        """Observed agreement and kappa for each pair (and each label), Fleiss' kappa, Krippendorff's alpha."""
        readings = self._read(lambda record: values(self.task, record))
        secondary = self._read(_secondary)
        for pair in combinations(self.names, 2):
            rows = _map(_complete, self._among(readings, pair))
            same = _map(lambda row: Mean(float(sum(a == b for a, b in row)), float(len(row))), rows)
            self.add("observed", pair, same, _size(rows))
            self.add("cohen_kappa", pair, _coefficients(rows, "cohen"), _size(rows))
            if self.task == "classification":
                for label in sorted({value for row in rows for unit in row or () for value in unit}):
                    of_label = _map(partial(_of_label, label), rows)
                    used = sum(any(unit) for row in of_label for unit in row or ())
                    self.add("cohen_kappa", pair, _coefficients(of_label, "cohen"), used, label)
                sets = self._among(secondary, pair)
                if any(any(row or ()) for row in sets):
                    self._sets("secondary_f1", pair, sets)
        rows = _map(_complete, self._among(readings, self.names))
        self.add("fleiss_kappa", self.names, _coefficients(rows, "fleiss"), _size(rows))
        rows = [_units(row) for row in readings]
        paired = sum(sum(value is not None for value in unit) > 1 for row in rows for unit in row)
        self.add(f"alpha_{level}", self.names, _coefficients(rows, level), paired)

    def _spans(self) -> None:
        """Strict and partial F1 for each pair of annotators, in all and for each type; kappa and alpha over words."""
        readings = self._read(lambda record: spans(record["entities"]))
        words = self._read(lambda record: word_types(record["text"], spans(record["entities"])))
        types = sorted({span.type for row in readings for own in row for span in own or ()})
        for pair in combinations(self.names, 2):
            rows = self._among(readings, pair)
            for match, kind in (("strict", None), ("partial", None), *(("strict", kind) for kind in types)):
                part = _map(partial(_of_type, kind), rows)
                first, second = ([row[side] if row else [] for row in part] for side in (0, 1))
                counts = Batch(first, second).counts(match)
                tallies = [None if row is None else row_of(counts, index) for index, row in enumerate(part)]
                self.add(f"{match}_f1", pair, tallies, sum(max(map(len, row)) for row in part if row), kind)
            units = _map(lambda row: list(zip(*row, strict=True)), self._among(words, pair))
            self.add("word_kappa", pair, _coefficients(units, "cohen"), _size(units))
        marked = []
        for row in words:
            size = max(len(own) for own in row if own is not None)
            tags = zip(*([None] * size if own is None else own for own in row), strict=True)
            marked.append([unit for unit in tags if any(tag not in ("O", None) for tag in unit)])
        self.add("word_alpha", self.names, _coefficients(marked, "nominal"), _size(marked))

    def _statements(self) -> None:
        """Pairwise F1 of statements: the same in all parts (or the same field and value) but for case and spaces."""
        readings = self._read(lambda record: set(_statements(record)))
        for pair in combinations(self.names, 2):
            self._sets("field_f1" if self.task == "records" else "triple_f1", pair, self._among(readings, pair))

    def _sets(self, name: str, pair: tuple[str, str], rows: Rows) -> None:
        tallies = _map(lambda row: Counts(len(row[0] & row[1]), len(row[1] - row[0]), len(row[0] - row[1])), rows)
        self.add(name, pair, tallies, sum(len(row[0] | row[1]) for row in rows if row))

    def disagreements(self) -> list[Disagreement]:
        """Each place or statement for which the annotators of a record do not all give the same value."""
        result = []
        for row in self.rows:
            by_name = {name: record for name, record in zip(self.names, row, strict=True) if record}
            answers = {name: _answers(self.task, record) for name, record in by_name.items()}
            where = dict.fromkeys(place for own in answers.values() for place in own)
            for place in sorted(where) if self.task in SETS else where:
                several = {name: own.get(place) for name, own in answers.items()}
                if len(set(several.values())) > 1:
                    result.append(Disagreement(str(next(iter(by_name.values()))["id"]), place.strip(), several))
        return result


def _map(function: Callable[[Any], Any], rows: Rows) -> Rows:
    return [None if row is None else function(row) for row in rows]


def _size(rows: Rows) -> int:
    return sum(len(row) for row in rows if row)


def _coefficients(rows: Rows, kind: str) -> Rows:
    return _map(lambda units: Coefficient.of(units, kind), rows)


def _units(row: Sequence[Mapping[str, Any] | None]) -> list[list[Any]]:
    """The values of all annotators, place by place; None if one has no value there."""
    where = dict.fromkeys(place for own in row for place in own or ())
    return [[own.get(place) if own else None for own in row] for place in where]


def _complete(row: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    return [unit for unit in _units(row) if None not in unit]


def _of_type(kind: str | None, row: Sequence[Sequence[Span]]) -> list[list[Span]]:
    return [[span for span in own if kind in (None, span.type)] for own in row]


def _of_label(label: Any, units: Sequence[Sequence[Any]]) -> list[list[bool]]:
    return [[value == label for value in unit] for unit in units]


def values(task: str, record: Mapping[str, Any]) -> dict[str, Any]:
    """What a record says, place by place."""
    if task == "classification":
        return {"label": record["label"]} if "label" in record else {label: True for _, label in labels_of(record)}
    if task == "linking":
        return {f"{link['start']}:{link['end']}": _identifiers(link["ids"]) for link in record["links"]}
    if task == "retrieval":
        return grades(record)
    return {"answer": " | ".join(sorted(folded_answers(record))) or "unanswerable"}


def _identifiers(ids: Mapping[str, Sequence[str]]) -> str:
    """A mention's identifiers as one value, Wikidata's if there is one; none is NIL."""
    used = {base: sorted(several) for base, several in ids.items() if several}
    base = "wikidata" if "wikidata" in used else min(used, default="")
    return f"{base}:{'+'.join(used[base])}" if used else "NIL"


def _secondary(record: Mapping[str, Any]) -> set[str]:
    return set(record.get("secondary_labels") or ())


def word_types(text: str, entities: Sequence[Span]) -> list[str]:
    """The type over each word; of nested spans the shortest, ``O`` outside."""
    inner = sorted(entities, key=lambda span: span.end - span.start)
    words = [Span(start, end, "") for start, end in places(text)]
    return [next((span.type for span in inner if span.overlaps(word)), "O") for word in words]


def _statements(record: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The statements of a record of triples, or the leaf fields of a structured one with their values."""
    if "record" in record:
        parts: list[tuple[Any, ...]] = [
            (leaf.field, leaf.value) for leaf in Comparing().leaves(Item(record_of(record["record"])))
        ]
    else:
        parts = [(triple["subject"], triple["predicate"], triple["object"]) for triple in record["triples"]]
    return [tuple(" ".join(str(part).split()).casefold() for part in statement) for statement in parts]


def _answers(task: str, record: Mapping[str, Any]) -> dict[str, str | None]:
    """What a record says, place by place or statement by statement, as text."""
    if task == "extraction":
        kinds: dict[str, list[str]] = {}
        for span in spans(record["entities"]):
            place = f"{span.start:>7}:{span.end} {record['text'][span.start : span.end]!r}"
            kinds.setdefault(place, []).append(span.type)
        return {place: ", ".join(sorted(several)) for place, several in kinds.items()}
    if task in SETS:
        return {" · ".join(statement): "stated" for statement in _statements(record)}
    second = {"secondary_labels": " ".join(sorted(_secondary(record))) or None} if task == "classification" else {}
    return {place: str(value) for place, value in values(task, record).items()} | second
