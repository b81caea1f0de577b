"""Wikipedia's articles as Markdown, through MediaWiki's REST interface and the cache.

The Markdown keeps headings, paragraphs, lists and the links between articles; no tables, no notes.

Source: https://www.mediawiki.org/wiki/API:REST_API/Reference
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, unquote, urlsplit

from goldassay.cache import DAYS, FOLDER, Cache
from goldassay.exceptions import CacheOnlyError, FetchError, GoldassayError, MissingExtra, NotFoundError
from goldassay.wikidata import sparql
from goldassay.wikidata.web import Web


@dataclass(frozen=True, slots=True)
class Article:
    """An article: its Markdown text, its links to other articles, and where and when it was found."""

    title: str
    text: str
    wikilinks: Sequence[tuple[str, str]] = ()
    revision: int = 0
    language: str = "en"
    redirected_from: str = ""
    fetched: str = ""
    qid: str = ""


class WikipediaClient:
    """Articles of one language's Wikipedia; ``base`` is another MediaWiki.

    ``no_cache`` fetches always, ``cache_only`` never (a `CacheOnlyError` where the cache has nothing).

    Args:
        web: The client that asks.
        folder: Where the cache stands.
        days: How long an article in it is fresh.
    """

    def __init__(
        self,
        language: str = "en",
        *,
        base: str | None = None,
        web: Web | None = None,
        folder: Path | str = FOLDER,
        days: float = DAYS,
        no_cache: bool = False,
        cache_only: bool = False,
    ) -> None:
        if no_cache and cache_only:
            raise GoldassayError("--no-cache and --cache-only exclude each other")
        self.language = sparql.code(language)
        self.base = (base or f"https://{self.language}.wikipedia.org").rstrip("/")
        self.web = web or Web()
        self.cache = Cache(folder, days=days, use="none" if no_cache else "only" if cache_only else "normal")

    def article(self, title: str) -> Article:
        """The article of that title, with redirects followed."""
        asked = normalize("NFC", title).strip()
        if not asked:
            raise GoldassayError("an article needs a title")
        try:
            kept = self.cache.get(self.language, f"{self.base} {asked}", lambda: self._fetched(asked))
        except NotFoundError:
            raise NotFoundError(f"{self.base} has no article {title!r}") from None
        except CacheOnlyError:
            where = self.cache.folder
            raise CacheOnlyError(
                f"the {self.language} article {title!r} is not in {where}; fetch it once without --cache-only"
            ) from None
        found = {**kept.value, "wikilinks": tuple((text, target) for text, target in kept.value["wikilinks"])}
        return Article(**found, fetched=kept.fetched)

    def _fetched(self, title: str) -> dict[str, Any]:
        address = f"{self.base}/w/rest.php/v1/page/{quote(title.replace(' ', '_'), safe='')}/with_html"
        page = self.web.json(address, headers={"Accept": "application/json"})
        try:
            html, name = str(page["html"]), str(page["title"])
            revision = int(page["latest"]["id"])
        except (KeyError, TypeError, ValueError):
            raise FetchError(f"{address}: no page of MediaWiki's REST interface; is the address right?") from None
        text, links = article(html)
        same = name.replace("_", " ") == title.replace("_", " ")
        made = Article(name, text, links, revision, self.language, "" if same else title)
        return {key: value for key, value in asdict(made).items() if key != "fetched"}


DROPPED = (
    "table, style, script, figure, math, link, meta, noscript, sup.reference, sup.mw-ref, .mw-ref, .hatnote, .navbox, "
    ".infobox, .metadata, .mw-editsection, .reflist, .mw-references-wrap, ol.references, .noprint, .mw-empty-elt, "
    ".shortdescription, .ambox, .thumb, .gallery, .sistersitebox, [role=navigation], [role=note], [hidden]"
)


def article(html: str) -> tuple[str, list[tuple[str, str]]]:
    """The Markdown, and each link to another article as (what is written, the article's title).

    >>> article('<p>In <a rel="mw:WikiLink" href="./Delft" title="Delft">the town</a>.</p>')
    ('In [the town](./Delft).', [('the town', 'Delft')])
    """
    try:
        from bs4 import BeautifulSoup
        from markdownify import MarkdownConverter
    except ImportError:
        raise MissingExtra("markdownify", "wikidata") from None
    page = BeautifulSoup(html, "html.parser")
    for one in page.select(DROPPED):
        one.decompose()
    links = []
    for anchor in page.find_all("a"):
        target = _target(anchor)
        if target is None:
            anchor.unwrap()  # a link to elsewhere: its words stay
            continue
        links.append((anchor.get_text(" ", strip=True), target))
        anchor.attrs = {"href": f"./{target.replace(' ', '_')}"}
    converter = MarkdownConverter(heading_style="ATX", escape_asterisks=False, escape_underscores=False, bullets="-")
    text = str(converter.convert_soup(page.body or page))
    paragraphs = [line.rstrip() for line in text.splitlines()]
    return "\n".join(_single(paragraphs)).strip(), links


def _target(anchor: Any) -> str | None:
    """The title that a link between articles goes to; None for a link to elsewhere."""
    href = str(anchor.get("href") or "")
    relations = anchor.get("rel") or []
    if "new" in (anchor.get("class") or []):
        return None  # a red link: there is no such article
    if "mw:WikiLink" in relations or href.startswith(("./", "/wiki/")):
        path = unquote(urlsplit(href).path).removeprefix("./").removeprefix("/wiki/")
        title = path.replace("_", " ").strip()
        return title or None
    return None


def _single(lines: list[str]) -> list[str]:
    """No two empty lines in a row."""
    return [line for index, line in enumerate(lines) if line or (index and lines[index - 1])]
