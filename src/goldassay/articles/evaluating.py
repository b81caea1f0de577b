"""Evaluating a program on one article: fetched, read, scored, and written as a row, whatever happens to it.

A failed fetch is a failed article and is listed as such, never an article without statements. A program that raises
has said nothing: its article's gold counts as missed, and the row keeps the error.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from goldassay.articles import preparing
from goldassay.articles.benchmark import Asked
from goldassay.articles.preparing import Subject
from goldassay.articles.rows import DONE, FAILED
from goldassay.articles.scoring import Scoring
from goldassay.exceptions import DataError, FetchError
from goldassay.fields import read
from goldassay.running.guarding import STOPS, said
from goldassay.wikibase.entities import Item
from goldassay.wikibase.sparql import classes, merged_into


class Wikipedia(Protocol):
    """Where articles come from."""

    def article(self, title: str) -> Any:
        """An article with ``title``, ``text`` and, if known, ``qid``."""


class Wikidata(Protocol):
    """Where items come from."""

    def item(self, qid: str) -> Item:
        """The item of an id."""
        ...

    def item_of(self, title: str, language: str) -> Item:
        """The item whose sitelink is this article."""
        ...

    def names(self, qids: Sequence[str]) -> dict[str, list[str]]:
        """Labels and aliases of items, labels first."""
        ...


@dataclass(frozen=True)
class Evaluation:
    """A program, its sources, and the conventions of the scoring."""

    program: Any
    wikipedia: Wikipedia
    wikidata: Wikidata
    scoring: Scoring = field(default_factory=Scoring)
    language: str = "en"

    def row(self, asked: Asked) -> dict[str, Any]:
        """One article as a row, whatever happens to it."""
        started = time.perf_counter()
        row: dict[str, Any] = {"key": asked.key, "article_title": asked.title, "domain": asked.domain}
        try:
            subject, about = self.fetch(asked)
        except FetchError as error:
            return {**row, "status": FAILED, "stage": "fetch", "error": said(error)}
        row |= {"status": DONE, "wikidata_qid": subject.item.id, **about}
        try:
            found = said_by(self.program, subject)
        except STOPS:
            raise
        except BaseException as error:  # noqa: BLE001 (a program may raise anything; its article's gold is missed)
            found, row["stage"], row["error"] = [], "program", said(error)
        try:
            row["score"] = self.scoring.score(subject, found)
        except DataError as error:  # what it said is no list of triples
            row |= {"stage": "program", "error": said(error)}
            row["score"] = self.scoring.score(subject, ())
        return {**row, "seconds": round(time.perf_counter() - started, 3)}

    def late(self, asked: Asked, seconds: float) -> dict[str, Any]:
        """The row of an article that did not come back in time; nothing is known of its gold."""
        about = {"key": asked.key, "article_title": asked.title, "domain": asked.domain}
        return {**about, "status": FAILED, "stage": "program", "error": f"TimeoutError: no answer within {seconds:g} s"}

    def fetch(self, asked: Asked) -> tuple[Subject, dict[str, Any]]:
        """The article with its item, and what there is to say of them."""
        article = self.wikipedia.article(asked.title)
        qid = str(read(article, "qid", None) or "")
        title = str(read(article, "title", None) or asked.title)
        item = self.wikidata.item(qid) if qid else self.wikidata.item_of(title, self.language)
        values = [s.value for s in item.statements if s.type == "wikibase-item" and isinstance(s.value, str)]
        redirects = {asked.title: title} if title != asked.title else {}
        if asked.qid and asked.qid != item.id and merged_into(self.wikidata, asked.qid) == item.id:
            redirects[asked.qid] = item.id
        about: dict[str, Any] = {"fetched": [date for date in (read(article, "fetched", ""), item.fetched) if date]}
        if asked.qid and asked.qid != item.id and asked.qid not in redirects:
            about["declared_qid"] = asked.qid
        if title != asked.title:
            about["redirected_to"] = title
        names = self.wikidata.names(sorted(set(values))) if values else {}
        types = classes(self.wikidata, preparing.shared(names))
        text = str(read(article, "text", "") or "")
        return Subject(title, item, names, asked.domain, text, redirects, types), about


def said_by(program: Any, subject: Subject) -> list[Any]:
    """What a program says of an article: it is called with ``text``, and with ``title`` where it takes one."""
    # a module's own forward is looked up on its class: DSPy warns of any other look at it
    called = getattr(type(program), "forward", program)
    takes = inspect.signature(called).parameters
    title = {"title": subject.title} if "title" in takes else {}
    found = read(program(text=subject.text, **title), "triples")
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        raise DataError(f"'triples' is a list of triples, not {found!r}")
    return list(found)
