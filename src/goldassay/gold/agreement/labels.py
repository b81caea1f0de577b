"""Agreement on values: the label of a document, the identifier of a mention, the grade of a judgement, an answer.

Secondary labels are a set, so they are compared by F1 like spans, where anybody gave one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from goldassay.gold.agreement.kappas import Cohen, Fleiss
from goldassay.gold.agreement.krippendorff import evidence
from goldassay.gold.agreement.report import Disagreement, Figure, Resampling
from goldassay.tally import Counts, Mean

Values = Mapping[str, Any]  # what an annotator says in one record, by place
Units = dict[str, list[Any]]  # by place, a value an annotator


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


def figures(task: str, given: Mapping[str, Sequence[Mapping[str, Any]]], level: str, how: Resampling) -> list[Figure]:
    """Observed agreement and kappa for each pair (and each label by itself), Fleiss' kappa, Krippendorff's alpha."""
    names, rows = list(given), units(task, given)
    out = []
    for i, j in combinations(range(len(names)), 2):
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
            sets = list(zip(secondary(given[names[i]]), secondary(given[names[j]]), strict=True))
            if used := sum(len(x | y) for x, y in sets):
                counts = [Counts(len(x & y), len(y - x), len(x - y)) for x, y in sets]
                out.append(how.figure("secondary_f1", pair, counts, Counts(), used))
    whole = [[unit for unit in row.values() if None not in unit] for row in rows]
    out.append(how.figure("fleiss_kappa", names, [Fleiss.of(row) for row in whole], Fleiss(), sum(map(len, whole))))
    found = [evidence(row.values(), level) for row in rows]
    size = sum(sum(value is not None for value in unit) > 1 for row in rows for unit in row.values())
    out.append(how.figure(f"alpha_{level}", names, found, evidence([], level), size))
    return out


def secondary(records: Sequence[Mapping[str, Any]]) -> list[set[str]]:
    """The secondary labels of each record."""
    return [set(record.get("secondary_labels") or ()) for record in records]


def units(task: str, given: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Units]:
    """For each record, the values of all annotators by place; None where one has no value there."""
    out = []
    for rows in zip(*given.values(), strict=True):
        said = [values(task, record) for record in rows]
        places = dict.fromkeys(place for one in said for place in one)
        out.append({place: [one.get(place) for one in said] for place in places})
    return out


def disagreements(task: str, given: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Disagreement]:
    """Each place where the annotators do not all say the same."""
    first = next(iter(given.values()))
    out = []
    for record, row in zip(first, units(task, given), strict=True):
        for place, unit in row.items():
            if len({repr(value) for value in unit}) > 1:
                said = {name: None if value is None else str(value) for name, value in zip(given, unit, strict=True)}
                out.append(Disagreement(str(record["id"]), place, said))
    if task == "classification":
        for record, *found in zip(first, *map(secondary, given.values()), strict=True):
            if any(one != found[0] for one in found):
                said = {name: " ".join(sorted(one)) or None for name, one in zip(given, found, strict=True)}
                out.append(Disagreement(str(record["id"]), "secondary_labels", said))
    return out
