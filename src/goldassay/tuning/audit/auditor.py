"""`goldassay.audit`: a verdict on whatever an optimizer left behind, without a call; `prove` runs both programs.

A leak undoes a verdict: a gain on examples that the prompt shows says nothing about other examples.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import dspy
import numpy as np
from scipy import special

from goldassay._dspy_compat import input_keys
from goldassay.exceptions import GoldassayError, LeakError
from goldassay.fields import clusters, identity, names
from goldassay.metric import AnyMetric
from goldassay.running import Run
from goldassay.running.folder import run_at
from goldassay.running.leaks import check_examples, find_leaks, leak_warning, text_of
from goldassay.running.logs import read_log, split_name
from goldassay.running.logs.dspy import system_of
from goldassay.running.logs.system import as_run
from goldassay.tuning.audit import results
from goldassay.tuning.audit.results import Result
from goldassay.tuning.audit.verdict import (
    FRESH,
    UNKNOWN,
    Audit,
    Selected,
    judge,
    of_runs,
    of_scores,
)
from goldassay.tuning.saved import Tuned, diff
from goldassay.tuning.states import ABOUT, read_about
from goldassay.tuning.tuner import TuneOptions, measured

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

        >>> import dspy, random
        >>> def evaluation(share):
        ...     rng, example = random.Random(share), dspy.Example(q="?").with_inputs("q")
        ...     rows = [(example.copy(q=str(i)), dspy.Prediction(a=""), rng.random() < share) for i in range(80)]
        ...     return dspy.Prediction(score=100 * share, results=rows)
        >>> result = audit(evaluation(0.3), evaluation(0.8))
        >>> result.verdict, result.selection, result.gain == result.naive_gain
        ('helped', 'none', True)
        """
        opened = [item for each in (result, *more) for item in _opened(each)]
        runs, first = [item for item in opened if isinstance(item, Run)], opened[0]
        if len(opened) > max(1, len(runs)):
            raise GoldassayError("several results are runs, results of dspy.Evaluate, or files of one of these")
        if runs:
            return of_runs(runs, clusters=_units(runs[0], gold), leaks=_train_leaks(train, gold))
        return first if isinstance(first, Audit) else _of_result(first, gold, train, baseline)

    save = staticmethod(results.save)


audit = _Auditor()
"""Whether an optimizer helped: ``audit(result)``; ``audit.save(program, FILE)`` keeps what ``program.save`` drops."""


def _opened(item: Any) -> list[Any]:
    """The runs in a folder, in another tool's log or in a result of ``dspy.Evaluate``; else the verdict on a tuning, or
    what an optimizer left.
    """
    if isinstance(item, Run):
        return [item]
    if isinstance(item, Tuned):
        return [item.audit]
    if hasattr(item, "results"):
        return [as_run(system_of(item), Path("dspy.Evaluate"))]
    if not isinstance(item, (str, Path)):
        return [results.from_program(item)]
    path = Path(item)
    if split_name(path)[0].is_file() and path.suffix.lower() not in results.PICKLES:
        return list(read_log(path)) or [results.read(path)]
    if path.suffix in results.SUFFIXES:
        return [results.read(path)]
    folder = run_at(path)
    return [of_tuning(folder) if (folder / ABOUT).is_file() else Run.load(folder)]


def _units(run: Run, gold: Sequence[Any]) -> list[object]:
    """What each row belongs to: its document, or a row with the same inputs, since a repeated example counts once."""
    documents = clusters(_matched(gold, [str(row["id"]) for row in run.rows])) if gold else run.clusters
    first: dict[str, object] = {}
    rows = zip(run.rows, documents or range(len(run.rows)), strict=True)
    return [first.setdefault(str(row["inputs"]), name) if row.get("inputs") else name for row, name in rows]


def of_tuning(folder: Path) -> Audit:
    """The verdict on a folder of `goldassay.tune`: on test if there was one, else on dev, which chose."""
    tuning = read_about(folder / ABOUT)
    part = tuning.get("test") or tuning.get("dev") or {}
    if len(part.get("runs") or ()) != 2:
        raise GoldassayError(f"the tuning in {folder} has no runs before and after ({tuning.get('status')})")
    selection: Selected = "bred" if part.get("chosen", not tuning.get("test")) else "none"
    source = f"a tuning with {tuning.get('optimizer')}"
    return of_runs([Run.load(folder / name) for name in part["runs"]], selection=selection, source=source)


def _of_result(result: Result, gold: Sequence[Any], train: Sequence[Any], baseline: str | None) -> Audit:
    """The verdict on an optimizer's result."""
    if not any(candidate.scores for candidate in result.candidates):
        return _without_scores(result, len(gold))
    candidates = result.ordered(baseline)
    examples, ids = list[Any](), list(candidates[0].scores)
    if gold:
        examples = _matched(gold, ids)
        result.texts = {key: text_of(example) for key, example in zip(ids, examples, strict=True)}
        documents = zip(ids, clusters(examples) or (), strict=False)
        result.documents = {key: name for key, name in documents if isinstance(name, str)} or result.documents
    leaks = _leaks(result, examples, train)
    # Examples of the same text are one, with the mean of their scores; a score of NaN is that of one that failed.
    scores = np.array([[candidate.scores[key] for key in ids] for candidate in candidates], dtype=float).T
    groups: dict[str, list[int]] = {}
    for row, key in enumerate(ids):
        groups.setdefault(result.texts.get(key) or f"\0{key}", []).append(row)
    repeats = len(ids) - len(groups)
    if repeats:
        scores = np.array([np.nan_to_num(scores[rows]).mean(axis=0) for rows in groups.values()])
    values = np.nan_to_num(scores)
    gains = values[:, 1:] - values[:, :1]
    units = clusters([{"document": result.documents.get(ids[rows[0]])} for rows in groups.values()])
    titles = [candidate.name for candidate in candidates]
    best = titles.index(result.chosen) if result.chosen in titles else None
    column = 1 + int(gains.mean(0).argmax()) if best is None else best
    bred = any(parent != titles[0] for candidate in result.candidates for parent in candidate.parents)
    verdict = judge(
        gains,
        selection="bred" if bred else "independent",
        clusters=units,
        pick=None if best is None else best - 1,
        baseline=titles[0],
        chosen=titles[column],
        source=result.source,
    )
    notes = of_scores(scores, titles, column, result.repeats + repeats)
    if left_out := len(result.candidates) - len(candidates):
        notes.append(f"{left_out} candidates were not scored on all examples; they are left out")
    return verdict.with_findings(leaks, notes)


def _matched(gold: Sequence[Any], ids: Sequence[str]) -> list[Any]:
    """The gold of the scored examples, by their ids or else in their order."""
    by_id = {identity(example, index): example for index, example in enumerate(gold)}
    if by_id.keys() >= set(ids):
        return [by_id[key] for key in ids]
    if len(gold) != len(ids):
        raise GoldassayError(
            f"the gold has {len(gold)} examples, and {len(ids)} were scored; name the validation examples"
        )
    return list(gold)


def _leaks(result: Result, examples: Sequence[Any], train: Sequence[Any]) -> list[str]:
    """Where the chosen program's prompts hold the examples that it was measured on, or train does."""
    gold = examples or [{"id": key, "text": text} for key, text in result.texts.items()]
    messages = []
    if result.state and gold:
        keys = input_keys(gold[0]) or [key for key in names(gold[0]) if key != "id"]
        parts = list(_predictors(result.state))
        instructions = "\n\n".join(str((part.get("signature") or {}).get("instructions") or "") for part in parts)
        signature: Any = dspy.Signature  # one predictor with the prompts of the saved program, whatever its class was
        program = dspy.Predict(signature(f"{', '.join(keys)} -> goldassay_output", instructions))
        program.demos = [dspy.Example(**demo) for part in parts for demo in part["demos"] if isinstance(demo, dict)]
        messages = [leak_warning(find_leaks(program, gold), gold)]
    return [message for message in [*messages, *_train_leaks(train, gold)] if message]


def _train_leaks(train: Sequence[Any], gold: Sequence[Any]) -> list[str]:
    try:
        check_examples(train, {"validation": gold})
    except LeakError as error:
        return [f"train stands in validation: {error}"]
    return []


def _predictors(state: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(state, Mapping):
        if isinstance(state.get("demos"), list):
            yield state
        for part in state.values():
            yield from _predictors(part)


def _without_scores(result: Result, examples: int) -> Audit:
    """An optimizer that left no score of an example: what luck alone gives, and what to run.

    Luck is the largest of k normal scores (Blom 1958), times the standard error of a difference of two programs that
    are right in half of the examples and alike as in practice: .14 for 20 candidates and 30 examples.
    """
    scores = {candidate.name: candidate.score for candidate in result.candidates if candidate.score is not None}
    before = scores.pop(result.baseline or "", None)
    gain, k = None if before is None else max(scores.values()) - before, len(scores)
    best = max(0.0, float(special.ndtri((k - 0.375) / (k + 0.25))))
    sizes = [examples] if examples else LUCK_SIZES
    chances = ", ".join(f"{best * math.sqrt(0.25 * 2 / 3 / n):+.2f} with {n} examples" for n in sizes)
    notes = (
        f"{result.source} leaves no scores of single examples, so nothing can be tested",
        f"luck alone gives the best of {k} candidates about {chances}",
        f"what tells: {FRESH}",
    )
    return Audit(UNKNOWN, None, None, gain, k, examples, examples, "bred", source=result.source, findings=notes)


def prove(
    before: dspy.Module,
    after: dspy.Module,
    examples: Sequence[dspy.Example],
    metric: AnyMetric,
    options: TuneOptions | None = None,
    **about: Any,
) -> Audit:
    """Run both programs once on the same examples, which no optimizer has seen.

    Args:
        before: The program as it was.
        after: The program that an optimizer made.
        examples: The examples.
        metric: A `Metric`, or any function of (gold, prediction).
        options: How the programs are run; with ``resume`` an interrupted proof goes on in its folder.
        about: Other fields of the `Audit`.

    Returns:
        The verdict; its ``details`` hold the ``diff`` of the prompts and what an example costs before and after.
    """
    options = (options or TuneOptions(progress=False)).resolved()
    runs, leaks = dict[str, Run](), []
    for when, program in (("before", before), ("after", after)):
        warning = leak_warning(find_leaks(program, examples), examples)
        leaks += [f"{when}: {warning}"] if warning else []
        runs[when] = measured(program, examples, metric, f"test-{when}", options, resume=options.resume)
    details = {
        "values": {when: run.value for when, run in runs.items()},
        "costs": {when: costs(run) for when, run in runs.items()},
        "diff": diff(before, after, options.adapter, dict(examples[0].inputs())),
        "runs": [str(run.folder) for run in runs.values() if run.folder],
    }
    return of_runs(list(runs.values()), leaks=leaks, details=details, **about)


def costs(run: Run) -> dict[str, float]:
    """What an example costs on average: calls, cached answers, tokens, US dollars and seconds."""
    usage = [row.get("usage") or {} for row in run.rows]
    totals: dict[str, float] = {name: sum(each.get(name, 0) for each in usage) for name in ("calls", "cached")}
    totals["tokens"] = sum(each.get("prompt_tokens", 0) + each.get("completion_tokens", 0) for each in usage)
    totals["usd"] = float(run.cost.get("usd") or 0)
    totals["seconds"] = sum(float(row.get("latency_s") or 0) for row in run.rows)
    return {name: total / len(run.rows) for name, total in totals.items()}
