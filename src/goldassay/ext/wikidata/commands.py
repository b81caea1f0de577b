"""Compare what a program reads from Wikipedia articles with Wikidata."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import dspy

from goldassay import workspace
from goldassay._support import files
from goldassay._support import options as use
from goldassay._support.exceptions import DataError, FetchError, GoldassayError
from goldassay._support.options import shell_line
from goldassay.core.fields import Fields
from goldassay.ext.wikidata import evaluation, improvement
from goldassay.ext.wikidata import novel as verdicts
from goldassay.ext.wikidata.alignment import OUR_TABLE, PropertyAlignmentTable, problems
from goldassay.ext.wikidata.results import load, load_rows
from goldassay.measures.triples import VERDICTS
from goldassay.reporting import terminal
from goldassay.results.view import Note, Table, TableRow, bounds, number
from goldassay.running.options import RunOptions
from goldassay.tuning.patches import Patch, write
from goldassay.tuning.systems import prepared

Report = Mapping[str, Any]
MOST_ROWS = 15  # rows of a table
Profile = Annotated[
    str,
    use.option("TASK|FILE", "A program (triples:Articles, FILE:NAME), or YAML with program, lm, …"),
]
Results = Annotated[Path, use.option("FILE", "The result of an evaluation.")]
Output = Annotated[Path | None, use.option("FILE", "The file to write.")]


@dataclass(frozen=True)
class SourceOptions:
    """Which articles, and where they come from."""

    article: Annotated[list[str] | None, use.option("TITLE", "An article (repeat).")] = None
    dataset: Annotated[Path | None, use.option("FILE", "A benchmark: YAML with articles.")] = None
    language: Annotated[str | None, use.option("CODE", "The Wikipedia's language (default: en).")] = None
    endpoint: Annotated[str | None, use.option("URL|FILE", "A SPARQL endpoint, or a file of Wikidata.")] = None

    def refs(self, limit: int | None = None, seed: int = 0) -> tuple[Sequence[evaluation.ArticleRef], dict[str, Any]]:
        """The articles, and their description in a result.

        Raises:
            GoldassayError: Neither articles nor a benchmark are named, or both.
        """
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


def fetch(articles: SourceOptions) -> None:
    """Fetch a benchmark's articles and items into the cache, from which evaluate --cache-only takes them, offline."""
    refs, _ = articles.refs()
    sources = evaluation.open_sources(language=articles.language or "en", endpoint=articles.endpoint)
    fetched = list(evaluation.fetch_articles(refs, sources, RunOptions(max_failures=1.0)))
    failed = 0
    for ref, article in zip(refs, fetched, strict=True):
        if isinstance(article, FetchError):
            terminal.warn(f"{ref.title}: {article}")
            failed += 1
    terminal.line(f"{len(refs) - failed} of {len(refs)} articles with their items are in the cache")
    if failed:
        raise SystemExit(1)


@dataclass(frozen=True)
class EvaluationOptions(SourceOptions):
    """The program and the articles of an evaluation."""

    limit: int | None = None
    no_cache: Annotated[bool, use.flag("Fetch everything again.")] = False
    cache_only: Annotated[bool, use.flag("Fetch nothing; use only the cache.")] = False
    threads: int = 1
    profile: Profile = "triples:Articles"
    timeout: float | None = None
    out: Output = None
    annotations: Annotated[Path | None, use.option("FILE", "Verdicts on novel triples.")] = None
    fail_under: Annotated[
        str | None, use.option("NAME=VALUE", "f1=VALUE: exit with status 1 if F1 is lower, or gold is missing.")
    ] = None


def evaluate(articles: EvaluationOptions, json: bool = False, seed: int = 0) -> None:
    """Evaluate a program on articles; the same command resumes an interrupted evaluation."""
    least = use.numbers("fail_under", [articles.fail_under] if articles.fail_under else [])
    if least and set(least) != {"f1"}:
        raise GoldassayError(f"--fail-under expects f1=NUMBER, got {articles.fail_under!r}")
    refs, about = articles.refs(articles.limit, seed)
    chosen = evaluation.read_profile(articles.profile, language=articles.language)
    single = about["mode"] == "single_article"
    output = articles.out or Path("runs") / "wikidata" / f"{datetime.now(UTC):%Y%m%d-%H%M%S}.json"
    sources = evaluation.open_sources(
        language=chosen.language,
        endpoint=articles.endpoint,
        no_cache=articles.no_cache,
        cache_only=articles.cache_only,
    )
    result = evaluation.evaluate_articles(
        refs,
        _program(chosen),
        sources,
        chosen,
        output,
        verdicts=verdicts.verdicts(articles.annotations) if articles.annotations else {},
        options=RunOptions(
            threads=articles.threads, timeout=articles.timeout, max_failures=1.0 if single else 0.5, seed=seed
        ),
        metadata={
            **about,
            "profile": articles.profile,
            "annotations": articles.annotations and str(articles.annotations),
        },
    )
    if resumed := result["run_metadata"]["resumed_articles"]:
        terminal.warn(f"{resumed} of {len(refs)} articles were evaluated before")
    _save(result, output, json, view_of_evaluation(result))
    failed = result["failed_articles"]
    total = result["aggregate"]
    for article in (*failed, *result["article_results"]):
        if single and "error" in article:
            raise GoldassayError(" ".join(str(article["error"]).split()))
    problem = ""
    if failed or not total["true_positives"] + total["false_negatives"]:
        problem = f"gold is missing: {len(failed)} articles could not be fetched"
    elif least and total["f1"] < least["f1"]:
        problem = f"F1 {total['f1']:.4f} is below {least['f1']:g}"
    if least and problem:
        terminal.warn(problem)
        raise SystemExit(1)


def _program(profile: evaluation.Profile) -> dspy.Module:
    """The program of a profile, in its tuned state."""
    return prepared(workspace.target(profile.program, "triples"), state=profile.state)


def _save(report: Fields, path: Path, json: bool, view: terminal.Lines) -> None:
    """Write a report, and show it as JSON, or what it says with the file that it was written to."""
    files.save_json(path, report)
    terminal.output(report, json, view)
    if not json:
        terminal.echo(f"Written: {path}")


def gaps(
    results: Results,
    threshold: Annotated[float, use.option("SHARE", "Recall below this is a gap.", min=0, max=1)] = 0.5,
    out: Output = None,
    force: bool = False,
    json: bool = False,
) -> None:
    """Recall gap analysis: properties with low recall, with sentences in which they were missed."""
    use.check_new(out, force)
    analysis = improvement.recall_gaps(load(results), threshold, results)
    rows: list[TableRow] = []
    for gap in analysis["gaps"][:MOST_ROWS]:
        example = gap["extraction_examples"][0]["example_text"] if gap["extraction_examples"] else gap["notes"]
        name = f"{gap['property_id']} {gap['property_label']}"
        rows.append([name, example, gap["matched_count"], gap["total_count"], number(gap["recall"])])
    columns = ["property", "example", "found", "gold", "recall"]
    view: list[str | Table] = [Table(f"recall below {analysis['threshold']:g}", columns, rows, left=2)]
    if analysis["unknown_recall"]:
        view.append(f"No recall is known of {', '.join(analysis['unknown_recall'])}: the file has only precision.")
    _save(analysis, out or results.with_name(f"{results.stem}-recall-gaps.json"), json, view)


def tune(
    results: Results,
    profile: Profile = "triples:Articles",
    out: Output = None,
    force: bool = False,
    json: bool = False,
) -> None:
    """Extraction prompt tuning: patterns of the errors, and patches of the prompt made from real misses."""
    use.check_new(out, force)
    chosen = evaluation.read_profile(profile)
    program = _program(chosen)
    if not improvement.has_prompts(program):
        terminal.warn(f"{chosen.program} has no prompt, so there are no patches; use another --profile")
    errors = improvement.from_rows(load_rows(results), chosen.scoring().table)
    proposals = improvement.tuning_report(errors, program)
    file = out or results.with_name(f"{results.stem}-tuning.json")
    for patch in proposals["prompt_patches"]:
        fields = {name: value for name, value in patch.items() if name not in ("id", "section")}
        write(Patch.model_validate(fields), file.with_name(f"{file.stem}-patches"))
    rows = [
        [patch["action"], patch["rationale"], patch.get("text") or patch.get("example", {}).get("text", "")]
        for patch in proposals["prompt_patches"]
    ]
    missed = len(proposals["false_negative_patterns"])
    wrong = len(proposals["false_positive_patterns"])
    summary = f"{missed} patterns of missed statements, {wrong} of wrong values."
    _save(proposals, file, json, [Table("patches", ["action", "reason", "edit"], rows, left=3), summary])


def alignment(
    table: Annotated[Path | None, use.argument("TABLE", "A table (default: goldassay's own).")] = None,
    json: bool = False,
) -> None:
    """Check an alignment table: repeated and unreachable rows, undeclared prefixes; exit status 1 if there are any."""
    checked = PropertyAlignmentTable.of(table or OUR_TABLE)
    rows = list(problems(checked))
    lines = [f"{row['kind']:<14} {row['name']}: {row['message']}" for row in rows]
    lines.append(f"{len(checked.by_id)} properties, {len(rows)} problems.")
    terminal.output({"problems": rows}, json, lines)
    if rows:
        raise SystemExit(1)


class Action(StrEnum):
    """The next step for novel triples."""

    SAMPLE = "sample"
    ANNOTATE = "annotate"
    REPORT = "report"


def novel(
    action: Annotated[Action, use.argument(None, "sample: draw triples; annotate: judge them; report: the rate.")],
    file: Annotated[Path, use.argument("FILE", "The annotations (YAML).")],
    results: Annotated[Path | None, use.option("FILE", "sample: the result of an evaluation.")] = None,
    share: Annotated[float, use.option("SHARE", "sample: the share of triples.", min=0, max=1)] = 0.1,
    annotator: Annotated[str, use.option("NAME", "annotate: who judges.")] = "human",
    json: bool = False,
    seed: int = 0,
) -> None:
    """Judge triples that Wikidata does not have: sample, annotate (one key a triple), report the discovery rate."""
    if action is Action.REPORT:
        rate = verdicts.novel_report(file)
        rows = [
            [name, _estimate(row["novel_discovery_rate"], row), *(f"{row[verdict]:g}" for verdict in VERDICTS)]
            for name, row in {**rate["by_domain"], "all": rate}.items()
        ]
        view: list[str | Table] = [Table("novel discovery rate", ["domain", "rate [95 %]", *VERDICTS], rows)]
        if rate["judged"] < rate["annotations"]:
            view.append(f"{rate['annotations'] - rate['judged']} of {rate['annotations']} are still open.")
        terminal.output(rate, json, view)
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
        next_step = f"{len(entries)} triples to judge:  {shell_line('goldassay wikidata novel annotate', file)}"
        terminal.output({"triples": len(entries), "file": str(file)}, json, [next_step])


def view_of_evaluation(result: Report) -> terminal.Lines:
    """The values of an evaluation, its domains and properties, and the articles that failed."""
    meanings = {
        "precision": "of aligned triples, if Wikidata is complete",
        "precision_min": "of all triples, if unknown ones are wrong",
        "precision_max": "of all triples, if unknown ones are right",
        "recall": "of statements of aligned properties",
        "recall_supported": "of those that the text says",
        "f1": "of precision and recall",
        "macro_f1": "mean over properties",
        "calibration_pearson": "confidence against accuracy, by bucket",
        "ece": "expected calibration error",
        "novel_discovery_rate": "correct / (correct + incorrect), as judged",
    }
    total = result["aggregate"]
    about = result["run_metadata"]
    intervals = {**total["intervals"], "novel_discovery_rate": total["verdicts"]}
    values = [[key, meaning, _estimate(total[key], intervals.get(key, {}))] for key, meaning in meanings.items()]
    title = f"{about.get('article') or about.get('dataset') or ''}: {total['articles']} articles against Wikidata"
    kinds = ", ".join(f"{count} {kind}" for kind, count in total["match_kinds"].items() if count)
    view: list[str | Table | Note] = [
        Table(title, ["value", "meaning", "[95 %]"], values, left=2),
        f"{total['predicted_triples']} triples: {kinds or 'none'}.",
    ]
    columns = ("precision", "recall", "recall_supported", "f1")
    for facet in ("domain", "property"):
        cells: list[TableRow] = []
        for name, row in result[f"by_{facet}"].items():
            size = row["true_positives"] + row["false_negatives"]
            cells.append([f"{name} {row.get('label', '')}", size, *(number(row[column]) for column in columns)])
        headers = [facet, "gold", "precision", "recall", "recall of said", "f1"]
        view.append(Table(f"by {facet}", headers, cells[:MOST_ROWS]))
    for gap in result["alignment_gaps"][:5]:
        meaning = f"{gap['property']} ({gap['label']})"
        view.append(f"table gap: {gap['predicate']} may mean {meaning}, supported by {gap['support']} triples")
    silent = [article for article in result["article_results"] if "error" in article]
    failures = {"failed": result["failed_articles"], "the program failed, so all gold is missed": silent}
    for problem, articles in failures.items():
        for article in articles[:MOST_ROWS]:
            view.append(f"{problem}: {article['article_title']}: {' '.join(str(article['error']).split())}")
    return [*view, *map(Note, about.get("warnings") or ())]


def _estimate(value: float | None, interval: Report) -> str:
    return number(value) + bounds((interval.get("low"), interval.get("high")))  # type: ignore[arg-type]
