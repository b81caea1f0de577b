"""Items from the query service and from a local store: the same queries, the same items."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from goldassay.cache import Cache
from goldassay.exceptions import CacheOnlyError, DataError, FetchError, GoldassayError, NotFoundError
from goldassay.wikidata import sparql
from goldassay.wikidata.client import WikidataClient
from goldassay.wikidata.store import TripleStore, library
from goldassay.wikidata.web import Web

ALL = 9  # the statements of Q42 in conftest


@pytest.fixture(params=["service", "store"])
def client(request: pytest.FixtureRequest, server: Any, web: Web, frozen: Path, tmp_path: Path) -> WikidataClient:
    endpoint = server.sparql if request.param == "service" else frozen
    return WikidataClient(endpoint, web=web, cache=Cache(tmp_path))


def test_an_item_comes_back_as_it_was_written(client: WikidataClient) -> None:
    item = client.item_of("Douglas Adams")
    assert (item.id, item.labels["en"], item.sitelinks) == (
        "Q42",
        "Douglas Adams",
        {"enwiki": "Douglas Adams", "ruwiki": "Адамс, Дуглас"},
    )
    assert set(item.aliases["en"]) == {"DNA", "Douglas Noel Adams"}
    said = {one.property: one for one in item.statements}
    assert said["P31"].value == "Q5"
    assert {key: said["P569"].value[key] for key in ("precision", "time")} == {
        "time": "+1952-03-11T00:00:00Z",
        "precision": 11,
    }
    assert (float(said["P2048"].value["amount"]), said["P2048"].value["unit"]) == (1.96, "Q11573")
    assert (said["P625"].value["latitude"], said["P625"].value["longitude"]) == (52.5, 4.25)
    assert said["P1559"].value == {"text": "Douglas", "language": "en"}
    assert said["P551"].rank == "deprecated"  # kept with its rank; the measures leave it out
    assert said["P40"].value is None  # a value that nobody knows


def test_identifiers_and_images_are_left_out_unless_wanted(client: WikidataClient) -> None:
    assert {one.property for one in client.item("Q42").statements}.isdisjoint({"P214", "P18"})
    client.excluded = set()
    assert {"P214", "P18"} <= {one.property for one in client.item("Q42").statements}
    assert len(client.item("Q42").statements) == ALL


def test_names_are_labels_then_aliases(client: WikidataClient) -> None:
    found = client.names(["Q5", "Q42", "Q999"])
    assert found["Q5"] == ["human", "mens"]
    assert found["Q42"][0] == "Douglas Adams"
    assert set(found["Q42"]) == {"Douglas Adams", "DNA", "Douglas Noel Adams"}
    assert found["Q999"] == []


def test_titles_of_any_script(client: WikidataClient) -> None:
    assert client.item_of("Москва", "ru").id == "Q649"
    assert client.item_of("Адамс, Дуглас", "ru").id == "Q42"
    with pytest.raises(NotFoundError, match="no item has the en article 'Москва'"):
        client.item_of("Москва", "en")


def test_what_is_not_there_is_no_item_without_statements(client: WikidataClient) -> None:
    with pytest.raises(NotFoundError, match="Q12345 is not there"):
        client.item("Q12345")


@pytest.mark.parametrize("wrong", ["Q42 . ?s ?p ?o", "42", "", "Q0", "q42"])
def test_an_id_that_is_none_never_becomes_a_query(wrong: str, client: WikidataClient) -> None:
    with pytest.raises(GoldassayError, match="expected a Wikidata id"):
        client.item(wrong)


def test_a_merged_item_is_followed(frozen: Path) -> None:
    o = library()
    store = TripleStore.load(frozen)
    old, new = (o.NamedNode(sparql.ENTITY + qid) for qid in ("Q77", "Q42"))
    store.rdf.add(o.Quad(old, o.NamedNode(f"{sparql.OWL}sameAs"), new))
    client = WikidataClient(store)
    assert client.item("Q77").id == "Q42"


def test_no_limit_of_the_server_loses_a_statement(server: Any, web: Web, tmp_path: Path) -> None:
    """Thirty statements through a server that gives seven rows at most."""
    server.answers.limit = 7
    client = WikidataClient(server.sparql, web=web, cache=Cache(tmp_path))
    assert len({one.value for one in client.item("Q649").statements}) == 30


def test_a_failed_fetch_is_a_failure(server: Any, web: Web, tmp_path: Path) -> None:
    server.answers.behave("/sparql", "500", "500", "500")
    client = WikidataClient(server.sparql, web=web, cache=Cache(tmp_path))
    with pytest.raises(FetchError, match="status 500 in 3 attempts"):
        client.item("Q42")
    assert len(client.item("Q42").statements) == ALL - 2  # the failure was not kept


def test_what_was_fetched_is_not_asked_for_again(server: Any, web: Web, tmp_path: Path) -> None:
    first = WikidataClient(server.sparql, web=web, cache=Cache(tmp_path)).item("Q42")
    asked = server.answers.asked("/sparql")
    again = WikidataClient(server.sparql, web=web, cache=Cache(tmp_path, use="only")).item("Q42")
    assert server.answers.asked("/sparql") == asked
    assert again == first
    assert first.fetched
    with pytest.raises(CacheOnlyError):
        WikidataClient(server.sparql, web=web, cache=Cache(tmp_path, use="only")).item("Q649")
    WikidataClient(server.sparql, web=web, cache=Cache(tmp_path, use="none")).item("Q42")
    assert server.answers.asked("/sparql") > asked  # not twice as often: a connection that broke is tried again


def test_something_else_than_sparql_is_said(server: Any, web: Web, tmp_path: Path) -> None:
    server.answers.pages["x"] = "<p>x</p>"
    client = WikidataClient(f"{server.url}/w/rest.php/v1/page/x/with_html", web=web, cache=Cache(tmp_path))
    with pytest.raises(FetchError, match="is it a SPARQL endpoint"):
        client.item("Q42")


def test_service_and_store_give_the_same_item(server: Any, web: Web, frozen: Path, tmp_path: Path) -> None:
    here = WikidataClient(frozen).item("Q42")
    there = WikidataClient(server.sparql, web=web, cache=Cache(tmp_path)).item("Q42")
    assert replace(here, fetched="") == replace(there, fetched="")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.nt", "<http://a> <http://b> .\n", "not RDF"),
        ("a.csv", "a,b", "expected .nt, .ttl or .nq"),
        ("missing.nt", None, "no such file of statements"),
    ],
)
def test_files_that_are_no_statements(name: str, content: str | None, says: str, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(DataError, match=says):
        WikidataClient(tmp_path / name)
