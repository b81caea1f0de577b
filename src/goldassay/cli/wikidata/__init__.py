"""``goldassay wikidata …``: what a program reads from Wikipedia articles, measured against what Wikidata says.

`evaluate` measures; here is what comes after a result: ``recall-gap-analysis``, ``tune-extraction-prompts`` and
``novel …``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from goldassay.cli import options as use
from goldassay.cli.wikidata.evaluate import Output, ProgramOrProfile, Results, check_alignment, evaluate, fetch, program
from goldassay.exceptions import DataError, GoldassayError


def _free(output: Path | None, force: bool) -> None:
    if output is not None:
        use.new_place(output, force)


def recall_gap_analysis(
    results: Results,
    threshold: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=1.0, help="Properties with less recall are gaps.")
    ] = 0.5,
    output: Output = None,
    force: bool = False,
    json: bool = False,
) -> None:
    """Which properties are found too rarely, with sentences in which they were missed."""
    from goldassay.files import save_json
    from goldassay.wikidata import report as tables
    from goldassay.wikidata import tuning as improving
    from goldassay.wikidata.results import load

    _free(output, force)
    report = improving.analysed(load(results), threshold, file=results)
    place = output or results.with_name(f"{results.stem}-recall-gaps.json")
    save_json(place, report)
    tables.told(report, place, json, tables.gaps)


def tune_extraction_prompts(
    results: Results,
    output: Output = None,
    profile: ProgramOrProfile = "triples:Articles",
    limit: Annotated[int, use.for_result("--limit", metavar="N", min=1, help="How many patches to propose.")] = 12,
    force: bool = False,
    json: bool = False,
) -> None:
    """Patterns of a run's errors, and patches of the program's prompt made from real misses, beside the report."""
    from goldassay.files import save_json
    from goldassay.reporting import terminal
    from goldassay.tuning.patches import Patch, write
    from goldassay.wikidata import report as tables
    from goldassay.wikidata import tuning as improving
    from goldassay.wikidata.profile import read_profile

    _free(output, force)
    chosen = read_profile(profile)
    made = program(chosen)
    if not improving.prompts(made):
        terminal.warn(f"{chosen.program} has no prompt, so there are no patches; another --profile has them")
    report = improving.report(improving.from_rows(evidence(results), chosen.table), made, limit)
    place = output or results.with_name(f"{results.stem}-tuning.json")
    save_json(place, report)
    for one in report["prompt_patches"]:
        fields = {name: value for name, value in one.items() if name not in ("id", "section")}
        write(Patch.model_validate(fields), place.with_name(f"{place.stem}-patches"))
    tables.told(report, place, json, tables.patches)


def evidence(results: Path) -> Any:
    """The rows of a result's articles, one at a time; a file of rows may hold those of other samples, too."""
    from goldassay.wikidata import rows
    from goldassay.wikidata.results import load, rows_of

    result = load(results)
    file = rows_of(results, result)
    if file is None:
        raise DataError(
            "its rows (….rows.jsonl), which hold the evidence of each triple, are not beside it", file=results
        )
    titles = {one.get("article_title") for one in result["article_results"]}
    return (row for row in rows.latest(file) if row["article_title"] in titles)


novel = use.commands("Judge what Wikidata does not have: sample, annotate, report.")

Annotations = Annotated[Path, typer.Argument(metavar="FILE", help="The file of annotations.")]


@use.command(novel)
def sample(
    results: Results,
    output: Annotated[
        Path, typer.Option("--out", "--output", metavar="FILE", help="The file of annotations to write.")
    ],
    share: Annotated[
        float, typer.Option(metavar="SHARE", min=0.0, max=1.0, help="The share of the unmatched triples.")
    ] = 0.1,
    seed: int = 0,
) -> None:
    """Draw unmatched triples for annotation; the domains keep their shares. What is judged is never written over."""
    from goldassay.reporting import terminal
    from goldassay.wikidata import annotations as people

    if output.exists():
        raise GoldassayError(f"{output} exists; name another --out, so that no verdict is lost")
    entries = people.drawn(evidence(results), share, seed)
    if not entries:
        raise DataError("no unmatched triple without a verdict is in its rows", file=results)
    people.save(output, entries)
    terminal.line(f"{len(entries)} triples to judge:  goldassay wikidata novel annotate {output}")


@use.command(novel)
def annotate(
    annotations: Annotations,
    annotator: Annotated[str, typer.Option(metavar="NAME", help="Who judges.")] = "human",
) -> None:
    """Judge one triple after another, one key each; stop and go on at will."""
    from goldassay.wikidata.report import annotate as asked

    asked(annotations, annotator)


@use.command(novel)
def report(annotations: Annotations, output: Output = None, force: bool = False, json: bool = False) -> None:
    """The novel discovery rate with its interval, over all and by domain."""
    from goldassay.files import save_json
    from goldassay.wikidata import annotations as people
    from goldassay.wikidata import report as tables

    _free(output, force)
    found = people.reported(annotations)
    if output:
        save_json(output, found)
    tables.told(found, output, json, tables.discovery)


app = use.commands("Measure what a program reads from Wikipedia articles against what Wikidata says.")
use.command(app)(evaluate)
use.command(app)(fetch)
use.command(app, "recall-gap-analysis")(recall_gap_analysis)
use.command(app, "tune-extraction-prompts")(tune_extraction_prompts)
use.command(app, "check-alignment")(check_alignment)
app.add_typer(novel, name="novel")
