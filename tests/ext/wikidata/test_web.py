"""The polite client against a real server: what is tried again, what is final, what is said."""

from __future__ import annotations

import time
from typing import Any

import pytest

from goldassay._support.exceptions import FetchError, NotFoundError
from goldassay.ext.wikidata.web import Web

PATH = "/w/rest.php/v1/page/Delft/with_html"


@pytest.fixture
def delft(server: Any) -> str:
    server.answers.pages["Delft"] = "<p>Delft.</p>"
    return f"{server.url}{PATH}"


def test_who_asks_is_said(server: Any, web: Web, delft: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOLDASSAY_CONTACT", "me@example.org")
    named = Web(pause=0)
    named.json(delft)
    named.client.close()
    (_, headers), *_ = server.answers.seen
    assert headers["user-agent"].startswith("goldassay/")
    assert "me@example.org" in headers["user-agent"]


@pytest.mark.parametrize("how", ["429", "500", "502", "503", "504", "cut", "garbled", "slow", "retry 0"])
def test_what_may_pass_is_tried_again(how: str, server: Any, web: Web, delft: str) -> None:
    server.answers.behave(PATH, how)
    assert web.json(delft)["title"] == "Delft"
    assert server.answers.asked(PATH) == 2


def test_retry_after_is_kept(server: Any, web: Web, delft: str) -> None:
    server.answers.behave(PATH, "retry 1")
    started = time.monotonic()
    web.json(delft)
    assert time.monotonic() - started >= 1.0


def test_a_wait_that_is_too_long_is_said_at_once(server: Any, web: Web, delft: str) -> None:
    server.answers.behave(PATH, "retry 7200")
    with pytest.raises(FetchError, match="asks to wait 7200 s"):
        web.json(delft)
    assert server.answers.asked(PATH) == 1


def test_in_the_end_it_is_a_failure(server: Any, web: Web, delft: str) -> None:
    server.answers.behave(PATH, "500", "cut", "503")
    with pytest.raises(FetchError, match=r"status 503 in 3 attempts; try again later"):
        web.json(delft)
    assert server.answers.asked(PATH) == 3


@pytest.mark.parametrize(
    ("how", "says"), [("400", "status 400: busy"), ("403", "status 403"), ("type", "expected JSON")]
)
def test_what_will_not_pass_is_final(how: str, says: str, server: Any, web: Web, delft: str) -> None:
    server.answers.behave(PATH, how)
    with pytest.raises(FetchError, match=says):
        web.json(delft)
    assert server.answers.asked(PATH) == 1


def test_what_is_not_there_is_another_failure(server: Any, web: Web) -> None:
    with pytest.raises(NotFoundError, match="no such page"):
        web.json(f"{server.url}/w/rest.php/v1/page/Nowhere/with_html")


def test_a_message_holds_no_secret(server: Any, web: Web) -> None:
    server.answers.behave("/sparql", "403")
    with pytest.raises(FetchError) as failed:
        web.json(f"{server.url.replace('//', '//user:hunter2@')}/sparql?key=hunter2")
    assert "hunter2" not in str(failed.value)


def test_requests_keep_their_distance(server: Any, delft: str) -> None:
    web = Web(pause=0.15)
    started = time.monotonic()
    for _ in range(3):
        web.json(delft)
    web.client.close()
    assert time.monotonic() - started >= 0.3


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


def test_nobody_there_is_one_line(web: Web) -> None:
    with pytest.raises(FetchError, match=r"^http://127\.0\.0\.1:9/x: ConnectError .*in 3 attempts"):
        web.json("http://127.0.0.1:9/x")
