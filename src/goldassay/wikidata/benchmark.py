"""A benchmark: the articles to evaluate, with domain and item; the sources and the profile of an evaluation.

Articles are YAML ``{title, qid, domain}`` under ``articles``; the counts that a file declares are checked, and a sample
preserves the shares of the domains. The item of an article is found by its sitelink; the declared id is compared with
it.

A profile says which program is evaluated, with which model, under which conventions. It is a program as for
``goldassay eval`` (``triples:Articles``, ``programs/mine.py:program``), or a YAML file::

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

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from goldassay import files
from goldassay.cache import Cache
from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.formats import kits
from goldassay.measures.triples.objects import Comparing
from goldassay.wikidata.alignment import OURS, PropertyAlignmentTable, validated
from goldassay.wikidata.client import LANGUAGES, WDQS, WikidataClient
from goldassay.wikidata.scoring import Scoring, VerdictKey
from goldassay.wikidata.web import WikipediaClient


class Profile(BaseModel):
    """A program and the conventions of its evaluation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    program: str = Field(min_length=1)
    lm: str | None = None
    state: Path | None = None
    language: str = "en"
    alignment: Path = OURS
    threshold: float = Field(default=0.9, gt=0, le=1)
    tolerance: float = Field(default=0.0, ge=0)
    kilometres: float = Field(default=1.0, ge=0)
    times: Literal["gold", "coarser"] = "gold"

    def scoring(self, verdicts: Mapping[VerdictKey, str] | None = None) -> Scoring:
        """How articles are scored under this profile."""
        comparing = Comparing(
            threshold=self.threshold, tolerance=self.tolerance, kilometres=self.kilometres, times=self.times
        )
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


class Sources(NamedTuple):
    """Where articles and items come from, and the endpoint's name."""

    wikipedia: Any
    wikidata: Any
    endpoint: str = WDQS


def open_sources(
    *, language: str = "en", endpoint: str | None = None, no_cache: bool = False, cache_only: bool = False
) -> Sources:
    """The sources that a command's options name."""
    if no_cache and cache_only:
        raise GoldassayError("`no_cache=True` fetches everything and `cache_only=True` nothing; use one of them")
    cache, address = Cache(use="none" if no_cache else "only" if cache_only else "normal"), endpoint or WDQS
    wikidata = WikidataClient(address, languages=(language, *LANGUAGES), cache=cache)
    return Sources(WikipediaClient(language, cache=cache), wikidata, address)


@dataclass(frozen=True, slots=True)
class ArticleRef:
    """An article to evaluate."""

    title: str
    qid: str = ""
    domain: str = "unknown"

    @property
    def key(self) -> str:
        """Identifies the article in rows."""
        return f"{self.title}|{self.qid}"


class Benchmark(NamedTuple):
    """The articles of a file, each once, and what the file declares wrongly."""

    name: str
    articles: tuple[ArticleRef, ...]
    notes: tuple[str, ...] = ()

    @property
    def strata(self) -> dict[str, int]:
        """The number of articles of each domain."""
        return dict(Counter(article.domain for article in self.articles))


def read_benchmark(path: str | Path) -> Benchmark:
    """The benchmark of a file; an article that is listed twice is taken once."""
    _, head, entries = kits.load(path, "benchmark")
    articles: dict[str, ArticleRef] = {}
    for number, entry in enumerate(entries):
        if not isinstance(entry.get("title"), str):
            raise DataError(f"a title is text, found {entry.get('title')!r}", file=path, field=f"articles[{number}]")
        ref = ArticleRef(entry["title"], str(entry.get("qid") or ""), str(entry.get("domain") or "unknown"))
        articles.setdefault(ref.title, ref)
    if not articles:
        raise DataError("the benchmark has no articles", file=path, field="articles")
    benchmark = Benchmark(str(head.get("dataset_name") or Path(path).stem), tuple(articles.values()))
    return benchmark._replace(notes=tuple(_notes(benchmark, head.get("stratified_sampling") or {}, len(entries))))


def _notes(benchmark: Benchmark, declared: Mapping[str, int], entries: int) -> Iterator[str]:
    if entries > len(benchmark.articles):
        yield f"{entries} entries name {len(benchmark.articles)} articles; each is evaluated once"
    ids = [article.qid for article in benchmark.articles if article.qid]
    if repeated := len(ids) - len(set(ids)):
        yield f"{repeated} articles have the Wikidata id of an earlier one"
    for name in sorted({*declared, *benchmark.strata} if declared else ()):
        if declared.get(name, 0) != benchmark.strata.get(name, 0):
            yield f"domain {name}: {declared.get(name, 0)} declared, {benchmark.strata.get(name, 0)} counted"


def sample(articles: Sequence[ArticleRef], n: int, seed: int = 0) -> tuple[ArticleRef, ...]:
    """``n`` articles that preserve the shares of the domains, in their order.

    Shares are rounded by the largest remainder; a domain keeps at least one article if n allows it.

    >>> articles = [ArticleRef(str(i), domain="a" if i < 60 else "b") for i in range(90)]
    >>> Benchmark("", sample(articles, 9)).strata
    {'a': 6, 'b': 3}
    """
    if n < 1:
        raise GoldassayError(f"a sample needs at least one article, got {n}")
    domains = dict.fromkeys(article.domain for article in articles)
    members = {name: [at for at, article in enumerate(articles) if article.domain == name] for name in domains}
    take = dict.fromkeys(members, int(n >= len(members)))
    while sum(take.values()) < min(n, len(articles)):  # one more of the domain that is furthest below its share
        short = {name: n * len(members[name]) / len(articles) - take[name] for name in take}
        take[max((name for name in take if take[name] < len(members[name])), key=short.__getitem__)] += 1
    rng = random.Random(seed)
    chosen = [index for name, indices in members.items() for index in rng.sample(indices, take[name])]
    return tuple(articles[index] for index in sorted(chosen))
