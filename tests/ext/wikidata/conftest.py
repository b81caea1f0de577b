"""A small Wikipedia and Wikidata in memory, with the methods of the real clients."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from goldassay._support.exceptions import FetchError
from goldassay.ext.wikidata.client import Item, ItemStatement

CURIE_TEXT = (
    "Marie Curie, born Maria Skłodowska, was a physicist and chemist. She was born in Warsaw on 7 November 1867. "
    "In 1895 she married Pierre Curie. She won the Nobel Prize in Physics in 1903. She died in Passy on 4 July 1934."
)
NAMES = {
    "Q5": ["human"],
    "Q270": ["Warsaw", "Warszawa"],
    "Q37463": ["Pierre Curie"],
    "Q38104": ["Nobel Prize in Physics"],
    "Q44585": ["Nobel Prize in Chemistry"],
    "Q169470": ["physicist"],
    "Q593644": ["chemist"],
    "Q6581072": ["female"],
    "Q1": ["universe"],
}


def statement(name: str, value: Any, type: str = "wikibase-item", rank: str = "normal") -> ItemStatement:
    """A statement, a time where the type says so."""
    if type == "time" and isinstance(value, str):
        year, _, rest = value.partition("-")
        precision = 11 if rest else 9
        value = {"time": f"+{year}-{rest or '00-00'}T00:00:00Z", "precision": precision}
    return ItemStatement(name, value, type, rank)


CURIE = Item(
    "Q7186",
    labels={"en": "Marie Curie", "pl": "Maria Skłodowska-Curie"},
    sitelinks={"enwiki": "Marie Curie"},
    statements=(
        statement("P31", "Q5"),
        statement("P21", "Q6581072"),
        statement("P19", "Q270"),
        statement("P569", "1867-11-07", "time"),
        statement("P570", "1934-07-04", "time"),
        statement("P26", "Q37463"),
        statement("P166", "Q38104"),
        statement("P166", "Q44585"),
        statement("P106", "Q169470"),
        statement("P106", "Q593644"),
        statement("P106", "Q1", rank="deprecated"),
        statement("P214", "76353174", "external-id"),
        statement("P9999", "Q1"),  # no table has it
    ),
    fetched="2026-11-20T00:00:00+00:00",
)


class Sources:
    """Both clients in one: articles and items in dictionaries; what is absent fails as a fetch fails."""

    endpoint = "test"
    language = "en"

    def __init__(self, texts: Mapping[str, str], items: Mapping[str, Item], names: Mapping[str, Sequence[str]]) -> None:
        self.texts = dict(texts)
        self.items = dict(items)
        self.labels = names
        self.titles: list[str] = []

    def article(self, title: str) -> Any:
        self.titles.append(title)
        if title not in self.texts:
            raise FetchError(f"{title}: HTTP 404 from the test's Wikipedia")
        return SimpleNamespace(title=title, text=self.texts[title], fetched="2026-11-20T00:00:00+00:00")

    def classes(self, qids: Sequence[str]) -> dict[str, frozenset[str]]:
        return {}

    def merged_into(self, qid: str) -> str | None:
        return None

    def item(self, qid: str) -> Item:
        return self.items[qid]

    def item_of(self, title: str, language: str) -> Item:
        for item in self.items.values():
            if item.sitelinks.get(f"{language}wiki") == title:
                return item
        raise FetchError(f"no item for {title}")

    def names(self, qids: Sequence[str]) -> dict[str, list[str]]:
        return {qid: list(self.labels[qid]) for qid in qids if qid in self.labels}


@pytest.fixture
def curie() -> Item:
    return CURIE


@pytest.fixture
def curie_text() -> str:
    return CURIE_TEXT


@pytest.fixture
def names() -> dict[str, list[str]]:
    return NAMES


@pytest.fixture
def stated() -> Callable[..., ItemStatement]:
    return statement


@pytest.fixture
def sources() -> Sources:
    return Sources({"Marie Curie": CURIE_TEXT}, {"Q7186": CURIE}, NAMES)


@pytest.fixture
def make_sources() -> type[Sources]:
    return Sources
