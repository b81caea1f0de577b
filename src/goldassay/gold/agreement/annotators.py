"""Agreement of annotators' records or files: which records are compared, and the warnings about the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, product
from pathlib import Path
from typing import Any, Unpack

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import Fields, Record, check_unique, identity
from goldassay.core.measure import TASKS
from goldassay.core.shape import ProgramShape, shape_of_task
from goldassay.gold.agreement.results import Agreement, Disagreement, Figure
from goldassay.gold.agreement.study import SETS, Records, Study, statements
from goldassay.gold.anyfields import ABOUT_RECORD
from goldassay.gold.formats import ReadOptions
from goldassay.gold.outputs import as_text, canonical_output
from goldassay.gold.reading import read
from goldassay.gold.records import INPUT_FIELDS, adapter, as_gold, as_prediction, problems

OF_SETS = {"triples": "triple_f1", "records": "field_f1", "trajectories": "call_f1"}
"""The name of F1 between two annotators."""


def agree(
    records: Mapping[str, Records], task: str, *, level: str | None = None, resamples: int = 2000, seed: int = 0
) -> Agreement:
    """The agreement of annotators.

    A pair is compared on the records that both have, Fleiss' kappa on those that all have, alpha on all that two or
    more have. Intervals resample records, or documents where they share one: the values of one depend on each other.

    Args:
        records: Each annotator's gold records, by name.
        task: The task; of one of your own each field of the answer is compared as labels are, and its program
            (``programs/TASK.py``) says which these are.
        level: Krippendorff's level of values; ordinal for the grades of retrieval, else nominal, if not given.
        resamples: How many resamples the bootstrap draws.
        seed: Seeds the bootstrap.

    Raises:
        GoldassayError: One annotator alone, or a level where it has no meaning.
        DataError: The task does not exist, or the records cannot be compared.
    """
    shape = None if task in TASKS else shape_of_task(task)
    if shape is None:
        adapter(task)
    if len(records) < 2:
        raise GoldassayError("agreement needs two annotators or more")
    if task in SETS and level not in (None, "nominal"):
        raise GoldassayError(f"a level is for values (classification, linking, retrieval, answering), not for {task}")
    rows, warnings = _shared(records, shape.asked if shape else [INPUT_FIELDS[task]])
    draws = {"resamples": resamples, "seed": seed}
    if shape:
        figures, disagreements = _by_field(task, tuple(records), rows, shape, level or "nominal", draws)
        return Agreement(task, tuple(records), len(rows), figures, disagreements, warnings)
    study = Study(tuple(records), rows, draws)
    if task == "extraction":
        study.compare_spans()
    elif task in SETS:
        readings = study.read(lambda record: set(statements(record)))
        for pair in combinations(study.names, 2):
            study.add_sets(OF_SETS[task], pair, study.among(readings, pair))
    else:
        study.compare_values(task, level or ("ordinal" if task == "retrieval" else "nominal"))
    return Agreement(task, study.names, len(rows), study.figures, study.disagreements(task), warnings)


def _by_field(
    task: str, names: tuple[str, ...], rows: Sequence[Sequence[Any]], shape: ProgramShape, level: str, draws: Record
) -> tuple[list[Figure], list[Disagreement]]:
    """The agreement on each field of the answer of a user's task, as on labels; a figure's type has the field's name.

    Raises:
        DataError: No record has an answer.
    """
    beside = (*ABOUT_RECORD, *shape.asked)
    given = dict.fromkeys(name for row in rows for record in row for name in record or () if name not in beside)
    figures: list[Figure] = []
    disagreements: list[Disagreement] = []
    if not given:
        raise DataError(f"no record has an answer of {task}, beside {', '.join(shape.asked)}")
    for field in shape.scored(given):
        labelled = [[record and {**record, "label": _label(record.get(field))} for record in row] for row in rows]
        study = Study(names, labelled, draws)
        study.compare_values("classification", level)
        for figure in study.figures:
            figures.append(replace(figure, type=field if figure.type is None else f"{field}: {figure.type}"))
        disagreements += [replace(item, where=field) for item in study.disagreements("classification")]
    return figures, disagreements


def _label(value: object) -> object:
    """A value of any type as a label."""
    return value if value is None or isinstance(value, (str, bool, int, float)) else as_text(value)


def agree_files(
    paths: Sequence[str | Path],
    task: str,
    *,
    format: str | None = None,
    level: str | None = None,
    seed: int = 0,
    **options: Unpack[ReadOptions],
) -> Agreement:
    """The same from files, one an annotator, named after the file (and its folder, if files have the same name).

    One file alone is a labelled draft: its labels are compared with the ``suggestions`` of each system, and a warning
    says how many differ from all of them.

    Args:
        paths: The files.
        task: The task.
        format: The format; guessed if not given.
        level: Krippendorff's level, as in `agree`.
        seed: Seeds the bootstrap.
        **options: How a foreign file is read, as in `goldassay.gold.load`: ``map={"label": "team"}``.

    Raises:
        GoldassayError: Two files have the same name, or agreement cannot be measured.
        DataError: A file cannot be read, or a single one has no suggestions.
    """
    files = [Path(path) for path in paths]
    if len(files) == 1:
        return _with_suggestions(files[0], read(files[0], task=task, format=format, **options), task, level, seed)
    for names in ([file.stem for file in files], [f"{file.parent.name}/{file.stem}" for file in files]):
        if len(set(names)) == len(names):
            read_all = [read(file, task=task, format=format, **options) for file in files]
            records = dict(zip(names, read_all, strict=True))
            return agree(records, task, level=level, seed=seed)
    raise GoldassayError("two files have the same name; name the annotators by their file or its folder")


def _with_suggestions(file: Path, rows: Records, task: str, level: str | None, seed: int) -> Agreement:
    """The agreement of a draft's labels with what each system had suggested, and a warning about their influence.

    Raises:
        DataError: No record has suggestions, or one is not an answer of the task.
    """
    drafts = [record for record in rows if record.get("suggestions")]
    if not drafts:
        raise DataError("no record has suggestions, as gold draft writes them", file=file)
    suggested: dict[str, list[Fields]] = {}
    unchanged = 0
    for record in drafts:
        label = canonical_output(as_prediction(record, task), task)
        answers = {name: {**record, **as_gold(answer, task)} for name, answer in record["suggestions"].items()}
        for name, answer in answers.items():
            checked = problems(answer, task, extra="ignore") if task in TASKS else answer
            if isinstance(checked, list):
                field = f"suggestions.{name}.{checked[0].field}"
                raise DataError(checked[0].what, file=file, record=record["id"], field=field)
            suggested.setdefault(name, []).append(answer)
        unchanged += any(canonical_output(as_prediction(answer, task), task) == label for answer in answers.values())
    changed = len(drafts) - unchanged
    warning = (
        f"{changed} of {len(drafts)} labels differ from every suggestion ({changed / len(drafts):.0%}). Labels made "
        f"from suggestions favour {', '.join(suggested)}: people overlook errors in what they are shown. Label some "
        "records without suggestions"
    )
    agreement = agree({**suggested, "label": drafts}, task, level=level, seed=seed)
    return replace(agreement, warnings=[*agreement.warnings, warning])


def _shared(records: Mapping[str, Records], inputs: Sequence[str]) -> tuple[list[list[Any]], list[str]]:
    """The records that two annotators or more have, a row each, None if one lacks it; and warnings about the others.

    An annotator who has other ``inputs`` than another annotated something else; one may have none of them.
    """
    for name, rows_of_name in records.items():
        check_unique(rows_of_name, name)
    by_id = [{identity(record, index): record for index, record in enumerate(by_key)} for by_key in records.values()]
    counts = Counter(key for by_key in by_id for key in by_key)
    rows = {key: [by_key.get(key) for by_key in by_id] for key, count in counts.items() if count > 1}
    if not rows:
        raise DataError(f"the annotators have no record in common: {', '.join(records)}")
    for key, field in product(rows, inputs):
        row = rows[key]
        pairs = zip(records, row, strict=True)
        contents = {name: record[field] for name, record in pairs if record and field in record}
        first = next(iter(contents), "")
        for name, content in contents.items():
            if content != contents[first]:
                raise DataError(f"annotated on another {field} than {first}'s", file=name, record=key)
        if contents:  # a file of labels alone is about the text that another file has
            rows[key] = [record and {field: contents[first], **record} for record in row]
    single = len(counts) - len(rows)
    partly = sum(None in row for row in rows.values())
    warnings = []
    if single:
        warnings.append(f"{single} record{'s' if single > 1 else ''} of one annotator alone left out")
    if partly:
        plural = "s" if partly > 1 else ""
        warnings.append(f"{partly} record{plural} not with all annotators: a pair is compared on what both have")
    return list(rows.values()), warnings
