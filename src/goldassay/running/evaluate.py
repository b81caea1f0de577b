"""Evaluating a program on gold: linear, in threads or on Ray, written row by row, stopped if it makes no sense."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import chdir, closing, nullcontext, suppress
from pathlib import Path
from typing import Any

import dspy

from goldassay._dspy_compat import without_cache
from goldassay.exceptions import ConventionError, GoldassayError, RunStopped, StorageError, short_repr
from goldassay.fields import check_unique, shared_text
from goldassay.metric import AnyMetric, Metric
from goldassay.progress import Bar
from goldassay.running.budget import BudgetSpent, Meter
from goldassay.running.calls import TOKENS, Account, current
from goldassay.running.cluster import Cluster
from goldassay.running.example import Measuring, Program, check_inputs, with_fresh_answers
from goldassay.running.folder import ABOUT, ROWS, Writer, read_about
from goldassay.running.identity import about_run, last_unfinished, now, refuse_another
from goldassay.running.leaks import find_leaks, leak_warning
from goldassay.running.loop import Failures, work_through
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
        what = f"the class {program.__name__}: make one" if isinstance(program, type) else short_repr(program, 100)
        raise GoldassayError(f"a program is a DSPy module or a function of an example's inputs, not {what}")
    gold = gold[: use.limit]
    if not gold:
        raise GoldassayError("there are no gold examples to evaluate on")
    check_inputs(gold)
    if isinstance(gold, (list, tuple)):  # those of a large file are unique
        check_unique(gold)
    measured = metric if isinstance(metric, Metric) else Metric.of(metric)
    return _Evaluation(program, gold, measured, use).run()


async def aevaluate(
    program: Program,
    gold: Sequence[dspy.Example],
    metric: AnyMetric,
    options: RunOptions | None = None,
    **changes: Any,
) -> Run:
    """`evaluate` for asynchronous code, with the same arguments; it does not block the event loop.

    >>> import asyncio, dspy
    >>> gold = [dspy.Example(text="a", label="A").with_inputs("text")]
    >>> exact = lambda gold, pred: gold["label"] == pred["label"]
    >>> asyncio.run(aevaluate(lambda text: dspy.Prediction(label=text.upper()), gold, exact)).value
    1.0
    """
    return await asyncio.to_thread(evaluate, program, gold, metric, options, **changes)


class _Evaluation:
    """One call of `evaluate`: its head, its folder, its rows."""

    def __init__(self, program: Program, gold: Sequence[dspy.Example], metric: Metric, options: RunOptions) -> None:
        self.gold, self.metric, self.options = gold, metric, options
        place = options.resume or options.folder
        self.folder = None if place is None else Path(place)
        self.size = len(gold) * options.repeats  # rows of the whole run
        lm: Any = options.lm or dspy.settings.lm
        adapter = options.adapter or dspy.settings.adapter
        self.context = {name: value for name, value in (("lm", lm), ("adapter", adapter)) if value is not None}
        remember(program, metric, lm)
        self.about = about_run(program, gold, metric, options, lm)
        checks = (leak_warning(find_leaks(program, gold), gold), shared_text(gold)) if options.check_leaks else ()
        for warning in filter(None, checks):
            self.about.setdefault("warnings", []).append(warning)
            logging.getLogger("goldassay").warning("%s", warning)
        if options.repeats > 1:  # an answer from a cache is no second answer
            self.context |= {"lm": without_cache(lm)} if lm is not None else {}
            program = with_fresh_answers(program)
        self.measuring = Measuring(program, metric, options.trace and place is not None, options.timeout)
        self.rows = Rows(repeats=options.repeats)
        self.failed = dict[int, Row]()  # rows of the run to resume that are tried again
        self.writer: Writer | None = None
        outer = current()
        self.meter = Meter(options.budget, outer.meter if outer is not None else None)
        self.rest = Account(self.meter)  # calls that belong to no row

    def run(self) -> Run:
        """Make the missing rows; the run, whole."""
        threads = min(self.options.threads, self.size)
        with chdir("."):  # a program may change the current folder, and paths stay what they were
            if self.options.engine == "threads":
                return self._run(self.measuring, threads)
            with closing(Cluster(self.measuring, self.context, self.options, threads)) as cluster:
                return self._run(cluster, threads)

    def _run(self, engine: Measuring | Cluster, threads: int) -> Run:
        if self.folder is not None and self._open(self.folder):
            run = Run.load(self.folder, self.metric)  # it is finished
            run.about |= {"judge_labels": self.options.judge_labels} if self.options.judge_labels else {}
            return run
        before, started = self.about["cost"], time.perf_counter()
        failures = Failures(self.options.max_failures, worked=len(self.rows))
        status, reason, cause = "interrupted", "", None
        try:
            with self.rest.open(), dspy.context(**self.context):
                reason = self._work(engine, failures, threads)
            reason = reason if len(self.rows) < self.size else failures.all
            status = "finished" if len(self.rows) == self.size else "stopped"
        except (BudgetSpent, StorageError) as error:
            if self.meter.outer is not None:
                self.meter.outer.check()  # a budget of the tuning that evaluates stops the tuning
            safe = self.writer is None or (self.writer.folder / ROWS).exists()
            status, reason, cause = "stopped", f"{error}{'; what was done is safe' if safe else ''}", error
        finally:
            self.about |= {"status": status, "finished": now()}
            self.about["cost"] = self._cost(before, time.perf_counter() - started)
            run = Run(self.about, self.rows, self.metric.zero, self.folder)
            self._close(run, bool(reason))
        if reason:
            raise self._stopped(reason, run) from cause
        return run

    def _open(self, folder: Path) -> bool:
        """Open the folder of this run and read the rows that it has; whether nothing is left to do."""
        resume = self.options.resume is not None
        if resume:
            read_about(folder)  # there must be a run, before anything is written
        elif (folder / ABOUT).exists():
            ended = read_about(folder).get("status") == "finished"
            how = "choose another folder" if ended else f"resume it (`resume={folder}`), or choose another folder"
            raise GoldassayError(f"{folder} holds {'a' if ended else 'an unfinished'} run already; {how}")
        elif (earlier := last_unfinished(folder.parent, self.about)) is not None:
            logging.getLogger("goldassay").warning("%s is an unfinished run of the same, which can be resumed", earlier)
        self.writer = Writer(folder)
        try:
            self.rows = Rows(folder / ROWS, self.options.repeats)
            if resume and self._resume(folder):
                self.writer.close()
                return True
            self.writer.about({**self.about, "status": "running"})
        except BaseException:
            self.writer.close()
            raise
        return False

    def _resume(self, folder: Path) -> bool:
        """Read the rows of the run to resume; whether nothing is left to do."""
        before = read_about(folder)
        refuse_another(before, self.about, folder)
        if before.get("repeats", 1) > self.options.repeats:
            raise ConventionError(f"{folder} has {before['repeats']} repeats; resume it with as many, or with more")
        earlier, self.rows = stored(folder, self.metric, self.options.repeats)
        if self.rows.numbers[-1:] and self.rows.numbers[-1] >= self.size:
            raise ConventionError(f"{folder} has rows of examples that are not in this gold; start a new run")
        self.failed = {self.rows.number(row): row for row in self.rows if row.get("error")}
        if len(self.rows) == self.size and not self.failed and earlier.about.get("status") == "finished":
            return True
        for number in self.failed:
            self.rows.drop(number)
        self.about |= {"started": earlier.about.get("started"), "cost": earlier.cost}
        if "judge_labels" in earlier.about:  # human labels stay with the run, unless others are passed
            self.about.setdefault("judge_labels", earlier.about["judge_labels"])
        return False

    def _work(self, engine: Measuring | Cluster, failures: Failures, threads: int) -> str:
        """Make and keep the missing rows; the reason to stop early, or nothing."""
        repeats = self.options.repeats
        zero = self.metric.zero
        weighted = [key for key in zero if zero.weights.get(key, 1.0)]
        labels = {"name": str(self.about["name"]), "measure": weighted[0] if len(weighted) == 1 else "metric"}
        bar = Bar(self.size, len(self.rows), self.options.progress, **labels)

        def evidence(row: Row) -> Any:  # for the progress; a function's own values are known by their rows only
            return zero.from_state({key: state for key, state in row["tallies"].items() if key in zero})

        total = sum((evidence(row) for row in self.rows), zero) if self.options.progress else zero

        def make(number: int) -> Row:
            index, repeat = divmod(number, repeats)
            row = engine(index, self.gold[index], Account(self.meter, self.measuring.trace, self.rest))
            return row | ({"repeat": repeat + 1} if repeats > 1 else {})

        def keep(row: Row) -> str:
            nonlocal total
            earlier = self.failed.get(self.rows.number(row), {})
            self.rest.add(earlier.get("usage", {}))
            row, offset = self.writer.row(row) if self.writer else (row, 0)
            self.rows.add(row, offset)
            total = total + evidence(row) if self.options.progress else total
            return failures.add(str(row["id"]), str(row.get("error") or ""), engine.hopeless)

        with bar:
            todo = self.rows.missing(len(self.gold))
            return work_through(
                todo, make, keep, threads=threads, show=lambda: bar.show(len(self.rows), total, failures.failed)
            )

    def _cost(self, before: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """Calls, cached answers, tokens, seconds and money, with those of the run that is resumed.

        ``outside_rows`` is what belongs to no row: calls that outlive their example, and earlier tries.
        """
        outside = Counter(before.get("outside_rows") or {}) + Counter(self.rest.usage)
        cost = Counter({"calls": 0, "cached": 0, **dict.fromkeys(TOKENS, 0)})
        for usage in (outside, *(row.get("usage", {}) for row in self.rows)):
            cost.update(usage)
        usd = self.meter.usd + float(before.get("usd", 0.0))
        return {
            **cost,
            "seconds": round(seconds + float(before.get("seconds", 0.0)), 3),
            **({"usd": round(usd, 6)} if usd else {}),
            **({"outside_rows": dict(outside)} if outside else {}),
        }

    def _close(self, run: Run, stopped: bool) -> None:
        """Write the end of ``run.json``; on a full disk, a run that stops for that keeps its first one."""
        if self.writer is not None:
            with closing(self.writer), suppress(StorageError) if stopped else nullcontext():
                self.writer.about({**self.about, **(run.results if self.rows else {})})

    def _stopped(self, reason: str, run: Run) -> RunStopped:
        done, what = len(self.rows), "examples" if self.options.repeats == 1 else "answers"
        where = f"stopped after {done} of {self.size} {what}: " if done < self.size else ""
        fix = "" if "budget" in reason else "fix it and "
        how = f"; {fix}resume with `resume={self.folder}`" if self.folder and (self.folder / ROWS).exists() else ""
        return RunStopped(f"{where}{redact(reason)}{how}", run)
