"""Agreement on sets: spans first of all, and statements. Pairwise F1, where the one annotator stands for gold.

F1 is the same whoever stands for gold. It needs no count of what nobody marked, which spans do not have; a kappa over
words counts all the words outside as agreement and looks better than it is (Hripcsak and Rothschild 2005). The kappa is
given as ``word_kappa`` because cards promise it, and ``word_alpha`` is Krippendorff's over the words that at least one
annotator marked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from goldassay.gold.agreement.coefficient import Cohen
from goldassay.gold.agreement.krippendorff import Alpha
from goldassay.gold.agreement.report import Disagreement, Figure, Resampling
from goldassay.measures.extraction import Span, counts
from goldassay.measures.extraction.records import spans
from goldassay.tally import Counts
from goldassay.text.words import places

Given = Mapping[str, Sequence[Mapping[str, Any] | None]]  # by annotator, records in one order; None where one lacks it


def extraction(given: Given, how: Resampling) -> list[Figure]:
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


def statements(given: Given, how: Resampling) -> list[Figure]:
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


def triple(one: Mapping[str, Any]) -> tuple[str, ...]:
    """A statement as it is compared."""
    return tuple(" ".join(str(one[part]).split()).casefold() for part in ("subject", "predicate", "object"))


def disagreements(task: str, given: Given) -> list[Disagreement]:
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
    tallies = [counts(a, b, match) for a, b in rows]
    return how.figure(name, between, tallies, Counts(), sum(max(len(a), len(b)) for a, b in rows), kind)
