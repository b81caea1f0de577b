"""Evaluating a program on Wikipedia articles: fetch articles and items, run the program, fold the rows into a result.

A benchmark is YAML: ``{title, qid, domain}`` under ``articles`` (``goldassay gold validate`` counts its numbers again);
a sample preserves the shares of the domains. The item of an article is found by its sitelink; the declared id is
compared with it.

A profile says which program is evaluated, with which model, under which conventions. It is a program as for
``goldassay eval`` (``triples:Articles``, ``programs/mine.py:program``), or a YAML file::

    program: triples:Articles
    lm: openai/gpt-4o-mini
    state: tuned/          # the state of a tuned program
    language: en
    alignment: property-alignment.yaml
    threshold: 0.9         # minimum similarity of texts
    tolerance: 0.0         # maximum relative difference of quantities
    kilometres: 1.0        # maximum distance of coordinates
    times: gold            # or coarser

A failed fetch is a failed article and is listed as such, never an article without statements. If the program raises,
the article's gold counts as missed. The program runs through `goldassay.evaluate`, in a run folder beside
the result, so that an interrupted evaluation is resumed by the same command.
"""

from __future__ import annotations

import hashlib
import inspect
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import dspy
from pydantic import BaseModel, ConfigDict, Field
from rich.progress import track

from goldassay import __version__
from goldassay._support import files
from goldassay._support.cache import Cache
from goldassay._support.exceptions import DataError, FetchError, GoldassayError, RunStopped
from goldassay._support.progress import standard_error
from goldassay.core.fields import Fields, JsonObject, read
from goldassay.ext.wikidata import results
from goldassay.ext.wikidata.alignment import OUR_TABLE, PropertyAlignmentTable
from goldassay.ext.wikidata.articles import Subject, shared_names
from goldassay.ext.wikidata.client import LANGUAGES, WDQS, WikidataClient
from goldassay.ext.wikidata.results import Scoring, VerdictKey
from goldassay.ext.wikidata.web import WikipediaClient
from goldassay.gold.formats import kits
from goldassay.measures.triples.objects import TripleMatching
from goldassay.models.lm import Model, for_program
from goldassay.running.evaluate import evaluate
from goldassay.running.hashing import code_hash
from goldassay.running.options import RunOptions
from goldassay.running.rows import Row
from goldassay.running.run import Run

Program = Callable[..., Any]
"""A program: called with ``text``, and with ``title`` if it takes one; its answer has ``triples``."""
ENOUGH = 20  # articles after which failed fetches may stop the evaluation


class Profile(BaseModel):
    """A program and the conventions of its evaluation."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    program: str = Field(min_length=1)
    lm: str | None = None
    state: Path | None = None
    language: str = "en"
    alignment: Path = OUR_TABLE
    threshold: float = Field(default=0.9, gt=0, le=1)
    tolerance: float = Field(default=0.0, ge=0)
    kilometres: float = Field(default=1.0, ge=0)
    times: Literal["gold", "coarser"] = "gold"

    def scoring(self, verdicts: Mapping[VerdictKey, str] = {}) -> Scoring:
        """How articles are scored under this profile."""
        comparing = TripleMatching(
            threshold=self.threshold, tolerance=self.tolerance, kilometres=self.kilometres, times=self.times
        )
        return Scoring(PropertyAlignmentTable.of(self.alignment), comparing, verdicts)


def read_profile(text: str, *, language: str | None = None) -> Profile:
    """The profile that a user names, in this language if one is named.

    >>> read_profile("triples:Articles", language="nl").language
    'nl'
    """
    profile = Profile(program=text)
    if Path(text).suffix in (".yaml", ".yml"):
        profile = files.validated(Profile, files.yaml_value(text), text)
        folder = Path(text).parent
        places = {name: folder / path for name in ("state", "alignment") if (path := getattr(profile, name))}
        profile = profile.model_copy(update=places)
    return profile.model_copy(update={"language": language}) if language else profile


class ArticleSources(NamedTuple):
    """The sources of articles and items."""

    wikipedia: WikipediaClient
    wikidata: WikidataClient


def open_sources(
    *, language: str = "en", endpoint: str | None = None, no_cache: bool = False, cache_only: bool = False
) -> ArticleSources:
    """The sources that a command's options name.

    Raises:
        GoldassayError: ``no_cache`` and ``cache_only`` exclude each other.
    """
    if no_cache and cache_only:
        raise GoldassayError("`no_cache=True` fetches everything and `cache_only=True` nothing; use one of them")
    cache = Cache(use="none" if no_cache else "normal")
    if cache_only:
        cache = Cache(use="only")
    wikidata = WikidataClient(endpoint or WDQS, languages=(language, *LANGUAGES), cache=cache)
    return ArticleSources(WikipediaClient(language, cache=cache), wikidata)


class ArticleRef(NamedTuple):
    """An article to evaluate."""

    title: str
    qid: str = ""
    domain: str = "unknown"

    @property
    def key(self) -> str:
        """Identifies the article in rows."""
        return f"{self.title}|{self.qid}"


def read_benchmark(path: str | Path) -> tuple[str, list[ArticleRef]]:
    """The name and the articles of a benchmark; one that is listed twice is taken once.

    Raises:
        DataError: The file is not a benchmark, or has no articles.
    """
    _, head, entries = kits.load(path, "benchmark")
    articles: dict[str, ArticleRef] = {}
    for number, entry in enumerate(entries):
        if not isinstance(entry.get("title"), str):
            raise DataError(f"a title is text, found {entry.get('title')!r}", file=path, field=f"articles[{number}]")
        ref = ArticleRef(entry["title"], str(entry.get("qid") or ""), str(entry.get("domain") or "unknown"))
        articles.setdefault(ref.title, ref)
    if not articles:
        raise DataError("the benchmark has no articles", file=path, field="articles")
    return str(head.get("dataset_name") or Path(path).stem), list(articles.values())


def sample(articles: Sequence[ArticleRef], n: int, seed: int = 0) -> list[ArticleRef]:
    """``n`` articles that preserve the shares of the domains, in their order.

    Shares are rounded; a domain keeps at least one article if n allows it.

    >>> articles = [ArticleRef(str(i), domain="a" if i < 60 else "b") for i in range(90)]
    >>> Counter(article.domain for article in sample(articles, 9))
    Counter({'a': 6, 'b': 3})

    Raises:
        GoldassayError: ``n`` is less than 1.
    """
    if n < 1:
        raise GoldassayError(f"a sample needs at least one article, got {n}")
    # The articles of a domain, shuffled, spread evenly over 0 to 1, and its first one is at 0: the n lowest are taken.
    sizes = Counter(article.domain for article in articles)
    seen = Counter[str]()
    places = dict[int, float]()
    for index in random.Random(seed).sample(range(len(articles)), len(articles)):
        domain = articles[index].domain
        places[index] = (seen[domain] + 0.5) / sizes[domain] if seen[domain] else 0.0
        seen[domain] += 1
    return [articles[index] for index in sorted(sorted(places, key=places.__getitem__)[:n])]


class ArticleProgram(dspy.Module):  # type: ignore[misc]
    """A program whose triples are resolved and aligned with the article's item."""

    def __init__(self, program: Program, articles: Sequence[Subject], scoring: Scoring) -> None:
        super().__init__()
        self.program = program
        self.scoring = scoring
        self.subjects = {article.key: article for article in articles}

    def forward(self, key: str, text: str, title: str) -> dspy.Prediction:
        """The aligned triples of an article."""
        triples = read_triples(self.program, text, title)
        return dspy.Prediction(triples=self.scoring.predictions(self.subjects[key], triples))


def read_triples(program: Program, text: str, title: str) -> list[object]:
    """The triples that a program gives for a text; it is called with ``title`` if it takes one.

    Raises:
        DataError: The program's ``triples`` are not a list.
    """
    function = getattr(type(program), "forward", program)  # DSPy warns if forward is read from the instance
    named = {"title": title} if "title" in inspect.signature(function).parameters else {}
    triples = read(program(text=text, **named), "triples")
    if isinstance(triples, (str, bytes)) or not isinstance(triples, Iterable):
        raise DataError(f"'triples' must be a list of triples, got {triples!r}")
    return list(triples)


def fetch_article(ref: ArticleRef, sources: ArticleSources) -> Subject:
    """An article with its text, its item and the names of the item's values."""
    page = sources.wikipedia.article(ref.title)
    wikidata = sources.wikidata
    item = wikidata.item_of(page.title, sources.wikipedia.language)
    redirects = {ref.title: page.title} if page.title != ref.title else {}
    about: JsonObject = {"redirected_to": page.title} if redirects else {}
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
    refs: Sequence[ArticleRef], sources: ArticleSources, options: RunOptions
) -> Iterator[Subject | FetchError]:
    """The articles in their order; one that cannot be fetched is its error.

    Raises:
        RunStopped: Too many fetches fail.
    """

    def fetch(ref: ArticleRef) -> Subject | FetchError:
        try:
            return fetch_article(ref, sources)
        except FetchError as error:
            return error

    console = standard_error()
    failures = 0
    pool = ThreadPoolExecutor(options.threads)
    try:
        articles = track(pool.map(fetch, refs), "fetching", len(refs), console=console, disable=not console.is_terminal)
        for count, article in enumerate(articles, start=1):
            failures += isinstance(article, FetchError)
            if count >= ENOUGH and failures > options.max_failures * count:
                raise RunStopped(f"stopped: {failures} of {count} articles could not be fetched, the last: {article}")
            yield article
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # also after Ctrl-C: the rest is not fetched


def evaluate_articles(
    refs: Sequence[ArticleRef],
    program: Program,
    sources: ArticleSources,
    profile: Profile,
    output: Path,
    *,
    verdicts: Mapping[VerdictKey, str] = {},
    options: RunOptions | None = None,
    metadata: Mapping[str, object] = {},
) -> Fields:
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
        RunStopped: Too many articles fail; those that were evaluated are kept.
    """
    started = time.perf_counter()
    settings = options or RunOptions()
    scoring = profile.scoring(verdicts)
    fetched = list(zip(refs, fetch_articles(refs, sources, settings), strict=True))
    articles = [article for _, article in fetched if isinstance(article, Subject)]
    failed = [
        {"article_title": ref.title, "domain": ref.domain, "stage": "fetch", "error": f"FetchError: {article}"}
        for ref, article in fetched
        if isinstance(article, FetchError)
    ]
    model = for_program(program, profile.lm) if profile.lm or hasattr(program, "predictors") else Model()
    conventions = {
        "code": code_hash(program),
        "lm": model.name,
        "language": profile.language,
        "endpoint": sources.wikidata.endpoint,
        "verdicts": _digest(sorted(verdicts.items())),
        "comparing": repr(scoring.comparing),
        "table": _digest(profile.alignment.read_bytes()),
    }
    folder = output.with_name(f"{output.stem}-run-{_digest([conventions, [article.key for article in articles]])}")
    gold = [scoring.example(article) for article in articles]
    settings = settings.changed(lm=model.lm, adapter=model.adapter, name="wikidata")
    rows: list[Row] = []
    resumed = 0  # articles that were there before
    if gold:
        if (folder / "run.json").exists():
            resumed = sum(not row.error for row in Run.load(folder).rows)
        try:
            evaluate(ArticleProgram(program, articles, scoring), gold, scoring.metric, settings, folder=folder)
        except RunStopped as stop:
            raise RunStopped(f"{str(stop).partition('; ')[0]}; the same command resumes the evaluation") from None
        rows = list(Run.load(folder).rows)  # as written: secrets in error messages are redacted
    about = {
        "date": datetime.now(UTC).isoformat(),
        "goldassay_version": __version__,
        **metadata,
        "llm_model": model.name or "",
        "duration_seconds": round(time.perf_counter() - started, 3),
        "resumed_articles": resumed,
        "conventions": conventions,
        "run": folder.name,
    }
    return results.fold(rows, articles, gold, failed, about, scoring, output)


def _digest(value: bytes | Sequence[object]) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
