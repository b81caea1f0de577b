"""The command line: parse, call, print. What each command does lives in ``goldassay.commands``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from goldassay.cli.gold import app as gold_app
from goldassay.cli.judge import app as judge_app
from goldassay.cli.patch import app as patch_app
from goldassay.cli.report import report
from goldassay.cli.run import evaluate, tune
from goldassay.cli.wikidata import app as wikidata_app
from goldassay.exceptions import GoldassayError

app = typer.Typer(
    name="goldassay",
    help="Score DSPy programs against gold, and tune them in the same loop.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.command("eval")(evaluate)
app.command()(tune)
app.command()(report)
app.add_typer(gold_app, name="gold")
app.add_typer(patch_app, name="patch")
app.add_typer(wikidata_app, name="wikidata")
app.add_typer(judge_app, name="judge")

Task = Annotated[
    str, typer.Argument(help="extraction, classification, linking, retrieval, answering or triples", metavar="TASK")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]


@app.command()
def score(
    task: Task,
    gold: Annotated[Path, typer.Option(help="The gold file or folder.")],
    pred: Annotated[Path, typer.Option(help="The predictions, in the same format.")],
    format: Annotated[
        str | None,
        typer.Option(help="jsonl, iob2, hipe, tsv, csv, trec, squad, text2kgbench … (default: by extension)"),
    ] = None,
    column: Annotated[str | None, typer.Option(help="HIPE column, such as NE-COARSE-LIT or NEL-LIT.")] = None,
    measure: Annotated[
        list[str] | None, typer.Option(help="Retrieval: ask for a measure by its ir_measures name.")
    ] = None,
    protocol: Annotated[str | None, typer.Option(help="An official protocol by its name: hipe, text2kgbench.")] = None,
    ontology: Annotated[Path | None, typer.Option(help="Triples: the ontology (text2kgbench JSON).")] = None,
    equivalent: Annotated[
        Path | None, typer.Option(help="Linking: a table of equivalent ids (two columns, tsv or csv).")
    ] = None,
    na_probs: Annotated[
        Path | None, typer.Option(help="SQuAD 2.0: the probabilities of no answer, {id: number} as JSON.")
    ] = None,
    labels: Annotated[
        str | None, typer.Option(help="Classification: the list of labels, A,B,C or a file of them, one a line.")
    ] = None,
    against: Annotated[
        Path | None, typer.Option(help="An earlier --json output: show the differences; other conventions are refused.")
    ] = None,
    intervals: Annotated[
        bool | None, typer.Option("--intervals/--no-intervals", help="95 % intervals (default: up to 2,000 examples).")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Print each value's definition, convention and source.")
    ] = False,
    json: Json = False,
) -> None:
    """Score predictions that already exist."""
    from goldassay.cli.score import run

    run(
        task,
        gold,
        pred,
        format=format,
        column=column,
        measures=measure,
        protocol=protocol,
        ontology=ontology,
        equivalent=equivalent,
        labels=labels,
        na_probs=na_probs,
        against=against,
        intervals=intervals,
        explain=explain,
        as_json=json,
    )


@app.command()
def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN RUN...", help="Run folders; all are compared with the first.")
    ],
    test: Annotated[str, typer.Option(help="permutation, bootstrap, paired_t, wilcoxon or mcnemar.")] = "permutation",
    seed: Annotated[int, typer.Option(help="Seed of the resampling.")] = 0,
    json: Json = False,
) -> None:
    """Compare runs on the same gold: paired tests, intervals, which examples were won and lost."""
    from goldassay.cli.compare import run

    run(runs, test=test, seed=seed, as_json=json)


@app.command()
def demo(
    runs: Annotated[Path, typer.Option(help="Where run folders go.")] = Path("runs"),
    lm: Annotated[str | None, typer.Option(help="Another model than the embedded one.")] = None,
    limit: Annotated[int | None, typer.Option(min=2, help="Only N examples of each split (for a quick look).")] = None,
    threads: Annotated[int, typer.Option(min=1, help="How many examples at once.")] = 1,
) -> None:
    """The whole loop, offline, in minutes: measure, tune, measure again."""
    from goldassay.cli.demo import run

    run(runs=runs, lm=lm, limit=limit, threads=threads)


@app.command()
def init(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A new or empty folder.")]) -> None:
    """Write a workspace of your own: programs/, metrics/ and gold/."""
    from goldassay.cli.init import run

    run(folder)


@app.command()
def conform(
    data: Annotated[Path, typer.Option(help="The folder of official data.")] = Path("../shared/data"),
    suite: Annotated[list[str] | None, typer.Option(help="Only this suite (repeatable).")] = None,
    gold: Annotated[Path | None, typer.Option(help="hipe2022: the folder of gold files.")] = None,
    systems: Annotated[Path | None, typer.Option(help="hipe2022: the folder of system files.")] = None,
    official: Annotated[Path | None, typer.Option(help="hipe2022: the folder of official results.")] = None,
    mutations: Annotated[
        bool, typer.Option("--mutations", help="Damage right predictions instead: which measure notices what?")
    ] = False,
    task: Annotated[list[str] | None, typer.Option(help="With --mutations: only this task (repeatable).")] = None,
    json: Json = False,
) -> None:
    """Replay official results (how many come out the same), or test the measures themselves with --mutations."""
    from goldassay.cli.conform import fitting, mutated, run

    fitting(mutations, task, [suite, gold, systems, official])
    if mutations:
        return mutated(task, as_json=json)
    run(data, suites=suite, gold=gold, systems=systems, official=official, as_json=json)


@app.callback(invoke_without_command=True)
def top(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    """Score DSPy programs against gold, and tune them in the same loop."""
    if version:
        from goldassay import __version__

        typer.echo(__version__)
        raise typer.Exit


INTERRUPTED = 130  # what typer makes of a KeyboardInterrupt


def main() -> None:
    """Run a command; what is wrong with the input is one line on standard error and exit code 2, Ctrl-C is 3."""
    try:
        app()
    except GoldassayError as error:
        print(f"goldassay: {error}", file=sys.stderr)
        sys.exit(2)
    except SystemExit as done:
        if done.code != INTERRUPTED:
            raise
        print("goldassay: interrupted", file=sys.stderr)
        sys.exit(3)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
