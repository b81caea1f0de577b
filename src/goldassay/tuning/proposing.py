"""Who proposes patches for a pattern: train examples that show it, a model that reflects on it, or rules (`rules`).

Rules written from the errors themselves, without a model: plain sentences that are added to the instructions.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, Protocol, get_args, get_origin

import dspy
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.running.identity import fingerprint
from goldassay.tuning.demonstrations import Found, leaves
from goldassay.tuning.leaks import text_of
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
    tried: list[str] = dspy.InputField(desc="edits that were measured before, and what they did to the score")
    edits: list[Edit] = dspy.OutputField(desc="at most three, other than those tried")


@dataclass(frozen=True)
class Reflection:
    """A language model that reads the pattern's evidence and proposes edits; its model is bound here.

    ``tried`` is what was tried before in this campaign, a line each with its effect: the model is told.
    """

    lm: Any
    evidence: int = 8
    tried: list[str] = field(default_factory=list, compare=False)
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
                    tried=self.tried[-12:],
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
        words = Words(program, train)
        known = words.of(pattern.gold_type), words.of(pattern.pred_type)
        if None in known:
            return []  # the prompt has no word for it
        gold, pred = str(known[0]), str(known[1])
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
            "wrong_label": words.told_apart(pattern.gold_type, pattern.pred_type),
            "wrong_value": words.told_apart(pattern.gold_type, pattern.pred_type),
        }.get(pattern.kind, [])
        return [
            drafted(pattern, program, "rules", action="add_instruction", text=text)
            for text in texts
            if text.strip(" .") and '""' not in text and (quoted or "such as ." not in text)
        ]


class Words:
    """What the prompt calls gold's labels: the program's ``type_words``, else as its demonstrations write them.

    >>> train = [dspy.Example(text="het archief", label="A", type="archive").with_inputs("text")]
    >>> words = Words(dspy.Predict("text -> type"), train)
    >>> words.of("A"), words.of("archive"), words.of("Z")
    ('archive', 'archive', None)
    """

    def __init__(self, program: Any, train: Sequence[Any]) -> None:
        self.train = train
        self.given = dict(getattr(getattr(program, "program", program), "type_words", {}))
        outputs = {key for predictor in program.predictors() for key in predictor.signature.output_fields}
        self.written: set[str] = set()
        pairs: dict[str, set[str]] = {}
        for example in train:
            answers = [example[key] for key in example.keys() if key in outputs]  # noqa: SIM118  it is no dict
            self.written.update(leaves(answers))
            scalars = [str(one) for one in answers if isinstance(one, (str, int, Enum))]
            for key in set(example.keys()) - outputs - set(example.inputs().keys()) - {"id"}:
                if isinstance(example[key], str) and len(scalars) == 1:
                    pairs.setdefault(example[key], set()).add(scalars[0])
        self.called = {label: next(iter(found)) for label, found in pairs.items() if len(found) == 1}

    def of(self, label: str) -> str | None:
        """The word for a label; ``None`` where demonstrations are known and none of them has one."""
        if label in self.given:
            return str(self.given[label])
        if not label or not self.written or label in self.written:
            return label
        return self.called.get(label)

    def cues(self, label: str, other: str, most: int = 3) -> list[str]:
        """Words in two train texts of one label at least and in none of the other, commonest first."""
        sides: dict[str, Counter[str]] = {label: Counter(), other: Counter()}
        for example in self.train:
            said = {str(value) for key, value in example.items() if isinstance(value, str)}
            for side in sides:
                if side in said or self.of(side) in said:
                    sides[side].update(set(re.findall(r"[^\W\d_]{4,}", text_of(example).casefold())))
        found = [(word, count) for word, count in sides[label].items() if count > 1 and word not in sides[other]]
        return [word for word, _ in sorted(found, key=lambda pair: (-pair[1], pair[0]))[:most]]

    def told_apart(self, gold: str, pred: str) -> list[str]:
        """A rule that names what tells two labels apart; none without such words."""
        cues = " or ".join(f'"{word}"' for word in self.cues(gold, pred))
        return [f"A text with {cues} is {self.of(gold)}, not {self.of(pred)}."] if cues else []


def _languages(pattern: Pattern, what: str, train: Sequence[Any]) -> list[str]:
    """The language in which a kind of thing is mostly missed, and half as often again as its share of train says."""
    known = Counter(str(read(example, "language", "") or "") for example in train)
    hit = pattern.strata.get("language", {})
    documents = len(pattern.documents)
    return [
        f"Find {what} in texts of the language {language} too."
        for language, count in hit.items()
        if count >= 0.7 * documents and known[language] > 0 and count * len(train) >= 1.5 * known[language] * documents
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


class Part(Protocol):
    """A part of a bundle: edits by slot. A slot is what leave-one-out may drop, under one name in every fold."""

    def edits(self, found: Found) -> dict[str, list[Patch]]:
        """The edits by slot; nothing where there is nothing to propose."""
        ...


@dataclass
class PerPattern:
    """A proposer as a part: for each of the costliest patterns the first edit that was not tried alone and failed."""

    proposer: Proposer
    patterns: int = 3
    failures: list[str] = field(default_factory=list)

    def edits(self, found: Found) -> dict[str, list[Patch]]:
        """A slot a pattern, named by the proposer, the kind and the types."""
        out: dict[str, list[Patch]] = {}
        if isinstance(getattr(self.proposer, "tried", None), list):
            self.proposer.tried[:] = found.tried  # type: ignore[attr-defined]
        for pattern in found.patterns:
            if len(out) == self.patterns:
                break
            try:
                patches = self.proposer.propose(pattern, found.program, found.train)
            except GoldassayError as error:  # the other parts need no model
                self.failures.append(f"{pattern.name}: {error}")
                continue
            there = {name: p.signature.instructions for name, p in found.program.named_predictors()}
            patches = [one for one in patches if not one.text or one.text not in there.get(one.predictor, "")]
            types = "→".join(part for part in (pattern.gold_type, pattern.pred_type) if part)
            slot = " ".join(part for part in (type(self.proposer).__name__.lower(), pattern.kind, types) if part)
            if patches and slot not in out:
                out[slot] = patches[:1]
        return out


@dataclass(frozen=True)
class Definitions:
    """What labels mean, from examples that contrast those that are confused (slot ``definitions``)."""

    most: int = 3

    def edits(self, found: Found) -> dict[str, list[Patch]]:
        """A line a confused pair: what one is called, such as what, and what the other is."""
        words, lines = Words(found.program, found.train), []
        confused = [one for one in found.patterns if one.kind == "wrong_type" and one.gold_type and one.pred_type]
        for pattern in confused[: self.most]:
            gold, pred = words.of(pattern.gold_type), words.of(pattern.pred_type)
            mine, theirs = (_named(found.train, label) for label in (gold, pred))
            if gold and pred and mine and theirs:
                lines.append(f"{gold} is {_list(mine)}; {_list(theirs)} is {pred}.")
        if not lines:
            return {}
        text = "\n".join(dict.fromkeys(lines))
        edit = drafted(confused[0], found.program, "definitions", action="add_instruction", text=text)
        return {"definitions": [edit]}


@dataclass(frozen=True)
class Bounds:
    """How long a list may be: train's 95th percentile, where too much is given (slot ``bound``)."""

    def edits(self, found: Found) -> dict[str, list[Patch]]:
        """One sentence for the first list that a predictor gives."""
        many = [one for one in found.patterns if one.kind in ("spurious", "not_in_text", "duplicate")]
        for name, predictor in found.program.named_predictors() if many else ():
            for key in predictor.signature.output_fields:
                sizes = sorted(
                    len(one[key]) for one in found.fitting(name, predictor) if isinstance(one.get(key), list)
                )
                if len(sizes) >= 10:
                    most = sizes[min(len(sizes) - 1, math.ceil(0.95 * len(sizes)) - 1)]
                    text = f"Give at most {max(1, most)} {key}."
                    edit = drafted(many[0], found.program, "bounds", action="add_instruction", text=text)
                    return {"bound": [edit.model_copy(update={"predictor": name})]}
        return {}


@dataclass(frozen=True)
class LabelOrder:
    """The labels of a choice in the order of how often train has them (slot ``label order``)."""

    most: int = 8

    def edits(self, found: Found) -> dict[str, list[Patch]]:
        """One description, of a field that is a choice and is not described yet."""
        for name, predictor in found.program.named_predictors():
            for key, info in predictor.signature.output_fields.items():
                about = (info.json_schema_extra or {}).get("desc") or ""
                if get_origin(info.annotation) is not Literal or about not in ("", f"${{{key}}}"):
                    continue
                seen = Counter(str(one[key]) for one in found.fitting(name, predictor) if one.get(key))
                often = [label for label, _ in seen.most_common() if label in map(str, get_args(info.annotation))]
                if len(often) > 2 and found.patterns:
                    text = f"most often {', '.join(often[: self.most])}"
                    edit = drafted(found.patterns[0], found.program, "label order", action="describe_field",
                                   field=key, text=text)  # fmt: skip
                    return {"label order": [edit.model_copy(update={"predictor": name})]}
        return {}


def _named(train: Sequence[Any], label: str | None, most: int = 3) -> list[str]:
    """Names that the demonstrations have under a label, those with the most different letters first."""
    found: dict[str, None] = {}
    for example in train:
        for value in example.toDict().values():
            for item in value if isinstance(value, list) else ():
                row = item if isinstance(item, dict) else getattr(item, "__dict__", {})
                if label in row.values():
                    found.update({str(one): None for one in row.values() if isinstance(one, str) and one != label})
    return sorted(found, key=lambda name: (len(name) > 40, -len(set(name))))[:most]


def _list(names: Sequence[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)
