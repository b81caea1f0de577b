"""What the scores of a baseline and its candidates prove: the verdict of an audit.

A gain helped if its 95 % interval lies over 0 (`goldassay.statistics.selection`; with a single candidate
`goldassay.statistics.compare`). An interval within ± ``margin`` shows that there is no larger difference. Candidates
that were bred from the best on the same examples inherit its luck, so that only an upper end holds: an audit of these
never says "helped".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.notebook import Displayed
from goldassay.statistics import Comparison, examples_needed
from goldassay.statistics.evidence import Floats, clustered
from goldassay.statistics.selection import select

Selected = Literal["independent", "bred", "none"]
HELPED, WORSE, UNKNOWN = "helped", "made it worse", "cannot be told"
MARGIN = 0.05
POWER_QUANTILE = 0.8416  # of 80 % power
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
    p: float | None = None
    more: int | None = None
    fresh: int | None = None
    baseline: str = "before"
    chosen: str = "after"
    source: str = ""
    findings: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def needed(self) -> int | None:
        """The smallest number of new examples that would settle it; None if it is settled."""
        return min((n for n in (self.more, self.fresh) if n is not None), default=None)

    @property
    def better(self) -> bool:
        """Whether the optimizer helped, beyond doubt."""
        return self.verdict == HELPED

    def with_findings(self, leaks: Sequence[str], notes: Sequence[str]) -> Audit:
        """The same with what was found; with a leak a gain shows nothing."""
        verdict = UNKNOWN if leaks and self.verdict == HELPED else self.verdict
        return replace(self, verdict=verdict, findings=(*self.findings, *leaks, *notes))

    def state(self) -> dict[str, Any]:
        """As JSON."""
        keys = ("verdict", "gain", "interval", "naive_gain", "candidates", "examples", "clusters", "selection")
        values = {key: getattr(self, key) for key in keys}
        values["interval"] = list(self.interval) if self.interval else None
        more = {key: getattr(self, key) for key in ("p", "more", "fresh", "baseline", "chosen", "source")}
        return {**values, "needed": self.needed, **more, "findings": list(self.findings), **self.details}

    def lines(self) -> list[str]:
        """The verdict in words, a sentence a line."""
        if self.chosen == self.baseline:
            return [
                f"{self.verdict}: none of {self.candidates} candidates is better than {self.baseline}",
                *self.findings,
            ]
        if self.gain is None:
            reported = (
                "" if self.naive_gain is None else f": the reported gain is {self.naive_gain:+.3f}, luck included"
            )
            lines = [f"{self.verdict}{reported}"]
        else:
            low, high = self.interval or (math.nan, math.nan)
            lines = [f"{self.verdict}: {self.gain:+.3f} [{low:+.3f}, {high:+.3f}]"]
            if self.selection != "none":
                lines[0] += f" (95 %) after correction; the reported gain is {self.naive_gain:+.3f}"
        parts = f"{self.examples} examples" + (
            f" in {self.clusters} documents" if self.clusters < self.examples else ""
        )
        chosen = "" if self.selection == "none" else f", the best of {self.candidates} candidates,"
        if self.examples:
            lines.append(f"{self.chosen} against {self.baseline}{chosen} on {parts}")
        if self.selection == "bred" and self.examples:
            lines.append("its candidates were bred from the best on these very examples: only fresh examples can tell")
        if self.verdict == UNKNOWN and self.fresh:
            more = f"about {self.more} more examples, or " if self.more and self.selection != "none" else ""
            settle = f"{more}a held-out test of {self.fresh}"
            if self.selection == "none":
                settle = f"about {self.more} more examples"
            lines.append(f"to settle it: {settle}" + (f": {FRESH}" if self.selection != "none" else ""))
        return lines + list(self.findings)

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def judge(
    gains: Floats,
    *,
    selection: Selected,
    clusters: Sequence[object] | None = None,
    pick: int | None = None,
    margin: float = MARGIN,
    **about: Any,
) -> Audit:
    """The verdict on a chosen candidate.

    Args:
        gains: A row an example, a column a candidate: its score less the baseline's.
        selection: ``independent`` if no candidate was made by looking at these scores, else ``bred``; ``none`` if there
            was nothing to choose.
        clusters: The document of each example.
        pick: The chosen column, −1 for the baseline; by default the best, or the baseline if none is better.
        margin: The largest difference that does not matter.
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
    low, high, gain, error = (float(x[0]) for x in (result.low, result.high, result.estimate, result.error))
    about = {"candidates": candidates, "examples": examples, "clusters": len(gains), "selection": selection, **about}
    about |= {"naive_gain": float(result.naive[0])}
    if int(result.chosen[0]) < 0:
        about["chosen"] = about.get("baseline", "before")
        return Audit("no difference larger than 0", 0.0, (0.0, 0.0), **about)
    if selection == "bred":
        word = WORSE if high < 0 else UNKNOWN
        audit = Audit(word, None, None, **about)
    else:
        word = _word(low, high, margin)
        audit = Audit(word, gain, (low, high), p=float(result.p[0]), **about)
    return _with_needed(audit, gain, error, float(result.critical[0]), margin)


def of_comparison(
    comparison: Comparison, *, examples: int | None = None, margin: float = MARGIN, **about: Any
) -> Audit:
    """The verdict on one program against another, where there was nothing to choose.

    >>> from goldassay.statistics import compare
    >>> of_comparison(compare([1.0] * 12, [0.0] * 12, resamples=2000)).verdict
    'helped'
    """
    low, high = comparison.interval.low, comparison.interval.high
    if comparison.p > 0.05:
        low, high = min(low, 0.0), max(high, 0.0)
    gain, n = comparison.difference, comparison.n
    about = {
        "candidates": 1,
        "examples": examples or n,
        "clusters": n,
        "selection": "none",
        "naive_gain": gain,
        **about,
    }
    audit = Audit(_word(low, high, margin), gain, (low, high), p=comparison.p, **about)
    return _with_needed(audit, gain, comparison.standard_error, 1.96, margin)


def _word(low: float, high: float, margin: float) -> str:
    """The verdict by the interval."""
    if low > 0 or high < 0:
        return HELPED if low > 0 else WORSE
    reach = max(-low, high)
    return f"no difference larger than {reach:.3g}" if reach <= margin else UNKNOWN


def _with_needed(audit: Audit, gain: float, error: float, critical: float, margin: float) -> Audit:
    """With the examples that would show the gain (if it is larger than the margin, else the margin) with 80 % power."""
    if audit.verdict != UNKNOWN or not error > 0:
        return audit
    target, n = max(abs(gain) if audit.selection == "none" else gain, margin), audit.clusters
    scale = audit.examples / n
    enough = n * ((critical + POWER_QUANTILE) * error / target) ** 2
    more = None if audit.selection == "bred" else max(1, math.ceil((enough - n) * scale))
    fresh = None if audit.selection == "none" else math.ceil(examples_needed(target, error, n) * scale)
    return replace(audit, more=more, fresh=fresh)
