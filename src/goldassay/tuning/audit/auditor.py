"""`goldassay.audit`: a verdict on whatever an optimizer left behind, without a call of a model."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from goldassay.exceptions import GoldassayError
from goldassay.fields import clusters
from goldassay.running import Run
from goldassay.running.folder import run_at
from goldassay.running.logs import read_log, split_name
from goldassay.statistics import compare
from goldassay.tuning.audit import artefacts, results
from goldassay.tuning.audit.results import Result
from goldassay.tuning.audit.runs import of_runs
from goldassay.tuning.audit.verdict import FRESH, MARGIN, UNKNOWN, Audit, Selected, judge, of_comparison
from goldassay.tuning.saved import Tuned, read_about
from goldassay.tuning.states import ABOUT

LUCK_SIZES = (30, 100, 300)


class _Auditor:
    """`goldassay.audit`: call it with a result; ``save`` writes one that ``program.save`` would drop."""

    __name__ = "audit"

    def __call__(
        self,
        result: Any,
        *more: Any,
        gold: Sequence[Any] = (),
        train: Sequence[Any] = (),
        baseline: str | None = None,
        margin: float = MARGIN,
    ) -> Audit:
        """Whether an optimizer helped, from what it left and without a call of a model.

        Args:
            result: The program that ``compile`` returned (BootstrapFewShotWithRandomSearch; GEPA with
                ``track_stats=True``), GEPA's ``detailed_results``, a `Tuned` or its folder, or a file: of
                ``goldassay.audit.save``, of GEPA's ``to_dict()``, or a CSV with the columns ``example``, ``candidate``,
                ``score`` and perhaps ``parent`` and ``document``.
            more: With results of ``dspy.Evaluate`` (or their files), runs (or their folders) or logs of other tools:
                those of other programs on the same examples; the first is the baseline.
            gold: The validation examples, in order or with the ids of the scores: for leaks and documents.
            train: The training examples, for leaks.
            baseline: The name of the baseline, if the result does not say it.
            margin: The largest difference that does not matter.

        >>> import dspy, random
        >>> def evaluation(share):
        ...     rng, example = random.Random(share), dspy.Example(q="?").with_inputs("q")
        ...     rows = [(example.copy(q=str(i)), dspy.Prediction(a=""), rng.random() < share) for i in range(80)]
        ...     return dspy.Prediction(score=100 * share, results=rows)
        >>> result = audit(evaluation(0.3), evaluation(0.8))
        >>> result.verdict, result.selection, result.gain == result.naive_gain
        ('helped', 'none', True)
        """
        opened = [_opened(item) for item in (result, *more)]
        items = [item for each in opened for item in (each if isinstance(each, list) else [each])]
        if all(isinstance(item, Run) for item in items):
            return of_runs(items, margin=margin)
        if len(items) == 1 and isinstance(items[0], Audit):
            return items[0]
        if all(isinstance(item, Path) for item in items):
            source = results.read(items)
        elif all(hasattr(item, "results") for item in items):
            names = (
                ["before", "after"]
                if len(items) == 2
                else ["before", *(f"candidate {i}" for i in range(1, len(items)))]
            )
            if len(items) < 2:
                raise GoldassayError("to audit results of dspy.Evaluate, give two or more, the baseline first")
            source = results.from_evaluations(items, names)
        elif len(items) == 1:
            source = results.from_program(items[0])
        else:
            raise GoldassayError("several results are runs, results of dspy.Evaluate, or files of one of these")
        return _of_result(source, gold, train, baseline, margin)

    def save(self, program: Any, file: Path | str) -> Path:
        """Write what an optimizer attached to a program, which ``program.save`` drops, as JSON without code.

        Args:
            program: What ``compile`` returned, or GEPA's ``detailed_results``.
            file: The file to write; ``goldassay audit FILE`` reads it.
        """
        return results.save(program, file)


audit = _Auditor()
"""Whether an optimizer helped: ``audit(result)``; ``audit.save(program, FILE)`` keeps what ``program.save`` drops."""


def _opened(item: Any) -> Any:
    """A run or a tuning from its folder; what is in memory, and other files, as they are."""
    if isinstance(item, Tuned):
        return item.audit
    if not isinstance(item, (str, Path)):
        return item
    path = Path(item)
    if split_name(path)[0].is_file() and path.suffix.lower() not in results.PICKLES:
        logged = read_log(path)
        return path if not logged or logged[0].about["settings"]["log"] == "dspy.Evaluate" else logged
    if path.suffix in results.SUFFIXES:
        return path
    folder = run_at(path)
    return of_tuning(folder) if (folder / ABOUT).is_file() else Run.load(folder)


def of_tuning(folder: Path, margin: float = MARGIN) -> Audit:
    """The verdict on a folder of `goldassay.tune`: on test if there was one, else on dev, which chose."""
    tuning = read_about(folder / ABOUT)
    part = tuning.get("test") or tuning.get("dev") or {}
    names = part.get("runs") or ()
    if len(names) != 2:
        raise GoldassayError(f"the tuning in {folder} has no runs before and after ({tuning.get('status')})")
    runs = [Run.load(folder / name) for name in names]
    selection: Selected = "bred" if part.get("chosen", not tuning.get("test")) else "none"
    source = f"a tuning with {tuning.get('optimizer')}"
    return of_runs(runs, selection=selection, source=source, chosen="after", margin=margin)


def _of_result(result: Result, gold: Sequence[Any], train: Sequence[Any], baseline: str | None, margin: float) -> Audit:
    """The verdict on an optimizer's result."""
    if not any(candidate.scores for candidate in result.candidates):
        return _without_scores(result, len(gold))
    candidates = result.ordered(baseline)
    ids, scores = results.matrix(candidates)
    examples = artefacts.attach(result, gold, ids) if gold else []
    leaks = artefacts.leaks(result, examples, train)
    names = [candidate.name for candidate in candidates]
    ids, scores, repeats = _once(result, ids, scores)
    gains = np.nan_to_num(scores[:, 1:]) - np.nan_to_num(scores[:, :1])
    documents = clusters([{"document": result.documents.get(key)} for key in ids])
    best = names.index(result.chosen) if result.chosen in names else None
    column = 1 + int(gains.mean(0).argmax()) if best is None else best
    about: dict[str, Any] = {"baseline": names[0], "chosen": names[column], "source": result.source, "margin": margin}
    selection = result.selection(names[0])
    if selection == "none":
        after, before = np.nan_to_num(scores[:, 1]), np.nan_to_num(scores[:, 0])
        verdict = of_comparison(compare(after, before, clusters=documents), examples=len(ids), **about)
    else:
        pick = None if best is None else best - 1
        verdict = judge(gains, selection=selection, clusters=documents, pick=pick, **about)
    notes = artefacts.of_scores(scores, names, column, result.repeats + repeats)
    if len(candidates) < len(result.candidates):
        notes.append(
            f"{len(result.candidates) - len(candidates)} candidates were not scored on all examples; they are left out"
        )
    return verdict.with_findings(leaks, notes)


def _once(result: Result, ids: list[str], scores: Any) -> tuple[list[str], Any, int]:
    """Examples of the same text become one, with the mean of their scores."""
    groups: dict[str, list[int]] = {}
    for row, key in enumerate(ids):
        groups.setdefault(result.texts.get(key) or f"\0{key}", []).append(row)
    if len(groups) == len(ids):
        return ids, scores, 0
    merged = np.array([np.nanmean(np.nan_to_num(scores[rows]), axis=0) for rows in groups.values()])
    return [ids[rows[0]] for rows in groups.values()], merged, len(ids) - len(groups)


def luck(candidates: int, examples: int) -> float:
    """The gain that the best of equally good candidates reports: right in half of the examples, alike as in practice.

    >>> [round(luck(20, n), 2) for n in (30, 100, 300)]
    [0.14, 0.08, 0.04]
    """
    best = float(stats.norm.ppf((candidates - 0.375) / (candidates + 0.25)))
    return max(0.0, best) * math.sqrt(0.25 * 2 / 3 / examples)


def _without_scores(result: Result, examples: int) -> Audit:
    """An optimizer that left no score of an example: what luck alone gives, and what to run."""
    scores = {candidate.name: candidate.score for candidate in result.candidates if candidate.score is not None}
    before = scores.pop(result.baseline or "", None)
    k = len(scores)
    gain = None if before is None else max(scores.values()) - before
    sizes = [examples] if examples else LUCK_SIZES
    chances = ", ".join(f"{luck(k, n):+.2f} with {n} examples" for n in sizes)
    notes = [
        f"{result.source} leaves no scores of single examples, so nothing can be tested",
        f"luck alone gives the best of {k} candidates about {chances}",
        f"what tells: {FRESH}",
    ]
    return Audit(UNKNOWN, None, None, gain, k, examples, examples, "bred", source=result.source, findings=tuple(notes))
