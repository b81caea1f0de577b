"""What the scores of a baseline and its candidates prove: the verdict of an audit.

A gain helped if its 95 % interval lies over 0 (`goldassay.statistics.selection`; with a single candidate
`goldassay.statistics.compare`). An interval within ± ``MARGIN`` shows that there is no larger difference. Candidates
that were bred from the best on the same examples inherit its luck, so that only an upper end holds: an audit of these
never says "helped". Of runs of goldassay the verdict is by the metric's corpus value, not by a mean of scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from goldassay.display import Displayed
from goldassay.exceptions import GoldassayError
from goldassay.running import Run
from goldassay.running.comparing import check_comparable
from goldassay.statistics import Comparison, compare, contributions, examples_needed
from goldassay.statistics.evidence import Floats, clustered
from goldassay.statistics.selection import select

Selected = Literal["independent", "bred", "none"]
HELPED, WORSE, UNKNOWN = "helped", "made it worse", "cannot be told"
MARGIN = 0.05
POWER_QUANTILE = 0.8416  # of 80 % power
SATURATED = 0.98  # of the largest score
FRESH = "goldassay audit BEFORE.json AFTER.json --program FILE --gold TEST"


@dataclass(frozen=True)
class Audit(Displayed):
    """A verdict on an optimizer's result.

    ``verdict`` is "helped", "made it worse", "no difference larger than x" or "cannot be told"; ``gain`` is the chosen
    candidate's, corrected for the choice, ``interval`` its 95 % interval and ``naive_gain`` what the optimizer reports.
    Of bred candidates gain and interval are None. ``needed`` is the smallest number of new examples that would settle
    it; ``more`` is it for the same validation set, ``fresh`` for a held-out test.
    """

    verdict: str
    gain: float | None
    interval: tuple[float, float] | None
    naive_gain: float | None
    candidates: int
    examples: int
    clusters: int
    selection: Selected
    needed: int | None = None
    p: float | None = None
    more: int | None = None
    fresh: int | None = None
    baseline: str = "before"
    chosen: str = "after"
    source: str = ""
    findings: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def better(self) -> bool:
        """Whether the optimizer helped, beyond doubt."""
        return self.verdict == HELPED

    def with_findings(self, leaks: Sequence[str], notes: Sequence[str]) -> Audit:
        """The same with what was found; with a leak a gain shows nothing."""
        verdict = UNKNOWN if leaks and self.better else self.verdict
        return replace(self, verdict=verdict, findings=(*self.findings, *leaks, *notes))

    def state(self) -> dict[str, Any]:
        """As JSON."""
        state = asdict(self)
        state |= state.pop("details")
        return state

    def lines(self) -> list[str]:
        """The verdict in words, a sentence a line."""
        if self.chosen == self.baseline:
            first = f"{self.verdict}: none of {self.candidates} candidates is better than {self.baseline}"
            return [first, *self.findings]
        several, fresh, first = self.selection != "none", "only fresh examples can tell", self.verdict
        reported = "" if self.naive_gain is None else f"the reported gain is {self.naive_gain:+.3f}"
        if self.interval is not None:
            ends = "[{:+.3f}, {:+.3f}]".format(*self.interval)
            first += f": {self.gain:+.3f} {ends}" + f" (95 %) after correction; {reported}" * several
        elif reported:
            first += f": {reported}, luck included"
        lines = [first]
        if self.examples:
            size = f"{self.examples} examples" + f" in {self.clusters} documents" * (self.clusters < self.examples)
            among = f", the best of {self.candidates} candidates," * several
            lines.append(f"{self.chosen} against {self.baseline}{among} on {size}")
            bred = f"its candidates were bred from the best on these very examples: {fresh}"
            lines += [bred] * (self.selection == "bred")
        ways = [f"about {self.more} more examples"] * bool(self.more)
        ways += [f"a held-out test of {self.fresh}: {FRESH}"] * bool(self.fresh)
        lines += [f"to settle it: {', or '.join(ways)}"] * bool(self.verdict == UNKNOWN and ways)
        return [*lines, *self.findings]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def judge(
    gains: Floats,
    *,
    selection: Selected,
    clusters: Sequence[object] | None = None,
    pick: int | None = None,
    **about: Any,
) -> Audit:
    """The verdict on a chosen candidate.

    Args:
        gains: A row an example, a column a candidate: its score less the baseline's.
        selection: ``independent`` if no candidate was made by looking at these scores, else ``bred``.
        clusters: The document of each example.
        pick: The chosen column, −1 for the baseline; by default the best, or the baseline if none is better.
        about: Other fields of `Audit`.

    >>> luck = np.random.default_rng(1).normal(size=(30, 16))
    >>> audit = judge(luck, selection="independent")
    >>> audit.verdict, round(audit.naive_gain, 2), round(audit.gain, 2)
    ('cannot be told', 0.13, -0.36)
    >>> judge(luck, selection="bred").gain is None
    True
    """
    examples, candidates = gains.shape
    if examples < 2:
        raise GoldassayError(f"an audit needs two examples or more; here is {examples}")
    weights = None
    if clusters is not None:
        sizes = clustered(np.ones((examples, 1)), clusters)
        gains = clustered(gains, clusters) * len(sizes) / examples
        weights = sizes[:, 0] * len(sizes) / examples
    result = select(gains[None], weights=weights, chosen=None if pick is None else np.array([pick]))
    low, high, gain, naive = (float(x[0]) for x in (result.low, result.high, result.estimate, result.naive))
    about = {"candidates": candidates, "examples": examples, "clusters": len(gains), "selection": selection, **about}
    if int(result.chosen[0]) < 0:
        about["chosen"] = about.get("baseline", "before")
        return Audit("no difference larger than 0", 0.0, (0.0, 0.0), naive, **about)
    if selection == "bred":
        audit = Audit(WORSE if high < 0 else UNKNOWN, None, None, naive, **about)
    else:
        audit = Audit(_word(low, high), gain, (low, high), naive, p=float(result.p[0]), **about)
    return _with_needed(audit, gain, float(result.error[0]), float(result.critical[0]))


def of_comparison(comparison: Comparison, *, examples: int | None = None, **about: Any) -> Audit:
    """The verdict on one program against another, where there was nothing to choose.

    >>> from goldassay.statistics import compare
    >>> of_comparison(compare([1.0] * 12, [0.0] * 12, resamples=2000)).verdict
    'helped'
    """
    low, high, gain, n = comparison.interval.low, comparison.interval.high, comparison.difference, comparison.n
    if comparison.p > 0.05:
        low, high = min(low, 0.0), max(high, 0.0)
    about = {"candidates": 1, "examples": examples or n, "clusters": n, "selection": "none", **about}
    audit = Audit(_word(low, high), gain, (low, high), gain, p=comparison.p, **about)
    return _with_needed(audit, gain, comparison.standard_error, 1.96)


def _word(low: float, high: float) -> str:
    """The verdict by the interval."""
    if low > 0 or high < 0:
        return HELPED if low > 0 else WORSE
    reach = max(-low, high)
    return f"no difference larger than {reach:.3g}" if reach <= MARGIN else UNKNOWN


def _with_needed(audit: Audit, gain: float, error: float, critical: float) -> Audit:
    """With the examples that would show the gain (if it is larger than the margin, else the margin) with 80 % power."""
    if audit.verdict != UNKNOWN or not error > 0:
        return audit
    target, n = max(abs(gain) if audit.selection == "none" else gain, MARGIN), audit.clusters
    scale, enough = audit.examples / n, n * ((critical + POWER_QUANTILE) * error / target) ** 2
    more = None if audit.selection == "bred" else max(1, math.ceil((enough - n) * scale))
    fresh = None if audit.selection == "none" else math.ceil(examples_needed(target, error, n) * scale)
    return replace(audit, more=more, fresh=fresh, needed=min(size for size in (more, fresh) if size is not None))


def of_runs(
    runs: Sequence[Run],
    *,
    selection: Selected | None = None,
    clusters: Sequence[object] | None = None,
    leaks: Sequence[str] = (),
    **about: Any,
) -> Audit:
    """The verdict on runs on the same gold, the baseline first.

    Args:
        runs: Two, or a baseline and the candidates that it was to be replaced by.
        selection: How the candidates came about; by default ``none`` for two runs, else ``independent``.
        clusters: What each row belongs to; by default its document.
        leaks: Leaks that were found.
        about: Other fields of `Audit`.
    """
    first, *others = runs
    if not others:
        raise GoldassayError("an audit needs two runs or more, the baseline first")
    for other in others:
        check_comparable(first, other)
    n, clusters, column = len(first.rows), clusters or first.clusters, 1
    about = {"source": "runs", **about}
    if (selection or "none") == "none" and len(others) == 1:
        comparison = compare(others[0].evidence, first.evidence, first.zero, clusters=clusters)
        audit = of_comparison(comparison, examples=n, **about)
    else:
        gains = n * np.stack([contributions(run.evidence, first.evidence, first.zero) for run in others], axis=1)
        column, names = 1 + int(gains.mean(0).argmax()), [str(run.folder or run.name) for run in runs]
        about |= {"chosen": names[column], "baseline": names[0]} if len(others) > 1 else {}
        audit = judge(gains, selection=selection or "independent", clusters=clusters, **about)
    noise: list[str] = []
    for run in runs:  # what a run says of its program comes first, and what it says of its noise after that
        count = len(run.about.get("warnings") or ())
        leaks = [*leaks, *(f"{run.name}: {text}" for text in run.warnings[:count])]
        noise += [text for text in run.warnings[count:] if text not in noise]
    scores = np.array([[np.nan if row.get("error") else row["score"] for row in run.rows] for run in runs], float).T
    return audit.with_findings(leaks, [*noise, *of_scores(scores, [run.name for run in runs], column)])


def of_scores(scores: Floats, names: Sequence[str], chosen: int, repeats: int = 0) -> list[str]:
    """What the scores themselves give away.

    Args:
        scores: A row an example, a column a candidate, the baseline first; NaN for an example that failed.
        names: The candidates.
        chosen: The column of the chosen candidate.
        repeats: How many scores were averaged into others of the same example.

    >>> of_scores(np.array([[1.0, 1.0], [1.0, 1.0]]), ["before", "after"], 1)
    ['the metric is constant: every score is 1, so it cannot show a difference']
    """
    failed, values = np.isnan(scores), np.nan_to_num(scores)
    high, before = float(values.max()), float(values[:, 0].mean())
    (fewest, _), (count, side) = sorted((int(failed[:, column].sum()), names[column]) for column in (0, chosen))
    constant = float(values.min()) == high
    notes = {
        f"the metric is constant: every score is {high:g}, so it cannot show a difference": constant,
        f"the metric is saturated: {names[0]} has {before:.3f} already, so there is no room": not constant
        and before >= SATURATED * max(high, 1.0),
        f"only {side} failed ({count} of {len(scores)} examples, scored 0): mend that and measure again": count
        and not fewest,
        f"{repeats} repeated scores of the same example count once, by their mean; cached answers add nothing": repeats,
    }
    return [note for note, holds in notes.items() if holds]
