"""The verdict of an audit, from the scores of a baseline and its candidates.

A gain helped if its 95 % interval lies over 0 (`goldassay.statistics.selection`; with a single candidate
`goldassay.statistics.compare`). An interval within ± ``MARGIN`` shows that there is no larger difference. Candidates
that were bred from the best on the same examples inherit its luck, so that only an upper end holds: an audit of these
never says "helped". Of runs of goldassay the verdict is by the metric's corpus value, not by a mean of scores.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from goldassay.display import Displayed
from goldassay.exceptions import GoldassayError
from goldassay.running import Run
from goldassay.running.comparing import check_comparable, compare_metric
from goldassay.running.leaks import Leak
from goldassay.statistics import Comparison, contributions, examples_needed
from goldassay.statistics.evidence import Floats, clustered
from goldassay.statistics.selection import select
from goldassay.tuning.acceptance import MARGIN, Verdict, one_look

Selected = Literal["independent", "bred", "none"]
POWER_QUANTILE = 0.8416  # of 80 % power
LEAST = 10  # more examples are at least this part of those that are there
LEAKS = 6  # examples that are left out for a leak, by name
SATURATED = 0.98  # of the largest score
LUCK = "if these examples chose the program, the gain includes luck"
FRESH = "goldassay audit BEFORE.json AFTER.json --program FILE --gold TEST"
UNLABELLED = "goldassay audit BEFORE.json AFTER.json --program FILE --inputs FILE"


@dataclass(frozen=True)
class Audit(Displayed):
    """A verdict on an optimizer's result.

    ``verdict`` is "helped", "made it worse", "no difference larger than x", "unchanged" where the program before is the
    chosen one, or "cannot be told"; ``gain`` is the chosen candidate's, corrected for the choice, ``interval`` its 95 %
    interval and ``naive_gain`` what the optimizer reports. Of bred candidates gain and interval are None. ``needed`` is
    the smallest number of new examples that would settle it; ``more`` is it for the same validation set, ``fresh`` for
    a held-out test; both show a gain of ``target`` in four of five cases.
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
    target: float | None = None
    baseline: str = "before"
    chosen: str = "after"
    source: str = ""
    findings: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def better(self) -> bool:
        """Whether the optimizer helped, beyond doubt: on examples that are not known to be fresh nothing is."""
        return self.verdict == Verdict.HELPED and LUCK not in self.findings

    def with_findings(self, leaks: Sequence[str], notes: Sequence[str]) -> Audit:
        """The same with what was found; with a leak a gain shows nothing."""
        verdict = str(Verdict.UNKNOWN) if leaks and self.better else self.verdict
        return replace(self, verdict=verdict, findings=(*self.findings, *leaks, *notes))

    def without(self, leaks: Sequence[Leak], whole: Audit) -> Audit:
        """This verdict, on examples that no prompt shows, with those that were left out and the gain on the whole."""
        names = [f"{leak.id} ({leak.how} in {leak.place})" for leak in leaks[:LEAKS]]
        more = f" and {len(leaks) - LEAKS} more" if len(leaks) > LEAKS else ""
        gain = f"{whole.naive_gain:+.3f}"
        if whole.interval is not None:
            low, high = whole.interval
            gain = f"{whole.gain:+.3f} [{low:+.3f}, {high:+.3f}]"
        count = f"{len(leaks)} of {whole.examples} examples are left out, since the program's prompts show them"
        details = {**self.details, "left_out": [leak.id for leak in leaks], "whole": gain}
        note = f"{count}: {', '.join(names)}{more}; with them the gain is {gain}"
        return replace(self, findings=(note, *self.findings), details=details)

    def state(self) -> dict[str, Any]:
        """As JSON."""
        state = asdict(self)
        state |= state.pop("details")
        return state

    def lines(self) -> list[str]:
        """The verdict in words, a sentence a line."""
        if self.chosen == self.baseline:
            why = "there is no other candidate"
            if self.candidates:
                why = f"none of {self.candidates} candidates is better than {self.baseline}"
            return [f"{self.verdict}: gain 0; {why}", *self.findings]
        several = self.selection != "none"
        lines = [self._first_line(several)]
        if self.examples:
            size = f"{self.examples} examples"
            if self.clusters < self.examples:
                size += f" in {self.clusters} documents"
            among = f", the best of {self.candidates} candidates," if several else ""
            lines.append(f"{self.chosen} against {self.baseline}{among} on {size}")
            if self.selection == "bred":
                lines.append("its candidates were bred from the best on these very examples: use fresh examples")
        ways = []
        if self.more:
            ways.append(f"about {self.more} more examples")
        if self.fresh:
            ways.append(f"a held-out test of {self.fresh}: {FRESH}")
            ways.append(f"few labels of inputs without gold: {UNLABELLED}")
        if self.verdict == Verdict.UNKNOWN and ways:
            lines.append(f"to show a gain of {self.target:+.3f} four times in five: {', or '.join(ways)}")
        return [*lines, *self.findings]

    def _first_line(self, several: bool) -> str:
        """The verdict with the gain, and with the reported one if several candidates were to choose from."""
        reported = "" if self.naive_gain is None else f"the reported gain is {self.naive_gain:+.3f}"
        if self.interval is None:
            return f"{self.verdict}: {reported}, luck included" if reported else self.verdict
        low, high = self.interval
        line = f"{self.verdict}: {self.gain:+.3f} [{low:+.3f}, {high:+.3f}]"
        return f"{line} (95 %) after correction; {reported}" if several else line

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def judge(
    gains: Floats,
    *,
    selection: Selected,
    clusters: Sequence[Hashable] | None = None,
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

    Raises:
        GoldassayError: There are fewer than two examples.

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
    low = float(result.low[0])
    high = float(result.high[0])
    naive = float(result.naive[0])
    gain = float(result.estimate[0])
    about = {"candidates": candidates, "examples": examples, "clusters": len(gains), "selection": selection, **about}
    if int(result.chosen[0]) < 0:
        about["chosen"] = about.get("baseline", "before")
        return Audit(str(Verdict.UNCHANGED), 0.0, (0.0, 0.0), naive, **about)
    if selection == "bred":
        worse = Verdict.WORSE if high < 0 else Verdict.UNKNOWN
        audit = Audit(str(worse), None, None, naive, **about)
    else:
        text = Verdict.of_interval(low, high).sentence(low, high)
        audit = Audit(text, gain, (low, high), naive, p=float(result.p[0]), **about)
    return _with_needed(audit, gain, float(result.error[0]), float(result.critical[0]))


def of_comparison(comparison: Comparison, *, examples: int | None = None, **about: Any) -> Audit:
    """The verdict on one program against another, where there was nothing to choose.

    >>> from goldassay.statistics import compare
    >>> of_comparison(compare([1.0] * 12, [0.0] * 12, resamples=2000)).verdict
    'helped'
    """
    n = comparison.n
    gain = comparison.difference
    low = comparison.interval.low
    high = comparison.interval.high
    about = {"candidates": 1, "examples": examples or n, "clusters": n, "selection": "none", **about}
    verdict = one_look(comparison).sentence(low, high)
    audit = Audit(verdict, gain, (low, high), gain, p=comparison.p, **about)
    return _with_needed(audit, gain, comparison.standard_error, 1.96)


def shrunk(gain: float, error: float) -> float:
    """A gain without the part that luck is likely to have in it (James and Stein 1961), and at least the margin.

    >>> shrunk(0.2, 0.1), shrunk(0.08, 0.1)
    (0.15000000000000002, 0.05)
    """
    luck = (error / gain) ** 2 if gain else 1.0
    return max(MARGIN, gain * (1 - luck))


def _with_needed(audit: Audit, gain: float, error: float, critical: float) -> Audit:
    """With the examples that would show the gain, less the luck that is likely in it, with 80 % power."""
    if audit.verdict != Verdict.UNKNOWN or not error > 0:
        return audit
    n = audit.clusters
    target = shrunk(abs(gain) if audit.selection == "none" else gain, error)
    # Power .8 needs (critical + .84) standard errors in the target, and an error falls with the root of n.
    enough = n * ((critical + POWER_QUANTILE) * error / target) ** 2
    scale = audit.examples / n
    least = audit.examples / LEAST  # an estimate so near to the end is luck: fewer would settle nothing
    more = None if audit.selection == "bred" else math.ceil(max(least, (enough - n) * scale))
    fresh = None if audit.selection == "none" else math.ceil(examples_needed(target, error, n) * scale)
    return replace(
        audit, target=target, more=more, fresh=fresh, needed=min(size for size in (more, fresh) if size is not None)
    )


def of_runs(
    runs: Sequence[Run],
    *,
    selection: Selected | None = None,
    clusters: Sequence[Hashable] | None = None,
    leaks: Sequence[str] = (),
    **about: Any,
) -> Audit:
    """The verdict on runs on the same gold, the baseline first.

    Args:
        runs: Two, or a baseline and the candidates that it was to be replaced by.
        selection: How the candidates came about; by default ``none`` for two runs, else ``independent``.
        clusters: The unit that each row belongs to; by default its document.
        leaks: Warnings of leaks.
        about: Other fields of `Audit`.

    Raises:
        GoldassayError: There are fewer than two runs, or they cannot be compared.
    """
    first, *others = runs
    if not others:
        raise GoldassayError("an audit needs two runs or more, the baseline first")
    for other in others:
        check_comparable(first, other)
    n = len(first.rows)
    clusters = clusters or first.clusters
    column = 1
    about = {"source": "runs", **about}
    if (selection or "none") == "none" and len(others) == 1:
        audit = of_comparison(compare_metric(first, others[0], clusters), examples=n, **about)
    elif first.design and len(first.design.strata) > 1:
        raise GoldassayError("how much of a gain is luck cannot be told from examples that were chosen from strata")
    else:
        gains = n * np.stack([contributions(run.evidence, first.evidence, first.zero) for run in others], axis=1)
        column = 1 + int(gains.mean(0).argmax())
        names = [str(run.folder or run.name) for run in runs]
        about |= {"chosen": names[column], "baseline": names[0]} if len(others) > 1 else {}
        audit = judge(gains, selection=selection or "independent", clusters=clusters, **about)
    noise: list[str] = []
    for run in runs:  # warnings about its program come first, and those about its noise after that
        count = len(run.about.get("warnings") or ())
        leaks = [*leaks, *(f"{run.name}: {text}" for text in run.warnings[:count])]
        noise += [text for text in run.warnings[count:] if text not in noise]
    scores = np.array([[np.nan if row.get("error") else row["score"] for row in run.rows] for run in runs], float).T
    return audit.with_findings(leaks, [*noise, *of_scores(scores, [run.name for run in runs], column)])


def of_scores(scores: Floats, names: Sequence[str], chosen: int, repeats: int = 0) -> list[str]:
    """Notes on the scores: constant, saturated, failed on one side, repeated.

    Args:
        scores: A row an example, a column a candidate, the baseline first; NaN for an example that failed.
        names: The candidates.
        chosen: The column of the chosen candidate.
        repeats: How many scores were averaged into others of the same example.

    >>> of_scores(np.array([[1.0, 1.0], [1.0, 1.0]]), ["before", "after"], 1)
    ['the metric is constant: every score is 1, so it cannot show a difference']
    """
    failed = np.isnan(scores)
    values = np.nan_to_num(scores)
    high = float(values.max())
    before = float(values[:, 0].mean())
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
