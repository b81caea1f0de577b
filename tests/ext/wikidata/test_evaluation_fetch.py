"""``goldassay wikidata fetch``: from a real query service into the cache, which answers the same offline."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from goldassay._support.cache import Cache
from goldassay.cli import app
from goldassay.ext.wikidata.client import WikidataClient
from goldassay.ext.wikidata.web import WikipediaClient


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two articles in its cache."""
    monkeypatch.chdir(tmp_path)
    client = WikipediaClient("en")
    for title in ("Douglas Adams", "Nobody at all"):
        page = {"title": title, "text": "x"}
        client.cache.get("en", f"{client.base} {title}", partial(dict, page))
    return tmp_path


def fetch(*options: object) -> Result:
    return CliRunner().invoke(app, ["wikidata", "fetch", *map(str, options)])


def test_what_was_fetched_answers_as_the_service_did(server: Any, folder: Path) -> None:
    done = fetch("--article", "Douglas Adams", "--endpoint", server.sparql)
    assert done.exit_code == 0, (done.output, done.exception)
    assert "1 of 1 articles" in done.stdout
    online = WikidataClient(server.sparql, cache=Cache(use="none")).item("Q42")
    seen = len(server.answers.seen)
    languages = ("en", "en", "nl", "de", "fr", "mul")
    offline = WikidataClient(server.sparql, languages=languages, cache=Cache(use="only"))
    cached = offline.item_of("Douglas Adams")
    assert (cached.labels, cached.statements) == (online.labels, online.statements)
    assert offline.names(sorted(set(cached.items())))["Q5"][0] == "human"
    assert len(server.answers.seen) == seen


def test_what_failed_is_said_and_the_rest_is_kept(server: Any, folder: Path) -> None:
    done = fetch("--article", "Douglas Adams", "--article", "Nobody at all", "--endpoint", server.sparql)
    assert done.exit_code == 1
    assert "1 of 2 articles" in done.stdout
    assert "no item has the en article 'Nobody at all'" in " ".join(done.stderr.split())
    assert WikidataClient(server.sparql, cache=Cache(use="only")).item("Q42").id == "Q42"
