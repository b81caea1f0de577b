"""Human preferences between two answers, and how far a judge agrees with them.

The file of RAGChecker's meta-evaluation (``human_labeled_data.json``) is a list of records with ``query``, ``model1``
and ``model2`` (each with ``response``) and labels from −2 to 2 for correctness, completeness and overall; a positive
label prefers the second answer. Every pair stands there once for each of its annotators: they make one item.

The judge is asked in both orders; orders that disagree are a tie. Agreement is over all pairs on which people have a
majority (``three_way``: first, second or tie) and over those that are no tie for people (``decided``), where a tie of
the judge's is wrong. A judge that always says the same is beside it: ``chance`` is what the frequent label gives.

Ru et al., RAGChecker: a fine-grained framework for diagnosing retrieval-augmented generation, NeurIPS 2024.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold.agreement.coefficients import Coefficient
from goldassay.judges.ask.judge import Judge
from goldassay.judges.ask.questions import ONE_ORDER, QUESTIONS, SWAPPED
from goldassay.judges.people.agreement import coefficient
from goldassay.judges.people.labels import JudgedItem, Labels
from goldassay.judges.people.rates import rate
from goldassay.statistics.intervals import Interval

ASPECTS = ("overall", "correctness", "completeness")


@dataclass(frozen=True, slots=True)
class Preferred:
    """A judge beside people's preferences."""

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

    def state(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


def read(path: str | Path, aspect: str = "overall", *, limit: int | None = None, seed: int = 0) -> Labels:
    """The pairs of a file, with what each annotator prefers; ``limit`` takes a seeded sample."""
    if aspect not in ASPECTS:
        raise DataError(f"no aspect {aspect!r}; there are {', '.join(ASPECTS)}")
    content = files.json_value(path)
    if not isinstance(content, list) or not content:
        raise DataError("not a list of preferences", file=path)
    pairs: dict[tuple[str, str, str, str], dict[str, str]] = {}
    for number, row in enumerate(content):
        try:
            key = (str(row["dataset"]), row["query"], row["model1"]["response"], row["model2"]["response"])
            label = row[f"{aspect}_label"]
            if not all(isinstance(text, str) for text in key):
                raise TypeError
        except (KeyError, TypeError):
            needs = f"query, model1.response, model2.response, dataset and {aspect}_label"
            raise DataError(f"a preference needs {needs}", file=path, record=number) from None
        if isinstance(label, bool) or label not in (-2, -1, 0, 1, 2):
            raise DataError(
                f"a label is a whole number from -2 to 2, not {label!r}",
                file=path,
                record=number,
                field=f"{aspect}_label",
            )
        said = pairs.setdefault(key, {})
        said[f"annotator {len(said) + 1}"] = "tie" if label == 0 else "second" if label > 0 else "first"
    items = [
        JudgedItem(f"{dataset}-{number}", {"question": query, "first": one, "second": two}, said)
        for number, ((dataset, query, one, two), said) in enumerate(pairs.items())
    ]
    if limit is not None and limit < len(items):
        items = random.Random(seed).sample(items, limit)
    return Labels(items, QUESTIONS["preference"], source=str(path))


def prefer(
    judge: Judge, labels: Labels, *, level: float = 0.95, tell: Callable[[int], None] | None = None
) -> Preferred:
    """Ask a judge about every pair in both orders, and compare with people."""
    orders = []
    for done, item in enumerate(labels.items, start=1):
        swapped = {**item.inputs, "first": item.inputs["second"], "second": item.inputs["first"]}
        there = ONE_ORDER.ask(judge, swapped).label
        orders.append((ONE_ORDER.ask(judge, item.inputs).label, there and SWAPPED[there]))
        if tell:
            tell(done)
    return compared(str(judge), labels.items, orders, level)


def compared(
    judge: str, items: Sequence[JudgedItem], orders: Sequence[tuple[str | None, str | None]], level: float = 0.95
) -> Preferred:
    """Verdicts of both orders (both in terms of the pair as it is given) beside people's labels.

    >>> pairs = [JudgedItem("a", labels={"x": "first"}), JudgedItem("b", labels={"x": "tie"})]
    >>> found = compared("j", pairs, [("first", "first"), ("first", "second")])
    >>> found.three_way.value, found.decided.value, found.consistent.value
    (1.0, 1.0, 0.5)
    """
    known = [(item, here, there) for item, (here, there) in zip(items, orders, strict=True) if here and there]
    both = [(item.label, here if here == there else "tie") for item, here, there in known if item.label is not None]
    labels = Counter(label for label, _ in both)
    decided = [(label, said) for label, said in both if label != "tie"]
    # Which place wins, over both calls; in the second call the pair was swapped.
    places = [verdict for _, here, there in known for verdict in (here, SWAPPED[there])]
    return Preferred(
        judge=judge,
        pairs=len(items),
        unknown=len(items) - len(known),
        no_majority=sum(bool(item.labels) and item.label is None for item in items),
        three_way=rate([label == said for label, said in both], level),
        decided=rate([label == said for label, said in decided], level),
        chance=max(labels.values()) / len(both) if both else 0.0,
        consistent=rate([here == there for _, here, there in known], level),
        first=rate([place == "first" for place in places if place != "tie"], level),
        people=coefficient([Coefficient.of([list(item.labels.values())]) for item in items], Coefficient(), level, 0),
    )
