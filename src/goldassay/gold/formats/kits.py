"""``kit``: the YAML files of an evaluation kit against Wikidata, which share a shape: a head, and a list of entries.

``articles`` are gold for linking, ``{title, qid, domain}``: a title is a document with one mention, the title itself.
Records are numbered, since a benchmark may name an item twice (which the audit reports).

``annotations`` are gold for triples, statements that were judged by hand: ``{id, domain, article, triple: [subject,
predicate, object], verdict, evidence, annotator}``; the verdict is correct, incorrect, uncertain or in_wikidata. The
share of correct ones among correct and incorrect is the rate of novel discovery.

``alignments`` are no gold, but the table that `goldassay.wikidata.alignment` reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from goldassay import files
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.records import Side, check
from goldassay.measures.triples.tally import VERDICTS

TASKS = ("linking", "triples")
LISTS = {"benchmark": "articles", "annotations": "annotations", "alignment": "alignments"}
HOLDS = {"benchmark": "linking", "annotations": "triples"}
OWN = ("article", "evidence", "annotator")


@dataclass(frozen=True, slots=True)
class Kit:
    """A file of a kit: its kind, what stands before its list, and the list."""

    kind: str
    head: Mapping[str, Any]
    entries: list[dict[str, Any]]


def load(path: str | Path, kind: str | None = None) -> Kit:
    """A kit file; ``kind`` is what it must be."""
    found = files.yaml_value(path)
    keys = found if isinstance(found, dict) else {}
    name = next((name for name, key in LISTS.items() if isinstance(keys.get(key), list)), None)
    if name is None or kind not in (None, name):
        wanted = ", ".join(LISTS.values()) if kind is None else LISTS[kind]
        raise DataError(f"not a file of this kind: it has no list under {wanted}", file=path)
    entries = keys[LISTS[name]]
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise DataError("an entry is a mapping", file=path, field=f"{LISTS[name]}[{number}]")
    return Kit(name, {key: value for key, value in keys.items() if key != LISTS[name]}, entries)


def save(path: str | Path, content: Mapping[str, object]) -> None:
    """Write a kit file."""
    files.save(path, yaml.safe_dump(dict(content), allow_unicode=True, sort_keys=False, width=1000))


def text(entry: Mapping[str, object], key: str, path: str | Path, where: str) -> str:
    """A field that must be text."""
    if not isinstance(entry.get(key), str) or not entry[key]:
        raise DataError(f"this field must be text, found {entry.get(key)!r}", file=path, field=f"{where}.{key}")
    return str(entry[key])


def read(path: str | Path, task: str, side: Side = "gold") -> list[dict[str, object]]:
    """A record an article, or a statement."""
    _only(task, side)
    kind, record = ("benchmark", _article) if task == "linking" else ("annotations", _statement)
    records = []
    for number, entry in enumerate(load(path, kind).entries):
        made = record(entry, number, path, f"{LISTS[kind]}[{number}]")
        try:
            records.append(check(made, task))
        except DataError as error:
            raise error.at(file=path) from None
    return records


def write(path: str | Path, records: Iterable[Mapping[str, object]], task: str, side: Side = "gold") -> None:
    """Write articles, each record one title with one Wikidata item, or statements, with their true counts as head."""
    _only(task, side)
    if task == "linking":
        articles = [_entry_of_article(record) for record in records]
        domains = Counter(str(article["domain"]) for article in articles if "domain" in article)
        save(path, {"version": 1, "stratified_sampling": dict(domains), "articles": articles})
        return
    entries = [_entry_of_statement(record) for record in records]
    counts = Counter(str(entry["verdict"]) for entry in entries)
    head = {"total_annotations": len(entries), **{name: counts[name] for name in VERDICTS}}
    save(path, {"metadata": head, "annotations": entries})


def _article(entry: Mapping[str, object], number: int, path: str | Path, where: str) -> dict[str, object]:
    title, qid = (text(entry, key, path, where) for key in ("title", "qid"))
    link = {"start": 0, "end": len(title), "text": title, "ids": {"wikidata": [qid]}}
    strata = {"domain": entry["domain"]} if "domain" in entry else {}
    return {"id": str(number + 1), "text": title, "links": [link], "strata": strata}


def _statement(entry: Mapping[str, object], number: int, path: str | Path, where: str) -> dict[str, object]:
    triple = entry.get("triple")
    if not isinstance(triple, list) or len(triple) != 3:
        raise DataError("a triple is a list of three", file=path, field=f"{where}.triple")
    statement = dict(zip(("subject", "predicate", "object"), triple, strict=True))
    record: dict[str, object] = {
        "id": entry.get("id", number + 1),
        "triples": [{**statement, "verdict": text(entry, "verdict", path, where)}],
        "meta": {key: entry[key] for key in OWN if key in entry},
    }
    if "domain" in entry:
        record |= {"domain": entry["domain"], "strata": {"domain": entry["domain"]}}
    return record


def _entry_of_article(record: Mapping[str, Any]) -> dict[str, object]:
    found = [link["ids"].get("wikidata", []) for link in record["links"]]
    if len(found) != 1 or len(found[0]) != 1:
        raise DataError("an article has one link with one Wikidata id; write jsonl", record=record["id"])
    return {"title": record["text"], "qid": found[0][0], **(record.get("strata") or {})}


def _entry_of_statement(record: Mapping[str, Any]) -> dict[str, object]:
    if len(record["triples"]) != 1:
        said = len(record["triples"])
        raise DataError(f"an annotation is one statement, and this record has {said}; write jsonl", record=record["id"])
    (triple,) = record["triples"]
    key, own = record["id"], record.get("meta") or {}
    return (
        {"id": int(key) if key.isdecimal() else key}
        | ({"domain": record["domain"]} if record.get("domain") else {})
        | ({"article": own["article"]} if "article" in own else {})
        | {"triple": [triple["subject"], triple["predicate"], triple["object"]]}
        | {"verdict": triple.get("verdict") or "uncertain"}
        | {name: own[name] for name in ("evidence", "annotator") if name in own}
    )


def _only(task: str, side: str) -> None:
    if task not in TASKS or side != "gold":
        raise GoldassayError("format kit holds gold for linking (articles) and for triples (annotations)")
