"""``goldassay judge …``: ask a judge about a file, compare it with people, audit it for biases."""

from __future__ import annotations

import json as jsons
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from goldassay import files
from goldassay.cli import options as use
from goldassay.exceptions import DataError, GoldassayError, RunStopped
from goldassay.reporting import tables, terminal

if TYPE_CHECKING:
    from goldassay.judges.labels import Labels
    from goldassay.judges.questions import Question, Vote

app = use.commands("Judges: ask one about a file, compare it with people, audit it for biases.")
Origin = Annotated[
    str,
    use.for_gold("HOW", "How the labelled items were chosen: random, verdict (judge plan), elsewhere or unknown."),
]
SUPPORT = "support"
Asked = Annotated[
    str,
    use.for_model(
        "NAME|FILE|1-5|FOLDER[:LABEL]",
        "The question: support, relevance, criterion or preference; a yaml or json file with "
        "levels and their meanings, the worst first; a scale; a judge tuned with tune --judge. The label that counts "
        "as positive may follow, as in criterion:yes.",
    ),
]


def question(judge: str) -> tuple[Question, Path | None]:
    """The question of a judge, and the folder of a tuned judge, which answers its own question.

    Raises:
        DataError: A file of levels is none.
    """
    from goldassay.judges.questions import question, rubric, scale
    from goldassay.judges.tuning import question_of

    name, _, positive = judge.partition(":")
    state = Path(name) if Path(name).is_dir() else None
    if state:
        chosen = question_of(state)
    elif name[:1].isdigit():
        chosen = scale(name)
    elif Path(name).suffix in (".yaml", ".yml", ".json"):
        levels = files.yaml_value(Path(name))
        if not isinstance(levels, dict):
            raise DataError("a rubric has levels and their meanings, the worst first", file=name)
        chosen = rubric(levels)
    else:
        chosen = question(name)
    return chosen.about(positive) if positive else chosen, state


def labels_of(
    path: Path, judge: str, *, map: str | None = None, limit: int | None = None, labelled: bool = False
) -> Labels:
    """The labels of a file, without those that a tuned judge was tuned on."""
    from goldassay.gold import anyfields
    from goldassay.judges.labels import read
    from goldassay.judges.tuning import unseen

    asked, state = question(judge)
    labels = read(path, asked, labelled=labelled, columns=anyfields.mapping(map))
    fresh = unseen(state, labels) if state else labels
    if seen := len(labels.items) - len(fresh.items):
        terminal.warn(f"{seen} items are left out: the judge was tuned on them")
    return replace(fresh, items=fresh.items[:limit])


@dataclass(frozen=True)
class JudgeOptions:
    """The judge, or the panel of judges, that answers."""

    judge: Asked = SUPPORT
    lm: list[str] | None = use.for_model(
        "MODEL",
        "The judge's model. Several vote (repeat); a model that is repeated is sampled again.",
    )
    store: Path | None = use.for_model("FILE", "Store the verdicts here and reuse them.")
    threads: use.Threads = 1
    budget: use.Budget = None

    def load(self) -> Any:
        """The judge or panel that answers."""
        from goldassay.judges.judge import Judge, Panel, Verdicts
        from goldassay.judges.tuning import judge_of
        from goldassay.lm import models

        logging.getLogger("dspy").setLevel(logging.ERROR)
        names: list[str | None] = [*self.lm] if self.lm else [None]
        verdicts = Verdicts(self.store) if self.store else {}
        _, state = question(self.judge)
        members: list[Any] = []
        for at, name in enumerate(names):
            model = models.resolve(name)
            sample = names[:at].count(name)
            adapter = models.adapter(model)
            options: dict[str, Any] = {"adapter": adapter, "sample": sample, "verdicts": verdicts}
            members.append(judge_of(state, model, **options) if state else Judge(model, **options))
        return members[0] if len(members) == 1 else Panel(members)

    @contextmanager
    def within_budget(self) -> Iterator[None]:
        """Count the calls of the judge against the budget; when it is spent, stored verdicts are kept.

        Raises:
            RunStopped: The budget is spent.
        """
        from goldassay.running.account import Account
        from goldassay.running.budget import BudgetSpent, Meter

        try:
            with Account(Meter(self.budget)).open():
                yield
        except BudgetSpent as error:
            stored = f"stored in {self.store}, and" if self.store else "lost; with --store FILE they are stored, and"
            raise RunStopped(f"{error}; the verdicts so far are {stored} the same command continues") from None

    def votes(self, labels: Labels) -> tuple[Any, list[Vote]]:
        """The judge, and its vote on every item, with the reason why the last unknown verdict is unknown."""
        from goldassay.judges.labels import poll

        judge = self.load()
        if not self.lm:
            terminal.warn(f"no --lm is named, so {judge} is asked")
        with terminal.progress("judging", len(labels.items)) as update, self.within_budget():
            votes = poll(judge, labels.question, labels.items, threads=self.threads, on_vote=update)
        if judge.last_failure and any(vote.label is None for vote in votes):
            terminal.warn(f"the last unknown verdict of {judge}: {judge.last_failure}")
        return judge, votes


@use.command(app, "eval")
def evaluate(
    items: Annotated[Path, use.argument("FILE", "jsonl, csv or tsv with ids and inputs.")],
    judge: JudgeOptions,
    map: use.FieldMap = None,
    out: Path | None = use.for_result("FILE", "Write the items with their verdicts (jsonl)."),
    origin: Origin = "unknown",
    limit: use.Limit = None,
    force: bool = False,
    json: bool = False,
) -> None:
    """Ask a judge about the items of a file: the rate of each verdict, corrected by human labels of some items."""
    from goldassay.judges.agreement import estimate

    use.new_place(out, force)
    labels = labels_of(items, judge.judge, map=map, limit=limit)
    member, votes = judge.votes(labels)
    if out is not None:
        rows = []
        for item, vote in zip(labels.items, votes, strict=True):  # as judge align reads them
            score = vote.share(labels.question.positive)
            row = {"id": item.id, "inputs": dict(item.inputs), "label": None, "verdict": vote.label, "score": score}
            row |= {"labels": dict(item.labels)} if item.labels else {}
            rows.append({**row, "disagreement": vote.disagreement, **({"split": item.split} if item.split else {})})
        files.save(out, "".join(jsons.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    terminal.output(estimate(labels, votes, member, origin=origin), json, tables.judged)
    if out is not None and not json:
        terminal.line(f"Written: {out}")


@use.command(app)
def align(
    labels: Annotated[Path, use.argument("FILE", "Human labels: jsonl, csv or tsv.")],
    judge: JudgeOptions,
    map: use.FieldMap = None,
    split: str | None = use.for_gold("NAME", "Only these items (default: test, if the file has splits)."),
    origin: Origin = "unknown",
    json: bool = False,
) -> None:
    """Compare a judge with people: agreement, error rates, corrected rates.

    Without --lm, the verdicts in the file are used.
    """
    from goldassay.judges.agreement import align as compare

    people = labels_of(labels, judge.judge, map=map, labelled=True)
    if split or "test" in {item.split for item in people.items}:
        people = replace(people, items=[item for item in people.items if item.split == (split or "test")])
    if people.judged and not judge.lm and not question(judge.judge)[1]:
        name = "verdicts of the file"
        votes = people.votes
    else:
        member, votes = judge.votes(people)
        name = str(member)
    alignment = compare(people, votes, origin=origin)
    state = {"judge": name, **alignment.state()}
    terminal.output(state, json, lambda _: tables.judge_agreement(name, alignment))


@use.command(app, "from-modes")
def from_modes(
    folder: Annotated[Path, use.argument("FOLDER", "The folder of a review whose notes have modes.")],
    mode: Annotated[str, use.option("NAME", "The failure mode, as the reviewers named it.")],
    lm: use.Lm = None,
    traces: list[Path] | None = use.option("FILE", "All traces, if their files have moved; or other traces (repeat)."),
    threads: use.Threads = 1,
    seed: int = 0,
    json: bool = False,
) -> None:
    """Make a judge of a failure mode from a reviewer's notes: yes or no, with its errors and the share of the mode.

    It is shown some of the traces that were read, and measured on the others. It is written to FOLDER/judges, and is
    used only if it is better than chance.
    """
    from goldassay.gold.modes import ModeTable, read_modes
    from goldassay.judges.judge import Judge
    from goldassay.judges.modes import align as compare
    from goldassay.judges.modes import mode_judge
    from goldassay.lm import models
    from goldassay.reviewing.exporting import all_traces, reviewed_traces

    read = reviewed_traces(folder)
    modes = {each.mode.name: each.mode for each in ModeTable.of(read, read_modes(folder)).shares}
    if mode not in modes:
        raise GoldassayError(f"no mode {mode!r}; there are {', '.join(modes) or 'none'}")
    population = all_traces(folder, traces or ())
    model = models.resolve(lm)
    judge = mode_judge(modes[mode], read, Judge(model, adapter=models.adapter(model)), seed=seed)
    with terminal.progress("judging", len(population)) as update:
        result = compare(judge, read, population, threads=threads, on_vote=update)
    place = judge.save(folder, result)
    terminal.output(result, json, tables.mode_judge)
    terminal.warn(*result.warnings)
    if not json:
        terminal.line(f"{place}: {'in use' if result.better_than_chance else 'not in use'}")


@use.command(app)
def plan(
    judged: Annotated[Path, use.argument("FILE", "Items with verdicts (judge eval --out).")],
    judge: Asked = SUPPORT,
    labels: int = use.option("N", "How many items people can label.", min=1, default=50),
    seed: int = 0,
    json: bool = False,
) -> None:
    """Name the items to label next, for the narrowest interval of the rate."""
    from goldassay.judges.agreement import plan as choose

    items = labels_of(judged, judge)
    terminal.output(choose(items, items.votes, labels, seed=seed), json, tables.label_plan)


@use.command(app)
def mean(
    numbers: Annotated[Path, use.argument("FILE", "jsonl, csv or tsv: verdict, and label on some.")],
    scale: str | None = use.option("LOW-HIGH", "The ends of the scale: 0-1, 1-5."),
    origin: Origin = "unknown",
    json: bool = False,
) -> None:
    """The mean of a judge's numbers, corrected by human labels of some items (PPI++)."""
    from goldassay.judges.agreement import mean_grade
    from goldassay.judges.labels import read_grades
    from goldassay.judges.questions import scale as levels

    ends = sorted(levels(scale).unit) if scale else None
    bounds = (ends[0], ends[1]) if ends else None
    result = mean_grade(*read_grades(numbers, bounds=bounds), bounds, origin=origin)
    if result.naive is None:
        raise DataError("a mean with an interval needs the verdicts of 2 items or more", file=numbers)
    terminal.output(result, json, tables.mean_grade)


@use.command(app)
def audit(
    judge: JudgeOptions,
    gold: str = use.for_gold("SET|FILE", "A gold set with answering, for the probes.", default="heritage"),
    limit: use.Limit = 20,
    seed: int = 0,
    gate: bool = use.flag("--gate", "Exit with status 1 if a check fails."),
    json: bool = False,
) -> None:
    """Look for biases without labels: planted faults, orders in texts, swapped pairs, length, echo, repeats."""
    from goldassay.gold import load
    from goldassay.judges.audit import TESTS, probes_of
    from goldassay.judges.audit import audit as run_checks

    if question(judge.judge)[0].name != SUPPORT:
        raise GoldassayError(f"the audit asks whether claims are supported; {judge.judge} answers another question")
    chosen = probes_of(load(gold, task="answering" if Path(gold).is_file() else None), limit=limit, seed=seed)
    with terminal.progress("auditing", len(TESTS) * len(chosen)) as update, judge.within_budget():
        result = run_checks(judge.load(), chosen, threads=judge.threads, on_case=update)
    terminal.output(result, json, tables.judge_audit)
    if gate and not result.passed:
        raise SystemExit(1)
