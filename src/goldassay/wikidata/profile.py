"""A profile: which program is evaluated, with which model, under which conventions; and the clients it asks.

A program as for ``goldassay eval`` (``triples:Articles``, ``programs/mine.py:program``), or a YAML file::

    program: triples:Articles
    lm: openai/gpt-4o-mini
    state: tuned/          # a tuned program's state
    language: en
    alignment: property-alignment.yaml
    threshold: 0.9         # least similarity of texts
    tolerance: 0.0         # greatest relative difference of quantities
    kilometres: 1.0        # greatest distance of coordinates
    times: gold            # or coarser

Its clients are Wikipedia behind its cache, and Wikidata from its endpoint or from a local file.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.measures.triples.objects import Comparing
from goldassay.wikidata.alignment import OURS, PropertyAlignmentTable


@dataclass(frozen=True)
class Profile:
    """A program and the conventions that it is measured under."""

    name: str
    program: str
    lm: str | None = None
    state: str | None = None
    language: str = "en"
    alignment: str = ""
    threshold: float = 0.9
    tolerance: float = 0.0
    kilometres: float = 1.0
    times: str = "gold"

    @property
    def table(self) -> PropertyAlignmentTable:
        """The alignment table."""
        return PropertyAlignmentTable.of(self.alignment or OURS)

    @property
    def comparing(self) -> Comparing:
        """How values compare."""
        return Comparing(self.threshold, self.tolerance, self.kilometres, self.times)


def read_profile(text: str, *, lm: str | None = None, language: str | None = None) -> Profile:
    """The profile that a user named; ``lm`` and ``language`` count where they are given.

    >>> read_profile("triples:Articles", language="nl").language
    'nl'
    """
    found = _file(Path(text)) if Path(text).suffix in (".yaml", ".yml") else Profile(text, text)
    return replace(found, lm=lm or found.lm, language=language or found.language)


def _file(path: Path) -> Profile:
    content = files.yaml_value(path)
    if not isinstance(content, dict):
        raise DataError("a profile is a mapping with program, lm, alignment, …", file=path)
    known = {one.name: one for one in fields(Profile) if one.name != "name"}
    wrong = next((name for name in content if name not in known), None)
    if wrong is not None:
        raise DataError(f"a profile has no {wrong!r}; it has {', '.join(known)}", file=path)
    if not isinstance(content.get("program"), str):
        raise DataError(f"a profile names a program, found {content.get('program')!r}", file=path, field="program")
    made: dict[str, Any] = {"name": path.stem}
    for name, value in content.items():
        number = name in ("threshold", "tolerance", "kilometres")
        if number and (isinstance(value, bool) or not isinstance(value, (int, float)) or value < 0):
            raise DataError(f"this is a number, not {value!r}", file=path, field=name)
        if not number and not (isinstance(value, str) and value):
            raise DataError(f"this is text, not {value!r}", file=path, field=name)
        made[name] = float(value) if number else value
    if made.get("times", "gold") not in ("gold", "coarser"):
        raise DataError(f"times is gold or coarser, not {made['times']!r}", file=path, field="times")
    if not 0 < made.get("threshold", 0.9) <= 1:
        raise DataError(f"a threshold lies in (0, 1], not at {made['threshold']}", file=path, field="threshold")
    for name in ("alignment", "state"):
        if name in made:
            made[name] = str(path.parent / made[name])
    return Profile(**made)


@dataclass(frozen=True)
class Clients:
    """Where articles and items come from, what to call that in the run's metadata, and a hash of a local store."""

    wikipedia: Any
    wikidata: Any
    endpoint: str
    version: str = ""


def clients(
    *, language: str = "en", endpoint: str | None = None, no_cache: bool = False, cache_only: bool = False
) -> Clients:
    """The clients that the options of a command ask for."""
    from goldassay.cache import Cache
    from goldassay.wikidata.client import LANGUAGES, WDQS, WikidataClient
    from goldassay.wikidata.wikipedia import WikipediaClient

    wikipedia = WikipediaClient(language=language, no_cache=no_cache, cache_only=cache_only)
    languages = tuple(dict.fromkeys((language, *LANGUAGES)))
    wikidata = WikidataClient(
        endpoint or WDQS,
        languages=languages,
        cache=Cache(use="none" if no_cache else "only" if cache_only else "normal"),
    )
    return Clients(wikipedia, wikidata, str(endpoint or WDQS), version(endpoint))


def version(endpoint: str | None) -> str:
    """A hash of what a local store's files say; empty for an address, which says another thing another day."""
    place = Path(endpoint or "")
    if not endpoint or not place.exists():
        return ""
    made = hashlib.sha256()
    for file in sorted(place.iterdir()) if place.is_dir() else [place]:
        if file.is_file():
            with file.open("rb") as raw:
                made.update(hashlib.file_digest(raw, "sha256").digest())
    return made.hexdigest()[:16]
