"""What is found too rarely, and why: properties whose statements are missed, predicates that the table does not know.

A property comes with real sentences in which its statements were missed. Recall is the share of gold that was covered.
A file that gives a property's precision only (as the founding kit's did) says nothing of its recall: such properties
are listed as unknown, never as if their precision were it.

A predicate that the alignment table does not know is a gap where its triples equal statements that nothing covers:
``ex:firstName`` said of nine people, each time with the value of P735, most likely means P735. Each gap is a proposal
for a person, with how often it was seen and how often the predicate said something else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError
from goldassay.measures.triples import objects
from goldassay.wikibase.alignment import PropertyAlignmentTable


def analysed(
    result: Mapping[str, Any], threshold: float = 0.5, table: PropertyAlignmentTable | None = None, file: object = None
) -> dict[str, Any]:
    """The report, in the founding kit's fields; gaps that cost the most statements first.

    >>> rows = {"P19": {"recall": 0.2, "count": 5, "label": "place of birth"}, "P20": {"precision": 0.9, "count": 3}}
    >>> report = analysed({"run_metadata": {}, "by_property": rows})
    >>> [gap["property_id"] for gap in report["gaps"]], report["unknown_recall"]
    (['P19'], ['P20'])
    """
    rows = result.get("by_property")
    if not isinstance(rows, Mapping) or not rows:
        raise DataError("it has no by_property, so there is no property to look at; evaluate again", file=file)
    known = table or PropertyAlignmentTable.ours()
    gaps, covered, unknown = [], [], []
    for name, row in rows.items():
        recall, count = _number(row, "recall"), _number(row, "count")
        if recall is None or count is None:
            unknown.append(name)
        elif count and recall < threshold:
            gaps.append(_gap(name, row, recall, count, known))
        elif count:
            covered.append(name)
    gaps.sort(key=lambda gap: (gap["matched_count"] - gap["total_count"], gap["property_id"]))
    metadata = result["run_metadata"]
    return {
        "threshold": threshold,
        "dataset_name": metadata.get("dataset") or metadata.get("article") or "",
        "total_extraction_examples": sum(len(gap["extraction_examples"]) for gap in gaps),
        "covered_properties": sorted(covered),
        "unknown_recall": sorted(unknown),
        "gaps": gaps,
    }


def _gap(
    name: str, row: Mapping[str, Any], recall: float, count: float, table: PropertyAlignmentTable
) -> dict[str, Any]:
    label = str(row.get("label") or table.label(name))
    predicates = table.predicates(name)
    examples = [
        {
            "property_id": name,
            "property_label": label,
            "example_text": one["context"],
            "expected_triple": [one["article"], predicates[0] if predicates else name, one["surface"]],
            "domain": one["domain"],
            "difficulty": "easy" if one["article"].casefold() in one["context"].casefold() else "medium",
        }
        for one in row.get("missed_examples") or ()
    ]
    supported = row.get("recall_supported")
    notes = "the text of its articles never says it" if row.get("supported_count") == 0 else ""
    return {
        "property_id": name,
        "property_label": label,
        "total_count": int(count),
        "matched_count": round(recall * count),
        "recall": recall,
        "recall_supported": supported,
        "aligned_predicates": predicates,
        "notes": notes or ("" if examples else "no sentence in which it was missed is known"),
        "extraction_examples": examples,
    }


def _number(row: Any, name: str) -> float | None:
    value = row.get(name) if isinstance(row, Mapping) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def place(results: Path, output: Path | None) -> Path:
    """Where the report goes: beside the results unless a place is named."""
    return output or results.with_name(f"{results.stem}-recall-gaps.json")


EXAMPLES = 3


class Gaps:
    """Collects proposals from rows, one article at a time."""

    def __init__(self, table: PropertyAlignmentTable) -> None:
        self.table = table
        self.said: Counter[str] = Counter()
        self.equal: Counter[tuple[str, str]] = Counter()
        self.examples: dict[tuple[str, str], list[list[str]]] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        """The unaligned triples of one article beside its missed statements."""
        score, item = row["score"], row["wikidata_qid"]
        for one in score["triples"]:
            if one["kind"] != "no_match" or one["subject"]["id"] not in (item, None):
                continue
            predicate = one["triple"][1]
            self.said[predicate] += 1
            for name in sorted({other["property"] for other in score["missed"] if _equal(one, other)}):
                self.equal[predicate, name] += 1
                kept = self.examples.setdefault((predicate, name), [])
                if len(kept) < EXAMPLES:
                    kept.append(one["triple"])

    def found(self, least: int = 1) -> list[dict[str, Any]]:
        """Proposals, the best supported first."""
        return [
            {
                "predicate": predicate,
                "property": name,
                "label": self.table.label(name),
                "in_table": name in self.table.by_id,
                "support": count,
                "said": self.said[predicate],
                "examples": self.examples[predicate, name],
            }
            for (predicate, name), count in sorted(
                self.equal.items(), key=lambda pair: (-pair[1], -pair[1] / self.said[pair[0][0]], pair[0])
            )
            if count >= least
        ]


def gaps(rows: Iterable[Mapping[str, object]], table: PropertyAlignmentTable, least: int = 1) -> list[dict[str, Any]]:
    """The proposals of all rows."""
    collected = Gaps(table)
    for row in rows:
        if "score" in row:
            collected.add(row)
    return collected.found(least)


def _equal(said: Mapping[str, Any], missed: Mapping[str, Any]) -> bool:
    """Whether a triple's object is a missed statement's value."""
    if said["object"]["id"] and missed.get("value_id"):
        return bool(said["object"]["id"] == missed["value_id"])
    gold = {"object": missed["value"], "object_type": missed["type"], "object_id": missed.get("value_id")}
    kind = objects.kind(gold)
    return objects.same(objects.read(gold, kind), objects.read({"object": said["triple"][2]}, kind))
