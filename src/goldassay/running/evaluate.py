"""Evaluating a program on gold: linear, in threads or on Ray, written row by row, stopped if it makes no sense."""

from __future__ import annotations

import logging
import re
import time
from collections import Counter, deque
from collections.abc import Sequence
from contextlib import ExitStack, chdir, closing, nullcontext, suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

import dspy

from goldassay._support.dspy_compat import copy_program, input_keys, without_cache
from goldassay._support.exceptions import ConventionError, GoldassayError, RunStopped, StorageError
from goldassay._support.progress import quiet, run_progress
from goldassay._support.secrets import redact, remember
from goldassay.core.fields import Fields, check_unique, shared_text
from goldassay.core.measure import RAISED, parse, raised_notes
from goldassay.core.metric import AnyMetric, FunctionMetric, Metric, as_metric
from goldassay.core.shape import shape_of
from goldassay.models.lm import bound_model, check_bound
from goldassay.running import asynchronous
from goldassay.running.account import TOKEN_COUNTS, Account, current
from goldassay.running.budget import UNANSWERED_CALLS, BudgetSpent, Meter
from goldassay.running.engines import Cluster, Failures, work_through
from goldassay.running.example import Measuring, with_models
from goldassay.running.folder import ROWS, Writer
from goldassay.running.guard import Program
from goldassay.running.head import HEAD, RESUMED, describe_run, described_measures, now, read_head
from goldassay.running.leaks import find_leaks, leak_warning
from goldassay.running.options import RunOptions
from goldassay.running.rows import Row, Rows, Usage
from goldassay.running.run import Run, stored, zero_of

log = logging.getLogger("goldassay")
PROBES = 3  # examples that may fail, one after the other, before the workers start


def evaluate(
    program: Program,
    gold: Sequence[dspy.Example],
    metric: AnyMetric,
    options: RunOptions | None = None,
    **changes: Any,
) -> Run:
    """Run ``program`` on every gold example and measure it.

    A program that raises, or returns what cannot be measured, gives a failed row, and its gold counts as missed. So
    does a metric that raises; ``run.warnings`` then has the count and the first line of its traceback. With a
    ``folder`` every row is on disk as soon as it is made; after Ctrl-C or a crash the same call goes on, and of a
    finished run it measures nothing again.

    Args:
        program: A DSPy module, or any callable that takes an example's inputs.
        gold: Examples; which of their fields are inputs they say (``with_inputs``), or else the program does.
        metric: A `Metric`, or any function of (gold, prediction): see `Metric.of`.
        options: How to run it (`RunOptions`).
        changes: Fields of the options to change: ``evaluate(program, gold, metric, threads=8)``.

    Raises:
        GoldassayError: The call is wrong.
        ConventionError: The run to resume was started with something else.
        RunStopped: The run stopped early; its ``run`` holds what was done.

    >>> import dspy
    >>> from goldassay import Metric
    >>> from goldassay.measures import extraction
    >>> spans = [(3, 7, "TMP")]
    >>> gold = [dspy.Example(id=str(i), text="in 1800", entities=spans[:i]).with_inputs("text") for i in range(2)]
    >>> run = evaluate(lambda text: dspy.Prediction(entities=[(3, 7, "TMP")]), gold, Metric(extraction.SpanF1()))
    >>> run.values["strict_f1"]     # one true positive, one false positive
    0.6666666666666666
    """
    use = (options or RunOptions()).changed(**changes).resolved()
    if isinstance(program, type) or not callable(program):
        raise GoldassayError(f"a program is a DSPy module or a function of an example's inputs, not {program!r:.100}")
    gold = examples_for(program, gold, use.limit)
    if not gold:
        raise GoldassayError("there are no gold examples to evaluate on")
    check_unique(gold)
    evaluation = _Evaluation(program, gold, as_metric(metric), use)
    with chdir("."):  # a program may change the current folder, and paths stay what they were
        if use.engine == "threads":
            return evaluation.run(evaluation.measuring)
        with closing(Cluster(evaluation.measuring, evaluation.context, use, evaluation.threads)) as cluster:
            return evaluation.run(cluster)


def examples_for(program: Program, gold: Sequence[dspy.Example], limit: int | None = None) -> list[dspy.Example]:
    """Gold examples that say which of their fields are inputs; of those that do not, the program's are.

    Raises:
        GoldassayError: The program does not say which fields it reads either, or gold is not such a list.
    """
    if isinstance(gold, str) or not isinstance(gold, Sequence):
        load = "goldassay.load(gold, task='classification').classification.all"
        raise GoldassayError(
            f"gold is a list of dspy.Example, not {type(gold).__name__}; {load} reads files and tables"
        )
    shape = shape_of(program)
    inputs = [name for name in shape.inputs or () if name not in {*shape.optional} & {*shape.outputs}]
    examples = []
    for index, example in enumerate(gold[:limit]):
        if input_keys(example) is None:
            if not inputs or not isinstance(example, dspy.Example):
                raise GoldassayError(
                    f"gold example {index} ({type(example).__name__}) does not say which of its fields are inputs: "
                    "add .with_inputs('text', …) to a dspy.Example"
                )
            example = example.with_inputs(*inputs)
        with_models(example, shape.models)  # what cannot be read is an error before the first call
        examples.append(example)
    return examples


aevaluate = asynchronous(evaluate)
"""`evaluate` for asynchronous code."""


class _Evaluation:
    """One call of `evaluate`: its head, its folder and its rows."""

    def __init__(self, program: Program, gold: Sequence[dspy.Example], metric: Metric, options: RunOptions) -> None:
        self.gold = gold
        self.metric = metric
        self.options = options
        place = options.resume or options.folder
        self.folder = None if place is None else Path(place)
        self.size = len(gold) * options.repeats  # rows of the whole run
        self.threads = min(options.threads, self.size)
        check_bound(program, options.lm)
        lm: Any = options.lm or dspy.settings.lm
        remember(program, metric, lm)
        self.head = describe_run(program, gold, metric, options, bound_model(program) or lm)
        checks = (
            (leak_warning(find_leaks(program, gold), gold), shared_text(gold, shape_of(program).outputs))
            if options.check_leaks
            else ()
        )
        if warnings := list(filter(None, checks)):
            self.head.warnings = warnings
            log.warning("%s", "; ".join(warnings))
        if options.repeats > 1:  # a cached answer is not a repeat
            lm = lm and without_cache(lm)
            if isinstance(program, dspy.Module) and any(getattr(p.lm, "cache", False) for p in program.predictors()):
                fresh = copy_program(program)
                for predictor in fresh.predictors():
                    predictor.lm = predictor.lm and without_cache(predictor.lm)
                program = fresh
        self.context = {"adapter": options.adapter or dspy.settings.adapter or dspy.ChatAdapter()}
        if lm is not None:
            self.context["lm"] = lm
        self.measuring = Measuring(program, metric, options.trace and place is not None, options.timeout)
        self.rows = Rows(repeats=options.repeats)
        self.failed = dict[int, Row]()  # rows of the run to resume that are tried again
        self.writer: Writer | None = None
        outer = current()
        self.meter = Meter(options.budget, outer.meter if outer is not None else None)
        self.rest = Account(self.meter)  # calls that belong to no row

    def run(self, engine: Measuring | Cluster) -> Run:
        """Make the missing rows, and return the whole run.

        Raises:
            RunStopped: It stopped before its end.
        """
        if self.folder is not None and self._open(self.folder):
            run = Run.load(self.folder, self.metric)  # it is finished
            run.head.judge_labels = self.head.judge_labels or run.head.judge_labels
            return run
        earlier: Fields = self.head.cost
        started = time.perf_counter()
        failures = Failures(self.options.max_failures, worked=len(self.rows))
        status = "interrupted"
        reason = ""
        cause: BaseException | None = None
        unit = "examples" if self.options.repeats == 1 else "answers"
        try:
            with self.rest.open(), dspy.context(**self.context):
                reason = self._work(engine, failures)
            status = "stopped"
            if len(self.rows) == self.size:
                reason = failures.all
                if not reason and self.meter.outer is None:  # a tuning continues until no model answers
                    self.meter.check_endpoints(UNANSWERED_CALLS)
                status = "finished"
        except (BudgetSpent, StorageError) as error:
            if self.meter.outer is not None:
                self.meter.outer.check()  # a budget of the tuning that evaluates stops the tuning
            safe = self.writer is None or (self.writer.folder / ROWS).exists()
            status = "stopped"
            reason = f"{error}; what was done is safe" if safe else str(error)
            cause = error
        finally:
            # with what the run that is resumed had used; outside the rows are calls that outlive their example, and
            # earlier tries
            outside = Counter(earlier.get("outside_rows") or {}) + Counter(self.rest.usage.state())
            total = sum((row.usage for row in self.rows), Usage.of(outside))
            cost: Fields = {"calls": total.calls, "cached": total.cached}
            cost |= {name: getattr(total, name) for name in TOKEN_COUNTS}
            cost["seconds"] = round(time.perf_counter() - started + float(earlier.get("seconds", 0.0)), 3)
            if usd := round(self.meter.used["usd"] + float(earlier.get("usd", 0.0)), 6):
                cost["usd"] = usd
            if outside:
                cost["outside_rows"] = dict(outside)
            self.head.cost = cost
            self.head.measures = described_measures(self.metric.measures, self.metric.weights, self.metric.targets)
            self.head.status = status
            self.head.finished = now()
            self.head.notes = raised_notes(failures.errors, f"{len(self.rows)} {unit}")
            answers = [row.prediction or {} for row in self.rows if not row.error]
            self.head.notes += self.metric.record_notes(self.gold, answers)
            run = Run(self.head, self.rows, self.metric.zero, self.folder)
            if self.writer is not None:  # on a full disk, a run that stops for that keeps its first head
                with closing(self.writer), suppress(StorageError) if reason else nullcontext():
                    self.writer.head(self.head, run.results if self.rows else {})
        if not reason:
            return run
        done = len(self.rows)
        message = redact(reason)
        if done < self.size:
            message = f"stopped after {done} of {self.size} {unit}: {message}"
        if self.folder is not None and (self.folder / ROWS).exists():
            if RAISED in reason:
                message += "; fix it and start a new run: rows of another metric are not resumed"
            else:
                fix = "" if "budget" in reason else "fix it and "
                message += f"; {fix}resume with `resume={self.folder}`"
                if re.search("examples? failed", reason):  # rows of other code are not those of the run
                    message += "; with other code or another model start a new run"
        raise RunStopped(message, run) from cause

    def _open(self, folder: Path) -> bool:
        """Open the folder of this run and read the rows that it has; whether nothing is left to do."""
        resumes = self.options.resume is not None or (folder / HEAD).exists()  # the same call goes on
        if resumes:
            read_head(folder)  # there must be a run, before anything is written
        for file in () if resumes else sorted(folder.parent.glob(f"*/{HEAD}"), reverse=True):
            with suppress(GoldassayError):
                earlier = read_head(file.parent)
                head = self.head if self.metric.has_fixed_names else replace(self.head, measures=earlier.measures)
                if earlier.status != "finished" and head.difference(earlier) is None:
                    log.warning("%s is an unfinished run of the same, which can be resumed", file.parent)
                    break
        with ExitStack() as stack:
            self.writer = stack.enter_context(closing(Writer(folder)))
            self.rows = Rows(folder / ROWS, self.options.repeats)
            if resumes:
                before = read_head(folder)
                metric = self.metric
                if isinstance(metric, FunctionMetric) and before.measures.keys() != metric.measures.keys():
                    measures = {name: parse(described.measure) for name, described in before.measures.items()}
                    metric.fix_names(measures, zero_of(before, folder).weights)
                    self.head.measures = described_measures(metric.measures, metric.weights, metric.targets)
                if what := self.head.difference(before):
                    values = f" ({getattr(before, what)!s:.200} then, {getattr(self.head, what)!s:.200} now)"
                    detail = values if what in ("model", "adapter") else ""
                    raise ConventionError(f"{folder} was started with {RESUMED[what]}{detail}; start a new run")
                if before.repeats > self.options.repeats:
                    repeats = f"{before.repeats} repeats; resume it with as many, or with more"
                    raise ConventionError(f"{folder} has {repeats}")
                self.rows = cast("Rows", stored(folder, metric, self.options.repeats).answers)
                if self.rows.numbers[-1:] and self.rows.numbers[-1] >= self.size:
                    raise ConventionError(f"{folder} has rows of examples that are not in this gold; start a new run")
                self.failed = {self.rows.number(row): row for row in self.rows if row.error}
                if len(self.rows) == self.size and not self.failed and before.status == "finished":
                    if self.options.resume is None:
                        log.warning("%s has this run, finished: nothing is measured again", folder)
                    return True
                for number in self.failed:
                    self.rows.drop(number)
                self.head.judge_labels = self.head.judge_labels or before.judge_labels  # people's stay with the run
                self.head.started = before.started
                self.head.cost = before.cost
            self.writer.head(replace(self.head, status="running"))
            stack.pop_all()  # it stays open
        return False

    def _work(self, engine: Measuring | Cluster, failures: Failures) -> str:
        """Make and keep the missing rows; the reason to stop early, or nothing."""
        repeats = self.options.repeats
        is_shown = self.options.progress and not quiet()
        zero = self.metric.zero
        total = zero
        waiting = deque(
            self.rows if is_shown else ()
        )  # until a value is shown, so that threads do not queue for the sum
        todo = self.rows.missing(len(self.gold))

        def make(number: int, measuring: Measuring | Cluster = engine) -> Row:
            index, repeat = divmod(number, repeats)
            row = measuring(index, self.gold[index], Account(self.meter, self.measuring.trace, self.rest))
            if repeats > 1:
                row.repeat = repeat + 1
            return row

        def keep(row: Row) -> str:
            if earlier := self.failed.get(self.rows.number(row)):
                row.retried = True
                self.rest.add(earlier.usage)
            if isinstance(self.metric, FunctionMetric):  # an actor of Ray may have seen other names first
                self.metric.check_names(row.tallies)
            offset = 0
            if self.writer is not None:
                row, offset = self.writer.row(row)
            self.rows.add(row, offset)
            if is_shown:
                waiting.append(row)
            return failures.add(str(row.id), row.error)

        measure = zero.weighted[0] if len(zero.weighted) == 1 else "metric"
        name = str(self.head.name)
        with run_progress(self.size, len(self.rows), shown=is_shown, name=name, measure=measure) as bar:

            def show() -> None:
                nonlocal total
                while waiting:
                    tallies = waiting.popleft().tallies  # of a function also values that only the whole run knows
                    total += zero.from_state({key: state for key, state in tallies.items() if key in zero})
                if is_shown:
                    bar(len(self.rows), float(total.value), len(failures.errors))

            # a function's names are those of its first example, so the workers start when they are known
            for number in islice(todo, 0 if self.metric.has_fixed_names else PROBES):
                if reason := keep(make(number, self.measuring)):
                    return reason
                if self.metric.has_fixed_names:
                    break
            return work_through(todo, make, keep, threads=self.threads, show=show)
