"""Who proposes patches for a pattern: train examples that show it, a model that reflects on it, or rules (`rules`).

Rules written from the errors themselves, without a model: plain sentences that are added to the instructions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import dspy
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.running.identity import fingerprint
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Pattern


class Proposer(Protocol):
    """Proposes patches for a pattern; ``train`` are examples that may be shown (see ``tune.demonstrable``)."""

    def propose(self, pattern: Pattern, program: Any, train: Sequence[Any]) -> list[Patch]:
        """Patches that may mend the pattern."""
        ...


def predictor_for(pattern: Pattern, program: Any) -> tuple[str, Any]:
    """The predictor that writes the field in which the errors stand; the last one where none does."""
    predictors = program.named_predictors()
    if not predictors:
        raise GoldassayError("this program has no predictor, so there is no prompt to patch")
    fields = {error.field for error in pattern.errors}
    for name, predictor in predictors:
        if fields & set(predictor.signature.output_fields):
            return name, predictor
    found: tuple[str, Any] = predictors[-1]
    return found


def drafted(pattern: Pattern, program: Any, proposer: str, unit: str = "example", **edit: Any) -> Patch:
    """A patch with where it comes from: the pattern, what it costs, the examples (``unit``) it was seen in."""
    errors, places = pattern.count, len(pattern.documents)
    why = (
        f"{errors} error{'s' * (errors != 1)} in {places} {unit}{'s' * (places != 1)} "
        f"cost{'s' * (errors == 1)} {pattern.loss:.4f}: {pattern.name}"
    )
    return Patch(
        predictor=predictor_for(pattern, program)[0],
        rationale=why,
        pattern=pattern.name,
        examples=list(pattern.documents[:20]),
        proposer=proposer,
        program=fingerprint(program),
        **edit,
    )


@dataclass(frozen=True)
class Examples:
    """Train examples that show the pattern, chosen for how much of it they hold and how little they repeat."""

    most: int = 3

    def propose(self, pattern: Pattern, program: Any, train: Sequence[Any]) -> list[Patch]:
        """Examples of train in which the pattern's errors were made."""
        _, predictor = predictor_for(pattern, program)
        wanted = set(pattern.documents)
        keys = [*predictor.signature.input_fields, *predictor.signature.output_fields]
        shown = {str(demo.get("text", demo)) for demo in predictor.demos or []}
        candidates = [
            example for example in train if str(example.get("id")) in wanted and all(k in example for k in keys)
        ]
        weight = {str(example.get("id")): _shows(example, pattern) for example in candidates}
        candidates.sort(key=lambda example: (-weight[str(example.get("id"))], len(str(example.get("text", "")))))
        out: list[Patch] = []
        seen: set[str] = set()
        for example in candidates:
            new = set(pattern.surfaces) & _words_of(example, pattern.surfaces)
            if str(example.get("text", example)) in shown or (out and new <= seen):
                continue
            seen |= new
            demo = {key: to_jsonable_python(example[key], fallback=str) for key in keys}
            out.append(drafted(pattern, program, "examples", action="add_example", example=demo))
            if len(out) == self.most:
                break
        return out


def _shows(example: Any, pattern: Pattern) -> int:
    return sum(error.gold in str(example.toDict()) for error in pattern.errors if error.gold)


def _words_of(example: Any, surfaces: Sequence[str]) -> set[str]:
    text = str(example.toDict())
    return {surface for surface in surfaces if surface in text}


class Edit(BaseModel):
    """One edit that a model proposes."""

    action: Literal["add_instruction", "replace_instruction"]
    text: str
    old: str = ""


class Reflect(dspy.Signature):  # type: ignore[misc]
    """Propose short edits of an instruction so that a group of mistakes is not made again. Write general rules that
    also help on new texts; never copy whole sentences from the evidence."""

    instruction: str = dspy.InputField()
    mistakes: str = dspy.InputField(desc="what kind of mistake, how often, what it costs")
    evidence: list[str] = dspy.InputField(desc="single mistakes with the words around")
    edits: list[Edit] = dspy.OutputField(desc="at most three")


@dataclass(frozen=True)
class Reflection:
    """A language model that reads the pattern's evidence and proposes edits; its model is bound here."""

    lm: Any
    evidence: int = 8
    predict: Any = field(default_factory=lambda: dspy.Predict(Reflect), repr=False, compare=False)

    def propose(self, pattern: Pattern, program: Any, train: Sequence[Any]) -> list[Patch]:
        """Edits that the model proposes; none of them is trusted before it is tested."""
        _, predictor = predictor_for(pattern, program)
        text = predictor.signature.instructions
        with dspy.context(lm=self.lm, adapter=dspy.JSONAdapter()):
            try:
                found = self.predict(
                    instruction=text,
                    mistakes=f"{pattern.name}: {pattern.count} times, loss {pattern.loss:.4f}",
                    evidence=[error.message for error in pattern.errors[: self.evidence]],
                )
            except Exception as error:
                why = " ".join(f"{type(error).__name__}: {error}".split())[:300]
                raise GoldassayError(f"the reflection model gave no usable edit: {why}") from error
        out = []
        for edit in found.edits[:3]:
            if edit.action == "replace_instruction" and text.count(edit.old) == 1 and edit.old:
                out.append(drafted(pattern, program, "reflection", action=edit.action, old=edit.old, text=edit.text))
            elif edit.text.strip():
                out.append(drafted(pattern, program, "reflection", action="add_instruction", text=edit.text.strip()))
        return out


MARKS = {".": "full stop", ",": "comma", ":": "colon", ";": "semicolon", ")": "bracket", "(": "bracket"}


@dataclass(frozen=True)
class Rules:
    """What is what, what to look for and in which language, what to leave out, where a name begins and ends.

    A program may say what its types are called in ``type_words``, a mapping from types to words.
    """

    most: int = 6

    def propose(self, pattern: Pattern, program: Any, train: Sequence[Any]) -> list[Patch]:
        """Rules in words, the general ones first."""
        words = getattr(getattr(program, "program", program), "type_words", {})
        gold, pred = (words.get(t, t) for t in (pattern.gold_type, pattern.pred_type))
        quoted = ", ".join(f'"{surface}"' for surface in pattern.surfaces[: self.most])
        if pattern.kind in ("missed", "spurious") and not (gold or pred):
            return []  # what has no type, such as a document that was not found, is not named in an instruction
        at = f" {pattern.place}" if pattern.place else ""
        confused = f"What looks like {pred} is {gold} when it is used as in {quoted}."
        texts = {
            "missed": [
                *_languages(pattern, gold, train),
                f"Do not miss {gold}, such as {quoted}.",
                *([f"Find {gold}{at} too."] if at else []),
            ],
            "spurious": [f"Do not give {quoted} as {pred}."],
            "not_in_text": ["Copy each name exactly as it stands in the text."],
            "wrong_type": [
                confused,
                f"{quoted}: this is {gold}, not {pred}.",
                *([f"A name{at} is {gold}, not {pred}."] if at else []),
            ],
            "wrong_boundary": [*_marks(pattern, gold), *_boundary(pattern, gold)],
            "wrong_type_and_boundary": [confused, *_boundary(pattern, gold)],
            "unanswerable": ["Where the texts do not hold the answer, say that there is none."],
            "unsupported": ["Say only what stands in the texts."],
            "wrong_label": [f"Texts of this kind are {gold}, not {pred}."],
        }.get(pattern.kind, [])
        return [
            drafted(pattern, program, "rules", action="add_instruction", text=text)
            for text in texts
            if text.strip(" .")
        ]


def _languages(pattern: Pattern, what: str, train: Sequence[Any]) -> list[str]:
    """The language in which a kind of thing is missed, if it is the only one of several that train has."""
    known = {str(read(example, "language", "")) for example in train} - {""}
    hit = pattern.strata.get("language", {})
    documents = len(pattern.documents)
    return [
        f"Find {what} in texts of the language {language} too."
        for language, count in hit.items()
        if len(known) > 1 and count >= 0.9 * documents
    ]


def _marks(pattern: Pattern, what: str) -> list[str]:
    """Marks at the edge of a name that are always left out, or always taken in."""
    lacking: Counter[str] = Counter()
    extra: Counter[str] = Counter()
    shown: dict[str, str] = {}
    for error in pattern.errors:
        gold, pred = error.gold, error.pred
        if gold[:-1] == pred and gold[-1:] in MARKS:
            lacking[gold[-1]] += 1
            shown.setdefault(gold[-1], gold)
        elif pred[:-1] == gold and pred[-1:] in MARKS:
            extra[pred[-1]] += 1
            shown.setdefault(pred[-1], gold)
    return [
        *(f'The final {MARKS[m]} belongs to {what}: "{shown[m]}", not "{shown[m][:-1]}".' for m in _first(lacking)),
        *(f'The final {MARKS[m]} does not belong to {what}: "{shown[m]}", not "{shown[m]}{m}".' for m in _first(extra)),
    ]


def _first(counts: Counter[str]) -> list[str]:
    return [mark for mark, _ in counts.most_common(1)]


def _boundary(pattern: Pattern, what: str) -> list[str]:
    """Which words at the edges are too much or are missing, most frequent first."""
    extra: Counter[str] = Counter()
    lacking: Counter[str] = Counter()
    for error in pattern.errors:
        gold, pred = ([word.strip("".join(MARKS)) for word in side.split()] for side in (error.gold, error.pred))
        if not gold or not pred:
            continue
        extra.update({word for word in (pred[0], pred[-1]) if word not in gold})
        lacking.update({word for word in (gold[0], gold[-1]) if word not in pred})
    out = []
    if extra:
        out.append(f"Leave {', '.join(repr(w) for w, _ in extra.most_common(4))} out of {what}.")
    if lacking:
        out.append(f"Include {', '.join(repr(w) for w, _ in lacking.most_common(4))} in {what}: give the whole name.")
    return out
