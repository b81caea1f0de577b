"""``goldassay wikidata evaluate``, and what ``fetch`` is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from goldassay import workspace
from goldassay.exceptions import GoldassayError

RESULTS = Path("runs") / "wikidata"


def evaluate(
    *,
    article: str | None,
    dataset: Path | None,
    profile: str,
    output: Path | None,
    lm: str | None,
    language: str | None,
    annotations: Path | None,
    no_cache: bool,
    cache_only: bool,
    sample: int | None,
    parallel: int,
    endpoint: str | None,
    seed: int,
    fail_below_f1: float | None,
    as_json: bool,
) -> None:
    """Evaluate, write the result, print it; exit code 1 where F1 is below what CI asks for."""
    from goldassay.articles import benchmark, rows
    from goldassay.articles.novel import verdicts
    from goldassay.articles.profile import read_profile, sources
    from goldassay.articles.running import run
    from goldassay.articles.scoring import Scoring
    from goldassay.files import save_json
    from goldassay.reporting import terminal
    from goldassay.reporting import wikidata as tables

    if (article is None) == (dataset is None):
        raise GoldassayError("name one article (--article TITLE) or a benchmark (--dataset FILE)")
    if no_cache and cache_only:
        raise GoldassayError("--no-cache fetches everything, --cache-only nothing: choose one")
    chosen = read_profile(profile, lm=lm, language=language)
    if article is not None:
        asked: Sequence[benchmark.Asked] = (benchmark.Asked(article),)
        notes: tuple[str, ...] = ()
        about: dict[str, Any] = {"mode": "single_article", "article": article}
    else:
        found = benchmark.read_benchmark(dataset or "")
        asked, notes = found.articles, found.notes
        about = {"mode": "dataset", "dataset": found.name, "dataset_articles": len(found.articles)}
        if sample is not None:
            asked = benchmark.sample(found.articles, sample, seed)
            about |= {"sample": len(asked), "seed": seed}
    place = output or RESULTS / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    clients = sources(language=chosen.language, endpoint=endpoint, no_cache=no_cache, cache_only=cache_only)
    scoring = Scoring(
        table=chosen.table, comparing=chosen.comparing, verdicts=verdicts(annotations) if annotations else {}
    )
    made = program(chosen)
    if no_cache and place.exists():  # a run that was killed has no result yet: it goes on
        rows.place(place).unlink(missing_ok=True)
    metadata = {**about, "profile": profile, "language": chosen.language, "endpoint": clients.endpoint}
    if annotations:
        metadata["annotations"] = str(annotations)
    result = run(asked, made, clients, scoring, metadata, rows.place(place), chosen, parallel)
    result["run_metadata"].setdefault("warnings", []).extend(notes)
    save_json(place, result)
    if before := result["run_metadata"]["resumed_articles"]:
        kept = rows.place(place)
        terminal.warn(
            f"{before} of {len(asked)} articles were evaluated before; without {kept} all are evaluated again"
        )
    if as_json:
        terminal.answer(result)
    else:
        tables.result(result, place)
    wrong = next((one for one in (*result["failed_articles"], *result["article_results"]) if "error" in one), None)
    if article is not None and wrong:
        raise GoldassayError(" ".join(str(wrong["error"]).split()))
    if fail_below_f1 is not None:
        gate(result, fail_below_f1, terminal)


def gate(result: dict[str, Any], least: float, terminal: Any) -> None:
    """Exit with 1 where F1 is too low, and where there is no gold to be low on."""
    f1, failed = result["aggregate"]["f1"], len(result["failed_articles"])
    gold = result["aggregate"]["true_positives"] + result["aggregate"]["false_negatives"]
    why = None
    if f1 is None or not gold:
        why = "there is no gold: no statement of an aligned property was fetched"
    elif failed:
        why = f"{failed} {'article has' if failed == 1 else 'articles have'} no gold: the fetch failed"
    elif f1 < least:
        why = f"F1 {f1:.4f} is below {least:g}"
    if why:
        terminal.console(error=True).print(f"goldassay: {why}", markup=False)
        raise SystemExit(1)


def program(profile: Any) -> Any:
    """The program of a profile, in its tuned state."""
    from goldassay.cli.evaluate import prepared

    return prepared(workspace.target(profile.program, "triples"), [], Path(profile.state) if profile.state else None)


def fetch(
    *,
    dataset: Path | None,
    articles: Sequence[str],
    to: Path | None,
    language: str,
    sample: int | None,
    endpoint: str | None,
    no_cache: bool,
    dump: Path | None,
) -> None:
    """Freeze the articles of a benchmark, or those named."""
    from goldassay.articles import benchmark
    from goldassay.cli import wikidata_fetch

    if (dataset is None) == (not articles):
        raise GoldassayError("name articles (--article TITLE) or a benchmark (--dataset FILE)")
    asked: Sequence[benchmark.Asked] = [benchmark.Asked(title) for title in articles]
    if dataset is not None:
        asked = benchmark.read_benchmark(dataset).articles
        asked = benchmark.sample(asked, sample) if sample else asked
    wikidata_fetch.fetch(asked, to=to, language=language, endpoint=endpoint, no_cache=no_cache, dump=dump)
