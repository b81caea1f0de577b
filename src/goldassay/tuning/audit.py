"""`goldassay.audit`: a verdict on an optimizer's result, without a call; `prove` runs both programs.

A gain on examples that the prompt shows says nothing about other examples, so these are left out. What an optimizer
left is read in one form: candidates with their scores on the same examples.

==================================  ==================================================================================
BootstrapFewShotWithRandomSearch    ``program.candidate_programs``: ``subscores`` of each; seed −3 is the program before
GEPA (``track_stats=True``)         ``program.detailed_results``, also as its ``to_dict()`` in a JSON file
MIPROv2, COPRO, SIMBA               ``program.candidate_programs``: a score for each candidate, none for each example
any tool                            a CSV with the columns ``example,candidate,score`` and perhaps ``parent,document``
==================================  ==================================================================================

``program.save`` drops these attributes; `save_result` writes them. Pickles are not read: they can run code. Runs of
goldassay, results of ``dspy.Evaluate`` and logs of other tools are runs (`goldassay.running.run.open_runs`).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import dspy
import numpy as np
import scipy
from dspy import Example, Module
from pydantic import BaseModel, Field

from goldassay._support import files, jsonl
from goldassay._support.dspy_compat import input_keys, serialize_for_json
from goldassay._support.exceptions import DataError, GoldassayError, LeakError
from goldassay.core.fields import JsonObject, Record, clusters, identity, names
from goldassay.core.metric import AnyMetric
from goldassay.gold.formats.tables import table
from goldassay.results.comparison import Selection
from goldassay.running import Run
from goldassay.running.evaluated import as_run, number, system_of
from goldassay.running.folder import run_at
from goldassay.running.leaks import Leak, check_examples, find_leaks, text_of
from goldassay.running.rows import UNUSED
from goldassay.running.run import logged_runs, open_runs
from goldassay.tuning.measuring import TuneOptions, resumable
from goldassay.tuning.saved import TUNING_FILE, Tuned, diff, read_about, reading
from goldassay.tuning.verdict import FRESH, LUCK_WARNING, Audit, judge, of_arms, of_runs, of_scores
from goldassay.tuning.wrappers import Examples, saveable

FORMAT = "goldassay.audit"
PICKLES = (".bin", ".pkl", ".pickle", ".joblib")
Score = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]


class ScoredCandidate(BaseModel):
    """A candidate with its scores by example (None for one that failed), or its score alone; the candidates it was made
    from, if it was made from others than the baseline."""

    name: str
    score: Score | None = None
    scores: dict[str, Score | None] = {}
    parents: list[str] = []


class OptimizerResult(BaseModel):
    """An optimizer's result. ``chosen`` is the candidate it returns, ``documents`` and ``texts`` belong to examples by
    id, and ``state`` is the chosen program's as DSPy writes it. ``repeats`` counts the scores that were averaged."""

    source: str
    candidates: list[ScoredCandidate]
    baseline: str | None = None
    chosen: str | None = None
    documents: dict[str, str] = {}
    texts: dict[str, str] = {}
    state: JsonObject | None = None
    repeats: int = 0
    format: str = FORMAT


def from_program(program: Any) -> OptimizerResult:
    """The result that an optimizer attached to the program that it returns.

    Raises:
        GoldassayError: There is none.
    """
    state = serialize_for_json(saveable(program).dump_state()) if isinstance(program, Module) else None
    details = getattr(program, "detailed_results", program)
    if hasattr(details, "val_subscores"):
        return _gepa(vars(details), details.best_idx, state)
    rows = getattr(program, "candidate_programs", None)
    if not rows:
        raise GoldassayError(
            "this program has nothing to audit: candidate_programs or detailed_results (GEPA with track_stats=True) is "
            "what an optimizer leaves, and program.save drops it; audit the program that compile() returned"
        )
    if "subscores" in rows[0]:
        candidates = [ScoredCandidate(name=f"seed {row['seed']}", scores=_by_example(row["subscores"])) for row in rows]
        source = "BootstrapFewShotWithRandomSearch"
        baseline = "seed -3"
    else:  # no scores of examples; the score of the program before, if it is left
        source = "an optimizer without scores of examples"
        scale = 100
        baseline = "before"
        minibatches = getattr(program, "mb_candidate_programs", None)
        if minibatches is not None:
            source = "MIPROv2"
            rows = [*rows, *minibatches]
        elif "instruction" in rows[0]:
            source = "COPRO"
        elif hasattr(program, "trial_logs"):
            source = "SIMBA"
            scale = 1
        totals = {str(at): row.get("score") for at, row in enumerate(rows)}
        totals[baseline] = getattr(program, "trial_logs", {}).get(1, {}).get("full_eval_score")
        candidates = [ScoredCandidate(name=name, score=float(s) / scale) for name, s in totals.items() if s is not None]
    return OptimizerResult(
        source=source, candidates=candidates, baseline=baseline, chosen=candidates[0].name, state=state
    )


def _by_example(scores: Mapping[Any, Any] | Sequence[Any]) -> dict[str, float | None]:
    """The scores of a candidate, numbers or objects with a ``score``; a list is in the order of the examples."""
    pairs = scores.items() if isinstance(scores, Mapping) else enumerate(scores)
    return {str(key): float(getattr(score, "score", score)) for key, score in pairs}


def _gepa(details: Record, best: object, state: JsonObject | None = None) -> OptimizerResult:
    """GEPA's results; before 3.1 the scores of a candidate are a list."""
    candidates = [
        ScoredCandidate(name=str(at), scores=_by_example(scores), parents=[str(p) for p in parents if p is not None])
        for at, (scores, parents) in enumerate(zip(details["val_subscores"], details["parents"], strict=True))
    ]
    return OptimizerResult(source="GEPA", candidates=candidates, baseline="0", chosen=str(best), state=state)


def read(path: Path) -> OptimizerResult:
    """A file of an optimizer's result.

    Raises:
        DataError: The file is a pickle, or not a result.
    """
    if path.suffix.lower() in PICKLES:
        message = "a pickle can run code and is not read; goldassay.save_result(program, FILE) writes one that is"
        raise DataError(message, file=path)
    is_table = path.suffix.lower() in (".csv", ".tsv")
    content = [dict(row) for _, row in table(path, quoted=True)] if is_table else files.json_value(path)
    if content in ([], {}):
        raise DataError("there are no scores in it; a table has the columns example, candidate, score", file=path)
    try:
        if isinstance(content, list):
            return _long(content)
        if content.get("format") == FORMAT:
            return OptimizerResult.model_validate(content)
        if "metadata" in content:
            raise DataError(f"a saved program has no scores, so run it: {FRESH}", file=path)
        totals = content["val_aggregate_scores"]
        best = content.get("best_idx")
        return _gepa(content, totals.index(max(totals)) if best is None else best)
    except DataError as error:
        raise error.at(file=path) from None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = " ".join(str(error).split()[:40])
        raise DataError(f"not the result of an optimizer: {type(error).__name__}: {why}", file=path) from None


def _long(rows: Sequence[Record]) -> OptimizerResult:
    """A table with a row for each score; an empty one is that of an example that failed, repeated ones are averaged."""
    if missing := {"example", "candidate", "score"} - set(rows[0]):
        raise DataError(f"the table has no column {min(missing)}; it needs example,candidate,score")
    cells: dict[str, dict[str, list[float]]] = {}
    for at, row in enumerate(rows, 1):
        score = number(row["score"])
        if score is None and str(row["score"] or "").strip():
            raise DataError(f"the score of row {at} is {row['score'][:60]!r}, which is not a number")
        cells.setdefault(row["candidate"], {}).setdefault(row["example"], []).extend([] if score is None else [score])
    baselines = ("baseline", "base", "before", "zero-shot", "zero_shot")
    parents = {row["candidate"]: [row["parent"]] for row in rows if row.get("parent")}
    candidates = []
    for name, by_example in cells.items():
        means = {key: float(np.mean(scores)) if scores else None for key, scores in by_example.items()}
        candidates.append(ScoredCandidate(name=name, scores=means, parents=parents.get(name, [])))
    return OptimizerResult(
        source="a table",
        candidates=candidates,
        baseline=next((name for name in cells if name in baselines), None),
        documents={row["example"]: row["document"] for row in rows if row.get("document")},
        repeats=len(rows) - sum(map(len, cells.values())),
    )


def save_result(program: object, file: Path | str) -> Path:
    """Write the result that an optimizer attached to a program, which ``program.save`` drops, as JSON without code.

    Args:
        program: The program that ``compile`` returned, or GEPA's ``detailed_results``.
        file: The file to write; ``goldassay audit FILE`` reads it.
    """
    path = Path(file)
    content = from_program(program).model_dump(exclude_defaults=True) | {"format": FORMAT}
    files.save(path, jsonl.dumps(content, indent=1) + "\n")
    return path


def audit(
    result: object,
    *more: object,
    gold: Examples = (),
    train: Examples = (),
    baseline: str | None = None,
    fresh: bool = False,
) -> Audit:
    """Whether an optimizer helped, from what it left and without a call of a model.

    Args:
        result: The program that ``compile`` returned (BootstrapFewShotWithRandomSearch; GEPA with
            ``track_stats=True``), GEPA's ``detailed_results``, a `Tuned` or its folder, or a file: of
            ``goldassay.save_result``, of GEPA's ``to_dict()``, or a CSV with the columns ``example``, ``candidate``,
            ``score`` and perhaps ``parent`` and ``document``.
        more: With results of ``dspy.Evaluate`` (or their files), runs (or their folders) or logs of other tools:
            those of other programs on the same examples; the first is the baseline.
        gold: The validation examples, in order or with the ids of the scores: for leaks and documents.
        train: The training examples, for leaks.
        baseline: The name of the baseline, if the result does not have it.
        fresh: The examples of two runs had no part in choosing the program; else its gain may be luck.

    Raises:
        GoldassayError: There is nothing to audit, or the results do not belong together.

    >>> import dspy, random
    >>> def evaluation(share):
    ...     rng, example = random.Random(share), dspy.Example(q="?").with_inputs("q")
    ...     rows = [(example.copy(q=str(i)), dspy.Prediction(a=""), rng.random() < share) for i in range(80)]
    ...     return dspy.Prediction(score=100 * share, results=rows)
    >>> result = audit(evaluation(0.3), evaluation(0.8))
    >>> result.verdict, result.selection, result.gain == result.naive_gain
    ('better', 'none', True)
    """
    opened = [item for source in (result, *more) for item in _opened(source)]
    runs = [item for item in opened if isinstance(item, Run)]
    first = opened[0]
    if len(opened) > max(1, len(runs)):
        raise GoldassayError("several results are runs, results of dspy.Evaluate, or files of one of these")
    if baseline is not None and (runs or isinstance(first, Audit)):
        raise GoldassayError("`baseline=` is for the scores of candidates; of runs the first is the baseline")
    if fresh and not runs:
        raise GoldassayError(
            "`fresh=` is for two runs; the scores of an optimizer are of the examples that it chose on"
        )
    if runs:
        rows = runs[0].rows
        documents = clusters(_matched(gold, [str(row.id) for row in rows])) if gold else runs[0].clusters
        units = list(documents or range(len(rows)))
        first_unit: dict[str, Hashable] = {}
        for index, row in enumerate(rows):
            if row.inputs:  # an example that is repeated counts once
                units[index] = first_unit.setdefault(str(row.inputs), units[index])
        verdict = of_runs(runs, clusters=units, leaks=_train_leaks(train, gold))
        return verdict if fresh or verdict.selection != "none" else verdict.with_findings([], [LUCK_WARNING])
    return first if isinstance(first, Audit) else _of_result(first, gold, train, baseline)


def _opened(item: object) -> list[Any]:
    """The runs in a folder, in another tool's log or in a result of ``dspy.Evaluate``; else the verdict on a tuning, or
    an optimizer's result.
    """
    if isinstance(item, Run):
        return [item]
    if isinstance(item, Tuned):
        return [item.audit]
    if hasattr(item, "results"):
        return [as_run(system_of(item), Path("dspy.Evaluate"))]
    if not isinstance(item, (str, Path)):
        return [from_program(item)]
    path = Path(item)
    if path.suffix.lower() not in PICKLES and not path.is_dir() and (logged := logged_runs(item)):
        return list(logged)
    if path.is_file() or path.suffix in (".json", ".csv", ".tsv", *PICKLES):
        return [read(path)]
    folder = run_at(path)
    if not (folder / TUNING_FILE).is_file():
        return list(open_runs(folder))
    tuning = read_about(folder / TUNING_FILE)  # its verdict is on test if there was one, else on dev, which chose
    with reading(folder / TUNING_FILE):
        trial = tuning.get("test") or tuning.get("dev") or {}
        if len(trial.get("runs") or ()) != 2:
            raise GoldassayError(f"the tuning in {folder} has no runs before and after ({tuning.get('status')})")
        selection: Selection = "bred" if trial.get("chosen", not tuning.get("test")) else "none"
        if tuning.get("test") and tuning.get("chosen"):  # of several optimizers: corrected for their number
            places = {arm["optimizer"]: folder / f"test-{arm['optimizer']}" for arm in tuning["arms"]}
            arms = {name: Run.load(path) for name, path in places.items() if (path / "run.json").is_file()}
            audits = of_arms(Run.load(folder / trial["runs"][0]), arms, tuning["seed"])
            source = f"a tuning with {tuning['chosen']}, one of {len(places)} optimizers"
            return [replace(audits[tuning["chosen"]], source=source)]
        runs = [Run.load(folder / name) for name in trial["runs"]]
        return [of_runs(runs, selection=selection, source=f"a tuning with {tuning.get('optimizer')}")]


def _of_result(result: OptimizerResult, gold: Examples, train: Examples, baseline: str | None) -> Audit:
    """The verdict on an optimizer's result, by the candidates that were scored on all examples of the baseline.

    Raises:
        GoldassayError: There is no such baseline, or no other candidate was scored on its examples.
    """
    if not any(candidate.scores for candidate in result.candidates):
        return _without_scores(result, len(gold))
    first = result.candidates[0]
    if len(result.candidates) == 1 and first.name == result.baseline:
        n = len(first.scores)
        name = first.name
        return Audit(None, "none", name, name, 0.0, candidates=0, examples=n, clusters=n, source=result.source)
    by_name = {candidate.name: candidate for candidate in result.candidates}
    wanted = baseline or result.baseline
    if wanted not in by_name:
        raise GoldassayError(f"name the baseline, one of the candidates {', '.join(list(by_name)[:8])}; not {wanted!r}")
    first = by_name.pop(wanted)
    complete = [candidate for candidate in by_name.values() if candidate.scores.keys() >= first.scores.keys()]
    if not first.scores or not complete:
        raise GoldassayError(f"{result.source}: no candidate was scored on the examples of {wanted}")
    candidates = [first, *complete]
    examples: Examples = []
    ids = list(first.scores)
    titles = [candidate.name for candidate in candidates]
    if gold:
        examples = _matched(gold, ids)
        result.texts = {key: text_of(example) for key, example in zip(ids, examples, strict=True)}
        documents = zip(ids, clusters(examples) or (), strict=False)
        result.documents = {key: name for key, name in documents if isinstance(name, str)} or result.documents
    # Examples of the same text are one, with the mean of their scores; a score of NaN is that of one that failed.
    scores = np.array([[candidate.scores[key] for key in ids] for candidate in candidates], dtype=float).T
    groups = defaultdict[str, list[int]](list)
    for row, key in enumerate(ids):
        groups[result.texts.get(key) or f"\0{key}"].append(row)
    if repeats := len(ids) - len(groups):
        scores = np.array([np.nan_to_num(scores[rows]).mean(axis=0) for rows in groups.values()])
    values = np.nan_to_num(scores)
    gains = values[:, 1:] - values[:, :1]
    best = titles.index(result.chosen) if result.chosen in titles else None
    column = 1 + int(gains.mean(0).argmax()) if best is None else best
    bred = any(parent != titles[0] for candidate in result.candidates for parent in candidate.parents)
    verdict = judge(
        gains,
        selection="bred" if bred else "independent",
        clusters=clusters([{"document": result.documents.get(ids[rows[0]])} for rows in groups.values()]),
        pick=None if best is None else best - 1,
        baseline=titles[0],
        chosen=titles[column],
        source=result.source,
    )
    notes = of_scores(scores, titles, column, result.repeats + repeats)
    if left_out := len(result.candidates) - len(candidates):
        notes.append(f"{left_out} candidates were not scored on all examples; they are left out")
    verdict = verdict.with_findings(_train_leaks(train, examples), notes)
    scored = examples or [{"id": key, "text": text} for key, text in result.texts.items()]
    if not result.state or not scored:
        return verdict
    # the examples that the chosen program's prompts show, by the ids of their scores
    keys = input_keys(scored[0]) or [key for key in names(scored[0]) if key != "id"]
    parts = list(_predictors(result.state))
    instructions = "\n\n".join(str((predictor.get("signature") or {}).get("instructions") or "") for predictor in parts)
    signature: Any = dspy.Signature  # one predictor with the prompts of the saved program, whatever its class was
    program = dspy.Predict(signature(f"{', '.join(keys)} -> goldassay_output", instructions))
    program.demos = [Example(**demo) for predictor in parts for demo in predictor["demos"] if isinstance(demo, dict)]
    leaks = [replace(leak, id=ids[leak.index]) if examples else leak for leak in find_leaks(program, scored)]

    def judge_others() -> Audit:
        leaked = {leak.id for leak in leaks}
        clean_examples = [example for key, example in zip(ids, examples, strict=False) if key not in leaked]
        for candidate in candidates:
            candidate.scores = {key: score for key, score in candidate.scores.items() if key not in leaked}
        clean = result.model_copy(update={"state": None, "candidates": candidates})
        return _of_result(clean, clean_examples, train, titles[0])

    return verdict.without(leaks, ids, judge_others)


def _matched(gold: Examples, ids: Sequence[str]) -> list[Example]:
    """The gold of the scored examples, by their ids or else in their order."""
    by_id = {identity(example, index): example for index, example in enumerate(gold)}
    if by_id.keys() >= set(ids):
        return [by_id[key] for key in ids]
    if len(gold) != len(ids):
        raise GoldassayError(
            f"the gold has {len(gold)} examples, and {len(ids)} were scored; name the validation examples"
        )
    return list(gold)


def _train_leaks(train: Examples, gold: Examples) -> list[str]:
    try:
        check_examples(train, {"validation": gold})
    except LeakError as error:
        return [f"training examples also appear in validation: {error}"]
    return []


def _predictors(state: object) -> Iterator[Record]:
    if isinstance(state, Mapping):
        if isinstance(state.get("demos"), list):
            yield state
        for inner in state.values():
            yield from _predictors(inner)


def _without_scores(result: OptimizerResult, examples: int) -> Audit:
    """An optimizer that left no score of an example: the gain of luck alone, and the command to run.

    Luck is the largest of k normal scores (Blom 1958), times the standard error of a difference of two programs that
    are right in half of the examples and alike as in practice: .14 for 20 candidates and 30 examples.
    """
    scores = {candidate.name: candidate.score for candidate in result.candidates if candidate.score is not None}
    before = scores.pop(result.baseline or "", None)
    gain = None if before is None else max(scores.values()) - before
    k = len(scores)
    best = max(0.0, float(scipy.special.ndtri((k - 0.375) / (k + 0.25))))
    chances = [
        f"{best * math.sqrt(1 / 6 / n):+z.2f} with {n} examples" for n in ([examples] if examples else (30, 100, 300))
    ]
    notes = (
        f"{result.source} leaves no scores of single examples, so nothing can be tested",
        f"luck alone gives the best of {k} candidates about {', '.join(chances)}",
        f"To get a verdict, run: {FRESH}",
    )
    return Audit(
        None,
        "bred",
        naive_gain=gain,
        candidates=k,
        examples=examples,
        clusters=examples,
        source=result.source,
        findings=notes,
    )


def prove(
    before: Module,
    after: Module,
    examples: Examples,
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

    Raises:
        RunStopped: A model answers no more.
    """
    options = (options or TuneOptions(progress=False)).resolved()
    runs: dict[str, Run] = {}
    leaks: dict[int, Leak] = {}
    for when, program in (("before", before), ("after", after)):
        leaks |= {leak.index: leak for leak in find_leaks(program, examples)}
        runs[when] = resumable(program, examples, metric, f"test-{when}", options)
    details = {
        "values": {when: run.value for when, run in runs.items()},
        "costs": {when: costs(run) for when, run in runs.items()},
        "diff": diff(before, after, options.adapter, dict(examples[0].inputs())),
        "runs": [str(run.folder) for run in runs.values() if run.folder],
    }
    measured_runs = list(runs.values())

    def judge_others() -> Audit:
        clean = [
            Run(run.head, [row for row in run.answers if row.index not in leaks], run.zero) for run in measured_runs
        ]
        return of_runs(clean, details=details, **about)

    ordered = [leaks[at] for at in sorted(leaks)]
    return of_runs(measured_runs, details=details, **about).without(ordered, examples, judge_others)


def costs(run: Run) -> dict[str, float]:
    """The mean cost of an example: calls, cached answers, tokens, US dollars and seconds."""
    usage = sum((row.usage for row in run.rows), UNUSED)
    totals = {
        "calls": usage.calls,
        "cached": usage.cached,
        "tokens": usage.prompt_tokens + usage.completion_tokens,
        "usd": run.cost.get("usd") or 0,
        "seconds": sum(row.latency_s or 0 for row in run.rows),
    }
    return {name: float(total) / len(run.rows) for name, total in totals.items()}
