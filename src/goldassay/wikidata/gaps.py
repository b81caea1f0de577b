"""Gaps of an evaluation: properties with low recall, and predicates that the alignment table lacks.

A recall gap comes with sentences in which its statements were missed. Recall is the share of gold that was covered; a
file that gives only a property's precision (as riverbank's did) says nothing about its recall, so such properties are
listed as unknown.

An alignment gap is a predicate that the table does not have and whose triples equal statements that nothing covers:
``ex:firstName`` given for nine people, each time with the value of P735, most likely means P735. Each gap is a proposal
for a person, with its support.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from goldassay.exceptions import DataError
from goldassay.measures.triples import objects
from goldassay.wikidata.alignment import PropertyAlignmentTable

EXAMPLES = 3


def recall_gaps(
    result: Mapping[str, Any], threshold: float = 0.5, table: PropertyAlignmentTable | None = None, file: object = None
) -> dict[str, Any]:
    """The recall gap analysis of a result, in riverbank's fields; gaps that cost the most statements first.

    >>> rows = {"P19": {"recall": 0.2, "count": 5, "label": "place of birth"}, "P20": {"precision": 0.9, "count": 3}}
    >>> report = recall_gaps({"run_metadata": {}, "by_property": rows})
    >>> [gap["property_id"] for gap in report["gaps"]], report["unknown_recall"]
    (['P19'], ['P20'])
    """
    rows = result.get("by_property")
    if not isinstance(rows, Mapping) or not rows:
        raise DataError("it has no by_property, so there is no property to analyse; evaluate again", file=file)
    table = table or PropertyAlignmentTable.ours()
    measured = {
        name: row
        for name, row in rows.items()
        if isinstance(row, Mapping) and all(isinstance(row.get(key), (int, float)) for key in ("recall", "count"))
    }
    gaps = [_gap(name, row, table) for name, row in measured.items() if row["count"] and row["recall"] < threshold]
    gaps.sort(key=lambda gap: (gap["matched_count"] - gap["total_count"], gap["property_id"]))
    metadata = result["run_metadata"]
    return {
        "threshold": threshold,
        "dataset_name": metadata.get("dataset") or metadata.get("article") or "",
        "total_extraction_examples": sum(len(gap["extraction_examples"]) for gap in gaps),
        "covered_properties": sorted(
            name for name, row in measured.items() if row["count"] and row["recall"] >= threshold
        ),
        "unknown_recall": sorted(set(rows) - set(measured)),
        "gaps": gaps,
    }


def _gap(name: str, row: Mapping[str, Any], table: PropertyAlignmentTable) -> dict[str, Any]:
    label = str(row.get("label") or table.label(name))
    predicates = table.predicates(name)
    examples = [
        {
            "property_id": name,
            "property_label": label,
            "example_text": missed["context"],
            "expected_triple": [missed["article"], predicates[0] if predicates else name, missed["surface"]],
            "domain": missed["domain"],
            "difficulty": "easy" if missed["article"].casefold() in missed["context"].casefold() else "medium",
        }
        for missed in row.get("missed_examples") or ()
    ]
    notes = "" if examples else "no sentence is known in which it was missed"
    if row.get("supported_count") == 0:
        notes = "the texts of its articles never say it"
    return {
        "property_id": name,
        "property_label": label,
        "total_count": int(row["count"]),
        "matched_count": round(row["recall"] * row["count"]),
        "recall": row["recall"],
        "recall_supported": row.get("recall_supported"),
        "aligned_predicates": predicates,
        "notes": notes,
        "extraction_examples": examples,
    }


def alignment_gaps(rows: Iterable[Mapping[str, Any]], table: PropertyAlignmentTable) -> list[dict[str, Any]]:
    """Properties that the predicates of unaligned triples may mean, the best supported first."""
    used: Counter[str] = Counter()
    equal: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], list[list[str]]] = {}
    for row in rows:
        for triple in row["triples"]:
            if triple["kind"] != "no_match" or triple["subject"]["id"] not in (row["qid"], None):
                continue
            predicate = triple["triple"][1]
            used[predicate] += 1
            for name in sorted({missed["property"] for missed in row["missed"] if _is_equal(triple, missed)}):
                equal[predicate, name] += 1
                shown = examples.setdefault((predicate, name), [])
                if len(shown) < EXAMPLES:
                    shown.append(triple["triple"])
    return [
        {
            "predicate": predicate,
            "property": name,
            "label": table.label(name),
            "in_table": name in table.by_id,
            "support": count,
            "said": used[predicate],
            "examples": examples[predicate, name],
        }
        for (predicate, name), count in sorted(
            equal.items(), key=lambda pair: (-pair[1], -pair[1] / used[pair[0][0]], pair[0])
        )
    ]


def _is_equal(triple: Mapping[str, Any], missed: Mapping[str, Any]) -> bool:
    """Whether a triple's object equals a missed statement's value."""
    if triple["object"]["id"] and missed.get("value_id"):
        return bool(triple["object"]["id"] == missed["value_id"])
    gold = {"object": missed["value"], "object_type": missed["type"], "object_id": missed.get("value_id")}
    kind = objects.kind(gold)
    return objects.same(objects.read(gold, kind), objects.read({"object": triple["triple"][2]}, kind))
