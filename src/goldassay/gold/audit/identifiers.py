"""Identifiers that are well formed: Wikidata, VIAF, ISIL, GND, ORCID and a few more. Whether they exist is not asked.

ISIL is ISO 15511: a country code (or one, three or four letters for what is no country), a hyphen, and up to eleven
letters, digits, ``:``, ``/`` and ``-``; sixteen characters at most.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from goldassay.gold.audit.finding import Finding
from goldassay.gold.audit.rows import Row

PATTERNS = {
    "wikidata": (re.compile(r"Q[1-9][0-9]*"), "a Wikidata item is Q and a number"),
    "viaf": (re.compile(r"[1-9][0-9]{0,21}"), "a VIAF id is digits alone, at most 22"),
    "isil": (
        re.compile(r"(?=.{1,16}\Z)(?:[A-Z]{2}|[A-Za-z]|[A-Za-z]{3,4})-[A-Za-z0-9:/-]{1,11}"),
        "an ISIL is a prefix, a hyphen and up to eleven letters, digits or :/-",
    ),
    "gnd": (re.compile(r"[0-9]{1,11}-?[0-9X]"), "a GND id is digits, with a check digit or X"),
    "orcid": (re.compile(r"(?:[0-9]{4}-){3}[0-9]{3}[0-9X]"), "an ORCID is four groups of four digits"),
    "ror": (re.compile(r"0[a-hj-km-np-tv-z0-9]{6}[0-9]{2}"), "a ROR id is 0, six letters or digits and two digits"),
    "isni": (re.compile(r"[0-9]{15}[0-9X]"), "an ISNI is sixteen digits, the last one perhaps X"),
    "geonames": (re.compile(r"[1-9][0-9]*"), "a GeoNames id is a number"),
}
PROPERTY = re.compile(r"P[1-9][0-9]*")
LOOKS_LIKE_PROPERTY = re.compile(r"[Pp]\s*[0-9]\w*")


def fault(base: str, value: str) -> str | None:
    """What is wrong with an identifier; None where nothing is, or where the base is not known here.

    >>> fault("wikidata", "Q190804"), fault("isil", "NL-AmRM"), fault("isil", "OCLC-DLC")
    (None, None, None)
    >>> fault("wikidata", "190804")
    "a Wikidata item is Q and a number, found '190804'"
    """
    pattern, rule = PATTERNS.get(base.casefold(), (None, ""))
    return None if pattern is None or pattern.fullmatch(value) else f"{rule}, found {value!r}"


def audit(row: Row) -> Iterator[Finding]:
    """The identifiers of a record."""
    if row.task == "linking":
        for index, link in enumerate(row.record["links"]):
            yield from _ids(row, link["ids"], f"links[{index}].ids")
    if row.task == "triples":
        for index, triple in enumerate(row.record["triples"]):
            where = f"triples[{index}]"
            for key in ("predicate", "predicate_id"):
                name = triple.get(key)
                if name and LOOKS_LIKE_PROPERTY.fullmatch(name) and not PROPERTY.fullmatch(name):
                    yield row.finding("identifier", f"a property is P and a number, found {name!r}", f"{where}.{key}")
            for key in ("subject_id", "object_id"):
                wrong = fault("wikidata", triple[key]) if triple.get(key) else None
                if wrong:
                    yield row.finding("identifier", wrong, f"{where}.{key}")


def _ids(row: Row, ids: Mapping[str, list[str]], where: str) -> Iterator[Finding]:
    for base, found in ids.items():
        for value in found:
            wrong = fault(base, value)
            if wrong:
                yield row.finding("identifier", wrong, f"{where}.{base}")
        if len(set(found)) < len(found):
            yield row.finding("repeated", "an identifier stands here twice", f"{where}.{base}")
