"""What an optimizer left to read, in one form: candidates with their scores on the same examples.

==================================  ==================================================================================
BootstrapFewShotWithRandomSearch    ``program.candidate_programs``: ``subscores`` of each; seed −3 is the program before
GEPA (``track_stats=True``)         ``program.detailed_results``, also as its ``to_dict()`` in a JSON file
MIPROv2, COPRO, SIMBA               ``program.candidate_programs``: a score for each candidate, none for each example
any tool                            a CSV with the columns ``example,candidate,score`` and perhaps ``parent,document``
==================================  ==================================================================================

``program.save`` drops these attributes; `save` writes them. Pickles are not read: they can run code. Runs of goldassay,
results of ``dspy.Evaluate`` and logs of other tools are runs (`goldassay.running.logs`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import dspy
import numpy as np
from pydantic import BaseModel, Field

from goldassay import files
from goldassay._dspy_compat import serialize_for_json
from goldassay.exceptions import DataError, GoldassayError
from goldassay.running.logs.dspy import rows_of_table
from goldassay.running.logs.system import number
from goldassay.tuning.audit.verdict import FRESH

FORMAT = "goldassay.audit"
BASELINES = ("baseline", "base", "before", "zero-shot", "zero_shot")
PICKLES = (".bin", ".pkl", ".pickle", ".joblib")
SUFFIXES = (".json", ".csv", ".tsv", *PICKLES)
Score = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]


class Candidate(BaseModel):
    """A candidate: its scores by example (None for one that failed), or its score alone; the candidates it was made
    from, if it was made from others than the baseline."""

    name: str
    score: Score | None = None
    scores: dict[str, Score | None] = {}
    parents: list[str] = []


class Result(BaseModel):
    """An optimizer's result. ``chosen`` is the candidate it returns, ``documents`` and ``texts`` belong to examples by
    id, and ``state`` is the chosen program's as DSPy writes it. ``repeats`` counts the scores that were averaged."""

    source: str
    candidates: list[Candidate]
    baseline: str | None = None
    chosen: str | None = None
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
            raise GoldassayError(f"name the baseline, one of the candidates {', '.join(list(names)[:8])}; not {name!r}")
        first = names.pop(name)
        complete = [candidate for candidate in names.values() if candidate.scores.keys() >= first.scores.keys()]
        if not first.scores or not complete:
            raise GoldassayError(f"{self.source}: no candidate was scored on the examples of {name}")
        return [first, *complete]


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
    candidates = [Candidate(name=f"seed {row['seed']}", scores=_by_example(row["subscores"])) for row in rows]
    source, chosen = "BootstrapFewShotWithRandomSearch", candidates[0].name
    return Result(source=source, candidates=candidates, baseline="seed -3", chosen=chosen, state=state)


def _by_example(scores: Mapping[Any, Any] | Sequence[Any]) -> dict[str, float | None]:
    """The scores of a candidate, whatever a metric returns; a list is in the order of the examples."""
    pairs = scores.items() if isinstance(scores, Mapping) else enumerate(scores)
    return {str(key): float(getattr(score, "score", score)) for key, score in pairs}


def _gepa(details: Mapping[str, Any], best: object, state: dict[str, Any] | None = None) -> Result:
    """GEPA's results; before 3.1 the scores of a candidate are a list."""
    candidates = [
        Candidate(name=str(at), scores=_by_example(scores), parents=[str(p) for p in parents if p is not None])
        for at, (scores, parents) in enumerate(zip(details["val_subscores"], details["parents"], strict=True))
    ]
    return Result(source="GEPA", candidates=candidates, baseline="0", chosen=str(best), state=state)


def _aggregates(program: Any, rows: Sequence[Mapping[str, Any]], state: dict[str, Any] | None) -> Result:
    """Optimizers that leave no scores of examples; the score of the program before, if they leave it."""
    source, scale = "an optimizer without scores of examples", 100
    if hasattr(program, "mb_candidate_programs"):
        source, rows = "MIPROv2", [*rows, *program.mb_candidate_programs]
    elif "instruction" in rows[0]:
        source = "COPRO"
    elif hasattr(program, "trial_logs"):
        source, scale = "SIMBA", 1
    totals = {str(at): row.get("score") for at, row in enumerate(rows)}
    totals["before"] = getattr(program, "trial_logs", {}).get(1, {}).get("full_eval_score")
    candidates = [Candidate(name=name, score=float(s) / scale) for name, s in totals.items() if s is not None]
    return Result(source=source, candidates=candidates, baseline="before", chosen="0", state=state)


def read(path: Path) -> Result:
    """A file of an optimizer's result."""
    if path.suffix.lower() in PICKLES:
        message = "a pickle can run code and is not read; goldassay.audit.save(program, FILE) writes one that is"
        raise DataError(message, file=path)
    content = rows_of_table(path) if path.suffix.lower() in (".csv", ".tsv") else files.json_value(path)
    if content in ([], {}):
        raise DataError("there are no scores in it; a table has the columns example, candidate, score", file=path)
    try:
        if isinstance(content, list):
            return _long(content)
        if content.get("format") == FORMAT:
            return Result.model_validate(content)
        if "metadata" in content:
            raise DataError(f"a saved program has no scores, so run it: {FRESH}", file=path)
        best, totals = content.get("best_idx"), content["val_aggregate_scores"]
        return _gepa(content, totals.index(max(totals)) if best is None else best)
    except DataError as error:
        raise error.at(file=path) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = " ".join(str(error).split()[:40])
        raise DataError(f"not the result of an optimizer: {type(error).__name__}: {why}", file=path) from None


def _long(rows: Sequence[Mapping[str, Any]]) -> Result:
    """A table with a row for each score; an empty one is that of an example that failed, repeated ones are averaged."""
    if missing := {"example", "candidate", "score"} - set(rows[0]):
        raise DataError(f"the table has no column {min(missing)}; it needs example,candidate,score")
    cells: dict[str, dict[str, list[float]]] = {}
    for at, row in enumerate(rows, 1):
        score = number(row["score"])
        if score is None and str(row["score"] or "").strip():
            raise DataError(f"the score of row {at} is {row['score'][:60]!r}, which is no number")
        cells.setdefault(row["candidate"], {}).setdefault(row["example"], []).extend([] if score is None else [score])
    parents = {row["candidate"]: [row["parent"]] for row in rows if row.get("parent")}
    candidates = []
    for name, by_example in cells.items():
        means = {key: float(np.mean(scores)) if scores else None for key, scores in by_example.items()}
        candidates.append(Candidate(name=name, scores=means, parents=parents.get(name, [])))
    return Result(
        source="a table",
        candidates=candidates,
        baseline=next((name for name in cells if name in BASELINES), None),
        documents={row["example"]: row["document"] for row in rows if row.get("document")},
        repeats=len(rows) - sum(map(len, cells.values())),
    )


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
