"""``benchmark``: a YAML list of articles with their Wikidata items: ``{title, qid, domain}``.

For linking, a title is a document with one mention, the title itself. Records are numbered, since a benchmark may name
an item twice (which the audit reports).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.formats import kits
from goldassay.gold.records import Side, check

TASKS = ("linking",)


def read(path: str | Path, task: str, side: Side = "gold") -> list[dict[str, Any]]:
    """A record an article."""
    _only(task, side)
    records = []
    for number, entry in enumerate(kits.load(path, "benchmark").entries):
        where = f"articles[{number}]"
        title, qid = (kits.text(entry, key, path, where) for key in ("title", "qid"))
        link = {"start": 0, "end": len(title), "text": title, "ids": {"wikidata": [qid]}}
        strata = {"domain": entry["domain"]} if "domain" in entry else {}
        try:
            records.append(check({"id": str(number + 1), "text": title, "links": [link], "strata": strata}, task))
        except DataError as error:
            raise error.at(file=path) from None
    return records


def write(path: str | Path, records: Iterable[Mapping[str, Any]], task: str, side: Side = "gold") -> None:
    """Write articles; each record is one title with one Wikidata item."""
    _only(task, side)
    articles = []
    for record in records:
        found = [link["ids"].get("wikidata", []) for link in record["links"]]
        if len(found) != 1 or len(found[0]) != 1:
            raise DataError("an article has one link with one Wikidata id; write jsonl", record=record["id"])
        articles.append({"title": record["text"], "qid": found[0][0], **(record.get("strata") or {})})
    domains = Counter(str(article["domain"]) for article in articles if "domain" in article)
    kits.save(path, {"version": 1, "stratified_sampling": dict(domains), "articles": articles})


def _only(task: str, side: str) -> None:
    if task not in TASKS or side != "gold":
        raise GoldassayError("format benchmark holds gold for linking")
