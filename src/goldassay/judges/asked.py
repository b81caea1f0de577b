"""What a judge is asked, by a name, and who answers: one model, several, or a tuned judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay.judges.judge import Judge, Panel, Verdicts
from goldassay.judges.labels import LabelFile, read
from goldassay.judges.questions import Question, question, rubric, scale
from goldassay.judges.tuning import judge_of, question_of, unseen
from goldassay.models.lm import models


def question_named(name: str) -> tuple[Question, Path | None]:
    """The question of a judge, and the folder of a tuned judge, which answers its own question.

    Args:
        name: A question, a file of levels and their meanings, a scale such as 1-5, or the folder of a tuned judge; the
            label that counts as positive may follow, as in ``criterion:yes``.

    Raises:
        DataError: A file has no levels.
    """
    source, _, positive = name.partition(":")
    tuned = Path(source) if Path(source).is_dir() else None
    if tuned:
        chosen = question_of(tuned)
    elif source[:1].isdigit():
        chosen = scale(source)
    elif Path(source).suffix in (".yaml", ".yml", ".json"):
        levels = files.yaml_value(Path(source))
        if not isinstance(levels, dict):
            raise DataError("a rubric has levels and their meanings, the worst first", file=source)
        chosen = rubric(levels)
    else:
        chosen = question(source)
    return chosen.about(positive) if positive else chosen, tuned


def read_unseen(
    path: Path, name: str, columns: Mapping[str, str] | None = None, *, labelled: bool = False
) -> tuple[LabelFile, int]:
    """The labels of a file for a judge, and how many were left out since the judge was tuned on them.

    Args:
        path: The file.
        name: What the judge is asked, as in `question_named`.
        columns: This project's names and those of the file.
        labelled: Whether some item must have a label.
    """
    question, tuned = question_named(name)
    labels = read(path, question, labelled=labelled, columns=columns)
    fresh = unseen(tuned, labels) if tuned else labels
    return fresh, len(labels.items) - len(fresh.items)


def panel(name: str, lms: Sequence[str] = (), store: Path | None = None) -> Judge | Panel:
    """The judge that answers, or several; a model that is named again is sampled again.

    Args:
        name: What they are asked, as in `question_named`.
        lms: Their models; by default the default model.
        store: The file in which verdicts are stored and reused.
    """
    verdicts = Verdicts(store) if store else {}
    _, tuned = question_named(name)
    names: list[str | None] = [*lms]
    names = names or [None]
    members: list[Judge] = []
    for index, lm in enumerate(names):
        model = models.resolve(lm)
        adapter = models.adapter(model)
        sample = names[:index].count(lm)
        if tuned:
            members.append(judge_of(tuned, model, adapter=adapter, sample=sample, verdicts=verdicts))
        else:
            members.append(Judge(model, adapter=adapter, sample=sample, verdicts=verdicts))
    return members[0] if len(members) == 1 else Panel(members)


def limited(labels: LabelFile, limit: int | None = None, split: str | None = None) -> LabelFile:
    """The first items of a file, or those of a split."""
    items = [item for item in labels.items if split in (None, "all", item.split)]
    return replace(labels, items=items[:limit])
