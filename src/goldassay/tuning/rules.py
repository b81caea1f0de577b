"""Edits in words that no model has to write: rules from the errors, what labels mean, how long a list may be, what is
asked for most often. Plain sentences, added to the instructions or to what a field is said to be.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from goldassay._dspy_compat import signature_of
from goldassay.fields import read
from goldassay.tuning.demonstrations import Diagnosis, leaves
from goldassay.tuning.leaks import text_of
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Pattern
from goldassay.tuning.proposing import drafted
from goldassay.tuning.wrappers import inmost, predictors

if TYPE_CHECKING:
    import dspy

MARKS = {".": "full stop", ",": "comma", ":": "colon", ";": "semicolon", ")": "bracket", "(": "bracket"}


@dataclass(frozen=True)
class Rules:
    """What is what, what to look for and in which language, what to leave out, where a name begins and ends.

    A program may say what its types are called in ``type_words``, a mapping from types to words.
    """

    most: int = 6

    def propose(self, pattern: Pattern, program: dspy.Module, train: Sequence[dspy.Example]) -> list[Patch]:
        """Rules in words, the general ones first."""
        words = LabelWords(program, train)
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


class LabelWords:
    """What the prompt calls gold's labels: the program's ``type_words``, else as its demonstrations write them.

    >>> import dspy
    >>> train = [dspy.Example(text="het archief", label="A", type="archive").with_inputs("text")]
    >>> words = LabelWords(dspy.Predict("text -> type"), train)
    >>> words.of("A"), words.of("archive"), words.of("Z")
    ('archive', 'archive', None)
    """

    def __init__(self, program: Any, train: Sequence[dspy.Example]) -> None:
        self.train = train
        self.given = dict(getattr(inmost(program), "type_words", {}))
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


def _languages(pattern: Pattern, what: str, train: Sequence[dspy.Example]) -> list[str]:
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


@dataclass(frozen=True)
class Definitions:
    """What labels mean, from examples that contrast those that are confused (slot ``definitions``)."""

    most: int = 3

    def edits(self, found: Diagnosis) -> dict[str, list[Patch]]:
        """A line a confused pair: what one is called, such as what, and what the other is."""
        words, lines = LabelWords(found.program, found.train), []
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
class ListLength:
    """How long a list may be: train's 95th percentile, where too much is given (slot ``bound``)."""

    def edits(self, found: Diagnosis) -> dict[str, list[Patch]]:
        """One sentence for the first list that a predictor gives."""
        many = [one for one in found.patterns if one.kind in ("spurious", "not_in_text", "duplicate")]
        for name, predictor in predictors(found.program).items() if many else ():
            for key in signature_of(predictor).output_fields:
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

    def edits(self, found: Diagnosis) -> dict[str, list[Patch]]:
        """One description, of a field that is a choice and is not described yet."""
        for name, predictor in predictors(found.program).items():
            for key, info in signature_of(predictor).output_fields.items():
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


def _named(train: Sequence[dspy.Example], label: str | None, most: int = 3) -> list[str]:
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
