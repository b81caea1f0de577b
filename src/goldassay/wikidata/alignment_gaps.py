"""Gaps of the alignment table: predicates it does not know whose triples equal statements that nothing covers.

``ex:firstName`` said of nine people, each time with the value of P735, most likely means P735. Each gap is a proposal
for a person, with how often it was seen and how often the predicate said something else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from goldassay.kb.alignment import PropertyAlignmentTable
from goldassay.measures.triples import objects

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


def gaps(rows: Iterable[Mapping[str, Any]], table: PropertyAlignmentTable, least: int = 1) -> list[dict[str, Any]]:
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
