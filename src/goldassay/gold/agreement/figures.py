"""The figures of an agreement study, with intervals, and where the annotators disagree: on values and on sets.

Values are the label of a document, the identifier of a mention, the grade of a judgement, an answer. Secondary labels
are a set, so they are compared by F1 like spans, where anybody gave one.

Sets are spans first of all, and statements: pairwise F1, where the one annotator stands for gold. F1 is the same
whoever stands for gold. It needs no count of what nobody marked, which spans do not have; a kappa over words counts all
the words outside as agreement and looks better than it is (Hripcsak and Rothschild 2005). The kappa is given as
``word_kappa`` because cards promise it, and ``word_alpha`` is Krippendorff's over the words that at least one annotator
marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from typing import Any

from goldassay.gold.agreement.coefficients import Alpha, Coefficient, Cohen, Fleiss, evidence
from goldassay.measures.extraction import Batch, Span
from goldassay.measures.extraction.records import spans
from goldassay.statistics import Interval, interval
from goldassay.statistics.evidence import row as row_of
from goldassay.tally import Counts, Mean
from goldassay.text.words import places


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure: its name, between whom, for which type (None: all), and how much was compared.

    ``interval`` is None where the figure is not defined, because nothing was compared or nothing varies.
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
    """Something that the annotators see differently: the record, the place in it, what each said (None: nothing)."""

    record: str
    where: str
    said: Mapping[str, str | None]


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
        """A figure by its name; among all annotators unless ``between`` says."""
        wanted = set(between or self.annotators)
        for found in self.figures:
            if (found.name, found.type) == (name, type) and set(found.between) == wanted:
                return found
        raise KeyError(name)

    def state(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Resampling:
    """How intervals are made: by bootstrap over records."""

    resamples: int = 2000
    level: float = 0.95
    seed: int = 0

    def figure(
        self,
        name: str,
        between: Sequence[str],
        tallies: Sequence[object],
        zero: Any,
        units: int,
        type: str | None = None,
    ) -> Figure:
        """The figure of one tally a record.

        Args:
            name: The figure's name.
            between: The annotators that it is between.
            tallies: A tally a record.
            zero: The empty tally.
            units: How many units were compared.
            type: The type or label that it is of, where it is of one.
        """
        total: Any = zero
        for tally in tallies:
            total = total + tally
        empty = not total.weight or (isinstance(total, Coefficient) and abs(float(total.expected)) < 1e-12)
        found = None
        if not empty:
            found = interval(
                tallies, zero, method="bootstrap", resamples=self.resamples, level=self.level, seed=self.seed
            )
        return Figure(name, tuple(between), type, units, found)


PlacedValues = Mapping[str, Any]  # what an annotator says in one record, by place
Units = dict[str, list[Any]]  # by place, a value an annotator
ByAnnotator = Mapping[str, Sequence[Mapping[str, Any] | None]]  # records in one order; None where one lacks it


def values(task: str, record: Mapping[str, Any]) -> PlacedValues:
    """What a record says, place by place."""
    if task == "classification":
        return {"label": record["label"]}
    if task == "linking":
        return {f"{link['start']}:{link['end']}": identity(link["ids"]) for link in record["links"]}
    if task == "retrieval":
        judged = record["relevant"]
        return dict(judged) if isinstance(judged, Mapping) else dict.fromkeys(judged, 1)
    said = sorted(" ".join(answer.split()).casefold() for answer in record["answers"])
    return {"answer": " | ".join(said) or "unanswerable"}


def identity(ids: Mapping[str, Sequence[str]]) -> str:
    """A mention's identifiers as one value, Wikidata's where there is one; none is NIL."""
    known = {base: sorted(found) for base, found in ids.items() if found}
    if not known:
        return "NIL"
    base = "wikidata" if "wikidata" in known else min(known)
    return f"{base}:{'+'.join(known[base])}"


def value_figures(task: str, given: ByAnnotator, level: str, how: Resampling) -> list[Figure]:
    """Observed agreement and kappa for each pair (and each label by itself), Fleiss' kappa, Krippendorff's alpha."""
    names, every = list(given), units(task, given)
    out = []
    for i, j in combinations(range(len(names)), 2):
        shared = common(given, (names[i], names[j]))
        rows = [every[index] for index in shared]
        both = [[(u[i], u[j]) for u in row.values() if u[i] is not None and u[j] is not None] for row in rows]
        size, pair = sum(map(len, both)), (names[i], names[j])
        same = [Mean(float(sum(a == b for a, b in row)), float(len(row))) for row in both]
        out.append(how.figure("observed", pair, same, Mean(), size))
        out.append(how.figure("cohen_kappa", pair, [Cohen.of(row) for row in both], Cohen(), size))
        if task == "classification":
            for label in sorted({value for row in both for unit in row for value in unit}):
                one = [Cohen.of([(a == label, b == label) for a, b in row]) for row in both]
                used = sum(label in unit for row in both for unit in row)
                out.append(how.figure("cohen_kappa", pair, one, Cohen(), used, label))
            sets = [(secondary(given[names[i]][index]), secondary(given[names[j]][index])) for index in shared]
            if used := sum(len(x | y) for x, y in sets):
                counts = [Counts(len(x & y), len(y - x), len(x - y)) for x, y in sets]
                out.append(how.figure("secondary_f1", pair, counts, Counts(), used))
    whole = [[unit for unit in every[index].values() if None not in unit] for index in common(given, names)]
    out.append(how.figure("fleiss_kappa", names, [Fleiss.of(row) for row in whole], Fleiss(), sum(map(len, whole))))
    found = [evidence(row.values(), level) for row in every]
    size = sum(sum(value is not None for value in unit) > 1 for row in every for unit in row.values())
    out.append(how.figure(f"alpha_{level}", names, found, evidence([], level), size))
    return out


def common(given: ByAnnotator, names: Sequence[str]) -> list[int]:
    """The places of the records that all of these annotators have."""
    return [
        index
        for index, row in enumerate(zip(*(given[name] for name in names), strict=True))
        if all(record is not None for record in row)
    ]


def secondary(record: Mapping[str, Any] | None) -> set[str]:
    """The secondary labels of a record."""
    return set(record.get("secondary_labels") or ()) if record else set()


def units(task: str, given: ByAnnotator) -> list[Units]:
    """For each record, the values of all annotators by place; None where one has no value there."""
    out = []
    for rows in zip(*given.values(), strict=True):
        said = [values(task, record) if record else {} for record in rows]
        places = dict.fromkeys(place for one in said for place in one)
        out.append({place: [one.get(place) for one in said] for place in places})
    return out


def value_disagreements(task: str, given: ByAnnotator) -> list[Disagreement]:
    """Each place where the annotators of a record do not all say the same."""
    out, sets = [], []
    for row, units_ in zip(zip(*given.values(), strict=True), units(task, given), strict=True):
        having = [(name, record) for name, record in zip(given, row, strict=True) if record]
        key = str(having[0][1]["id"])
        for place, unit in units_.items():
            by = dict(zip(given, unit, strict=True))
            said = {name: None if by[name] is None else str(by[name]) for name, _ in having}
            if len({repr(by[name]) for name in said}) > 1:
                out.append(Disagreement(key, place, said))
        if task == "classification":
            found = {name: " ".join(sorted(secondary(record))) or None for name, record in having}
            if len(set(found.values())) > 1:
                sets.append(Disagreement(key, "secondary_labels", found))
    return out + sets


def span_figures(given: ByAnnotator, how: Resampling) -> list[Figure]:
    """Strict and partial F1 for each pair of annotators, in all and for each type; kappa and alpha over words."""
    read = {name: [spans(record["entities"]) if record else None for record in rows] for name, rows in given.items()}
    texts = [next(record["text"] for record in row if record) for row in zip(*given.values(), strict=True)]
    types = sorted({span.type for found in read.values() for row in found for span in row or ()})
    figures = []
    for a, b in combinations(read, 2):
        both = [
            (text, x, y) for text, x, y in zip(texts, read[a], read[b], strict=True) if x is not None and y is not None
        ]
        rows = [(x, y) for _, x, y in both]
        for match in ("strict", "partial"):
            figures.append(_f1(f"{match}_f1", (a, b), rows, match, how))
        for kind in types:
            part = [([s for s in x if s.type == kind], [s for s in y if s.type == kind]) for x, y in rows]
            figures.append(_f1("strict_f1", (a, b), part, "strict", how, kind))
        words = [list(zip(tags(text, x), tags(text, y), strict=True)) for text, x, y in both]
        pairs = [Cohen.of(row) for row in words]
        figures.append(how.figure("word_kappa", (a, b), pairs, Cohen(), sum(map(len, words))))
    units = []
    for index, text in enumerate(texts):
        unsaid = [None] * len(places(text))
        said = [unsaid if (found := read[name][index]) is None else tags(text, found) for name in read]
        row = zip(*said, strict=True)
        units.append([unit for unit in row if any(tag not in ("O", None) for tag in unit)])
    figures.append(
        how.figure("word_alpha", tuple(read), [Alpha.of(row) for row in units], Alpha(), sum(map(len, units)))
    )
    return figures


def tags(text: str, found: Sequence[Span]) -> list[str]:
    """The type over each word; of nested spans the shortest, ``O`` outside."""
    inner = sorted(found, key=lambda span: span.end - span.start)
    out = []
    for start, end in places(text):
        here = Span(start, end, "")
        out.append(next((span.type for span in inner if span.overlaps(here)), "O"))
    return out


def statement_figures(given: ByAnnotator, how: Resampling) -> list[Figure]:
    """Pairwise F1 of statements: subject, predicate and object alike but for case and spaces."""
    read = {
        name: [{triple(one) for one in record["triples"]} if record else None for record in rows]
        for name, rows in given.items()
    }
    figures = []
    for a, b in combinations(read, 2):
        rows = [(x, y) for x, y in zip(read[a], read[b], strict=True) if x is not None and y is not None]
        tallies = [Counts(len(x & y), len(y - x), len(x - y)) for x, y in rows]
        figures.append(how.figure("triple_f1", (a, b), tallies, Counts(), sum(len(x | y) for x, y in rows)))
    return figures


def triple(one: Mapping[str, object]) -> tuple[str, ...]:
    """A statement as it is compared."""
    return tuple(" ".join(str(one[part]).split()).casefold() for part in ("subject", "predicate", "object"))


def set_disagreements(task: str, given: ByAnnotator) -> list[Disagreement]:
    """Each place or statement that not all annotators have, or that they call differently."""
    out = []
    for rows in zip(*given.values(), strict=True):
        said: dict[str, dict[str, list[str]]] = {}
        having = {name: record for name, record in zip(given, rows, strict=True) if record}
        key = str(next(iter(having.values()))["id"])
        for name, record in having.items():
            if task == "triples":
                for one in record["triples"]:
                    said.setdefault(" · ".join(triple(one)), {}).setdefault(name, []).append("stated")
            else:
                for span in spans(record["entities"]):
                    place = f"{span.start:>7}:{span.end} {record['text'][span.start : span.end]!r}"
                    said.setdefault(place, {}).setdefault(name, []).append(span.type)
        for where, by in sorted(said.items()):
            values = {name: ", ".join(sorted(by[name])) if name in by else None for name in having}
            if len(set(values.values())) > 1:
                out.append(Disagreement(key, where.strip(), values))
    return out


def _f1(
    name: str,
    between: tuple[str, str],
    rows: Sequence[tuple[Sequence[Span], Sequence[Span]]],
    match: str,
    how: Resampling,
    kind: str | None = None,
) -> Figure:
    counts = Batch([a for a, _ in rows], [b for _, b in rows]).counts(match)
    tallies = [row_of(counts, index) for index in range(len(rows))]
    return how.figure(name, between, tallies, Counts(), sum(max(len(a), len(b)) for a, b in rows), kind)
