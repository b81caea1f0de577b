"""A judge compared with people: how often it is right, how far it agrees, corrected rates, what to label next.

Compared are the items that have a label and a known verdict. Labels without a majority and missing verdicts are
counted, never guessed.

* Rates have Wilson's intervals. Sensitivity = positive verdicts / items that people call positive; specificity =
  verdicts that are not positive / items that people do not call positive.
* κ is Cohen's and α Krippendorff's (ordinal for the steps of a scale) of people's label and the verdict, with intervals
  over items; ``people`` is α among the annotators.
* The corrected rate or mean is what people would find over all items, from a few labels and all verdicts
  (`goldassay.statistics.ppi`); it needs two items with a label and one without.
* `plan`: a rate from labels of each verdict, weighted by how many items have it, has the variance Σ W² p (1 − p) / n
  over the verdicts (W: the share of the items, p: the rate among them, n: the labels). With a fixed number of labels it
  is least where n is proportional to W √(p (1 − p)) (Neyman 1934): more labels go where the judge says less. Within a
  verdict the items are drawn at random, and the verdicts take turns, so that any prefix may be labelled. Such labels
  are read with ``origin="verdict"``.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean

from goldassay._support.exceptions import DataError
from goldassay.core.fields import JsonObject
from goldassay.judges.judge import Judge
from goldassay.judges.labels import JudgedItem, LabelFile
from goldassay.judges.questions import Question, Vote
from goldassay.results.view import Cell, Note, Sentence, Table, TableRow, View, p_value, shortened, with_interval
from goldassay.statistics.agreement import Coefficient
from goldassay.statistics.intervals import Bounds, Interval, interval
from goldassay.statistics.ppi import UNBOUNDED, Corrected, corrected
from goldassay.statistics.sampling import allocate_labels

WIDTH = 2 * 1.96  # of a 95 % interval, in standard errors


@dataclass(frozen=True)
class Report:
    """Measurements of a judge."""

    def state(self) -> JsonObject:
        """As JSON."""
        return asdict(self)


def rate(right: Sequence[bool]) -> Interval | None:
    """A rate with Wilson's interval; None of nothing.

    >>> rate([]) is None, rate([True, False]).value
    (True, 0.5)
    """
    return interval([float(value) for value in right], bounds=(0.0, 1.0)) if right else None


def coefficient(units: Sequence[Sequence[Hashable]], kind: str) -> Interval | None:
    """A coefficient of agreement with its interval; None if nothing varies or nothing can be compared."""
    tallies = [tally for unit in units if (tally := Coefficient.of([unit], kind)).weight]
    if not tallies or sum(tallies, Coefficient(kind=kind)).defined is None:
        return None
    return interval(tallies, Coefficient(kind=kind), bounds=(-1.0, 1.0))


@dataclass(frozen=True)
class MeanGrade(Report):
    """A mean grade: ``naive`` of the verdicts, ``corrected`` by the labels, on a scale from ``low`` to ``high``."""

    low: float | None
    high: float | None
    labels: int
    verdicts: int
    naive: Interval | None
    corrected: Corrected | None
    unknown: int

    def view(self) -> View:
        """The mean: corrected, of the verdicts as they are, and of the labels alone."""
        scale = "" if self.low is None or self.high is None else f", from {self.low:g} to {self.high:g}"
        unknown = f", {self.unknown} without a verdict" if self.unknown else ""
        view: View = [Sentence(f"{self.verdicts} items with a verdict, {self.labels} of them with a label{unknown}")]
        view += _correction(f"mean grade{scale}", self.corrected, self.naive)
        if self.labels and self.corrected is None:
            view.append(Note("no correction: it needs 2 labels or more, and an item without a label"))
        return view


def _correction(title: str, corrected: Corrected | None, naive: Interval | None = None) -> View:
    """A judge's rate or mean: its verdicts as they are, and corrected by people's labels in every way."""
    head = title.split()[0]
    values: dict[str, Interval | None] = {"verdicts as they are": naive}
    if corrected:
        values = {
            f"corrected (PPI++), λ {corrected.trust:.2f}": corrected.corrected,
            "corrected (Rogan–Gladen)": corrected.rogan_gladen,
            "labels by verdict": corrected.by_verdict,
            "verdicts as they are": corrected.naive,
            "labels alone": corrected.people_only,
        }
    rows: list[TableRow] = [[name, value] for name, value in values.items() if value]
    view: View = [Table(title, ["from", f"{head} [95 %]"], rows)]
    if corrected and corrected.why:
        like = f"labelled and other items have the same verdicts: p {p_value(corrected.exchangeable_p)}"
        view.append(
            Sentence(f"The {head} to report: {with_interval(corrected.chosen)}, since {corrected.why} ({like}).")
        )
    return view


def mean_grade(
    people: Sequence[float | None],
    verdicts: Sequence[float | None],
    bounds: Bounds | None = None,
    origin: str = "unknown",
) -> MeanGrade:
    """The mean of grades, some or all of which people gave; None is not a label, or an unknown verdict.

    Args:
        people: The labels, one an item.
        verdicts: The judge's grades of the same items.
        bounds: The ends of the scale.
        origin: How the labelled items were chosen (`goldassay.statistics.ppi.corrected`).

    >>> graded = mean_grade([3.5, 4.0, None], [4.0, 5.0, 2.0], (1, 5))
    >>> round(graded.naive.value, 3), graded.corrected.people_only.value, graded.labels
    (3.667, 3.75, 2)
    """
    rows = [(label, verdict) for label, verdict in zip(people, verdicts, strict=True) if verdict is not None]
    grades = [verdict for _, verdict in rows]
    low, high = bounds or (None, None)
    return MeanGrade(
        low=low,
        high=high,
        labels=sum(label is not None for label, _ in rows),
        verdicts=len(rows),
        naive=interval(grades, method="t", bounds=bounds or UNBOUNDED) if len(rows) > 1 else None,
        corrected=_corrected(rows, origin, bounds),
        unknown=len(verdicts) - len(rows),
    )


def _corrected(
    rows: Sequence[tuple[float | None, float]], origin: str, bounds: Bounds | None = None
) -> Corrected | None:
    """The mean corrected by (label, verdict) pairs, a label or None each; None if too few have one, or all do."""
    labelled = [row for row in rows if row[0] is not None]
    unlabelled = [verdict for label, verdict in rows if label is None]
    if len(labelled) < 2 or not unlabelled:
        return None
    people, verdicts = zip(*labelled, strict=True)
    return corrected(people, verdicts, unlabelled, bounds=bounds, origin=origin)


def _graded(labels: LabelFile, votes: Sequence[Vote], origin: str) -> MeanGrade | None:
    """The mean grade in the scale's own numbers; None for a question without grades.

    An item's label is the mean of its annotators' grades, its verdict that of a panel's known ballots, so that draws
    need no majority.
    """
    worth = labels.question.worth
    low, high = labels.question.unit
    if set(worth.values()) <= {0.0, 1.0}:
        return None

    def graded(share: float | None) -> float | None:
        return None if share is None else low + share * (high - low)

    people = [fmean(worth[label] for label in item.labels.values()) if item.labels else None for item in labels.items]
    bounds = (min(low, high), max(low, high))
    return mean_grade(list(map(graded, people)), [graded(vote.mean) for vote in votes], bounds, origin)


def _rate_corrected(labels: LabelFile, votes: Sequence[Vote], origin: str) -> Corrected | None:
    """The rate of positive items corrected by labels; items on which people draw count neither way."""
    positive = labels.question.positive
    return _corrected(
        [
            (None if item.label is None else item.label == positive, vote.label == positive)
            for item, vote in _pairs(labels, votes)
            if vote.label is not None and (item.label is not None or not item.labels)
        ],
        origin,
    )


def _pairs(labels: LabelFile, votes: Sequence[Vote]) -> list[tuple[JudgedItem, Vote]]:
    if len(votes) != len(labels.items):
        raise DataError(f"{len(votes)} verdicts on {len(labels.items)} items; each item needs its verdict")
    return list(zip(labels.items, votes, strict=True))


@dataclass(frozen=True)
class JudgedRate(Report):
    """A judge's verdicts; ``disagreement`` is the mean one of a panel, ``cached`` answers cost nothing.

    ``agreement`` is that with people, where some items have labels; ``next`` are the items to label next, if asked for.
    """

    judge: str
    question: str
    positive: str
    n: int
    unknown: int
    verdicts: Mapping[str, int]
    naive: Interval | None
    corrected: Corrected | None
    disagreement: float
    mean: MeanGrade | None
    calls: int
    cached: int
    tokens: int
    agreement: JudgeAgreement | None = None
    next: NextLabels | None = None

    def view(self) -> View:
        """The agreement with people, the verdicts, and the rate of positive items."""
        rated = self.n - self.unknown
        verdicts = [[name, n, n / rated if rated else None] for name, n in self.verdicts.items()]
        verdicts.append(["unknown, left out", self.unknown, ""])
        title = f"{self.question}: {self.n} items, judged by {self.judge}"
        view = self.agreement.view() if self.agreement else []
        view.append(Table(title, ["verdict", "items", "share"], verdicts))
        if self.agreement is None or self.agreement.corrected != self.corrected:
            view += _correction(f"share of {self.positive!r}", self.corrected, self.naive)
        is_shown = self.agreement and self.agreement.mean == self.mean and self.mean and self.mean.corrected
        view += self.mean.view() if self.mean and not is_shown else []
        view += self.next.view() if self.next else []
        cached = f", {self.cached} answers from the cache" if self.cached else ""
        text = f"{self.calls} calls{cached}, {self.tokens} tokens."
        if self.disagreement:
            share = f"{self.disagreement:.1%}"
            text += f" The panel's members disagree: {share} of their verdicts are not the majority's."
        return [*view, Sentence(text)]


def estimate(
    labels: LabelFile,
    votes: Sequence[Vote],
    judge: Judge | str = "",
    *,
    origin: str = "unknown",
    count: int = 0,
    seed: int = 0,
) -> JudgedRate:
    """How often which verdict, how often people would call the items positive, and how far the judge agrees with them.

    If the items have splits, the agreement is on those of test: a judge may have been tuned on the others.

    Args:
        labels: The items, labelled or not.
        votes: The judge's, one for each item.
        judge: The judge, or what its votes are called.
        origin: How the labelled items were chosen (`goldassay.statistics.ppi.corrected`).
        count: How many items people can label next.
        seed: Of the choice of these.

    >>> from goldassay.judges.questions import count, question
    >>> items = [JudgedItem(str(n)) for n in range(3)]
    >>> result = estimate(LabelFile(items, question("criterion")), [count(["yes"]), count(["no"]), count([None])])
    >>> result.naive.value, dict(result.verdicts), result.unknown, result.corrected
    (0.5, {'yes': 1, 'no': 1}, 1, None)
    """
    question = labels.question
    decided = [vote for vote in votes if vote.label is not None]
    counts = Counter(vote.label for vote in decided)
    pairs = _pairs(labels, votes)
    tested = [pair for pair in pairs if pair[0].split == "test"] or pairs
    comparable = any(item.label is not None and vote.label is not None for item, vote in tested)
    people = replace(labels, items=[item for item, _ in tested])
    return JudgedRate(
        judge=str(judge),
        question=question.name,
        positive=question.positive,
        n=len(votes),
        unknown=len(votes) - len(decided),
        verdicts={name: counts[name] for name in question.labels},
        naive=rate([vote.label == question.positive for vote in decided]),
        corrected=_rate_corrected(labels, votes, origin),
        disagreement=fmean(vote.disagreement for vote in decided) if decided else 0.0,
        mean=_graded(labels, votes, origin),
        **{name: int(getattr(judge, name, 0)) for name in ("calls", "cached", "tokens")},
        agreement=align(people, [vote for _, vote in tested], judge, origin=origin) if comparable else None,
        next=plan(labels, votes, count, seed=seed) if count else None,
    )


@dataclass(frozen=True)
class JudgeAgreement(Report):
    """A judge and people: ``people`` is the agreement of the annotators, on ``divided`` items they disagree."""

    judge: str
    question: str
    positive: str
    n: int
    unlabelled: int
    unknown: int
    no_majority: int
    annotators: int
    accuracy: Interval | None
    sensitivity: Interval | None
    specificity: Interval | None
    kappa: Interval | None
    alpha: Interval | None
    people: Interval | None
    confusion: Mapping[str, Mapping[str, int]]
    corrected: Corrected | None
    divided: Sequence[Mapping[str, object]]
    warnings: Sequence[str]
    mean: MeanGrade | None

    def view(self) -> View:
        """Its agreement with people, its errors, and corrected rates."""
        positive = self.positive
        values: list[TableRow] = [
            [Cell("accuracy", detail="the same verdict as people"), self.accuracy],
            [Cell("sensitivity", detail=f"of what people call {positive}, the share that it does"), self.sensitivity],
            [Cell("specificity", detail="of what people do not, the share that it does not"), self.specificity],
            [Cell("kappa", detail="agreement beyond chance (Cohen)"), self.kappa],
            [Cell("alpha", detail="agreement beyond chance (Krippendorff)"), self.alpha],
            [Cell("alpha of people", detail="how far people agree with each other"), self.people],
        ]
        title = f"{self.n} labels with a verdict, {self.unlabelled} items without a label"
        rows = self.confusion.values()
        columns = [label for label in next(iter(rows)) if label in self.confusion or any(row[label] for row in rows)]
        counts: list[TableRow] = [
            [label, *(row[column] for column in columns)] for label, row in self.confusion.items()
        ]
        headline = f"{self.judge}, on {self.question}, agrees with people with accuracy"
        headline = f"{headline} {with_interval(self.accuracy, 3)} on {self.n} items."
        if self.corrected:
            judged = f"It calls a share of {with_interval(self.corrected.naive, 3)} {positive}"
            share = with_interval(self.corrected.chosen or self.corrected.corrected, 3)
            headline = f"{headline} {judged}; corrected by people's labels, the share is {share}."
        view: View = [
            Sentence(headline, "open"),
            Table(title, ["value", "estimate [95 %]"], values),
            Table("people (rows), judge (columns)", ["people", *columns], counts, matrix=True),
            *_correction(f"share of {self.positive!r}", self.corrected),
        ]
        view += self.mean.view() if self.mean and self.mean.corrected else []
        if self.divided:
            ids = shortened([item["id"] for item in self.divided])
            view.append(Sentence(f"People disagree on {len(self.divided)}: {ids}"))
        return [*view, *map(Note, self.warnings)]


def align(
    labels: LabelFile, votes: Sequence[Vote], judge: Judge | str = "", *, origin: str = "unknown"
) -> JudgeAgreement:
    """A judge's votes (`goldassay.judges.labels.poll`) against the labels of the same items.

    Args:
        labels: the items, labelled or not.
        votes: the judge's, one for each item.
        judge: the judge, or what its votes are called.
        origin: how the labelled items were chosen (`goldassay.statistics.ppi.corrected`).

    Raises:
        DataError: an item lacks its verdict, or none has both a label and a known verdict.
    """
    rows = _pairs(labels, votes)
    question = labels.question
    labelled = [(item.label, vote.label) for item, vote in rows if item.label is not None]
    pairs = [(label, verdict) for label, verdict in labelled if verdict is not None]
    if not pairs:
        raise DataError("no item has a label and a known verdict, so there is nothing to compare", file=labels.source)
    signs = [(label == question.positive, verdict == question.positive) for label, verdict in pairs]
    counts = Counter((label, verdict or "unknown") for label, verdict in labelled)
    rates = {
        "sensitivity": rate([verdict for label, verdict in signs if label]),
        "specificity": rate([not verdict for label, verdict in signs if not label]),
        "kappa": coefficient(pairs, "cohen"),
        "people": _alpha([list(item.labels.values()) for item in labels.items], question),
    }
    unknown = len(labelled) - len(pairs)
    verdicts = {verdict for _, verdict in pairs}
    warnings = {
        f"{unknown} items with a label have no verdict; they are left out of every value here": unknown,
        f"all labels are on one side of {question.positive!r}: one of sensitivity and specificity is not known": None
        in (rates["sensitivity"], rates["specificity"]),
        f"the judge always says {min(verdicts)!r}, whatever it judges": len(verdicts) == 1,
        "labels and verdicts are all the same, so kappa is not defined": rates["kappa"] is None,
        "how far people agree among themselves is not known: no item varies between two annotators": rates["people"]
        is None,
        f"{len(pairs)} labels are few; the intervals are wide and only approximate": len(pairs) < 30,
    }
    return JudgeAgreement(
        judge=str(judge),
        question=question.name,
        positive=question.positive,
        n=len(pairs),
        unlabelled=sum(not item.labels for item in labels.items),
        unknown=unknown,
        no_majority=sum(bool(item.labels) and item.label is None for item in labels.items),
        annotators=len(labels.annotators),
        accuracy=rate([label == verdict for label, verdict in pairs]),
        alpha=_alpha(pairs, question),
        confusion={row: {name: counts[row, name] for name in (*question.labels, "unknown")} for row in question.labels},
        corrected=_rate_corrected(labels, votes, origin),
        divided=[
            {"id": item.id, "labels": dict(item.labels), "verdict": vote.label}
            for item, vote in rows
            if len(set(item.labels.values())) > 1
        ],
        warnings=[warning for warning, holds in warnings.items() if holds],
        mean=_graded(labels, votes, origin),
        **rates,
    )


def _alpha(units: Sequence[Sequence[str | None]], question: Question) -> Interval | None:
    """Krippendorff's α of units: ordinal where the question's labels are steps of a scale."""
    if not question.levels:
        return coefficient(units, "nominal")
    return coefficient([[label and question.worth[label] for label in unit] for unit in units], "ordinal")


@dataclass(frozen=True)
class NextLabels(Report):
    """The ``items`` to label next, how many have each verdict, and the ``width`` of the interval to expect.

    ``at_random`` is the width to expect of as many labels on items taken at random.
    """

    items: Sequence[str]
    verdicts: Mapping[str, int]
    width: float
    at_random: float

    def view(self) -> View:
        """The items to label next, and what they are expected to bring."""
        counts = ", ".join(f"{count} judged {name!r}" for name, count in self.verdicts.items())
        width = f"Expect an interval of width {self.width:.3f}; as many items taken at random give {self.at_random:.3f}"
        return [
            Sentence(f"Label next: {', '.join(self.items)}"),
            Sentence(f"{len(self.items)} items, {counts}. {width}. Read the labels with the origin verdict."),
        ]


def plan(labels: LabelFile, votes: Sequence[Vote], count: int, *, seed: int = 0) -> NextLabels:
    """The items to label next, so that the rate gets the narrowest interval.

    Labels that are there count: they were chosen at random or by the verdict, too.

    Args:
        labels: The items, labelled or not.
        votes: The judge's verdicts on them.
        count: How many labels people can give.
        seed: Of the draw.

    Raises:
        DataError: Every item has a label already.

    >>> from goldassay.judges import questions
    >>> items = [JudgedItem(str(n), labels={"ann": "yes" if n % 2 else "no"} if n < 20 else {}) for n in range(200)]
    >>> votes = [questions.count(["yes" if n < 10 or n > 150 else "no"]) for n in range(200)]
    >>> criterion = questions.question("criterion")
    >>> dict(plan(LabelFile(items, criterion), votes, 40).verdicts)       # 59 items and 141, p is 1/2 for both
    {'yes': 8, 'not yes': 32}
    """
    positive = labels.question.positive
    rng = random.Random(seed)
    judged = [(item, vote) for item, vote in _pairs(labels, votes) if vote.label is not None]
    # Neyman's shares over all labels, of which those that are there already count; strata take turns, as in a draft.
    free: dict[str, list[str]] = {}
    there: dict[str, int] = {}
    spread: dict[str, float] = {}
    variance = 0.0
    for stratum, side in {positive: True, f"not {positive}": False}.items():
        items = [item for item, vote in judged if (vote.label == positive) == side]
        truths = [item.label == positive for item in items if item.label is not None]
        free[stratum] = [item.id for item in items if not item.labels]
        rng.shuffle(free[stratum])
        share = len(items) / max(1, len(judged))
        chance = (sum(truths) + 1) / (len(truths) + 2)
        there[stratum] = len(truths)
        spread[stratum] = share * math.sqrt(chance * (1 - chance))
        variance += share * chance * (1 - chance)
    if not any(free.values()):
        raise DataError("every item with a verdict has a label already", file=labels.source or None)
    shares = {stratum: error / sum(spread.values()) for stratum, error in spread.items()}
    most = {stratum: there[stratum] + len(ids) for stratum, ids in free.items()}
    order = allocate_labels(shares, most, there, count)
    waiting = {stratum: iter(ids) for stratum, ids in free.items()}
    chosen = [next(waiting[stratum]) for stratum in order]
    sizes = {stratum: order.count(stratum) for stratum in free}
    width = math.sqrt(sum(spread[name] ** 2 / max(there[name] + size, 1) for name, size in sizes.items()))
    at_random = math.sqrt(variance / (len(order) + sum(there.values())))
    return NextLabels(chosen, sizes, WIDTH * width, WIDTH * at_random)
