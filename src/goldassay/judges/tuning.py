"""A judge is a program: it is tuned on people's labels by the loop that tunes every program, and saved the same way.

The examples hold the inputs as data (`goldassay.judges.judge.data`), as a judge at work gives them to its program. The
objective is ``balanced_agreement``, the mean over labels of the share of items on which judge and people agree, so that
a judge that always gives the frequent label gains nothing; ``agreement`` is the plain share. A verdict of support whose
quote does not stand in the text agrees with nobody, since a judge at work rejects it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import dspy

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.gold.splits import split
from goldassay.judges.judge import Judge, data, folded, stands
from goldassay.judges.labels import JudgedItem, Labels
from goldassay.judges.questions import Question, question, rubric
from goldassay.measure import Error, Measure, Review, failed
from goldassay.metric import Metric
from goldassay.running.leaks import text_of
from goldassay.tally import Mean
from goldassay.tuning import Tuned, load_state, tune
from goldassay.tuning.tuner import TuneOptions

RATIOS = {"train": 0.4, "dev": 0.3, "test": 0.3}
ABOUT = "judge.json"


class JudgeProgram(dspy.Module):  # type: ignore[misc]
    """The program of a question: one predictor with the question's signature.

    >>> JudgeProgram(question("support")).judge.signature.output_fields.keys()
    dict_keys(['quote', 'verdict'])
    """

    def __init__(self, question: Question) -> None:
        super().__init__()
        self.judge = dspy.Predict(question.signature)

    def forward(self, **inputs: object) -> dspy.Prediction:
        """The verdict on inputs that are data already."""
        return self.judge(**inputs)


@dataclass(frozen=True)
class PeopleAgreement(Measure[Mean]):
    """Whether a verdict is people's label; ``balanced`` gives every label the same weight.

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

    def tally(self, gold: object, pred: object) -> Mean:
        """One if they agree."""
        weight = float(read(gold, "weight", 1.0)) if self.balanced else 1.0
        return Mean.of(float(not _disagreement(gold, pred)), weight)

    def errors(self, gold: object, pred: object) -> Review:
        """Why they disagree."""
        label, verdict = read(gold, "label"), "" if failed(pred) else str(read(pred, "verdict", None) or "")
        why = _disagreement(gold, pred)
        if not why:
            return (), (f"The verdict is {label!r}, as people say.",)
        error = Error("disagrees", f"{why}; people say {label!r}.", gold=label, pred=verdict, field="verdict")
        return (error,), ()


def _disagreement(gold: Any, pred: Any) -> str:
    """Why a verdict is not people's label; empty if it is."""
    verdict = None if failed(pred) else read(pred, "verdict", None)
    if not verdict:
        return "There is no verdict"
    text = read(gold, "text", None)
    if (
        verdict in ("supported", "contradicted")
        and text is not None
        and not stands(read(pred, "quote", "") or "", text)
    ):
        return f"The verdict is {verdict!r} with a quote that does not stand in the text"
    agrees = folded(verdict) in {folded(label) for label in read(gold, "verdicts")}
    return "" if agrees else f"The verdict is {verdict!r}"


def metric() -> Metric:
    """What a judge is tuned for: balanced agreement; plain agreement is reported beside it."""
    return Metric({PeopleAgreement(balanced=True): 1.0, PeopleAgreement(): 0.0})


def splits(labels: Labels, *, seed: int = 0) -> dict[str, list[dspy.Example]]:
    """Examples of the items with a label: in their own splits, else stratified by label and without leaks."""
    items = [item for item in labels.items if item.label is not None]
    if not items:
        raise DataError("no item has a label, so there is nothing to tune on", file=labels.source or None)
    split_of = {item.id: item.split for item in items}
    if not all(split_of.values()):
        rows = [{"id": i.id, "text": text_of(_example(i, labels, 1.0)), "strata": {"label": i.label}} for i in items]
        split_of = dict(split(rows, ratios=RATIOS, factors=["label"], seed=seed).of)
    parts = {name: examples([item for item in items if split_of[item.id] == name], labels) for name in RATIOS}
    if not parts["train"] or not parts["dev"]:
        raise DataError(
            f"{len(items)} items with a label make no train, dev and test: label more, and items that are less alike "
            "(near duplicates stay on one side)",
            file=labels.source or None,
        )
    return parts


def examples(items: Sequence[JudgedItem], labels: Labels) -> list[dspy.Example]:
    """DSPy examples; each label weighs the same in total."""
    counts = Counter(item.label for item in items)
    return [_example(item, labels, len(items) / (len(counts) * counts[item.label])) for item in items]


def _example(item: JudgedItem, labels: Labels, weight: float) -> Any:
    asked = labels.question
    base = asked.base or asked
    texts = {name: asked.constants.get(name) or item.inputs[name] for name in asked.signature.input_fields}
    inputs = {name: data(text) for name, text in texts.items()}
    verdicts = [item.label] if item.label in base.worth else [name for name in base.labels if name not in asked.worth]
    outputs = {"verdict": verdicts[0], **item.notes} if len(verdicts) == 1 else {}
    if outputs.get("verdict") == "not_stated":
        outputs["quote"] = ""
    outputs = {name: value for name, value in outputs.items() if name in base.signature.output_fields}
    about = {"id": item.id, "label": item.label, "verdicts": verdicts, "weight": weight}
    return dspy.Example(**about, **inputs, **outputs).with_inputs(*inputs)


def tune_judge(
    labels: Labels, optimizer: str = "bootstrap", options: TuneOptions | None = None, **changes: Any
) -> Tuned:
    """A judge tuned on train, chosen on dev, reported once on test; ``options`` are those of `goldassay.tune`."""
    options = replace(options or TuneOptions(), **changes)
    parts = splits(labels, seed=options.seed)
    tuned: Tuned = tune(JudgeProgram(labels.question), parts, metric(), optimizer, options)
    if (folder := options.folder) is not None:
        learnt = [example.id for name in ("train", "dev") for example in parts[name]]
        about = {"question": labels.question.name, "levels": dict(labels.question.levels), "learnt": learnt}
        files.save_json(Path(folder) / ABOUT, about)
    return tuned


def judge_of(folder: Path, lm: dspy.BaseLM, **options: Any) -> Judge:
    """The judge of a tuned folder, bound to a model; ``options`` are the judge's."""
    asked = question_of(folder)
    program = load_state(JudgeProgram(asked), folder)
    return Judge(lm, programs={asked.signature.__name__: program}, **options)


def question_of(folder: Path) -> Question:
    """What the judge of a tuned folder was tuned for."""
    about = _about(folder)
    levels = about.get("levels")
    return rubric(levels) if levels else question(str(about.get("question", "")))


def unseen(folder: Path, labels: Labels) -> Labels:
    """The items, without those that the judge of a tuned folder was tuned on."""
    learnt = set(_about(folder).get("learnt", ()))
    items = [item for item in labels.items if item.id not in learnt]
    if not items:
        raise DataError("the judge was tuned on every item here; label others", file=labels.source or None)
    return replace(labels, items=items)


def _about(folder: Path) -> dict[str, Any]:
    about = folder / ABOUT
    if not about.is_file():
        raise DataError(f"no tuned judge here: expected {ABOUT}", file=folder)
    content = files.json_value(about)
    return content if isinstance(content, dict) else {}
