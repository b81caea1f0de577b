"""``goldassay wikidata fetch``, ``check-alignment``, ``evaluate``, and the options that the Wikidata commands share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from goldassay import workspace
from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError

ProgramOrProfile = Annotated[
    str,
    typer.Option(
        "--profile",
        metavar="TASK|FILE",
        help="A program (triples:Articles, FILE:NAME), or a YAML file with program, lm, alignment …",
    ),
]
Endpoint = Annotated[
    str | None,
    typer.Option("--endpoint", metavar="URL|FILE", help="A SPARQL endpoint, or a local file of Wikidata."),
]
Results = Annotated[Path, typer.Option("--results", metavar="FILE", help="The result of an evaluation.")]
Output = Annotated[Path | None, typer.Option("--out", "--output", metavar="FILE", help="Where the report goes.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Fetch everything afresh.")]
CacheOnly = Annotated[bool, typer.Option("--cache-only", help="Fetch nothing: what is not in the cache fails.")]
Language = Annotated[
    str | None, typer.Option("--language", metavar="CODE", help="The language of the Wikipedia (default: en).")
]
Sample = Annotated[
    int | None,
    use.for_gold("--limit", "--sample", metavar="N", min=1, help="Only N articles; the domains keep their shares."),
]


def fetch(
    dataset: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The benchmark whose articles and items are fetched.")
    ] = None,
    article: Annotated[
        list[str] | None, typer.Option(metavar="TITLE", help="An article, by its title (repeat).")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "--to", metavar="FILE", help="The local file of Wikidata to write.")
    ] = None,
    language: Language = None,
    sample: Sample = None,
    endpoint: Endpoint = None,
    no_cache: NoCache = False,
    dump: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Read items from a Wikidata JSON dump instead.")
    ] = None,
) -> None:
    """Freeze a benchmark: its articles into the cache, its items into a file that evaluate takes as --endpoint."""
    from goldassay.reporting import terminal
    from goldassay.wikidata import benchmark
    from goldassay.wikidata.benchmark import fetch as freeze

    if (dataset is None) == (not article):
        raise GoldassayError("name articles (--article TITLE) or a benchmark (--dataset FILE)")
    asked: Sequence[benchmark.ArticleRef] = [benchmark.ArticleRef(title) for title in article or ()]
    if dataset is not None:
        asked = benchmark.read_benchmark(dataset).articles
        asked = benchmark.sample(asked, sample) if sample else asked
    made = freeze(asked, to=out, language=language or "en", endpoint=endpoint, no_cache=no_cache, dump=dump)
    for line in made.failed:
        terminal.warn(line)
    terminal.line(f"{made.asked - len(made.failed)} of {made.asked} items, {made.triples} triples: {made.file}")
    if made.failed:
        raise SystemExit(1)


def check_alignment(
    table: Annotated[
        Path | None, typer.Argument(metavar="TABLE", help="A table (default: the one of goldassay).")
    ] = None,
    truth: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="A ground truth (JSON lines of statements and predicates) to hold to the table."
        ),
    ] = None,
    json: bool = False,
) -> None:
    """Defects of an alignment table: rows that repeat, that nothing reaches, that contradict; exit code 1 if any."""
    from dataclasses import asdict

    from goldassay.reporting import terminal
    from goldassay.wikidata import report as tables
    from goldassay.wikidata.alignment import PropertyAlignmentTable
    from goldassay.wikidata.alignment_checks import contradictions, problems
    from goldassay.wikidata.annotations import problems as defects
    from goldassay.wikidata.annotations import read_truth

    ours = PropertyAlignmentTable.ours()
    read = PropertyAlignmentTable.of(table) if table else ours
    size = f"{len(read.by_id)} properties"
    if truth is None:
        found = problems(read) + (contradictions(read, ours) if table else [])
    else:
        stated = read_truth(truth)
        found, size = defects(stated, read), f"{len(stated.lines)} statements"
    if json:
        terminal.answer([asdict(one) for one in found])
    else:
        tables.problems(found, size, named=truth is not None)
    if found:
        raise SystemExit(1)


RESULTS = Path("runs") / "wikidata"


def evaluate(
    article: Annotated[str | None, typer.Option(metavar="TITLE", help="One article, by its title.")] = None,
    dataset: Annotated[Path | None, typer.Option(metavar="FILE", help="A benchmark: YAML with articles.")] = None,
    profile: ProgramOrProfile = "triples:Articles",
    output: Annotated[
        Path | None,
        typer.Option("--out", "--output", metavar="FILE", help="Where the result goes; its rows stand beside it."),
    ] = None,
    lm: use.Lm = None,
    language: Language = None,
    annotations: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Verdicts of people on novel triples.")
    ] = None,
    no_cache: NoCache = False,
    cache_only: CacheOnly = False,
    sample: Sample = None,
    parallel: Annotated[
        int, use.for_running("--threads", "--parallel", metavar="N", min=1, help="How many articles at once.")
    ] = 1,
    timeout: Annotated[
        float | None, use.for_running("--timeout", metavar="SECONDS", help="How long one article may take.")
    ] = None,
    max_failures: use.MaxFailures = 0.5,
    endpoint: Endpoint = None,
    seed: int = 0,
    fail_under: Annotated[
        str | None,
        typer.Option("--fail-under", metavar="f1=VALUE", help="Exit with 1 below this, or where gold is missing."),
    ] = None,
    json: bool = False,
) -> None:
    """Evaluate a program on one article or on a benchmark; a killed run goes on where it stopped."""
    from goldassay.files import save_json
    from goldassay.reporting import terminal
    from goldassay.wikidata import benchmark, rows
    from goldassay.wikidata import profile as profiles
    from goldassay.wikidata import report as tables
    from goldassay.wikidata.annotations import verdicts
    from goldassay.wikidata.evaluation import run
    from goldassay.wikidata.scoring import Scoring

    if (article is None) == (dataset is None):
        raise GoldassayError("name one article (--article TITLE) or a benchmark (--dataset FILE)")
    least = _least(fail_under)
    if no_cache and cache_only:
        raise GoldassayError("--no-cache fetches everything, --cache-only nothing: choose one")
    chosen = profiles.read_profile(profile, lm=lm, language=language)
    if article is not None:
        asked: Sequence[benchmark.ArticleRef] = (benchmark.ArticleRef(article),)
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
    clients = profiles.clients(language=chosen.language, endpoint=endpoint, no_cache=no_cache, cache_only=cache_only)
    scoring = Scoring(
        table=chosen.table, comparing=chosen.comparing, verdicts=verdicts(annotations) if annotations else {}
    )
    made = program(chosen)
    if no_cache and place.exists():  # a run that was killed has no result yet: it goes on
        rows.remove(rows.place(place))
    metadata = {**about, "profile": profile, "language": chosen.language, "endpoint": clients.endpoint}
    if annotations:
        metadata["annotations"] = str(annotations)
    result = run(
        asked,
        made,
        clients,
        scoring,
        metadata,
        rows.place(place),
        chosen,
        parallel,
        timeout=timeout,
        max_failures=1.0 if article is not None else max_failures,
    )
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
    if least is not None:
        gate(result, least, terminal)


def _least(said: str | None) -> float | None:
    """What F1 must reach."""
    if said is None:
        return None
    name, _, number = said.rpartition("=")
    try:
        least = float(number)
    except ValueError:
        least = -1.0
    if name != "f1" or not 0 <= least <= 1:
        raise GoldassayError(f"--fail-under holds f1 to a share: f1=0.5, not {said!r}")
    return least


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
