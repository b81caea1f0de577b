"""A service of Wikidata's own RDF: Turtle in the form of its dumps, and items written in that form."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests import wikibase_rdf as rdf

from goldassay._support.cache import Cache
from goldassay._support.exceptions import DataError, GoldassayError, NotFoundError
from goldassay.ext.wikidata.client import Item, ItemStatement, WikidataClient
from goldassay.ext.wikidata.web import Web

JULIAN = "http://www.wikidata.org/entity/Q1985786"
TURTLE = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix s: <http://www.wikidata.org/entity/statement/> .
@prefix v: <http://www.wikidata.org/value/> .
@prefix ref: <http://www.wikidata.org/reference/> .
@prefix data: <https://www.wikidata.org/wiki/Special:EntityData/> .
@prefix p: <http://www.wikidata.org/prop/> .
@prefix ps: <http://www.wikidata.org/prop/statement/> .
@prefix psv: <http://www.wikidata.org/prop/statement/value/> .
@prefix psn: <http://www.wikidata.org/prop/statement/value-normalized/> .
@prefix pq: <http://www.wikidata.org/prop/qualifier/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix wdno: <http://www.wikidata.org/prop/novalue/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix schema: <http://schema.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix prov: <http://www.w3.org/ns/prov#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
data:Q900 a schema:Dataset ; schema:about wd:Q900 ; schema:version "1"^^xsd:integer .
<https://nl.wikipedia.org/wiki/Sint-Jan_(toren)> a schema:Article ; schema:about wd:Q900 ;
  schema:inLanguage "nl" ; schema:isPartOf <https://nl.wikipedia.org/> ; schema:name "Sint-Jan (toren)"@nl .
wd:Q900 a wikibase:Item ; rdfs:label "Sint-Jan"@nl ; skos:prefLabel "Sint-Jan"@nl ; schema:name "Sint-Jan"@nl ;
  skos:altLabel "Jansberg"@nl ; wdt:P571 "1498-07-01T00:00:00Z"^^xsd:dateTime ;
  p:P571 s:Q900-A ; p:P2048 s:Q900-B ; p:P84 s:Q900-C ; p:P84 s:Q900-D ; p:P17 s:Q900-E ; p:P625 s:Q900-F .
s:Q900-A a wikibase:Statement, wikibase:BestRank ; wikibase:rank wikibase:PreferredRank ;
  ps:P571 "1498-07-01T00:00:00Z"^^xsd:dateTime ; psv:P571 v:a ; prov:wasDerivedFrom ref:x, ref:y ;
  pq:P1480 wd:Q5727902 ; pq:P84 <http://www.wikidata.org/.well-known/genid/9> .
v:a a wikibase:TimeValue ; wikibase:timeValue "1498-07-01T00:00:00Z"^^xsd:dateTime ;
  wikibase:timePrecision "11"^^xsd:integer ; wikibase:timeTimezone "0"^^xsd:integer ;
  wikibase:timeCalendarModel wd:Q1985786 .
s:Q900-B a wikibase:Statement ; wikibase:rank wikibase:NormalRank ;
  ps:P2048 "+45.5"^^xsd:decimal ; psv:P2048 v:b ; psn:P2048 v:c .
v:b wikibase:quantityAmount "+45.5"^^xsd:decimal ; wikibase:quantityUnit wd:Q11573 ;
  wikibase:quantityUpperBound "+46"^^xsd:decimal ; wikibase:quantityLowerBound "+45"^^xsd:decimal ;
  wikibase:quantityNormalized v:c .
v:c wikibase:quantityAmount "+4550"^^xsd:decimal ; wikibase:quantityUnit wd:Q174728 .
s:Q900-C wikibase:rank wikibase:NormalRank ; ps:P84 <http://www.wikidata.org/.well-known/genid/0f> .
s:Q900-D a wdno:P84 ; wikibase:rank wikibase:NormalRank .
s:Q900-E wikibase:rank wikibase:DeprecatedRank ; ps:P17 wd:Q55 .
s:Q900-F wikibase:rank wikibase:NormalRank ; ps:P625 "Point(4.25 52.5)" ; psv:P625 v:f .
v:f wikibase:geoLatitude "52.5"^^xsd:double ; wikibase:geoLongitude "4.25"^^xsd:double ;
  wikibase:geoPrecision "0.01"^^xsd:double ; wikibase:geoGlobe wd:Q2 .
wd:Q901 owl:sameAs wd:Q900 .
""" + "".join(
    f"wd:{name} a wikibase:Property ; wikibase:propertyType wikibase:{kind} ; wikibase:claim p:{name} ; "
    f"wikibase:statementProperty ps:{name} ; wikibase:statementValue psv:{name} ; wikibase:qualifier pq:{name} .\n"
    for name, kind in {
        "P571": "Time",
        "P2048": "Quantity",
        "P84": "WikibaseItem",
        "P17": "WikibaseItem",
        "P625": "GlobeCoordinate",
        "P1480": "WikibaseItem",
    }.items()
)


Open = Callable[[Path], WikidataClient]


@pytest.fixture
def client(serve: Callable[[Path], Any], web: Web, tmp_path: Path) -> Open:
    """A client of a server of a file."""
    return lambda file: WikidataClient(serve(file).sparql, web=web, cache=Cache(tmp_path / file.stem))


@pytest.fixture
def written(client: Open, tmp_path: Path) -> Callable[[Iterable[Item]], WikidataClient]:
    """A client of items."""

    def write(items: Iterable[Item]) -> WikidataClient:
        rdf.write(items, tmp_path / "items.nt")
        return client(tmp_path / "items.nt")

    return write


@pytest.fixture
def turtle(client: Open, tmp_path: Path) -> WikidataClient:
    (tmp_path / "tower.ttl").write_text(TURTLE, encoding="utf-8")
    return client(tmp_path / "tower.ttl")


def test_an_item_in_the_form_of_wikidatas_own_dumps(turtle: WikidataClient) -> None:
    item = turtle.item_of("Sint-Jan (toren)", "nl")
    assert (item.id, item.labels, item.aliases) == ("Q900", {"nl": "Sint-Jan"}, {"nl": ["Jansberg"]})
    assert item.sitelinks == {"nlwiki": "Sint-Jan (toren)"}
    date, height, architect, country, place = item.statements
    # 22 June 1498 is what Wikidata shows; its RDF has the Gregorian day, nine days on, and says that it is Julian.
    assert date.value == {"time": "+1498-06-22T00:00:00Z", "precision": 11, "calendarmodel": JULIAN}
    assert date.rank == "preferred"
    assert {key: float(height.value[key]) for key in ("amount", "upperBound", "lowerBound")} == {
        "amount": 45.5,
        "upperBound": 46.0,
        "lowerBound": 45.0,
    }
    assert height.value["unit"] == "Q11573"  # and not the normalised centimetres
    assert architect.value is None  # unknown; that there is none (the fourth) is no value at all
    assert (country.value, country.rank) == ("Q55", "deprecated")
    assert place.value == {"latitude": 52.5, "longitude": 4.25, "precision": 0.01, "globe": "Q2"}


@pytest.mark.parametrize("globe", [{"globe": "Q405"}, {"globe": "Q405", "precision": 0.5}, {"precision": 0.5}, {}])
def test_a_place_keeps_its_globe(written: Any, globe: dict[str, Any]) -> None:
    place = ItemStatement("P625", {"latitude": 10.0, "longitude": 20.0, **globe}, "globe-coordinate")
    assert written([Item("Q900", {"en": "crater"}, statements=(place,))]).item("Q900").statements == (place,)


def test_an_item_that_was_merged_is_the_one_that_it_went_to(turtle: WikidataClient) -> None:
    assert turtle.item("Q901").id == "Q900"
    assert [turtle.merged_into(qid) for qid in ("Q901", "Q900")] == ["Q900", None]


def test_what_is_written_is_what_is_read(turtle: WikidataClient, written: Any) -> None:
    first = turtle.item("Q900")
    again = written([first]).item("Q900")
    assert (again.labels, again.aliases, again.sitelinks) == (first.labels, first.aliases, first.sitelinks)
    assert sorted(map(repr, again.statements)) == sorted(map(repr, first.statements))


def test_a_string_that_looks_like_an_id_is_a_string(written: Any) -> None:
    statements = ItemStatement("P528", "Q5", "string"), ItemStatement("P31", "Q5", "wikibase-item")
    item = written([Item("Q1", {"en": "one"}, statements=statements)]).item("Q1")
    assert sorted(item.statements, key=repr) == sorted(statements, key=repr)
    assert item.items() == ["Q5"]


def test_an_item_that_the_service_lacks_is_not_found(turtle: WikidataClient) -> None:
    with pytest.raises(NotFoundError, match="Q55 does not exist"):
        turtle.item("Q55")  # it is a value, and nothing is said of it


def test_classes_of_several_items(written: Any) -> None:
    of = [ItemStatement("P31", name, "wikibase-item") for name in ("Q515", "Q5119")]
    client = written(
        [Item("Q90", {"en": "Paris"}, statements=tuple(of)), Item("Q2", {"en": "x"}), Item("Q3", {"en": "Paris"})]
    )
    assert client.classes(["Q90", "Q2"]) == {"Q90": {"Q515", "Q5119"}}
    assert client.classes([]) == {}
    with pytest.raises(GoldassayError):
        client.classes(["Q90> . ?s ?p ?o"])


def test_the_classes_of_more_items_than_one_query_takes(written: Any) -> None:
    items = [Item(f"Q{n}", statements=(ItemStatement("P31", "Q5", "wikibase-item"),)) for n in range(1, 121)]
    assert len(written(items).classes([item.id for item in items])) == 120


def test_a_local_file_answers_as_the_service_does(turtle: WikidataClient, tmp_path: Path) -> None:
    item = WikidataClient(str(tmp_path / "tower.ttl")).item_of("Sint-Jan (toren)", "nl")
    assert replace(turtle.item("Q900"), fetched="") == item
    (tmp_path / "bad.nt").write_text("<a> <b> .")
    with pytest.raises(DataError, match="bad.nt: not RDF"):
        WikidataClient(str(tmp_path / "bad.nt"))
