"""Agreement of annotators' records or files: which records are compared, and the warnings about the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import check_unique, identity
from goldassay.gold.agreement.results import Agreement
from goldassay.gold.agreement.study import SETS, Records, Study, statements
from goldassay.gold.reading import read
from goldassay.gold.records import INPUTS, adapter


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

    Raises:
        GoldassayError: One annotator alone, or a level where it has no meaning.
        DataError: The task does not exist, or the records cannot be compared.
    """
    adapter(task)
    if len(records) < 2:
        raise GoldassayError("agreement needs two annotators or more")
    if task in SETS and level not in (None, "nominal"):
        raise GoldassayError(f"a level is for values (classification, linking, retrieval, answering), not for {task}")
    rows, warnings = _shared(records, task)
    study = Study(tuple(records), rows, {"resamples": resamples, "seed": seed})
    if task == "extraction":
        study.compare_spans()
    elif task in SETS:
        readings = study.read(lambda record: set(statements(record)))
        for pair in combinations(study.names, 2):
            study.add_sets("field_f1" if task == "records" else "triple_f1", pair, study.among(readings, pair))
    else:
        study.compare_values(task, level or ("ordinal" if task == "retrieval" else "nominal"))
    return Agreement(task, study.names, len(rows), study.figures, study.disagreements(task), warnings)


def agree_files(
    paths: Sequence[str | Path], task: str, *, format: str | None = None, level: str | None = None, seed: int = 0
) -> Agreement:
    """The same from files, one an annotator, named after the file (and its folder, if files have the same name).

    One file alone is a corrected draft: its labels are compared with the suggestions that they began as
    (``meta.suggestion``), and a warning says how many were changed.

    Args:
        paths: The files.
        task: The task.
        format: The format; guessed if not given.
        level: Krippendorff's level, as in `agree`.
        seed: Seeds the bootstrap.

    Raises:
        GoldassayError: Two files have the same name, or agreement cannot be measured.
        DataError: A file cannot be read, or a single one has no suggestions.
    """
    files = [Path(path) for path in paths]
    if len(files) == 1:
        rows = read(files[0], task=task, format=format)
        drafts = [record for record in rows if "suggestion" in (record.get("meta") or {})]
        if not drafts:
            raise DataError(
                "no record has a suggestion (meta.suggestion), as gold from-traces writes it", file=files[0]
            )
        suggested = [{**record, **record["meta"]["suggestion"]} for record in drafts]
        changed = sum(before != after for before, after in zip(suggested, drafts, strict=True))
        makers = dict.fromkeys(name for record in drafts for name in record["meta"].get("suggested_by", ()))
        favoured = ", ".join(makers) or "the system that made them"
        warning = (
            f"{changed} of {len(drafts)} suggestions were changed ({changed / len(drafts):.0%}). Labels made from "
            f"suggestions favour {favoured}: people overlook errors in what they are shown. Label some records without "
            "suggestions"
        )
        agreement = agree({"suggestion": suggested, "label": drafts}, task, level=level, seed=seed)
        return replace(agreement, warnings=[*agreement.warnings, warning])
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
    single = len(counts) - len(rows)
    partly = sum(None in row for row in rows.values())
    warnings = []
    if single:
        warnings.append(f"{single} record{'s' if single > 1 else ''} of one annotator alone left out")
    if partly:
        plural = "s" if partly > 1 else ""
        warnings.append(f"{partly} record{plural} not with all annotators: a pair is compared on what both have")
    return list(rows.values()), warnings
