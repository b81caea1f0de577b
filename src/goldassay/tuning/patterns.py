"""Error patterns: mistakes of one kind, grouped by what they look like, with their loss.

A pattern is kind × gold type × predicted type × surface form, with the strata in which most of its errors are, and
their **place**: the word that most of them stand right after, or right before. Its **loss** is how much higher the
corpus value would be without the pattern's errors (leave-the-pattern-out): each error's share of its example's evidence
is repaired, and the value is taken again over all examples.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from goldassay.measure import Error
from goldassay.running.run import Case
from goldassay.score import Evidence
from goldassay.tally import By, Confusion, Counts, Mean, Number

MISSED, ADDED = ("missed",), ("spurious", "not_in_text")


@dataclass(frozen=True)
class Pattern:
    """Errors that belong together: how many, in which documents, at what loss, with examples."""

    kind: str
    gold_type: str
    pred_type: str
    surfaces: tuple[str, ...]
    errors: tuple[Error, ...]
    documents: tuple[str, ...]
    loss: float
    strata: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Kind, types and the commonest form: ``wrong_type TOP→GRP.HER.MUS: Rijksmuseum``."""
        types = "→".join(part for part in (self.gold_type, self.pred_type) if part)
        form = f": {self.surfaces[0]}" if self.surfaces else ""
        return " ".join(part for part in (self.kind, types) if part) + form

    @cached_property
    def place(self) -> str:
        """The word that most of the errors stand after or before, such as ``after "in"``."""
        return place(self.errors)

    @property
    def count(self) -> int:
        """How many errors."""
        return len(self.errors)

    def state(self) -> dict[str, object]:
        """As JSON, with the examples' ids."""
        return {
            "kind": self.kind,
            "gold_type": self.gold_type,
            "pred_type": self.pred_type,
            "place": self.place,
            "errors": self.count,
            "examples": list(self.documents),
            "loss": self.loss,
            "surfaces": list(self.surfaces),
            "strata": {name: dict(counts) for name, counts in self.strata.items()},
        }

    def reported(self, most: int = 5) -> dict[str, object]:
        """As a report of a tuner has it: with its name, its documents, and its first errors in full."""
        return {
            "name": self.name,
            **self.state(),
            "count": self.count,
            "documents": list(self.documents),
            "examples": [error.state() for error in self.errors[:most]],
        }


def find(cases: Sequence[Case]) -> list[Pattern]:
    """The patterns of a run's errors, most costly first; surface forms are grouped by their character n-grams."""
    labels = _label_fields(error for case in cases for error in case.errors)
    groups: dict[tuple[str, str, str], list[tuple[int, Error]]] = {}
    for index, case in enumerate(cases):
        for error in case.errors:
            types = (error.gold, error.pred) if error.field in labels else (error.gold_type, error.pred_type)
            groups.setdefault((error.kind, *types), []).append((index, error))
    if not groups:
        return []
    total = sum((case.evidence for case in cases[1:]), cases[0].evidence)
    whole = float(total.value)
    patterns = []
    for (kind, gold_type, pred_type), members in groups.items():
        for cluster in _clusters(members):
            hit = sorted({index for index, _ in cluster})
            forms = Counter(error.gold or error.pred for _, error in cluster if error.gold or error.pred)
            patterns.append(
                Pattern(
                    kind,
                    gold_type,
                    pred_type,
                    tuple(form for form, _ in forms.most_common(12)),
                    tuple(error for _, error in cluster),
                    tuple(cases[index].id for index in hit),
                    float(_without(total, cases, cluster).value) - whole,
                    _strata([cases[index] for index in hit]),
                )
            )
    return sorted(patterns, key=lambda pattern: (-pattern.loss, -pattern.count, pattern.name))


def _label_fields(errors: Iterable[Error]) -> set[str]:
    """The fields whose wrong values are labels, few words that come again: their patterns are confusions of two."""
    labels: dict[str, list[str]] = {}
    for error in errors:
        if error.kind == "wrong_value":
            labels.setdefault(error.field, []).append(error.gold)
    return {field for field, values in labels.items() if len(set(values)) <= max(1, len(values) // 2)}


def _clusters(members: list[tuple[int, Error]], near: float = 0.6) -> list[list[tuple[int, Error]]]:
    """Split a group by surface form: agglomerative clustering of their n-grams, small rests kept together."""
    forms = sorted({form for _, error in members if (form := error.gold or error.pred).strip()})
    if len(forms) < 6 or len(forms) > 2000:
        return [members]
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors: Any = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit_transform(forms)
    none: Any = None  # scikit-learn's stubs expect a number
    model = AgglomerativeClustering(n_clusters=none, distance_threshold=near, metric="cosine", linkage="average")
    label = dict(zip(forms, model.fit_predict(vectors.toarray()).tolist(), strict=True))
    sizes = Counter(label.get(error.gold or error.pred, -1) for _, error in members)
    clusters: dict[int, list[tuple[int, Error]]] = {}
    for index, error in members:
        key = label.get(error.gold or error.pred, -1)
        clusters.setdefault(key if sizes[key] >= max(3, len(members) // 10) else -1, []).append((index, error))
    return list(clusters.values())


def _without(total: Evidence, cases: Sequence[Case], cluster: list[tuple[int, Error]]) -> Evidence:
    """The evidence of all examples, had the errors of ``cluster`` not been made."""
    per_case: dict[int, list[Error]] = {}
    for index, error in cluster:
        per_case.setdefault(index, []).append(error)
    repaired = Evidence(total, total.weights)
    for index, errors in per_case.items():
        share = len(errors) / max(1, len(cases[index].errors))
        for key, tally in cases[index].evidence.items():
            repaired[key] = repaired[key] + repair(tally, errors, share)
    return repaired


def repair(tally: Any, errors: list[Error], share: float) -> Any:
    """What to add to the evidence so that these errors are gone; ``share`` is their part of the example's errors."""
    if isinstance(tally, Counts):
        fn = min(tally.fn, sum(error.kind not in ADDED for error in errors))
        fp = min(tally.fp, sum(error.kind not in MISSED for error in errors))
        return type(tally)(fn, -fp, -fn)
    if isinstance(tally, Mean):
        return type(tally)((tally.weight - tally.total) * share, 0.0)
    if isinstance(tally, Confusion):
        wrong = {pair: count for pair, count in tally.items() if pair[0] != pair[1]}
        moved: dict[tuple[str, str], Number] = {pair: -count * share for pair, count in wrong.items()}
        right: dict[tuple[str, str], Number] = {}
        for (gold, _), count in wrong.items():
            right[gold, gold] = right.get((gold, gold), 0.0) + count * share
        return type(tally)(moved) + type(tally)(right)
    if isinstance(tally, By):
        return type(tally)({key: repair(inner, errors, share) for key, inner in tally.items()})
    return type(tally)()


def _strata(cases: Sequence[Case]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[str]] = {}
    for case in cases:
        for name, value in case.strata.items():
            counts.setdefault(str(name), Counter())[str(value)] += 1
    return {name: dict(values.most_common()) for name, values in counts.items()}


LEAST, SHARE = 3, 0.7  # so many errors, and such a part of them, make a word their place


def place(errors: Sequence[Error]) -> str:
    """The word that most of the errors stand after or before; empty if they have none in common.

    >>> names = "Delft", "Gouda", "Tiel"
    >>> place([Error("wrong_type", "", gold=name, context=f"…lives in {name} now") for name in names])
    'after "in"'
    """
    places: Counter[tuple[str, str]] = Counter()
    for error in errors:
        name = error.gold or error.pred
        if not name or name not in error.context:
            continue
        before, _, after = error.context.partition(name)
        for side, near in (("after", before.split()[-1:]), ("before", after.split()[:1])):
            places.update((side, word.strip("…").casefold()) for word in near if word.strip("…").isalpha())
    for (side, word), count in places.most_common(1):
        if count >= max(LEAST, SHARE * len(errors)):
            return f'{side} "{word}"'
    return ""


def is_right(case: Case) -> bool:
    """Whether an example leaves nothing to gain."""
    return not case.errors and float(case.evidence.value) >= 1 - 1e-9


def with_error(case: Case) -> Case:
    """The case; if a metric names no error of an example that is not right, its low score is an error."""
    if case.errors or is_right(case):
        return case
    error = Error("low_score", f"Scored {float(case.evidence.value):.3f}.")
    return Case(case.id, case.evidence, (error,), case.strata)
