"""Novel triples for people to judge: drawn from a run, kept in the annotations' format, reported with an interval.

The file is the founding kit's: ``{id, domain, article, triple, verdict, evidence, annotator}`` under ``annotations``.
An entry without a verdict waits for one, so that a file half judged is simply gone on with.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from goldassay.articles.scoring import NOVEL, verdict_key
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.formats import kits
from goldassay.measures.triples.matching import NO_MATCH
from goldassay.measures.triples.tally import VERDICTS, novel_discovery_rate

KEYS = {"c": "correct", "i": "incorrect", "u": "uncertain", "w": "in_wikidata"}


def drawn(rows: Iterable[Mapping[str, Any]], share: float = 0.1, seed: int = 0) -> list[dict[str, Any]]:
    """A random share of the unmatched triples of each domain, at least one of each, as entries without a verdict."""
    if not 0 < share <= 1:
        raise GoldassayError(f"the share of a sample lies in (0, 1], not at {share}")
    domains: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        for one in row["score"]["triples"] if "score" in row else ():
            if one["kind"] in (NOVEL, NO_MATCH) and not one.get("verdict"):
                entry = {"domain": row["domain"], "article": row["article_title"], "triple": one["triple"]}
                domains.setdefault(row["domain"], []).append({**entry, "confidence": one["confidence"]})
    rng = random.Random(seed)
    out: list[dict[str, Any]] = []
    for _, found in sorted(domains.items()):
        take = max(1, round(share * len(found)))
        out += [found[index] for index in sorted(rng.sample(range(len(found)), take))]
    return [{"id": number, **entry} for number, entry in enumerate(out, start=1)]


def load(path: str | Path) -> list[dict[str, Any]]:
    """The entries of an annotations file, judged or not."""
    entries = kits.load(path, "annotations").entries
    for number, entry in enumerate(entries):
        where = f"annotations[{number}]"
        triple = entry.get("triple")
        if not isinstance(triple, list) or len(triple) != 3 or not all(isinstance(one, str) for one in triple):
            raise DataError("a triple is a list of three texts", file=path, field=f"{where}.triple")
        if entry.get("verdict") not in (None, *VERDICTS):
            known = ", ".join(VERDICTS)
            raise DataError(
                f"a verdict is one of {known}, not {entry['verdict']!r}", file=path, field=f"{where}.verdict"
            )
    return entries


def save(path: str | Path, entries: list[dict[str, Any]]) -> None:
    """Write the entries, with true counts before them; what else the file's head says is kept."""
    counts = Counter(str(entry["verdict"]) for entry in entries if entry.get("verdict"))
    head = dict(kits.load(path, "annotations").head) if Path(path).exists() else {}
    metadata = dict(head.get("metadata") or {})
    metadata |= {"total_annotations": len(entries), **{name: counts[name] for name in VERDICTS}}
    rate = novel_discovery_rate(counts.elements())["novel_discovery_rate"]
    if rate is not None:
        metadata["validated_ndr"] = round(rate, 3)
    kits.save(path, {**head, "metadata": metadata, "annotations": entries})


def verdicts(path: str | Path) -> dict[tuple[str, str, str, str], str]:
    """The verdicts of a file by what they are verdicts on, as the scoring takes them."""
    return {
        verdict_key(str(entry.get("article") or ""), *entry["triple"]): str(entry["verdict"])
        for entry in load(path)
        if entry.get("verdict")
    }


def reported(path: str | Path) -> dict[str, Any]:
    """The rate with its interval, over all and by domain; what is still to judge; what the file says wrongly."""
    entries = load(path)
    judged = [entry for entry in entries if entry.get("verdict")]
    domains = sorted({str(entry.get("domain") or "unknown") for entry in judged})
    whole = novel_discovery_rate(entry["verdict"] for entry in judged)
    declared = kits.load(path, "annotations").head.get("metadata")
    notes = [
        f"{name}: {declared[name]} declared, {int(whole[name] or 0)} counted"
        for name in VERDICTS
        if isinstance(declared, Mapping) and name in declared and declared[name] != whole[name]
    ]
    return {
        "annotations": len(entries),
        "judged": len(judged),
        **whole,
        "by_domain": {
            name: novel_discovery_rate(
                entry["verdict"] for entry in judged if str(entry.get("domain") or "unknown") == name
            )
            for name in domains
        },
        "notes": notes,
    }
