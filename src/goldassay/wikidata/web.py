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
from typing import Any

import httpx
import tenacity

from goldassay import __version__
from goldassay.exceptions import FetchError, NotFoundError
from goldassay.secrets import redact

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

    def __init__(self, *, pause: float = 0.2, retries: int = 4, timeout: float = 30.0, wait: float = 1.0) -> None:
        self.pause, self.attempts = pause, retries + 1
        self._backoff = tenacity.wait_exponential(multiplier=wait, max=LONGEST_WAIT) + tenacity.wait_random(0, wait / 4)
        contact = os.environ.get("GOLDASSAY_CONTACT", "").strip() or HOME
        agent = f"goldassay/{__version__} ({contact}) httpx/{httpx.__version__}"
        self.client = httpx.Client(timeout=timeout, headers={"User-Agent": agent}, follow_redirects=True)
        weakref.finalize(self, self.client.close)
        self._next = 0.0
        self._lock = threading.Lock()

    def json(self, url: str, **request: Any) -> Any:
        """Fetches an address and reads its JSON; ``request`` are httpx's options (with ``data`` it is a POST)."""
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(self.attempts),
            retry=tenacity.retry_if_exception_type(TemporaryError),
            wait=self._wait,
            reraise=True,
        )
        try:
            return retrying(self._fetch, url, request)
        except TemporaryError as error:
            message = f"{error} in {self.attempts} attempts; try again later, or use what is cached"
            raise FetchError(message) from None

    def _wait(self, state: tenacity.RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        after = getattr(error, "after", None)
        return float(self._backoff(state) if after is None else after)

    def _fetch(self, url: str, request: dict[str, Any]) -> Any:
        address = redact(url)
        with self._lock:
            time.sleep(max(0.0, self._next - time.monotonic()))
            self._next = time.monotonic() + self.pause
        try:
            response = self.client.request("POST" if "data" in request else "GET", url, **request)
        except (httpx.TimeoutException, httpx.NetworkError, httpx.RemoteProtocolError) as error:
            raise TemporaryError(f"{address}: {type(error).__name__} {str(error)[:80]}".strip()) from None
        except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
            raise FetchError(f"{address}: {type(error).__name__}: {str(error)[:200]}") from None
        _check_status(response, address)
        try:
            return json.loads(response.content)
        except ValueError:
            raise TemporaryError(f"{address}: the JSON is truncated") from None


def _check_status(response: httpx.Response, address: str) -> None:
    status, after = response.status_code, response.headers.get("retry-after", "")
    if status in RETRIED:
        seconds = float(after) if after.isdecimal() else None
        if seconds and seconds > LONGEST_WAIT:
            raise FetchError(f"{address}: status {status}; the server asks to wait {seconds:.0f} s")
        raise TemporaryError(f"{address}: status {status}", seconds)
    if status in (404, 410):
        raise NotFoundError(f"{address}: no such page (status {status})")
    if not response.is_success:
        raise FetchError(f"{address}: status {status}: {' '.join(response.text.split())[:120]}")
    if "json" not in (kind := response.headers.get("content-type", "")):
        raise FetchError(f"{address}: expected JSON, got {kind or 'no content type'!r}; is the address right?")
