"""What an optimizer left to read, in one form: candidates with their scores on the same examples.

==================================  ==================================================================================
BootstrapFewShotWithRandomSearch    ``program.candidate_programs``: ``subscores`` of each; seed −3 is the program before
GEPA (``track_stats=True``)         ``program.detailed_results``, also as its ``to_dict()`` in a JSON file
MIPROv2, COPRO, SIMBA               ``program.candidate_programs``: a score for each candidate, none for each example
``dspy.Evaluate``                   results, or their JSON or CSV, one for each program, the baseline first
any tool                            a CSV with the columns ``example,candidate,score`` and perhaps ``parent,document``
==================================  ==================================================================================

``program.save`` drops these attributes; `save` writes them. Runs of goldassay are read in `goldassay.tuning.audit`,
with the evidence of their metric. Pickles are not read: they can run code.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import dspy
import numpy as np
from pydantic import BaseModel, Field, ValidationError

from goldassay import files
from goldassay._dspy_compat import serialize_for_json
from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import clusters, identity
from goldassay.gold.formats.tables import table
from goldassay.running.leaks import text_of
from goldassay.statistics.evidence import Floats
from goldassay.tuning.audit.verdict import FRESH, Selected

FORMAT = "goldassay.audit"
BASELINES = ("baseline", "base", "before", "zero-shot", "zero_shot")
PICKLES = (".bin", ".pkl", ".pickle", ".joblib")
SUFFIXES = (".json", ".csv", ".tsv", *PICKLES)
FORMS = (
    "a file of goldassay.audit.save, GEPA's to_dict(), dspy.Evaluate's JSON or CSV, or a CSV example,candidate,score"
)


Score = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]


class Candidate(BaseModel):
    """A candidate: its scores by example (None for one that failed), or its score alone; the candidates it was made
    from, if it was made from others than the baseline."""

    name: str
    score: Score | None = None
    scores: dict[str, Score | None] | None = None
    parents: list[str] = []


class Result(BaseModel):
    """An optimizer's result. ``chosen`` is the candidate it returns, ``documents`` and ``texts`` belong to examples by
    id, and ``state`` is the chosen program's as DSPy writes it. ``repeats`` counts the scores that were averaged."""

    source: str
    candidates: list[Candidate]
    baseline: str | None = None
    chosen: str | None = None
    one_pair: bool = False
    documents: dict[str, str] = {}
    texts: dict[str, str] = {}
    state: dict[str, Any] | None = None
    repeats: int = 0
    format: str = FORMAT

    def ordered(self, baseline: str | None = None) -> list[Candidate]:
        """The candidates that were scored on all examples of the baseline, which comes first."""
        name = baseline or self.baseline
        names = {candidate.name: candidate for candidate in self.candidates}
        if name not in names:
            listed = ", ".join(list(names)[:8])
            raise GoldassayError(
                f"name the baseline, which is one of the candidates {listed}" + f"; {name!r} is not" * bool(name)
            )
        first = names.pop(name)
        ids = set(first.scores or ())
        complete = [candidate for candidate in names.values() if set(candidate.scores or ()) >= ids]
        if not ids or not complete:
            raise GoldassayError(f"{self.source}: no candidate was scored on the examples of {name}")
        return [first, *complete]

    def selection(self, baseline: str) -> Selected:
        """Whether candidates were drawn without a look at these scores, or bred from the best of them."""
        if self.one_pair:
            return "none"
        bred = any(parent != baseline for candidate in self.candidates for parent in candidate.parents)
        return "bred" if bred else "independent"


def matrix(candidates: Sequence[Candidate]) -> tuple[list[str], Floats]:
    """The ids of the examples and the scores, a column a candidate; NaN for an example that failed."""
    ids = list(candidates[0].scores or ())
    columns = [[(candidate.scores or {})[key] for key in ids] for candidate in candidates]
    return ids, np.array(columns, dtype=float).T


def from_program(program: Any) -> Result:
    """What an optimizer attached to the program that it returns."""
    state = serialize_for_json(program.dump_state()) if isinstance(program, dspy.Module) else None
    details = getattr(program, "detailed_results", program)
    if hasattr(details, "val_subscores"):
        return _gepa(vars(details), details.best_idx, state)
    rows = getattr(program, "candidate_programs", None)
    if not rows:
        raise GoldassayError(
            "this program has nothing to audit: candidate_programs or detailed_results (GEPA with track_stats=True) is "
            "what an optimizer leaves, and program.save drops it; audit the program that compile() returned"
        )
    if "subscores" not in rows[0]:
        return _aggregates(program, rows, state)
    candidates = [
        Candidate(name=_seed(row), scores={str(i): number(score) for i, score in enumerate(row["subscores"])})
        for row in rows
    ]
    source = "BootstrapFewShotWithRandomSearch"
    return Result(source=source, candidates=candidates, baseline="seed -3", chosen=_seed(rows[0]), state=state)


def _seed(row: Mapping[str, Any]) -> str:
    return f"seed {row['seed']}"


def _gepa(details: Mapping[str, Any], best: object, state: dict[str, Any] | None) -> Result:
    """GEPA's results; before 3.1 the scores of a candidate are a list."""
    candidates = []
    for index, (scores, parents) in enumerate(zip(details["val_subscores"], details["parents"], strict=True)):
        pairs = scores.items() if isinstance(scores, Mapping) else enumerate(scores)
        names = [str(parent) for parent in parents if parent is not None]
        by_id: dict[str, float | None] = {str(key): number(score) for key, score in pairs}
        candidates.append(Candidate(name=str(index), scores=by_id, parents=names))
    return Result(source="GEPA", candidates=candidates, baseline="0", chosen=str(best), state=state)


def _aggregates(program: Any, rows: Sequence[Mapping[str, Any]], state: dict[str, Any] | None) -> Result:
    """Optimizers that leave no scores of examples; the score of the program before, if they leave it."""
    source = "SIMBA" if hasattr(program, "trial_logs") else "an optimizer without scores of examples"
    if hasattr(program, "mb_candidate_programs"):
        source, rows = "MIPROv2", [*rows, *program.mb_candidate_programs]
    elif "instruction" in rows[0]:
        source = "COPRO"
    scale = 1.0 if source == "SIMBA" else 100.0
    totals = [number(row["score"]) / scale for row in rows if row.get("score") is not None]
    candidates = [Candidate(name=str(index), score=total) for index, total in enumerate(totals)]
    before = getattr(program, "trial_logs", {}).get(1, {}).get("full_eval_score")
    if before is not None:
        candidates.append(Candidate(name="before", score=float(before) / scale))
    return Result(source=source, candidates=candidates, baseline="before", chosen="0", state=state)


def number(score: Any) -> float:
    """A score as a plain number, whatever a metric returns."""
    value = getattr(score, "score", score)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise GoldassayError(f"a score is {value!r}, which is no number") from None


def from_evaluations(evaluations: Sequence[Any], names: Sequence[str]) -> Result:
    """``dspy.EvaluationResult`` objects on the same examples, the baseline first.

    A prediction without fields is one whose program raised.
    """
    tables = [
        [
            (example.toDict(), text_of(example), None if not len(prediction) else number(score))
            for example, prediction, score in evaluation.results
        ]
        for evaluation in evaluations
    ]
    return _aligned(tables, names)


def _aligned(tables: Sequence[Sequence[tuple[dict[str, Any], str, float | None]]], names: Sequence[str]) -> Result:
    """Tables of (fields, text, score) whose rows are the same examples in the same order."""
    first = tables[0]
    keys = [identity(fields, text) for fields, text, _ in first]
    for name, rows in zip(names, tables, strict=True):
        other = [identity(fields, text) for fields, text, _ in rows]
        if other != keys:
            place = next(
                (i for i, pair in enumerate(zip(keys, other, strict=False)) if len(set(pair)) > 1),
                min(len(keys), len(other)),
            )
            raise GoldassayError(f"{name} is not on the examples of {names[0]}: they differ at row {place + 1}")
    groups = clusters([fields for fields, _, _ in first])
    scored = [
        (name, key, row[2])
        for name, rows in zip(names, tables, strict=True)
        for key, row in zip(keys, rows, strict=True)
    ]
    result = _gathered("dspy.Evaluate", scored, names)
    result.texts = {key: row[1] for key, row in zip(keys, first, strict=True)}
    result.documents = {key: group for key, group in zip(keys, groups or (), strict=False) if isinstance(group, str)}
    result.baseline, result.one_pair = names[0], len(names) == 2
    return result


def _gathered(source: str, scored: Iterable[tuple[str, str, float | None]], names: Iterable[str]) -> Result:
    """Candidates from (candidate, example, score); an example that was scored repeatedly counts once, by its mean."""
    cells: dict[str, dict[str, list[float | None]]] = {name: {} for name in names}
    for name, key, score in scored:
        cells[name].setdefault(key, []).append(score)
    repeats = sum(len(scores) - 1 for row in cells.values() for scores in row.values())
    candidates = [
        Candidate(name=name, scores={key: _mean(scores) for key, scores in row.items()}) for name, row in cells.items()
    ]
    return Result(source=source, candidates=candidates, repeats=repeats)


def _mean(scores: Sequence[float | None]) -> float | None:
    numbers = [score for score in scores if score is not None]
    return float(np.mean(numbers)) if numbers else None


def read(paths: Sequence[Path]) -> Result:
    """One file of an optimizer's result, or files of ``dspy.Evaluate``, the baseline first."""
    contents = [_content(path) for path in paths]
    for path, content in zip(paths, contents, strict=True):
        if isinstance(content, dict) and not {"val_subscores", "format"} & set(content):
            hint = f"; a saved program has no scores, so run it: {FRESH}" * ("metadata" in content)
            raise DataError(f"not the result of an optimizer{hint}; an audit reads {FORMS}", file=path)
    if len(contents) > 1 or (isinstance(contents[0], list) and "candidate" not in contents[0][0]):
        if len(contents) < 2 or not all(isinstance(content, list) for content in contents):
            raise DataError(
                "to audit results of dspy.Evaluate, name two or more files, the baseline first", file=paths[0]
            )
        return _evaluate_files(contents, [str(path) for path in paths], paths)
    content, path = contents[0], paths[0]
    try:
        if isinstance(content, list):
            return _long(content, path)
        if "val_subscores" in content:
            best = content.get("best_idx")
            totals = content["val_aggregate_scores"]
            return _gepa(content, totals.index(max(totals)) if best is None else best, None)
        if content.get("format") == FORMAT:
            return Result.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        raise DataError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}", file=path) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"not a complete result of an optimizer: {type(error).__name__}: {error}", file=path) from None
    raise DataError(f"not the result of an optimizer; an audit reads {FORMS}", file=path)


def _content(path: Path) -> Any:
    """A JSON object, or the rows of a table."""
    if path.suffix.lower() in PICKLES:
        raise DataError(
            "a pickle can run code and is not read; goldassay.audit.save(program, FILE) writes one that is",
            file=path,
        )
    if path.suffix.lower() in (".csv", ".tsv"):
        header, lines = table(path, quoted=True)
        content: Any = [dict(zip(header, cells, strict=True)) for _, cells in lines]
    else:
        content = files.json_value(path)
    if not (isinstance(content, dict) or (isinstance(content, list) and all(isinstance(row, dict) for row in content))):
        raise DataError(f"not the result of an optimizer; an audit reads {FORMS}", file=path)
    if not content:
        raise DataError("there are no scores in it; a table has the columns example, candidate, score", file=path)
    return content


def _long(rows: Sequence[Mapping[str, str]], path: Path) -> Result:
    """A table with a row for each score; an empty score is that of an example that failed."""
    if missing := {"example", "candidate", "score"} - set(rows[0]):
        raise DataError(f"the table has no column {min(missing)}; it needs example,candidate,score", file=path)
    names = list(dict.fromkeys(row["candidate"] for row in rows))
    scored = [(row["candidate"], row["example"], _cell(row["score"], path, at)) for at, row in enumerate(rows, 1)]
    result = _gathered("a table", scored, names)
    result.documents = {row["example"]: row["document"] for row in rows if row.get("document")}
    parents = {row["candidate"]: row["parent"] for row in rows if row.get("parent")}
    for candidate in result.candidates:
        candidate.parents = [parents[candidate.name]] if candidate.name in parents else []
    result.baseline = next((name for name in BASELINES if name in names), None)
    return result


def _evaluate_files(tables: Sequence[Sequence[dict[str, Any]]], names: Sequence[str], paths: Sequence[Path]) -> Result:
    """Files that ``dspy.Evaluate`` saved: the score stands last; what all files agree on is the example."""
    sizes = Counter(map(len, tables))
    if len(sizes) > 1:
        raise DataError(
            f"the files have {', '.join(map(str, map(len, tables)))} rows: not the same examples", file=paths[0]
        )
    score = list(tables[0][0])[-1]
    shared = [
        name
        for name in tables[0][0]
        if name != score and all(len({str(row.get(name)) for row in rows}) == 1 for rows in zip(*tables, strict=True))
    ]
    if not shared:
        raise DataError("the files have no field in common: not the same examples", file=paths[1])
    parts = []
    for path, rows in zip(paths, tables, strict=True):
        part, width = [], max(map(len, rows))  # a program that raised left no fields
        for at, row in enumerate(rows, 1):
            fields = {name: row.get(name) for name in shared}
            value = _cell(row.get(list(row)[-1]), path, at)
            part.append(
                (fields, " ".join(str(value) for value in fields.values()), value if len(row) == width else None)
            )
        parts.append(part)
    return _aligned(parts, names)


def _cell(value: object, path: Path, at: int) -> float | None:
    """A score in a file; Python's words for true and false are numbers."""
    text = {"True": "1", "False": "0"}.get(str(value), str(value)).strip()
    if value is None or not text:
        return None
    try:
        score = float(text)
        if not np.isfinite(score):
            raise ValueError
    except ValueError:
        raise DataError(f"the score of row {at} is {str(value)[:60]!r}, which is no number", file=path) from None
    return score


def save(program: Any, file: Path | str) -> Path:
    """Write what an optimizer attached to a program, which ``program.save`` drops, as JSON without code.

    Args:
        program: What ``compile`` returned, or GEPA's ``detailed_results``.
        file: The file to write; ``goldassay audit FILE`` reads it.
    """
    place = Path(file)
    content = from_program(program).model_dump(exclude_defaults=True) | {"format": FORMAT}
    files.save(place, json.dumps(content, ensure_ascii=False, indent=1) + "\n")
    return place
