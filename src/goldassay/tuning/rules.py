"""Rules written from the errors themselves, without a model: plain sentences that are added to the instructions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from goldassay.fields import read
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Pattern
from goldassay.tuning.proposers import drafted

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
