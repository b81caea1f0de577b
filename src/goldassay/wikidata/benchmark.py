"""A benchmark: the articles that are evaluated, with domain and item; and what Wikidata says of their items, frozen.

Articles are YAML ``{title, qid, domain}`` under ``articles``; the counts that a file states are recounted, and a sample
keeps the domains' shares. The item of an article is found by its sitelink when it is evaluated; the id that the file
declares is held beside it. `fetch` writes the items to a file, so that an evaluation runs offline.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rich.progress import track

from goldassay.cache import Cache
from goldassay.exceptions import DataError, FetchError, GoldassayError
from goldassay.gold.formats import kits
from goldassay.progress import standard_error
from goldassay.wikidata import entities as dumps
from goldassay.wikidata import rdf
from goldassay.wikidata.client import LANGUAGES, WDQS, WikidataClient
from goldassay.wikidata.entities import Item, Statement
from goldassay.wikidata.sparql import classes, merged_into
from goldassay.wikidata.subject import INSTANCE_OF, shared
from goldassay.wikidata.wikipedia import WikipediaClient

UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ArticleRef:
    """An article to evaluate."""

    title: str
    qid: str = ""
    domain: str = UNKNOWN

    @property
    def key(self) -> str:
        """What a row is known by."""
        return f"{self.title}|{self.qid}"


@dataclass(frozen=True)
class Benchmark:
    """The articles of a file, each once, and what the file says wrongly of itself."""

    name: str
    articles: tuple[ArticleRef, ...]
    notes: tuple[str, ...] = ()

    @property
    def strata(self) -> dict[str, int]:
        """How many articles each domain has, as counted."""
        return dict(Counter(one.domain for one in self.articles))


def read_benchmark(path: str | Path) -> Benchmark:
    """The benchmark of a file; an article that stands there twice is taken once."""
    _, head, entries = kits.load(path, "benchmark")
    found: dict[str, ArticleRef] = {}
    for number, entry in enumerate(entries):
        where = f"articles[{number}]"
        qid = kits.text(entry, "qid", path, where) if entry.get("qid") else ""
        one = ArticleRef(kits.text(entry, "title", path, where), qid, str(entry.get("domain") or UNKNOWN))
        found.setdefault(one.title, one)
    if not found:
        raise DataError("the benchmark has no articles", file=path, field="articles")
    articles = tuple(found.values())
    notes = _recounted(head, articles, len(entries))
    return Benchmark(str(head.get("dataset_name") or Path(path).stem), articles, tuple(notes))


def _recounted(head: Any, articles: Sequence[ArticleRef], entries: int) -> list[str]:
    notes = []
    if entries > len(articles):
        notes.append(f"{entries} entries name {len(articles)} articles; each is evaluated once")
    ids = Counter(one.qid for one in articles if one.qid)
    twice = sum(count - 1 for count in ids.values())
    if twice:
        notes.append(f"{twice} articles have the Wikidata id of an earlier one")
    declared = head.get("stratified_sampling")
    if isinstance(declared, dict):
        counted = Counter(one.domain for one in articles)
        for name in sorted({*declared, *counted}):
            if declared.get(name, 0) != counted[name]:
                notes.append(f"domain {name}: {declared.get(name, 0)} declared, {counted[name]} counted")
    return notes


def sample(articles: Sequence[ArticleRef], n: int, seed: int = 0) -> tuple[ArticleRef, ...]:
    """``n`` articles whose domains have their shares of the whole, in the order of the whole.

    Shares are rounded by the largest remainder, and a domain with articles keeps at least one while n allows.

    >>> whole = [ArticleRef(str(i), domain="a" if i < 60 else "b") for i in range(90)]
    >>> Benchmark("", sample(whole, 9)).strata
    {'a': 6, 'b': 3}
    """
    if n < 1:
        raise GoldassayError(f"a sample has at least one article, not {n}")
    if n >= len(articles):
        return tuple(articles)
    members: dict[str, list[int]] = {}
    for index, one in enumerate(articles):
        members.setdefault(one.domain, []).append(index)
    least = 1 if n >= len(members) else 0
    exact = {name: n * len(found) / len(articles) for name, found in members.items()}
    take = {name: max(least, int(share)) for name, share in exact.items()}
    while sum(take.values()) > n:  # room made by those furthest above their share
        take[max((name for name in take if take[name] > least), key=lambda name: take[name] - exact[name])] -= 1
    while sum(take.values()) < n:
        short = [name for name in take if take[name] < len(members[name])]
        take[max(short, key=lambda name: exact[name] - take[name])] += 1
    rng = random.Random(seed)
    chosen = [index for name, found in members.items() for index in rng.sample(found, take[name])]
    return tuple(articles[index] for index in sorted(chosen))


@dataclass(frozen=True)
class Frozen:
    """The file that was written, how many items were asked for, how many triples it has, and what failed."""

    file: Path
    asked: int
    triples: int
    failed: Sequence[str]


def fetch(
    asked: Sequence[ArticleRef],
    *,
    to: Path | None,
    language: str = "en",
    endpoint: str | None = None,
    no_cache: bool = False,
    dump: Path | None = None,
) -> Frozen:
    """Write the items of these articles, with the names of their values, to ``to`` (N-Triples); say what failed.

    Values that share a name with another of their item come with their classes (P31), which tell them apart.

    The articles themselves go to the cache. ``dump`` takes the items from a Wikidata JSON dump instead of an endpoint.

    Args:
        asked: The articles, with their items where they are declared.
        language: The language of the Wikipedia.
        no_cache: Fetch also what the cache has.
    """
    file = to or Path("wikidata.nt")
    if file.suffix != ".nt":
        raise GoldassayError(f"--to {file}: the statements are N-Triples; name a .nt file")
    failed: list[str] = []
    values: dict[str, list[str]] = {}
    made = _from_dump(asked, dump, values, failed) if dump else None
    if made is None:
        client = WikidataClient(
            endpoint or WDQS,
            languages=tuple(dict.fromkeys((language, *LANGUAGES))),
            cache=Cache(use="none" if no_cache else "normal"),
        )
        made = _from_endpoint(asked, client, language, no_cache, values, failed)
    count = rdf.write(made, file)
    return Frozen(file, len(asked), count, failed)


def _from_endpoint(
    asked: Sequence[ArticleRef],
    client: WikidataClient,
    language: str,
    no_cache: bool,
    values: dict[str, list[str]],
    failed: list[str],
) -> Iterator[Item]:
    wikipedia = WikipediaClient(language, no_cache=no_cache)
    for one in _shown(asked):
        try:
            title = wikipedia.article(one.title).title
            item = client.item_of(title, language)
            old = one.qid if one.qid != item.id and merged_into(client, one.qid) == item.id else ""
        except FetchError as error:
            failed.append(f"{one.title}: {error}")
            continue
        values[item.id] = _values(item)
        yield replace(item, merged=(old,)) if old else item
    names = client.names(qid for found in values.values() for qid in found)
    alike = {qid for found in values.values() for qid in shared({one: names[one] for one in found})}
    kinds = classes(client, sorted(alike - set(values)))
    for qid, (label, *aliases) in ((qid, found) for qid, found in names.items() if found):
        statements = tuple(Statement(INSTANCE_OF, one, "wikibase-item") for one in sorted(kinds.get(qid, ())))
        yield Item(qid, {language: label}, {language: aliases}, statements=statements)


def _from_dump(
    asked: Sequence[ArticleRef], dump: Path, values: dict[str, list[str]], failed: list[str]
) -> Iterator[Item]:
    wanted = {one.qid: one.title for one in asked if one.qid}
    failed += [f"{one.title}: a dump is searched by item, and none is declared (qid)" for one in asked if not one.qid]
    for item in dumps.items(dump, wanted):
        values[item.id] = _values(item)
        yield item
    failed += [f"{title}: {qid} is not in {dump}" for qid, title in wanted.items() if qid not in values]
    for item in dumps.items(dump, {qid for found in values.values() for qid in found} - set(values)):
        kinds = tuple(one for one in item.statements if one.property == INSTANCE_OF)
        yield Item(item.id, item.labels, item.aliases, statements=kinds)


def _values(item: Item) -> list[str]:
    return [one.value for one in item.statements if one.type == "wikibase-item" and isinstance(one.value, str)]


def _shown(asked: Sequence[ArticleRef]) -> Iterator[ArticleRef]:
    console = standard_error()
    yield from track(asked, "fetching", console=console, disable=not console.is_terminal, transient=True)
