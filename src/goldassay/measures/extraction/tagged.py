"""Tag sequences scored at once: what seqeval's report holds, without a Python loop over tags.

Every distinct tag becomes a small number; a table over (previous tag, tag) says where an entity begins; entities of gold
and prediction are joined on where they begin. Sentences whose tags are equal on both sides are only counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldassay.exceptions import GoldassayError
from goldassay.gold.tagging import scheme_of, split
from goldassay.gold.tagging import spans as spans_of_tags

Tags = Sequence[Sequence[str]]
Ints = NDArray[np.int64]


def evaluate_tags(
    gold: Tags, pred: Tags, *, scheme: str | None = None, mode: str = "conlleval"
) -> dict[str, dict[str, float]]:
    """Precision, recall, F1 and support by type, with ``micro avg``, ``macro avg`` (all types seen), ``weighted avg``.

    ``mode`` is the reading of malformed tags: ``conlleval`` (an orphan I- opens an entity) or ``strict``.

    >>> evaluate_tags([["B-TOP", "I-TOP", "O"]], [["B-TOP", "O", "B-TOP"]])["micro avg"]["precision"]
    0.0
    """
    lengths = [len(sentence) for sentence in gold]
    if lengths != [len(sentence) for sentence in pred]:
        raise GoldassayError("gold and predicted tags must have the same lengths, sentence by sentence")
    name = scheme or scheme_of(set(chain.from_iterable(chain(gold, pred))))
    if mode == "strict":
        tables = [_strict(gold, name), _strict(pred, name)]
        types = sorted({kind for table in tables for kind in table[3]})
        left, right = (_renumbered(table, types) for table in tables)
    else:
        types, left, right = _conlleval(gold, pred, name)
    return _report(types, *_joined(left, right, len(types)))


Entities = tuple[Ints, Ints, Ints]  # first place, place after the last, type


def _conlleval(gold: Tags, pred: Tags, scheme: str) -> tuple[list[str], Entities, Entities]:
    ids: dict[str, int] = {"O": 0}
    gone: tuple[str, ...] = ("O",)

    def coded(sentences: Tags) -> Ints:
        flat = chain.from_iterable(chain.from_iterable(zip(sentences, repeat(gone))))  # noqa: B905  one end per sentence
        return np.fromiter((ids.setdefault(tag, len(ids)) for tag in flat), np.int64)

    codes = coded(gold), coded(pred)
    parts = [split(tag, scheme) for tag in ids]
    types = sorted({kind for letter, kind in parts if letter != "O"})
    number = {kind: index for index, kind in enumerate(types)}
    kinds = np.array([number.get(kind, -1) for _, kind in parts])
    inside = np.array([letter != "O" for letter, _ in parts])
    begins = np.array([[_begins(before, tag) for tag in parts] for before in parts])
    left, right = (_found(code, begins, inside, kinds) for code in codes)
    return types, left, right


def _begins(before: tuple[str, str], tag: tuple[str, str]) -> bool:
    """Whether an entity begins at ``tag`` when the tag before it is ``before``."""
    if tag[0] == "O":
        return False
    return not (tag[0] in "IEL" and before[0] in "BI" and before[1] == tag[1])


def _found(codes: Ints, begins: NDArray[Any], inside: NDArray[Any], kinds: NDArray[Any]) -> Entities:
    before = np.empty_like(codes)
    before[0], before[1:] = 0, codes[:-1]
    starts_here = begins[before, codes]
    starts = np.flatnonzero(starts_here)
    ends = np.flatnonzero(inside[before] & (~inside[codes] | starts_here))
    return starts, ends, kinds[codes[starts]]


def _strict(sentences: Tags, scheme: str) -> tuple[Ints, Ints, list[str], set[str]]:
    starts: list[int] = []
    ends: list[int] = []
    names: list[str] = []
    at = 0
    for sentence in sentences:
        for start, end, kind in spans_of_tags(sentence, scheme, "strict"):
            starts.append(at + start)
            ends.append(at + end)
            names.append(kind)
        at += len(sentence) + 1
    return np.array(starts, np.int64), np.array(ends, np.int64), names, set(names)


def _renumbered(table: tuple[Ints, Ints, list[str], set[str]], types: Sequence[str]) -> Entities:
    number = {kind: index for index, kind in enumerate(types)}
    return table[0], table[1], np.array([number[name] for name in table[2]], np.int64)


def _joined(left: Entities, right: Entities, n: int) -> tuple[Ints, Ints, Ints]:
    """True positives, gold and predicted entities by type."""
    place = np.searchsorted(right[0], left[0])
    place[place == len(right[0])] = 0
    if len(right[0]) and len(left[0]):
        hit = (right[0][place] == left[0]) & (right[1][place] == left[1]) & (right[2][place] == left[2])
    else:
        hit = np.zeros(len(left[0]), bool)
    return (
        np.bincount(left[2][hit], minlength=n),
        np.bincount(left[2], minlength=n),
        np.bincount(right[2], minlength=n),
    )


def _report(types: Iterable[str], tp: Ints, gold: Ints, pred: Ints) -> dict[str, dict[str, float]]:
    precision, recall = _ratio(tp, pred), _ratio(tp, gold)
    f1 = _ratio(2 * tp, gold + pred)
    out = {
        kind: {"precision": float(p), "recall": float(r), "f1": float(f), "support": int(s)}
        for kind, p, r, f, s in zip(types, precision, recall, f1, gold, strict=True)
    }
    support, some = int(gold.sum()), len(out) > 0
    weights = gold / support if support else np.zeros(len(gold))
    out["micro avg"] = {
        "precision": float(_ratio(tp.sum(), pred.sum())),
        "recall": float(_ratio(tp.sum(), gold.sum())),
        "f1": float(_ratio(2 * tp.sum(), gold.sum() + pred.sum())),
        "support": support,
    }
    for name, over in (("macro avg", None), ("weighted avg", weights)):
        out[name] = {
            key: float((values.mean() if over is None else values @ over) if some else 0.0)
            for key, values in (("precision", precision), ("recall", recall), ("f1", f1))
        } | {"support": support}
    return out


def _ratio(above: Any, below: Any) -> Any:
    return np.divide(above, below, out=np.zeros(np.shape(above)), where=np.asarray(below) > 0)
