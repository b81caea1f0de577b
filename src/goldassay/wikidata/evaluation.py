"""Evaluating a program on Wikipedia articles: fetch articles and items, run the program, fold the rows into a result.

A failed fetch is a failed article and is listed as such, never an article without statements. A program that raises has
said nothing: the article's gold counts as missed. The program runs through `goldassay.evaluate`, in a run folder beside
the result, so that an interrupted evaluation is resumed by the same command.
"""

from __future__ import annotations

import hashlib
import inspect
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import dspy
from rich.progress import track

from goldassay import __version__
from goldassay.exceptions import DataError, FetchError, RunStopped
from goldassay.fields import read
from goldassay.lm import Model, for_program
from goldassay.metric import Metric
from goldassay.progress import standard_error
from goldassay.running.evaluate import RunOptions, evaluate
from goldassay.running.folder import code_hash
from goldassay.running.run import Run
from goldassay.wikidata import results
from goldassay.wikidata.articles import Subject, shared_names
from goldassay.wikidata.benchmark import ArticleRef, Profile, Sources
from goldassay.wikidata.scoring import Scoring, VerdictKey

ENOUGH = 20  # articles after which failed fetches may stop the evaluation


class ArticleProgram(dspy.Module):  # type: ignore[misc]
    """A program whose triples are resolved and aligned with the article's item."""

    def __init__(self, program: Any, articles: Sequence[Subject], scoring: Scoring) -> None:
        super().__init__()
        self.program, self.scoring = program, scoring
        self.subjects = {article.key: article for article in articles}

    def forward(self, key: str, text: str, title: str) -> dspy.Prediction:
        """The aligned triples of an article."""
        triples = read_triples(self.program, text, title)
        return dspy.Prediction(triples=self.scoring.predictions(self.subjects[key], triples))


def read_triples(program: Any, text: str, title: str) -> list[object]:
    """The triples that a program gives for a text; it is called with ``title`` if it takes one."""
    function = getattr(type(program), "forward", program)  # DSPy warns if forward is read from the instance
    named = {"title": title} if "title" in inspect.signature(function).parameters else {}
    triples = read(program(text=text, **named), "triples")
    if isinstance(triples, (str, bytes)) or not isinstance(triples, Iterable):
        raise DataError(f"'triples' must be a list of triples, got {triples!r}")
    return list(triples)


def fetch_article(ref: ArticleRef, sources: Sources, language: str = "en") -> Subject:
    """An article with its text, its item and the names of the item's values."""
    page, wikidata = sources.wikipedia.article(ref.title), sources.wikidata
    item = wikidata.item_of(page.title, language)
    redirects = {ref.title: page.title} if page.title != ref.title else {}
    about: dict[str, Any] = {"redirected_to": page.title} if redirects else {}
    if ref.qid and ref.qid != item.id:
        if wikidata.merged_into(ref.qid) == item.id:
            redirects[ref.qid] = item.id
        else:
            about["declared_qid"] = ref.qid
    names = wikidata.names(sorted(set(item.items())))
    types = wikidata.classes(shared_names(names))
    dates = tuple(date for date in (page.fetched, item.fetched) if date)
    return Subject(page.title, item, names, ref.domain, page.text, redirects, types, ref.key, dates, about)


def fetch_articles(
    refs: Sequence[ArticleRef], sources: Sources, language: str = "en", options: RunOptions | None = None
) -> Iterator[Subject | FetchError]:
    """The articles in their order; what cannot be fetched is its error.

    Raises:
        RunStopped: Too many fetches fail.
    """
    settings = options or RunOptions()

    def fetch(ref: ArticleRef) -> Subject | FetchError:
        try:
            return fetch_article(ref, sources, language)
        except FetchError as error:
            return error

    console, failures = standard_error(), 0
    pool = ThreadPoolExecutor(settings.threads)
    try:
        articles = track(pool.map(fetch, refs), "fetching", len(refs), console=console, disable=not console.is_terminal)
        for count, article in enumerate(articles, start=1):
            failures += isinstance(article, FetchError)
            if count >= ENOUGH and failures > settings.max_failures * count:
                raise RunStopped(f"stopped: {failures} of {count} articles could not be fetched, the last: {article}")
            yield article
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # also after Ctrl-C: the rest is not fetched


def evaluate_articles(
    refs: Sequence[ArticleRef],
    program: Any,
    sources: Sources,
    profile: Profile,
    output: Path,
    *,
    verdicts: Mapping[VerdictKey, str] | None = None,
    options: RunOptions | None = None,
    metadata: Mapping[str, object] | None = None,
) -> dict[str, Any]:
    """Evaluates a program on articles and returns the result.

    Rows with the evidence of every triple are written beside ``output``, and the run is kept there; the same call
    resumes it. Another program, model, endpoint or sample starts another run.

    Args:
        refs: The articles.
        program: Called with ``text``, and with ``title`` if it takes one; returns ``triples``.
        sources: Where articles and items come from.
        profile: The model, the language and the conventions.
        output: The file that the result will be written to.
        verdicts: Human verdicts on novel triples.
        options: How the program is run.
        metadata: More entries for ``run_metadata``.

    Raises:
        RunStopped: Too many articles fail; what was done is kept.
    """
    started, settings, scoring = time.perf_counter(), options or RunOptions(), profile.scoring(verdicts)
    fetched = list(zip(refs, fetch_articles(refs, sources, profile.language, settings), strict=True))
    articles = [article for _, article in fetched if isinstance(article, Subject)]
    failed = [
        {"article_title": ref.title, "domain": ref.domain, "stage": "fetch", "error": f"FetchError: {article}"}
        for ref, article in fetched
        if isinstance(article, FetchError)
    ]
    uses_model = profile.lm is not None or hasattr(program, "predictors")
    model = for_program(program, profile.lm) if uses_model else Model()
    conventions = _conventions(program, model, sources, profile, scoring)
    folder = output.with_name(f"{output.stem}-run-{_digest([conventions, [article.key for article in articles]])}")
    gold = [scoring.example(article) for article in articles]
    settings = settings.changed(lm=model.lm, adapter=model.adapter, name="wikidata")
    rows, resumed = _run(ArticleProgram(program, articles, scoring), gold, scoring.metric, folder, settings)
    about = {
        "date": datetime.now(UTC).isoformat(),
        "goldassay_version": __version__,
        **(metadata or {}),
        "llm_model": model.name or "",
        "duration_seconds": round(time.perf_counter() - started, 3),
        "resumed_articles": resumed,
        "conventions": conventions,
        "run": folder.name,
    }
    return results.fold(rows, articles, [example.toDict() for example in gold], failed, about, scoring, output)


def _conventions(
    program: Any, model: Model, sources: Sources, profile: Profile, scoring: Scoring
) -> dict[str, str | None]:
    """What a run depends on, beside its articles."""
    return {
        "code": code_hash(program),
        "lm": model.name,
        "language": profile.language,
        "endpoint": sources.endpoint,
        "verdicts": _digest(sorted(scoring.verdicts.items())),
        "comparing": repr(scoring.comparing),
        "table": _digest(profile.alignment.read_bytes()),
    }


def _run(
    program: ArticleProgram, gold: list[dspy.Example], metric: Metric, folder: Path, options: RunOptions
) -> tuple[list[dict[str, Any]], int]:
    """The rows of the run in this folder, which is resumed if it exists; how many were there before."""
    if not gold:
        return [], 0
    exists = (folder / "run.json").exists()
    resumed = sum("error" not in row for row in Run.load(folder).rows) if exists else 0
    try:
        evaluate(program, gold, metric, options.changed(**{"resume" if exists else "folder": folder}))
    except RunStopped as stop:
        raise RunStopped(f"{str(stop).partition('; ')[0]}; the same command resumes the evaluation") from None
    return list(Run.load(folder).rows), resumed  # as written: secrets in error messages are redacted


def _digest(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
