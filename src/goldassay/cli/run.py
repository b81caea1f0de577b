"""``goldassay eval`` and ``goldassay tune``, parsed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from goldassay.exceptions import GoldassayError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on standard output.")]


def evaluate(
    program: Annotated[
        str,
        typer.Argument(help="A task, TASK:NAME, or FILE:NAME (programs/extraction.py:program).", metavar="TASK|FILE"),
    ],
    gold: Annotated[str, typer.Option(help="A gold set's name, or a file or folder.")] = "heritage",
    split: Annotated[str, typer.Option(help="Which split to evaluate on: train, dev, test or all.")] = "dev",
    format: Annotated[str | None, typer.Option(help="The format of a gold file.")] = None,
    task: Annotated[str | None, typer.Option(help="The task, where the file's name does not say it.")] = None,
    metric: Annotated[
        str | None, typer.Option(help="FILE[:NAME] of a metric (default: metrics/TASK.py:metric).")
    ] = None,
    lm: Annotated[
        str | None, typer.Option(help="local/smollm2-135m (default), local:FILE.gguf, or any dspy.LM name.")
    ] = None,
    state: Annotated[Path | None, typer.Option(help="A tuned program: the folder or state.json to load.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N examples.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="How many examples at once.")] = 1,
    seed: Annotated[int, typer.Option(help="Seed of the intervals.")] = 0,
    runs: Annotated[Path, typer.Option(help="Where run folders go.")] = Path("runs"),
    resume: Annotated[Path | None, typer.Option(help="Go on with an interrupted run.")] = None,
    gate: Annotated[bool, typer.Option("--gate", help="Exit with 1 when a target of the metric is missed.")] = False,
    errors: Annotated[
        bool, typer.Option("--errors", help="Show what the errors have in common, costly first.")
    ] = False,
    judge_lm: Annotated[
        str | None, typer.Option(help="The model that judges (answering), bound apart from --lm; or nli:MODEL.")
    ] = None,
    trace: Annotated[
        bool, typer.Option("--trace/--no-trace", help="Keep inputs, gold, prompts and raw answers in the rows.")
    ] = True,
    json: Json = False,
) -> None:
    """Run a program over a gold set and measure it."""
    from goldassay.cli.evaluate import run

    run(
        program,
        gold=gold,
        split=split,
        format=format,
        task=task,
        metric=metric,
        lm=lm,
        state=state,
        limit=limit,
        threads=threads,
        seed=seed,
        runs=runs,
        resume=resume,
        gate=gate,
        errors=errors,
        judge_lm=judge_lm,
        trace=trace,
        as_json=json,
    )


def tune(
    program: Annotated[
        str | None, typer.Argument(help="A task, or FILE:NAME; none with --judge.", metavar="[TASK|FILE]")
    ] = None,
    optimizer: Annotated[
        str, typer.Option(help="bootstrap, labeled, knn, mipro, simba, copro, inferrules, gepa or patches.")
    ] = "bootstrap",
    gold: Annotated[
        str, typer.Option(help="A gold set with the splits train, dev and test; with --judge people's labels.")
    ] = "heritage",
    judge: Annotated[str | None, typer.Option(help="Tune a judge instead: what judge align --judge takes.")] = None,
    rubric: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --judge rubric: its levels, the worst first.")
    ] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="LOW-HIGH", help="With --judge rubric: a scale of numbers, as 1-5.")
    ] = None,
    column: Annotated[
        list[str] | None, typer.Option(metavar="NAME=COLUMN", help="With --judge: the labels' own column names.")
    ] = None,
    format: Annotated[str | None, typer.Option(help="The format of a gold file.")] = None,
    task: Annotated[str | None, typer.Option(help="The task, where the file's name does not say it.")] = None,
    metric: Annotated[
        str | None, typer.Option(help="FILE[:NAME] of a metric (default: metrics/TASK.py:metric).")
    ] = None,
    lm: Annotated[str | None, typer.Option(help="The model that the program runs on.")] = None,
    reflection_lm: Annotated[
        str | None, typer.Option(help="The model that reflects and writes instructions (default: --lm).")
    ] = None,
    judge_lm: Annotated[
        str | None, typer.Option(help="The model that judges (answering), bound apart from --lm; or nli:MODEL.")
    ] = None,
    state: Annotated[Path | None, typer.Option(help="Go on from a tuned program: its folder or state.json.")] = None,
    resume: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Go on with an interrupted tuning (gepa), with its settings.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="A setting of the optimizer, such as rounds=5.")
    ] = None,
    guard: Annotated[
        list[str] | None, typer.Option(metavar="MEASURE[=DROP]", help="patches: what must not drop (by more).")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Such as calls=500,minutes=10 (calls, tokens, usd, minutes).")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the optimizer and the intervals.")] = 0,
    threads: Annotated[int, typer.Option(min=1, help="How many examples at once.")] = 1,
    limit: Annotated[int | None, typer.Option(min=2, help="Only the first N examples of each split.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="The folder of the tuned program (default: a new one in runs/).")
    ] = None,
    json: Json = False,
) -> None:
    """Make a program better on train, choose on dev, report once on test."""
    if (program is None) == (judge is None):
        raise GoldassayError("tune takes a program, or --judge with people's labels as --gold; not both, not neither")
    if judge is not None:
        from goldassay.cli.judge_commands import tune as tune_judge
        from goldassay.cli.judge_options import Asked

        others: dict[str, object] = {"--format": format, "--task": task, "--metric": metric, "--judge-lm": judge_lm}
        others |= {"--state": state, "--resume": resume, "--guard": guard}
        if unused := [name for name, value in others.items() if value]:
            raise GoldassayError(f"tune --judge takes no {', '.join(unused)}: that is for programs")
        return tune_judge(
            Asked(judge, threads=threads, limit=limit, rubric=rubric, scale=scale, columns=column or ()),
            gold=Path(gold),
            optimizer=optimizer,
            lm=lm,
            reflection_lm=reflection_lm,
            budget=budget,
            seed=seed,
            options=option or [],
            out=out,
            as_json=json,
        )
    if unused := [name for name, value in (("--rubric", rubric), ("--scale", scale), ("--column", column)) if value]:
        raise GoldassayError(f"{', '.join(unused)} goes with --judge: tune a judge, or leave it out")
    from goldassay.cli.tune import run

    run(
        str(program),
        optimizer=optimizer,
        gold=gold,
        format=format,
        task=task,
        metric=metric,
        lm=lm,
        reflection_lm=reflection_lm,
        judge_lm=judge_lm,
        state=state,
        resume=resume,
        options=option or [],
        guards=guard or [],
        budget=budget,
        seed=seed,
        threads=threads,
        limit=limit,
        out=out,
        as_json=json,
    )
