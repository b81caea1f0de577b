"""The proof of a patch by labels: whether the program is better with it, and whether other failures are more frequent.

Both come from the answers that differ with the patch, labelled without knowing which is which
(`goldassay.running.labelled`). A failure mode that a reviewer names counts for the answers that are not right. The
change of its share is tested like any difference of two systems; the tests of all modes are corrected together (Holm
1979).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from scipy import special

from goldassay.fields import Fields, Record
from goldassay.running.labelled import PREFERRED, LabelVerdict, ranked, verdict
from goldassay.statistics import Interval, holm
from goldassay.statistics.design import SAMPLING, Design
from goldassay.tuning.acceptance import ALPHA

NO_MODE_NAMED = (
    "Whether another failure mode became more frequent cannot be told: none was named. In the review, name what is "
    "wrong with the answers that you do not choose (key m), or align a judge of the mode (goldassay judge from-modes)."
)


@dataclass(frozen=True)
class ModeChange:
    """How the share of a failure mode among all inputs changed; ``p`` is corrected for the number of modes."""

    mode: str
    change: Interval
    p: float
    by: str = "the review"

    @property
    def rose(self) -> bool:
        """Whether it became more frequent."""
        return self.change.value > 0 and self.p <= ALPHA

    def __str__(self) -> str:
        ends = self.change
        return f"{self.mode} {ends.value:+.3f} [{ends.low:+.3f}, {ends.high:+.3f}], p {self.p:.3f}, by {self.by}"

    def state(self) -> Fields:
        """As JSON."""
        return {"mode": self.mode, **self.change.state(), "p": self.p, "more_frequent": self.rose, "by": self.by}


def mode_changes(
    task: str, records: Sequence[Record], failures: Mapping[str, Mapping[str, Collection[str]]]
) -> list[ModeChange]:
    """The change of each mode's share, from the records of a blinded review.

    Args:
        task: The task.
        records: The records in the order of their labels.
        failures: By the ids of those that are decided, the modes that each system's answer has.
    """
    design = Design.of(records)
    systems = design.systems if design else ()
    kept = ("id", SAMPLING, "suggestions", "document")  # no gold, so that the answers without the mode are counted
    verdicts = []
    for mode in dict.fromkeys(mode for sides in failures.values() for modes in sides.values() for mode in modes):
        rows = []
        for record in records:
            row = {key: record[key] for key in kept if key in record}
            if sides := failures.get(str(record["id"])):
                row[PREFERRED] = [name for name in systems if mode not in sides.get(name, ())]
            rows.append(row)
        verdicts.append(replace(verdict(task, rows, systems), measure=mode))
    gains = [(each.measure, each.gain) for each in ranked(verdicts) if each.interval is not None]
    return [ModeChange(mode, gain.interval.reversed, gain.p) for mode, gain in gains]


def judged_change(mode: str, verdicts: Sequence[tuple[bool, bool]], inputs: int, youden: Interval) -> ModeChange | None:
    """The change of a mode's share by an aligned judge's verdicts; None if its error leaves every change possible.

    The share of yes changes by d = J × the change of the mode's share, if the judge errs as often on the answers before
    as on those after. So the interval holds each change c with (d − J c)² ≤ z² (var d + c² var J) (Fieller 1954), and
    with it the error of the judge.

    Args:
        mode: The mode.
        verdicts: Of each input that is answered otherwise, the verdict before and after.
        inputs: How many inputs there are.
        youden: J, the judge's sensitivity + specificity − 1, with its interval.
    """
    z = float(special.ndtri(1 - ALPHA / 2))
    moved = [after - before for before, after in verdicts]
    mean = sum(moved) / inputs
    squares = sum(each * each for each in moved) + 1  # one more, since a few verdicts do not show that none changes
    variance = squares / inputs**2 - mean**2 / inputs
    error = (youden.high - youden.low) / 2 / z
    a = youden.value**2 - (z * error) ** 2
    b = mean * youden.value
    c = mean**2 - z**2 * variance
    if a <= 0:
        return None
    half = math.sqrt(max(0.0, b * b - a * c))
    change = Interval(mean / youden.value, (b - half) / a, (b + half) / a, n=inputs, method="fieller")
    p = 2 * float(special.ndtr(-abs(mean) / math.sqrt(variance)))
    return ModeChange(mode, change, p, "its judge")


def corrected(changes: Sequence[ModeChange]) -> list[ModeChange]:
    """Changes of several modes with their p-values corrected for their number (Holm)."""
    adjusted = holm([change.p for change in changes])
    return [replace(change, p=p) for change, p in zip(changes, adjusted, strict=True)]


@dataclass(frozen=True)
class Proof:
    """The verdict on a patched program, and the change of each failure mode.

    Args:
        verdict: The verdict of the labels.
        changes: The modes that were named, or that a judge tells.
    """

    verdict: LabelVerdict
    changes: Sequence[ModeChange] = ()

    @property
    def lines(self) -> list[str]:
        """The verdict, and what is known of the modes, for people."""
        if not self.changes:
            return [self.verdict.sentence, NO_MODE_NAMED]
        rose = [change for change in self.changes if change.rose]
        head = "No failure mode is shown to have become more frequent."
        if rose:
            head = f"More frequent than before: {', '.join(change.mode for change in rose)}."
        shares = "; ".join(map(str, self.changes))
        return [self.verdict.sentence, f"{head} Change of each mode's share of all inputs: {shares}."]

    def state(self) -> Fields:
        """As JSON."""
        modes = [change.state() for change in self.changes]
        return {"verdict": self.verdict.state(), "modes": modes, "sentences": self.lines}
