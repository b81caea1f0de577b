"""``goldassay wikidata …``: the subcommands, parsed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Measure what a program reads from Wikipedia articles against what Wikidata says.", no_args_is_help=True
)
novel_app = typer.Typer(help="Judge what Wikidata does not have: sample, annotate, report.", no_args_is_help=True)
app.add_typer(novel_app, name="novel")

Profile = Annotated[
    str, typer.Option(help="A program (triples:Articles, FILE:NAME), or a YAML file with program, lm, alignment …")
]
Endpoint = Annotated[
    str | None, typer.Option(metavar="URL|FILE", help="A SPARQL endpoint, or a local file of Wikidata.")
]
Results = Annotated[Path, typer.Option(help="The result of an evaluation.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Fetch everything afresh.")]
CacheOnly = Annotated[bool, typer.Option("--cache-only", help="Fetch nothing: what is not in the cache fails.")]


@app.command()
def evaluate(
    article: Annotated[str | None, typer.Option(help="One article, by its title.")] = None,
    dataset: Annotated[Path | None, typer.Option(help="A benchmark: YAML with articles.")] = None,
    profile: Profile = "triples:Articles",
    output: Annotated[Path | None, typer.Option(help="Where the result goes; its rows stand beside it.")] = None,
    lm: Annotated[str | None, typer.Option(help="The language model, where the program needs one.")] = None,
    language: Annotated[str | None, typer.Option(help="The language of the Wikipedia (default: en).")] = None,
    annotations: Annotated[Path | None, typer.Option(help="Verdicts of people on novel triples.")] = None,
    no_cache: NoCache = False,
    cache_only: CacheOnly = False,
    sample: Annotated[int | None, typer.Option(min=1, help="Only N articles; the domains keep their shares.")] = None,
    parallel: Annotated[int, typer.Option(min=1, help="How many articles at once.")] = 1,
    endpoint: Endpoint = None,
    seed: Annotated[int, typer.Option(help="Another seed, another sample.")] = 0,
    fail_below_f1: Annotated[
        float | None,
        typer.Option("--fail-below-f1", min=0.0, max=1.0, help="Exit with 1 below this, or where gold is missing."),
    ] = None,
    json: Json = False,
) -> None:
    """Evaluate a program on one article or on a benchmark; a killed run goes on where it stopped."""
    from goldassay.cli import wikidata_evaluate as wikidata

    wikidata.evaluate(
        article=article,
        dataset=dataset,
        profile=profile,
        output=output,
        lm=lm,
        language=language,
        annotations=annotations,
        no_cache=no_cache,
        cache_only=cache_only,
        sample=sample,
        parallel=parallel,
        endpoint=endpoint,
        seed=seed,
        fail_below_f1=fail_below_f1,
        as_json=json,
    )


@app.command()
def fetch(
    dataset: Annotated[Path | None, typer.Option(help="The benchmark whose articles and items are fetched.")] = None,
    article: Annotated[list[str] | None, typer.Option(help="An article, by its title (repeatable).")] = None,
    to: Annotated[Path | None, typer.Option(help="The local file of Wikidata to write.")] = None,
    language: Annotated[str, typer.Option(help="The language of the Wikipedia.")] = "en",
    sample: Annotated[int | None, typer.Option(min=1, help="Only N articles; the domains keep their shares.")] = None,
    endpoint: Endpoint = None,
    no_cache: NoCache = False,
    dump: Annotated[Path | None, typer.Option(help="Read items from a Wikidata JSON dump instead.")] = None,
) -> None:
    """Freeze a benchmark: its articles into the cache, its items into a file that evaluate takes as --endpoint."""
    from goldassay.cli import wikidata_evaluate as wikidata

    wikidata.fetch(
        dataset=dataset,
        articles=article or (),
        to=to,
        language=language,
        sample=sample,
        endpoint=endpoint,
        no_cache=no_cache,
        dump=dump,
    )


@app.command("recall-gap-analysis")
def recall_gap_analysis(
    results: Results,
    threshold: Annotated[float, typer.Option(min=0.0, max=1.0, help="Properties with less recall are gaps.")] = 0.5,
    output: Annotated[Path | None, typer.Option(help="Where the report goes.")] = None,
    json: Json = False,
) -> None:
    """Which properties are found too rarely, with sentences in which they were missed."""
    from goldassay.cli import wikidata_improve

    wikidata_improve.recall_gaps(results, threshold=threshold, output=output, as_json=json)


@app.command("tune-extraction-prompts")
def tune_extraction_prompts(
    results: Results,
    output: Annotated[Path | None, typer.Option(help="Where the report goes; the patches stand beside it.")] = None,
    profile: Profile = "triples:Articles",
    most: Annotated[int, typer.Option(min=1, help="How many patches to propose.")] = 12,
    json: Json = False,
) -> None:
    """Patterns of a run's errors, and patches of the program's prompt made from real misses."""
    from goldassay.cli import wikidata_improve

    wikidata_improve.tune_prompts(results, output=output, profile=profile, most=most, as_json=json)


@app.command("check-alignment")
def check_alignment(
    table: Annotated[Path | None, typer.Argument(help="A table (default: the one of goldassay).")] = None,
    truth: Annotated[
        Path | None, typer.Option(help="A ground truth (JSON lines of statements and predicates) to hold to the table.")
    ] = None,
    json: Json = False,
) -> None:
    """Defects of an alignment table: rows that repeat, that nothing reaches, that contradict; exit code 1 if any."""
    from goldassay.cli import wikidata_novel

    wikidata_novel.check_alignment(table, truth=truth, as_json=json)


@novel_app.command("sample")
def novel_sample(
    results: Results,
    output: Annotated[Path, typer.Option(help="The file of annotations to write.")],
    share: Annotated[float, typer.Option(min=0.0, max=1.0, help="The share of the unmatched triples.")] = 0.1,
    seed: Annotated[int, typer.Option(help="Another seed, another sample.")] = 0,
) -> None:
    """Draw unmatched triples for annotation; the domains keep their shares."""
    from goldassay.cli import wikidata_novel

    wikidata_novel.novel_sample(results, output=output, share=share, seed=seed)


@novel_app.command("annotate")
def novel_annotate(
    annotations: Annotated[Path, typer.Argument(help="The file of annotations.")],
    annotator: Annotated[str, typer.Option(help="Who judges.")] = "human",
) -> None:
    """Judge one triple after another, one key each; stop and go on at will."""
    from goldassay.cli import wikidata_novel

    wikidata_novel.novel_annotate(annotations, annotator=annotator)


@novel_app.command("report")
def novel_report(
    annotations: Annotated[Path, typer.Argument(help="The file of annotations.")],
    output: Annotated[Path | None, typer.Option(help="Where the report goes.")] = None,
    json: Json = False,
) -> None:
    """The novel discovery rate with its interval, over all and by domain."""
    from goldassay.cli import wikidata_novel

    wikidata_novel.novel_report(annotations, output=output, as_json=json)
