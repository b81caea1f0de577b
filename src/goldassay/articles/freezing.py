"""What Wikidata says of a benchmark's items, frozen in a file, so that an evaluation runs offline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rich.progress import track

from goldassay.articles.benchmark import ArticleRef
from goldassay.articles.preparing import INSTANCE_OF, shared
from goldassay.cache import Cache
from goldassay.exceptions import FetchError, GoldassayError
from goldassay.progress import standard_error
from goldassay.sources.wikipedia import WikipediaClient
from goldassay.wikibase import entities as dumps
from goldassay.wikibase import rdf
from goldassay.wikibase.client import LANGUAGES, WDQS, WikidataClient
from goldassay.wikibase.entities import Item, Statement
from goldassay.wikibase.sparql import classes, merged_into


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
