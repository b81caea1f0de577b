"""Agreement on values: the label of a document, the identifier of a mention, the grade of a judgement, an answer.

Secondary labels are a set, so they are compared by F1 like spans, where anybody gave one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from goldassay.gold.agreement.coefficient import Cohen, Fleiss
from goldassay.gold.agreement.krippendorff import evidence
from goldassay.gold.agreement.report import Disagreement, Figure, Resampling
from goldassay.tally import Counts, Mean

Values = Mapping[str, Any]  # what an annotator says in one record, by place
Units = dict[str, list[Any]]  # by place, a value an annotator
Given = Mapping[str, Sequence[Mapping[str, Any] | None]]  # by annotator, records in one order; None where one lacks it


def values(task: str, record: Mapping[str, Any]) -> Values:
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


def figures(task: str, given: Given, level: str, how: Resampling) -> list[Figure]:
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


def common(given: Given, names: Sequence[str]) -> list[int]:
    """The places of the records that all of these annotators have."""
    return [
        index
        for index, row in enumerate(zip(*(given[name] for name in names), strict=True))
        if all(record is not None for record in row)
    ]


def secondary(record: Mapping[str, Any] | None) -> set[str]:
    """The secondary labels of a record."""
    return set(record.get("secondary_labels") or ()) if record else set()


def units(task: str, given: Given) -> list[Units]:
    """For each record, the values of all annotators by place; None where one has no value there."""
    out = []
    for rows in zip(*given.values(), strict=True):
        said = [values(task, record) if record else {} for record in rows]
        places = dict.fromkeys(place for one in said for place in one)
        out.append({place: [one.get(place) for one in said] for place in places})
    return out


def disagreements(task: str, given: Given) -> list[Disagreement]:
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
