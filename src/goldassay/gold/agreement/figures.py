"""The figures of an agreement study, with intervals, and the disagreements: on values and on sets.

Values are the label of a document, the identifier of a mention, the grade of a judgement, an answer. Secondary labels
are a set, so they are compared by F1 like spans, if anybody gave one.

Sets are spans and statements: pairwise F1, where one annotator stands for gold. F1 is the same whoever stands for gold,
and it needs no count of what nobody marked, which spans do not have; a kappa over words counts all the words outside
as agreement and looks better than it is (Hripcsak and Rothschild 2005). The kappa is given as ``word_kappa`` because
cards promise it, and ``word_alpha`` is Krippendorff's over the words that at least one annotator marked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any, Unpack

from goldassay.fields import clusters
from goldassay.gold.agreement.coefficients import Coefficient
from goldassay.gold.records import folded_answers, grades, labels_of
from goldassay.measures.extraction import Batch, Span
from goldassay.measures.extraction.records import spans
from goldassay.measures.records.matching import Comparing
from goldassay.measures.records.records import record_of
from goldassay.statistics import Interval, interval
from goldassay.statistics.evidence import row as row_of
from goldassay.statistics.resampling import Draws
from goldassay.tally import Counts, Mean
from goldassay.text.words import places


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


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of several annotators on one task."""

    task: str
    annotators: tuple[str, ...]
    records: int
    figures: Sequence[Figure]
    disagreements: Sequence[Disagreement]
    warnings: Sequence[str] = field(default_factory=list)

    def figure(self, name: str, between: Sequence[str] | None = None, type: str | None = None) -> Figure:
        """A figure by its name; among all annotators unless ``between`` names some."""
        names = set(between or self.annotators)
        for figure in self.figures:
            if (figure.name, figure.type) == (name, type) and set(figure.between) == names:
                return figure
        raise KeyError(name)

    def state(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


SETS = ("extraction", "triples", "records")  # tasks whose records hold a set: spans, statements, fields
ByAnnotator = Mapping[str, Sequence[Mapping[str, Any] | None]]  # records in one order; None if one lacks it
MakeFigure = Callable[..., Figure]  # `make_figure` with its resamples and seed


def make_figure(
    name: str,
    between: Sequence[str],
    tallies: Sequence[object],
    zero: Any,
    units: int,
    type: str | None = None,
    *,
    records: ByAnnotator,
    **draws: Unpack[Draws],
) -> Figure:
    """A figure of one tally a record, with a bootstrap interval over records, or over the documents that they name.

    Args:
        name: The figure's name.
        between: The annotators that it is between.
        tallies: A tally a record.
        zero: The empty tally.
        units: How many units were compared.
        type: The type or label that it is of, if it is of one.
        records: The records of all annotators.
        draws: ``resamples`` and ``seed`` of the bootstrap.
    """
    several: Sequence[Any] = tallies
    total = sum(several, zero)
    undefined = total.defined is None if isinstance(total, Coefficient) else not total.weight  # pyright: ignore[reportAttributeAccessIssue]
    rows = [next(filter(None, row)) for row in zip(*records.values(), strict=True)]
    shared = _shared(records, between)  # alpha alone is over all records
    documents = clusters([rows[index] for index in shared] if len(shared) == len(tallies) else rows)
    bounds = None if undefined else interval(tallies, zero, clusters=documents, method="bootstrap", **draws)
    return Figure(name, tuple(between), type, units, bounds)


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


def value_figures(task: str, records: ByAnnotator, level: str, figure: MakeFigure) -> list[Figure]:
    """Observed agreement and kappa for each pair (and each label by itself), Fleiss' kappa, Krippendorff's alpha."""
    names, units = list(records), _units(task, records)
    figures = []
    for i, j in combinations(range(len(names)), 2):
        pair, shared = (names[i], names[j]), _shared(records, (names[i], names[j]))
        rows = [
            [(unit[i], unit[j]) for unit in units[index].values() if unit[i] is not None and unit[j] is not None]
            for index in shared
        ]
        size = sum(map(len, rows))
        same = [Mean(float(sum(a == b for a, b in row)), float(len(row))) for row in rows]
        figures.append(figure("observed", pair, same, Mean(), size))
        figures.append(figure("cohen_kappa", pair, *_coefficients(rows, "cohen"), size))
        if task != "classification":
            continue
        for label in sorted({value for row in rows for unit in row for value in unit}):
            of_label = [[(a == label, b == label) for a, b in row] for row in rows]
            used = sum(label in unit for row in rows for unit in row)
            figures.append(figure("cohen_kappa", pair, *_coefficients(of_label, "cohen"), used, label))
        sets = [(_secondary(records[names[i]][index]), _secondary(records[names[j]][index])) for index in shared]
        if any(x | y for x, y in sets):
            figures.append(_set_f1("secondary_f1", pair, sets, figure))
    whole = [[unit for unit in units[index].values() if None not in unit] for index in _shared(records, names)]
    figures.append(figure("fleiss_kappa", names, *_coefficients(whole, "fleiss"), sum(map(len, whole))))
    every = [list(row.values()) for row in units]
    size = sum(sum(value is not None for value in unit) > 1 for row in every for unit in row)
    figures.append(figure(f"alpha_{level}", names, *_coefficients(every, level), size))
    return figures


def _coefficients(rows: Sequence[Sequence[Any]], kind: str) -> tuple[list[Coefficient], Coefficient]:
    """A coefficient a record, and the empty one."""
    return [Coefficient.of(row, kind) for row in rows], Coefficient(kind)


def _set_f1(
    name: str, between: tuple[str, str], rows: Sequence[tuple[set[Any], set[Any]]], figure: MakeFigure
) -> Figure:
    tallies = [Counts(len(x & y), len(y - x), len(x - y)) for x, y in rows]
    return figure(name, between, tallies, Counts(), sum(len(x | y) for x, y in rows))


def _shared(records: ByAnnotator, names: Sequence[str]) -> list[int]:
    """The places of the records that all of these annotators have."""
    rows = enumerate(zip(*(records[name] for name in names), strict=True))
    return [index for index, row in rows if all(record is not None for record in row)]


def _secondary(record: Mapping[str, Any] | None) -> set[str]:
    return set(record.get("secondary_labels") or ()) if record else set()


def _units(task: str, records: ByAnnotator) -> list[dict[str, list[Any]]]:
    """For each record, the values of all annotators by place; None if one has no value there."""
    units = []
    for row in zip(*records.values(), strict=True):
        by_annotator = [values(task, record) if record else {} for record in row]
        names = dict.fromkeys(place for own in by_annotator for place in own)
        units.append({place: [own.get(place) for own in by_annotator] for place in names})
    return units


def span_figures(records: ByAnnotator, figure: MakeFigure) -> list[Figure]:
    """Strict and partial F1 for each pair of annotators, in all and for each type; kappa and alpha over words."""
    read = {name: [spans(record["entities"]) if record else None for record in row] for name, row in records.items()}
    texts = [next(record["text"] for record in row if record) for row in zip(*records.values(), strict=True)]
    types = sorted({span.type for rows in read.values() for row in rows for span in row or ()})
    figures = []
    for a, b in combinations(read, 2):
        both = [(t, x, y) for t, x, y in zip(texts, read[a], read[b], strict=True) if x is not None and y is not None]
        for match in ("strict", "partial"):
            figures.append(_span_f1((a, b), [(x, y) for _, x, y in both], match, figure))
        for kind in types:
            part = [([s for s in x if s.type == kind], [s for s in y if s.type == kind]) for _, x, y in both]
            figures.append(_span_f1((a, b), part, "strict", figure, kind))
        words = [list(zip(word_types(text, x), word_types(text, y), strict=True)) for text, x, y in both]
        figures.append(figure("word_kappa", (a, b), *_coefficients(words, "cohen"), sum(map(len, words))))
    units = []
    for index, text in enumerate(texts):
        rows = [row[index] for row in read.values()]
        types_given = [[None] * len(places(text)) if row is None else word_types(text, row) for row in rows]
        units.append([unit for unit in zip(*types_given, strict=True) if any(tag not in ("O", None) for tag in unit)])
    figures.append(figure("word_alpha", tuple(read), *_coefficients(units, "nominal"), sum(map(len, units))))
    return figures


def _span_f1(
    between: tuple[str, str],
    rows: Sequence[tuple[Sequence[Span], Sequence[Span]]],
    match: str,
    figure: MakeFigure,
    kind: str | None = None,
) -> Figure:
    counts = Batch([a for a, _ in rows], [b for _, b in rows]).counts(match)
    tallies = [row_of(counts, index) for index in range(len(rows))]
    return figure(f"{match}_f1", between, tallies, Counts(), sum(max(len(a), len(b)) for a, b in rows), kind)


def word_types(text: str, entities: Sequence[Span]) -> list[str]:
    """The type over each word; of nested spans the shortest, ``O`` outside."""
    inner = sorted(entities, key=lambda span: span.end - span.start)
    words = [Span(start, end, "") for start, end in places(text)]
    return [next((span.type for span in inner if span.overlaps(word)), "O") for word in words]


def statement_figures(records: ByAnnotator, figure: MakeFigure) -> list[Figure]:
    """Pairwise F1 of statements: the same in all parts (or the same field and value) but for case and spaces."""
    read = {name: [set(_statements(record)) if record else None for record in row] for name, row in records.items()}
    figures = []
    for a, b in combinations(read, 2):
        rows = [(x, y) for x, y in zip(read[a], read[b], strict=True) if x is not None and y is not None]
        name = "field_f1" if any(record and "record" in record for record in records[a]) else "triple_f1"
        figures.append(_set_f1(name, (a, b), rows, figure))
    return figures


def _statements(record: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """The statements of a record of triples, or the leaf fields of a structured one with their values."""
    if "record" in record:
        parts: list[tuple[Any, ...]] = [
            (name, value) for name, _, value in Comparing().leaves(record_of(record["record"]))
        ]
    else:
        parts = [(triple["subject"], triple["predicate"], triple["object"]) for triple in record["triples"]]
    return [tuple(" ".join(str(part).split()).casefold() for part in statement) for statement in parts]


def disagreements(task: str, records: ByAnnotator) -> list[Disagreement]:
    """Each place or statement for which the annotators of a record do not all give the same value."""
    result = []
    for row in zip(*records.values(), strict=True):
        given = {name: record for name, record in zip(records, row, strict=True) if record}
        answers = {name: _answers(task, record) for name, record in given.items()}
        places = dict.fromkeys(place for own in answers.values() for place in own)
        for place in sorted(places) if task in SETS else places:
            several = {name: own.get(place) for name, own in answers.items()}
            if len(set(several.values())) > 1:
                result.append(Disagreement(str(next(iter(given.values()))["id"]), place.strip(), several))
    return result


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
