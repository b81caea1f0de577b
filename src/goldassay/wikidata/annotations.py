"""Human verdicts on novel triples.

They are drawn from an evaluation, annotated in riverbank's format (``{id, domain, article, triple, verdict,
evidence, annotator}`` under ``annotations``), and reported with an interval. An entry without a verdict is still open.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from goldassay.exceptions import GoldassayError
from goldassay.gold.formats import kits
from goldassay.measures.triples import VERDICTS, novel_discovery_rate
from goldassay.wikidata.alignment import validated
from goldassay.wikidata.scoring import NO_MATCH, NOVEL, VerdictKey, verdict_key

KEYS = {"c": "correct", "i": "incorrect", "u": "uncertain", "w": "in_wikidata"}
Entry = dict[str, Any]


def sample_novel(rows: Iterable[Mapping[str, Any]], share: float = 0.1, seed: int = 0) -> list[Entry]:
    """A random share of the unmatched triples of each domain, at least one of each, as entries without a verdict."""
    if not 0 < share <= 1:
        raise GoldassayError(f"the share of a sample must be in (0, 1], got {share}")
    domains: dict[str, list[Entry]] = {}
    for row in rows:
        for triple in row["triples"]:
            if triple["kind"] in (NOVEL, NO_MATCH) and not triple["verdict"]:
                entry = {"domain": row["domain"], "article": row["article_title"]}
                entry |= {name: triple[name] for name in ("triple", "confidence")}
                domains.setdefault(row["domain"], []).append(entry)
    rng = random.Random(seed)
    sample = [
        entries[index]
        for _, entries in sorted(domains.items())
        for index in sorted(rng.sample(range(len(entries)), max(1, round(share * len(entries)))))
    ]
    return [{"id": number, **entry} for number, entry in enumerate(sample, start=1)]


class _Annotation(BaseModel):
    triple: tuple[str, str, str]
    verdict: Literal["correct", "incorrect", "uncertain", "in_wikidata"] | None = None


def load(path: str | Path) -> list[Entry]:
    """The entries of an annotations file, judged or not."""
    _, _, entries = kits.load(path, "annotations")
    for number, entry in enumerate(entries):
        validated(_Annotation, entry, path, f"annotations[{number}]")
    return entries


def judged(entries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The entries that have a verdict."""
    return [entry for entry in entries if entry.get("verdict")]


def save(path: str | Path, entries: Sequence[Mapping[str, Any]]) -> None:
    """Writes entries with their counts; other metadata of the file is preserved."""
    head = kits.load(path, "annotations")[1] if Path(path).exists() else {}
    rate = _rate(judged(entries))
    metadata = {**head.get("metadata", {}), "total_annotations": len(entries)}
    metadata |= {name: int(rate[name] or 0) for name in VERDICTS}
    if rate["novel_discovery_rate"] is not None:
        metadata["validated_ndr"] = round(rate["novel_discovery_rate"], 3)
    kits.save(path, {**head, "metadata": metadata, "annotations": entries})


def verdicts(path: str | Path) -> dict[VerdictKey, str]:
    """The verdicts of a file by article and triple, as `Scoring` takes them."""
    return {
        verdict_key(str(entry.get("article") or ""), *entry["triple"]): str(entry["verdict"])
        for entry in judged(load(path))
    }


def novel_report(path: str | Path) -> dict[str, Any]:
    """The novel discovery rate with its interval, overall and by domain, and counts that the file declares wrongly."""
    entries = load(path)
    domains: dict[str, list[Mapping[str, Any]]] = {}
    for entry in judged(entries):
        domains.setdefault(str(entry.get("domain") or "unknown"), []).append(entry)
    overall = _rate(judged(entries))
    declared = kits.load(path, "annotations")[1].get("metadata") or {}
    return {
        "annotations": len(entries),
        "judged": len(judged(entries)),
        **overall,
        "by_domain": {name: _rate(some) for name, some in sorted(domains.items())},
        "notes": [
            f"{name}: {declared[name]} declared, {int(overall[name] or 0)} counted"
            for name in VERDICTS
            if declared.get(name, overall[name]) != overall[name]
        ],
    }


def _rate(entries: Iterable[Mapping[str, Any]]) -> dict[str, float | None]:
    return novel_discovery_rate(entry["verdict"] for entry in entries)
