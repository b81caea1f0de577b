"""Agreement between annotators, with bootstrap intervals: on spans by pairwise F1, on values by kappa and alpha.

Values are the label of a document, the identifier of a mention, the grade of a judgement, an answer. Secondary labels
are a set, so they are compared by F1 like spans, if anybody gave one.

Sets are spans, statements and fields: pairwise F1, where one annotator stands for gold. F1 is the same whoever stands
for gold, and it needs no count of what nobody marked, which spans do not have; a kappa over words counts all the words
outside as agreement and looks better than it is (Hripcsak and Rothschild 2005). The kappa is given as ``word_kappa``
because cards promise it, and ``word_alpha`` is Krippendorff's over the words that at least one annotator marked.

>>> one = [{"id": "d", "text": "Museum", "label": "M"}, {"id": "e", "text": "Archive", "label": "A"}]
>>> two = [{"id": "d", "text": "Museum", "label": "M"}, {"id": "e", "text": "Archive", "label": "L"}]
>>> result = agree({"Ada": one, "Bo": two}, "classification")
>>> result.figure("observed").value, result.disagreements[0].values
(0.5, {'Ada': 'A', 'Bo': 'L'})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import check_unique, identity
from goldassay.gold.agreement.coefficients import alpha, cohen_kappa, fleiss_kappa
from goldassay.gold.agreement.figures import Disagreement, Figure, Study
from goldassay.gold.reading import read
from goldassay.gold.records import INPUTS, check_task

__all__ = ["Agreement", "Disagreement", "Figure", "agree", "agree_files", "alpha", "cohen_kappa", "fleiss_kappa"]

Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The agreement of several annotators on one task."""

    task: str
    annotators: tuple[str, ...]
    records: int
    figures: Sequence[Figure]
    disagreements: Sequence[Disagreement]
    warnings: Sequence[str] = field(default_factory=list)

    def figure(self, name: str, between: Sequence[str] | None = None, type: str | None = None) -> Figure:
        """A figure by its name; among all annotators unless ``between`` names some."""
        names = set(between or self.annotators)
        for figure in self.figures:
            if (figure.name, figure.type) == (name, type) and set(figure.between) == names:
                return figure
        raise KeyError(name)

    def state(self) -> dict[str, object]:
        """As JSON."""
        return asdict(self)


def agree(
    records: Mapping[str, Records], task: str, *, level: str | None = None, resamples: int = 2000, seed: int = 0
) -> Agreement:
    """The agreement of annotators.

    A pair is compared on the records that both have, Fleiss' kappa on those that all have, alpha on all that two or
    more have. Intervals resample records, or documents where they share one: the values of one depend on each other.

    Args:
        records: Each annotator's gold records, by name.
        task: The task.
        level: Krippendorff's level of values; ordinal for the grades of retrieval, else nominal, if not given.
        resamples: How many resamples the bootstrap draws.
        seed: Seeds the bootstrap.
    """
    check_task(task)
    if len(records) < 2:
        raise GoldassayError("agreement needs two annotators or more")
    rows, warnings = _shared(records, task)
    study = Study(task, list(records), rows, {"resamples": resamples, "seed": seed})
    study.compare(level)
    return Agreement(task, tuple(records), len(rows), study.figures, study.disagreements(), warnings)


def agree_files(
    paths: Sequence[str | Path], task: str, *, format: str | None = None, level: str | None = None, seed: int = 0
) -> Agreement:
    """The same from files, one an annotator, named after the file (and its folder, if files have the same name).

    Args:
        paths: The files.
        task: The task.
        format: The format; guessed if not given.
        level: Krippendorff's level, as in `agree`.
        seed: Seeds the bootstrap.
    """
    files = [Path(path) for path in paths]
    for names in ([file.stem for file in files], [f"{file.parent.name}/{file.stem}" for file in files]):
        if len(set(names)) == len(names):
            records = {name: read(file, task=task, format=format) for name, file in zip(names, files, strict=True)}
            return agree(records, task, level=level, seed=seed)
    raise GoldassayError("two files have the same name; name the annotators by their file or its folder")


def _shared(records: Mapping[str, Records], task: str) -> tuple[list[list[Any]], list[str]]:
    """The records that two annotators or more have, a row each, None if one lacks it; and warnings about the others."""
    for name, several in records.items():
        check_unique(several, name)
    by_id = [{identity(record, index): record for index, record in enumerate(own)} for own in records.values()]
    counts = Counter(key for own in by_id for key in own)
    rows = {key: [own.get(key) for own in by_id] for key, count in counts.items() if count > 1}
    if not rows:
        raise DataError(f"the annotators have no record in common: {', '.join(records)}")
    for key, row in rows.items():
        contents = {name: record.get(INPUTS[task]) for name, record in zip(records, row, strict=True) if record}
        first = next(iter(contents))
        for name, content in contents.items():
            if content != contents[first]:
                raise DataError(f"annotated on another {INPUTS[task]} than {first}'s", file=name, record=key)
    single, partly = len(counts) - len(rows), sum(None in row for row in rows.values())
    warnings = []
    if single:
        warnings.append(f"{single} record{'s' if single > 1 else ''} of one annotator alone left out")
    if partly:
        plural = "s" if partly > 1 else ""
        warnings.append(f"{partly} record{plural} not with all annotators: a pair is compared on what both have")
    return list(rows.values()), warnings


@dataclass(frozen=True)
class Corrections:
    """How labels that began as suggestions differ from them: of each stratum how many were changed, all, and kappa."""

    agreement: Agreement
    strata: dict[str, tuple[int, int, float | None]]
    suggested_by: tuple[str, ...]

    @property
    def summary(self) -> str:
        """How many were changed, and the warning that goes with such labels."""
        changed, total = (sum(row[place] or 0 for row in self.strata.values()) for place in (0, 1))
        names = ", ".join(self.suggested_by) or "the system that made them"
        return (
            f"{changed} of {total} suggestions were changed ({changed / total:.0%}). Labels made from suggestions "
            f"favour {names}: people overlook errors in what they are shown. Label some records without suggestions"
        )

    def state(self) -> dict[str, object]:
        """As JSON."""
        names = ("changed", "records", "agreement")
        strata = {stratum: dict(zip(names, row, strict=True)) for stratum, row in self.strata.items()}
        about = {"strata": strata, "suggested_by": list(self.suggested_by), "warning": self.summary}
        return {**self.agreement.state(), "suggestions": about}


def corrections(records: Records, task: str, *, level: str | None = None, seed: int = 0) -> Corrections:
    """Corrected drafts against the suggestions that they began as, which stand in ``meta.suggestion``.

    Args:
        records: The corrected records.
        task: The task.
        level: Krippendorff's level, as in `agree`.
        seed: Seeds the bootstrap.

    >>> meta = {"suggestion": {"label": "M"}, "suggested_by": ["ours"]}
    >>> labels = [{"id": n, "text": n, "label": label, "meta": meta} for n, label in (("a", "M"), ("b", "L"))]
    >>> corrections(labels, "classification").strata
    {'all': (1, 2, 0.0)}
    """
    groups: dict[str, list[tuple[Any, Any]]] = {}
    drafts = [record for record in records if "suggestion" in (record.get("meta") or {})]
    if not drafts:
        raise GoldassayError("no record has a suggestion (meta.suggestion), as goldassay gold from-traces writes it")
    both = [({**record, **record["meta"]["suggestion"]}, record) for record in drafts]
    for pair in both:
        strata = pair[1].get("strata") or {}
        groups.setdefault(", ".join(f"{key}={value}" for key, value in strata.items()) or "all", []).append(pair)

    def agreed(pairs: list[tuple[Any, Any]]) -> Agreement:
        suggestions, labels = zip(*pairs, strict=True)
        return agree({"suggestion": suggestions, "label": labels}, task, level=level, seed=seed)

    rows = {}
    for name, pairs in groups.items():
        figures = agreed(pairs).figures
        main = next((figure for figure in figures if "kappa" in figure.name), figures[0])
        rows[name] = (sum(suggestion != label for suggestion, label in pairs), len(pairs), main.value)
    makers = dict.fromkeys(name for record in drafts for name in record["meta"].get("suggested_by", ()))
    return Corrections(agreed(both), rows, tuple(makers))
