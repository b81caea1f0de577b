"""The study of several annotators: the readings of their records, and the figures made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from goldassay.fields import clusters
from goldassay.gold.agreement.coefficients import Coefficient
from goldassay.gold.agreement.results import Disagreement, Figure
from goldassay.gold.records import folded_answers, grades, labels_of, leaves
from goldassay.gold.shapes import Record
from goldassay.measures.extraction import Span, SpanBatch
from goldassay.measures.extraction.records import spans
from goldassay.statistics import interval
from goldassay.statistics.evidence import row as row_of
from goldassay.tally import Counts, Mean
from goldassay.text.words import places

Records = Sequence[Record]
Compared = list[tuple[Any, Any]]  # a record that annotators have in common, and what is compared of it
SETS = ("extraction", "triples", "records")  # tasks whose records hold a set: spans, statements, fields


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
        rows = ((row, [own[column] for column in columns]) for row, own in zip(self.rows, readings, strict=True))
        return [(row, own) for row, own in rows if None not in own]

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
            zero: Any = (
                Coefficient(kind=evidence[0].kind) if isinstance(evidence[0], Coefficient) else type(evidence[0])()
            )
            total: Any = sum(evidence, zero)
            if total.defined is not None if isinstance(total, Coefficient) else total.weight:
                documents = clusters([next(filter(None, row)) for row in records])
                bounds = interval(evidence, zero, clusters=documents, method="bootstrap", **self.draws)
        self.figures.append(Figure(name, tuple(between), type_, units, bounds))

    def add_coefficient(self, name: str, between: Sequence[str], units: Compared, kind: str = "cohen") -> None:
        """Add a coefficient of the units of each record, which are counted unless only one annotator has a value."""
        compared = sum(sum(value is not None for value in unit) > 1 for _, own in units for unit in own)
        self.add(name, between, [(row, Coefficient.of(own, kind)) for row, own in units], compared)

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
            same = [(row, Mean(float(sum(a == b for a, b in own)), float(len(own)))) for row, own in units]
            self.add("observed", pair, same, sum(len(own) for _, own in units))
            self.add_coefficient("cohen_kappa", pair, units)
            if task == "classification":
                for label in sorted({value for _, own in units for unit in own for value in unit}):
                    of_label = [(row, [[value == label for value in unit] for unit in own]) for row, own in units]
                    used = sum(any(unit) for _, own in of_label for unit in own)
                    tallies = [(row, Coefficient.of(own, "cohen")) for row, own in of_label]
                    self.add("cohen_kappa", pair, tallies, used, label)
                sets = self.among(secondary, pair)
                if any(any(own) for _, own in sets):
                    self.add_sets("secondary_f1", pair, sets)
        self.add_coefficient("fleiss_kappa", self.names, _complete(self.among(readings, self.names)), "fleiss")
        every = [(row, _units(own)) for row, own in zip(self.rows, readings, strict=True)]
        self.add_coefficient(f"alpha_{level}", self.names, every, level)

    def compare_spans(self) -> None:
        """Strict and partial F1 for each pair of annotators, in all and for each type; kappa and alpha over words."""
        readings = self.read(lambda record: spans(record["entities"]))
        tags = self.read(_word_types)
        types = sorted({span.type for row in readings for own in row for span in own or ()})
        for pair in combinations(self.names, 2):
            both = self.among(readings, pair)
            for match, kind in (("strict", None), ("partial", None), *(("strict", kind) for kind in types)):
                sides = [
                    [[span for span in own[side] if kind in (None, span.type)] for _, own in both] for side in (0, 1)
                ]
                counts = SpanBatch(*sides).counts(match)
                tallies = [(row, row_of(counts, index)) for index, (row, _) in enumerate(both)]
                self.add(f"{match}_f1", pair, tallies, sum(map(max, *(map(len, side) for side in sides))), kind)
            self.add_coefficient("word_kappa", pair, _complete(self.among(tags, pair)))
        marked = [
            (row, [unit for unit in _units(own) if any(tag not in ("O", None) for tag in unit)])
            for row, own in zip(self.rows, tags, strict=True)
        ]
        coefficients = [(row, Coefficient.of(own, "nominal")) for row, own in marked]
        self.add("word_alpha", self.names, coefficients, sum(len(own) for _, own in marked))

    def disagreements(self, task: str) -> list[Disagreement]:
        """Each place or statement for which the annotators of a record do not all give the same value."""
        result = []
        for row in self.rows:
            by_name = {name: record for name, record in zip(self.names, row, strict=True) if record}
            answers = {name: _answers(task, record) for name, record in by_name.items()}
            where = dict.fromkeys(place for own in answers.values() for place in own)
            for place in sorted(where) if task in SETS else where:
                several = {name: own.get(place) for name, own in answers.items()}
                if len(set(several.values())) > 1:
                    result.append(Disagreement(str(next(iter(by_name.values()))["id"]), place.strip(), several))
        return result


def _units(row: Sequence[Mapping[Any, Any] | None]) -> list[list[Any]]:
    """The values of all annotators, place by place; None if one has no value there."""
    where = dict.fromkeys(place for own in row for place in own or ())
    return [[own.get(place) if own else None for own in row] for place in where]


def _complete(readings: Compared) -> Compared:
    """The values of all annotators at the places where each has one."""
    return [(row, [unit for unit in _units(own) if None not in unit]) for row, own in readings]


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
        used = {base: sorted(several) for base, several in link["ids"].items() if several}
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
    """The statements of a record of triples, or the leaf fields of a structured one with their values.

    Two are the same if they are in all parts but for case and spaces.
    """
    if "record" in record:
        parts: list[tuple[Any, ...]] = [*leaves(record["record"])]
    else:
        parts = [(triple["subject"], triple["predicate"], triple["object"]) for triple in record["triples"]]
    return [tuple(" ".join(str(part).split()).casefold() for part in statement) for statement in parts]


def _answers(task: str, record: Record) -> dict[str, str | None]:
    """What a record says, place by place or statement by statement, as text."""
    if task == "extraction":
        kinds: dict[str, list[str]] = {}
        for span in spans(record["entities"]):
            place = f"{span.start:>7}:{span.end} {record['text'][span.start : span.end]!r}"
            kinds.setdefault(place, []).append(span.type)
        return {place: ", ".join(sorted(several)) for place, several in kinds.items()}
    if task in SETS:
        return {" · ".join(statement): "stated" for statement in statements(record)}
    second = {"secondary_labels": " ".join(sorted(_secondary(record))) or None} if task == "classification" else {}
    return {place: str(value) for place, value in _values(task, record).items()} | second
