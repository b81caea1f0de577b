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
from goldassay.measures.triples.matching import NO_MATCH
from goldassay.wikidata.alignment import validated
from goldassay.wikidata.scoring import NOVEL, VerdictKey, verdict_key

KEYS = {"c": "correct", "i": "incorrect", "u": "uncertain", "w": "in_wikidata"}


def sample_novel(rows: Iterable[Mapping[str, Any]], share: float = 0.1, seed: int = 0) -> list[dict[str, Any]]:
    """A random share of the unmatched triples of each domain, at least one of each, as entries without a verdict."""
    if not 0 < share <= 1:
        raise GoldassayError(f"the share of a sample must be in (0, 1], got {share}")
    domains: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        for triple in row["triples"]:
            if triple["kind"] in (NOVEL, NO_MATCH) and not triple["verdict"]:
                entry = {"article": row["article_title"], "triple": triple["triple"]}
                domains.setdefault(row["domain"], []).append({**entry, "confidence": triple["confidence"]})
    rng = random.Random(seed)
    sample = [
        {"domain": domain, **entries[index]}
        for domain, entries in sorted(domains.items())
        for index in sorted(rng.sample(range(len(entries)), max(1, round(share * len(entries)))))
    ]
    return [{"id": number, **entry} for number, entry in enumerate(sample, start=1)]


class _Annotation(BaseModel):
    triple: tuple[str, str, str]
    verdict: Literal["correct", "incorrect", "uncertain", "in_wikidata"] | None = None


def load(path: str | Path) -> list[dict[str, Any]]:
    """The entries of an annotations file, judged or not."""
    _, _, entries = kits.load(path, "annotations")
    for number, entry in enumerate(entries):
        validated(_Annotation, entry, path, f"annotations[{number}]")
    return entries


def save(path: str | Path, entries: Sequence[Mapping[str, object]]) -> None:
    """Writes entries with their counts; other metadata of the file is preserved."""
    head = dict(kits.load(path, "annotations")[1]) if Path(path).exists() else {}
    rate = novel_discovery_rate(_verdicts(entries))
    metadata = {**(head.get("metadata") or {}), "total_annotations": len(entries)}
    metadata |= {name: int(rate[name] or 0) for name in VERDICTS}
    if rate["novel_discovery_rate"] is not None:
        metadata["validated_ndr"] = round(rate["novel_discovery_rate"], 3)
    kits.save(path, {**head, "metadata": metadata, "annotations": entries})


def _verdicts(entries: Iterable[Mapping[str, object]]) -> list[str]:
    return [str(entry["verdict"]) for entry in entries if entry.get("verdict")]


def verdicts(path: str | Path) -> dict[VerdictKey, str]:
    """The verdicts of a file by article and triple, as `Scoring` takes them."""
    return {
        verdict_key(str(entry.get("article") or ""), *entry["triple"]): str(entry["verdict"])
        for entry in load(path)
        if entry.get("verdict")
    }


def novel_report(path: str | Path) -> dict[str, Any]:
    """The novel discovery rate with its interval, overall and by domain, and counts that the file declares wrongly."""
    entries = load(path)
    domains: dict[str, list[dict[str, Any]]] = {}
    for entry in entries:
        if entry.get("verdict"):
            domains.setdefault(str(entry.get("domain") or "unknown"), []).append(entry)
    overall = novel_discovery_rate(_verdicts(entries))
    declared = kits.load(path, "annotations")[1].get("metadata") or {}
    return {
        "annotations": len(entries),
        "judged": len(_verdicts(entries)),
        **overall,
        "by_domain": {name: novel_discovery_rate(_verdicts(some)) for name, some in sorted(domains.items())},
        "notes": [
            f"{name}: {declared[name]} declared, {int(overall[name] or 0)} counted"
            for name in VERDICTS
            if name in declared and declared[name] != overall[name]
        ],
    }
