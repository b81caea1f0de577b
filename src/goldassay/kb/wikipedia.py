"""Wikipedia's articles as Markdown, through MediaWiki's REST interface and the cache.

Source: https://www.mediawiki.org/wiki/API:REST_API/Reference
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unicodedata import normalize
from urllib.parse import quote

from goldassay.exceptions import CacheOnlyError, FetchError, GoldassayError, NotFoundError
from goldassay.kb import sparql
from goldassay.kb.cache import DAYS, FOLDER, Cache
from goldassay.kb.http import Web
from goldassay.kb.markdown import article as as_markdown


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
        text, links = as_markdown(html)
        same = name.replace("_", " ") == title.replace("_", " ")
        made = Article(name, text, links, revision, self.language, "" if same else title)
        return {key: value for key, value in asdict(made).items() if key != "fetched"}
