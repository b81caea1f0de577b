"""Wikipedia's articles as Markdown, through MediaWiki's REST interface and the cache.

The Markdown keeps headings, paragraphs, lists and the links between articles; no tables, no notes.

Source: https://www.mediawiki.org/wiki/API:REST_API/Reference
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any
from unicodedata import normalize
from urllib.parse import quote, unquote, urlsplit

from goldassay.cache import Cache
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
                f"the {self.language} article {title!r} is not in {self.cache.folder}; fetch it once without "
                "--cache-only"
            ) from None
        links = tuple((text, target) for text, target in cached.value["wikilinks"])
        return Article(**{**cached.value, "wikilinks": links}, fetched=cached.fetched)

    def _fetch(self, title: str) -> dict[str, Any]:
        address = f"{self.base}/w/rest.php/v1/page/{quote(title.replace(' ', '_'), safe='')}/with_html"
        page = self.web.json(address, headers={"Accept": "application/json"})
        try:
            html, name = str(page["html"]), str(page["title"])
            revision = int(page["latest"]["id"])
        except (KeyError, TypeError, ValueError):
            raise FetchError(f"{address}: no page of MediaWiki's REST interface; is the address right?") from None
        text, links = article(html)
        redirected = "" if name.replace("_", " ") == title.replace("_", " ") else title
        fields = asdict(Article(name, text, links, revision, self.language, redirected))
        return {key: value for key, value in fields.items() if key != "fetched"}


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
    for tag in page.select(DROPPED):
        tag.decompose()
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
    text = "\n".join(line.rstrip() for line in text.splitlines())
    return re.sub(r"\n{3,}", "\n\n", text).strip(), links


def _target(anchor: Any) -> str | None:
    """The title that a link between articles goes to; None for a link to elsewhere."""
    href = str(anchor.get("href") or "")
    is_red = "new" in (anchor.get("class") or [])  # there is no such article
    if is_red or not ("mw:WikiLink" in (anchor.get("rel") or []) or href.startswith(("./", "/wiki/"))):
        return None
    path = unquote(urlsplit(href).path).removeprefix("./").removeprefix("/wiki/")
    return path.replace("_", " ").strip() or None
