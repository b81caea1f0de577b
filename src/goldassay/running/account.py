"""Accounts: the calls of models that an example makes, counted, recorded and held to a budget.

An `Account` is a callback in DSPy's settings, so it hears every call of any model in its context, also in threads of
``dspy.Parallel``. Tokens, prices and prompts come from the entry that DSPy appends to the model's ``history``. Threads
that a program starts itself, without DSPy's context, are not counted.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import dspy

from goldassay._dspy_compat import HOPELESS_ERRORS, BaseCallback, history_entry, is_unavailable, was_cut
from goldassay.exceptions import one_line
from goldassay.fields import Fields, Record
from goldassay.progress import WAITING
from goldassay.running.budget import SILENT, Meter

TOKENS = ("prompt_tokens", "completion_tokens")
HISTORY = 1000  # the least length of a model's history, among whose last entries a call's own is searched
ERROR_LENGTH = 2000  # characters of a call's error that are recorded
Content: TypeAlias = str | Record | Sequence[Any] | None  # of a message, as providers write it


class _Call(NamedTuple):
    """A call that has no answer yet."""

    lm: dspy.BaseLM
    inputs: Record
    started: float


class Account(BaseCallback):  # type: ignore[misc]
    """Calls, cached answers and tokens in ``counts``; with ``record``, prompts and raw answers in ``recorded``.

    Each example has an account of its own. Calls that a thread makes after its example has ended count for ``run``.
    """

    def __init__(self, meter: Meter | None = None, record: bool = False, run: Account | None = None) -> None:
        self.meter = meter or Meter()
        self.record = record
        self.run = run
        self.ended = False
        self.counts: Counter[str] = Counter()
        self.cut: int | None = None  # tokens after which an answer was cut off
        self.recorded: list[Fields] = []
        self._open: dict[str, _Call] = {}
        self._lock = threading.Lock()

    def on_lm_start(self, call_id: str, instance: dspy.BaseLM, inputs: Fields) -> None:
        """A call begins, if the budget allows it."""
        self.meter.take()
        self._open[call_id] = _Call(instance, inputs, time.perf_counter())
        WAITING[call_id] = time.monotonic()

    def on_lm_end(
        self, call_id: str, outputs: Sequence[Content] | None, exception: BaseException | None = None
    ) -> None:
        """A call has ended: count and record it."""
        call = self._open.pop(call_id)
        WAITING.pop(call_id, None)
        entry = history_entry(call.lm, outputs)
        usage = {name: int(n) for name, n in (entry.get("usage") or {}).items() if isinstance(n, (int, float))}
        tokens = {name: usage.get(name, 0) for name in TOKENS}
        if was_cut(entry) and not self.ended:
            limit = call.lm.kwargs.get("max_tokens") or 0  # the cache does not say how many there were
            self.cut = tokens["completion_tokens"] or int(limit)
        may_be_cached = (call.inputs.get("kwargs") or {}).get("cache", call.lm.cache)
        cached = exception is None and not entry.get("usage") and bool(may_be_cached)
        if cached:
            self.meter.add(calls=-1, cached=1)
        elif exception is None:
            self.meter.add_outcome(answered=True)
            total = usage.get("total_tokens") or sum(tokens.values())
            usd = entry.get("cost")
            self.meter.add(tokens=total, usd=usd or 0.0, unpriced=str(call.lm.model) if total and usd is None else "")
        elif is_unavailable(exception):
            silent = SILENT if isinstance(exception, HOPELESS_ERRORS) else 1
            self.meter.add_outcome(False, silent, one_line(exception))
        account = self.run if self.ended and self.run is not None else self
        account.add({"calls": int(not cached), "cached": int(cached), **tokens})
        if self.record and not self.ended:
            self.recorded.append(_record(call, entry, outputs, exception))

    def add(self, counts: Mapping[str, int]) -> None:
        """Count calls, cached answers and tokens."""
        with self._lock:
            for name, number in counts.items():
                self.counts[name] += number

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


def _record(
    call: _Call,
    entry: Record,
    outputs: Sequence[Content] | None,
    exception: BaseException | None,
) -> Fields:
    """The prompt and the raw answer of a call, for the row of its example."""
    inputs = entry or call.inputs
    messages = inputs.get("messages") or [{"role": "user", "content": inputs.get("prompt") or ""}]
    record: Fields = {
        "lm": str(call.lm.model),
        "prompt": [{"role": str(part["role"]), "content": _text(part.get("content"))} for part in messages],
        "seconds": round(time.perf_counter() - call.started, 6),
    }
    if exception is None:
        record["answer"] = "\n\n".join(map(_text, outputs or ()))
    else:
        record["error"] = str(exception)[:ERROR_LENGTH]
    return record


def _text(content: Content) -> str:
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
