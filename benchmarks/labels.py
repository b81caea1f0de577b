"""What labels chosen by a design can tell: ``python -m benchmarks labels`` writes the tables of docs/labels.md.

``python -m benchmarks.labels grid`` writes one of them alone (grid, power, sequential, levels, drafts, real); a number
says how many draws a cell has, ``--quick`` makes 20 of a few cells and writes nothing.

A draw is a stream of N inputs with the outputs of two systems. Labels are chosen as `goldassay.gold.drafts` does (among
disagreements; where the measure counts items, a share among agreements), and `goldassay.running.labelled.decide` gives
the verdict. The truth is that of the stream, of which the N inputs are a sample. A cell outside its limits is drawn
again with another seed and four times the draws, and that stands in the table (†). Four measures:

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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from goldassay import Counts
from goldassay.gold.design import Design, Sampling
from goldassay.running.labelled import Labels, LabelVerdict, decide
from goldassay.statistics.evidence import Evidences
from goldassay.statistics.intervals import Interval
from goldassay.statistics.sampling import Race, Stratum, additions, estimate, neyman, swap_test

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
PAGE = Path(__file__).parent.parent / "docs" / "labels.md"
RATE = Evidences([1.0])
F1 = Evidences([Counts(1, 1, 1)], Counts())
COUNTED = [index for index, path in enumerate(F1.paths) if path[0] != "fn"]
LOW, HIGH, LEVEL = 0.93, 0.98, 0.07


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


def decided(stream: Stream, apart: Places, alike: Places) -> LabelVerdict:
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
    labels = Labels(
        Design(samplings[0], strata, tuple(samplings)),
        F1 if stream.corpus else RATE,
        stream.a[np.concatenate([apart, alike])],
        stream.b[np.concatenate([apart, alike])],
        [True] * len(apart) + [False] * len(alike),
        agreeing=["agree"],
        predicted=predicted,
    )
    return decide(labels, ("a", "b"), "value")


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
        "| measure | agree | N | labels | level | coverage (width), no gain | gain | proven | by random labels "
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
    yield "| measure | gain | agree | N | labels | proven | prototype | by random labels | coverage (width) |"
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
    race = Race(None if stream.corpus else 1.0)
    for used, place in enumerate(places):
        if not stream.same[place] and race.extend(amounts[used : used + 1]):
            return race.direction, used + 1
    return 0, len(places)


HOW = ((False, False), (True, False), (False, True), (True, True))  # in strata, with a covariate
RATES, JUDGES, PILOT = (0.5, 0.7, 0.9, 0.97), (0.6, 0.75, 0.9), 20


def levels(draws: int) -> Iterator[str]:
    """The level of one system: labels at random, in strata by a judge's verdict, and with the judge as a covariate."""
    yield "| value | N | labels | judge | at random | strata, Neyman | a covariate | strata and a second judge |"
    yield "|---|---|---|---|---|---|---|---|"
    quick = draws <= QUICK
    for rate in RATES[::3] if quick else RATES:
        for size in SIZES[:1] if quick else SIZES:
            for n in LABELS[:1] if quick else LABELS:
                for judge in JUDGES[:1] if quick else JUDGES:
                    cells = [level(rate, size, n, judge, draws, *how) for how in HOW]
                    yield f"| accuracy {rate} | {size} | {n} | {judge} | {' | '.join(cells)} |"
    for size in SIZES[:1] if quick else SIZES:
        for n in LABELS[:1] if quick else LABELS:
            cells = [span_level(size, n, draws, by) for by in (False, True)]
            yield f"| F1 of spans .667 | {size} | {n} | agreement | {' | '.join(cells)} | | |"


def level(rate: float, size: int, n: int, judge: float, draws: int, in_strata: bool, covariate: bool) -> str:
    rng = np.random.default_rng(5)
    intervals = []
    for _ in range(draws):
        gold = rng.random(size) < rate
        verdicts = np.where(rng.random(size) < judge, gold, ~gold)
        second = np.where(rng.random(size) < judge, gold, ~gold) if in_strata else verdicts
        parts = [np.flatnonzero(verdicts == side) for side in (True, False)] if in_strata else [np.arange(size)]
        parts = [rng.permutation(part) for part in parts if len(part)]
        shares = adaptive(parts, gold, n)
        strata = [
            Stratum(
                len(part),
                values(gold[part[:k]] * 1.0),
                verdicts=second[part[:k]] * 1.0 if covariate else None,
                verdict_mean=float(second[part].mean()),
            )
            for part, k in zip(parts, shares, strict=True)
        ]
        intervals.append(estimate(strata, RATE, bounds=(0.0, 1.0)))
    return held(intervals, rate)


def adaptive(parts: list[Places], gold: Flags, n: int) -> list[int]:
    """Neyman's shares of n labels, by the spreads of a pilot with one more example of each kind."""
    sizes = [len(part) for part in parts]
    pilot = neyman(sizes, [0.5] * len(parts), PILOT)
    rates = [(gold[part[:k]].sum() + 1) / (k + 2) for part, k in zip(parts, pilot, strict=True)]
    shares = np.maximum(pilot, neyman(sizes, [(p * (1 - p)) ** 0.5 for p in rates], n))
    while shares.sum() > n:
        shares[(shares - pilot).argmax()] -= 1
    return [int(share) for share in shares]


def span_level(size: int, n: int, draws: int, in_strata: bool) -> str:
    rng = np.random.default_rng(6)
    intervals = []
    for _ in range(draws):
        stream = spans(rng, size, 0.8, False)
        parts = [np.flatnonzero(stream.same), np.flatnonzero(~stream.same)] if in_strata else [np.arange(size)]
        shares = neyman([len(part) for part in parts], [1.0] * len(parts), n)
        strata = []
        for part, k in zip(parts, shares, strict=True):
            predicted = np.array([stream.a[part][:, COUNTED].sum()])
            strata.append(Stratum(len(part), stream.a[rng.permutation(part)[:k]], predicted))
        intervals.append(estimate(strata, F1, bounds=(0.0, 1.0)))
    own = 0.125 * -np.log(0.8)
    return held(intervals, float(4.2 / (2.1 + 0.5 + own + 3)))


def held(intervals: list[Interval], truth: float) -> str:
    coverage = float(np.mean([each.low <= truth <= each.high for each in intervals]))
    width = float(np.mean([each.high - each.low for each in intervals]))
    return marked(f"{coverage:.3f}", LOW <= coverage <= HIGH) + f" ({width:.3f})"


TABLES: dict[str, Callable[[int], Iterator[str]]] = {
    "grid": grid, "power": power, "sequential": sequential, "levels": levels,
}  # fmt: skip


def main() -> None:
    quick = "--quick" in sys.argv
    draws = next((int(word) for word in sys.argv[1:] if word.isdigit()), QUICK if quick else DRAWS)
    chosen = [name for name in TABLES if name in sys.argv[1:]] or list(TABLES)
    for name in chosen:
        table = []
        for row in TABLES[name](draws):
            table.append(row)
            print(row, flush=True)
        if PAGE.is_file() and not quick:
            before, mark, rest = PAGE.read_text(encoding="utf-8").partition(f"<!-- {name} -->\n")
            after = rest.partition("<!-- end -->")[2]
            body = "\n".join(table)
            PAGE.write_text(f"{before}{mark}{body}\n<!-- end -->{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
