"""A judge is a program: it is tuned against people's labels by the loop that tunes every program, and saved the same.

The examples hold the inputs as data (`goldassay.judges.ask.model`), as a judge at work gives them to its program. The
objective is ``balanced_agreement``, the mean over labels of the share of items on which judge and people agree, so that
a judge that always says the frequent label gains nothing; ``agreement`` is the plain share. A verdict of support whose
quote does not stand in the text agrees with nobody, since a judge at work does not take it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import dspy

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.gold.splits import split
from goldassay.judges.ask.judge import Judge, folded
from goldassay.judges.ask.model import data, stands
from goldassay.judges.ask.questions import Question, question, rubric
from goldassay.judges.people.labels import JudgedItem, Labels
from goldassay.measure import Assessment, Error, Measure, failed
from goldassay.metric import Metric
from goldassay.tally import Mean
from goldassay.tuning import Tuned, load_state, tune
from goldassay.tuning.leaks import text_of
from goldassay.tuning.tuner import TuneOptions

RATIOS = {"train": 0.4, "dev": 0.3, "test": 0.3}
ABOUT = "judge.json"


class JudgeProgram(dspy.Module):  # type: ignore[misc]
    """The program of a question: one predictor with the question's signature.

    >>> JudgeProgram(question("support")).judge.signature.output_fields.keys()
    dict_keys(['quote', 'verdict'])
    """

    def __init__(self, asked: Question) -> None:
        super().__init__()
        self.judge = dspy.Predict(asked.signature)

    def forward(self, **inputs: object) -> dspy.Prediction:
        """The verdict on inputs that are data already."""
        return self.judge(**inputs)


@dataclass(frozen=True)
class PeopleAgreement(Measure[Mean]):
    """Whether a verdict is what people say; ``balanced`` gives every label the same weight.

    >>> gold = {"verdicts": ["yes"], "label": "yes", "weight": 2.0}
    >>> PeopleAgreement()(gold, {"verdict": "yes"}).tally.value
    1.0
    >>> PeopleAgreement()(gold, {"verdict": "no"}).errors[0].message
    "The verdict is 'no'; people say 'yes'."
    """

    balanced: bool = False
    task: ClassVar[str] = "judges"
    zero: ClassVar[Mean] = Mean()
    gold_fields: ClassVar[tuple[str, ...]] = ("label", "verdicts")
    pred_fields: ClassVar[tuple[str, ...]] = ("verdict",)
    formula: ClassVar[str] = "items on which verdict and people agree / items"
    fixed: ClassVar[dict[str, str]] = {"unknown": "disagrees"}

    @property
    def name(self) -> str:  # type: ignore[override]
        """``agreement`` or ``balanced_agreement``."""
        return "balanced_agreement" if self.balanced else "agreement"

    def assess(self, gold: object, pred: object) -> Assessment[Mean]:
        """Agreed or not, and why not."""
        said = None if failed(pred) else read(pred, "verdict", None)
        label, why = read(gold, "label"), _invented(gold, pred, said)
        weight = float(read(gold, "weight", 1.0)) if self.balanced else 1.0
        same = {folded(one) for one in read(gold, "verdicts")}
        if folded(str(said or "")) in same and not why:
            return Assessment(Mean.of(1.0, weight), (), (f"The verdict is {label!r}, as people say.",))
        told = why or (f"The verdict is {said!r}" if said else "There is no verdict")
        error = Error("disagrees", f"{told}; people say {label!r}.", gold=label, pred=str(said or ""), field="verdict")
        return Assessment(Mean.of(0.0, weight), (error,))


def _invented(gold: Any, pred: Any, said: Any) -> str:
    text = read(gold, "text", None)
    if said not in ("supported", "contradicted") or text is None or stands(read(pred, "quote", "") or "", text):
        return ""
    return f"The verdict is {said!r} with a quote that does not stand in the text"


def metric() -> Metric:
    """What a judge is tuned for: balanced agreement; plain agreement is reported beside it."""
    return Metric({PeopleAgreement(balanced=True): 1.0, PeopleAgreement(): 0.0})


def splits(labels: Labels, *, ratios: Mapping[str, float] = RATIOS, seed: int = 0) -> dict[str, list[dspy.Example]]:
    """Examples of the items with a label: their own splits where they have some, else stratified by label, without
    leaks."""
    items = [item for item in labels.items if item.label is not None]
    if not items:
        raise DataError("no item has a label, so there is nothing to tune on", file=labels.source or None)
    of = {item.id: item.split for item in items}
    if not all(of.values()):
        rows = [{"id": i.id, "text": text_of(_example(i, labels, 1.0)), "strata": {"label": i.label}} for i in items]
        of = dict(split(rows, ratios=ratios, factors=["label"], seed=seed).of)
    made = {name: examples([item for item in items if of[item.id] == name], labels) for name in RATIOS}
    if not made["train"] or not made["dev"]:
        raise DataError(
            f"{len(items)} items with a label make no train, dev and test: label more, and items that are less alike "
            "(near duplicates stay on one side)",
            file=labels.source or None,
        )
    return made


def examples(items: Sequence[JudgedItem], labels: Labels) -> list[dspy.Example]:
    """DSPy examples; a label weighs as much as any other of these items."""
    counts = Counter(item.label for item in items)
    return [_example(item, labels, len(items) / (len(counts) * counts[item.label])) for item in items]


def _example(item: JudgedItem, labels: Labels, weight: float) -> Any:
    asked = labels.question
    base = asked if asked.levels else question(asked.name)
    given = {name: asked.given.get(name) or item.inputs[name] for name in asked.signature.input_fields}
    inputs = {name: data(text) for name, text in given.items()}
    means = [item.label] if item.label in base.worth else [name for name in base.labels if name not in asked.worth]
    shown = {"verdict": means[0], **item.notes} if len(means) == 1 else {}
    if shown.get("verdict") == "not_stated":
        shown["quote"] = ""
    said = {name: value for name, value in shown.items() if name in base.signature.output_fields}
    more = {"id": item.id, "label": item.label, "verdicts": means, "weight": weight}
    return dspy.Example(**more, **inputs, **said).with_inputs(*inputs)


def tune_judge(
    labels: Labels, optimizer: str = "bootstrap", options: TuneOptions | None = None, **changes: Any
) -> Tuned:
    """A judge tuned on train, chosen on dev, reported once on test; ``options`` are those of `goldassay.tune`."""
    options = replace(options or TuneOptions(), **changes)
    made = splits(labels, seed=options.seed)
    tuned: Tuned = tune(JudgeProgram(labels.question), made, metric(), optimizer, options)
    if (folder := options.folder) is not None:
        learnt = [one.id for name in ("train", "dev") for one in made[name]]
        about = {"question": labels.question.name, "levels": dict(labels.question.levels), "learnt": learnt}
        files.save_json(Path(folder) / ABOUT, about)
    return tuned


def judge_of(place: Path, lm: dspy.BaseLM, **options: Any) -> Judge:
    """The judge of a tuned folder, bound to a model; ``options`` are the judge's."""
    asked = question_of(place)
    program = load_state(JudgeProgram(asked), place)
    return Judge(lm, programs={asked.signature.__name__: program}, **options)


def question_of(place: Path) -> Question:
    """What the judge of a tuned folder was tuned for."""
    about = _about(place)
    levels = about.get("levels")
    return rubric(levels) if levels else question(str(about.get("question", "")))


def unseen(place: Path, labels: Labels) -> Labels:
    """The items, without those that the judge of a tuned folder was made with: they say nothing about it."""
    learnt = set(_about(place).get("learnt", ()))
    kept = [item for item in labels.items if item.id not in learnt]
    if not kept:
        raise DataError("the judge was tuned on every item here; label others", file=labels.source or None)
    return replace(labels, items=kept)


def _about(place: Path) -> dict[str, Any]:
    about = place / ABOUT
    if not about.is_file():
        raise DataError("no tuned judge here; goldassay tune --judge makes one", file=place)
    content = files.json_value(about)
    return content if isinstance(content, dict) else {}


__all__ = [
    "JudgeProgram",
    "PeopleAgreement",
    "examples",
    "judge_of",
    "metric",
    "question_of",
    "splits",
    "tune_judge",
    "unseen",
]
