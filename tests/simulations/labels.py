"""What labels chosen by a design can tell: streams of inputs, and the tables of docs/labels.md.

A draw is a stream of N inputs with the outputs of two systems. Labels are chosen as `goldassay.ext.labelling.drafts`
does (among disagreements; where the measure counts items, a share among agreements), and
`goldassay.statistics.labels.decide` gives the verdict. The truth is that of the stream, of which the N inputs are a
sample. A cell outside its limits is drawn again with another seed and four times the draws, and that stands in the
table (†). Four measures:

* accuracy: .7 of the answers on which both agree are right; of the disagreements a quarter has two wrong answers;
* F1 of spans: texts of Poisson(3) spans, each found with a chance that differs between texts (mean .7); B loses some
  and finds others; each has spurious spans of its own beside Poisson(.5) that both have;
* F1 of fields: records of 4 to 10 values, .8 of them right, of the others 60 % wrong and the rest absent;
* nDCG: one relevant document, at a rank that falls off geometrically or absent; 30 % of disagreements leave it there.

``drafts`` goes from records to verdict (`Pool`, `draft`, gold added, `verdict`); ``real`` does so with published
outputs whose gold is complete, and holds the verdict of 40 labels against that of all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from tests.simulations.label_outputs import Rows, Sides, published

from goldassay import Counts
from goldassay.core.evidence import Evidences
from goldassay.ext.labelling.drafts import LIKELY, Pool, draft
from goldassay.ext.labelling.labelled import verdict
from goldassay.ext.labelling.modes import Mode, ReviewedTrace, mode_shares
from goldassay.ext.labelling.outputs import OutputComparison
from goldassay.statistics.design import Design, Sampling
from goldassay.statistics.intervals import Interval
from goldassay.statistics.labels import LabelTest, PairedLabels, adjusted, decide
from goldassay.statistics.sampling import BettingTest, Stratum, additions, allocate_labels, estimate, swap_test

Array = NDArray[Any]
Flags = NDArray[np.bool_]
Places = NDArray[np.int64]
Random = np.random.Generator
DRAWS, QUICK = 500, 20
SIZES, LABELS, AGREEMENTS = (500, 2000), (40, 100), (0.6, 0.7, 0.8, 0.9, 0.95)
ON_AGREEMENTS = 0.3  # of the labels, for measures that count items
MOST = 200  # labels of a race
RESAMPLES = 1000
GAIN, SHARE = 0.05, 0.6  # the gain, or this share of the largest that so many disagreements allow
PAGE = Path(__file__).parents[2] / "docs" / "labels.md"
RATE = Evidences([1.0])
F1 = Evidences([Counts(1, 1, 1)], Counts())
COUNTED = [index for index, path in enumerate(F1.paths) if path[0] != "fn"]
LOW, HIGH, LEVEL = 0.93, 0.98, 0.07
FAILURES = (0.02, 0.05, 0.2, 0.5)  # shares of traces
TRACES = 400  # of a wave
LIKELY_FAILURES = (0.6, 0.1)  # the share of traces with a failure, and of others, that look like one


@dataclass(frozen=True)
class Stream:
    """Inputs with the evidence of two systems, which of them have the same output, and the true gain of B."""

    a: Array
    b: Array
    same: Flags
    truth: float

    @property
    def corpus(self) -> bool:
        """Whether the value comes from counts, not from a mean over inputs."""
        return bool(self.a.shape[1] == 3)


class Draw(Protocol):
    """A stream of n inputs, of which about this share agrees, with a gain or without."""

    def __call__(self, rng: Random, n: int, agreement: float, better: bool) -> Stream: ...


def values(scores: Array) -> Array:
    return np.column_stack([scores, np.ones(len(scores))])


def counts(tp: Array, predicted: Array, gold: Array) -> Array:
    columns = {"tp": tp, "fp": predicted - tp, "fn": gold - tp}
    return np.column_stack([columns[path[0]] for path in F1.paths]).astype(float)


def accuracy(rng: Random, n: int, agreement: float, better: bool) -> Stream:
    apart = 1 - agreement
    gain = min(GAIN, SHARE * apart) * better
    moved = 0.75 * apart + 0.25 * gain
    kind = rng.choice(4, n, p=[(moved + gain) / 2, (moved - gain) / 2, apart - moved, agreement])
    same = kind == 3
    both = rng.random(n) < 0.7
    return Stream(
        values(np.where(same, both, kind == 1) * 1.0), values(np.where(same, both, kind == 0) * 1.0), same, gain
    )


def spans(rng: Random, n: int, agreement: float, better: bool) -> Stream:
    recall, both_spurious = 0.7, 0.5
    changes = -np.log(agreement)  # in a text, on average; a quarter of them are spurious spans
    each = 0.75 * changes / 3
    own = 0.125 * changes
    gain = min(GAIN, SHARE * each) * better
    lost = (each - gain) / 2 / recall
    won = (each + gain) / 2 / (1 - recall)
    gold = rng.poisson(3, n)
    right = rng.binomial(gold, rng.beta(5 * recall, 5 * (1 - recall), n))
    gone, more = rng.binomial(right, lost), rng.binomial(gold - right, won)
    shared, of_a, of_b = rng.poisson(both_spurious, n), rng.poisson(own, n), rng.poisson(own, n)
    after = right - gone + more
    sides = counts(right, right + shared + of_a, gold), counts(after, after + shared + of_b, gold)
    same = (gone == 0) & (more == 0) & (of_a == 0) & (of_b == 0)
    before, now = (2 * r * 3 / (r * 3 + both_spurious + own + 3) for r in (recall, recall + gain))
    return Stream(*sides, same, float(now - before))


def fields(rng: Random, n: int, agreement: float, better: bool) -> Stream:
    right_share, wrong_share = 0.8, 0.6
    each = 1 - agreement ** (1 / 7)
    gain = min(GAIN, SHARE * 0.7 * each) * better
    lost = (0.7 * each - gain) / 2 / right_share
    won = (0.7 * each + gain) / 2 / (1 - right_share)
    gold = rng.integers(4, 11, n)
    right = rng.binomial(gold, right_share)
    wrong = rng.binomial(gold - right, wrong_share)
    gone = rng.binomial(right, lost)
    gone_wrong = rng.binomial(gone, wrong_share)
    from_wrong, from_absent = rng.binomial(wrong, won), rng.binomial(gold - right - wrong, won)
    other = rng.random(n) < 1 - (1 - 0.3 * each) ** gold  # another wrong value: a disagreement without a difference
    after, wrong_after = right - gone + from_wrong + from_absent, wrong - from_wrong + gone_wrong
    sides = counts(right, right + wrong, gold), counts(after, after + wrong_after, gold)
    same = (gone == 0) & (from_wrong == 0) & (from_absent == 0) & ~(other & (wrong > from_wrong))
    before, now = (2 * r / (r + wrong_share * (1 - r) + 1) for r in (right_share, right_share + gain))
    return Stream(*sides, same, now - before)


RANKS = np.arange(1, 12)  # 11: absent
CHANCES = 0.5**RANKS + 0.02
CHANCES /= CHANCES.sum()
NDCG = np.where(RANKS < 11, 1 / np.log2(1 + RANKS), 0.0)
APART = float((np.abs(NDCG[:, None] - NDCG) * np.outer(CHANCES, CHANCES)).sum())


def ndcg(rng: Random, n: int, agreement: float, better: bool) -> Stream:
    moved = 0.7 * (1 - agreement)
    gain = min(GAIN, SHARE * moved * APART) * better
    first, second = NDCG[rng.choice(11, (2, n), p=CHANCES)]
    luck = rng.random(n)
    worse, best = np.minimum(first, second), np.maximum(first, second)
    wins = rng.random(n) < (1 + gain / moved / APART) / 2
    a = np.where(luck < moved, np.where(wins, worse, best), first)
    b = np.where(luck < moved, np.where(wins, best, worse), first)
    return Stream(values(a), values(b), luck >= 1 - agreement, gain)


STREAMS: dict[str, Draw] = {"accuracy": accuracy, "F1 of spans": spans, "F1 of fields": fields, "nDCG": ndcg}


def labelled(rng: Random, stream: Stream, n: int) -> tuple[Places, Places]:
    """The inputs that are labelled, of the disagreements and of the agreements."""
    apart, alike = rng.permutation(np.flatnonzero(~stream.same)), rng.permutation(np.flatnonzero(stream.same))
    if not stream.corpus:
        return apart[:n], alike[:0]
    on_alike = max(round(ON_AGREEMENTS * n), n - len(apart))
    return apart[: n - on_alike], alike[:on_alike]


def decided(stream: Stream, apart: Places, alike: Places, documents: Sequence[int] | None = None) -> LabelTest:
    """The verdict of labels on these inputs."""
    sides = (stream.a, stream.b)
    parts = {"disagree": (apart, ~stream.same), "agree": (alike, stream.same)}
    samplings: list[Sampling] = []
    strata: dict[str, Sampling] = {}
    predicted: dict[str, tuple[float, float]] = {}
    for name, (places, part) in parts.items():
        if len(places):
            size = int(part.sum())
            strata[name] = Sampling(
                question="compare", stratum=name, size=size, population=len(part), position=0, systems=("a", "b")
            )
            samplings += [strata[name]] * len(places)
        if stream.corpus:
            first, second = (float(side[part][:, COUNTED].sum()) for side in sides)
            predicted[name] = (first, second)
    labels = PairedLabels(
        Design(samplings[0], strata, tuple(samplings)),
        F1 if stream.corpus else RATE,
        stream.a[np.concatenate([apart, alike])],
        stream.b[np.concatenate([apart, alike])],
        [True] * len(apart) + [False] * len(alike),
        agreeing=["agree"],
        predicted=predicted,
        documents=documents,
    )
    return decide(labels)


def differences(stream: Stream, places: Places) -> Array:
    """What the labels on these inputs say of the difference."""
    if not stream.corpus:
        gaps: Array = stream.b[places, 0] - stream.a[places, 0]
        return gaps
    return additions(stream.a[places], stream.b[places], F1)


@dataclass(frozen=True)
class Cell:
    """What the draws of one cell say."""

    truth: float
    agreement: float
    coverage: float
    width: float
    proven: float
    at_random: float
    again: bool = False

    @property
    def fits(self) -> bool:
        """Whether coverage, and without a gain the level, are within their limits."""
        return LOW <= self.coverage <= HIGH and (self.truth > 0 or self.proven <= LEVEL)

    @property
    def covered(self) -> str:
        text = marked(f"{self.coverage:.3f}", LOW <= self.coverage <= HIGH)
        return f"{text}{'†' if self.again else ''} ({self.width:.3f})"


def cell(draw: Callable[[Random, int], Stream], size: int, n: int, draws: int, seed: int) -> Cell:
    """A cell; drawn again with more draws where it does not fit."""
    result = drawn(draw, size, n, draws, seed)
    return result if result.fits or draws <= QUICK else replace(drawn(draw, size, n, 4 * draws, seed + 1), again=True)


def drawn(draw: Callable[[Random, int], Stream], size: int, n: int, draws: int, seed: int) -> Cell:
    rng = np.random.default_rng(seed)
    rows: list[tuple[float, ...]] = []
    truth = 0.0
    for _ in range(draws):
        stream = draw(rng, size)
        truth = stream.truth
        verdict = decided(stream, *labelled(rng, stream, n))
        interval = verdict.interval
        if interval is None:
            raise ValueError("a verdict without an interval")
        held = interval.low <= truth <= interval.high
        other = swap_test(differences(stream, rng.permutation(size)[:n]), RESAMPLES)
        width = interval.high - interval.low
        rows.append((stream.same.mean(), held, width, verdict.test_p <= 0.05, other <= 0.05))
    return Cell(truth, *np.mean(rows, axis=0).tolist())


def marked(text: str, inside: bool) -> str:
    return text if inside else f"**{text}**"


def grid(draws: int) -> Iterator[str]:
    yield (
        "| measure | agree | N | labels | level | coverage (width), no gain | gain | fixed number | by random labels "
        "| coverage (width) |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|"
    quick = draws <= QUICK
    agreements = AGREEMENTS[::4] if quick else AGREEMENTS
    sizes = SIZES[:1] if quick else SIZES
    settings = product(STREAMS.items(), agreements, sizes, LABELS[:1] if quick else LABELS)
    for place, ((name, draw), agreement, size, n) in enumerate(settings):
        none = cell(partial(draw, agreement=agreement, better=False), size, n, draws, 100 * place)
        some = cell(partial(draw, agreement=agreement, better=True), size, n, draws, 100 * place + 10)
        level = marked(f"{none.proven:.3f}", none.proven <= LEVEL)
        yield (
            f"| {name} | {none.agreement:.2f} | {size} | {n} | {level} | {none.covered} | {some.truth:+.3f} "
            f"| {some.proven:.2f} | {some.at_random:.2f} | {some.covered} |"
        )


# The streams of the prototypes and the power that they reached: gain, lost by B, N, labels.
REACHED = {
    (0.05, 0.03, 40): 0.74, (0.05, 0.03, 100): 0.95, (0.05, 0.10, 40): 0.25,
    (0.05, 0.10, 100): 0.62, (0.10, 0.03, 40): 0.98, (0.10, 0.03, 100): 1.00,
}  # fmt: skip
REACHED_F1 = {(0.25, 0.02, 0.1, 40): 1.00, (0.25, 0.02, 0.1, 100): 1.00, (0.16, 0.01714, 0.05, 40): 0.97}


def broken(gain: float, lost: float) -> Callable[[Random, int], Stream]:
    """Accuracy .7: B breaks a share of A's right answers, mends enough for the gain, and varies .3 of the others."""

    def draw(rng: Random, n: int) -> Stream:
        right, luck = rng.random(n) < 0.7, rng.random(n)
        after = np.where(right, luck >= lost, luck < (gain + lost * 0.7) / 0.3)
        varied = ~right & ~after & (rng.random(n) < 0.3 * 5 / 6)
        return Stream(values(right * 1.0), values(after * 1.0), (right == after) & ~varied, gain)

    return draw


def mended(won: float, lost: float, dropped: float) -> Callable[[Random, int], Stream]:
    """Texts of Poisson(3) spans with recall .7: B mends and loses some, and drops some of .6 spurious ones a text."""

    def draw(rng: Random, n: int) -> Stream:
        gold = rng.poisson(3, n)
        right = rng.binomial(gold, 0.7)
        gone, more, spurious = rng.binomial(right, lost), rng.binomial(gold - right, won), rng.poisson(0.6, n)
        fewer = rng.binomial(spurious, 1 - dropped)
        after = right - gone + more
        recall = 0.7 * (1 - lost) + 0.3 * won
        truth = 6 * recall / (3 * recall + 0.6 * (1 - dropped) + 3) - 4.2 / (2.1 + 0.6 + 3)
        same = (gone == 0) & (more == 0) & (fewer == spurious)
        sides = counts(right, right + spurious, gold), counts(after, after + fewer, gold)
        return Stream(*sides, same, truth)

    return draw


def power(draws: int) -> Iterator[str]:
    """The streams of the prototypes, whose power is the least that the code has to reach."""
    yield "| measure | gain | agree | N | labels | fixed number | prototype | by random labels | coverage (width) |"
    yield "|---|---|---|---|---|---|---|---|---|"
    rows = [("accuracy", broken(*key[:2]), size, key[2], least) for key, least in REACHED.items() for size in SIZES]
    rows += [("F1 of spans", mended(*key[:3]), 1000, int(key[3]), least) for key, least in REACHED_F1.items()]
    for name, draw, size, n, least in rows[:: 7 if draws <= QUICK else 1]:
        result = cell(draw, size, n, draws, 3)
        share = min(least, 0.99)
        noise = 2 * (share * (1 - share) / draws) ** 0.5 + 0.005  # the prototypes' figures have two decimals
        proven = marked(f"{result.proven:.2f}", result.proven >= least - noise)
        yield (
            f"| {name} | {result.truth:+.3f} | {result.agreement:.2f} | {size} | {n} | {proven} | {least:.2f} "
            f"| {result.at_random:.2f} | {result.covered} |"
        )


def sequential(draws: int) -> Iterator[str]:
    """Labels one by one, until a race is decided."""
    yield "| measure | gain | agree | called better | called worse | labels: median | mean |"
    yield "|---|---|---|---|---|---|---|"
    rows: list[tuple[str, Callable[[Random, int], Stream]]] = [
        ("accuracy", broken(gain, lost)) for gain, lost in ((0, 0.03), (0, 0.1), (0.05, 0.03), (0.05, 0.1), (0.1, 0.03))
    ]
    for name, draw in STREAMS.items():
        for agreement in (0.7, 0.9):
            for better in (False, True):
                rows.append((name, partial(draw, agreement=agreement, better=better)))
    for name, each in rows[:: 9 if draws <= QUICK else 1]:
        rng = np.random.default_rng(4)
        results = []
        truth = 0.0
        for _ in range(draws):
            stream = each(rng, 1000)
            truth = stream.truth
            direction, used = raced(rng, stream)
            results.append((stream.same.mean(), direction > 0, direction < 0, used))
        alike, better_share, worse_share, mean = np.mean(results, axis=0)
        texts = [
            marked(f"{better_share:.3f}", truth > 0 or better_share <= 0.03),
            marked(f"{worse_share:.3f}", worse_share <= 0.03),
        ]
        median = np.median([row[3] for row in results])
        yield f"| {name} | {truth:+.3f} | {alike:.2f} | {' | '.join(texts)} | {median:.0f} | {mean:.0f} |"


def raced(rng: Random, stream: Stream) -> tuple[int, int]:
    """The direction in which a race over labels of the stream is decided, and how many labels that takes."""
    apart, alike = labelled(rng, stream, MOST)
    places = np.concatenate([apart, alike])
    order = np.argsort(np.concatenate([np.linspace(0, 1, len(apart)), np.linspace(0, 1, len(alike))]), kind="stable")
    places = places[order]
    weights = np.where(stream.same[places], stream.same.sum() / max(len(alike), 1), (~stream.same).sum() / len(apart))
    amounts = differences(stream, places)
    if stream.corpus:
        amounts = additions(stream.a[places], stream.b[places], F1, weights=weights, running=True)
    race = BettingTest()
    for used, place in enumerate(places):
        if not stream.same[place] and race.extend(amounts[used : used + 1]):
            return race.direction, used + 1
    return 0, len(places)


RATES, JUDGES, PILOT = (0.5, 0.7, 0.9, 0.97), (0.6, 0.75, 0.9), 20


def levels(draws: int) -> Iterator[str]:
    """The level of one system: labels at random, in strata by a judge's verdict, and with the judge as a covariate."""
    yield "| value | N | labels | judge right | strata, Neyman | a covariate | strata and a second judge |"
    yield "|---|---|---|---|---|---|---|"
    quick = draws <= QUICK
    sizes = SIZES[:1] if quick else SIZES
    numbers = LABELS[:1] if quick else LABELS
    for place, (rate, size, n) in enumerate(product(RATES[::3] if quick else RATES, sizes, numbers)):
        alone = held(partial(level, rate, size, n, 0.5, False, False), rate, draws, 100 * place)
        yield f"| accuracy {rate} | {size} | {n} | at random, without one: {alone} | | | |"
        for at, judge in enumerate(JUDGES[:1] if quick else JUDGES):
            cells = [
                held(partial(level, rate, size, n, judge, *how), rate, draws, 100 * place + 10 * at + 2 * column + 10)
                for column, how in enumerate([(True, False), (False, True), (True, True)])
            ]
            yield f"| accuracy {rate} | {size} | {n} | {judge} | {' | '.join(cells)} |"
    truth = 4.2 / (2.1 + 0.5 - 0.125 * np.log(0.8) + 3)
    for place, (size, n) in enumerate(product(sizes, numbers)):
        seed = 5000 + 10 * place
        alone = held(partial(span_level, size, n, False), truth, draws, seed)
        strata = held(partial(span_level, size, n, True), truth, draws, seed + 2)
        yield f"| F1 of spans {truth:.3f} | {size} | {n} | at random: {alone} | by agreement: {strata} | | |"


def held(interval: Callable[[Random], Interval], truth: float, draws: int, seed: int) -> str:
    """Coverage and width of intervals; drawn again with more draws where the coverage does not fit."""
    coverage, width = _held(interval, truth, draws, seed)
    mark = ""
    if not LOW <= coverage <= HIGH and draws > QUICK:
        coverage, width = _held(interval, truth, 4 * draws, seed + 1)
        mark = "†"
    return marked(f"{coverage:.3f}", LOW <= coverage <= HIGH) + f"{mark} ({width:.3f})"


def _held(interval: Callable[[Random], Interval], truth: float, draws: int, seed: int) -> tuple[float, float]:
    rng = np.random.default_rng(seed)
    ends = [interval(rng) for _ in range(draws)]
    coverage = float(np.mean([each.low <= truth <= each.high for each in ends]))
    return coverage, float(np.mean([each.high - each.low for each in ends]))


def level(rate: float, size: int, n: int, judge: float, in_strata: bool, covariate: bool, rng: Random) -> Interval:
    """Labels of a share of inputs that are right, with a judge that is right as often on each kind."""
    gold = rng.random(size) < rate
    verdicts = np.where(rng.random(size) < judge, gold, ~gold)
    second = np.where(rng.random(size) < judge, gold, ~gold) if in_strata else verdicts
    parts = [np.flatnonzero(verdicts == side) for side in (True, False)] if in_strata else [np.arange(size)]
    parts = [rng.permutation(part) for part in parts if len(part)]
    strata = [
        Stratum(
            len(part),
            values(gold[part[:k]] * 1.0),
            verdicts=second[part[:k]] * 1.0 if covariate else None,
            verdict_mean=float(second[part].mean()),
        )
        for part, k in zip(parts, adaptive(parts, gold, n), strict=True)
    ]
    return estimate(strata, RATE, bounds=(0.0, 1.0))


def neyman(sizes: list[int], spreads: list[float], n: int) -> list[int]:
    """n labels in proportion to size times spread, at least two a stratum (as `gold draft --for level` gives them)."""
    most = np.array(sizes)
    weights = most * np.array(spreads)
    shares = np.minimum(most, 2)
    for _ in range(min(n, int(most.sum())) - int(shares.sum())):
        shares[np.where(shares < most, weights / (shares + 1), -1.0).argmax()] += 1
    return [int(share) for share in shares]


def adaptive(parts: list[Places], gold: Flags, n: int) -> list[int]:
    """Neyman's shares of n labels, by the spreads of a pilot with one more example of each kind."""
    sizes = [len(part) for part in parts]
    pilot = neyman(sizes, [0.5] * len(parts), PILOT)
    rates = [(gold[part[:k]].sum() + 1) / (k + 2) for part, k in zip(parts, pilot, strict=True)]
    shares = np.maximum(pilot, neyman(sizes, [(p * (1 - p)) ** 0.5 for p in rates], n))
    while shares.sum() > n:
        shares[(shares - pilot).argmax()] -= 1
    return [int(share) for share in shares]


def span_level(size: int, n: int, in_strata: bool, rng: Random) -> Interval:
    """The F1 of one system, from labels at random or in strata by whether another agrees."""
    stream = spans(rng, size, 0.8, False)
    parts = [np.flatnonzero(stream.same), np.flatnonzero(~stream.same)] if in_strata else [np.arange(size)]
    shares = neyman([len(part) for part in parts], [1.0] * len(parts), n)
    strata = [Stratum(len(part), stream.a[rng.permutation(part)[:k]]) for part, k in zip(parts, shares, strict=True)]
    return estimate(strata, F1, bounds=(0.0, 1.0))


SLOTS, FIELDS = 10, 7


class World(Protocol):
    """Gold of n records, the answers of A, and those of others: A's, of which this share is drawn anew with a gain."""

    def __call__(self, rng: Random, n: int, changed: float, *gains: float) -> list[Rows]: ...


def labels_world(rng: Random, n: int, changed: float, *gains: float) -> list[Rows]:
    gold = rng.integers(5, size=n)
    a = np.where(rng.random(n) < 0.7, gold, (gold + rng.integers(1, 5, n)) % 5)
    sides = [gold, a]
    for gain in gains:
        anew = np.where(rng.random(n) < 0.7 + gain, gold, (gold + rng.integers(1, 5, n)) % 5)
        sides.append(np.where(rng.random(n) < changed, anew, a))
    rows = [[{"id": str(at), "label": "abcde"[value]} for at, value in enumerate(side)] for side in sides]
    return [[{**row, "text": f"letter {row['id']}"} for row in rows[0]], *rows[1:]]


def spans_world(rng: Random, n: int, changed: float, *gains: float) -> list[Rows]:
    text = "x" * 10 * SLOTS
    gold = rng.random((n, SLOTS)) < 0.3
    a = np.where(gold, rng.random((n, SLOTS)) < 0.7, rng.random((n, SLOTS)) < 0.07)
    sides = [gold, a]
    for gain in gains:
        anew = np.where(gold, rng.random((n, SLOTS)) < 0.7 + gain, rng.random((n, SLOTS)) < 0.07)
        sides.append(np.where(rng.random((n, SLOTS)) < changed, anew, a))
    rows = [
        [
            {
                "id": str(at),
                "entities": [{"start": 10 * k, "end": 10 * k + 5, "type": "A", "text": "xxxxx"} for k in ks],
            }
            for at, ks in enumerate(np.flatnonzero(row).tolist() for row in side)
        ]
        for side in sides
    ]
    return [[{**row, "text": text} for row in rows[0]], *rows[1:]]


def fields_world(rng: Random, n: int, changed: float, *gains: float) -> list[Rows]:
    def answers(right: float) -> Array:
        drawn: Array = rng.choice([0, 1, 2], (n, FIELDS), p=[right, 0.6 * (1 - right), 0.4 * (1 - right)])
        return drawn

    a = answers(0.8)
    anew = [np.where(rng.random((n, FIELDS)) < changed, answers(0.8 + gain), a) for gain in gains]
    sides = [np.zeros((n, FIELDS), int), a, *anew]
    values = (lambda at, field: f"{at} {field}", lambda at, field: f"not {field}", lambda at, field: None)
    rows = [
        [
            {"id": str(at), "record": {f"f{field}": values[kind](at, field) for field, kind in enumerate(row)}}
            for at, row in enumerate(side.tolist())
        ]
        for side in sides
    ]
    return [[{**row, "text": f"letter {row['id']}"} for row in rows[0]], *rows[1:]]


def ranks_world(rng: Random, n: int, changed: float, *gains: float) -> list[Rows]:
    a = rng.choice(11, n, p=CHANCES)
    sides = [a]
    for gain in gains:
        anew = np.where(rng.random(n) < gain, 0, rng.choice(11, n, p=CHANCES))
        sides.append(np.where(rng.random(n) < changed, anew, a))
    rows = [
        [
            {"id": str(at), "results": [{"doc_id": "right" if k == rank else f"{k}"} for k in range(10)]}
            for at, rank in enumerate(side.tolist())
        ]
        for side in sides
    ]
    return [[{"id": str(at), "query": f"q {at}", "relevant": {"right": 1}} for at in range(n)], *rows]


WORLDS: dict[str, tuple[World, str, float, float]] = {  # the field of gold, how much is drawn anew, and the gain there
    "classification": (labels_world, "label", 0.35, 0.2),
    "extraction": (spans_world, "entities", 0.12, 0.2),
    "records": (fields_world, "record", 0.08, 0.15),
    "retrieval": (ranks_world, "relevant", 0.25, 0.6),
}
WHOLE = 40_000  # records that say what the true gain is


def full(task: str, gold: Rows, a: Rows, *others: Rows) -> float:
    """The last system less A with all gold."""
    b = others[-1]
    measure = OutputComparison(task).headline([*a, *b])
    if measure is None:
        raise ValueError(task)
    first, second = (measure.tallies(measure.batch(gold, side)) for side in (a, b))
    return Evidences(second, measure.zero).value - Evidences(first, measure.zero).value


def family(task: str, field: str, sides: Sequence[Rows], n: int, seed: int) -> tuple[str, list[LabelTest]]:
    """Records drafted for several systems, gold added, and the verdicts on all pairs."""
    gold, *others = sides
    answers = dict(zip("abc", others, strict=False))
    inputs = [{name: value for name, value in record.items() if name != field} for record in gold]
    truth = {record["id"]: record[field] for record in gold}
    records = draft(Pool.of(task, inputs, answers), "compare", n=n, seed=seed).records
    records = [{**record, field: truth[record["id"]]} for record in records]
    verdicts = [verdict(task, records, pair) for pair in combinations(answers, 2)]
    return verdicts[0].measure, adjusted([each.labels for each in verdicts if each.labels])


def several(draws: int) -> Iterator[str]:
    """Three systems, from records to the verdicts on their pairs, N = 500, 100 labels."""
    yield (
        "| task | measure | systems | gain of the third | family-wise level | whenever one stops | fixed number "
        "| coverage (width) |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for task in ("classification", "extraction", "records")[: 1 if draws <= QUICK else 3]:
        world, field, changed, better = WORLDS[task]
        for title, third in (("three equal", 0.0), ("one better", better))[:: 2 if draws <= QUICK else 1]:
            rng = np.random.default_rng(9)
            truth = full(task, *world(rng, WHOLE, changed, third)) if third else 0.0
            rows: list[tuple[float, ...]] = []
            for seed in range(draws):
                measure, verdicts = family(task, field, world(rng, 500, changed, 0.0, third), 100, seed)
                equal = verdicts[:1] if third else verdicts
                ends = [each.interval for each in verdicts if each.interval]
                gains = (0.0, truth, truth)
                held = np.mean([i.low <= gain <= i.high for i, gain in zip(ends, gains, strict=True)])
                width = np.mean([i.high - i.low for i in ends])
                level = any(each.test_p <= 0.05 for each in equal)
                stopped = any(each.proven for each in equal)
                proven = float(np.mean([each.test_p <= 0.05 for each in verdicts[1:]]))
                rows.append((level, stopped, proven, float(held), float(width)))
            level, stopped, proven, coverage, width = np.mean(rows, axis=0).tolist()
            power = f"{proven:.3f}" if third else "–"
            yield (
                f"| {task} | {measure} | {title} | {truth:+.3f} | {marked(f'{level:.3f}', level <= LEVEL)} "
                f"| {marked(f'{stopped:.3f}', stopped <= LEVEL)} | {power} "
                f"| {marked(f'{coverage:.3f}', LOW <= coverage <= HIGH)} ({width:.3f}) |"
            )


def documents(draws: int) -> Iterator[str]:
    """Inputs of one document go wrong together: 20 inputs a document, in nine of ten of which one system wins."""
    yield (
        "| measure | gain | documents | labels | fixed number | whenever one stops | coverage (width) "
        "| as if inputs were independent |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    quick = draws <= QUICK
    settings = list(product((0.0, 0.15), (25, 100), (40, 100), (False, True)))
    for gain, number, n, corpus in settings[:: 5 if quick else 1]:
        truth, shares = of_documents(gain, number, n, corpus, draws, 12)
        mark = ""
        if not LOW <= shares[2] <= HIGH and not quick:
            truth, shares = of_documents(gain, number, n, corpus, 4 * draws, 13)
            mark = "†"
        proven, stopped, coverage, width, other = shares
        yield (
            f"| {'F1 of spans' if corpus else 'accuracy'} | {truth:+.3f} | {number} | {n} "
            f"| {marked(f'{proven:.3f}', gain > 0 or proven <= LEVEL)} "
            f"| {marked(f'{stopped:.3f}', gain > 0 or stopped <= LEVEL)} "
            f"| {marked(f'{coverage:.3f}', LOW <= coverage <= HIGH)}{mark} ({width:.3f}) | {other:.3f} |"
        )


def of_documents(
    gain: float, number: int, n: int, corpus: bool, draws: int, seed: int
) -> tuple[float, tuple[float, ...]]:
    """The true gain; how often it is proven by a fixed number of labels and whenever one stops, the coverage and width
    of the interval, and how often it is proven as if inputs were independent."""
    rng = np.random.default_rng(seed)
    rows: list[tuple[float, ...]] = []
    truth = 0.0
    for _ in range(draws):
        stream, names = in_documents(rng, number, gain, corpus)
        truth = stream.truth
        apart, alike = labelled(rng, stream, n)
        result = decided(stream, apart, alike, names[np.concatenate([apart, alike])].tolist())
        single = decided(stream, apart, alike)
        ends = result.interval
        if ends is None:
            raise ValueError("a verdict without an interval")
        held = ends.low <= truth <= ends.high
        rows.append((result.test_p <= 0.05, result.proven, held, ends.high - ends.low, single.proven))
    return truth, tuple(np.mean(rows, axis=0).tolist())


def in_documents(rng: Random, number: int, gain: float, corpus: bool) -> tuple[Stream, Places]:
    """Inputs of documents with 20 each, 30 % of which differ; one system wins nearly all of a document's."""
    n = 20 * number
    of_documents = np.repeat(np.arange(number), 20)
    apart = 0.3
    wins = rng.random(number) < (1 + gain / apart / 0.8) / 2  # 0.8 = .9 − .1: a win of nine to one
    side = np.where(rng.random(n) < 0.9, wins[of_documents], ~wins[of_documents])
    differs = rng.random(n) < apart
    if not corpus:
        both = rng.random(n) < 0.7
        a = np.where(differs, ~side, both) * 1.0
        b = np.where(differs, side, both) * 1.0
        return Stream(values(a), values(b), ~differs, gain), of_documents
    gold = rng.poisson(3, n) + 1
    right = rng.binomial(gold - 1, 0.7)
    spurious = rng.poisson(0.5, n)
    first = right + (differs & ~side)
    second = right + (differs & side)
    sides = counts(first, first + spurious, gold), counts(second, second + spurious, gold)
    predicted = 2.1 + 0.5 + 4
    truth = 2 * (2.1 + (apart + gain) / 2) / (predicted + (apart + gain) / 2)
    truth -= 2 * (2.1 + (apart - gain) / 2) / (predicted + (apart - gain) / 2)
    return Stream(*sides, ~differs, truth), of_documents


def drafts(draws: int) -> Iterator[str]:
    """From records to verdict, N = 500, 40 labels."""
    yield "| task | measure | gain | disagreements | fixed number | whenever one stops | coverage (width) |"
    yield "|---|---|---|---|---|---|---|"
    for task, (world, field, changed, better) in WORLDS.items():
        for gain in (0.0, better):
            rng = np.random.default_rng(7)
            truth = full(task, *world(rng, WHOLE, changed, gain)) if gain else 0.0
            families = [family(task, field, world(rng, 500, changed, gain), 40, seed) for seed in range(draws)]
            measure = families[0][0]
            verdicts = [tests[0] for _, tests in families]
            intervals = [each.interval for each in verdicts if each.interval]
            coverage, width = np.mean([(i.low <= truth <= i.high, i.high - i.low) for i in intervals], axis=0)
            proven = float(np.mean([each.test_p <= 0.05 for each in verdicts]))
            stopped = float(np.mean([each.proven for each in verdicts]))
            apart = np.mean([each.disagreements + each.left for each in verdicts])
            level = marked(f"{proven:.3f}", gain > 0 or proven <= LEVEL)
            held = marked(f"{coverage:.3f}", LOW <= coverage <= HIGH)
            yield (
                f"| {task} | {measure} | {truth:+.3f} | {apart:.0f} of 500 | {level} | {stopped:.3f} "
                f"| {held} ({width:.3f}) |"
            )


def stream_of(task: str, sides: Sides) -> Stream:
    """The evidence of published outputs."""
    gold, *both = sides
    outputs = OutputComparison(task)
    measure = outputs.headline([*both[0], *both[1]])
    if measure is None:
        raise ValueError(task)
    matrices = []
    for side in both:
        evidences = Evidences(measure.tallies(measure.batch(gold, side)), measure.zero)
        if isinstance(measure.zero, Counts):
            matrices.append(evidences.matrix[:, [evidences.paths.index(path) for path in F1.paths]])
        else:
            matrices.append(values(evidences.values(evidences.matrix)))
    same = np.array([outputs.agree(*pair) for pair in zip(*both, strict=True)])
    return Stream(matrices[0], matrices[1], same, full(task, *sides))


def real(draws: int) -> Iterator[str]:
    """Published outputs: the verdict of 40 labels against that of all."""
    answers = Path(sys.argv[sys.argv.index("--answers") + 1]) if "--answers" in sys.argv else None
    yield (
        "| outputs | measure | N | agree | all labels | fixed number | against all | coverage | width: labels, all "
        "| decided by at most 200 | wrongly | labels: median |"
    )
    yield "|---|---|---|---|---|---|---|---|---|---|---|---|"
    times = min(draws, 200)
    for title, task, field, sides in published(answers):
        gold, a, b = sides
        difference = full(task, gold, a, b)
        verdicts = [family(task, field, sides, 40, seed)[1][0] for seed in range(times)]
        measure, (everything, *_) = family(task, field, sides, len(gold), 0)
        intervals = [each.interval for each in verdicts if each.interval]
        coverage, width = np.mean([(i.low <= difference <= i.high, i.high - i.low) for i in intervals], axis=0)
        proven = [each for each in verdicts if each.test_p <= 0.05 and each.interval]
        against = sum((each.interval.value if each.interval else 0) * difference < 0 for each in proven)
        stream = stream_of(task, sides)
        races = [raced(np.random.default_rng(seed), stream) for seed in range(times)]
        right = [used for direction, used in races if direction * difference > 0]
        wrong = sum(direction * difference < 0 for direction, _ in races)
        whole = everything.interval
        ends = f"{difference:+.3f} [{whole.low:+.3f}, {whole.high:+.3f}]" if whole else f"{difference:+.3f}"
        agree = 1 - (everything.disagreements / len(gold))
        median = f"{np.median(right):.0f}" if right else "–"
        all_width = f"{whole.high - whole.low:.3f}" if whole else "–"
        yield (
            f"| {title} | {measure} | {len(gold)} | {agree:.2f} | {ends} | {len(proven) / times:.2f} "
            f"| {against / times:.3f} | {coverage:.3f} | {width:.3f}, {all_width} | {(len(right) + wrong) / times:.2f} "
            f"| {wrong / times:.3f} | {median} |"
        )


def shares(draws: int) -> Iterator[str]:
    """The share of a failure among all traces: drafts at random and for errors, of one wave and of two."""
    yield "| share | labels | at random | for errors | two waves, at random | two waves, for errors |"
    yield "|---|---|---|---|---|---|"
    for place, (share, n) in enumerate(product(FAILURES[:2] if draws <= QUICK else FAILURES, LABELS)):
        cells = [
            held(partial(share_of_failure, share, n, *how), share, draws, 9000 + 100 * place + 10 * at)
            for at, how in enumerate(product((1, 2), (False, True)))
        ]
        yield f"| {share} | {n} | {' | '.join(cells)} |"


def share_of_failure(share: float, n: int, waves: int, errors: bool, rng: Random) -> Interval:
    """The share that labels of a draft tell; of two waves the first has half as much again, the second half of it."""
    traces: list[ReviewedTrace] = []
    for wave in range(waves):
        part = share * (1 if waves == 1 else 1.5 - wave)
        traces += read_wave(rng, rng.random(TRACES) < part, errors, n // waves, f"2026-01-0{wave + 1}")
    ((interval,),) = [[each.share] for each in mode_shares(traces, [Mode("failure")])]
    assert interval is not None
    return interval


def read_wave(rng: Random, failed: Flags, errors: bool, n: int, wave: str) -> list[ReviewedTrace]:
    """A wave as `goldassay.ext.labelling.drafts` draws it: for errors two thirds are likely failures."""
    likely = rng.random(len(failed)) < np.where(failed, *LIKELY_FAILURES)
    parts = {"likely": likely, "rest": ~likely} if errors else {"all": np.ones(len(failed), bool)}
    order = {name: rng.permutation(np.flatnonzero(part)).tolist() for name, part in parts.items() if part.any()}
    sizes = {name: len(places) for name, places in order.items()}
    wanted = {"likely": LIKELY, "rest": 1 - LIKELY, "all": 1.0}
    positions = dict.fromkeys(order, 0)
    traces = []
    for name in allocate_labels({name: wanted[name] for name in order}, sizes, {}, n):
        sampling = Sampling(
            question="errors",
            stratum=name,
            size=sizes[name],
            population=len(failed),
            position=positions[name],
            wave=wave,
        )
        modes = ("failure",) if failed[order[name][positions[name]]] else ()
        traces.append(ReviewedTrace(f"{wave} {name} {positions[name]}", modes=modes, sampling=sampling, wave=wave))
        positions[name] += 1
    return traces


TABLES: dict[str, Callable[[int], Iterator[str]]] = {
    "grid": grid, "power": power, "sequential": sequential, "documents": documents, "several": several,
    "levels": levels, "shares": shares, "drafts": drafts, "real": real,
}  # fmt: skip
