"""People's preferences between two answers, and a judge beside them.

Every pair is asked about in both orders. ``python -m benchmarks.judging`` asks a model.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay.judges.agreement import coefficient, rate
from goldassay.judges.judge import Judge
from goldassay.judges.labels import JudgedItem, LabelFile
from goldassay.judges.questions import JUDGE_QUESTIONS, ONE_ORDER, SWAPPED
from goldassay.statistics.intervals import Interval

DATA = Path(os.environ.get("GOLDASSAY_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))
ASPECTS = ("overall", "correctness", "completeness")


def read_preferences(
    path: str | Path, aspect: str = "overall", *, limit: int | None = None, seed: int = 0
) -> LabelFile:
    """People's preferences between two answers, from the file of RAGChecker's meta-evaluation.

    ``human_labeled_data.json`` is a list of records with ``query``, ``model1`` and ``model2`` (each with ``response``)
    and labels from -2 to 2 for correctness, completeness and overall; a positive label prefers the second answer. Each
    pair stands there once for each of its annotators: they make one item. ``limit`` takes a seeded sample.

    Ru et al., RAGChecker: a fine-grained framework for diagnosing retrieval-augmented generation, NeurIPS 2024.
    """
    if aspect not in ASPECTS:
        raise DataError(f"no aspect {aspect!r}; there are {', '.join(ASPECTS)}")
    content = files.json_value(path)
    if not isinstance(content, list) or not content:
        raise DataError("not a list of preferences", file=path)
    pairs: dict[tuple[str, str, str, str], dict[str, str]] = {}
    for place, row in enumerate(content):
        try:
            key = (str(row["dataset"]), row["query"], row["model1"]["response"], row["model2"]["response"])
            label = row[f"{aspect}_label"]
            if not all(isinstance(text, str) for text in key):
                raise TypeError
        except (KeyError, TypeError):
            needs = f"query, model1.response, model2.response, dataset and {aspect}_label"
            raise DataError(f"a preference needs {needs}", file=path, record=place) from None
        if isinstance(label, bool) or label not in (-2, -1, 0, 1, 2):
            message = f"a label is a whole number from -2 to 2, not {label!r}"
            raise DataError(message, file=path, record=place, field=f"{aspect}_label")
        labels = pairs.setdefault(key, {})
        labels[f"annotator {len(labels) + 1}"] = "tie" if label == 0 else "second" if label > 0 else "first"
    items = [
        JudgedItem(f"{dataset}-{place}", {"question": query, "first": first, "second": second}, labels)
        for place, ((dataset, query, first, second), labels) in enumerate(pairs.items())
    ]
    if limit is not None and limit < len(items):
        items = random.Random(seed).sample(items, limit)
    return LabelFile(items, JUDGE_QUESTIONS["preference"], source=str(path))


@dataclass(frozen=True, slots=True)
class Preferred:
    """A judge compared with people's preferences.

    Agreement is over all pairs on which people have a majority (``three_way``: first, second or tie) and over those
    that are no tie for people (``decided``), where a tie of the judge's is wrong. ``chance`` is what a judge reaches
    that always gives the most frequent label.
    """

    judge: str
    pairs: int
    unknown: int
    no_majority: int
    three_way: Interval | None
    decided: Interval | None
    chance: float
    consistent: Interval | None
    first: Interval | None
    people: Interval | None


def prefer(judge: Judge, labels: LabelFile, *, on_pair: Callable[[int], None] | None = None) -> Preferred:
    """Ask a judge about every pair in both orders, and compare with people. Orders that disagree are a tie."""
    orders = []
    for done, item in enumerate(labels.items, start=1):
        swapped = {**item.inputs, "first": item.inputs["second"], "second": item.inputs["first"]}
        there = judge.verdict(ONE_ORDER, **swapped).label
        orders.append((judge.verdict(ONE_ORDER, **item.inputs).label, there and SWAPPED[there]))
        if on_pair:
            on_pair(done)
    return compare_preferences(str(judge), labels.items, orders)


def compare_preferences(
    judge: str, items: Sequence[JudgedItem], orders: Sequence[tuple[str | None, str | None]]
) -> Preferred:
    """Verdicts of both orders (both in terms of the pair as it is given) beside people's labels.

    >>> pairs = [JudgedItem("a", labels={"x": "first"}), JudgedItem("b", labels={"x": "tie"})]
    >>> result = compare_preferences("j", pairs, [("first", "first"), ("first", "second")])
    >>> result.three_way.value, result.decided.value, result.consistent.value
    (1.0, 1.0, 0.5)
    """
    judged = [(item, first, there) for item, (first, there) in zip(items, orders, strict=True) if first and there]
    both = [(item.label, first if first == there else "tie") for item, first, there in judged if item.label is not None]
    labels = Counter(label for label, _ in both)
    places = [
        verdict for _, first, there in judged for verdict in (first, SWAPPED[there])
    ]  # which place wins, per call
    return Preferred(
        judge=judge,
        pairs=len(items),
        unknown=len(items) - len(judged),
        no_majority=sum(bool(item.labels) and item.label is None for item in items),
        three_way=rate([label == verdict for label, verdict in both]),
        decided=rate([label == verdict for label, verdict in both if label != "tie"]),
        chance=max(labels.values()) / len(both) if both else 0.0,
        consistent=rate([first == there for _, first, there in judged]),
        first=rate([place == "first" for place in places if place != "tie"]),
        people=coefficient([list(item.labels.values()) for item in items], "nominal"),
    )
