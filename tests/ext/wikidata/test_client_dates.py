"""Dates of Wikidata's RDF against those of its JSON: pairs that Wikibase itself makes, and there and back."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wikibase_rdf import to_rdf

from goldassay.ext.wikidata.client import from_rdf

GREGORIAN = "http://www.wikidata.org/entity/Q1985727"
JULIAN = "http://www.wikidata.org/entity/Q1985786"
# What Wikibase's own exporter makes of a JSON time (its rules for XSD 1.1), and Q16931292's P571 as T246731 has it.
PAIRS = [
    ("+2014-01-05T00:00:00Z", 11, GREGORIAN, "2014-01-05T00:00:00Z"),
    ("-0200-00-00T00:00:00Z", 9, GREGORIAN, "-0199-01-01T00:00:00Z"),
    ("-0001-00-00T00:00:00Z", 9, GREGORIAN, "0000-01-01T00:00:00Z"),
    ("-2000000200-05-22T00:00:00Z", 8, GREGORIAN, "-2000000200-01-01T00:00:00Z"),
    ("-98765432198765-00-00T00:00:00Z", 9, GREGORIAN, "-98765432198764-01-01T00:00:00Z"),
    ("+2014-01-05T00:00:00Z", 11, JULIAN, "2014-01-18T00:00:00Z"),
    ("-2014-01-05T00:00:00Z", 11, JULIAN, "-2014-12-19T00:00:00Z"),
    ("-2014-01-05T00:00:00Z", 9, JULIAN, "-2013-01-01T00:00:00Z"),
    ("-0100-07-12T00:00:00Z", 11, JULIAN, "-0099-07-10T00:00:00Z"),
    ("+1498-06-22T00:00:00Z", 11, JULIAN, "1498-07-01T00:00:00Z"),
    ("+1498-06-00T00:00:00Z", 10, JULIAN, "1498-06-01T00:00:00Z"),
]


@pytest.mark.parametrize(("json", "precision", "calendar", "rdf"), PAIRS)
def test_a_time_of_json_as_wikibase_exports_it_and_back(json: str, precision: int, calendar: str, rdf: str) -> None:
    assert to_rdf(json, precision, calendar) == rdf
    back = from_rdf(rdf, precision, calendar)
    parts = {9: 1, 10: 2, 11: 3}.get(precision, 1)  # finer parts are dropped
    assert back.lstrip("+-").split("T")[0].split("-")[:parts] == json.lstrip("+-").split("T")[0].split("-")[:parts]
    assert back[0] == json[0]


@given(st.dates(), st.sampled_from([GREGORIAN, JULIAN]))
def test_every_day_comes_back(day: date, calendar: str) -> None:
    time = f"+{day.isoformat()}T00:00:00Z"
    assert from_rdf(to_rdf(time, 11, calendar), 11, calendar) == time


def test_the_calendars_part_by_ten_days_in_1582_and_thirteen_in_2000() -> None:
    # Thursday 4 October 1582 (Julian) was followed by Friday 15 October 1582 (Gregorian).
    assert to_rdf("+1582-10-05T00:00:00Z", 11, JULIAN) == "1582-10-15T00:00:00Z"
    assert to_rdf("+2000-02-29T00:00:00Z", 11, JULIAN) == "2000-03-13T00:00:00Z"


@pytest.mark.parametrize("odd", ["+0000-01-01T00:00:00Z", "soon", ""])
def test_what_is_no_date_stays(odd: str) -> None:
    assert to_rdf(odd, 11, JULIAN) == odd.removeprefix("+")
