"""Judged values corrected by people's labels: prediction-powered inference over the rows of a run.

A judge errs, and how much is known where people have judged some of the same answers. Their labels and the judge's
verdicts on these, with its verdicts on all other rows, give the value that people would find, with its interval
(`goldassay.statistics.ppi`: Student's for means; for rates Wilson's, of as many labels as the estimate is worth).
Verdicts that did not come back are left out here; the value as it is keeps them in the denominator.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measures.judged import Judged
from goldassay.statistics.ppi import Corrected
from goldassay.statistics.ppi import corrected as by_labels

JudgeLabels = Mapping[str, Mapping[str, float | Sequence[float]]]
"""By the name of a value and the id of an example: what people say of it, from 0 to 1. With a second number, what the
judge says of the answer that people saw, where that is not the answer of this run."""


def corrected(
    labels: JudgeLabels, ids: Sequence[str], tallies: Mapping[str, Sequence[Any]], level: float = 0.95
) -> dict[str, Corrected]:
    """The corrected value of each judged measure that people have labelled.

    Args:
        labels: people's labels.
        ids: the id of each row.
        tallies: the evidence of each row, by measure.
        level: of the intervals.

    Raises:
        GoldassayError: a label is of no value that a judge gives here, or is no number from 0 to 1.

    >>> said = [Judged.of(one) for one in (1.0, 1.0, 0.0, 1.0, 1.0, 1.0)]
    >>> found = corrected({"relevance": {"a": 1, "b": 0, "c": 0}}, list("abcdef"), {"relevance": said})["relevance"]
    >>> round(found.naive.value, 3), found.corrected.value     # λ is 0.5: 0.5 · 1 + 1/3 − 0.5 · 2/3
    (0.833, 0.5)
    """
    out = {}
    for name, several in labels.items():
        rows = tallies.get(name)
        if rows is None or not all(isinstance(tally, Judged) for tally in rows):
            judged = [key for key, found in tallies.items() if all(isinstance(one, Judged) for one in found)]
            raise GoldassayError(f"labels are for {name}, which no judge gives here; {', '.join(judged) or 'none is'}")
        if any(tally.weight > 1 for tally in rows):
            raise GoldassayError(f"{name} has several verdicts an example; labels correct values with one")
        people, verdicts = [], []
        known = {
            one: float(tally.value)
            for one, tally in zip(map(str, ids), rows, strict=True)
            if tally.weight and not tally.unknown
        }
        for one, label in several.items():
            pair = [label, known.get(one)] if isinstance(label, (int, float)) else list(label)
            if pair[1] is not None:
                people.append(_share(pair[0], name, one))
                verdicts.append(_share(pair[1], name, one))
        own = {one for one, label in several.items() if isinstance(label, (int, float))}
        others = [verdict for one, verdict in known.items() if one not in own]
        if len(people) > 1 and others:
            out[name] = by_labels(people, verdicts, others, level=level, bounds=(0.0, 1.0))
    return out


def _share(found: Any, name: str, one: str) -> float:
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not 0 <= found <= 1:
        raise GoldassayError(f"a label of {name} is a number from 0 to 1, not {found!r} (example {one})")
    return float(found)
