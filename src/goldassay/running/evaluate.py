"""Evaluating a program on gold: linear, in threads or on Ray, written row by row, stopped if it makes no sense."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import chdir, closing, nullcontext, suppress
from pathlib import Path
from typing import Any

import dspy

from goldassay._dspy_compat import without_cache
from goldassay.exceptions import ConventionError, GoldassayError, RunStopped, StorageError
from goldassay.fields import check_unique, shared_text
from goldassay.metric import AnyMetric, Metric
from goldassay.progress import run_progress
from goldassay.running.calls import TOKENS, Account, BudgetSpent, Meter, current
from goldassay.running.cluster import Cluster
from goldassay.running.example import Measuring, Program, check_inputs, with_fresh_answers
from goldassay.running.folder import ABOUT, ROWS, Writer, read_about
from goldassay.running.identity import about_run, different, now, refuse_another
from goldassay.running.leaks import find_leaks, leak_warning
from goldassay.running.loop import Failures, asynchronous, work_through
from goldassay.running.options import RunOptions
from goldassay.running.rows import Row, Rows
from goldassay.running.run import Run, stored
from goldassay.secrets import redact, remember


def evaluate(
    program: Program,
    gold: Sequence[dspy.Example],
    metric: AnyMetric,
    options: RunOptions | None = None,
    **changes: Any,
) -> Run:
    """Run ``program`` on every gold example and measure it.

    A program that raises, or returns what cannot be measured, gives a failed row, and its gold counts as missed. With a
    ``folder`` every row is on disk as soon as it is made; Ctrl-C leaves a readable run that ``resume`` continues.

    Args:
        program: A DSPy module, or any callable that takes an example's inputs.
        gold: Examples that name their inputs (``with_inputs``).
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
    gold = gold[: use.limit]
    if not gold:
        raise GoldassayError("there are no gold examples to evaluate on")
    check_inputs(gold)
    if isinstance(gold, (list, tuple)):  # those of a large file are unique
        check_unique(gold)
    return _Evaluation(program, gold, metric if isinstance(metric, Metric) else Metric.of(metric), use).run()


aevaluate = asynchronous(evaluate)
"""`evaluate` for asynchronous code."""


class _Evaluation:
    """One call of `evaluate`: its head, its folder, its rows."""

    def __init__(self, program: Program, gold: Sequence[dspy.Example], metric: Metric, options: RunOptions) -> None:
        self.gold, self.metric, self.options = gold, metric, options
        place = options.resume or options.folder
        self.folder = None if place is None else Path(place)
        self.size = len(gold) * options.repeats  # rows of the whole run
        lm: Any = options.lm or dspy.settings.lm
        adapter = options.adapter or dspy.settings.adapter
        remember(program, metric, lm)
        self.about = about_run(program, gold, metric, options, lm)
        checks = (leak_warning(find_leaks(program, gold), gold), shared_text(gold)) if options.check_leaks else ()
        if warnings := list(filter(None, checks)):
            self.about["warnings"] = warnings
            logging.getLogger("goldassay").warning("%s", "; ".join(warnings))
        if options.repeats > 1:  # an answer from a cache is no second answer
            lm, program = lm and without_cache(lm), with_fresh_answers(program)
        self.context = {name: value for name, value in (("lm", lm), ("adapter", adapter)) if value is not None}
        self.measuring = Measuring(program, metric, options.trace and place is not None, options.timeout)
        self.rows = Rows(repeats=options.repeats)
        self.failed = dict[int, Row]()  # rows of the run to resume that are tried again
        self.writer: Writer | None = None
        outer = current()
        self.meter = Meter(options.budget, outer.meter if outer is not None else None)
        self.rest = Account(self.meter)  # calls that belong to no row

    def run(self) -> Run:
        """Make the missing rows; the run, whole."""
        with chdir("."):  # a program may change the current folder, and paths stay what they were
            if self.options.engine == "threads":
                return self._run(self.measuring)
            with closing(Cluster(self.measuring, self.context, self.options, self.threads)) as cluster:
                return self._run(cluster)

    @property
    def threads(self) -> int:
        """How many examples are in flight."""
        return min(self.options.threads, self.size)

    def _run(self, engine: Measuring | Cluster) -> Run:
        if self.folder is not None and self._open(self.folder):
            run = Run.load(self.folder, self.metric)  # it is finished
            run.about |= {"judge_labels": self.options.judge_labels} if self.options.judge_labels else {}
            return run
        before, started = self.about["cost"], time.perf_counter()
        failures = Failures(self.options.max_failures, worked=len(self.rows))
        status, reason, cause = "interrupted", "", None
        try:
            with self.rest.open(), dspy.context(**self.context):
                reason = self._work(engine, failures)
            done = len(self.rows) == self.size
            status, reason = ("finished", failures.all) if done else ("stopped", reason)
        except (BudgetSpent, StorageError) as error:
            if self.meter.outer is not None:
                self.meter.outer.check()  # a budget of the tuning that evaluates stops the tuning
            safe = self.writer is None or (self.writer.folder / ROWS).exists()
            status, reason, cause = "stopped", f"{error}{'; what was done is safe' if safe else ''}", error
        finally:
            self.about |= {"status": status, "finished": now()}
            self.about["cost"] = self._cost(before, time.perf_counter() - started)
            run = Run(self.about, self.rows, self.metric.zero, self.folder)
            if self.writer is not None:  # on a full disk, a run that stops for that keeps its first head
                with closing(self.writer), suppress(StorageError) if reason else nullcontext():
                    self.writer.about({**self.about, **(run.results if self.rows else {})})
        if reason:
            raise RunStopped(self._explained(reason), run) from cause
        return run

    def _open(self, folder: Path) -> bool:
        """Open the folder of this run and read the rows that it has; whether nothing is left to do."""
        resume = self.options.resume is not None
        if resume:
            read_about(folder)  # there must be a run, before anything is written
        elif (folder / ABOUT).exists():
            raise GoldassayError(f"{folder} holds a run already; choose another, or resume it (`resume={folder}`)")
        else:
            self._tell_of_unfinished_run(folder.parent)
        self.writer = Writer(folder)
        try:
            self.rows = Rows(folder / ROWS, self.options.repeats)
            finished = resume and self._resume(folder)
            if finished:
                self.writer.close()
            else:
                self.writer.about({**self.about, "status": "running"})
        except BaseException:
            self.writer.close()
            raise
        return finished

    def _tell_of_unfinished_run(self, runs: Path) -> None:
        for file in sorted(runs.glob(f"*/{ABOUT}"), reverse=True):
            with suppress(GoldassayError):
                earlier = read_about(file.parent)
                if earlier.get("status") != "finished" and different(earlier, self.about) is None:
                    message = "%s is an unfinished run of the same, which can be resumed"
                    logging.getLogger("goldassay").warning(message, file.parent)
                    return

    def _resume(self, folder: Path) -> bool:
        """Read the rows of the run to resume; whether nothing is left to do."""
        before = read_about(folder)
        refuse_another(before, self.about, folder)
        if before.get("repeats", 1) > self.options.repeats:
            raise ConventionError(f"{folder} has {before['repeats']} repeats; resume it with as many, or with more")
        _, self.rows = stored(folder, self.metric, self.options.repeats)
        if self.rows.numbers[-1:] and self.rows.numbers[-1] >= self.size:
            raise ConventionError(f"{folder} has rows of examples that are not in this gold; start a new run")
        self.failed = {self.rows.number(row): row for row in self.rows if row.get("error")}
        if len(self.rows) == self.size and not self.failed and before.get("status") == "finished":
            return True
        for number in self.failed:
            self.rows.drop(number)
        labels = self.about.get("judge_labels", before.get("judge_labels"))  # those of people stay with the run
        self.about |= {"started": before.get("started"), "cost": before.get("cost", {})}
        self.about |= {"judge_labels": labels} if labels else {}
        return False

    def _work(self, engine: Measuring | Cluster, failures: Failures) -> str:
        """Make and keep the missing rows; the reason to stop early, or nothing."""
        repeats, zero = self.options.repeats, self.metric.zero
        weighted = [key for key in zero if zero.weights.get(key, 1.0)]
        measure = weighted[0] if len(weighted) == 1 else "metric"

        def evidence(row: Row) -> Any:  # for the progress; a function's own values are known by their rows only
            return zero.from_state({key: state for key, state in row["tallies"].items() if key in zero})

        total = sum(map(evidence, self.rows), zero)

        def make(number: int) -> Row:
            index, repeat = divmod(number, repeats)
            row = engine(index, self.gold[index], Account(self.meter, self.measuring.trace, self.rest))
            return row | ({"repeat": repeat + 1} if repeats > 1 else {})

        def keep(row: Row) -> str:
            nonlocal total
            if earlier := self.failed.get(self.rows.number(row)):
                row["retried"] = True
                self.rest.add(earlier.get("usage", {}))
            row, offset = self.writer.row(row) if self.writer else (row, 0)
            self.rows.add(row, offset)
            total = total + evidence(row)
            return failures.add(str(row["id"]), str(row.get("error") or ""), engine.hopeless)

        name, shown = str(self.about["name"]), self.options.progress
        with run_progress(self.size, len(self.rows), shown=shown, name=name, measure=measure) as bar:
            show = lambda: bar(len(self.rows), total, failures.failed)  # noqa: E731
            return work_through(self.rows.missing(len(self.gold)), make, keep, threads=self.threads, show=show)

    def _cost(self, before: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Calls, cached answers, tokens, seconds and money, with those of the run that is resumed.

        ``outside_rows`` is what belongs to no row: calls that outlive their example, and earlier tries.
        """
        outside = Counter(before.get("outside_rows") or {}) + Counter(self.rest.usage)
        cost = Counter({"calls": 0, "cached": 0, **dict.fromkeys(TOKENS, 0)}, **outside)
        for row in self.rows:
            cost.update(row.get("usage", {}))
        usd = self.meter.used["usd"] + float(before.get("usd", 0.0))
        rest = {"usd": round(usd, 6), "outside_rows": dict(outside)}
        seconds += float(before.get("seconds", 0.0))
        return {**cost, "seconds": round(seconds, 3), **{name: value for name, value in rest.items() if value}}

    def _explained(self, reason: str) -> str:
        """Why the run stopped, after how much, and how it goes on."""
        done, what = len(self.rows), "examples" if self.options.repeats == 1 else "answers"
        where = f"stopped after {done} of {self.size} {what}: " if done < self.size else ""
        fix = "" if "budget" in reason else "fix it and "
        how = f"; {fix}resume with `resume={self.folder}`" if self.folder and (self.folder / ROWS).exists() else ""
        return f"{where}{redact(reason)}{how}"
