"""Options that the judge commands share, and what they name: a question, the judge that answers it, its items."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from goldassay import files
from goldassay.cli import options as use
from goldassay.exceptions import GoldassayError, RunStopped

if TYPE_CHECKING:
    from goldassay.judges.ask.panel import Vote
    from goldassay.judges.ask.questions import Question
    from goldassay.judges.people.labels import Labels

Map = Annotated[
    str | None,
    use.of_gold("--map", metavar="NAME=COLUMN,…", help="Columns that FILE names otherwise: label=human,id=key."),
]


RUBRIC = "rubric"
SCALE = re.compile(r"-?\d+-\d+")
FILES = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class QuestionOptions:
    """What a judge is asked."""

    judge: Annotated[
        str,
        typer.Option(
            "--judge",
            metavar="NAME|FILE|1-5|FOLDER",
            help="What is asked: support, relevance, criterion, preference, type or link; a file (yaml, json) of "
            "levels and their meanings, the worst first; a scale of numbers; a judge tuned with tune --judge.",
        ),
    ] = "support"
    map: Map = None
    positive: Annotated[
        str | None, typer.Option("--positive", metavar="LABEL", help="The label that counts as positive.")
    ] = None

    def question(self) -> Question:
        """The question, with the positive label that was named; a tuned judge answers its own."""
        from goldassay.judges.ask.questions import question

        if self.state:
            from goldassay.judges.people.tuning import question_of

            found = question_of(self.state)
        else:
            found = self._graded() or question(self.judge)
        return found.about(self.positive) if self.positive else found

    @property
    def state(self) -> Path | None:
        """The folder of a tuned judge, where one was named."""
        place = Path(self.judge)
        return place if place.is_dir() else None

    @property
    def name(self) -> str:
        """The question's name: a scale and a file of levels are rubrics."""
        if self.state:
            return self.question().name
        return RUBRIC if SCALE.fullmatch(self.judge) or Path(self.judge).suffix in FILES else self.judge

    def _graded(self) -> Question | None:
        """The rubric, where one was named."""
        from goldassay.judges.ask.questions import rubric, scale

        if SCALE.fullmatch(self.judge):
            return scale(self.judge)
        if self.name != RUBRIC:
            return None
        levels = files.yaml_value(Path(self.judge)) if self.judge != RUBRIC else None
        if not isinstance(levels, dict):
            what = "a yaml or json file with levels and their meanings, the worst first"
            raise GoldassayError(f"a rubric is asked as --judge FILE ({what}) or as a scale, --judge 1-5")
        return rubric(levels)

    def labels(self, path: Path, limit: int | None = None, labelled: bool = True) -> Labels:
        """The labels of a file; with a tuned judge, without those that it was tuned on."""
        from goldassay.judges.people import preferences
        from goldassay.judges.people.labels import read

        if self.judge == "preference" and path.suffix == ".json":
            labels = replace(preferences.read(path, limit=limit), question=self.question())
        else:
            labels = read(path, self.question(), labelled=labelled, columns=renamed(self.map))
        if self.state is not None:
            from goldassay.judges.people.tuning import unseen
            from goldassay.reporting import terminal

            kept = unseen(self.state, labels)
            if left := len(labels.items) - len(kept.items):
                terminal.warn(f"{left} items are left out: the judge was tuned on them")
            labels = kept
        return labels if limit is None else replace(labels, items=labels.items[:limit])


@dataclass(frozen=True)
class JudgeOptions:
    """Which judge or panel answers."""

    lm: Annotated[
        list[str] | None,
        use.of_model(
            "--lm",
            metavar="MODEL",
            help="The model that judges, as for eval, or nli:MODEL; several vote, as do samples of one that is "
            "named again (repeat).",
        ),
    ] = None
    store: Annotated[
        Path | None, use.of_model("--store", metavar="FILE", help="Keep verdicts here; they are not asked for again.")
    ] = None
    threads: use.Threads = 1
    budget: use.Budget = None

    def made(self, asked: QuestionOptions) -> Any:
        """The judge or the panel that answers a question; a model that is named again is asked for another sample."""
        from goldassay.judges.ask.judge import Verdicts
        from goldassay.judges.ask.panel import Panel

        logging.getLogger("dspy").setLevel(logging.ERROR)
        names: list[str | None] = [*self.lm] if self.lm else [None]
        verdicts = Verdicts(self.store) if self.store else {}
        members = [self._member(asked, one, names[:at].count(one), verdicts) for at, one in enumerate(names)]
        return members[0] if len(members) == 1 else Panel(members)

    def _member(self, asked: QuestionOptions, name: str | None, sample: int, verdicts: Any) -> Any:
        from goldassay import lm as models
        from goldassay.judges.ask.judge import ENTAILMENT, Judge, named
        from goldassay.judges.people.tuning import judge_of

        if name and name.startswith(ENTAILMENT):
            if len(self.lm or ()) > 1 or asked.state or asked.name != "support":
                raise GoldassayError(f"{name} judges support alone: no samples, no panel, no tuned judge")
            return named(name)
        model = models.resolve(name)
        options = {"adapter": models.adapter(model), "sample": sample, "verdicts": verdicts}
        return judge_of(asked.state, model, **options) if asked.state else Judge(model, **options)

    @contextmanager
    def within_budget(self, judge: object) -> Iterator[None]:
        """What is asked in here may use the budget; when it is spent, the verdicts so far are those of the store."""
        from goldassay.running.budget import BudgetSpent, Meter
        from goldassay.running.calls import watching
        from goldassay.running.secrets import models

        try:
            with watching(models(judge), Meter(self.budget)):
                yield
        except BudgetSpent as spent:
            kept = f"the verdicts so far are in {self.store}: the same command goes on"
            lost = "the verdicts so far are lost; with --store FILE they are kept, and the same command goes on"
            raise RunStopped(f"{spent}; {kept if self.store else lost}") from None

    def votes(self, judge: Any, labels: Labels) -> list[Vote]:
        """The judge's vote on every item, with a progress bar and a warning of what stayed unknown."""
        from goldassay.judges.ask.panel import poll
        from goldassay.reporting import terminal

        with terminal.progress("judging", len(labels.items)) as tell, self.within_budget(judge):
            votes = poll(judge, labels.question, labels.items, threads=self.threads, tell=lambda done, _: tell(done))
        if getattr(judge, "warning", ""):
            terminal.warn(judge.warning)
        return votes


def renamed(columns: str | None) -> dict[str, str]:
    """The names of a file's columns."""
    pairs = [text.partition("=") for text in (columns or "").split(",") if columns]
    if wrong := next((f"{a}{b}{c}" for a, b, c in pairs if not a.strip() or not c.strip()), None):
        raise GoldassayError(f"--map is NAME=COLUMN, such as label=human; not {wrong!r}")
    return {name.strip(): column.strip() for name, _, column in pairs}


def tune(
    question: QuestionOptions,
    *,
    gold: Path,
    threads: int = 1,
    limit: int | None = None,
    optimizer: str = "bootstrap",
    lm: str | None = None,
    reflection_lm: str | None = None,
    budget: str | None = None,
    seed: int = 0,
    options: Sequence[str] = (),
    out: Path | None = None,
    as_json: bool = False,
) -> None:
    """``goldassay tune --judge``: tune a judge against the labels of a file and print what that brought.

    Args:
        question: What the judge is asked.
        gold: The file of people's labels.
        threads: How many items at once.
        limit: Only the first items of the file.
        optimizer: The optimizer's name.
        lm: The judge's model.
        reflection_lm: The model that writes instructions.
        budget: As ``tune --budget`` takes it.
        seed: Of the split and of the optimizer.
        options: The optimizer's own, as NAME=VALUE.
        out: The folder of the tuned judge.
        as_json: Print one JSON object.
    """
    from goldassay import lm as models
    from goldassay.judges.people.tuning import tune_judge
    from goldassay.reporting import terminal, tuning
    from goldassay.running import new_folder
    from goldassay.tuning.saved import read_about
    from goldassay.tuning.tuner import TuneOptions

    logging.getLogger("dspy").setLevel(logging.ERROR)
    if question.state:
        raise GoldassayError(f"{question.state} is a tuned judge; tune --judge takes a question, which is tuned anew")
    labels = question.labels(gold, limit=limit)
    model = models.resolve(lm)
    folder = out or new_folder(Path("runs"), f"tune-judge-{question.name}-{optimizer}")
    chosen: TuneOptions = {"lm": model, "folder": folder, "budget": budget, "seed": seed, "threads": threads}
    chosen |= {"adapter": models.adapter(model), "options": use.optimizer_settings(options)}
    chosen["reflection_lm"] = models.resolve(reflection_lm) if reflection_lm else None
    with terminal.quiet():
        tuned = tune_judge(labels, optimizer, **chosen)
    if as_json:
        terminal.answer(read_about(folder / "tuning.json"))
        return
    tuning.tuned(tuned, folder)
