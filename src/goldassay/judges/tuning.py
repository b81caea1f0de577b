"""A judge is a program: it is tuned on people's labels by the loop that tunes every program, and saved the same way.

What a judge is asked has a name (`question_named`), and so has who answers: one model, several, or a tuned judge.

The examples hold the inputs as data (`goldassay.judges.judge.data`), as a judge at work gives them to its program. The
objective is balanced accuracy, so that a judge that always gives the frequent label gains nothing; accuracy is reported
beside it. A verdict of support whose quote is not in the text is not a verdict, since a judge at work rejects it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay.core.metric import Metric
from goldassay.gold.splits import split
from goldassay.judges.judge import Judge, Panel, Verdicts, data, folded, is_quoted
from goldassay.judges.labels import LabelFile, read
from goldassay.judges.questions import Question, question, rubric, scale
from goldassay.measures.classification import Accuracy, LabelF1
from goldassay.models.lm import models
from goldassay.running.leaks import text_of
from goldassay.tuning import Tuned, TuneOptions, load_state, tune

RATIOS = {"train": 0.4, "dev": 0.3, "test": 0.3}
JUDGE_FILE = "judge.json"


class JudgeProgram(dspy.Module):  # type: ignore[misc]
    """The program of a question: one predictor with the question's signature, and the label that its verdict means.

    >>> JudgeProgram(question("support")).judge.signature.output_fields.keys()
    dict_keys(['quote', 'verdict'])
    """

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.judge = dspy.Predict(question.signature)
        self.question = question

    def forward(self, **inputs: Any) -> dspy.Prediction:
        """The verdict on inputs that are data already."""
        question = self.question
        prediction = self.judge(**inputs)
        verdict = str(prediction.verdict)
        names = {folded(name): name for name in (question.base or question).labels}
        prediction.label = question.counted(names[folded(verdict)]) if folded(verdict) in names else verdict
        quote = prediction.get("quote") or ""
        if question.quoted and verdict != "not_stated" and not is_quoted(quote, inputs[question.quoted]):
            prediction.label = "a quote that is not in the text"
        return prediction


def metric() -> Metric:
    """The objective of tuning a judge: balanced accuracy; accuracy is reported, too."""
    return Metric({LabelF1(over="supported", rate="recall"): 1.0, Accuracy(): 0.0})


def splits(labels: LabelFile, *, seed: int = 0) -> dict[str, list[dspy.Example]]:
    """Examples of the items with a label: in their own splits, else stratified by label and without leaks.

    Raises:
        DataError: No item has a label, or too few items for three splits.
    """
    items = [item for item in labels.items if item.label is not None]
    if not items:
        raise DataError("no item has a label, so there is nothing to tune on", file=labels.source or None)
    question = labels.question
    labelled: list[dspy.Example] = []
    for item in items:
        texts = {name: question.constants.get(name) or item.inputs[name] for name in question.signature.input_fields}
        inputs = {name: data(text) for name, text in texts.items()}
        # a label that several verdicts count as is shown as none of them
        outputs = {"verdict": item.label, **item.notes} if item.label in (question.base or question).worth else {}
        outputs |= {"quote": ""} if item.label == "not_stated" else {}
        outputs = {name: value for name, value in outputs.items() if name in question.signature.output_fields}
        labelled.append(dspy.Example(id=item.id, label=item.label, **inputs, **outputs).with_inputs(*inputs))
    split_of = {item.id: item.split for item in items}
    if not all(split_of.values()):
        rows = [
            {"id": example.id, "text": text_of(example), "strata": {"label": example.label}} for example in labelled
        ]
        split_of = dict(split(rows, ratios=RATIOS, factors=["label"], seed=seed).of)
    parts = {name: [example for example in labelled if split_of[example.id] == name] for name in RATIOS}
    if not parts["train"] or not parts["dev"]:
        raise DataError(
            f"{len(items)} items with a label are too few for train, dev and test: label more, and items that are less "
            "alike (near duplicates stay on one side)",
            file=labels.source or None,
        )
    return parts


def tune_judge(
    labels: LabelFile, optimizer: str = "bootstrap", options: TuneOptions | None = None, **changes: Any
) -> Tuned:
    """A judge tuned on train, chosen on dev, reported once on test; the options are those of `goldassay.tune`."""
    options = replace(options or TuneOptions(), **changes)
    parts = splits(labels, seed=options.seed)
    tuned = tune(JudgeProgram(labels.question), parts, metric(), optimizer, options)
    if (folder := options.folder) is not None:
        learnt = [example.id for name in ("train", "dev") for example in parts[name]]
        about = {"question": labels.question.name, "levels": dict(labels.question.levels), "learnt": learnt}
        files.save_json(Path(folder) / JUDGE_FILE, about)
    return tuned


def judge_of(folder: Path, lm: dspy.BaseLM, **options: Any) -> Judge:
    """The judge of a tuned folder, bound to a model; ``options`` are the judge's."""
    question, _ = _description(folder)
    program = load_state(JudgeProgram(question), folder)
    return Judge(lm, programs={question.signature.__name__: program}, **options)


def _description(folder: Path) -> tuple[Question, set[str]]:
    """The question that the judge of a tuned folder answers, and the ids of the items that it was tuned on.

    Raises:
        DataError: There is no tuned judge, or its description is damaged.
    """
    file = folder / JUDGE_FILE
    if not file.is_file():
        raise DataError(f"no tuned judge here: expected {JUDGE_FILE}", file=folder)
    about = files.json_value(file)
    if not isinstance(about, dict) or not {"question", "levels", "learnt"} <= about.keys():
        raise DataError("not the description of a tuned judge", file=file)
    return question(about["question"], about["levels"]), set(about["learnt"])


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
        chosen, _ = _description(tuned)
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
    path: Path,
    name: str,
    columns: Mapping[str, str] | None = None,
    *,
    labelled: bool = False,
    limit: int | None = None,
    split: str | None = None,
) -> tuple[LabelFile, int]:
    """The labels of a file for a judge, and how many were left out since the judge was tuned on them.

    Args:
        path: The file.
        name: What the judge is asked, as in `question_named`.
        columns: This project's names and those of the file.
        labelled: Whether some item must have a label.
        limit: Take only the first items.
        split: Take only the items of this split.

    Raises:
        DataError: The judge was tuned on all items, or the file cannot be read.
    """
    question, tuned = question_named(name)
    labels = read(path, question, labelled=labelled, columns=columns)
    learnt = _description(tuned)[1] if tuned else set()
    items = [item for item in labels.items if item.id not in learnt]
    if not items and learnt:
        raise DataError("the judge was tuned on every item here; label others", file=labels.source or None)
    seen = len(labels.items) - len(items)
    items = [item for item in items if split in (None, "all", item.split)]
    return replace(labels, items=items[:limit]), seen


def panel(name: str, lms: Sequence[str] = (), store: Path | None = None) -> Judge | Panel:
    """The judge that answers, or several; a model that is named again is sampled again.

    Args:
        name: What they are asked, as in `question_named`.
        lms: Their models; by default the default model.
        store: The file in which verdicts are stored and reused.
    """
    verdicts = Verdicts(store) if store else {}
    _, tuned = question_named(name)
    names: list[str | None] = [*lms] or [None]
    members: list[Judge] = []
    for index, lm in enumerate(names):
        model = models.resolve(lm)
        options: Any = {"adapter": models.adapter(model), "sample": names[:index].count(lm), "verdicts": verdicts}
        members.append(judge_of(tuned, model, **options) if tuned else Judge(model, **options))
    return members[0] if len(members) == 1 else Panel(members)
