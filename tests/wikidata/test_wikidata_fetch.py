"""``goldassay wikidata fetch``: from a real query service into the cache, which answers the same offline."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from benchmarks import wikibase_rdf as rdf
from typer.testing import CliRunner, Result

from goldassay.cache import Cache
from goldassay.cli import app
from goldassay.exceptions import GoldassayError
from goldassay.wikidata.client import WikidataClient
from goldassay.wikidata.entities import Item, Statement
from goldassay.wikidata.web import WikipediaClient


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two articles in its cache."""
    monkeypatch.chdir(tmp_path)
    client = WikipediaClient("en")
    for title in ("Douglas Adams", "Nobody at all"):
        kept: dict[str, Any] = {"title": title, "text": "x"}
        client.cache.get("en", f"{client.base} {title}", lambda kept=kept: kept)  # type: ignore[misc]
    return tmp_path


def fetch(*more: object) -> Result:
    return CliRunner().invoke(app, ["wikidata", "fetch", *(str(one) for one in more)])


def test_what_was_fetched_answers_as_the_service_did(server: Any, folder: Path) -> None:
    done = fetch("--article", "Douglas Adams", "--endpoint", server.sparql)
    assert done.exit_code == 0, (done.output, done.exception)
    assert "1 of 1 articles" in done.stdout
    there = WikidataClient(server.sparql, cache=Cache(use="none")).item("Q42")
    seen = len(server.answers.seen)
    languages = ("en", "en", "nl", "de", "fr", "mul")
    offline = WikidataClient(server.sparql, languages=languages, cache=Cache(use="only"))
    here = offline.item_of("Douglas Adams")
    assert (here.labels, here.statements) == (there.labels, there.statements)
    assert offline.names(sorted(set(here.items())))["Q5"][0] == "human"
    assert len(server.answers.seen) == seen


def test_what_failed_is_said_and_the_rest_is_kept(server: Any, folder: Path) -> None:
    done = fetch("--article", "Douglas Adams", "--article", "Nobody at all", "--endpoint", server.sparql)
    assert done.exit_code == 1
    assert "1 of 2 articles" in done.stdout
    assert "no item has the en article 'Nobody at all'" in " ".join(done.stderr.split())
    assert WikidataClient(server.sparql, cache=Cache(use="only")).item("Q42").id == "Q42"


def test_a_frozen_file_answers_as_the_service_did(server: Any, folder: Path) -> None:
    done = fetch("--article", "Douglas Adams", "--endpoint", server.sparql, "--to", "frozen.nt")
    assert done.exit_code == 0, (done.output, done.exception)
    service = WikidataClient(server.sparql).item("Q42")
    store = WikidataClient(folder / "frozen.nt").item_of("Douglas Adams")
    assert replace(store, fetched="", statements=()) == replace(service, fetched="", statements=())
    assert sorted(map(repr, store.statements)) == sorted(map(repr, service.statements))
    assert datetime.fromisoformat(store.fetched) == datetime.fromisoformat(service.fetched)
    assert WikidataClient(folder / "frozen.nt").names(["Q5"])["Q5"][0] == "human"


def test_what_tells_namesakes_apart_is_frozen_too(folder: Path) -> None:
    """Classes of values that share a name, and the id that the benchmark declares and that was merged."""

    def statement(name: str, value: str) -> Statement:
        return Statement(name, value, "wikibase-item")

    rdf.write(
        [
            Item("Q42", {"en": "Douglas Adams"}, {}, {"enwiki": "Douglas Adams"},
                 (statement("P31", "Q5"), statement("P19", "Q90"), statement("P26", "Q91"))),
            Item("Q90", {"en": "Paris"}, statements=(statement("P31", "Q515"),)),
            Item("Q91", {"en": "Paris"}, statements=(statement("P31", "Q5"),)),
            Item("Q5", {"en": "human"}, statements=(statement("P31", "Q16889133"),)),
        ],
        folder / "whole.nt",
    )  # fmt: skip
    entity = "http://www.wikidata.org/entity/"
    merged = f"<{entity}Q41> <http://www.w3.org/2002/07/owl#sameAs> <{entity}Q42> .\n"
    (folder / "whole.nt").write_text((folder / "whole.nt").read_text() + merged)
    (folder / "set.yaml").write_text("articles:\n- {title: Douglas Adams, qid: Q41, domain: d}\n")
    done = fetch("--dataset", "set.yaml", "--endpoint", "whole.nt", "--to", "frozen.nt")
    assert done.exit_code == 0, (done.output, done.exception)
    client = WikidataClient(folder / "frozen.nt")
    assert client.classes(["Q90", "Q91", "Q5"]) == {"Q90": {"Q515"}, "Q91": {"Q5"}}  # "human" is one thing here
    assert client.merged_into("Q41") == "Q42"
    assert len(client.item("Q42").statements) == 3


def test_a_frozen_file_is_n_triples(folder: Path) -> None:
    done = fetch("--article", "Douglas Adams", "--to", "frozen.csv")
    assert isinstance(done.exception, GoldassayError)
    assert "name a .nt file" in str(done.exception)
