"""Values by type: times, quantities, coordinates, items, texts, predicates."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay.measures.triples import numeric, objects, times
from goldassay.measures.triples.objects import EXACTLY
from goldassay.text import normal as texts


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("+1867-11-07T00:00:00Z", (1867, 11, 7, 11)),
        ("+1867-00-00T00:00:00Z", (1867, 0, 0, 9)),
        ("-0044-03-15", (-44, 3, 15, 11)),
        ("44 BC", (-44, 0, 0, 9)),
        ("14 July 1885", (1885, 7, 14, 11)),
        ("July 14, 1885", (1885, 7, 14, 11)),
        ("14. Juli 1885", (1885, 7, 14, 11)),
        ("14 juli 1885", (1885, 7, 14, 11)),
        ("1er janvier 1901", (1901, 1, 1, 11)),
        ("février 1901", (1901, 2, 0, 10)),
        ("in 1885", (1885, 0, 0, 9)),
        ("ca. 170", (170, 0, 0, 9)),
        ("00  1958", (1958, 0, 0, 9)),
        ("1880s", (1880, 0, 0, 8)),
        ("19th century", (1850, 0, 0, 7)),
        ("19e eeuw", (1850, 0, 0, 7)),
        ("19. Jahrhundert", (1850, 0, 0, 7)),
        ("XIXe siècle", (1850, 0, 0, 7)),
        ("Ier siècle", (50, 0, 0, 7)),
        (1885, (1885, 0, 0, 9)),
        ("March 15, 44 BC", (-44, 3, 15, 11)),
        ("323 B.C.E.", (-323, 0, 0, 9)),
        ("10,000 BC", (-10000, 0, 0, 9)),
        ("AD 79", (79, 0, 0, 9)),
        ("24 August 79 AD", (79, 8, 24, 11)),
        ("79 n. Chr.", (79, 0, 0, 9)),
        ("450s BC", (-450, 0, 0, 8)),
        ("5th century B.C.", (-450, 0, 0, 7)),
        ("3rd millennium BC", (-2500, 0, 0, 6)),
        ("the late 19th century", (1850, 0, 0, 7)),
        ("le 14 juillet 1789", (1789, 7, 14, 11)),
        ("on 11 March 1952", (1952, 3, 11, 11)),
        ("1952.", (1952, 0, 0, 9)),
        ({"time": "1952-03", "precision": None}, (1952, 3, 0, 10)),
    ],
)
def test_times_are_read(written: Any, expected: tuple[int, ...]) -> None:
    measured = times.read(written)
    assert measured is not None
    assert (measured.year, measured.month, measured.day, measured.precision) == expected


@pytest.mark.parametrize(
    "written",
    ["Berlin", "The 1975", "May 2", "10000", "3/4/1885", "14 Brumaire 1799", "2020-13-01", True, None, [1885],
     {"time": "1900", "precision": "day"}],
)  # fmt: skip
def test_what_is_no_time_is_none(written: Any) -> None:
    assert times.read(written) is None


@pytest.mark.parametrize(
    ("gold", "pred", "same"),
    [
        ("1885", "1885-07-13", True),
        ("1885-07", "1885-07-13", True),
        ("1885-07-13", "1885-07", False),
        ("1885-07", "1885-08", False),
        ("1880s", "1885", True),
        ("1880s", "1890", False),
        ("19th century", "1900", True),  # the century ends with 1900
        ("19th century", "1800", False),
        ("19th century", "XIXe siècle", True),
        ("1850", "19th century", False),
        ("44 BC", "44", False),
        ({"time": "-0500-00-00T00:00:00Z", "precision": 7}, "5th century BC", True),  # 500 to 401 BC
        ({"time": "-0401-00-00T00:00:00Z", "precision": 7}, "500 BC", True),
        ({"time": "-0500-00-00T00:00:00Z", "precision": 7}, "400 BC", False),
        ({"time": "-0500-00-00T00:00:00Z", "precision": 7}, "5th century", False),
        ({"time": "-0450-00-00T00:00:00Z", "precision": 8}, "455 BC", True),  # the 450s BC
        ({"time": "-3000-00-00T00:00:00Z", "precision": 6}, "3rd millennium BC", True),
    ],
)
def test_times_compare_at_golds_precision(gold: Any, pred: str, same: bool) -> None:
    spelling, other = times.read(gold), times.read(pred)
    assert spelling is not None
    assert other is not None
    assert times.same(spelling, other) is same


@pytest.mark.parametrize(
    ("time", "precision", "written"),
    [
        ("+1934-07-04", 11, "1934-07-04"), ("+1934-07-00", 10, "1934-07"), ("+1934-00-00", 9, "1934"),
        ("+1934-00-00", 8, "1930s"), ("+1900-00-00", 7, "19th century"), ("+1901-00-00", 7, "20th century"),
        ("+1150-00-00", 7, "12th century"), ("+2001-00-00", 7, "21st century"), ("+1500-00-00", 6, "2nd millennium"),
        ("-0044-03-15", 11, "-0044-03-15"), ("-0044-00-00", 9, "44 BC"), ("-0455-00-00", 8, "450s BC"),
        ("-0500-00-00", 7, "5th century BC"), ("-2500-00-00", 6, "3rd millennium BC"), ("+0079-00-00", 9, "79"),
    ],
)  # fmt: skip
def test_times_are_written_as_exactly_as_they_are_known(time: str, precision: int, written: str) -> None:
    measured = times.read({"time": f"{time}T00:00:00Z", "precision": precision})
    assert measured is not None
    assert times.words(measured) == written
    again = times.read(written)
    assert again is not None
    assert again.precision == precision
    assert times.same(measured, again)


def test_calendars() -> None:
    # the October Revolution: 25 October 1917 in the Julian calendar is 7 November in the Gregorian
    julian = times.read({"time": "+1917-10-25T00:00:00Z", "precision": 11, "calendarmodel": f"http://w/{times.JULIAN}"})
    gregorian = times.read({"time": "1917-11-07", "calendar": "gregorian"})
    bare = times.read("25 October 1917")
    assert julian is not None
    assert gregorian is not None
    assert bare is not None
    assert times.same(julian, gregorian)
    assert times.same(gregorian, julian)
    assert times.same(julian, bare)
    assert not times.same(gregorian, bare)


def test_calendars_before_christ() -> None:
    # 1 BC is a leap year of the Julian calendar: 29 February is 27 February in the Gregorian
    leap = times.Time(-1, 2, 29, 11, times.JULIAN)
    assert times.same(leap, times.Time(-1, 2, 27, 11, times.GREGORIAN))


@pytest.mark.parametrize(
    ("gold", "pred", "same"),
    [
        (100, "1000", False),
        (1000, "1,000", True),
        (1000, "1.000", True),
        (1, "1.000", True),  # a point and three digits has two readings
        (1234.5, "1.234,5", True),
        (1234.5, "1,234.5", True),
        (3.5, "3,5", True),
        (1234567, "1 234 567", True),
        (1500000, "1.5 million", True),
        (2000000, "2 miljoen", True),
        ("1 km", "1000 m", True),
        ("1 km", "1000 kg", False),
        ("5 kg", "5", False),
        ("12 ha", "120000 m²", True),
        ({"amount": "+100", "unit": "http://www.wikidata.org/entity/Q11573"}, "100 metres", True),
        ({"amount": "+100", "unit": "1"}, "100", True),
        ({"amount": "+100", "unit": "1", "lowerBound": "+95", "upperBound": "+105"}, "103", True),
        ({"amount": "+100", "unit": "1", "lowerBound": "+95", "upperBound": "+105"}, "106", False),
        ("€ 5", "5 euro", True),
        ("−5", "-5", True),
        ({"amount": "+100", "unit": "http://www.wikidata.org/entity/Q180154"}, "100 km/h", True),
        ({"amount": "+120", "unit": "wd:Q7727"}, "2 hours", True),
        ({"amount": "+219", "unit": "wd:Q712226"}, "219 square kilometres", True),
        ({"amount": "+219", "unit": "wd:Q712226"}, "219 km2", True),
        ({"amount": "+8848", "unit": "wd:Q11573"}, "8,848 m above sea level", True),
        ({"amount": "+8848", "unit": "wd:Q11573"}, "8,848 feet", False),
        ({"amount": "-273", "unit": "wd:Q25267"}, "−273 °C", True),
        ({"amount": "+1000000", "unit": "wd:Q4917"}, "US$1 million", True),
        ({"amount": "+1000000", "unit": "wd:Q4917"}, "£1 million", False),
        ({"amount": "+1000000", "unit": "wd:Q25224"}, "GBP 1 mln", True),
        (15000, "15,000 employees", True),
        (15000, "about 15,000", True),
        (15000, "15,000 km", False),
        (1, "1e6", False),
        (511, "5'11\"", False),
        (1020, "10 20", False),
        (7, "seven", False),
    ],
)
def test_quantities_compare_by_value_and_unit(gold: Any, pred: Any, same: bool) -> None:
    wanted = objects.read({"object": gold}, "quantity")
    assert EXACTLY.same(wanted, objects.read({"object": pred}, "quantity")) is same


@pytest.mark.parametrize(
    ("gold", "pred", "same"),
    [
        ({"latitude": 52.36, "longitude": 4.885}, "52.3600, 4.8850", True),
        ("Point(4.885 52.36)", "52°21′36″N 4°53′6″E", True),
        ("Point(4.885 52.36)", "4.885, 52.36", False),  # longitude and latitude exchanged
        ("Point(-0.127 51.507)", "51°30′25″N 0°7′37″W", True),
        ("52.36, 4.885", "52.37, 4.885", False),  # 1.1 km
        ({"latitude": 52.36, "longitude": 4.885, "precision": 0.1}, "52.37, 4.885", True),
        ({"value": "52.36, 4.885"}, [52.36, 4.885], True),
        ("52.36, 4.885", "Amsterdam", False),
        ("52.36, 4.885", "152.36, 4.885", False),
        ("52.36, 4.885", {"latitude": "1e999", "longitude": 4.885}, False),
        ("52.36, 4.885", "52.36°N 4.885°E", True),
        ("-17, 179.999", "-17, -179.999", True),  # on both sides of the antimeridian
        ("90, 0", "90, 120", True),  # the pole has every longitude
        ({"latitude": 10, "longitude": 20, "globe": "http://www.wikidata.org/entity/Q405"}, "10, 20", True),
        (
            {"latitude": 10, "longitude": 20, "globe": "http://www.wikidata.org/entity/Q405"},
            {"latitude": 10, "longitude": 20, "globe": "Q2"},
            False,  # the Moon and the Earth
        ),
        ("<http://www.wikidata.org/entity/Q111> Point(20 10)", {"latitude": 10, "longitude": 20, "globe": "Q2"}, False),
    ],
)
def test_coordinates_compare_by_distance(gold: Any, pred: Any, same: bool) -> None:
    wanted = objects.read({"object": gold}, "coordinate")
    assert EXACTLY.same(wanted, objects.read({"object": pred}, "coordinate")) is same


@pytest.mark.parametrize("kind", ["item", "time", "quantity", "coordinate", "identifier", "text"])
@pytest.mark.parametrize(
    "raw",
    [{"latitude": "north", "longitude": 2}, ["a", "b"], {"time": "1900", "precision": "day"}, {"amount": {"x": 1}},
     10**400, [None, None]],
)  # fmt: skip
def test_a_broken_value_is_no_value_of_its_kind(kind: str, raw: Any) -> None:
    assert not EXACTLY.same(objects.read({"object": raw}, kind), objects.read({"object": "5"}, kind))


def test_distance_on_the_sphere() -> None:
    # Amsterdam to Paris is about 430 km
    measured = numeric.distance(numeric.Coordinate(52.3676, 4.9041), numeric.Coordinate(48.8566, 2.3522))
    assert measured == pytest.approx(430, abs=2)


@pytest.mark.parametrize(
    ("gold", "pred", "same"),
    [
        ({"object": "Q5"}, {"object": "wd:Q5"}, True),
        ({"object": "Q5"}, {"object": "http://www.wikidata.org/entity/Q5"}, True),
        ({"object": "Q5", "object_labels": ["human", "mens"]}, {"object": "Mens"}, True),
        ({"object": "Warsaw", "object_id": "Q270"}, {"object": "Warszawa", "object_id": "Q270"}, True),
        ({"object": "Warsaw", "object_id": "Q270"}, {"object": "Warsaw", "object_id": "Q271"}, False),
        ({"object": {"id": "Q270", "label": "Warsaw"}}, {"object": "Warsaw"}, True),
        ({"object": {"value": {"id": "Q270"}}}, {"object": "Q270"}, True),
        ({"object": "Karl II"}, {"object": "Karl III"}, False),
        ({"object": "http://dbpedia.org/resource/Mus%C3%A9e_d'Orsay"}, {"object": "Musée d’Orsay"}, True),
        ({"object": ""}, {"object": ""}, False),
    ],
)
def test_items_compare_by_id_then_by_label(gold: dict[str, Any], pred: dict[str, Any], same: bool) -> None:
    assert EXACTLY.same(objects.read(gold, "item"), objects.read(pred, "item")) is same


@pytest.mark.parametrize(
    ("gold", "pred", "same"),
    [
        ("Москва", "Париж", False),
        ("北京", "東京", False),
        ("हिन्दी", "हनद", False),
        ("Café Müller", "Cafe\u0301 Mu\u0308ller", True),
        ("Straße", "STRASSE", True),
        ("Ruth Manning-Sanders", "Ruth Manning Sanders", True),
        ("Ruth Manning-Sanders", "Raymond Briggs", False),
        ("MS 100", "MS 1000", False),
        ("Henry VIII of England", "Henry VII of England", False),
        ("Москва́", "Москва", True),  # the stress is marked in an encyclopedia's first line only
        ("И\u0306ошкар-Ола", "Йошкар-Ола", True),
        ("й", "и", False),  # another letter, not a mark
        ("ΟΔΥΣΣΕΥΣ", "Οδυσσεύς", True),  # capitals have no accent
        ("مُحَمَّد", "محمد", True),
        ("שָׁלוֹם", "שלום", True),
        ("Zü\u00adrich", "Zürich", True),
        ("\u200fمحمد", "محمد", True),
        ("!!!", "???", False),
        ("!!!", "!!!", True),
    ],
)
def test_texts_compare_in_every_script(gold: str, pred: str, same: bool) -> None:
    assert texts.similar(gold, pred) is same


@pytest.mark.parametrize(
    ("triple", "kind"),
    [
        ({"object": "1885", "object_type": "time"}, "time"),
        ({"object": "1885", "object_type": "xsd:gYear"}, "time"),
        ({"object": "x", "object_type": "http://www.w3.org/2001/XMLSchema#date"}, "time"),
        ({"object": "1867-11-07", "object_type": "literal"}, "time"),
        ({"object": "x", "object_type": "wikibase-item"}, "item"),
        ({"object": "x", "object_id": "Q1"}, "item"),
        ({"object": {"entity-type": "item", "id": "Q1"}}, "item"),
        ({"object": {"time": "+1885-00-00T00:00:00Z"}}, "time"),
        ({"object": {"amount": "+1"}}, "quantity"),
        ({"object": {"latitude": 1, "longitude": 2}}, "coordinate"),
        ({"object": {"text": "Rijksmuseum", "language": "nl"}}, "text"),
        ({"object": "Point(1 2)"}, "coordinate"),
        ({"object": "1,000"}, "quantity"),
        ({"object": 3.5}, "quantity"),
        ({"object": "Amsterdam"}, "text"),
        ({"object": "NL-AsdRM", "object_type": "external-id"}, "identifier"),
    ],
)
def test_the_type_of_a_value(triple: dict[str, Any], kind: str) -> None:
    assert objects.kind(triple) == kind


@pytest.mark.parametrize(
    ("spelling", "other"),
    [
        ("dateOfBirth", "date of birth"),
        ("wikidata:P571", "wdt:P571"),
        ("wdt:P571", "P571"),
        ("p571", "P571"),
        ("http://www.wikidata.org/entity/P571", "https://www.wikidata.org/prop/direct/P571"),
        ("http://www.wikidata.org/wiki/Property:P571", "wd:P571"),
        ("schema:birthDate", "<https://schema.org/birthDate>"),
        ("dct:created", "dcterms:created"),
        ("date_of_birth", "Date of  birth"),
    ],
)
def test_one_predicate_in_several_spellings(spelling: str, other: str) -> None:
    assert objects.canonical(spelling) == objects.canonical(other)


def test_prefixes_may_be_given() -> None:
    prefixes = (("pgc", "http://example.org/pgc/"),)
    assert objects.canonical("pgc:birthDate", prefixes) == objects.canonical("http://example.org/pgc/birthDate")
    table = objects.TripleMatching(alignment=(("pgc:birthDate", "P569"),), prefixes=prefixes)
    assert table.properties("http://example.org/pgc/birthDate") == {"P569"}


def test_readings_of_items_and_quantities() -> None:
    assert objects.item(None) is None
    assert objects.item({"wikidata": "Q1"}) == objects.NamedItem("Q1", frozenset())
    assert numeric.quantity(None) is None
    assert numeric.quantity(True) is None
    assert numeric.quantity({"unit": "m"}) is None


def test_a_preposition_is_no_unit() -> None:
    total, inches, metric = (numeric.quantity(text) for text in ("12 in total", "12 in", "30.48 cm"))
    assert total is not None
    assert inches is not None
    assert metric is not None
    assert numeric.same_quantity(numeric.Quantity((12.0,)), total)
    assert not numeric.same_quantity(numeric.Quantity((12.0,)), inches)
    assert numeric.same_quantity(inches, metric)
