"""``kit``: the YAML files of an evaluation kit against Wikidata: a head, and a list of entries.

``articles`` are gold for linking, ``{title, qid, domain}``: a title is a document with one mention, the title itself.
Records are numbered, since a benchmark may name an item twice (which the audit reports).

``annotations`` are gold for triples, statements that were judged by hand: ``{id, domain, article, triple: [subject,
predicate, object], verdict, evidence, annotator}``; the verdict is correct, incorrect, uncertain or in_wikidata.

``alignments`` are not gold, but the table that `goldassay.ext.wikidata` aligns properties with.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from goldassay._support import files
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import Fields
from goldassay.gold.formats import Format, Source, SourceRecord

KIT_LISTS = {"benchmark": "articles", "annotations": "annotations", "alignment": "alignments"}
KIND_OF_TASK = {"linking": "benchmark", "triples": "annotations"}
TASK_OF_KIND = {kind: task for task, kind in KIND_OF_TASK.items()}


def load(path: str | Path, kind: str | None = None) -> tuple[str, Fields, list[Fields]]:
    """The kind of a kit file, what precedes its list, and the list; ``kind`` is the kind that it must have.

    Raises:
        DataError: The file has no such list, or an entry of it is not a mapping.
    """
    content = files.yaml_value(path)
    keys = content if isinstance(content, dict) else {}
    name = next((name for name, key in KIT_LISTS.items() if isinstance(keys.get(key), list)), None)
    if name is None or kind not in (None, name):
        expected = ", ".join(KIT_LISTS.values()) if kind is None else KIT_LISTS[kind]
        raise DataError(f"not a file of this kind: it has no list under {expected}", file=path)
    entries = keys[KIT_LISTS[name]]
    for number, entry in enumerate(entries):
        if not isinstance(entry, dict):
            raise DataError("an entry is a mapping", file=path, field=f"{KIT_LISTS[name]}[{number}]")
    return name, {key: value for key, value in keys.items() if key != KIT_LISTS[name]}, entries


def save(path: str | Path, content: Mapping[str, object]) -> None:
    """Write a kit file."""
    files.save(path, yaml.safe_dump(dict(content), allow_unicode=True, sort_keys=False, width=1000))


def _entries(source: Source) -> Iterator[SourceRecord]:
    """A record an article, or a statement."""
    if source.side != "gold":
        raise GoldassayError("format kit holds gold, not predictions")
    kind, _, entries = load(source.path, KIND_OF_TASK[source.task])
    for number, entry in enumerate(entries):
        with source.checking(field=f"{KIT_LISTS[kind]}[{number}]"):
            strata = {"domain": entry["domain"]} if "domain" in entry else {}
            if source.task == "linking":
                title = entry["title"]
                link = {"start": 0, "end": len(title), "text": title, "ids": {"wikidata": [entry["qid"]]}}
                yield SourceRecord({"id": str(number + 1), "text": title, "links": [link], "strata": strata})
                continue
            subject, predicate, value = entry["triple"]
            statement = {"subject": subject, "predicate": predicate, "object": value, "verdict": entry["verdict"]}
            meta = {key: entry[key] for key in ("article", "evidence", "annotator") if key in entry}
            about = {"id": entry.get("id", number + 1), "document": entry.get("article"), **strata, "strata": strata}
            yield SourceRecord({**about, "triples": [statement], "meta": meta})


KIT_FORMAT = Format(("linking", "triples"), _entries, task_of=lambda file: TASK_OF_KIND.get(load(file)[0]))
