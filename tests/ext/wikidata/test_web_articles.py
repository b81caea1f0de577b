"""Articles from a real server: Markdown with links, redirects, the cache, and what goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldassay._support.cache import Cache
from goldassay._support.exceptions import CacheOnlyError, FetchError, GoldassayError, NotFoundError
from goldassay.ext.wikidata.web import Web, WikipediaClient

DELFT = """<!DOCTYPE html><html><head><title>Delft</title><style>x{}</style></head><body>
<div class="hatnote">For other uses see elsewhere.</div>
<table class="infobox"><tr><td>Mayor</td></tr></table>
<section><p><b>Delft</b> is a city in <a rel="mw:WikiLink" href="./South_Holland" title="South Holland"
>South Holland</a>,
known for <a rel="mw:WikiLink" href="./Johannes_Vermeer">Vermeer</a><sup class="mw-ref reference">[1]</sup>
&amp; more.</p></section>
<h2>History</h2><ul><li>1246: city rights</li><li><a rel="mw:ExtLink" href="https://example.org">a page</a></li></ul>
<script>alert(1)</script><div class="reflist"><ol class="references"><li>A note</li></ol></div>
</body></html>"""
PATH = "/w/rest.php/v1/page/Delft/with_html"


def client(server: Any, web: Web, folder: Path, **options: Any) -> WikipediaClient:
    return WikipediaClient("en", base=server.url, web=web, cache=Cache(folder, **options))


@pytest.fixture
def delft(server: Any) -> Any:
    server.answers.pages["Delft"] = DELFT
    return server


def test_an_article_is_markdown_with_its_links(delft: Any, web: Web, tmp_path: Path) -> None:
    article = client(delft, web, tmp_path).article("Delft")
    assert "**Delft** is a city in [South Holland](./South_Holland)" in article.text
    assert "## History" in article.text
    assert "- 1246: city rights" in article.text
    assert "a page" in article.text
    for dropped in ("Mayor", "elsewhere", "alert", "A note", "[1]", "example.org"):
        assert dropped not in article.text
    assert article.title == "Delft"
    assert article.fetched


def test_a_redirect_is_followed_and_said(delft: Any, web: Web, tmp_path: Path) -> None:
    delft.answers.redirects["City of Delft"] = "Delft"
    article = client(delft, web, tmp_path).article("City of Delft")
    assert article.title == "Delft"


def test_the_cache_answers_the_second_time(delft: Any, web: Web, tmp_path: Path) -> None:
    first = client(delft, web, tmp_path).article("Delft")
    assert client(delft, web, tmp_path, use="only").article("Delft") == first
    assert delft.answers.asked(PATH) == 1
    client(delft, web, tmp_path, use="none").article("Delft")
    assert delft.answers.asked(PATH) == 2
    client(delft, web, tmp_path, days=-1).article("Delft")  # everything is too old
    assert delft.answers.asked(PATH) == 3


def test_only_the_cache_may_be_asked(delft: Any, web: Web, tmp_path: Path) -> None:
    with pytest.raises(CacheOnlyError, match=r" Delft' is not in .*fetch it first$"):
        client(delft, web, tmp_path, use="only").article("Delft")
    assert delft.answers.asked(PATH) == 0


def test_titles_of_any_script_stay_apart(server: Any, web: Web, tmp_path: Path) -> None:
    titles = ["Москва", "Париж", "東京", "C++", "AC/DC", "🦊"]
    for title in titles:
        server.answers.pages[title] = f"<p>About {title}.</p>"
    wikipedia = client(server, web, tmp_path)
    for _ in range(2):  # fetched, then from the cache
        assert [wikipedia.article(title).text for title in titles] == [f"About {title}." for title in titles]
    assert len(server.answers.seen) == len(titles)


def test_what_goes_wrong_is_said_and_not_kept(delft: Any, web: Web, tmp_path: Path) -> None:
    wikipedia = client(delft, web, tmp_path)
    with pytest.raises(NotFoundError, match="has no article 'Atlantis'"):
        wikipedia.article("Atlantis")
    delft.answers.behave(PATH, "cut", "garbled", "slow")
    with pytest.raises(FetchError, match="in 3 attempts"):
        wikipedia.article("Delft")
    delft.answers.behave(PATH, "type")
    with pytest.raises(FetchError, match="expected JSON"):
        wikipedia.article("Delft")
    with pytest.raises(GoldassayError, match="needs a title"):
        wikipedia.article("  ")
    assert wikipedia.article("Delft").title == "Delft"
