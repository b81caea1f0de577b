"""The embedded store on Wikidata's own RDF: Turtle in the form of its dumps, N-Triples, folders, packed files."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
from benchmarks import wikibase_rdf as rdf

from goldassay.exceptions import DataError, NotFoundError
from goldassay.wikidata.client import WikidataClient
from goldassay.wikidata.entities import Item, Statement
from goldassay.wikidata.sparql import TripleStore

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


@pytest.fixture
def turtle(tmp_path: Path) -> Path:
    file = tmp_path / "tower.ttl"
    file.write_text(TURTLE, encoding="utf-8")
    return file


def test_an_item_in_the_form_of_wikidatas_own_dumps(turtle: Path) -> None:
    item = WikidataClient(turtle).item_of("Sint-Jan (toren)", "nl")
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
def test_a_place_keeps_its_globe(tmp_path: Path, globe: dict[str, Any]) -> None:
    place = Statement("P625", {"latitude": 10.0, "longitude": 20.0, **globe}, "globe-coordinate")
    rdf.write([Item("Q900", {"en": "crater"}, statements=(place,))], tmp_path / "moon.nt")
    assert WikidataClient(tmp_path / "moon.nt").item("Q900").statements == (place,)


def test_an_item_that_was_merged_is_the_one_that_it_went_to(turtle: Path) -> None:
    client = WikidataClient(turtle)
    assert client.item("Q901").id == "Q900"


def test_a_folder_and_packed_files_are_read_together(turtle: Path) -> None:
    rdf.write([Item("Q55", {"nl": "Nederland"})], turtle.parent / "more.nt")
    packed = turtle.parent / "more.nt.gz"
    packed.write_bytes(gzip.compress((turtle.parent / "more.nt").read_bytes()))
    (turtle.parent / "more.nt").unlink()
    (turtle.parent / "notes.txt").write_text("not read")
    client = WikidataClient(turtle.parent)
    assert client.names(["Q900", "Q55"]) == {"Q900": ["Sint-Jan", "Jansberg"], "Q55": ["Nederland"]}


def test_what_is_written_is_what_is_read(turtle: Path, tmp_path: Path) -> None:
    first = WikidataClient(turtle).item("Q900")
    rdf.write([first], tmp_path / "again.nt")
    again = WikidataClient(tmp_path / "again.nt").item("Q900")
    assert (again.labels, again.aliases, again.sitelinks) == (first.labels, first.aliases, first.sitelinks)
    assert sorted(map(repr, again.statements)) == sorted(map(repr, first.statements))


def test_a_string_that_looks_like_an_id_is_a_string(tmp_path: Path) -> None:
    item = Item(
        "Q1", {"en": "one"}, statements=(Statement("P528", "Q5", "string"), Statement("P31", "Q5", "wikibase-item"))
    )
    rdf.write([item], tmp_path / "one.nt")
    rows, _ = TripleStore.load(tmp_path / "one.nt").select(
        "SELECT ?v WHERE { ?s <http://www.wikidata.org/prop/statement/P528> ?v }"
    )
    assert rows[0]["v"] == {"type": "literal", "value": "Q5"}


def test_a_frozen_file_keeps_the_day_of_its_fetch(tmp_path: Path) -> None:
    days = ["2024-05-01T10:00:00+00:00", "2024-03-01T10:00:00+00:00"]
    file = tmp_path / "frozen.nt"
    rdf.write([Item(f"Q{n}", {"en": str(n)}, fetched=day) for n, day in enumerate(days, start=1)], file)
    os.utime(file, (2_000_000_000, 2_000_000_000))  # as a clone of a repository would
    assert WikidataClient(file).item("Q1").fetched.startswith("2024-03-01T10:00:00")


def test_an_item_that_the_file_lacks_is_not_found(turtle: Path) -> None:
    with pytest.raises(NotFoundError, match="Q55 is not there"):
        WikidataClient(turtle).item("Q55")  # it is a value, and nothing is said of it


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("bad.nt", b"<a> <b> .\n", "bad.nt: not RDF"),
        ("bad.ttl", b"\xff\xfe", "bad.ttl: not RDF"),
        ("bad.xml", b"<rdf/>", "expected .nt, .ttl or .nq"),
        ("bad.nt.gz", b"not packed", "bad.nt.gz: "),
        ("cut.nt.gz", gzip.compress(b"<http://a> <http://b> <http://c> .\n" * 99, mtime=0)[:40], "cut.nt.gz: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "content",
)
def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=says) as failed:
        TripleStore.load(tmp_path / name)
    assert "\n" not in str(failed.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file of statements"):
        TripleStore.load(tmp_path / "absent.nt")
    with pytest.raises(DataError, match="no such file of statements"):
        TripleStore.load(tmp_path)
