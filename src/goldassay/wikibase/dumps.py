"""Wikidata's JSON dumps, read as a stream: an entity a line, with or without the array around them, packed or not.

Source: https://www.mediawiki.org/wiki/Wikibase/DataModel/JSON
"""

from __future__ import annotations

import bz2
import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

from goldassay import jsonl
from goldassay.exceptions import DataError
from goldassay.wikibase.entities import Item, Statement

FIRST = re.compile(rb'\{\s*(?:"type"\s*:\s*"\w+"\s*,\s*)?"id"\s*:\s*"([A-Z]\d+)"')
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open}
UNREADABLE = (OSError, EOFError, zlib.error)  # what a file that is damaged, cut short or not packed raises


def items(file: Path, wanted: Iterable[str] | None = None) -> Iterator[Item]:
    """The entities of a dump, of all or of those ids; one at a time, so memory stays flat."""
    keep = None if wanted is None else set(wanted)
    try:
        with OPENERS.get(file.suffix, open)(file, "rb") as raw:
            for number, entity in _entities(raw, file, keep):
                try:
                    yield item(entity)
                except (KeyError, TypeError, AttributeError, ValueError) as error:
                    raise DataError(
                        f"not an entity of Wikidata: {type(error).__name__} {error}",
                        file=file,
                        line=number,
                        record=entity.get("id"),
                    ) from None
    except UNREADABLE as error:
        raise DataError(f"cannot be read: {error}", file=file) from None


def _entities(raw: IO[bytes], file: Path, keep: set[str] | None) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(raw, start=1):
        text = line.strip().rstrip(b",")
        if text in (b"", b"[", b"]"):
            continue
        # Most lines of a dump are not wanted: where the id stands first, as in Wikidata's own, the rest is not parsed.
        if keep is not None and (first := FIRST.match(text)) and first[1].decode() not in keep:
            continue
        found = jsonl.value(text, file=file, line=number, unique=False)
        several = found.get("entities") if isinstance(found, dict) else found
        for one in several.values() if isinstance(several, dict) else several or [found]:
            if isinstance(one, dict) and (keep is None or one.get("id") in keep):
                yield number, one


def item(entity: dict[str, Any]) -> Item:
    """An entity of a dump (or of ``Special:EntityData``) as an item."""
    statements = tuple(
        Statement(
            property_,
            value(claim["mainsnak"]),
            str(claim["mainsnak"].get("datatype") or "string"),
            str(claim.get("rank", "normal")),
            tuple((name, value(snak)) for name, snaks in (claim.get("qualifiers") or {}).items() for snak in snaks),
            len(claim.get("references") or ()),
        )
        for property_, claims in (entity.get("claims") or {}).items()
        for claim in claims
        if claim["mainsnak"].get("snaktype") != "novalue"
    )
    return Item(
        str(entity["id"]),
        {code: one["value"] for code, one in (entity.get("labels") or {}).items()},
        {code: [one["value"] for one in several] for code, several in (entity.get("aliases") or {}).items()},
        {site: one["title"] for site, one in (entity.get("sitelinks") or {}).items()},
        statements,
    )


def value(snak: dict[str, Any]) -> Any:
    """A snak's value as `kb.wikibase` has it; None where it is unknown."""
    if snak.get("snaktype", "value") != "value":
        return None
    found = snak["datavalue"]["value"]
    if not isinstance(found, dict):
        return str(found)
    if "entity-type" in found:
        return found.get("id") or f"{'P' if found['entity-type'] == 'property' else 'Q'}{found['numeric-id']}"
    for name in ("unit", "globe"):
        if name in found:
            found = {**found, name: "" if found[name] == "1" else str(found[name]).rsplit("/", 1)[-1]}
    return {key: one for key, one in found.items() if one is not None}
