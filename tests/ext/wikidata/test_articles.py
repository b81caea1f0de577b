"""Resolving names: kinds, confidence and reasons; redirects; what must not be one."""

from __future__ import annotations

from typing import Any

import pytest

from goldassay.ext.wikidata.articles import EntityResolver, kinds_of

PERSON, CITY = frozenset({"Q5"}), frozenset({"Q515"})
NAMES = {
    "Q7186": ("Marie Curie", "Maria Skłodowska-Curie"),
    "Q270": ("Warsaw", "Warszawa"),
    "Q649": ("Москва", "Moscow"),
    "Q90": ("Париж", "Paris"),
    "Q167646": ("Paris", "Alexander"),
    "Q16": ("Sixteen", "Q270 street"),
    "Q100": ("Route 100",),
    "Q33240": ("Drake",),
}
TYPES = {
    **dict.fromkeys(("Q7186", "Q167646", "Q33240"), PERSON),
    **dict.fromkeys(("Q270", "Q649", "Q90"), CITY),
}


@pytest.fixture(scope="module")
def resolver() -> EntityResolver:
    redirects = {"Manya": "Marie Curie", "Q999": "Q270"}
    return EntityResolver(NAMES, TYPES, titles={"Marie Curie": "Q7186"}, redirects=redirects)


@pytest.mark.parametrize(
    ("name", "wanted", "id", "kind", "confidence"),
    [
        ("Q7186", (), "Q7186", "id", 1.0),
        ("http://www.wikidata.org/entity/Q90", (), "Q90", "id", 1.0),
        ("Q999", (), "Q270", "redirect", 0.98),
        ("ex:Marie_Curie", (), "Q7186", "sitelink", 1.0),
        ("https://en.wikipedia.org/wiki/Marie_Curie", (), "Q7186", "sitelink", 1.0),
        ("Manya", (), "Q7186", "redirect", 0.98),
        ("WARSAW", (), "Q270", "label", 0.95),
        ("Warszawa", (), "Q270", "alias", 0.9),
        ("Marja Skłodowska-Curie", (), "Q7186", "fuzzy", None),
        ("Drake (musician)", (), "Q33240", "label", 0.95),
        ("москва", (), "Q649", "label", 0.95),
        ("Paris", (), "Q167646", "label", 0.8),  # the label of one, an alias of the other
        ("Paris", ("place",), "Q90", "context", 0.8),
        ("Paris", ("person",), "Q167646", "context", 0.8),
        ("Route 1000", (), None, "none", 0.0),  # another number is another thing
        ("", (), None, "none", 0.0),
        ("  ", (), None, "none", 0.0),
    ],
)
def test_a_name(
    resolver: EntityResolver, name: str, wanted: tuple[str, ...], id: str | None, kind: str, confidence: float | None
) -> None:
    resolution = resolver.resolve(name, wanted)
    assert (resolution.id, resolution.kind) == (id, kind)
    assert resolution.confidence == confidence if confidence is not None else 0.8 < resolution.confidence < 0.9
    assert resolution.reason


def test_names_are_not_held_against_ids(resolver: EntityResolver) -> None:
    # "Q27" is an id, unlike any label; "Q27O" is no id and must not come near Q270
    assert resolver.resolve("Q27").id == "Q27"
    assert resolver.resolve("Q27O").id is None


def test_two_with_one_label_stay_open_unless_the_kind_decides() -> None:
    resolver = EntityResolver({"Q1": ["Springfield"], "Q2": ["Springfield"]}, {"Q1": CITY, "Q2": PERSON})
    assert resolver.resolve("Springfield").id is None
    assert resolver.resolve("Springfield").reason == "'Springfield' may be Q1, Q2"
    assert resolver.resolve("Springfield", ["place"]).id == "Q1"
    assert resolver.resolve("Springfield", ["event"]).id is None


def test_other_scripts_do_not_collapse() -> None:
    resolver = EntityResolver({"Q649": ["Москва"]})
    assert resolver.resolve("Париж").id is None


def test_classes_come_before_the_domain() -> None:
    assert kinds_of([], "biography_living") == {"person"}
    assert kinds_of(["Q5"], "geographic") == {"person"}


SCRIPTS = EntityResolver(
    {
        "Q649": ("Moscow", "Москва"),
        "Q1524": ("Athens", "Αθήνα", "Ἀθῆναι"),
        "Q9458": ("Muhammad", "محمد"),
        "Q1218": ("Jerusalem", "ירושלים"),
        "Q72": ("Zürich",),
        "Q38370": ("Henry VIII of England",),
        "Q956": ("北京",),
        "Q1490": ("東京",),
        "Q15863587": ("Re:Zero",),
    },
    redirects={"Маша": "Москва", "Q1000": "Q649"},
    titles={"Москва": "Q649"},
)


@pytest.mark.parametrize(
    ("name", "id", "kind"),
    [
        ("Москва́", "Q649", "sitelink"),  # with its stress, as the article's first line has it
        ("ΑΘΗΝΑ", "Q1524", "alias"),
        ("Αθηναι", "Q1524", "alias"),
        ("مُحَمَّد", "Q9458", "alias"),
        ("\u202bمحمد\u202c", "Q9458", "alias"),
        ("יְרוּשָׁלַיִם", "Q1218", "alias"),
        ("Zu\u0308rich", "Q72", "label"),
        ("Henry VII of England", None, "none"),
        ("京", None, "none"),
        ("Маша", "Q649", "redirect"),
        ("wd:Q1000", "Q649", "redirect"),
        ("Re:Zero", "Q15863587", "label"),  # a title with a colon is no prefixed name
        ({"label": "Moscow"}, "Q649", "label"),
    ],
)
def test_names_in_every_script(name: Any, id: str | None, kind: str) -> None:
    resolution = SCRIPTS.resolve(name)
    assert (resolution.id, resolution.kind) == (id, kind)
