"""A polite HTTP client: names itself, waits between requests, and retries what may succeed later.

Retried are timeouts, broken connections, truncated JSON and the statuses 429 and 5xx, after 1, 2, 4 … seconds with
jitter or after the server's ``Retry-After``. Everything else fails at once. A failure is always a `FetchError`.

Source: the Wikimedia Foundation's user-agent policy, https://foundation.wikimedia.org/wiki/Policy:User-Agent_policy
"""

from __future__ import annotations

import json
import os
import threading
import time
import weakref
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx
import tenacity

from goldassay import __version__
from goldassay.exceptions import FetchError, NotFoundError

RETRIED = (429, 500, 502, 503, 504)
HOME = "https://pypi.org/project/goldassay/"
LONGEST_WAIT = 120.0


class TemporaryError(FetchError):
    """A failure that may pass; ``after`` is how many seconds the server asks to wait."""

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after


class Web:
    """Sends requests one after the other, at least ``pause`` seconds apart.

    Args:
        pause: Seconds between two requests.
        retries: How often a request is repeated.
        timeout: Seconds that an answer may take.
        wait: Seconds before the first retry.
    """

    def __init__(
        self,
        *,
        pause: float = 0.2,
        retries: int = 4,
        timeout: float = 30.0,
        wait: float = 1.0,
    ) -> None:
        self.pause, self.retries = pause, retries
        self._backoff = tenacity.wait_exponential(multiplier=wait, max=LONGEST_WAIT) + tenacity.wait_random(0, wait / 4)
        contact = os.environ.get("GOLDASSAY_CONTACT", "").strip() or HOME
        self.client = httpx.Client(
            timeout=timeout,
            headers={"User-Agent": f"goldassay/{__version__} ({contact}) httpx/{httpx.__version__}"},
            follow_redirects=True,
            event_hooks={"response": [_check_redirect]},
        )
        weakref.finalize(self, self.client.close)
        self._next = 0.0
        self._lock = threading.Lock()

    def json(self, url: str, **request: Any) -> Any:
        """Fetches an address and reads its JSON; ``request`` are httpx's options (with ``data`` it is a POST)."""
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.retries + 1),
            retry=tenacity.retry_if_exception(lambda error: isinstance(error, TemporaryError)),
            wait=self._wait,
            reraise=True,
        )
        try:
            return retrying(self._fetch, url, request)
        except TemporaryError as error:
            attempts = f"in {self.retries + 1} attempts; try again later, or use what is cached"
            raise FetchError(f"{error} {attempts}") from None

    def _wait(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        after = getattr(error, "after", None)
        return float(self._backoff(state)) if after is None else float(after)

    def _fetch(self, url: str, request: dict[str, Any]) -> Any:
        with self._lock:
            time.sleep(max(0.0, self._next - time.monotonic()))
            self._next = time.monotonic() + self.pause
        try:
            response = self.client.request("POST" if "data" in request else "GET", url, **request)
        except (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise TemporaryError(f"{public_address(url)}: {type(error).__name__} {str(error)[:80]}".strip()) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise FetchError(f"{public_address(url)}: {type(error).__name__}: {str(error)[:200]}") from None
        _check_status(response, public_address(url))
        try:
            return json.loads(response.content)
        except ValueError:
            raise TemporaryError(f"{public_address(url)}: the JSON is truncated") from None


def _check_redirect(response: httpx.Response) -> None:
    """Lets a server redirect to its own site only, and never from https to http."""
    if response.has_redirect_location:
        source, target = response.url, response.url.join(response.headers["location"])
        if _site(source.host) != _site(target.host) or (source.scheme, target.scheme) == ("https", "http"):
            addresses = f"{public_address(str(source))}: redirects to {public_address(str(target))}"
            raise FetchError(f"{addresses}, another site; ask that address if you trust it")


def _site(host: str) -> str:
    """The last two labels of a host name, so that ``en.m.wikipedia.org`` and ``en.wikipedia.org`` are one site."""
    labels = host.split(".")
    return host if labels[-1].isdigit() else ".".join(labels[-2:])


def _check_status(response: httpx.Response, address: str) -> None:
    status = response.status_code
    if status in RETRIED:
        after = retry_after(response.headers.get("retry-after", ""))
        if after is not None and after > LONGEST_WAIT:
            raise FetchError(f"{address}: status {status}; the server asks to wait {after:.0f} s")
        raise TemporaryError(f"{address}: status {status}", after)
    if status in (404, 410):
        raise NotFoundError(f"{address}: no such page (status {status})")
    if not response.is_success:
        raise FetchError(f"{address}: status {status}: {' '.join(response.text.split())[:120]}")
    if "json" not in (kind := response.headers.get("content-type", "")):
        raise FetchError(f"{address}: expected JSON, got {kind or 'no content type'!r}; is the address right?")


def retry_after(header: str) -> float | None:
    """The seconds of a ``Retry-After`` header, which is a number or a date.

    >>> retry_after("120"), retry_after("soon")
    (120.0, None)
    """
    if header.strip().isdecimal():
        return float(header)
    try:
        return max(0.0, (parsedate_to_datetime(header) - datetime.now(UTC)).total_seconds())
    except (ValueError, TypeError):
        return None


def public_address(url: str) -> str:
    """An address for a message, without password, key or query.

    >>> public_address("https://user:secret@example.org:8080/page?key=secret")
    'https://example.org:8080/page'
    """
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return "invalid address"
    return f"{parts.scheme}://{parts.hostname or ''}{port}{parts.path}"
