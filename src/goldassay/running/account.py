"""Accounts: the calls of models that an example makes, counted, recorded and held to a budget.

An `Account` is a callback in DSPy's settings, so it hears every call of any model in its context, also in threads of
``dspy.Parallel``. Tokens, prices and prompts come from the entry that DSPy appends to the model's ``history``. Threads
that a program starts itself, without DSPy's context, are not counted.

DSPy's machinery of callbacks costs more than the account itself, so parts of which nothing is needed stay silent:
adapters, and the modules of a program whose steps are not recorded.
"""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import dspy

from goldassay._support.dspy_compat import (
    ACTIVE_CALL_ID,
    HOPELESS_ERRORS,
    BaseCallback,
    history_entry,
    is_unavailable,
    signature_of,
    was_cut,
)
from goldassay._support.exceptions import one_line
from goldassay._support.progress import WAITING
from goldassay.core.fields import JsonObject, Record
from goldassay.core.steps import FINISH, SUBMIT, Step, bounded
from goldassay.running.budget import SILENT, Meter
from goldassay.running.rows import UNUSED, Usage

TOKEN_COUNTS = ("prompt_tokens", "completion_tokens")
HISTORY = 1000  # the least length of a model's history, among whose last entries a call's own is searched
ERROR_LENGTH = 2000  # characters of a call's error that are recorded
Content: TypeAlias = str | Record | Sequence[Any] | None  # of a message, as providers write it


class _Call(NamedTuple):
    """A call that has no answer yet."""

    lm: dspy.BaseLM
    inputs: Record
    started: float


class _Callbacks(list[BaseCallback]):
    """The callbacks of a context, of which silent parts of a program call only those that are not accounts.

    DSPy adds the callbacks of a part to those of the context, and where there are any the call costs three times as
    much as all that an account does. Where it treats this list in another way, every part is heard: it is only slower.

    Args:
        callbacks: The callbacks.
        silent: The parts' own lists of callbacks, by their identity.
    """

    def __init__(self, callbacks: Sequence[BaseCallback], silent: Mapping[int, list[BaseCallback]]) -> None:
        super().__init__(callbacks)
        self.silent = silent
        self.others = [callback for callback in callbacks if not isinstance(callback, Account)]

    def __add__(self, own: list[BaseCallback]) -> list[BaseCallback]:  # type: ignore[override]
        return (self.others if id(own) in self.silent else list(self)) + own


class Account(BaseCallback):  # type: ignore[misc]
    """Calls, cached answers and tokens in ``usage``; with ``record``, prompts and raw answers, and ``steps``.

    Each example has its own account. Calls that a thread makes after its example has ended count for ``run``.
    """

    def __init__(self, meter: Meter | None = None, record: bool = False, run: Account | None = None) -> None:
        self.meter = meter or Meter()
        self.record = record
        self.run = run
        self.ended = False
        self.usage = UNUSED
        self.cut: int | None = None  # tokens after which an answer was cut off
        self.empty: tuple[str, ...] = ()  # a model that has only given empty texts, and what is said of it
        self.answers: dict[str, bool] = {}  # by model, whether it has answered here
        self.names: Mapping[int, str] = {}  # of the program's predictors, by their and their signatures' identity
        self.steps: list[Step] = []
        self._recorded: dict[int, JsonObject] = {}  # prompts and answers by the index of their step
        self._inner: set[int] = set()  # steps that call a model themselves
        self._indices: dict[str, int] = {}  # of steps by the id of their call
        self._started: dict[int, float] = {}  # when the steps began that have not ended
        self._makers: dict[int | None, str] = {}  # the predictor that ended last, by the step that called it
        self._open: dict[str, _Call] = {}
        self._lock = threading.Lock()

    def on_lm_start(self, call_id: str, instance: dspy.BaseLM, inputs: JsonObject) -> None:
        """A call begins, if the budget allows it."""
        self.meter.take()
        self._open[call_id] = _Call(instance, inputs, time.perf_counter())
        step = self._begin(call_id, "model", str(instance.model), {})
        if step and step.parent is not None:
            step.predictor = self.steps[step.parent].predictor
            self._inner.add(step.parent)
        WAITING[call_id] = time.monotonic()

    def on_lm_end(
        self, call_id: str, outputs: Sequence[Content] | None, exception: BaseException | None = None
    ) -> None:
        """A call has ended: count and record it."""
        call = self._open.pop(call_id)
        model = str(call.lm.model)
        WAITING.pop(call_id, None)
        entry = history_entry(call.lm, outputs)
        usage = {name: int(n) for name, n in (entry.get("usage") or {}).items() if isinstance(n, (int, float))}
        tokens = {name: usage.get(name, 0) for name in TOKEN_COUNTS}
        if was_cut(entry) and not self.ended:
            limit = call.lm.kwargs.get("max_tokens") or 0  # the cache does not say how many there were
            self.cut = tokens["completion_tokens"] or int(limit)
        may_be_cached = (call.inputs.get("kwargs") or {}).get("cache", call.lm.cache)
        cached = exception is None and not entry.get("usage") and bool(may_be_cached)
        if cached:
            self.meter.add(calls=-1, cached=1)
        elif exception is None:
            self.answers[model] = True
            if any(outputs or ()) or model in self.meter.answered:
                self.meter.add_outcome(model)
            else:
                cut = f", cut off after {self.cut} tokens: give it more max_tokens" if was_cut(entry) else ""
                self.empty = (model, f"{model}: its answers are empty{cut}")
            total = usage.get("total_tokens") or sum(tokens.values())
            usd = entry.get("cost")
            self.meter.add(tokens=total, usd=usd or 0.0, unpriced=model if total and usd is None else "")
        elif is_unavailable(exception):
            self.answers.setdefault(model, False)
            message = one_line(exception)
            error = message if model in message else f"{model}: {message}"  # errors of DSPy 3.4 name it
            self.meter.add_outcome(model, *[error] * (SILENT if isinstance(exception, HOPELESS_ERRORS) else 1))
        account = self.run if self.ended and self.run is not None else self
        account.add(Usage(int(not cached), **tokens, cached=int(cached)))
        if step := self._end(call_id, None, exception):
            step.tokens = sum(tokens.values())
            inputs = entry or call.inputs
            prompt = inputs.get("messages") or [{"role": "user", "content": inputs.get("prompt") or ""}]
            record = self._recorded[step.index] = {
                "lm": model,
                "prompt": [{"role": str(turn["role"]), "content": _text(turn.get("content"))} for turn in prompt],
                "seconds": round(time.perf_counter() - call.started, 6),
            }
            if exception is None:
                record["answer"] = "\n\n".join(map(_text, outputs or ()))
            else:
                record["error"] = str(exception)[:ERROR_LENGTH]

    def on_module_start(self, call_id: str, instance: object, inputs: JsonObject) -> None:
        """A module begins."""
        name = type(instance).__name__
        predictor = ""
        if isinstance(instance, dspy.Predict):
            predictor = self.names.get(id(instance)) or self.names.get(id(signature_of(instance))) or name
        kind = "retriever" if isinstance(instance, dspy.Retrieve) else "module"
        self._begin(call_id, kind, predictor or name, inputs, predictor)

    def on_module_end(self, call_id: str, outputs: object, exception: BaseException | None = None) -> None:
        """A module has ended, unless what it returned is still to be awaited."""
        if inspect.iscoroutine(outputs):
            return
        step = self._end(call_id, outputs, exception)
        if step and (maker := step.predictor or self._makers.get(step.index)):  # that of a module is its own last one
            self._makers[step.parent] = maker

    def on_tool_start(self, call_id: str, instance: Any, inputs: JsonObject) -> None:
        """A tool begins."""
        self._begin(call_id, "tool", str(instance.name), inputs)

    def on_tool_end(self, call_id: str, outputs: object, exception: BaseException | None = None) -> None:
        """A tool has ended."""
        self._end(call_id, outputs, exception)

    def on_interpreter_execute_start(self, call_id: str, instance: object, inputs: JsonObject) -> None:
        """Code that a model wrote begins to run."""
        self._begin(call_id, "tool", "python", {"kwargs": {"code": inputs.get("code")}})

    on_interpreter_execute_end = on_tool_end

    def _begin(self, call_id: str, kind: str, name: str, inputs: Record, predictor: str = "") -> Step | None:
        """A new step inside the one that is active in this context, if steps are recorded."""
        if not self.record or self.ended:
            return None
        args = dict(inputs.get("kwargs") or {})
        if inputs.get("args"):
            args["args"] = inputs["args"]
        parent = self._indices.get(ACTIVE_CALL_ID.get() or "")
        if parent is None and 0 in self._started:
            parent = 0  # a thread without the context of its call
        if kind == "tool":
            predictor = self._makers.get(parent, "")
            is_end = name in (FINISH, SUBMIT) and predictor.endswith("react")  # the tool with which an agent ends
            kind = "module" if is_end else kind
        with self._lock:
            step = Step(name, bounded(args), len(self.steps), kind, predictor=predictor, parent=parent)
            self.steps.append(step)
            self._indices[call_id] = step.index
        self._started[step.index] = time.perf_counter()
        return step

    def _end(self, call_id: str, output: object, exception: BaseException | None) -> Step | None:
        """The step of a call that has ended."""
        index = self._indices.get(call_id)
        if index is None or self.ended:
            return None
        step = self.steps[index]
        step.seconds = round(time.perf_counter() - self._started.pop(index), 6)
        step.output = bounded(output)
        step.error = "" if exception is None else one_line(exception)[:ERROR_LENGTH]
        return step

    def forgive_fallback(self) -> None:
        """Forget the failed calls of a model where another one answered the same example: the program fell back."""
        if any(self.answers.values()):
            for model in [model for model, has_answered in self.answers.items() if not has_answered]:
                self.meter.add_outcome(model)

    def restart(self) -> None:
        """Forget the steps so far, as the program starts over; what its calls used is counted."""
        with self._lock:
            for of_steps in (self.steps, self._recorded, self._inner, self._indices, self._started, self._makers):
                of_steps.clear()

    def recorded(self) -> tuple[tuple[JsonObject, ...], tuple[Step, ...]]:
        """Prompts and answers in the order in which they were asked, and the steps of the example.

        What is in the row anyway is left out: the inputs and the prediction of the program itself, and the inputs of a
        predictor whose model got them in its prompt.
        """
        for step in self.steps:
            if step.kind == "module" and (step.index == 0 or step.index in self._inner):
                step.args = {}
                step.output = None if step.index == 0 else step.output
        return tuple(self._recorded[index] for index in sorted(self._recorded)), tuple(self.steps)

    def add(self, usage: Usage) -> None:
        """Count calls, cached answers and tokens."""
        with self._lock:
            self.usage += usage

    @contextmanager
    def open(self, silent: Mapping[int, list[BaseCallback]] = {}) -> Iterator[Account]:
        """Count the calls of this context here, and nowhere else; of ``silent`` parts nothing needs to be heard."""
        callbacks = [callback for callback in dspy.settings.get("callbacks") or [] if not isinstance(callback, Account)]
        heard = _Callbacks([*callbacks, self], silent)
        history = max(dspy.settings.get("max_history_size") or 0, HISTORY)
        with dspy.context(callbacks=heard, disable_history=False, max_history_size=history):
            yield self


def _text(content: Content) -> str:
    """The text of a message's content; pictures and files are only named."""
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
    """A second account on the same budget: for a judge, whose calls are not the program's."""
    around = current()
    account = Account(around.meter if around is not None else None)
    with dspy.context(usage_tracker=None), account.open():  # the program's tokens are not the judge's
        yield account
