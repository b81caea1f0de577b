"""Wikipedia's articles as Markdown, through MediaWiki's REST interface and the cache.

The Markdown keeps headings, paragraphs, lists and the links between articles; no tables, no notes.

Source: https://www.mediawiki.org/wiki/API:REST_API/Reference
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, unquote, urlsplit

from goldassay.cache import Cache
from goldassay.exceptions import CacheOnlyError, FetchError, GoldassayError, MissingExtra, NotFoundError
from goldassay.wikidata import sparql
from goldassay.wikidata.web import Web


@dataclass(frozen=True, slots=True)
class Article:
    """An article: its title after redirects, its Markdown text, and when it was fetched."""

    title: str
    text: str
    fetched: str = ""


class WikipediaClient:
    """Articles of one language's Wikipedia.

    Args:
        language: The language's code.
        base: The address of another MediaWiki.
        web: The HTTP client.
        cache: Keeps the articles.
    """

    def __init__(
        self,
        language: str = "en",
        *,
        base: str | None = None,
        web: Web | None = None,
        cache: Cache | None = None,
    ) -> None:
        self.language = sparql.check_language(language)
        self.base = (base or f"https://{self.language}.wikipedia.org").rstrip("/")
        self.web = web or Web()
        self.cache = cache or Cache()

    def article(self, title: str) -> Article:
        """The article with this title; redirects are followed."""
        name = normalize("NFC", title).strip()
        if not name:
            raise GoldassayError("an article needs a title")
        try:
            cached = self.cache.get(self.language, f"{self.base} {name}", lambda: self._fetch(name))
        except NotFoundError:
            raise NotFoundError(f"{self.base} has no article {title!r}") from None
        except CacheOnlyError:
            raise CacheOnlyError(
                f"the {self.language} article {title!r} is not in {self.cache.folder}, and only the cache may be "
                "asked; fetch it first"
            ) from None
        return Article(cached.value["title"], cached.value["text"], cached.fetched)

    def _fetch(self, title: str) -> dict[str, Any]:
        address = f"{self.base}/w/rest.php/v1/page/{quote(title.replace(' ', '_'), safe='')}/with_html"
        page = self.web.json(address, headers={"Accept": "application/json"})
        try:
            return {"title": str(page["title"]), "text": to_markdown(str(page["html"]))}
        except (KeyError, TypeError):
            raise FetchError(f"{address}: no page of MediaWiki's REST interface; is the address right?") from None


DROPPED = (
    "table, style, script, figure, math, link, meta, noscript, sup.reference, sup.mw-ref, .mw-ref, .hatnote, .navbox, "
    ".infobox, .metadata, .mw-editsection, .reflist, .mw-references-wrap, ol.references, .noprint, .mw-empty-elt, "
    ".shortdescription, .ambox, .thumb, .gallery, .sistersitebox, [role=navigation], [role=note], [hidden]"
)


def to_markdown(html: str) -> str:
    """A page as Markdown, with its links to other articles only.

    >>> to_markdown('<p>In <a rel="mw:WikiLink" href="./Delft" title="Delft">the town</a>.</p>')
    'In [the town](./Delft).'
    """
    try:
        from bs4 import BeautifulSoup
        from markdownify import MarkdownConverter
    except ImportError:
        raise MissingExtra("markdownify", "wikidata") from None
    page = BeautifulSoup(html, "html.parser")
    for tag in page.select(DROPPED):
        tag.decompose()
    for anchor in page.find_all("a"):
        target = _target(anchor)
        if target is None:
            anchor.unwrap()
        else:
            anchor.attrs = {"href": f"./{target.replace(' ', '_')}"}
    converter = MarkdownConverter(heading_style="ATX", escape_asterisks=False, escape_underscores=False, bullets="-")
    text = str(converter.convert_soup(page.body or page))
    text = "\n".join(line.rstrip() for line in text.splitlines())
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def _target(anchor: Any) -> str | None:
    """The title that a link between articles goes to; None for a link to elsewhere."""
    href = str(anchor.get("href") or "")
    is_red = "new" in (anchor.get("class") or [])  # there is no such article
    if is_red or not ("mw:WikiLink" in (anchor.get("rel") or []) or href.startswith(("./", "/wiki/"))):
        return None
    path = unquote(urlsplit(href).path).removeprefix("./").removeprefix("/wiki/")
    return path.replace("_", " ").strip() or None
