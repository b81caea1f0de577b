"""Human verdicts on novel triples.

They are drawn from an evaluation, annotated in riverbank's format (``{id, domain, article, triple, verdict,
evidence, annotator}`` under ``annotations``), and reported with an interval. An entry without a verdict is still open.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import typer
from pydantic import BaseModel

from goldassay._support import files
from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import Fields, Record
from goldassay.ext.wikidata.results import NO_MATCH, NOVEL, VerdictKey, verdict_key
from goldassay.gold.formats import kits
from goldassay.measures.triples import VERDICTS, novel_discovery_rate
from goldassay.reporting import terminal

VERDICT_KEYS = {"c": "correct", "i": "incorrect", "u": "uncertain", "w": "in_wikidata"}
KEYS_HELP = "c correct   i incorrect   u uncertain   w is in Wikidata   s skip   q stop"
Entry = dict[str, Any]


def sample_novel(rows: Iterable[Record], share: float = 0.1, seed: int = 0) -> list[Entry]:
    """A random share of the unmatched triples of each domain, at least one of each, as entries without a verdict.

    Raises:
        GoldassayError: The share is not in (0, 1].
    """
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
    sample = list[Entry]()
    for _, entries in sorted(domains.items()):
        chosen = rng.sample(range(len(entries)), max(1, round(share * len(entries))))
        sample += [entries[index] for index in sorted(chosen)]
    return [{"id": number, **entry} for number, entry in enumerate(sample, start=1)]


class _Annotation(BaseModel):
    triple: tuple[str, str, str]
    verdict: Literal["correct", "incorrect", "uncertain", "in_wikidata"] | None = None


def load(path: str | Path) -> list[Entry]:
    """The entries of an annotations file, judged or not."""
    _, _, entries = kits.load(path, "annotations")
    for index, entry in enumerate(entries):
        files.validated(_Annotation, entry, path, f"annotations[{index}]")
    return entries


def judged(entries: Iterable[Mapping[str, object]]) -> list[Record]:
    """The entries that have a verdict."""
    return [entry for entry in entries if entry.get("verdict")]


def save(path: str | Path, entries: Sequence[Mapping[str, object]]) -> None:
    """Writes entries with their counts; other metadata of the file is preserved."""
    head = kits.load(path, "annotations")[1] if Path(path).exists() else {}
    rate = _rate(entries)
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


def novel_report(path: str | Path) -> Fields:
    """The novel discovery rate with its interval, overall and by domain."""
    entries = load(path)
    domains: dict[str, list[Record]] = {}
    for entry in judged(entries):
        domains.setdefault(str(entry.get("domain") or "unknown"), []).append(entry)
    return {
        "annotations": len(entries),
        "judged": len(judged(entries)),
        **_rate(entries),
        "by_domain": {name: _rate(group) for name, group in sorted(domains.items())},
    }


def _rate(entries: Iterable[Record]) -> dict[str, float | None]:
    return novel_discovery_rate(entry["verdict"] for entry in judged(entries))


def annotate(path: Path, annotator: str) -> None:
    """Asks for a verdict on each open triple, one key each, and saves every answer."""
    entries = load(path)
    still_open = [entry for entry in entries if not entry.get("verdict")]
    terminal.echo(f"{len(entries) - len(still_open)} of {len(entries)} judged.  {KEYS_HELP}")
    for index, entry in enumerate(still_open, start=1):
        triple = "  ".join(entry["triple"])
        terminal.line(f"\n{index}/{len(still_open)}  {entry.get('article', '')}\n{triple}")
        while (key := _read_key()) not in (*VERDICT_KEYS, "s", "q"):
            terminal.echo(f"  {KEYS_HELP}")
        if key == "q":
            break
        if key in VERDICT_KEYS:
            entry |= {"verdict": VERDICT_KEYS[key], "annotator": annotator}
            save(path, entries)
            terminal.line(f"  {VERDICT_KEYS[key]}")
    count = len(judged(entries))
    terminal.echo(f"{count} of {len(entries)} judged, {len(entries) - count} to go: {path}")


def _read_key() -> str:
    """One key of a terminal, or one character of a pipe; the end of the input and Ctrl-C stop."""
    key = " "
    try:
        while key and key.isspace():
            key = typer.getchar() if sys.stdin.isatty() else sys.stdin.read(1)
    except (EOFError, KeyboardInterrupt):
        return "q"
    return key.casefold()[:1] or "q"
