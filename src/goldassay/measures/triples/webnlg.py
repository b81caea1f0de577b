"""WebNLG's four matchings of triples: ``ent_type``, ``partial``, ``strict`` and ``exact``.

Each part of a predicted triple is laid on the same part of a gold one: the longest common runs of words first. Runs,
and the words between them that gold lacks, are spans, which are counted as in SemEval'13. Parts that have no word in
common are tried in exchanged places. A text's triples are paired so that the mean F1 of the four is highest; values
are means over pairs. This follows the official script to its oddities: a run that is followed by missing words counts
once for each of them, and spans are said to overlap if they share a word other than their last (``ends="open"``).

Castro Ferreira et al., WebNLG 2020, and https://github.com/WebNLG/WebNLG-Text-to-triples (Evaluation_script.py)
"""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from goldassay.fields import read
from goldassay.measure import EMPTY, Measure
from goldassay.measures.triples.objects import written
from goldassay.measures.triples.records import sides_as_written
from goldassay.measures.triples.text2kgbench import words
from goldassay.statistics.evidence import Floats
from goldassay.tally import Mean

MATCHINGS = ("ent_type", "partial", "strict", "exact")
RATES = ("precision", "recall", "f1")
PARTS = ("subject", "predicate", "object")
SWAPS = ((0, 2), (0, 1), (1, 2))  # parts whose places are exchanged, in the order in which that is tried
PERMUTED = 7  # as many triples are paired by trying every order, of equals the first
MARK = f"[{re.escape(string.punctuation)}]"
SIGNS = f"{MARK}+", MARK  # signs of several characters stay on the candidate's side
WHOLE = (f".*{MARK}.*",) * 2
Parts = tuple[str, ...]
Span = tuple[int, int, int]  # the part of the triple that it stands for, first word, last word


class Laid(NamedTuple):
    """Two texts laid on each other: their spans, how many places they take, whether they share a word."""

    gold: tuple[tuple[int, int], ...]
    pred: tuple[tuple[int, int], ...]
    width: int
    shared: bool


@dataclass(frozen=True)
class WebNLG(Measure[Mean]):
    """Precision, recall or F1 of paired triples in one of WebNLG's matchings.

    Args:
        matching: ``strict`` (words and place), ``exact`` (words, any place), ``partial`` (some words, any place, half),
            ``ent_type`` (some words, same place).
        rate: ``f1``, ``precision`` or ``recall``.
        ends: ``open`` as in nervaluate 0.1.7, which the script pins; ``closed`` as in 0.1.8 and later: spans that share
            only their last word overlap, too, and a gold span is overlapped once.

    >>> gold = {"triples": [{"subject": "Jane_Austen", "predicate": "notableWork", "object": "Emma"}]}
    >>> pred = {"triples": [{"subject": "Austen", "predicate": "notable work", "object": "Emma"}]}
    >>> [round(WebNLG(matching, ends="closed")(gold, pred).tally.value, 3) for matching in MATCHINGS]
    [1.0, 0.833, 0.667, 0.667]
    """

    name = "webnlg_{matching}_{rate}"
    task = "triples"
    zero = Mean()
    gold_fields = ("triples",)
    pred_fields = ("triples",)
    fixed = {"pairs": "best mean F1 of the four", "average": "pairs", "empty": EMPTY}
    formula = "mean over pairs of triples of SemEval'13's precision, recall or F1"
    source = "Castro Ferreira et al., WebNLG 2020 (Evaluation_script.py)"
    shares = ("ends",)
    in_key = ("matching", "rate")
    choices = {"matching": MATCHINGS, "rate": RATES, "ends": ("open", "closed")}

    matching: str = "strict"
    rate: str = "f1"
    ends: str = "open"

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Floats:
        """A row an example: the number of pairs, and the sums of all values over them."""
        rows = [_sums(*pair, self.ends == "closed") for pair in zip(gold, pred, strict=True)]
        return np.array(rows, float).reshape(-1, 1 + len(PROTOCOL))

    def tallies(self, batch: Floats) -> Mean:
        """The sum and the number of each example."""
        column = 1 + MATCHINGS.index(self.matching) * len(RATES) + RATES.index(self.rate)
        return Mean(batch[:, column], batch[:, 0])


PROTOCOL = {f"{matching}_{rate}": WebNLG(matching, rate) for matching in MATCHINGS for rate in RATES}
"""What the evaluation script prints, by name."""


def _sums(gold: object, pred: object, closed: bool) -> list[float]:
    references, candidates = ([_normal(triple) for triple in side] for side in sides_as_written(gold, pred))
    size = max(len(candidates), len(references))
    blank: Parts = ("",) * len(PARTS)
    candidates, references = (side + [blank] * (size - len(side)) for side in (candidates, references))
    rates = [[_rates(reference, candidate, closed) for reference in references] for candidate in candidates]
    total = np.zeros(len(MATCHINGS) * len(RATES))
    for row, column in enumerate(_best(np.array([[fmean(cell[2::3]) for cell in row] for row in rates], float))):
        total += rates[row][column]
    return [size, *total]


def _best(scores: Floats) -> Sequence[int]:
    """The column of each row with the highest sum."""
    if len(scores) > PERMUTED:
        return [int(column) for column in linear_sum_assignment(scores, maximize=True)[1]]
    orders = np.array([*permutations(range(len(scores)))], int)
    totals = sum(row[orders[:, at]] for at, row in enumerate(scores))
    chosen: list[int] = orders[np.argmax(totals)].tolist()
    return chosen


def _normal(triple: Any) -> Parts:
    """Words apart at capitals and underscores, in lower case; an object loses a last note in parentheses."""
    parts = (written(read(triple, part)) for part in PARTS)
    *rest, value = (re.sub(r"[_\s]+", " ", re.sub(r"([a-z])([A-Z])", r"\1 \2", part)).lower() for part in parts)
    return *rest, re.sub(r"^(.*?)\s\(.*?\)$", r"\1", value)


@lru_cache(maxsize=65536)
def _rates(reference: Parts, candidate: Parts, closed: bool) -> tuple[float, ...]:
    """Precision, recall and F1 of a pair in each matching."""
    places = list(range(len(PARTS)))
    laid = [_laid(*pair) for pair in zip(reference, candidate, strict=True)]
    starts = [0, laid[0].width, laid[0].width + laid[1].width]
    for left, right in SWAPS:
        if laid[left].shared or laid[right].shared:
            continue
        swapped = [_laid(reference[a], candidate[b], WHOLE) for a, b in ((left, right), (right, left))]
        if swapped[0].shared or swapped[1].shared:
            places[left], places[right] = right, left
            laid[left], laid[right] = swapped
            starts[1] = laid[0].width
            if right == 2:  # sic: where subject and object are exchanged, the predicate keeps its old width
                starts[2] = starts[1] + laid[1].width
            if (left, right) == (0, 2):  # sic: the script lays the object's words for the predicate
                laid[1] = _laid(reference[right], candidate[left], WHOLE, linked=False)
            break
    gold, pred = list[Span](), list[Span]()
    for place, (part, start) in enumerate(zip(laid, starts, strict=True)):
        gold += [(place, start + first, start + last) for first, last in part.gold]
        pred += [(places[place], start + first, start + last) for first, last in part.pred]
    return _semeval(gold, pred, closed)


def _semeval(gold: Sequence[Span], pred: Sequence[Span], closed: bool) -> tuple[float, ...]:
    """Each predicted span beside the same, else the first that it overlaps; in the order of `MATCHINGS`."""
    credit, met, spurious = [0.0] * len(MATCHINGS), set[Span](), 0
    for span in pred:
        near = (
            g
            for g in gold
            if span[1:] == g[1:] or (not (closed and g in met) and max(span[1], g[1]) < min(span[2], g[2]) + closed)
        )
        other = span if span in gold else next(near, None)
        if other is None:
            spurious += 1
            continue
        met.add(other)
        typed, exact = span[0] == other[0], span[1:] == other[1:]
        for number, points in enumerate((typed, (1 + exact) / 2, typed and exact, exact)):
            credit[number] += points
    actual, possible = len(pred), len(pred) - spurious + len(set(gold) - met)
    rates = list[float]()
    for points in credit:
        precision, recall = (points / size if size else 0.0 for size in (actual, possible))
        both = precision + recall
        rates += precision, recall, 2 * (precision * recall) / both if both > 0 else 0.0
    return tuple(rates)


def _laid(gold: str, pred: str, left_out: Sequence[str] = SIGNS, linked: bool = True) -> Laid:
    """A candidate's words laid on the reference's, without those that a pattern of that side leaves out.

    ``linked`` words before the run that begins the reference, and after the one that ends it, belong to that run.
    """
    reference, candidate = (
        [word for word in words(text) if not re.fullmatch(pattern, word)]
        for text, pattern in zip((gold, pred), left_out, strict=True)
    )
    runs, places = _runs(reference, candidate)
    common = [at for at, place in enumerate(places) if isinstance(place, int)]
    if not common:
        # Either side by itself; a reference without a candidate takes one place, whatever its length.
        counted = candidate or not reference
        width = len(reference) + len(candidate) if counted else 1
        whole = ((0, len(reference) - 1),) if reference else ()
        return Laid(whole, ((len(reference), width - 1),) if counted else (), width, False)
    before = common[0] if places[common[0]] == 0 else 0
    after = len(places) - 1 - common[-1] if places[common[-1]] == len(runs) - 1 else 0
    # Each stretch of other words is a span of its own, named by the shared words that stand before it.
    rest = range(before, len(places) - after)
    others = [1 + sum(at < place for at in common) for place in rest if place not in common]
    if not linked:
        before = after = 0
    spans, current, begin = list[tuple[int, int]](), 0, 0
    line = [*runs[:1] * before, *runs, *runs[-1:] * after, *others]
    for at, name in enumerate(line):
        if current and name != current:  # at every missing word after a run the script closes that run again
            spans.append((begin, at - 1))
        if isinstance(name, int) and name != current:
            current, begin = name, at
    if isinstance(line[-1], int):
        spans.append((begin, len(line) - 1))
    return Laid(((before, before + len(reference) - 1),), tuple(spans), len(line), True)


def _runs(reference: Sequence[str], candidate: Sequence[str]) -> tuple[list[str | int], list[str | int]]:
    """The longest common runs of words, one after the other.

    A word of the reference becomes the negative number of its run, the candidate's word its place in the reference.
    """
    left, right = list[str | int](reference), list[str | int](candidate)
    number, size = 1, len(right)
    while size:
        starts = product(range(len(right) - size + 1), range(len(left) - size + 1))
        at, begin = next(((a, b) for a, b in starts if right[a : a + size] == left[b : b + size]), (-1, -1))
        if at < 0:
            size -= 1
            continue
        left[begin : begin + size] = [-number] * size
        right[at : at + size] = range(begin, begin + size)
        number += 1
    return left, right
