"""A benchmark: the articles that are evaluated, with domain and item; its counts recounted, a sample that keeps strata.

Articles are YAML ``{title, qid, domain}`` under ``articles``. The item of an article is found by its sitelink when it
is evaluated; the id that the file declares is held beside it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.formats import kits

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
    kit = kits.load(path, "benchmark")
    found: dict[str, ArticleRef] = {}
    for number, entry in enumerate(kit.entries):
        where = f"articles[{number}]"
        qid = kits.text(entry, "qid", path, where) if entry.get("qid") else ""
        one = ArticleRef(kits.text(entry, "title", path, where), qid, str(entry.get("domain") or UNKNOWN))
        found.setdefault(one.title, one)
    if not found:
        raise DataError("the benchmark has no articles", file=path, field="articles")
    articles = tuple(found.values())
    notes = _recounted(kit.head, articles, len(kit.entries))
    return Benchmark(str(kit.head.get("dataset_name") or Path(path).stem), articles, tuple(notes))


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
