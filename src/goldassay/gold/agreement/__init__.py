"""Agreement between annotators: on spans by pairwise F1, on values by kappa and alpha, with bootstrap intervals.

>>> one = [{"id": "d", "text": "Museum", "label": "M"}, {"id": "e", "text": "Archive", "label": "A"}]
>>> two = [{"id": "d", "text": "Museum", "label": "M"}, {"id": "e", "text": "Archive", "label": "L"}]
>>> result = agree({"Ada": one, "Bo": two}, "classification")
>>> result.figure("observed").value, result.disagreements[0].values
(0.5, {'Ada': 'A', 'Bo': 'L'})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import check_unique, identity
from goldassay.fields import read as read_field
from goldassay.gold.agreement import figures
from goldassay.gold.agreement.coefficients import alpha, cohen_kappa, fleiss_kappa
from goldassay.gold.agreement.figures import Agreement, Disagreement, Figure
from goldassay.gold.reading import read
from goldassay.gold.records import INPUTS, check_task

__all__ = ["Agreement", "Disagreement", "Figure", "agree", "agree_files", "alpha", "cohen_kappa", "fleiss_kappa"]

Records = Sequence[Mapping[str, object]]


def agree(
    records: Mapping[str, Records], task: str, *, level: str | None = None, resamples: int = 2000, seed: int = 0
) -> Agreement:
    """The agreement of annotators.

    A pair is compared on the records that both have, Fleiss' kappa on those that all have, alpha on all that two or
    more have. Intervals resample records, or documents where they share one: the values of one depend on each other.

    Args:
        records: Each annotator's gold records, by name.
        task: The task.
        level: Krippendorff's level; ordinal for the grades of retrieval, else nominal, if not given.
        resamples: How many resamples the bootstrap draws.
        seed: Seeds the bootstrap.
    """
    check_task(task)
    if len(records) < 2:
        raise GoldassayError("agreement needs two annotators or more")
    shared, warnings = _shared(records, task)
    figure = partial(figures.make_figure, records=shared, resamples=resamples, seed=seed)
    if task in figures.SETS:
        if level not in (None, "nominal"):
            values = "classification, linking, retrieval, answering"
            raise GoldassayError(f"a level is for values ({values}), not for {task}")
        make = figures.span_figures if task == "extraction" else figures.statement_figures
        results = make(shared, figure)
    else:
        scale = level or ("ordinal" if task == "retrieval" else "nominal")
        results = figures.value_figures(task, shared, scale, figure)
    count = len(next(iter(shared.values())))
    return Agreement(task, tuple(records), count, results, figures.disagreements(task, shared), warnings)


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
    names = [file.stem for file in files]
    if len(set(names)) < len(names):
        names = [f"{file.parent.name}/{file.stem}" for file in files]
    if len(set(names)) < len(names):
        raise GoldassayError("two files have the same name; name the annotators by their file or its folder")
    records = {name: read(file, task=task, format=format) for name, file in zip(names, files, strict=True)}
    return agree(records, task, level=level, seed=seed)


def _shared(
    records: Mapping[str, Records], task: str
) -> tuple[dict[str, list[Mapping[str, object] | None]], list[str]]:
    """The records that two annotators or more have, None if one lacks it, and warnings about the others."""
    by_id: dict[str, dict[str, Mapping[str, object]]] = {}
    for name, several in records.items():
        check_unique(several, name)
        by_id[name] = {identity(record, index): record for index, record in enumerate(several)}
    counts = Counter(key for own in by_id.values() for key in own)
    ids = [key for key, count in counts.items() if count > 1]
    if not ids:
        raise DataError(f"the annotators have no record in common: {', '.join(records)}")
    content = INPUTS[task]
    for key in ids:
        first, *others = [name for name, own in by_id.items() if key in own]
        for name in others:
            if by_id[name][key].get(content) != by_id[first][key].get(content):
                raise DataError(f"annotated on another {content} than {first}'s", file=name, record=key)
    single, partly = len(counts) - len(ids), sum(counts[key] < len(by_id) for key in ids)
    warnings = []
    if single:
        warnings.append(f"{single} record{'s' if single > 1 else ''} of one annotator alone left out")
    if partly:
        plural = "s" if partly > 1 else ""
        warnings.append(f"{partly} record{plural} not with all annotators: a pair is compared on what both have")
    return {name: [own.get(key) for key in ids] for name, own in by_id.items()}, warnings


@dataclass(frozen=True)
class Corrections:
    """How labels that began as suggestions differ from them: of each stratum how many were changed, all, and kappa."""

    agreement: Agreement
    strata: dict[str, tuple[int, int, float | None]]
    suggested_by: tuple[str, ...]

    @property
    def summary(self) -> str:
        """How many were changed, and the warning that goes with such labels."""
        changed = sum(changed for changed, _, _ in self.strata.values())
        total = sum(records for _, records, _ in self.strata.values())
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
    groups: dict[str, list[dict[str, Any]]] = {"": []}
    for record in records:
        if "suggestion" in (read_field(record, "meta", None) or {}):
            strata = read_field(record, "strata", None) or {}
            name = ", ".join(f"{key}={value}" for key, value in strata.items()) or "all"
            for each in ("", name):
                groups.setdefault(each, []).append(dict(record))  # type: ignore[call-overload]
    everything = groups.pop("")
    if not everything:
        raise GoldassayError("no record has a suggestion (meta.suggestion), as goldassay gold from-traces writes it")

    def agreed(labels: list[dict[str, Any]]) -> Agreement:
        suggestions = [{**record, **record["meta"]["suggestion"]} for record in labels]
        return agree({"suggestion": suggestions, "label": labels}, task, level=level, seed=seed)

    rows = {}
    for name, labels in groups.items():
        changed = sum({**record, **record["meta"]["suggestion"]} != record for record in labels)
        several = agreed(labels).figures
        main = next((figure for figure in several if "kappa" in figure.name), several[0])
        rows[name] = (changed, len(labels), main.value)
    makers = dict.fromkeys(name for record in everything for name in record["meta"].get("suggested_by", ()))
    return Corrections(agreed(everything), rows, tuple(makers))
