"""``goldassay tune``: make a program better, and show by how much and how sure that is."""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from goldassay import workspace
from goldassay.exceptions import GoldassayError
from goldassay.lm import for_program


def run(
    program: str,
    *,
    optimizer: str,
    gold: str = "heritage",
    format: str | None = None,
    task: str | None = None,
    metric: str | None = None,
    lm: str | None = None,
    reflection_lm: str | None = None,
    budget: str | None = None,
    seed: int = 0,
    state: Path | None = None,
    resume: Path | None = None,
    options: Sequence[str] = (),
    guards: Sequence[str] = (),
    judge_lm: str | None = None,
    threads: int = 1,
    limit: int | None = None,
    out: Path | None = None,
    as_json: bool = False,
) -> None:
    """Tune and print; the arguments are the command's options."""
    from goldassay import lm as models
    from goldassay.gold import load
    from goldassay.judges.ask.judge import named
    from goldassay.reporting import terminal
    from goldassay.reporting import tuning as tables
    from goldassay.running import new_folder
    from goldassay.tuning import load_state, tune
    from goldassay.tuning.saved import RESUMABLE

    logging.getLogger("dspy").setLevel(logging.ERROR)
    target = workspace.target(program, task)
    student = target.load()
    if not student.predictors():
        raise GoldassayError(f"{program} has no predictor, so there is no prompt to tune")
    part = getattr(load(gold, format=format, task=target.task), target.task)
    if part.passages and hasattr(student, "index"):
        student = student.deepcopy().index(part.passages)
    splits = {name: list(getattr(part, name))[:limit] for name in ("train", "dev", "test")}
    if state is not None:
        student = load_state(student, state)
    model = for_program(student, lm)
    chosen = settings(options, guards, optimizer)
    folder = resume or out or new_folder(Path("runs"), f"tune-{target.label.replace(':', '-')}-{optimizer}")
    judge = None if judge_lm is None else named(judge_lm, verdicts=folder / "verdicts.jsonl")
    measured = workspace.metric(target.task, metric) if judge is None else workspace.judged(target.task, judge, metric)
    try:
        with terminal.quiet():
            tuned = tune(
                student,
                splits,
                measured,
                optimizer,
                lm=model.lm,
                reflection_lm=models.resolve(reflection_lm) if reflection_lm else None,
                adapter=model.adapter,
                budget=budget,
                seed=seed,
                threads=threads,
                folder=folder,
                resume=resume is not None,
                options=chosen,
            )
    except KeyboardInterrupt:
        if optimizer in RESUMABLE:
            print(f"go on with the same command and --resume {folder}", file=sys.stderr)
        raise
    if as_json:
        print((folder / "tuning.json").read_text(encoding="utf-8").strip().replace("\n", " "))
        return
    tables.tuned(tuned, folder)


def settings(options: Sequence[str], guards: Sequence[str], optimizer: str) -> dict[str, Any]:
    """The optimizer's settings as they were written.

    >>> settings(["rounds=5"], ["strict_f1", "partial_f1=0.01"], "patches")
    {'rounds': 5, 'guarded': {'strict_f1': 0.0, 'partial_f1': 0.01}}
    """
    found: dict[str, Any] = {}
    for text in options:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise GoldassayError(f"an option reads like rounds=5, not {text!r}")
        try:
            found[name] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise GoldassayError(f"the value of option {name} cannot be read: {value!r}") from None
    if guards and optimizer != "patches":
        raise GoldassayError(f"--guard belongs to patches; {optimizer} guards nothing")
    for text in guards:
        name, _, drop = text.partition("=")
        try:
            found.setdefault("guarded", {})[name] = float(drop or 0)
        except ValueError:
            raise GoldassayError(f"a guard reads like strict_f1 or strict_f1=0.01, not {text!r}") from None
    return found
