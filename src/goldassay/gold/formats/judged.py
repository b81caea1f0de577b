"""``annotations``: a YAML list of statements that were judged by hand.

``{id, domain, article, triple: [subject, predicate, object], verdict, evidence, annotator}``; the verdict is correct,
incorrect, uncertain or in_wikidata. The share of correct ones among correct and incorrect is the rate of novel
discovery.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.formats import kits
from goldassay.gold.records import Side, check
from goldassay.measures.triples.tally import VERDICTS

TASKS = ("triples",)
OWN = ("article", "evidence", "annotator")


def read(path: str | Path, task: str, side: Side = "gold") -> list[dict[str, Any]]:
    """A record a statement."""
    _only(task, side)
    records = []
    for number, entry in enumerate(kits.load(path, "annotations").entries):
        where = f"annotations[{number}]"
        triple = entry.get("triple")
        if not isinstance(triple, list) or len(triple) != 3:
            raise DataError("a triple is a list of three", file=path, field=f"{where}.triple")
        statement = dict(zip(("subject", "predicate", "object"), triple, strict=True))
        record = {
            "id": entry.get("id", number + 1),
            "triples": [{**statement, "verdict": kits.text(entry, "verdict", path, where)}],
            "meta": {key: entry[key] for key in OWN if key in entry},
        }
        if "domain" in entry:
            record |= {"domain": entry["domain"], "strata": {"domain": entry["domain"]}}
        try:
            records.append(check(record, task))
        except DataError as error:
            raise error.at(file=path) from None
    return records


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write statements, and in the head their true counts."""
    _only(task, side)
    entries = []
    for record in records:
        if len(record["triples"]) != 1:
            said = len(record["triples"])
            raise DataError(
                f"an annotation is one statement, and this record has {said}; write jsonl", record=record["id"]
            )
        for triple in record["triples"]:
            key = record["id"]
            own = record.get("meta") or {}
            entries.append(
                {"id": int(key) if key.isdecimal() else key}
                | ({"domain": record["domain"]} if record.get("domain") else {})
                | ({"article": own["article"]} if "article" in own else {})
                | {"triple": [triple["subject"], triple["predicate"], triple["object"]]}
                | {"verdict": triple.get("verdict") or "uncertain"}
                | {name: own[name] for name in ("evidence", "annotator") if name in own}
            )
    counts = Counter(str(entry["verdict"]) for entry in entries)
    head = {"total_annotations": len(entries), **{name: counts[name] for name in VERDICTS}}
    kits.save(path, {"metadata": head, "annotations": entries})


def _only(task: str, side: str) -> None:
    if task not in TASKS or side != "gold":
        raise GoldassayError("format annotations holds gold for triples")
