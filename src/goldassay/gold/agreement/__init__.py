"""Agreement between annotators: on spans by pairwise F1, on values by kappa and alpha, with bootstrap intervals.

>>> one = [{"id": "d", "text": "Museum", "label": "M"}, {"id": "e", "text": "Archive", "label": "A"}]
>>> two = [{"id": "d", "text": "Museum", "label": "M"}, {"id": "e", "text": "Archive", "label": "L"}]
>>> found = agree({"Ada": one, "Bo": two}, "classification")
>>> found.figure("observed").value, found.disagreements[0].said
(0.5, {'Ada': 'A', 'Bo': 'L'})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from goldassay.exceptions import DataError, GoldassayError
from goldassay.gold.agreement.coefficients import alpha, cohen_kappa, fleiss_kappa
from goldassay.gold.agreement.figures import (
    Agreement,
    Disagreement,
    Figure,
    Resampling,
    set_disagreements,
    span_figures,
    statement_figures,
    value_disagreements,
    value_figures,
)
from goldassay.gold.reading import read
from goldassay.gold.records import check_unique
from goldassay.measure import TASKS

__all__ = ["Agreement", "Disagreement", "Figure", "agree", "agree_files", "alpha", "cohen_kappa", "fleiss_kappa"]


def agree(
    given: Mapping[str, Sequence[Mapping[str, object]]],
    task: str,
    *,
    level: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Agreement:
    """The agreement of annotators: for each name the gold records that it made.

    A pair is compared on the records that both have, Fleiss' kappa on those that all have, alpha on all that two or
    more have. ``level`` is Krippendorff's: nominal, and ordinal for the grades of retrieval unless said otherwise.
    Intervals resample records, since what stands in one record hangs together.

    Args:
        given: Each annotator's records, by name.
        task: The task.
        resamples: How many resamples the bootstrap draws.
        seed: Of everything that is drawn at random.
    """
    if task not in TASKS:
        raise GoldassayError(f"no task {task!r}; the tasks are {', '.join(TASKS)}")
    if len(given) < 2:
        raise GoldassayError("agreement needs two annotators or more")
    shared, warnings = together(given, task)
    how = Resampling(resamples=resamples, seed=seed)
    names, count = tuple(given), len(next(iter(shared.values())))
    if task in ("extraction", "triples"):
        if level not in (None, "nominal"):
            raise GoldassayError(
                f"--level is for values (classification, linking, retrieval, answering), not for {task}"
            )
        figures = span_figures(shared, how) if task == "extraction" else statement_figures(shared, how)
        return Agreement(task, names, count, figures, set_disagreements(task, shared), warnings)
    scale = level or ("ordinal" if task == "retrieval" else "nominal")
    figures = value_figures(task, shared, scale, how)
    return Agreement(task, names, count, figures, value_disagreements(task, shared), warnings)


def agree_files(
    paths: Sequence[str | Path], task: str, *, format: str | None = None, level: str | None = None, seed: int = 0
) -> Agreement:
    """The same from files, one an annotator, named after the file (or its folder too, where files are named alike).

    Args:
        paths: The files.
        task: The task.
        format: The format; told by the file without one.
        level: Krippendorff's level, as in `agree`.
        seed: Of everything that is drawn at random.
    """
    files = [Path(path) for path in paths]
    names = [file.stem for file in files]
    if len(set(names)) < len(names):
        names = [f"{file.parent.name}/{file.stem}" for file in files]
    if len(set(names)) < len(names):
        raise GoldassayError("two files have the same name; name the annotators by their file or its folder")
    given = {name: read(file, task=task, format=format) for name, file in zip(names, files, strict=True)}
    return agree(given, task, level=level, seed=seed)


def together(
    given: Mapping[str, Sequence[Mapping[str, object]]], task: str
) -> tuple[dict[str, list[Mapping[str, object] | None]], list[str]]:
    """The records that two annotators or more have, None where one lacks it, and what is to be known of the others."""
    by = {}
    for name, records in given.items():
        check_unique(records, name)
        by[name] = {str(record["id"]): record for record in records}
    counts = Counter(key for records in by.values() for key in records)
    ids = [key for key, count in counts.items() if count > 1]
    if not ids:
        raise DataError(f"the annotators have no record in common: {', '.join(given)}")
    content = {"retrieval": "query", "answering": "question"}.get(task, "text")
    for key in ids:
        first, *others = [name for name, records in by.items() if key in records]
        for name in others:
            if by[name][key].get(content) != by[first][key].get(content):
                raise DataError(f"annotated on another {content} than {first}'s", file=name, record=key)
    alone, some = len(counts) - len(ids), sum(counts[key] < len(by) for key in ids)
    warnings = [f"{alone} record{'s' if alone > 1 else ''} of one annotator alone left out"] if alone else []
    if some:
        warnings.append(
            f"{some} record{'s' if some > 1 else ''} not with all annotators: a pair is compared on what both have"
        )
    return {name: [records.get(key) for key in ids] for name, records in by.items()}, warnings
