"""The verdict of an audit, from the scores of a baseline and its candidates.

A program is better if its 95 % interval lies over 0 (`goldassay.statistics.selection`; with a single candidate
`goldassay.statistics.compare`). An interval within ± ``MARGIN`` shows that there is no larger difference. Candidates
that were bred from the best on the same examples inherit its luck, so that only an upper end holds: an audit of these
never says "better". Of runs of goldassay the verdict is by the metric's corpus value, not by a mean of scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from goldassay._support.display import Displayed
from goldassay._support.exceptions import GoldassayError
from goldassay.core.evidence import Floats, clustered, contributions
from goldassay.core.fields import JsonObject
from goldassay.results.comparison import METRIC, Comparison, ComparisonVerdict, Selection
from goldassay.results.comparisons import compare_metric
from goldassay.results.view import Chart, Diff, Point, Sentence, Table, View
from goldassay.running import Run
from goldassay.running.comparing import check_comparable
from goldassay.running.leaks import Leak, leak_warning
from goldassay.statistics import Interval, PairedTest, examples_needed
from goldassay.statistics.selection import select
from goldassay.tuning.acceptance import MARGIN

LUCK_WARNING = "if these examples chose the program, the gain includes luck"
SATURATED = "the metric is saturated"
LEAST_CLEAN = 20  # examples that are left without leaks; a verdict on fewer is none
FRESH = "goldassay audit BEFORE.json AFTER.json --program FILE --gold TEST"
UNLABELLED = "goldassay audit BEFORE.json AFTER.json --program FILE --unlabelled FILE"


@dataclass(frozen=True)
class Audit(Displayed):
    """A verdict on an optimizer's result: the chosen candidate against the baseline, and what settles it.

    ``test`` is that of the chosen candidate's gain, None if nothing could be tested. ``selection`` says how the
    candidates came about. ``naive_gain`` is what the optimizer reports. ``needed`` is the smallest number of new
    examples that would settle it; ``more`` is it for the same validation set, ``fresh`` for a held-out test; both show
    a gain of ``target`` in four of five cases. ``leaked`` says that prompts show examples, and a gain shows nothing.
    """

    test: PairedTest | None
    selection: Selection = "none"
    baseline: str = "before"
    chosen: str = "after"
    naive_gain: float | None = None
    candidates: int = 1
    examples: int = 0
    clusters: int = 0
    needed: int | None = None
    more: int | None = None
    fresh: int | None = None
    target: float | None = None
    source: str = ""
    findings: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict)
    leaked: bool = False

    @cached_property
    def comparison(self) -> Comparison:
        """The chosen candidate against the baseline."""
        systems = self.baseline, self.chosen
        return Comparison(systems, METRIC, self.test, margin=MARGIN, selection=self.selection)

    @property
    def verdict(self) -> str:
        """``better``, ``worse``, ``no larger than x``, ``open`` or ``same``, as of its comparison; a leak opens it."""
        verdict = self.comparison.verdict
        if verdict == ComparisonVerdict.BETTER and self.leaked:
            verdict = ComparisonVerdict.OPEN
        low, high = self.interval or (0.0, 0.0)
        return verdict + (f" {abs(max(-low, high)):.3g}" if verdict == ComparisonVerdict.NO_LARGER else "")

    @property
    def gain(self) -> float | None:
        """The gain of the chosen candidate, corrected for the choice; None of bred ones."""
        return None if self.interval is None else self.comparison.difference or 0.0

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the gain; None of bred candidates."""
        if self.comparison.verdict == ComparisonVerdict.SAME:
            return (0.0, 0.0)
        ends = self.comparison.interval
        return None if ends is None or self.selection == "bred" else ends.ends

    @property
    def p(self) -> float | None:
        """The p of the gain; None of bred candidates."""
        return None if self.test is None or self.selection == "bred" else self.test.p

    @property
    def better(self) -> bool:
        """Whether the optimizer helped, beyond doubt: on examples that are not known to be fresh nothing is."""
        return (
            self.comparison.verdict == ComparisonVerdict.BETTER
            and not self.leaked
            and LUCK_WARNING not in self.findings
        )

    def with_findings(self, leaks: Sequence[str], notes: Sequence[str]) -> Audit:
        """The same with what was found; a leak undoes a gain, and a saturated metric needs other examples, not more."""
        leaked = self.leaked or (bool(leaks) and self.better)
        audit = replace(self, leaked=leaked, findings=(*self.findings, *leaks, *notes))
        if any(note.startswith(SATURATED) for note in notes):
            return replace(audit, needed=None, more=None, fresh=None, target=None)
        return audit

    def without(self, leaks: Sequence[Leak], examples: Sequence[object], judge_others: Callable[[], Audit]) -> Audit:
        """This verdict, or if prompts show examples, the one on the others, with those left out and the gain on all.

        Args:
            leaks: The examples that prompts show.
            examples: All examples, or their ids.
            judge_others: Gives the verdict on the others; where they are too few, this one gets a warning.
        """
        if not leaks:
            return self
        if len(examples) - len(leaks) < LEAST_CLEAN:
            return self.with_findings([leak_warning(leaks, examples)], [])
        clean = judge_others()
        names = [f"{leak.id} ({leak.how} in {leak.place})" for leak in leaks[:6]]
        more = f" and {len(leaks) - 6} more" if len(leaks) > 6 else ""
        gain = f"{self.naive_gain:+z.3f}"
        if self.interval is not None:
            low, high = self.interval
            gain = f"{self.gain:+z.3f} [{low:+z.3f}, {high:+z.3f}]"
        count = f"{len(leaks)} of {self.examples} examples are left out, since the program's prompts show them"
        details = {**clean.details, "left_out": [leak.id for leak in leaks], "whole": gain}
        note = f"{count}: {', '.join(names)}{more}; with them the gain is {gain}"
        return replace(clean, findings=(note, *clean.findings), details=details)

    def state(self) -> JsonObject:
        """As JSON."""
        keys = "verdict gain interval naive_gain candidates examples clusters selection needed p more fresh target"
        names = [*keys.split(), "baseline", "chosen", "source", "findings"]
        return {**{name: getattr(self, name) for name in names}, **self.details}

    def view(self) -> View:
        """The verdict and what it rests on, the gain, what an example costs before and after, and the prompts."""
        first, *lines = self.lines()
        style = self.verdict if self.verdict in ("better", "worse") else "open"
        view: View = [Sentence(f"{first[:1].upper()}{first[1:]}.", style), *(Sentence(f"- {text}") for text in lines)]
        if self.gain is not None and self.interval is not None:
            point = Point(f"{self.chosen} against {self.baseline}", self.gain, *self.interval)
            view.append(Chart("intervals", "gain", [("gain", [point])]))
        if costs := self.details.get("costs"):
            cells = [[name, f"{costs['before'][name]:.4g}", f"{costs['after'][name]:.4g}"] for name in costs["before"]]
            view.append(Table("an example costs", ["", "before", "after"], cells))
            diff = str(self.details["diff"]).splitlines()
            view.append(Diff("The prompts", diff) if diff else Sentence("The prompts are the same."))
        return view

    def lines(self) -> list[str]:
        """The verdict in words, a sentence a line."""
        if self.chosen == self.baseline:
            why = "there is no other candidate"
            if self.candidates:
                why = f"none of {self.candidates} candidates is better than {self.baseline}"
            return [f"{self.verdict}: gain 0; {why}", *self.findings]
        was_chosen = self.selection != "none"
        reported = "" if self.naive_gain is None else f"the reported gain is {self.naive_gain:+z.3f}"
        if self.interval is not None:
            low, high = self.interval
            line = f"{self.verdict}: {self.gain:+z.3f} [{low:+z.3f}, {high:+z.3f}]"
            lines = [f"{line} (95 %) after correction; {reported}" if was_chosen else line]
        else:
            gain = f"{reported}, luck included" if reported else "nothing is known of the gain yet"
            lines = [f"{self.verdict}: {gain}"]
        if self.examples:
            size = f"{self.examples} examples"
            if self.clusters < self.examples:
                size += f" in {self.clusters} documents"
            among = f", the best of {self.candidates} candidates," if was_chosen else ""
            lines.append(f"{self.chosen} against {self.baseline}{among} on {size}")
            if self.selection == "bred":
                lines.append("its candidates were bred from the best on these very examples: use fresh examples")
        ways = []
        if self.more:
            ways.append(f"about {self.more} more examples")
        if self.fresh:
            ways.append(f"a held-out test of {self.fresh}: {FRESH}")
            ways.append(f"few labels of inputs without gold: {UNLABELLED}")
        if self.verdict == ComparisonVerdict.OPEN and ways:
            lines.append(f"to show a gain of {self.target:+z.3f} four times in five: {', or '.join(ways)}")
        return [*lines, *self.findings]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def judge(
    gains: Floats,
    *,
    selection: Selection,
    clusters: Sequence[Hashable] | None = None,
    pick: int | None = None,
    held_out: bool = False,
    **about: Any,
) -> Audit:
    """The verdict on a chosen candidate.

    Args:
        gains: A row an example, a column a candidate: its score less the baseline's.
        selection: ``independent`` if no candidate was made by looking at these scores, else ``bred``.
        clusters: The document of each example.
        pick: The chosen column, −1 for the baseline; by default the best, or the baseline if none is better.
        held_out: Whether it was picked on other examples, so that its mean is right as it is.
        about: Other fields of `Audit`.

    Raises:
        GoldassayError: There are fewer than two examples.

    >>> luck = np.random.default_rng(1).normal(size=(30, 16))
    >>> audit = judge(luck, selection="independent")
    >>> audit.verdict, round(audit.naive_gain, 2), round(audit.gain, 2)
    ('open', 0.13, -0.36)
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
    n = len(gains)
    gain = float((result.naive if held_out else result.estimate)[0])
    error = float(result.error[0])
    ends = Interval(gain, float(result.low[0]), float(result.high[0]), 0.95, n, "selection")
    test = PairedTest(gain, ends, float(result.p[0]), n, 0.0, 0.0, "selection", standard_error=error)
    naive = float(result.naive[0])
    audit = Audit(test, selection, naive_gain=naive, candidates=candidates, examples=examples, clusters=n, **about)
    if int(result.chosen[0]) < 0:
        return replace(audit, test=None, chosen=audit.baseline)
    return _with_needed(audit, gain, error, float(result.critical[0]))


def of_comparison(test: PairedTest, *, examples: int | None = None, **about: Any) -> Audit:
    """The verdict on one program against another, where there was nothing to choose.

    >>> from goldassay.statistics import compare
    >>> of_comparison(compare([1.0] * 12, [0.0] * 12, resamples=2000)).verdict
    'better'
    """
    audit = Audit(test, naive_gain=test.difference, examples=examples or test.n, clusters=test.n, **about)
    return _with_needed(audit, test.difference, test.standard_error, 1.96)


def shrunk(gain: float, error: float) -> float:
    """A gain without the part that luck is likely to have in it (James and Stein 1961), and at least the margin.

    >>> shrunk(0.2, 0.1), shrunk(0.08, 0.1)
    (0.15000000000000002, 0.05)
    """
    luck = (error / gain) ** 2 if gain else 1.0
    return max(MARGIN, gain * (1 - luck))


def _with_needed(audit: Audit, gain: float, error: float, critical: float) -> Audit:
    """With the examples that would show the gain, less the luck that is likely in it, with 80 % power."""
    if audit.comparison.verdict != ComparisonVerdict.OPEN or not error > 0:
        return audit
    n = audit.clusters
    target = shrunk(abs(gain) if audit.selection == "none" else gain, error)
    # Power .8 needs (critical + .84) standard errors in the target, and an error falls with the root of n.
    enough = n * ((critical + 0.8416) * error / target) ** 2
    scale = audit.examples / n
    least = audit.examples / 10  # an estimate so near to the end is luck: fewer would settle nothing
    more = None if audit.selection == "bred" else math.ceil(max(least, (enough - n) * scale))
    fresh = None if audit.selection == "none" else math.ceil(examples_needed(target, error, n) * scale)
    return replace(
        audit, target=target, more=more, fresh=fresh, needed=min(size for size in (more, fresh) if size is not None)
    )


def of_arms(before: Run, runs: Mapping[str, Run], seed: int) -> dict[str, Audit]:
    """The verdict on the run of each arm of an arena against the program as it is, corrected for the number of arms.

    Args:
        before: The program as it is, on test.
        runs: Those of the arms whose program changed, by the arm's name.
        seed: Of the test, where there is one arm.
    """
    size = len(before.rows)
    gains = None
    if len(runs) > 1 and size > 1 and not before.design.drafted:
        parts = [contributions(run.evidence, before.evidence, before.zero) for run in runs.values()]
        gains = size * np.stack(parts, axis=1)
    audits: dict[str, Audit] = {}
    for number, (name, run) in enumerate(runs.items()):
        if gains is None or not gains[:, number].any():  # equal on all: the interval of a share, not of a variance of 0
            test = compare_metric(before.result, run.result, seed=seed)
            audits[name] = of_comparison(test, examples=size, source="arena", chosen=name)
        else:
            audits[name] = judge(
                gains,
                selection="independent",
                clusters=before.clusters,
                pick=number,
                held_out=True,
                source="arena",
                chosen=name,
            )
    return audits


def of_runs(
    runs: Sequence[Run],
    *,
    selection: Selection | None = None,
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
        audit = of_comparison(compare_metric(first.result, others[0].result, clusters), examples=n, **about)
    elif len(first.design.strata) > 1:
        raise GoldassayError("examples that were chosen from strata cannot show how much of a gain is luck")
    else:
        gains = n * np.stack([contributions(run.evidence, first.evidence, first.zero) for run in others], axis=1)
        column = 1 + int(gains.mean(0).argmax())
        names = [str(run.folder or run.name) for run in runs]
        about |= {"chosen": names[column], "baseline": names[0]} if len(others) > 1 else {}
        audit = judge(gains, selection=selection or "independent", clusters=clusters, **about)
    noise = []
    for run in runs:  # warnings about its program come first, and those about its noise after that
        count = len(run.head.warnings)
        leaks = [*leaks, *(f"{run.name}: {text}" for text in run.warnings[:count])]
        noise += [text for text in run.warnings[count:] if text not in noise]
    scores = np.array([[np.nan if row.error else row.score for row in run.rows] for run in runs], float).T
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
        f"{SATURATED}: {names[0]} has {before:.3f} already; only harder examples can show a gain": not constant
        and before >= 0.98 * max(high, 1.0),
        f"only {side} failed ({count} of {len(scores)} examples, scored 0): mend that and measure again": count
        and not fewest,
        f"{repeats} repeated scores of the same example count once, by their mean; cached answers add nothing": repeats,
    }
    return [note for note, holds in notes.items() if holds]
