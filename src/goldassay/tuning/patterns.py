"""Error patterns: mistakes of one kind, grouped by what they look like, with their loss.

A pattern is kind × gold type × predicted type × step (of trajectories) × surface form, with the strata in which most of
its errors are, and their **place**: the word that most of them come right after, or right before. Its **loss** is how
much higher the corpus value would be without the pattern's errors (leave-the-pattern-out): they are repaired in the
evidence of their examples (`repair`), and the value is taken again over all examples.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from goldassay.core.evidence import gains
from goldassay.core.fields import JsonObject
from goldassay.core.measure import RECORD_ERRORS, Error
from goldassay.core.tally import By, Evidence, T, Tally, total
from goldassay.running.run import Case

GOLD_KINDS = ("missed", "missing_field", "missing_item")
PRED_KINDS = ("spurious", "not_in_text", "invented_field", "spurious_item")
# errors of other kinds are of both sides
KIND_SIDES: dict[str, str] = {
    **dict.fromkeys((*GOLD_KINDS, "missing_call"), "gold"),
    **dict.fromkeys((*PRED_KINDS, "spurious_call", "repeated_call"), "pred"),
}
BY_FIELD = {*RECORD_ERRORS, "ignored_error"} - {"wrong_value"}
"""Errors of these kinds are of the field or of the tool, whatever its value, its arguments and its step."""


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
    step: int | None = None

    @property
    def title(self) -> str:
        """Kind and types: ``wrong_type TOP→GRP.HER.MUS``; of trajectories also the step, from 1."""
        types = "→".join(dict.fromkeys(name for name in (self.gold_type, self.pred_type) if name))
        step = "" if self.step is None else f" at step {self.step + 1}"
        return f"{self.kind} {types}".rstrip() + step

    @property
    def name(self) -> str:
        """The title and the commonest form: ``wrong_type TOP→GRP.HER.MUS: Rijksmuseum``."""
        return f"{self.title}: {self.surfaces[0]}" if self.surfaces else self.title

    @cached_property
    def place(self) -> str:
        """The word that most of the errors come after or before, such as ``after "in"``; empty without one.

        >>> names = "Delft", "Gouda", "Tiel"
        >>> errors = [Error("wrong_type", "", gold=name, context=f"…lives in {name} now") for name in names]
        >>> Pattern("wrong_type", "", "", names, tuple(errors), (), 0.0).place
        'after "in"'
        """
        places: Counter[tuple[str, str]] = Counter()
        for error in self.errors:
            name = error.gold or error.pred
            if not name or name not in error.context:
                continue
            before, _, after = error.context.partition(name)
            for side, near in (("after", before.split()[-1:]), ("before", after.split()[:1])):
                places.update((side, word.strip("…").casefold()) for word in near if word.strip("…").isalpha())
        for (side, word), count in places.most_common(1):
            if count >= max(3, 0.7 * len(self.errors)):
                return f'{side} "{word}"'
        return ""

    @property
    def count(self) -> int:
        """How many errors."""
        return len(self.errors)

    def state(self) -> JsonObject:
        """As JSON, with the examples' ids."""
        names = ("kind", "gold_type", "pred_type", "place", "loss", "strata")
        lists = {"examples": list(self.documents), "surfaces": list(self.surfaces)}
        step = {} if self.step is None else {"step": self.step}
        return {**{name: getattr(self, name) for name in names}, **step, "errors": self.count, **lists}

    def reported(self) -> JsonObject:
        """As a report of a tuner has it: with its name, its documents, and its first errors in full."""
        more = {"count": self.count, "documents": list(self.documents)}
        return {"name": self.name, **self.state(), **more, "examples": [error.state() for error in self.errors[:5]]}


def find(cases: Sequence[Case]) -> list[Pattern]:
    """The patterns of a run's errors, most costly first; surface forms are grouped by their character n-grams."""
    labels = defaultdict[str, list[str]](list)  # wrong values that are labels, few words that come again, confuse types
    for error in (error for case in cases for error in case.errors):
        if error.kind == "wrong_value" and not error.gold_type:
            labels[error.field].append(error.gold)
    closed = {name for name, values in labels.items() if len(set(values)) <= max(1, len(values) // 2)}
    groups = defaultdict[tuple[str, str, str, int | None], list[tuple[int, Error]]](list)
    for index, case in enumerate(cases):
        for error in case.errors:
            types = (error.gold, error.pred) if error.field in closed else (error.gold_type, error.pred_type)
            step = None if error.kind in BY_FIELD else error.step
            groups[error.kind, *types, step].append((index, error))
    if not groups:
        return []
    patterns = []
    changes: list[Tally] = []
    for (kind, gold_type, pred_type, step), members in groups.items():
        for cluster in _clusters(members):
            of_case = defaultdict[int, list[Error]](list)
            for index, error in cluster:
                of_case[index].append(error)
            pairs = [(cases[index], errors) for index, errors in sorted(of_case.items())]
            changes.append(total([repair(case.evidence, errors, case.errors) for case, errors in pairs]))
            strata = defaultdict[str, Counter[str]](Counter)
            for case, _ in pairs:
                for name, value in case.strata.items():
                    strata[str(name)][str(value)] += 1
            forms = Counter(form for _, error in cluster if (form := error.gold or error.pred))
            pattern = Pattern(
                kind,
                gold_type,
                pred_type,
                surfaces=tuple(form for form, _ in forms.most_common(12)),
                errors=tuple(error for _, error in cluster),
                documents=tuple(case.id for case, _ in pairs),
                loss=0.0,
                strata={name: dict(values.most_common()) for name, values in strata.items()},
                step=step,
            )
            patterns.append(pattern)
    losses = gains(total([case.evidence for case in cases]), changes)
    patterns = [replace(pattern, loss=loss) for pattern, loss in zip(patterns, losses, strict=True)]
    return sorted(patterns, key=lambda pattern: (-round(pattern.loss, 12), -pattern.count, pattern.name))


def _clusters(members: list[tuple[int, Error]]) -> list[list[tuple[int, Error]]]:
    """Split a group by surface form: agglomerative clustering of their n-grams, small rests kept together.

    Forms without letters (amounts, dates) are not split: which digits they share says nothing of the error.
    """
    forms = sorted({form for _, error in members if (form := error.gold or error.pred).strip()})
    digits = not any(map(str.isalpha, "".join(forms)))
    if len(forms) < 6 or len(forms) > 2000 or digits or all(error.kind in BY_FIELD for _, error in members):
        return [members]
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors: Any = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit_transform(forms)  # of length 1
    none: Any = None  # scikit-learn's stubs expect a number
    model = AgglomerativeClustering(n_clusters=none, distance_threshold=0.6, metric="precomputed", linkage="average")
    distances = 1 - (vectors @ vectors.T).toarray()
    label = dict(zip(forms, model.fit_predict(distances).tolist(), strict=True))
    sizes = Counter(label.get(error.gold or error.pred, -1) for _, error in members)
    clusters = defaultdict[int, list[tuple[int, Error]]](list)
    for index, error in members:
        key = label.get(error.gold or error.pred, -1)
        clusters[key if sizes[key] >= max(3, len(members) // 10) else -1].append((index, error))
    return list(clusters.values())


def repair(tally: T, errors: Sequence[Error], of: Sequence[Error], lower: bool = False) -> T:
    """The evidence to add to an example's so that these errors are gone; ``of`` are all errors of the example.

    A count goes down by its errors: false negatives by those that have a gold side, false positives by those that have
    a predicted one, in a tally by type only those of the type, in that of a measure those that it names. A count
    that has fewer than there are such errors (an overlap is right, though its boundary is not) goes down by their
    share, and so does the distance of a mean from 1, or from 0 where ``lower`` is better
    (`goldassay.core.tally.Tally.repaired`).
    """
    if isinstance(tally, Evidence):  # a measure that names no error lost something by all of them
        changes: dict[str, Tally] = {}
        for key in tally:
            named = [error for error in of if error.is_of(key)] or of
            repaired = [error for error in errors if error in named]
            changes[key] = repair(tally[key], repaired, named, lower=key in tally.worst)
        return tally.with_items(changes)
    if isinstance(tally, By):
        typed = any(_of_type(key, of) for key in tally)
        of_keys = {key: (_of_type(key, errors), _of_type(key, of)) if typed else (errors, of) for key in tally}
        return tally.with_items({key: repair(tally[key], *of_keys[key]) for key in tally})

    def share(allowed: Collection[str]) -> float:
        """Which share of an example's errors of these sides these are; of all its errors if none is of these sides."""
        some = [error for error in of if KIND_SIDES.get(error.kind, "both") in allowed] or of
        return sum(error.size for error in errors if error in some) / max(1, sum(error.size for error in some))

    return tally.repaired(share, lower)


def _of_type(kind: str, errors: Sequence[Error]) -> list[Error]:
    """The errors of a type; where the other side has another type, the side of this one.

    The field of a record has the errors of the part that holds it, too.
    """
    of_type = []
    for error in errors:
        within = error.kind in RECORD_ERRORS and kind.startswith(f"{error.gold_type}.")
        gold = error.gold_type == kind or within
        pred = error.pred_type == kind
        if gold and not pred and error.pred_type:
            error = replace(error, kind="missed")
        elif pred and not gold and error.gold_type:
            error = replace(error, kind="spurious")
        of_type += [error] * (gold or pred)
    return of_type


def is_right(case: Case) -> bool:
    """Whether an example leaves nothing to gain."""
    return not case.errors and float(case.evidence.value) >= 1 - 1e-9


def with_error(case: Case) -> Case:
    """The case; if a metric names no error of an example that is not right, its low score is an error."""
    if case.errors or is_right(case):
        return case
    error = Error("low_score", f"Scored {float(case.evidence.value):.3f}.")
    return Case(case.id, case.evidence, (error,), case.strata)
