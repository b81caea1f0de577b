"""Which judge or panel the judge commands ask, for what, on which items; and ``goldassay tune --judge``."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from goldassay import files
from goldassay.exceptions import GoldassayError, RunStopped
from goldassay.judges.ask.judge import ENTAILMENT, named
from goldassay.judges.ask.panel import Panel, Vote
from goldassay.judges.ask.questions import Question, question, rubric, scale
from goldassay.judges.ask.store import Verdicts
from goldassay.judges.people import preferences
from goldassay.judges.people.labels import Labels, read
from goldassay.judges.people.verdicts import poll
from goldassay.reporting import judge as tables
from goldassay.reporting import terminal
from goldassay.running.budget import BudgetSpent, Meter
from goldassay.running.calls import watching
from goldassay.running.secrets import models as models_of


@dataclass(frozen=True)
class Asked:
    """Which judge is asked for what: the options that the commands share."""

    question: str
    lm: str | None = None
    samples: int = 1
    panel: Sequence[str] = ()
    how: str = "majority"
    state: Path | None = None
    store: Path | None = None
    positive: str | None = None
    threads: int = 1
    limit: int | None = None
    rubric: Path | None = None
    scale: str | None = None
    columns: Sequence[str] = ()
    budget: str | None = None
    cache: bool = True

    def about(self) -> Question:
        """The question, with the positive label that was asked for; a tuned judge answers its own."""
        if self.state:
            from goldassay.judges.people.tuning import question_of

            if (tuned := question_of(self.state).name) != self.question:
                raise GoldassayError(f"the judge of {self.state} was tuned for {tuned}, not for {self.question}")
        graded = self.question == "rubric" or self.rubric or self.scale
        found = self._levels() if graded else question(self.question)
        return found.about(self.positive) if self.positive else found

    def _levels(self) -> Question:
        if self.scale:
            return scale(self.scale)
        if self.state and not self.rubric:
            from goldassay.judges.people.tuning import question_of

            return question_of(self.state)
        levels = files.yaml_value(self.rubric) if self.rubric else None
        if not isinstance(levels, dict):
            what = "a yaml or json file with levels and their meanings, the worst first"
            raise GoldassayError(f"a rubric is asked with --rubric FILE ({what}) or with --scale 1-5")
        return rubric(levels)

    def ends(self) -> tuple[float, float] | None:
        """The lowest and the highest number of the scale."""
        found = sorted(scale(self.scale).unit) if self.scale else None
        return (found[0], found[1]) if found else None

    def renamed(self) -> dict[str, str]:
        """The names of the file's columns."""
        pairs = [text.partition("=") for text in self.columns]
        if wrong := next((f"{a}{b}{c}" for a, b, c in pairs if not a.strip() or not c.strip()), None):
            raise GoldassayError(f"--column is NAME=COLUMN, such as label=human; not {wrong!r}")
        return {name.strip(): column.strip() for name, _, column in pairs}

    @property
    def names_a_model(self) -> bool:
        """Whether a model was asked for."""
        return bool(self.lm or self.panel or self.state or self.samples > 1)

    def judge(self) -> Any:
        """The judge or the panel."""
        logging.getLogger("dspy").setLevel(logging.ERROR)
        names = [self.lm, *self.panel]
        verdicts = Verdicts(self.store) if self.store else {}
        members = [self._member(name, sample, verdicts) for name in names for sample in range(self.samples)]
        return members[0] if len(members) == 1 else Panel(members, how=self.how)

    def _member(self, name: str | None, sample: int, verdicts: Any) -> Any:
        from goldassay import lm as models
        from goldassay.judges.ask.judge import Judge
        from goldassay.judges.people.tuning import judge_of

        if name and name.startswith(ENTAILMENT):
            if self.samples > 1 or self.panel or self.state or self.question != "support":
                raise GoldassayError(f"{name} judges support alone: no samples, no panel, no tuned state")
            return named(name)
        model = models.resolve(name, **({} if self.cache else {"cache": False}))
        options = {"adapter": models.adapter(model), "sample": sample, "verdicts": verdicts}
        return judge_of(self.state, model, **options) if self.state else Judge(model, **options)

    @contextmanager
    def within_budget(self, judge: Any) -> Iterator[None]:
        """What is asked in here may use the budget; when it is spent, the verdicts so far are those of the store."""
        try:
            with watching(models_of(judge), Meter(self.budget)):
                yield
        except BudgetSpent as spent:
            kept = f"the verdicts so far are in {self.store}: the same command goes on"
            lost = "the verdicts so far are lost; with --store FILE they are kept, and the same command goes on"
            raise RunStopped(f"{spent}; {kept if self.store else lost}") from None


def labels_of(path: Path, asked: Asked, labelled: bool = True) -> Labels:
    """The labels of a file; with a tuned judge, without those that it was tuned on."""
    if asked.question == "preference" and path.suffix == ".json":
        labels = replace(preferences.read(path, limit=asked.limit), question=asked.about())
    else:
        labels = read(path, asked.about(), labelled=labelled, columns=asked.renamed())
    if asked.state is not None:
        from goldassay.judges.people.tuning import unseen

        kept = unseen(asked.state, labels)
        if left := len(labels.items) - len(kept.items):
            tables.warn(f"{left} items are left out: the judge was tuned on them")
        labels = kept
    return labels if asked.limit is None else replace(labels, items=labels.items[: asked.limit])


def votes_of(judge: Any, labels: Labels, asked: Asked) -> list[Vote]:
    """The judge's vote on every item, with a progress bar and a warning of what stayed unknown."""
    with terminal.progress("judging", len(labels.items)) as tell, asked.within_budget(judge):
        votes = poll(judge, labels.question, labels.items, threads=asked.threads, tell=lambda done, _: tell(done))
    if getattr(judge, "warning", ""):
        tables.warn(judge.warning)
    return votes


def tune(
    asked: Asked,
    *,
    gold: Path,
    optimizer: str = "bootstrap",
    lm: str | None = None,
    reflection_lm: str | None = None,
    budget: str | None = None,
    seed: int = 0,
    options: Sequence[str] = (),
    out: Path | None = None,
    as_json: bool = False,
) -> None:
    """``goldassay tune --judge``: tune a judge against the labels of a file and print what that brought."""
    from goldassay import lm as models
    from goldassay.cli.tune import settings
    from goldassay.judges.people.tuning import tune_judge
    from goldassay.reporting import terminal, tuning
    from goldassay.running import new_folder
    from goldassay.tuning.saved import read_about

    logging.getLogger("dspy").setLevel(logging.ERROR)
    labels = labels_of(gold, asked)
    model = models.resolve(lm)
    folder = out or new_folder(Path("runs"), f"tune-judge-{asked.question}-{optimizer}")
    chosen: dict[str, Any] = {"budget": budget, "seed": seed, "threads": asked.threads}
    chosen |= {"adapter": models.adapter(model), "options": settings(options, (), optimizer)}
    chosen["reflection_lm"] = models.resolve(reflection_lm) if reflection_lm else None
    with terminal.quiet():
        tuned = tune_judge(labels, optimizer, folder=folder, lm=model, **chosen)
    if as_json:
        terminal.answer(read_about(folder / "tuning.json"))
        return
    tuning.tuned(tuned, folder)
