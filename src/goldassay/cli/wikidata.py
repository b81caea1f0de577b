"""``goldassay wikidata``: what a program reads from Wikipedia articles, compared with Wikidata."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldassay import files, workspace
from goldassay.cli import options as use
from goldassay.exceptions import DataError, FetchError, GoldassayError
from goldassay.reporting import terminal
from goldassay.reporting import wikidata as tables

if TYPE_CHECKING:
    import dspy

    from goldassay.wikidata.evaluation import Profile as Profiled

app = use.commands("Compare what a program reads from Wikipedia articles with Wikidata.")
Profile = Annotated[
    str,
    use.option("TASK|FILE", "A program (triples:Articles, FILE:NAME), or YAML with program, lm, …"),
]
Results = Annotated[Path, use.option("FILE", "The result of an evaluation.")]
Output = Annotated[Path | None, use.option("FILE", "The file to write.")]


@dataclass(frozen=True)
class SourceOptions:
    """Which articles, and where they come from."""

    article: list[str] | None = use.option("TITLE", "An article (repeat).")
    dataset: Path | None = use.option("FILE", "A benchmark: YAML with articles.")
    language: str | None = use.option("CODE", "The Wikipedia's language (default: en).")
    endpoint: str | None = use.option("URL|FILE", "A SPARQL endpoint, or a file of Wikidata.")

    def refs(self, limit: int | None = None, seed: int = 0) -> tuple[Sequence[Any], dict[str, Any]]:
        """The articles, and their description in a result.

        Raises:
            GoldassayError: Neither articles nor a benchmark are named, or both.
        """
        from goldassay.wikidata import evaluation

        if (self.dataset is None) == (not self.article):
            raise GoldassayError("name articles (--article TITLE) or a benchmark (--dataset FILE)")
        if self.dataset is None:
            titles = self.article or ()
            mode = {"mode": "single_article", "article": titles[0]} if len(titles) == 1 else {"mode": "articles"}
            return [evaluation.ArticleRef(title) for title in titles], mode
        name, titled = evaluation.read_benchmark(self.dataset)
        about = {"mode": "dataset", "dataset": name, "dataset_articles": len(titled)}
        if limit is None:
            return titled, about
        refs = evaluation.sample(titled, limit, seed)
        return refs, {**about, "sample": len(refs), "seed": seed}

    def sources(self, language: str | None = None, **cache: bool) -> Any:
        """Where articles and items come from."""
        from goldassay.wikidata.evaluation import open_sources

        code = language or self.language or "en"
        return open_sources(language=code, endpoint=self.endpoint, **cache)


@use.command(app)
def fetch(articles: SourceOptions) -> None:
    """Fetch a benchmark's articles and items into the cache, from which evaluate --cache-only takes them, offline."""
    from goldassay.running.evaluate import RunOptions
    from goldassay.wikidata.evaluation import fetch_articles

    refs, _ = articles.refs()
    sources = articles.sources()
    options = RunOptions(max_failures=1.0)
    fetched = list(fetch_articles(refs, sources, articles.language or "en", options))
    failed = [(ref, error) for ref, error in zip(refs, fetched, strict=True) if isinstance(error, FetchError)]
    for ref, error in failed:
        terminal.warn(f"{ref.title}: {error}")
    terminal.line(f"{len(refs) - len(failed)} of {len(refs)} articles with their items are in the cache")
    if failed:
        raise SystemExit(1)


@dataclass(frozen=True)
class EvaluationOptions(SourceOptions):
    """The program and the articles of an evaluation."""

    limit: use.Limit = None
    no_cache: bool = use.flag("--no-cache", "Fetch everything again.")
    cache_only: bool = use.flag("--cache-only", "Fetch nothing; use only the cache.")
    threads: use.Threads = 1
    profile: Profile = "triples:Articles"
    lm: use.Lm = None
    timeout: float | None = use.option("SECONDS", "How long an article may take.")
    out: Output = None
    annotations: Path | None = use.option("FILE", "Verdicts on novel triples.")
    fail_under: str | None = use.option("f1=VALUE", "Exit with status 1 if F1 is lower, or gold is missing.")


@use.command(app)
def evaluate(articles: EvaluationOptions, json: bool = False, seed: int = 0) -> None:
    """Evaluate a program on articles; the same command resumes an interrupted evaluation."""
    from goldassay.running.evaluate import RunOptions
    from goldassay.wikidata import evaluation, novel

    least = use.numbers("--fail-under", [articles.fail_under] if articles.fail_under else [])
    if least and set(least) != {"f1"}:
        raise GoldassayError(f"--fail-under expects f1=NUMBER, got {articles.fail_under!r}")
    refs, about = articles.refs(articles.limit, seed)
    chosen = evaluation.read_profile(articles.profile, lm=articles.lm, language=articles.language)
    single = about["mode"] == "single_article"
    output = articles.out or Path("runs") / "wikidata" / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    result = evaluation.evaluate_articles(
        refs,
        _program(chosen),
        articles.sources(chosen.language, no_cache=articles.no_cache, cache_only=articles.cache_only),
        chosen,
        output,
        verdicts=novel.verdicts(articles.annotations) if articles.annotations else {},
        options=RunOptions(
            threads=articles.threads, timeout=articles.timeout, max_failures=1.0 if single else 0.5, seed=seed
        ),
        metadata={
            **about,
            "profile": articles.profile,
            "annotations": articles.annotations and str(articles.annotations),
        },
    )
    files.save_json(output, result)
    if resumed := result["run_metadata"]["resumed_articles"]:
        terminal.warn(f"{resumed} of {len(refs)} articles were evaluated before")
    _show(result, output, json, tables.evaluation)
    failed = result["failed_articles"]
    total = result["aggregate"]
    errors = [article["error"] for article in (*failed, *result["article_results"]) if "error" in article]
    if single and errors:
        raise GoldassayError(" ".join(str(errors[0]).split()))
    problem = ""
    if failed or not total["true_positives"] + total["false_negatives"]:
        problem = f"gold is missing: {len(failed)} articles could not be fetched"
    elif least and total["f1"] < least["f1"]:
        problem = f"F1 {total['f1']:.4f} is below {least['f1']:g}"
    if least and problem:
        terminal.warn(problem)
        raise SystemExit(1)


def _program(profile: Profiled) -> dspy.Module:
    """The program of a profile, in its tuned state."""
    from goldassay.systems import prepared

    return prepared(workspace.target(profile.program, "triples"), state=profile.state)


def _show(report: Mapping[str, Any], place: Path, json: bool, table: Callable[[Any], None]) -> None:
    """A report as JSON, or as a table with the file that it was written to."""
    terminal.output(report, json, table)
    if not json:
        terminal.echo(f"Written: {place}")


@use.command(app)
def gaps(
    results: Results,
    threshold: float = use.option("SHARE", "Recall below this is a gap.", min=0, max=1, default=0.5),
    out: Output = None,
    force: bool = False,
    json: bool = False,
) -> None:
    """Recall gap analysis: properties with low recall, with sentences in which they were missed."""
    from goldassay.wikidata.improvement import recall_gaps
    from goldassay.wikidata.results import load

    use.new_place(out, force)
    analysis = recall_gaps(load(results), threshold, results)
    place = out or results.with_name(f"{results.stem}-recall-gaps.json")
    files.save_json(place, analysis)
    _show(analysis, place, json, tables.gaps)


@use.command(app)
def tune(
    results: Results,
    profile: Profile = "triples:Articles",
    out: Output = None,
    force: bool = False,
    json: bool = False,
) -> None:
    """Extraction prompt tuning: patterns of the errors, and patches of the prompt made from real misses."""
    from goldassay.tuning.patches import Patch, write
    from goldassay.wikidata import improvement
    from goldassay.wikidata.evaluation import read_profile
    from goldassay.wikidata.results import load_rows

    use.new_place(out, force)
    chosen = read_profile(profile)
    program = _program(chosen)
    if not improvement.has_prompts(program):
        terminal.warn(f"{chosen.program} has no prompt, so there are no patches; use another --profile")
    errors = improvement.from_rows(load_rows(results), chosen.scoring().table)
    proposals = improvement.tuning_report(errors, program)
    place = out or results.with_name(f"{results.stem}-tuning.json")
    files.save_json(place, proposals)
    for patch in proposals["prompt_patches"]:
        fields = {name: value for name, value in patch.items() if name not in ("id", "section")}
        write(Patch.model_validate(fields), place.with_name(f"{place.stem}-patches"))
    _show(proposals, place, json, tables.patches)


@use.command(app)
def alignment(
    table: Path | None = use.argument("TABLE", "A table (default: goldassay's own)."),
    json: bool = False,
) -> None:
    """Check an alignment table: repeated and unreachable rows, undeclared prefixes; exit status 1 if there are any."""
    from goldassay.wikidata.alignment import PropertyAlignmentTable, problems

    checked = PropertyAlignmentTable.of(table) if table else PropertyAlignmentTable.of()
    rows = list(problems(checked))
    lines = [f"{row['kind']:<14} {row['name']}: {row['message']}" for row in rows]
    lines.append(f"{len(checked.by_id)} properties, {len(rows)} problems.")
    terminal.output({"problems": rows}, json, lambda _: terminal.echo(*lines))
    if rows:
        raise SystemExit(1)


class Action(StrEnum):
    """What to do with novel triples."""

    SAMPLE = "sample"
    ANNOTATE = "annotate"
    REPORT = "report"


@use.command(app)
def novel(
    action: Annotated[Action, typer.Argument(help="sample: draw triples; annotate: judge them; report: the rate.")],
    file: Annotated[Path, use.argument("FILE", "The annotations (YAML).")],
    results: Path | None = use.option("FILE", "sample: the result of an evaluation."),
    share: float = use.option("SHARE", "sample: the share of triples.", min=0, max=1, default=0.1),
    annotator: str = use.option("NAME", "annotate: who judges.", default="human"),
    json: bool = False,
    seed: int = 0,
) -> None:
    """Judge triples that Wikidata does not have: sample, annotate (one key a triple), report the discovery rate."""
    from goldassay.wikidata import novel as verdicts
    from goldassay.wikidata.results import load_rows

    if action is Action.REPORT:
        terminal.output(verdicts.novel_report(file), json, tables.novel)
    elif action is Action.ANNOTATE:
        if json:
            raise GoldassayError("annotate asks a person, one key a triple; --json is for sample and report")
        verdicts.annotate(file, annotator)
    elif results is None:
        raise GoldassayError("name the result to sample from: --results FILE")
    elif file.exists():
        raise GoldassayError(f"{file} exists; name another file, so that no verdict is lost")
    else:
        entries = verdicts.sample_novel(load_rows(results), share, seed)
        if not entries:
            raise DataError("its rows have no unmatched triple without a verdict", file=results)
        verdicts.save(file, entries)
        next_step = f"{len(entries)} triples to judge:  goldassay wikidata novel annotate {file}"
        terminal.output({"triples": len(entries), "file": str(file)}, json, lambda _: terminal.echo(next_step))
