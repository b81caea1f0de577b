"""Wikidata's items through a real query service on the loopback: the same queries, pages past limits, real failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from goldassay._support.cache import Cache
from goldassay._support.exceptions import CacheOnlyError, FetchError, GoldassayError, NotFoundError
from goldassay.ext.wikidata import client as module
from goldassay.ext.wikidata.client import WikidataClient
from goldassay.ext.wikidata.web import Web


@pytest.fixture
def client(server: Any, web: Web, tmp_path: Path) -> WikidataClient:
    return WikidataClient(server.sparql, web=web, cache=Cache(tmp_path))


def by_property(item: Any) -> dict[str, Any]:
    return {statement.property: statement for statement in item.statements}


def test_an_item_by_its_article_has_all_that_is_said_of_it(client: WikidataClient) -> None:
    item = client.item_of("Адамс, Дуглас", "ru")
    assert (item.id, item.labels["en"], item.aliases["en"]) == ("Q42", "Douglas Adams", ["DNA", "Douglas Noel Adams"])
    assert item.sitelinks == {"enwiki": "Douglas Adams", "ruwiki": "Адамс, Дуглас"}
    statements = by_property(item)
    assert (statements["P31"].value, statements["P31"].type) == ("Q5", "wikibase-item")
    assert statements["P569"].value["time"].startswith("+1952-03-11")
    assert statements["P569"].value["precision"] == 11
    assert (float(statements["P2048"].value["amount"]), statements["P2048"].value["unit"]) == (1.96, "Q11573")
    assert statements["P551"].rank == "deprecated"
    assert statements["P625"].value == {"latitude": 52.5, "longitude": 4.25, "precision": 0.01, "globe": "Q2"}
    assert statements["P1559"].value == {"text": "Douglas", "language": "en"}
    assert statements["P40"].value is None
    assert not {"P214", "P18"} & set(statements)  # identifiers and images are left out
    assert item.fetched


@pytest.mark.parametrize("limit", [7])
def test_a_servers_limit_loses_nothing(limit: int, server: Any, client: WikidataClient) -> None:
    server.answers.limit = limit
    item = client.item("Q649")
    assert sorted(statement.value for statement in item.statements) == sorted(f"Q{1000 + n}" for n in range(30))
    names = client.names(["Q5", "Q61"])
    assert names == {"Q5": ["human", "mens"], "Q61": ["Washington"]}


def test_our_own_pages_lose_nothing_either(
    web: Web, server: Any, client: WikidataClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = client.item("Q649")
    monkeypatch.setattr(module, "PAGE", 4)
    assert WikidataClient(server.sparql, web=web, cache=Cache(tmp_path)).item("Q649").statements == whole.statements


@pytest.mark.parametrize("how", ["500", "cut"])
def test_a_fetch_that_fails_is_no_item_without_statements(how: str, server: Any, client: WikidataClient) -> None:
    server.answers.behave("/sparql", *[how] * 3)
    with pytest.raises(FetchError) as failed:
        client.item("Q42")
    assert not isinstance(failed.value, NotFoundError)
    assert len(client.item("Q42").statements) == 7  # and it is not remembered as one


def test_a_failure_on_a_later_page_fails_the_item(server: Any, client: WikidataClient) -> None:
    server.answers.limit = 10
    server.answers.behave("/sparql", "", "", "500", "500", "500")
    with pytest.raises(FetchError, match="status 500 in 3 attempts"):
        client.item("Q649")


def test_a_busy_service_is_asked_again(server: Any, client: WikidataClient) -> None:
    server.answers.behave("/sparql", "retry 0", "500")
    assert client.item("Q42").id == "Q42"


def test_what_is_no_sparql_service_is_said(server: Any, web: Web, tmp_path: Path) -> None:
    server.answers.pages["X"] = "<p>X</p>"
    address = f"{server.url}/w/rest.php/v1/page/X/with_html"
    with pytest.raises(FetchError, match="is it a SPARQL endpoint"):
        WikidataClient(address, web=web, cache=Cache(tmp_path)).item("Q42")


def test_what_is_not_there_is_not_found(client: WikidataClient) -> None:
    with pytest.raises(NotFoundError, match="Q999999 does not exist"):
        client.item("Q999999")
    with pytest.raises(NotFoundError, match="'Париж' as a sitelink"):
        client.item_of("Париж", "ru")
    assert client.names(["Q999999"]) == {"Q999999": []}


@pytest.mark.parametrize("bad", ["", "42", "Q0", "Q42> ?x", "Q42 } DROP ALL #", "q42", "Q42\n"])
def test_an_id_cannot_change_a_query(bad: str, server: Any, client: WikidataClient) -> None:
    with pytest.raises(GoldassayError, match="expected a Wikidata id"):
        client.item(bad)
    assert not server.answers.seen


@pytest.mark.parametrize("title", ["a> ?p ?o . <b", 'a"b', "a\\b", "a{b}", "a\nb", "🦊", "l'été"])
def test_a_title_cannot_change_a_query(title: str, client: WikidataClient) -> None:
    with pytest.raises(NotFoundError):
        client.item_of(title, "fr")


def test_the_cache_answers_and_only_the_cache_where_asked(server: Any, web: Web, tmp_path: Path) -> None:
    first = WikidataClient(server.sparql, web=web, cache=Cache(tmp_path)).item("Q42")
    requests = len(server.answers.seen)
    only = WikidataClient(server.sparql, web=web, cache=Cache(tmp_path, use="only"))
    assert only.item("Q42").statements == first.statements
    assert only.item("Q42").fetched == first.fetched
    assert len(server.answers.seen) == requests
    with pytest.raises(
        CacheOnlyError, match=r"^'http://127\.0\.0\.1:\d+/sparql \w+' is not in .*fetch it first$"
    ) as refused:
        only.item("Q649")
    assert "SELECT" not in str(refused.value)
    WikidataClient(server.sparql, web=web, cache=Cache(tmp_path, use="none")).item("Q42")
    assert len(server.answers.seen) == 2 * requests
