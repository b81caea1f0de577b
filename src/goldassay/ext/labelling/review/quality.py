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
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from math import exp, log, sqrt

from goldassay.core.fields import Fields, JsonObject
from goldassay.core.measure import TASKS
from goldassay.ext.labelling.drafts import GOLD_FIELDS
from goldassay.ext.labelling.labelled import PREFERRED, ranked, verdict
from goldassay.ext.labelling.outputs import drafted_shape
from goldassay.ext.labelling.review.journal import Journal, Line, canonical
from goldassay.gold.agreement import agree
from goldassay.results.comparison import ComparisonVerdict
from goldassay.statistics.intervals import share_difference, wilson

Z = 1.959963984540054
GOOD = 0.5  # a judge's verdict from here on calls an answer good


def missed_by_both(first: int, second: int, shared: int) -> Fields:
    """Chapman's estimate of what two reviewers missed, from what each and both of them marked.

    >>> {name: round(value, 2) for name, value in missed_by_both(90, 80, 75).items()}
    {'value': 0.99, 'low': 0.17, 'high': 5.84}
    """
    value = (first + 1) * (second + 1) / (shared + 1) - 1 - (first + second - shared)
    variance = (first + 1) * (second + 1) * (first - shared) * (second - shared) / ((shared + 1) ** 2 * (shared + 2))
    if value <= 0:
        return {"value": 0.0, "low": 0.0, "high": Z * sqrt(variance)}
    factor = exp(Z * sqrt(log(1 + variance / value**2)))
    return {"value": value, "low": value / factor, "high": value * factor}


class Quality:
    """The figures of a review.

    Args:
        journal: The decisions.
    """

    def __init__(self, journal: Journal) -> None:
        self.folder = journal.folder
        self.journal = journal

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

    def anchoring(self, firsts: Iterable[Line]) -> JsonObject | None:
        """The difference in agreement with the suggestions, where they were shown and where they were hidden."""
        same = Counter[bool]()
        counts = Counter[bool]()
        for line in firsts:
            suggested = set(self._answers[line.index].values())
            if line.value is not None and suggested:
                counts[line.blind] += 1
                same[line.blind] += self._meaning(line.value) in suggested
        if not counts[True] or not counts[False]:
            return None
        difference = share_difference((same[False], counts[False]), (same[True], counts[True]))
        ends = {"value": difference.value, "low": difference.low, "high": difference.high}
        return {"shown": counts[False], "hidden": counts[True], **ends}

    def slips(self, labels: Sequence[Line]) -> JsonObject | None:
        """The share of records that a reviewer labelled otherwise when they came again."""
        repeats = [line for line in labels if line.visit == "repeat"]
        pairs = [(self.journal.current(line.index, line.who), line) for line in repeats]
        changed = [first.meaning != again.meaning for first, again in pairs if first and first.kind == "label"]
        if not changed:
            return None
        low, high = wilson(sum(changed), len(changed))
        return {"n": len(changed), "value": sum(changed) / len(changed), "low": low, "high": high}

    def agreement(self, firsts: Sequence[Line]) -> list[JsonObject]:
        """The agreement of reviewers on the records that several labelled."""
        if self.folder.task not in TASKS:
            return []
        counts = Counter(line.index for line in firsts if line.value is not None)
        records: dict[str, list[JsonObject]] = {}
        for line in firsts:
            if counts[line.index] > 1 and line.value is not None:
                records.setdefault(line.who, []).append({**self.folder.records[line.index], **line.value})
        if len(records) < 2:
            return []
        names = ("observed", "cohen_kappa", "strict_f1", "partial_f1", "triple_f1", "field_f1")
        figures = agree(records, self.folder.task, resamples=500).figures
        return [
            {"name": item.name, "between": list(item.between), "units": item.units, **item.interval.state()}
            for item in figures
            if item.interval and item.type is None and item.name in names
        ]

    def missed(self, firsts: Iterable[Line]) -> JsonObject | None:
        """How many spans, links or statements both reviewers of the records for two overlooked."""
        task = self.folder.task
        if task not in ("extraction", "linking", "triples"):  # where a label is not a list
            return None
        by_record: dict[int, list[set[str]]] = {}
        for line in firsts:
            if line.value is not None:
                items = line.value.get(GOLD_FIELDS[task][0]) or []
                by_record.setdefault(line.index, []).append(set(map(canonical, items)))
        pairs = [pair for group in by_record.values() for pair in combinations(group, 2)]
        first = sum(len(a) for a, _ in pairs)
        second = sum(len(b) for _, b in pairs)
        return missed_by_both(first, second, sum(len(a & b) for a, b in pairs)) if first and second else None

    def records(self, settled: Sequence[Line | None]) -> list[Fields]:
        """The records of the draft with the gold of their decisions, in the order of these; the others follow.

        Where systems are compared, each decided record names those whose answers are right (``preferred``): those that
        were chosen or say the same, else those that equal the gold.

        Args:
            settled: The decision that is the gold of each record, or None.
        """
        order = self.journal.order
        lines = sorted((line for line in settled if line), key=lambda line: order[line.decision])
        decided = {line.index for line in lines}
        records = []
        for line in lines:
            record = {**self.folder.records[line.index], **(line.value or {})}
            if line.note:
                record["meta"] = {**(record.get("meta") or {}), "note": line.note}
            if self.folder.mode == "compare":
                record[PREFERRED] = self.preferred(line)
            records.append(record)
        return [*records, *(record for index, record in enumerate(self.folder.records) if index not in decided)]

    def _meaning(self, value: JsonObject | None) -> str:
        """The part of an answer that is compared, as a text."""
        shape = drafted_shape(self.folder.design)
        return canonical(value and {name: value[name] for name in shape.scored(value)})

    @cached_property
    def _answers(self) -> list[dict[str, str]]:
        """The canonical text of each system's answer to each record."""
        suggestions = map(self.folder.suggestions, range(len(self.folder.records)))
        return [{item.system: self._meaning(item.value) for item in answers} for answers in suggestions]

    def preferred(self, line: Line) -> list[str]:
        """The systems whose answers a decision takes to be right."""
        answers = self._answers[line.index]
        if line.choice in ("both", "neither"):
            return list(answers) if line.choice == "both" else []
        by_number = {str(number): name for number, name in enumerate(line.shown, start=1)}
        best = answers.get(by_number.get(line.choice or "", ""), self._meaning(line.value))
        return [name for name, answer in answers.items() if answer == best]

    def failures(self, line: Line, modes: Sequence[str]) -> dict[str, Sequence[str]]:
        """The failure modes of each system's answer: none of one that says what the gold does, or is preferred.

        The better one of two wrong answers, whose value was corrected, has them too.
        """
        right = self.preferred(line)
        if line.value is not None:
            gold = canonical(line.value)
            right = [item.system for item in self.folder.suggestions(line.index) if canonical(item.value) == gold]
        return {name: () if name in right else modes for name in self.folder.systems}

    def difference(self, settled: Sequence[Line | None], hidden: bool) -> JsonObject | None:
        """The verdict on the systems; None if the draft does not compare them.

        Of several pairs it is the best supported one, corrected for their number, with the sentences of all that are
        proven. It is decided once one system is better than each other one.

        Args:
            settled: The decision that is the gold of each record, or None.
            hidden: Whether the systems' names are hidden.
        """
        design = self.folder.design
        if not design.drafted or self.folder.mode != "compare" or not any(settled):
            return None
        records = self.records(settled)
        pairs = list(combinations(design.systems, 2))
        verdicts = ranked([verdict(self.folder.task, records, pair) for pair in pairs])
        if hidden:
            letters = {name: chr(ord("A") + index) for index, name in enumerate(design.systems)}
            verdicts = [
                replace(item, systems=(letters[item.systems[0]], letters[item.systems[1]])) for item in verdicts
            ]
        first = verdicts[0]
        proven = [verdict for verdict in verdicts if verdict.proven]
        wins = Counter(verdict.systems[verdict.verdict == ComparisonVerdict.BETTER] for verdict in proven)
        return {
            **first.label_state(),
            "sentence": " ".join(verdict.sentence for verdict in verdicts if verdict in proven or verdict is first),
            "more": first.labels and first.labels.needed,
            "decided": len(design.systems) - 1 in wins.values(),
        }

    def judgements(self, line: Line) -> tuple[bool, float] | None:
        """Whether a person takes the first answer to be good, and a judge's verdict of it; None without one of them.

        A person says so, or left the answer as it was.
        """
        good = line.good
        first = self.folder.first(line.index)
        if good is None and line.value is not None and first is not None:
            good = canonical(first.value) == canonical(line.value)
        verdict = (self.folder.records[line.index].get("sampling") or {}).get("verdict")
        return None if good is None or verdict is None else (good, verdict)

    def judge(self, firsts: Iterable[Line]) -> Fields | None:
        """A judge compared with people: agreement, sensitivity and specificity, each with its interval."""
        if not self.folder.settings.judge:
            return None
        votes = Counter((good, verdict >= GOOD) for good, verdict in filter(None, map(self.judgements, firsts)))
        n = votes.total()
        good = votes[True, True] + votes[True, False]
        rates = {
            "agreement": (votes[True, True] + votes[False, False], n),
            "sensitivity": (votes[True, True], good),
            "specificity": (votes[False, False], n - good),
        }
        return {"n": n} | {name: [k / m, *wilson(k, m)] if m else None for name, (k, m) in rates.items()}
