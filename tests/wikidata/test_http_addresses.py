"""Addresses that lead nowhere: a failure of one line each, never a traceback."""

from __future__ import annotations

import pytest

from goldassay.exceptions import FetchError
from goldassay.wikidata.web import Web, retry_after


@pytest.mark.parametrize(
    "url", ["http://[bad", "ftp://example.org/x", "no address", "http://127.0.0.1:1/x", "http://127.0.0.1:x/"]
)
def test_an_address_that_leads_nowhere_is_an_error_of_one_line(url: str) -> None:
    web = Web(pause=0.0, wait=0.01, retries=1, timeout=0.5)
    try:
        with pytest.raises(FetchError) as error:
            web.json(url)
    finally:
        web.client.close()
    assert "\n" not in str(error.value)


def test_dates_of_the_past_ask_for_no_wait() -> None:
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
