"""A run over articles: worked through by the loop that examples go through, its result folded from the rows on disk.

Each article is fetched, read, scored, and written as a row, whatever happens to it. A failed fetch is a failed article
and is listed as such, never an article without statements. A program that raises has said nothing: its article's gold
counts as missed, and the row keeps the error.
"""

from __future__ import annotations

import hashlib
import inspect
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from goldassay import __version__
from goldassay.exceptions import DataError, FetchError, GoldassayError, RunStopped, said
from goldassay.fields import read
from goldassay.progress import Bar
from goldassay.running.example import STOPS
from goldassay.running.identity import code_hash, fingerprint
from goldassay.running.loop import Failures, within, work_through
from goldassay.running.secrets import known, models
from goldassay.tally import Counts
from goldassay.wikidata import results, rows
from goldassay.wikidata import subject as preparing
from goldassay.wikidata.benchmark import ArticleRef
from goldassay.wikidata.entities import Item
from goldassay.wikidata.profile import Clients, Profile
from goldassay.wikidata.rows import DONE, FAILED
from goldassay.wikidata.scoring import Scoring
from goldassay.wikidata.sparql import classes, merged_into
from goldassay.wikidata.subject import Subject

if TYPE_CHECKING:
    import dspy


class Wikipedia(Protocol):
    """Where articles come from."""

    def article(self, title: str) -> object:
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

    def row(self, asked: ArticleRef) -> dict[str, object]:
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

    def late(self, asked: ArticleRef, error: str) -> dict[str, object]:
        """The row of an article that did not come back in time; nothing is known of its gold."""
        about = {"key": asked.key, "article_title": asked.title, "domain": asked.domain}
        return {**about, "status": FAILED, "stage": "program", "error": error}

    def fetch(self, asked: ArticleRef) -> tuple[Subject, dict[str, object]]:
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


def said_by(program: dspy.Module, subject: Subject) -> list[object]:
    """What a program says of an article: it is called with ``text``, and with ``title`` where it takes one."""
    # a module's own forward is looked up on its class: DSPy warns of any other look at it
    called = getattr(type(program), "forward", program)
    takes = inspect.signature(called).parameters
    title = {"title": subject.title} if "title" in takes else {}
    found = read(program(text=subject.text, **title), "triples")
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        raise DataError(f"'triples' is a list of triples, not {found!r}")
    return list(found)


def run(
    asked: Sequence[ArticleRef],
    program: dspy.Module,
    sources: Clients,
    scoring: Scoring,
    metadata: Mapping[str, object],
    file: Path,
    profile: Profile,
    parallel: int = 1,
    *,
    timeout: float | None = None,
    max_failures: float = 1.0,
) -> dict[str, Any]:
    """Evaluate what the rows in ``file`` do not hold yet, and fold all of them into a result.

    Args:
        asked: The articles.
        program: What reads them: called with ``text``, and ``title`` where it takes one.
        sources: Where articles and items come from.
        scoring: The conventions of the scoring.
        metadata: What else the result says of itself.
        file: The rows, which a run that was killed goes on with.
        profile: What the program, its model and the languages are called.
        parallel: How many articles are worked on at once.
        timeout: Seconds that one article may take.
        max_failures: The share of failed articles (after 20) at which the run stops; 1 lets everything fail.

    Raises:
        GoldassayError: ``file`` holds rows of another run.
        RunStopped: Going on makes no sense; the rows that are done are in ``file``.
    """
    import dspy

    from goldassay.lm import Model, for_program

    asks = profile.lm is not None or hasattr(program, "predictors")  # any other program needs no model
    model = for_program(program, profile.lm) if asks else Model()
    evaluation = Evaluation(
        program,
        sources.wikipedia,
        sources.wikidata,
        scoring,
        profile.language,
    )
    identity = {
        "program": profile.program,
        "version": fingerprint(program) if hasattr(program, "named_predictors") else None,
        "code": code_hash(program),
        "lm": model.name,
        "language": profile.language,
        "endpoint": sources.endpoint,
        "statements": sources.version,
        "table": scoring.table.fingerprint,
        "comparing": repr(scoring.comparing),
        "verdicts": hashlib.sha256(repr(sorted(scoring.verdicts.items())).encode()).hexdigest()[:16],
    }
    kept = rows.ArticleRows(file, identity, known(*models(program), model.lm))
    left = [one for one in asked if one.key not in kept.done]
    started = time.perf_counter()
    if parallel < 1:
        raise GoldassayError(f"a run needs at least one thread, not {parallel}")
    bar, total = Bar(len(asked), len(asked) - len(left)), Counts()
    failures = Failures(max_failures, "articles", worked=len(kept.done))

    def make(index: int) -> dict[str, Any]:
        try:
            return within(timeout, lambda: evaluation.row(left[index]))
        except TimeoutError as error:
            return evaluation.late(left[index], f"TimeoutError: {error}")

    def keep(row: dict[str, Any]) -> str:
        nonlocal total
        kept.add(row)
        for values in row["score"]["properties"].values() if "score" in row else ():
            total = total + Counts(*values)
        return failures.add(row["article_title"], str(row.get("error") or ""))

    context = {name: value for name, value in (("lm", model.lm), ("adapter", model.adapter)) if value is not None}
    try:
        with dspy.context(**context), bar:
            why = work_through(
                range(len(left)),
                make,
                keep,
                threads=min(parallel, len(left)),
                show=lambda: bar.show(len(asked) - len(left) + failures.rows, total),
            )
    finally:
        kept.close()
    if why:
        done = len(asked) - len(left) + failures.rows
        raise RunStopped(f"stopped after {done} of {len(asked)} articles: {why}; the same command goes on")
    about = {
        "date": datetime.now(UTC).isoformat(),
        "goldassay_version": __version__,
        **metadata,
        "llm_model": model.name or "",
        "duration_seconds": round(time.perf_counter() - started, 3),
        "resumed_articles": len(asked) - len(left),
        "conventions": identity,
        "rows": file.name,
    }
    return results.folded(file, asked, about, scoring.table)
