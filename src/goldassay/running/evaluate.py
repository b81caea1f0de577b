"""Evaluating a program on gold: linear, in threads or on Ray, written row by row, stopped if it makes no sense."""

from __future__ import annotations

import logging
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, chdir, closing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import dspy

from goldassay._dspy_compat import input_keys, without_cache
from goldassay.exceptions import ConventionError, GoldassayError, RunStopped, StorageError
from goldassay.fields import Fields, Record, check_unique, shared_text
from goldassay.lm import models
from goldassay.measure import parse
from goldassay.measures.judged import JudgeLabels
from goldassay.metric import AnyMetric, FunctionMetric, Metric, raised_notes
from goldassay.progress import quiet, run_progress
from goldassay.running import asynchronous
from goldassay.running.about import SAME, about_run, described_measures, different, now
from goldassay.running.account import TOKENS, Account, current
from goldassay.running.budget import LAST, BudgetSpent, Meter
from goldassay.running.engines import Cluster, Failures, work_through
from goldassay.running.example import Measuring
from goldassay.running.folder import ABOUT, ROWS, Writer, read_about
from goldassay.running.guard import Program, with_fresh_answers
from goldassay.running.leaks import find_leaks, leak_warning
from goldassay.running.rows import Row, Rows
from goldassay.running.run import Run, stored, zero_of
from goldassay.secrets import redact, remember
from goldassay.tally import Evidence

ENGINES = ("threads", "ray")
PROBES = 3  # examples that may fail, one after the other, before the workers start


@dataclass(frozen=True)
class RunOptions:
    """The options of `goldassay.evaluate` and of everything that evaluates on the way (tuning, patches, stages).

    >>> RunOptions(threads=8).changed(seed=3, limit=20).seed
    3

    Args:
        threads: How many examples are in flight at once.
        engine: ``threads`` of this process, or ``ray``: actors on this machine or on a cluster. The rows are the same.
        workers: The number of Ray actors; by default one for each processor, and at most ``threads``.
        ray_address: The Ray cluster to join; by default Ray runs on this machine.
        limit: Run only the first ``limit`` examples.
        repeats: How often each example is asked, without DSPy's cache. Its mean answer counts, and the model's own
            noise is told apart from the differences between examples.
        seed: The seed of the intervals.
        timeout: Seconds that one example may take.
        max_failures: The share of failed examples (after 20) at which the run stops; 1 never stops it. A model that
            answers no more always does.
        budget: What the run may use, such as ``"calls=200,tokens=1e6,usd=2,minutes=5"``. A run stops when its budget is
            spent, and can be resumed.
        folder: A new folder for this run; by default the run stays in memory.
        name: The name of the run.
        resume: The folder of an unfinished run. Missing rows are made and failed rows are retried; program, code,
            model, adapter, gold and metric must be the same.
        progress: Show a progress bar if standard error is a terminal.
        trace: Store inputs, gold, prompts and raw answers in the rows of the folder, for reports.
        settings: More entries for the ``settings`` of ``run.json``.
        lm: The language model or its name (`goldassay.lm.resolve`); by default the one that DSPy is configured with.
        adapter: The adapter; by default the one that DSPy is configured with.
        check_leaks: Warn before any call if the program's prompts show gold examples (`goldassay.running.leaks`), or if
            examples share texts and name no document (`goldassay.fields.shared_text`).
        judge_labels: Human labels of some examples, by the name of a judged value (``{"relevance": {"q1": 0.5}}``). The
            run then also has corrected values (`goldassay.measures.judged`).

    Raises:
        GoldassayError: An option is out of range.
    """

    threads: int = 1
    engine: str = "threads"
    workers: int | None = None
    ray_address: str | None = None
    limit: int | None = None
    repeats: int = 1
    seed: int = 0
    timeout: float | None = None
    max_failures: float = 0.5
    budget: str | None = None
    folder: Path | str | None = None
    name: str = "run"
    resume: Path | str | None = None
    progress: bool = True
    trace: bool = True
    settings: Mapping[str, object] = field(default_factory=dict)
    lm: dspy.BaseLM | str | None = None
    adapter: dspy.Adapter | None = None
    judge_labels: JudgeLabels | None = None
    check_leaks: bool = True

    def __post_init__(self) -> None:
        for name in ("threads", "repeats", "workers"):
            if (number := getattr(self, name)) is not None and number < 1:
                raise GoldassayError(f"{name} are at least 1, not {number}")
        if self.engine not in ENGINES:
            raise GoldassayError(f"no engine {self.engine!r}; there are {', '.join(ENGINES)}")
        if self.timeout is not None and not self.timeout > 0:
            raise GoldassayError(f"a timeout is a number of seconds above 0, not {self.timeout:g}")
        if not 0 <= self.max_failures <= 1:
            raise GoldassayError(f"max_failures is a share between 0 and 1, not {self.max_failures:g}")

    def changed(self, **changes: Any) -> RunOptions:
        """These options with other values for some fields."""
        return replace(self, **changes)

    def resolved(self) -> RunOptions:
        """These options with a model and an adapter in place of the model's name."""
        if not isinstance(self.lm, str):
            return self
        model = models.resolve(self.lm)
        return self.changed(lm=model, adapter=self.adapter or models.adapter(model))


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
    for index, example in enumerate(gold):
        if input_keys(example) is None:
            raise GoldassayError(
                f"gold example {index} ({type(example).__name__}) does not say which of its fields are inputs: "
                "add .with_inputs('text', …) to a dspy.Example"
            )
    if isinstance(gold, (list, tuple)):  # those of a large file are unique
        check_unique(gold)
    evaluation = _Evaluation(program, gold, metric if isinstance(metric, Metric) else Metric.of(metric), use)
    with chdir("."):  # a program may change the current folder, and paths stay what they were
        if use.engine == "threads":
            return evaluation.run(evaluation.measuring)
        with closing(Cluster(evaluation.measuring, evaluation.context, use, evaluation.threads)) as cluster:
            return evaluation.run(cluster)


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
        self._unit = "examples" if options.repeats == 1 else "answers"
        self.threads = min(options.threads, self.size)
        lm: Any = options.lm or dspy.settings.lm
        remember(program, metric, lm)
        self.about = about_run(program, gold, metric, options, lm)
        checks = (leak_warning(find_leaks(program, gold), gold), shared_text(gold)) if options.check_leaks else ()
        if warnings := list(filter(None, checks)):
            self.about["warnings"] = warnings
            logging.getLogger("goldassay").warning("%s", "; ".join(warnings))
        if options.repeats > 1:  # an answer from a cache is no second answer
            lm = lm and without_cache(lm)
            program = with_fresh_answers(program)
        context = {"lm": lm, "adapter": options.adapter or dspy.settings.adapter}
        self.context = {name: value for name, value in context.items() if value is not None}
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
            run.about |= {"judge_labels": self.options.judge_labels} if self.options.judge_labels else {}
            return run
        before = self.about["cost"]
        started = time.perf_counter()
        failures = Failures(self.options.max_failures, worked=len(self.rows))
        status = "interrupted"
        reason = ""
        cause: BaseException | None = None
        try:
            with self.rest.open(), dspy.context(**self.context):
                reason = self._work(engine, failures)
            status = "stopped"
            if len(self.rows) == self.size:
                reason = failures.all
                if not reason and self.meter.outer is None:  # a tuning goes on, until no model answers
                    self.meter.check_endpoints(LAST)
                status = "finished"
        except (BudgetSpent, StorageError) as error:
            if self.meter.outer is not None:
                self.meter.outer.check()  # a budget of the tuning that evaluates stops the tuning
            safe = self.writer is None or (self.writer.folder / ROWS).exists()
            status = "stopped"
            reason = f"{error}; what was done is safe" if safe else str(error)
            cause = error
        finally:
            cost = self._cost(before, time.perf_counter() - started)
            measures = described_measures(self.metric.measures, self.metric.weights, self.metric.targets)
            self.about |= {"status": status, "finished": now(), "cost": cost, "measures": measures}
            if notes := raised_notes(failures.errors, f"{len(self.rows)} {self._unit}"):
                self.about["notes"] = notes
            run = Run(self.about, self.rows, self.metric.zero, self.folder)
            if self.writer is not None:  # on a full disk, a run that stops for that keeps its first head
                with closing(self.writer), suppress(StorageError) if reason else nullcontext():
                    self.writer.about({**self.about, **(run.results if self.rows else {})})
        if reason:
            raise RunStopped(self._explained(reason), run) from cause
        return run

    def _open(self, folder: Path) -> bool:
        """Open the folder of this run and read the rows that it has; whether nothing is left to do."""
        resumes = self.options.resume is not None
        if resumes:
            read_about(folder)  # there must be a run, before anything is written
        elif (folder / ABOUT).exists():
            raise GoldassayError(f"{folder} holds a run already; choose another, or resume it (`resume={folder}`)")
        for file in () if resumes else sorted(folder.parent.glob(f"*/{ABOUT}"), reverse=True):
            with suppress(GoldassayError):
                earlier = read_about(file.parent)
                about = self.about if self.metric.has_fixed_names else {**self.about, "measures": earlier["measures"]}
                if earlier.get("status") != "finished" and different(earlier, about) is None:
                    message = "%s is an unfinished run of the same, which can be resumed"
                    logging.getLogger("goldassay").warning(message, file.parent)
                    break
        with ExitStack() as stack:
            self.writer = stack.enter_context(closing(Writer(folder)))
            self.rows = Rows(folder / ROWS, self.options.repeats)
            if resumes and self._resume(folder):
                return True
            self.writer.about({**self.about, "status": "running"})
            stack.pop_all()  # it stays open
        return False

    def _resume(self, folder: Path) -> bool:
        """Read the rows of the run to resume; whether nothing is left to do."""
        before = read_about(folder)
        if isinstance(self.metric, FunctionMetric) and before["measures"].keys() != self.metric.measures.keys():
            measures = {name: parse(each["measure"]) for name, each in before["measures"].items()}
            self.metric.fix_names(measures, zero_of(before, folder).weights)
            self.about["measures"] = described_measures(self.metric.measures, self.metric.weights, self.metric.targets)
        if what := different(before, self.about):
            both = f" ({before.get(what)!s:.200} then, {self.about.get(what)!s:.200} now)"
            detail = both if what in ("model", "adapter") else ""
            raise ConventionError(f"{folder} was started with {SAME[what]}{detail}; start a new run")
        if before.get("repeats", 1) > self.options.repeats:
            raise ConventionError(f"{folder} has {before['repeats']} repeats; resume it with as many, or with more")
        rows: Any = stored(folder, self.metric, self.options.repeats).answers
        self.rows = rows
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
        repeats = self.options.repeats
        shown = self.options.progress and not quiet()
        total = _RunningTotal(self.metric.zero, self.rows if shown else ())
        todo = self.rows.missing(len(self.gold))

        def make(number: int, measuring: Measuring | Cluster = engine) -> Row:
            index, repeat = divmod(number, repeats)
            row = measuring(index, self.gold[index], Account(self.meter, self.measuring.trace, self.rest))
            if repeats > 1:
                row["repeat"] = repeat + 1
            return row

        def keep(row: Row) -> str:
            if earlier := self.failed.get(self.rows.number(row)):
                row["retried"] = True
                self.rest.add(earlier.get("usage", {}))
            if isinstance(self.metric, FunctionMetric):  # an actor of Ray may have seen other names first
                self.metric.check_names(row["tallies"])
            offset = 0
            if self.writer is not None:
                row, offset = self.writer.row(row)
            self.rows.add(row, offset)
            if shown:
                total.waiting.append(row)
            return failures.add(str(row["id"]), str(row.get("error") or ""))

        name = str(self.about["name"])
        with run_progress(self.size, len(self.rows), shown=shown, name=name, measure=total.measure) as bar:

            def show() -> None:
                if shown:
                    bar(len(self.rows), total.value(), len(failures.errors))

            # a function's names are those of its first example, so the workers start when they are known
            for number in islice(todo, 0 if self.metric.has_fixed_names else PROBES):
                if reason := keep(make(number, self.measuring)):
                    return reason
                if self.metric.has_fixed_names:
                    break
            return work_through(todo, make, keep, threads=self.threads, show=show)

    def _cost(self, before: Record, seconds: float) -> Fields:
        """Calls, cached answers, tokens, seconds and money, with those of the run that is resumed.

        ``outside_rows`` is what belongs to no row: calls that outlive their example, and earlier tries.
        """
        outside = Counter(before.get("outside_rows") or {}) + Counter(self.rest.usage)
        cost = Counter({"calls": 0, "cached": 0, **dict.fromkeys(TOKENS, 0)}, **outside)
        for row in self.rows:
            cost.update(row.get("usage", {}))
        usd = round(self.meter.used["usd"] + float(before.get("usd", 0.0)), 6)
        rest = {"usd": usd, "outside_rows": dict(outside)}
        seconds = round(seconds + float(before.get("seconds", 0.0)), 3)
        return {**cost, "seconds": seconds, **{name: value for name, value in rest.items() if value}}

    def _explained(self, reason: str) -> str:
        """Why the run stopped, after how much, and how it goes on."""
        done = len(self.rows)
        where = f"stopped after {done} of {self.size} {self._unit}: " if done < self.size else ""
        fix = "" if "budget" in reason else "fix it and "
        how = f"; {fix}resume with `resume={self.folder}`" if self.folder and (self.folder / ROWS).exists() else ""
        return f"{where}{redact(reason)}{how}"


class _RunningTotal:
    """The value of the rows so far, for the progress.

    Rows wait until a value is shown, so that the threads that make them do not queue for the addition. A function's own
    values are left out: only the finished run knows them all.
    """

    def __init__(self, zero: Evidence, rows: Iterable[Row]) -> None:
        weighted = [key for key in zero if zero.weights.get(key, 1.0)]
        self.measure = weighted[0] if len(weighted) == 1 else "metric"
        self.waiting = deque(rows)
        self._zero = zero
        self._total = zero

    def value(self) -> float:
        """The value, with the rows that wait."""
        while self.waiting:
            tallies = self.waiting.popleft()["tallies"]
            known = {key: state for key, state in tallies.items() if key in self._zero}
            self._total = self._total + self._zero.from_state(known)
        return float(self._total.value)
