"""A polite client: says who it is, waits between requests, tries again when that may help, and asks when it may.

Tried again: timeouts, broken connections, bodies that end too soon, and the statuses 429 and 5xx, after 1, 2, 4 …
seconds with jitter, or after what ``Retry-After`` says. Anything else is final. What fails in the end is a
`FetchError`, never an empty answer.

Source: the Wikimedia Foundation's user-agent policy, https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from goldassay import __version__
from goldassay.exceptions import FetchError, NotFoundError

REDIRECTS = 10
AGAIN = (429, 500, 502, 503, 504)
HOME = "https://pypi.org/project/goldassay/"


def agent() -> str:
    """Who asks: the name, the version, and the contact in ``$GOLDASSAY_CONTACT`` (an address or a page)."""
    contact = os.environ.get("GOLDASSAY_CONTACT", "").strip() or HOME
    return f"goldassay/{__version__} ({contact}) httpx/{httpx.__version__}"


class Web:
    """Requests, one after the other, at least ``pause`` seconds apart; ``wait`` is the first wait before a retry.

    A redirect is followed only to the host that was asked, to one beside it (``en.m.wikipedia.org`` beside
    ``en.wikipedia.org``), and to those in ``hosts``: not to wherever a server says.

    Args:
        retries: How often it is tried again.
        timeout: Seconds that an answer may take.
        longest: The most seconds of a wait.
    """

    def __init__(
        self,
        *,
        pause: float = 0.2,
        retries: int = 4,
        timeout: float = 30.0,
        wait: float = 1.0,
        longest: float = 120.0,
        hosts: Sequence[str] = (),
    ) -> None:
        self.hosts = tuple(hosts)
        self.pause, self.retries, self.wait, self.longest = pause, retries, wait, longest
        self.client = httpx.Client(timeout=timeout, headers={"User-Agent": agent()}, follow_redirects=False)
        weakref.finalize(self, self.client.close)  # its sockets are closed with it
        self._last = 0.0
        self._lock = threading.Lock()

    def json(self, url: str, **request: object) -> Any:
        """The JSON that stands there; a body that is cut off is asked for again."""
        return self._ask(url, "json", request)

    def page(self, url: str, **request: object) -> httpx.Response:
        """The page that stands there, with its final address."""
        found: httpx.Response = self._ask(url, "html", request)
        return found

    def content(self, url: str) -> bytes:
        """The bytes that stand there, of whatever kind."""
        found: httpx.Response = self._ask(url, "", {})
        return found.content

    def _ask(self, url: str, kind: str, request: Mapping[str, object]) -> Any:
        why, delay = "", 0.0
        for attempt in range(self.retries + 1):
            if attempt:
                time.sleep(min(self.longest, delay))
            delay = self.wait * 2**attempt * (1 + random.random() / 4)
            try:
                self._politely()
                answer = self._once(url, request)
            except (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError) as error:
                why = f"{type(error).__name__} {str(error)[:80]}".strip()
                continue
            except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:  # no address, no scheme, endless redirects
                raise FetchError(f"{place(url)}: {type(error).__name__}: {str(error)[:200]}") from None
            if answer.status_code in AGAIN:
                why = f"status {answer.status_code}"
                asked = retry_after(answer.headers.get("retry-after", ""))
                if asked is not None and asked > self.longest:
                    raise FetchError(f"{place(url)}: {why}; it asks to wait {asked:.0f} s, come back then")
                delay = delay if asked is None else asked
                continue
            self._refuse(answer, url, kind)
            if kind != "json":
                return answer
            try:
                return json.loads(answer.content)
            except (ValueError, RecursionError):
                why = "the JSON is cut off"
        raise FetchError(f"{place(url)}: {why} in {self.retries + 1} attempts; try again later, or use what is cached")

    def _once(self, url: str, request: Mapping[str, Any]) -> httpx.Response:
        answer = self.client.request("POST" if "data" in request else "GET", url, **request)
        for _ in range(REDIRECTS):
            further = answer.next_request
            if further is None:
                return answer
            if not self._meant(answer.request.url, further.url):
                raise FetchError(
                    f"{place(url)}: redirects to {place(str(further.url))}, another host; ask that one if it is meant"
                )
            answer = self.client.send(further)
        raise FetchError(f"{place(url)}: redirects without end")

    def _meant(self, asked: httpx.URL, further: httpx.URL) -> bool:
        """Whether a redirect stays with those that this client is for; never from https to http."""
        if asked.scheme == "https" and further.scheme != "https":
            return False
        near = asked.host == further.host or (_home(asked.host) and _home(asked.host) == _home(further.host))
        return bool(near or further.host in self.hosts)

    def _politely(self) -> None:
        with self._lock:
            left = self._last + self.pause - time.monotonic()
            if left > 0:
                time.sleep(left)
            self._last = time.monotonic()

    def _refuse(self, answer: httpx.Response, url: str, kind: str) -> None:
        """What is neither a success nor worth another attempt."""
        if answer.status_code in (404, 410):
            raise NotFoundError(f"{place(url)}: there is no such page (status {answer.status_code})")
        if not answer.is_success:
            raise FetchError(f"{place(url)}: status {answer.status_code}: {' '.join(answer.text.split())[:120]}")
        type_ = answer.headers.get("content-type", "")
        if kind not in type_:
            raise FetchError(
                f"{place(url)}: expected {kind}, found {type_ or 'no content type'!r}; is the address right?"
            )


def _home(host: str) -> str:
    """The last two labels of a host's name; nothing for an address in numbers or a name of one label."""
    labels = host.split(".")
    return ".".join(labels[-2:]) if len(labels) > 2 and not labels[-1].isdigit() else ""


def retry_after(said: str) -> float | None:
    """The seconds of a ``Retry-After``, which is a number or a date.

    >>> retry_after("120"), retry_after("soon")
    (120.0, None)
    """
    if said.strip().isdecimal():
        return float(said)
    try:
        return max(0.0, (parsedate_to_datetime(said) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def place(url: str) -> str:
    """An address for a message: without a password, a key or a query.

    >>> place("https://user:secret@example.org:8080/page?key=secret")
    'https://example.org:8080/page'
    """
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "an address that is none"
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"
