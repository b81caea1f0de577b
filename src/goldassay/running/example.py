"""One example: run, measured, and written as a row, whatever happens to it; and the calls of models that it makes.

Whatever a program does with one example is a result of that example: it may raise (also ``SystemExit`` or
``CancelledError``), or return what no measure can read. Only Ctrl-C and a spent budget propagate. A failed example is a
prediction that carries its error; `guard` and `guarded` make a program that never raises, and `Measuring` turns an
example into its row.

Calls are counted, recorded and held to a budget in calls, tokens, money or minutes. An `Account` is a callback in
DSPy's settings, so it hears every call of any model in its context, also in threads of ``dspy.Parallel``. Tokens,
prices and prompts come from the entry that DSPy appends to the model's ``history``. Threads that a program starts
itself, without DSPy's context, are not counted.
"""

from __future__ import annotations

import asyncio
import contextvars
import ctypes
import inspect
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import contextmanager
from typing import Any, TypeAlias, TypeVar

import dspy

from goldassay._dspy_compat import HOPELESS_ERRORS, BaseCallback, history_entry, was_cut, without_cache
from goldassay.exceptions import GoldassayError, one_line
from goldassay.fields import identity
from goldassay.lm import CallNotes, watch
from goldassay.measure import failed
from goldassay.metric import failed_with
from goldassay.progress import WAITING
from goldassay.running.rows import Row, measured_row

T = TypeVar("T")
Program: TypeAlias = dspy.Module | Callable[..., Any]  # what can be run: a DSPy module, or a function of the inputs
TOKENS = ("prompt_tokens", "completion_tokens")
HISTORY = 1000  # the least length of a model's history, among whose last entries a call's own stands
UNITS = ("calls", "tokens", "usd", "minutes")


def start(function: Callable[[], T]) -> tuple[threading.Thread, Future[T]]:
    """A running daemon thread in a copy of this context, and what the function will return or raise in it."""
    future: Future[T] = Future()

    def run() -> None:
        try:
            future.set_result(function())
        except BaseException as error:  # noqa: BLE001  raised where the result is asked for
            future.set_exception(error)

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
    thread.start()
    return thread, future


class _Abandoned(BaseException):
    """Raised in the thread of an example that took too long, in case it is Python code that never ends."""


def within(seconds: float | None, function: Callable[[], T], waited: Callable[[], float] = float) -> T:
    """What a function returns within so many seconds, not counting those that it ``waited``.

    A call that takes longer is left behind in its thread.

    Raises:
        TimeoutError: It took too long.

    >>> within(1.0, lambda: "in time")
    'in time'
    """
    if seconds is None:
        return function()
    started, (thread, future) = time.monotonic(), start(function)
    while not future.done() and (left := started + seconds + waited() - time.monotonic()) > 0:
        wait([future], left)
    if future.done():
        return future.result()
    if thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(_Abandoned))
    raise TimeoutError(f"no answer within {seconds:g} s")


class BudgetSpent(BaseException):
    """The budget is spent. Not an ``Exception``: optimizers swallow those and continue with a score of 0."""


class Meter:
    """Counts what language models cost, and raises `BudgetSpent` before a call that the budget does not allow.

    A budget is like ``calls=200,tokens=1e6,usd=2,minutes=5``, with any of these. A model without a price cannot be held
    to a budget in money: the run stops after its first answer; ``unpriced`` names it. What is used also counts for
    ``outer``, such as the meter of the tuning that evaluates.

    >>> Meter("calls=200,minutes=5").limits
    {'calls': 200.0, 'minutes': 5.0}
    """

    def __init__(self, budget: str | None = None, outer: Meter | None = None) -> None:
        self.limits: dict[str, float] = {}
        for part in (budget or "").split(","):
            unit, _, amount = part.replace(" ", "").partition("=")
            try:
                self.limits |= {unit: float(amount)} if unit else {}
            except ValueError:
                raise GoldassayError(f"a budget reads like calls=200,minutes=5, not {part!r}") from None
            if unit and (unit not in UNITS or not self.limits[unit] > 0):
                raise GoldassayError(f"a budget has positive {', '.join(UNITS)}, not {part!r}")
        self.outer, self.unpriced, self._lock = outer, "", threading.Lock()
        self.used: dict[str, float] = {"calls": 0, "cached": 0, "tokens": 0, "usd": 0.0}
        self.started = time.monotonic()

    def check(self) -> None:
        """Raise if nothing is left, or if that cannot be known."""
        if self.unpriced and "usd" in self.limits:
            raise BudgetSpent(
                f"{self.unpriced} has no known price, so a budget in usd cannot stop it; use calls, tokens or minutes"
            )
        used = {**self.used, "minutes": (time.monotonic() - self.started) / 60}
        for unit, limit in self.limits.items():
            if used[unit] >= limit:
                raise BudgetSpent(f"the budget of {limit:g} {unit} is spent")

    def take(self) -> None:
        """Reserve one call, if the budget allows it."""
        if self.outer is not None:
            self.outer.take()
        with self._lock:
            self.check()
            self.used["calls"] += 1

    def add(self, unpriced: str = "", **used: float) -> None:
        """Add what calls used, and the name of a model whose price is not known.

        A reserved call that the cache answered gives ``calls=-1, cached=1``.
        """
        if self.outer is not None:
            self.outer.add(unpriced, **used)
        with self._lock:
            self.unpriced = self.unpriced or unpriced
            for name, amount in used.items():
                self.used[name] += amount

    def state(self) -> dict[str, float]:
        """What was used, as JSON."""
        seconds = round(time.monotonic() - self.started, 3)
        return {**self.used, "usd": round(self.used["usd"], 6), "seconds": seconds}


class Account(BaseCallback):  # type: ignore[misc]
    """Calls, cached answers and tokens in ``counts``; with ``record``, prompts and raw answers in ``recorded``.

    Each example has an account of its own. What a thread still asks after its example has ended counts for ``run``.
    """

    def __init__(self, meter: Meter | None = None, record: bool = False, run: Account | None = None) -> None:
        self.meter, self.record, self.run, self.ended = meter or Meter(), record, run, False
        self.counts: Counter[str] = Counter()
        self.cut: int | None = None  # tokens after which an answer was cut off
        self.recorded: list[dict[str, Any]] = []
        self._open: dict[str, tuple[Any, Mapping[str, Any], float]] = {}
        self._lock = threading.Lock()

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """A call begins, if the budget allows it."""
        self.meter.take()
        self._open[call_id] = instance, inputs, time.perf_counter()
        WAITING[call_id] = time.monotonic()

    def on_lm_end(self, call_id: str, outputs: Any, exception: BaseException | None = None) -> None:
        """A call has ended: count and record it."""
        lm, inputs, started = self._open.pop(call_id)
        WAITING.pop(call_id, None)
        entry = history_entry(lm, outputs)
        usage = {name: int(n) for name, n in (entry.get("usage") or {}).items() if isinstance(n, (int, float))}
        tokens = {name: usage.get(name, 0) for name in TOKENS}
        if was_cut(entry) and not self.ended:
            self.cut = tokens["completion_tokens"]
        cached = exception is None and not entry.get("usage") and (inputs.get("kwargs") or {}).get("cache", lm.cache)
        if cached:
            self.meter.add(calls=-1, cached=1)
        elif exception is None:
            total, usd = usage.get("total_tokens") or sum(tokens.values()), entry.get("cost")
            self.meter.add(tokens=total, usd=usd or 0.0, unpriced=str(lm.model) if total and usd is None else "")
        account = self.run if self.ended and self.run is not None else self
        account.add({"calls": int(not cached), "cached": int(bool(cached)), **tokens})
        if self.record and not self.ended:
            call = entry or inputs
            messages = call.get("messages") or [{"role": "user", "content": call.get("prompt") or ""}]
            prompt = [{"role": str(part["role"]), "content": _text(part.get("content"))} for part in messages]
            answers = "\n\n".join(map(_text, outputs or ()))
            outcome = {"answer": answers} if exception is None else {"error": str(exception)[:2000]}
            seconds = round(time.perf_counter() - started, 6)
            self.recorded.append({"lm": str(lm.model), "prompt": prompt, "seconds": seconds, **outcome})

    def add(self, counts: Mapping[str, int]) -> None:
        """Count calls, cached answers and tokens."""
        with self._lock:
            self.counts.update(counts)

    @property
    def usage(self) -> dict[str, int]:
        """Calls, tokens and cached answers; empty if no model was called."""
        always = ("calls", *TOKENS) if any(self.counts.values()) else ()
        return {name: self.counts[name] for name in (*always, "cached") if name in always or self.counts[name]}

    @contextmanager
    def open(self) -> Iterator[Account]:
        """Count the calls of this context here, and nowhere else."""
        others = [callback for callback in dspy.settings.get("callbacks") or [] if not isinstance(callback, Account)]
        history = max(dspy.settings.get("max_history_size") or 0, HISTORY)
        with dspy.context(callbacks=[*others, self], disable_history=False, max_history_size=history):
            yield self


def _text(content: object) -> str:
    """The text of a message's content; parts that are no text (pictures, files) are only named."""
    if isinstance(content, list):
        return "\n".join(map(_text, content))
    if isinstance(content, dict):
        return str(content["text"]) if "text" in content else f"[{content.get('type', 'part')}]"
    return str(content)


def current() -> Account | None:
    """The account of this context, if any."""
    callbacks = dspy.settings.get("callbacks") or []
    return next((callback for callback in callbacks if isinstance(callback, Account)), None)


@contextmanager
def aside() -> Iterator[Account]:
    """An account beside the current one, on the same budget: for a judge, whose calls are not the program's."""
    around = current()
    account = Account(around.meter if around is not None else None)
    with dspy.context(usage_tracker=None), account.open():  # the program's tokens are not the judge's
        yield account


def as_prediction(output: object) -> dspy.Prediction:
    """A program's output as a prediction: a dict gives its fields, any other value is the field ``output``.

    A generator among the fields becomes a list; a coroutine is awaited.

    >>> as_prediction({"label": "M"})
    Prediction(
        label='M'
    )
    """
    if inspect.iscoroutine(output):
        return as_prediction(asyncio.run(output))
    if isinstance(output, dspy.Prediction):
        for name, value in list(output.items()):
            if isinstance(value, Iterator):  # the second measure would find it empty
                output[name] = list(value)
        return output
    if output is None:
        return failed_with("the program returned None")
    if isinstance(output, Mapping) and output and all(isinstance(key, str) for key in output):
        return as_prediction(dspy.Prediction(dict(output)))
    return dspy.Prediction(output=output)


def failure(error: BaseException, note: str = "") -> dspy.Prediction:
    """The prediction of a program that raised: no field but the error."""
    return failed_with(f"{note}{one_line(error)}")


def _attempt(
    program: Program, inputs: Any, explain: Callable[[BaseException], str] = lambda error: ""
) -> dspy.Prediction:
    """What a program predicts, or that it failed; ``explain`` may say more of an error."""
    try:
        return as_prediction(program(**inputs))
    except (KeyboardInterrupt, BudgetSpent):
        raise
    except BaseException as error:  # noqa: BLE001  whatever a program raises is a result
        return failure(error, explain(error))


class Guard(dspy.Module):
    """Runs a program and turns what it raises into an empty prediction with the error's text.

    ``dspy.Evaluate`` gives a program that raised a constant score and forgets its gold; with a guard around it, all
    gold of the failed example counts as missed.
    """

    def __init__(self, program: Program) -> None:
        super().__init__()
        self.program = program

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return _attempt(self.program, inputs)


class _Guarded:
    """Comes before a program's own class and catches what its ``forward`` raises."""

    def forward(self, **inputs: Any) -> dspy.Prediction:
        return _attempt(super().forward, inputs)  # type: ignore[misc]


def guard(program: Program) -> Guard:
    """``program``, which never raises.

    >>> guard(lambda text: 1 / 0)(text="x").goldassay_failure
    'ZeroDivisionError: division by zero'
    """
    return program if isinstance(program, Guard) else Guard(program)


def guarded(program: dspy.Module) -> dspy.Module:
    """A deep copy of ``program`` of the same shape that never raises.

    Unlike `guard` it wraps nothing: predictors keep their names, so an optimizer may work on it and its state loads
    into the program that was passed in. `unguarded` gives the plain class back.
    """
    copy: Any = program.deepcopy()
    for predictor in copy.predictors():  # a deep copy shares the signature class, and some optimizers write on it
        predictor.signature = predictor.signature.with_instructions(predictor.signature.instructions)
    plain = type(copy)
    if not issubclass(plain, _Guarded):
        copy.__class__ = type(plain.__name__, (_Guarded, plain), {"__module__": plain.__module__})
    return copy


def unguarded(program: dspy.Module) -> dspy.Module:
    """The same program, of the class it had before `guarded`."""
    if isinstance(program, _Guarded):
        program.__class__ = type(program).__mro__[2]
        vars(program).pop("forward", None)  # DSPy's tracing leaves the guarded method on the instance
    return program


def with_fresh_answers(program: Program) -> Program:
    """``program``, or a copy of it if a predictor has a model of its own that would answer from DSPy's cache."""
    if not isinstance(program, dspy.Module) or not any(getattr(p.lm, "cache", False) for p in program.predictors()):
        return program
    copy: Any = program.deepcopy()
    for predictor in copy.predictors():
        predictor.lm = predictor.lm and without_cache(predictor.lm)
    return copy  # type: ignore[no-any-return]


class Measuring:
    """Runs a program on an example and measures it.

    A program that raises, a prediction that the metric cannot read and an answer that takes longer than ``timeout``
    seconds are failed examples: their gold counts as missed, and the row has the error. ``hopeless`` is set once a
    model refuses in a way that will not change. With ``trace``, rows hold inputs, gold, prompts and raw answers.
    """

    def __init__(self, program: Program, metric: Any, trace: bool = False, timeout: float | None = None) -> None:
        self.program, self.metric, self.trace, self.timeout = program, metric, trace, timeout
        self.hopeless = False

    def __call__(self, index: int, example: dspy.Example, account: Account) -> Row:
        """The row of an example; ``account`` counts its calls."""
        account.meter.check()
        notes = watch()
        try:
            return within(self.timeout, lambda: self._run(index, example, account, notes), lambda: notes.waited)
        except TimeoutError as error:
            account.ended = True
            return self.row(index, example, failed_with(f"TimeoutError: {error}"), self.timeout or 0.0)

    def _run(self, index: int, example: dspy.Example, account: Account, notes: CallNotes) -> Row:
        def explain(error: BaseException) -> str:
            self.hopeless = self.hopeless or isinstance(error, HOPELESS_ERRORS)
            return "" if account.cut is None else f"the answer was cut at {account.cut} tokens (max_tokens): "

        started = time.perf_counter()
        with account.open():
            prediction = _attempt(self.program, example.inputs(), explain)
            seconds = max(0.0, time.perf_counter() - started - notes.waited)
            account.ended = True
            row = self.row(index, example, prediction, seconds)
        waited = round(notes.waited, 3)
        more = {"usage": account.usage, "waited_s": waited, "truncated": account.cut is not None}
        if self.trace:
            row |= {"inputs": dict(example.inputs().items()), "gold": dict(example.labels().items())}
            more["calls"] = account.recorded
        return row | {name: value for name, value in more.items() if value}

    def row(self, index: int, example: dspy.Example, prediction: Any, seconds: float) -> Row:
        """Measure a prediction that was made in ``seconds``."""
        try:
            assessed, unmeasured = self.metric.assess_or_fail(example, prediction)
        except Exception as error:
            error.add_note(f"the metric raised this on example {identity(example, index)}")
            raise
        row = measured_row(index, example, assessed)
        row |= {"score": float(self.metric.evidence(assessed).value), "latency_s": round(seconds, 6)}
        if reason := unmeasured or failed(prediction):
            row["error"] = reason
        if not failed(prediction):
            row["prediction"] = dict(prediction.items())
        return row
