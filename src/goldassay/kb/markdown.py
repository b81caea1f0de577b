"""An article's HTML as Markdown: headings, paragraphs, lists and the links between articles; no tables, no notes."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote, urlsplit

from goldassay.exceptions import MissingExtra

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
