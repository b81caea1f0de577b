"""Where data come from: a polite HTTP client, and Wikipedia's articles as Markdown.

The client names itself, waits between requests, and retries timeouts, broken connections, truncated JSON and the
statuses 429 and 5xx, after 1, 2, 4 … seconds with jitter or after the server's ``Retry-After``. Everything else fails
at once. A failure is always a `FetchError`.

Articles come through MediaWiki's REST interface and the cache; their Markdown keeps headings, paragraphs, lists and the
links between articles; no tables, no notes.

Sources: the Wikimedia Foundation's user-agent policy,
https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy;
https://www.mediawiki.org/wiki/API:REST_API/Reference
"""

from __future__ import annotations

import json
import os
import re
import threading
import time
import weakref
from typing import Any, NamedTuple
from unicodedata import normalize
from urllib.parse import quote, unquote, urlsplit

import httpx
import tenacity

from goldassay import __version__
from goldassay._support.cache import Cache
from goldassay._support.exceptions import FetchError, GoldassayError, NotFoundError, optional
from goldassay._support.secrets import redact
from goldassay.core.fields import JsonObject

RETRIED = (429, 500, 502, 503, 504)
HOME = "https://pypi.org/project/goldassay/"
LONGEST_WAIT = 120.0
Binding = dict[str, dict[str, str]]
LANGUAGE = re.compile(r"[a-z]{2,12}(?:-[a-z0-9]+)*")


class TemporaryError(FetchError):
    """A failure that may pass."""

    after: float | None = None
    """How many seconds the server asks to wait."""


class Web:
    """Sends requests one after the other, at least ``pause`` seconds apart.

    Args:
        pause: Seconds between two requests.
        retries: How often a request is repeated.
        timeout: Seconds that an answer may take.
        wait: Seconds before the first retry.
    """

    def __init__(self, *, pause: float = 0.2, retries: int = 4, timeout: float = 30.0, wait: float = 1.0) -> None:
        self.pause = pause
        self.attempts = retries + 1
        self._backoff = tenacity.wait_exponential(multiplier=wait, max=LONGEST_WAIT) + tenacity.wait_random(0, wait / 4)
        contact = os.environ.get("GOLDASSAY_CONTACT", "").strip() or HOME
        agent = f"goldassay/{__version__} ({contact}) httpx/{httpx.__version__}"
        self.client = httpx.Client(timeout=timeout, headers={"User-Agent": agent}, follow_redirects=True)
        weakref.finalize(self, self.client.close)
        self._next = 0.0
        self._lock = threading.Lock()

    def json(self, url: str, **request: Any) -> Any:
        """Fetches an address and reads its JSON; ``request`` are httpx's options (with ``data`` it is a POST).

        Raises:
            FetchError: The address cannot be fetched, or its content is not JSON.
        """

        def wait(state: tenacity.RetryCallState) -> float:
            after: float | None = state.outcome.exception().after if state.outcome else None  # type: ignore[union-attr]
            return float(self._backoff(state) if after is None else after)

        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.attempts),
            retry=tenacity.retry_if_exception_type(TemporaryError),
            wait=wait,
            reraise=True,
        )
        try:
            return retrying(self._fetch, url, request)
        except TemporaryError as error:
            hint = "try again later, or use what is cached"
            raise FetchError(f"{redact(url)}: {error} in {self.attempts} attempts; {hint}") from None
        except FetchError as error:
            raise type(error)(f"{redact(url)}: {error}") from None

    def _fetch(self, url: str, request: dict[str, Any]) -> object:
        with self._lock:
            time.sleep(max(0.0, self._next - time.monotonic()))
            self._next = time.monotonic() + self.pause
        try:
            response = self.client.request("POST" if "data" in request else "GET", url, **request)
        except (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise TemporaryError(f"{type(error).__name__} {str(error)[:80]}".strip()) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise FetchError(f"{type(error).__name__}: {redact(str(error))[:200]}") from None
        status = response.status_code
        after = response.headers.get("retry-after", "")
        if status in RETRIED:
            busy = TemporaryError(f"status {status}")
            busy.after = float(after) if after.isdecimal() else None
            if busy.after and busy.after > LONGEST_WAIT:
                raise FetchError(f"status {status}; the server asks to wait {after} s")
            raise busy
        if status in (404, 410):
            raise NotFoundError(f"no such page (status {status})")
        if not response.is_success:
            raise FetchError(f"status {status}: {' '.join(response.text.split())[:120]}")
        if "json" not in (kind := response.headers.get("content-type", "")):
            raise FetchError(f"expected JSON, got {kind or 'no content type'!r}; is the address right?")
        try:
            return json.loads(response.content)
        except ValueError:
            raise TemporaryError("the JSON is truncated") from None


def check_language(language: str) -> str:
    """Returns a valid language code; anything else could change an address or a query.

    Raises:
        GoldassayError: The code is not valid.
    """
    if not LANGUAGE.fullmatch(language):
        raise GoldassayError(f"expected a language code such as nl or zh-hant, got {language!r}")
    return language


class Article(NamedTuple):
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
        self, language: str = "en", *, base: str | None = None, web: Web | None = None, cache: Cache | None = None
    ) -> None:
        self.language = check_language(language)
        self.base = base or f"https://{language}.wikipedia.org"
        self.web = web or Web()
        self.cache = cache or Cache()

    def article(self, title: str) -> Article:
        """The article with this title; redirects are followed.

        Raises:
            NotFoundError: There is no such article.
            GoldassayError: The title is empty.
        """
        name = normalize("NFC", title).strip()
        if not name:
            raise GoldassayError("an article needs a title")
        try:
            cached = self.cache.get(self.language, f"{self.base} {name}", lambda: self._fetch(name))
        except NotFoundError:
            raise NotFoundError(f"{self.base} has no article {title!r}") from None
        return Article(cached.value["title"], cached.value["text"], cached.fetched)

    def _fetch(self, title: str) -> JsonObject:
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

    Raises:
        MissingExtra: The extra ``wikidata`` is missing.
    """
    markdownify = optional("markdownify", "wikidata")
    page = optional("bs4", "wikidata").BeautifulSoup(html, "html.parser")
    for tag in page.select(DROPPED):
        tag.decompose()
    for anchor in page.find_all("a"):
        href = str(anchor.get("href") or "")
        if href.startswith(("./", "/wiki/")) and "new" not in (anchor.get("class") or []):  # new: no such article
            target = unquote(urlsplit(href).path).removeprefix("./").removeprefix("/wiki/").replace(" ", "_")
            anchor.attrs = {"href": f"./{target}"}
        else:
            anchor.unwrap()
    converter = markdownify.MarkdownConverter(
        heading_style="ATX", escape_asterisks=False, escape_underscores=False, bullets="-"
    )
    text = "\n".join(line.rstrip() for line in str(converter.convert_soup(page.body or page)).splitlines())
    return re.sub(r"\n{3,}", "\n\n", text).strip()
