"""``goldassay wikidata evaluate``: a program on one article or on a benchmark, against what Wikidata says."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.cli.wikidata import options as ask
from goldassay.exceptions import GoldassayError

RESULTS = Path("runs") / "wikidata"


def evaluate(
    article: Annotated[str | None, typer.Option(metavar="TITLE", help="One article, by its title.")] = None,
    dataset: Annotated[Path | None, typer.Option(metavar="FILE", help="A benchmark: YAML with articles.")] = None,
    profile: ask.Profile = "triples:Articles",
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where the result goes; its rows stand beside it.")
    ] = None,
    lm: use.Lm = None,
    language: ask.Language = None,
    annotations: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Verdicts of people on novel triples.")
    ] = None,
    no_cache: ask.NoCache = False,
    cache_only: ask.CacheOnly = False,
    sample: ask.Sample = None,
    parallel: Annotated[
        int, typer.Option("--threads", "--parallel", metavar="N", min=1, help="How many articles at once.")
    ] = 1,
    endpoint: ask.Endpoint = None,
    seed: use.Seed = 0,
    fail_below_f1: Annotated[
        float | None,
        typer.Option(
            "--fail-below-f1", metavar="F1", min=0.0, max=1.0, help="Exit with 1 below this, or where gold is missing."
        ),
    ] = None,
    json: use.Json = False,
) -> None:
    """Evaluate a program on one article or on a benchmark; a killed run goes on where it stopped."""
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
    if json:
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
