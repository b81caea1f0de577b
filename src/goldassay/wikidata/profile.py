"""A profile: which program is evaluated, with which model, under which conventions; and where articles come from.

A profile is a program as for ``goldassay eval`` (``triples:Articles``, ``programs/mine.py:program``), or a YAML file::

    program: triples:Articles
    lm: openai/gpt-4o-mini
    state: tuned/          # the state of a tuned program
    language: en
    alignment: property-alignment.yaml
    threshold: 0.9         # minimum similarity of texts
    tolerance: 0.0         # maximum relative difference of quantities
    kilometres: 1.0        # maximum distance of coordinates
    times: gold            # or coarser
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from goldassay import files
from goldassay.cache import Cache
from goldassay.exceptions import GoldassayError
from goldassay.measures.triples.objects import Comparing
from goldassay.wikidata.alignment import OURS, PropertyAlignmentTable, validated
from goldassay.wikidata.client import LANGUAGES, WDQS, WikidataClient
from goldassay.wikidata.scoring import Scoring, VerdictKey
from goldassay.wikidata.wikipedia import WikipediaClient


class Profile(BaseModel):
    """A program and the conventions of its evaluation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    program: str = Field(min_length=1)
    lm: str | None = None
    state: Path | None = None
    language: str = "en"
    alignment: Path = OURS
    threshold: float = Field(0.9, gt=0, le=1)
    tolerance: float = Field(0.0, ge=0)
    kilometres: float = Field(1.0, ge=0)
    times: Literal["gold", "coarser"] = "gold"

    def scoring(self, verdicts: Mapping[VerdictKey, str] | None = None) -> Scoring:
        """How articles are scored under this profile."""
        comparing = Comparing(self.threshold, self.tolerance, self.kilometres, self.times)
        return Scoring(PropertyAlignmentTable.of(self.alignment), comparing=comparing, verdicts=verdicts or {})


def read_profile(text: str, *, lm: str | None = None, language: str | None = None) -> Profile:
    """The profile that a user names; ``lm`` and ``language`` override it.

    >>> read_profile("triples:Articles", language="nl").language
    'nl'
    """
    profile = Profile(program=text)
    if Path(text).suffix in (".yaml", ".yml"):
        profile = validated(Profile, files.yaml_value(text), text)
        folder = Path(text).parent
        places = {name: folder / path for name in ("state", "alignment") if (path := getattr(profile, name))}
        profile = profile.model_copy(update=places)
    overrides = {"lm": lm, "language": language}
    return profile.model_copy(update={name: value for name, value in overrides.items() if value})


@dataclass(frozen=True)
class Sources:
    """Where articles and items come from, the endpoint's name, and a hash of a local store."""

    wikipedia: Any
    wikidata: Any
    endpoint: str
    version: str = ""


def open_sources(
    *, language: str = "en", endpoint: str | None = None, no_cache: bool = False, cache_only: bool = False
) -> Sources:
    """The sources that a command's options name."""
    if no_cache and cache_only:
        raise GoldassayError("--no-cache fetches everything and --cache-only nothing; use one of them")
    cache = Cache(use="none" if no_cache else "only" if cache_only else "normal")
    wikipedia = WikipediaClient(language, cache=cache)
    wikidata = WikidataClient(endpoint or WDQS, languages=(language, *LANGUAGES), cache=cache)
    return Sources(wikipedia, wikidata, str(endpoint or WDQS), file_version(endpoint))


def file_version(endpoint: str | Path | None) -> str:
    """A hash of the files of a local store; empty for an address, whose content changes."""
    place = Path(endpoint or "")
    if not endpoint or not place.exists():
        return ""
    digest = hashlib.sha256()
    for file in sorted(place.iterdir()) if place.is_dir() else [place]:
        if file.is_file():
            with file.open("rb") as raw:
                digest.update(hashlib.file_digest(raw, "sha256").digest())
    return digest.hexdigest()[:16]
