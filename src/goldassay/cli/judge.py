"""Judges: ask one about a file, compare it with people, audit it for biases."""

from __future__ import annotations

import json as jsons
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from goldassay._support import files
from goldassay._support import options as use
from goldassay._support.exceptions import DataError, GoldassayError, RunStopped
from goldassay.cli.options import interruptible
from goldassay.ext.labelling.mode_judges import judge_from_notes
from goldassay.gold import anyfields, load
from goldassay.judges.agreement import estimate, mean_grade
from goldassay.judges.audit import AUDIT_TESTS, probes_of
from goldassay.judges.audit import audit as run_checks
from goldassay.judges.judge import Judge
from goldassay.judges.labels import poll, read_grades
from goldassay.judges.tuning import panel, question_named, read_unseen
from goldassay.reporting import terminal
from goldassay.running.account import Account
from goldassay.running.budget import BudgetSpent, Meter
from goldassay.statistics.ppi import ORIGINS

DEFAULT_QUESTION = "support"
ASKING = ("store", "threads", "budget")  # options that only a judge that is asked uses


@dataclass(frozen=True)
class JudgeOptions:
    """The judge, or the panel of judges, that answers."""

    judge: use.Question = DEFAULT_QUESTION
    lm: Annotated[
        list[str] | None,
        use.for_model("MODEL...", "The judge's models. Several vote; a model that is repeated is sampled again."),
    ] = None
    store: Annotated[Path | None, use.for_model("FILE", "Store the verdicts here and reuse them.")] = None
    threads: int = 1
    budget: str | None = None

    @contextmanager
    def within_budget(self) -> Iterator[None]:
        """Count the calls of the judge against the budget; when it is spent, or after Ctrl-C, stored verdicts are kept.

        Raises:
            RunStopped: The budget is spent.
        """
        logging.getLogger("dspy").setLevel(logging.ERROR)
        stored = f"stored in {self.store}, and" if self.store else "lost; with --store FILE they are stored, and"
        then = f"the verdicts so far are {stored} the same command continues"
        try:
            with interruptible(then), Account(Meter(self.budget)).open():
                yield
        except BudgetSpent as error:
            raise RunStopped(f"{error}; {then}") from None


def evaluate(
    items: Annotated[
        list[Path],
        use.argument(
            "FILE|REVIEW",
            "Items with ids and inputs (jsonl, csv, tsv), perhaps labels of people or verdicts; or, with --mode, the "
            "folder of a review, and its traces if they have moved.",
        ),
    ],
    judge: JudgeOptions,
    mode: Annotated[str | None, use.for_gold("NAME", "Make a judge of this failure mode of a review.")] = None,
    map: str | None = None,
    origin: Annotated[
        str,
        use.for_gold("HOW", "How the labelled items were chosen: random, verdict (--labels), elsewhere or unknown."),
    ] = "unknown",
    labels: Annotated[
        int | None, use.for_result("N", "Also name the N items to label next, for the narrowest interval.", min=1)
    ] = None,
    out: Annotated[Path | None, use.for_result("FILE", "Write the items with their verdicts (jsonl).")] = None,
    split: str | None = None,
    limit: int | None = None,
    seed: int = 0,
    force: bool = False,
    json: bool = False,
) -> None:
    """Ask a judge about items: the rate of each verdict, how far it agrees with people, and the corrected rate.

    Without --lm, verdicts in the file are used; for numbers such as 0.7, the mean is corrected (PPI++). A judge of a
    failure mode sees some of the traces that were read, and is measured on the others; it is written to REVIEW/judges.
    """
    if mode is not None:
        folder, *traces = items
        chosen = {"map": map, "labels": labels, "out": out, "split": split, "limit": limit, "lm": (judge.lm or [])[1:]}
        chosen |= {"judge": judge.judge != DEFAULT_QUESTION, "origin": origin != "unknown"}
        if unused := next((name for name, value in chosen.items() if value), None):
            what = "takes one model for --lm" if unused == "lm" else f"asks about all traces and takes no --{unused}"
            raise GoldassayError(f"a judge of a failure mode (--mode) {what}")
        judges = panel(DEFAULT_QUESTION, (judge.lm or [])[:1], judge.store)
        with terminal.working(f"judging the traces of {folder}"), judge.within_budget():
            aligned, written = judge_from_notes(folder, mode, judges, traces, threads=judge.threads, seed=seed)
        terminal.output(aligned, json)
        if not json:
            terminal.line(f"{written}: {'in use' if aligned.better_than_chance else 'not in use'}")
        return
    use.check_new(out, force)
    if origin not in ORIGINS:  # before anything is asked
        raise GoldassayError(f"--origin is one of {', '.join(ORIGINS)}, not {origin!r}")
    (file, *more) = items
    if more:
        raise GoldassayError(f"a judge is asked about one file, not also about {more[0]}")
    columns = anyfields.mapping(map)
    question, tuned = question_named(judge.judge)
    asks = bool(judge.lm or tuned)
    if not asks and file.is_file():
        bounds = (min(question.unit), max(question.unit)) if judge.judge[:1].isdigit() else None
        if (grades := read_grades(file, question, columns, bounds)) is not None:
            chosen = {"labels": labels, "out": out, "split": split, "limit": limit}
            if unused := next((name for name, value in chosen.items() if value), "") or use.first_set(judge, *ASKING):
                raise GoldassayError(
                    f"--{unused} is not for numbers, of which the mean over the whole file is corrected"
                )
            result = mean_grade(*grades, bounds, origin=origin)
            if result.naive is None:
                raise DataError("a mean with an interval needs the verdicts of 2 items or more", file=file)
            terminal.output(result, json)
            return
    people, seen = read_unseen(file, judge.judge, columns, limit=limit, split=split)
    if seen:
        terminal.warn(f"{seen} items are left out: the judge was tuned on them")
    member: Judge | str
    if people.judged and not asks:
        if unused := use.first_set(judge, *ASKING):
            raise GoldassayError(f"--{unused} needs --lm: the verdicts of {file} are used, and no judge is asked")
        member = "verdicts of the file"
        votes = people.votes
    else:
        member = panel(judge.judge, judge.lm or (), judge.store)
        if not judge.lm:
            terminal.warn(f"no --lm is named, so {member} is asked")
        with terminal.progress("judging", len(people.items)) as update, judge.within_budget():
            votes = poll(member, people.question, people.items, threads=judge.threads, on_vote=update)
        if member.last_failure and any(vote.label is None for vote in votes):
            terminal.warn(f"the last unknown verdict of {member}: {member.last_failure}")
    if out is not None:
        rows = []
        for item, vote in zip(people.items, votes, strict=True):  # as this command reads them
            score = vote.share(people.question.positive)
            row = {"id": item.id, "inputs": dict(item.inputs), "label": None, "verdict": vote.label, "score": score}
            row |= {"labels": dict(item.labels)} if item.labels else {}
            rows.append({**row, "disagreement": vote.disagreement, **({"split": item.split} if item.split else {})})
        files.save(out, "".join(jsons.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    terminal.output(estimate(people, votes, member, origin=origin, count=labels or 0, seed=seed), json)
    if out is not None and not json:
        terminal.line(f"Written: {out}")


def audit(
    judge: JudgeOptions,
    gold: Annotated[str, use.for_gold("SET|FILE", "A gold set with answering, for the probes.")] = "heritage",
    gate: Annotated[bool, use.flag("Exit with status 1 if a check fails.")] = False,
    limit: int = 20,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Look for biases without labels: planted faults, orders in texts, swapped pairs, length, echo, repeats."""
    if question_named(judge.judge)[0].name != DEFAULT_QUESTION:
        raise GoldassayError(f"the audit asks whether claims are supported; {judge.judge} answers another question")
    chosen = probes_of(load(gold, task="answering" if Path(gold).is_file() else None), limit=limit, seed=seed)
    with terminal.progress("auditing", len(AUDIT_TESTS) * len(chosen)) as update, judge.within_budget():
        member = panel(judge.judge, judge.lm or (), judge.store)
        result = run_checks(member, chosen, threads=judge.threads, on_case=update)
    terminal.output(result, json)
    if gate and not result.passed:
        raise SystemExit(1)
