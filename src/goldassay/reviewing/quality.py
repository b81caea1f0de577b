"""How good the labels of a review are, measured on the reviewers themselves.

* **Anchoring**: how much more often a label equals a suggestion where suggestions were shown than where, on a random
  tenth, they were hidden. Without a bias the two shares are the same. Newcombe's interval (1998, method 10).
* **Slips**: the share of records whose second label, later, is another one.
* **Agreement** of two reviewers: the coefficients of `goldassay.gold.agreement`.
* **Missed**: spans, links or statements that both reviewers overlooked. With a found by the first, b by the second and
  m by both, Chapman's estimate of all that there are is (a+1)(b+1)/(m+1) - 1; the interval of what both missed is
  log-normal (Chao 1987). It takes the two for independent; what is hard for one is hard for the other, so it is a lower
  bound in practice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import exp, log, sqrt

from goldassay.gold.agreement import agree
from goldassay.gold.shapes import Fields
from goldassay.measure import TASKS
from goldassay.reviewing.folder import SUGGESTIONS, Folder
from goldassay.reviewing.journal import Journal, Line
from goldassay.reviewing.queue import Queue
from goldassay.reviewing.values import canonical, items
from goldassay.running.labelled import verdict
from goldassay.statistics.intervals import wilson

FIGURES = ("observed", "cohen_kappa", "strict_f1", "partial_f1", "triple_f1", "field_f1")
RESAMPLES = 500
Z = 1.959963984540054
GOOD = 0.5  # a judge's verdict from here on calls an answer good


def share(successes: int, n: int) -> Fields:
    """A share with Wilson's interval."""
    low, high = wilson(successes, n)
    return {"n": n, "value": successes / n, "low": low, "high": high}


def share_difference(a: tuple[int, int], b: tuple[int, int]) -> Fields:
    """The difference of two independent shares, each as (successes, n), with Newcombe's interval.

    >>> {name: round(value, 4) for name, value in share_difference((56, 70), (48, 80)).items()}
    {'value': 0.2, 'low': 0.0524, 'high': 0.3339}
    """
    first = share(*a)
    second = share(*b)
    value = first["value"] - second["value"]
    below = sqrt((first["value"] - first["low"]) ** 2 + (second["high"] - second["value"]) ** 2)
    above = sqrt((first["high"] - first["value"]) ** 2 + (second["value"] - second["low"]) ** 2)
    return {"value": value, "low": value - below, "high": value + above}


def missed_by_both(first: int, second: int, both: int) -> Fields:
    """Chapman's estimate of what two reviewers missed, from what each and both of them marked.

    >>> {name: round(value, 2) for name, value in missed_by_both(90, 80, 75).items()}
    {'value': 0.99, 'low': 0.17, 'high': 5.84}
    """
    value = (first + 1) * (second + 1) / (both + 1) - 1 - (first + second - both)
    variance = (first + 1) * (second + 1) * (first - both) * (second - both) / ((both + 1) ** 2 * (both + 2))
    if value <= 0:
        return {"value": 0.0, "low": 0.0, "high": Z * sqrt(variance)}
    factor = exp(Z * sqrt(log(1 + variance / value**2)))
    return {"value": value, "low": value / factor, "high": value * factor}


@dataclass
class Quality:
    """The figures of a review.

    Args:
        folder: The folder.
        journal: The decisions.
        queue: Which records are for two.
    """

    folder: Folder
    journal: Journal
    queue: Queue

    def state(self, lines: Sequence[Line], settled: Sequence[Line | None], hidden: bool = False) -> Fields:
        """Everything that can be computed, as the page shows it.

        Args:
            lines: The decisions in force.
            settled: The decision that is the gold of each record, or None.
            hidden: Whether the systems' names are hidden.
        """
        labels = [line for line in lines if line.kind == "label"]
        firsts = [line for line in labels if line.visit == "first"]
        quality = {
            "anchoring": self.anchoring(firsts),
            "slips": self.slips(labels),
            "agreement": self.agreement(firsts),
            "missed": self.missed(firsts),
        }
        computed = {name: figure for name, figure in quality.items() if figure}
        return {"quality": computed, "verdict": self.difference(settled, hidden), "judge": self.judge(firsts)}

    def anchoring(self, firsts: Iterable[Line]) -> Fields | None:
        """The difference in agreement with the suggestions, where they were shown and where they were hidden."""
        same = Counter[bool]()
        counts = Counter[bool]()
        for line in firsts:
            suggested = {canonical(each.value) for each in self.folder.suggestions(line.index)}
            if line.value is not None and suggested:
                counts[line.blind] += 1
                same[line.blind] += canonical(line.value) in suggested
        if not counts[True] or not counts[False]:
            return None
        difference = share_difference((same[False], counts[False]), (same[True], counts[True]))
        return {"shown": counts[False], "hidden": counts[True], **difference}

    def slips(self, labels: Sequence[Line]) -> Fields | None:
        """The share of records that a reviewer labelled otherwise when they came again."""
        repeats = [line for line in labels if line.visit == "repeat"]
        pairs = [(self.journal.current(line.index, line.who), line) for line in repeats]
        changed = [first.meaning != again.meaning for first, again in pairs if first and first.kind == "label"]
        return share(sum(changed), len(changed)) if changed else None

    def agreement(self, firsts: Sequence[Line]) -> list[Fields]:
        """The agreement of reviewers on the records that several labelled."""
        if self.folder.task not in TASKS:
            return []
        counts = Counter(line.index for line in firsts if line.value is not None)
        records: dict[str, list[Fields]] = {}
        for line in firsts:
            if counts[line.index] > 1 and line.value is not None:
                records.setdefault(line.who, []).append({**self.folder.records[line.index], **line.value})
        if len(records) < 2:
            return []
        figures = agree(records, self.folder.task, resamples=RESAMPLES).figures
        return [
            {"name": each.name, "between": list(each.between), "units": each.units, **each.interval.state()}
            for each in figures
            if each.interval and each.type is None and each.name in FIGURES
        ]

    def missed(self, firsts: Iterable[Line]) -> Fields | None:
        """How many spans, links or statements both reviewers of the records for two overlooked."""
        by_record: dict[int, list[set[str]]] = {}
        for line in firsts:
            if line.value is not None:
                by_record.setdefault(line.index, []).append(items(line.value, self.folder.task))
        pairs = [pair for several in by_record.values() for pair in combinations(several, 2)]
        first = sum(len(a) for a, _ in pairs)
        second = sum(len(b) for _, b in pairs)
        return missed_by_both(first, second, sum(len(a & b) for a, b in pairs)) if first and second else None

    def difference(self, settled: Sequence[Line | None], hidden: bool) -> Fields | None:
        """The verdict on two systems; None if the draft does not compare two.

        If every decision made gold, the task's measure compares them. Else, and for a task of your own, whose metric
        may ask a model, the systems are compared by the share of answers that were taken to be right: those that were
        chosen, or equal what was typed.
        """
        design = self.folder.design
        lines = {line.index: line for line in settled if line}
        if design is None or design.question != "compare" or len(design.systems) != 2 or not lines:
            return None
        order = sorted(lines, key=lambda index: self.journal.order[lines[index].decision])
        rest = [record for index, record in enumerate(self.folder.records) if index not in lines]
        if self.folder.task in TASKS and all(line.value is not None for line in lines.values()):
            gold = [{**self.folder.records[index], **(lines[index].value or {})} for index in order]
            result = verdict(self.folder.task, [*gold, *rest], design.systems)
        else:
            plain = [{**record, SUGGESTIONS: {}} for record in rest]
            rights = [self._rights(lines[index]) for index in order]
            result = verdict("classification", [*rights, *plain], design.systems)
            result = replace(result, measure="share of right answers")
        if hidden:
            result = replace(result, systems=("A", "B"))
        return {**result.state(), "more": result.needed}

    def _rights(self, line: Line) -> Fields:
        """A record of whether each answer was taken to be right, as one of classification."""
        record = self.folder.records[line.index]
        rights = dict.fromkeys(self.folder.systems, line.choice == "both")
        if line.choice and line.choice.isdigit():
            rights[line.shown[int(line.choice) - 1]] = True
        elif line.value is not None:
            value = canonical(line.value)
            rights = {each.system: canonical(each.value) == value for each in self.folder.suggestions(line.index)}
        labels = {name: {"label": "right" if right else "wrong"} for name, right in rights.items()}
        return {"id": record["id"], "text": "", "label": "right", "sampling": record["sampling"], SUGGESTIONS: labels}

    def judged(self, index: int) -> float | None:
        """A judge's verdict of the answer to a record, where one was asked."""
        sampling = self.folder.records[index].get("sampling") or {}
        return sampling.get("verdict")

    def is_good(self, line: Line) -> bool | None:
        """Whether a person takes the first answer to be good: as they say, or because they left it as it was."""
        if line.good is not None or line.value is None:
            return line.good
        names = self.folder.systems
        answers = {each.system: each.value for each in self.folder.suggestions(line.index)}
        first = next((answers[name] for name in names if name in answers), None)
        return None if first is None else canonical(first) == canonical(line.value)

    def judge(self, firsts: Iterable[Line]) -> Fields | None:
        """A judge beside people: agreement, sensitivity and specificity, each with its interval."""
        if not self.folder.settings.judge:
            return None
        pairs = [(self.is_good(line), self.judged(line.index)) for line in firsts]
        votes = Counter((good, verdict >= GOOD) for good, verdict in pairs if good is not None and verdict is not None)
        n = votes.total()
        good = votes[True, True] + votes[True, False]
        bad = n - good
        return {
            "n": n,
            "agreement": _triple(votes[True, True] + votes[False, False], n),
            "sensitivity": _triple(votes[True, True], good),
            "specificity": _triple(votes[False, False], bad),
        }


def _triple(successes: int, n: int) -> list[float] | None:
    return [successes / n, *wilson(successes, n)] if n else None
