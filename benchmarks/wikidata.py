"""An evaluation of 1,000 articles with 200 statements each, from a local store: CPU time and memory at three sizes.

Items are written as N-Triples and loaded into a store; articles stand in the cache, as fetched ones do; the queries are
those that would go to Wikidata. The program says 40 statements of each article, so that what is measured is
fetching, resolving, aligning, matching and writing. Memory is what the process grows by while it evaluates.
"""

from __future__ import annotations

import gc
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests import wikibase_rdf as rdf

from goldassay._support.cache import Cache
from goldassay.ext.wikidata.client import Item, ItemStatement, WikidataClient
from goldassay.ext.wikidata.evaluation import ArticleRef, ArticleSources, Profile, evaluate_articles
from goldassay.ext.wikidata.web import WikipediaClient

STATEMENTS, SAID, VALUES = 200, 40, 20_000
ITEM_PROPERTIES = ("P31", "P106", "P166", "P800", "P69", "P108", "P39", "P27", "P463", "P1344", "P17", "P9001", "P9002")
FILLER = "It is mentioned in passing that nothing of note was ever recorded in that long and quiet year. "


def person(number: int, rng: random.Random) -> tuple[Item, str, list[dict[str, Any]]]:
    """An item, the text of its article, and what the program says of it."""
    title = f"Person {number}"
    statements, words, triples = [], [], []
    for place in range(STATEMENTS):
        name = ITEM_PROPERTIES[place % len(ITEM_PROPERTIES)]
        kind = place % 10
        if kind == 0:
            year, value = 1500 + rng.randrange(500), ""
            statements.append(ItemStatement("P580", {"time": f"+{year}-00-00T00:00:00Z", "precision": 9}, "time"))
            name, value = "P580", str(year)
        elif kind == 1:
            amount = rng.randrange(1000, 999_999)
            statements.append(ItemStatement("P1082", {"amount": f"+{amount}", "unit": ""}, "quantity"))
            name, value = "P1082", f"{amount:,}"
        else:
            value_number = rng.randrange(VALUES)
            statements.append(ItemStatement(name, f"Q{1_000_000 + value_number}", "wikibase-item"))
            value = f"Thing {value_number} of Somewhere"
        if place % 3 == 0:
            words.append(f"{title} had {value}. {FILLER}")
        if place % (STATEMENTS // SAID) == 0:
            wrong = place % 4 == 0
            triples.append(
                {"subject": title, "predicate": name, "object": "Nothing at all" if wrong else value, "confidence": 0.7}
            )
    item = Item(f"Q{number + 1}", {"en": title}, {"en": [f"P. {number}"]}, {"enwiki": title}, tuple(statements))
    return item, "".join(words), triples


def prepared(folder: Path, articles: int) -> tuple[int, dict[str, list[dict[str, Any]]]]:
    """How many triples the store has, the cache with the articles, and what the program says."""
    rng = random.Random(0)
    wikipedia = WikipediaClient(cache=Cache(folder / "cache"))
    items, says = [], {}
    for number in range(articles):
        item, text, triples = person(number, rng)
        title = item.labels["en"]
        page = {"title": title, "text": text}
        wikipedia.cache.get("en", f"{wikipedia.base} {title}", lambda page=page: page)  # type: ignore[misc]
        items.append(item)
        says[title] = triples
    items += [
        Item(f"Q{1_000_000 + i}", {"en": f"Thing {i} of Somewhere"}, {"en": [f"T{i}", f"The {i}th thing"]})
        for i in range(VALUES)
    ]
    return rdf.write(items, folder / "wikidata.nt"), says


def resident() -> float:
    """MiB of this process in memory, now where the system says so, else at its peak."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(row for row in status.read_text().splitlines() if row.startswith("VmRSS"))
        return int(line.split()[1]) / 1024
    return peak()


def peak() -> float:
    """MiB at the most so far; most of it is the store."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)


def main(articles: int = 1000) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        started = time.process_time()
        triples, says = prepared(folder, articles)
        print(
            f"{articles} articles, {triples:,} triples in the store, made in {time.process_time() - started:.1f} s CPU"
        )

        def program(text: str, title: str) -> dict[str, Any]:
            return {"triples": says[title]}

        for size in (articles // 40, articles // 4, articles // 2, articles):
            wikidata = WikidataClient(str(folder / "wikidata.nt"))
            sources = ArticleSources(WikipediaClient(cache=Cache(folder / "cache", use="only")), wikidata)
            refs = [ArticleRef(f"Person {number}", domain=f"d{number % 7}") for number in range(size)]
            gc.collect()
            memory, started = resident(), time.process_time()
            output = folder / f"{size}.json"
            result = evaluate_articles(refs, program, sources, Profile(program="b"), output)
            spent, total = time.process_time() - started, result["aggregate"]
            if total["articles"] != size or result["failed_articles"]:
                raise SystemExit(
                    f"only {total['articles']} of {size} articles were evaluated: {result['failed_articles'][:1]}"
                )
            print(
                f"{size:>5} articles  {spent:7.2f} s CPU  {1000 * spent / size:6.2f} ms each  "
                f"{resident() - memory:+7.1f} MiB (peak {peak():.0f})  F1 {total['f1']:.4f}  "
                f"{total['wikidata_statements']} statements",
                flush=True,
            )


if __name__ == "__main__":
    main()
