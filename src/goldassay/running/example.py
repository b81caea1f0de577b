"""One example: run, measured, and written as a row, whatever happens to it, with what its language models were sent."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dspy.utils.callback import BaseCallback
from dspy.utils.exceptions import DSPyError, LMAuthError, LMBillingError, LMConfigurationError

from goldassay.exceptions import GoldassayError, MetricError, ModelError
from goldassay.lm import local as truncation
from goldassay.measure import failed
from goldassay.running.guarding import STOPS, as_prediction, failed_with, said, shown
from goldassay.score import Evidence

Call = dict[str, Any]
_calls: contextvars.ContextVar[list[Call] | None] = contextvars.ContextVar("goldassay_calls", default=None)


@contextmanager
def recording() -> Iterator[list[Call]]:
    """The calls that are made inside, in the order in which they ended: ``lm``, ``prompt``, ``answer``, ``seconds``."""
    calls: list[Call] = []
    token = _calls.set(calls)
    try:
        yield calls
    finally:
        _calls.reset(token)


class Recorder(BaseCallback):  # type: ignore[misc]
    """A DSPy callback that notes every call of a language model in the `recording` around it."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[list[Call], Call, float]] = {}
        self._lock = threading.Lock()

    def on_lm_start(self, call_id: str, instance: Any, inputs: dict[str, Any]) -> None:
        """Keep what is sent."""
        calls = _calls.get()
        if calls is not None:
            call = {"lm": str(getattr(instance, "model", type(instance).__name__)), "prompt": messages(inputs)}
            with self._lock:
                self._open[call_id] = calls, call, time.perf_counter()

    def on_lm_end(self, call_id: str, outputs: Any, exception: Exception | None = None) -> None:
        """Keep what came back."""
        with self._lock:
            calls, call, started = self._open.pop(call_id, (None, {}, 0.0))
        if calls is not None:
            call["seconds"] = round(time.perf_counter() - started, 6)
            call |= {"answer": answer(outputs)} if exception is None else {"error": f"{exception}"[:2000]}
            calls.append(call)


def messages(inputs: dict[str, Any]) -> list[dict[str, str]]:
    """The messages of a call, as role and text.

    >>> messages({"messages": None, "prompt": "Where is Delft?"})
    [{'role': 'user', 'content': 'Where is Delft?'}]
    """
    found = inputs.get("messages")
    if not isinstance(found, list):
        return [{"role": "user", "content": text(inputs.get("prompt") or found or "")}]
    return [
        {"role": str(one.get("role", "")), "content": text(one.get("content", ""))}
        if isinstance(one, dict)
        else {"role": str(getattr(one, "role", "")), "content": text(getattr(one, "text", one))}
        for one in found
    ]


def answer(outputs: Any) -> str:
    """What came back as text; several completions follow each other.

    >>> answer(["Delft", {"text": "Gouda", "logprobs": None}])
    'Delft\\n\\nGouda'
    """
    found = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    return "\n\n".join(text(one.get("text", one) if isinstance(one, dict) else one) for one in found)


def text(content: Any) -> str:
    """The text of a message's content; parts that are no text (pictures, files) are only named."""
    if isinstance(content, list):
        return "\n".join(text(part) for part in content)
    if isinstance(content, dict):
        return str(content["text"]) if "text" in content else f"[{content.get('type', 'part')}]"
    return content if isinstance(content, str) else str(getattr(content, "text", content))


FACETS = ("language", "document", "strata")  # fields of a gold example that its row repeats
HOPELESS = (LMAuthError, LMBillingError, LMConfigurationError)  # no other example will fare better
Row = dict[str, Any]
Usage = dict[str, list[dict[str, Any]]]


def refuse_without_inputs(gold: Sequence[Any]) -> None:
    """Gold that no program could be called with: dicts, and examples of which nobody said what the inputs are."""
    for index, example in enumerate(gold):
        if not hasattr(example, "inputs"):
            raise GoldassayError(
                f"gold example {index} is a {type(example).__name__}, not a dspy.Example: make it "
                "dspy.Example(**fields).with_inputs('text', …)"
            )
        if getattr(example, "_input_keys", ()) is None:
            raise GoldassayError(
                f"gold example {index} does not say which of its fields are inputs: add .with_inputs('text', …); it "
                f"has {', '.join(map(str, example.keys()))}"
            )


class Measuring:
    """A program and a metric, applied to the examples of ``gold`` by their index.

    A program that raises, and a prediction that the metric cannot read, are failed examples: their gold counts as
    missed, and the row says what was found. ``hopeless`` says why, once a model refused in a way that will not change.
    """

    def __init__(self, program: Any, gold: Sequence[Any], metric: Any, trace: bool = False) -> None:
        self.program, self.gold, self.metric, self.trace = program, gold, metric, trace
        self.hopeless = ""

    def __call__(self, index: int, usage: Usage) -> tuple[Evidence, Row]:
        """Run one example and measure it; ``usage`` is where this thread's tracker notes billed calls."""
        usage.clear()
        example = self.gold[index]
        cut = truncation.watch()
        with recording() as calls:
            started = time.perf_counter()
            try:
                pred = as_prediction(self.program(**example.inputs()))
            except STOPS:
                raise
            except BaseException as error:  # noqa: BLE001  whatever a program raises is a result of this example
                pred = failed_with(said(error))
                if isinstance(error, HOPELESS):
                    self.hopeless = said(error)
            latency = time.perf_counter() - started
        evidence, row = self.row(index, pred, latency)
        if usage:
            row["usage"] = billed(usage)
        if cut:
            row["truncated"] = True
        if self.trace:
            row |= traced(example, calls)
        return evidence, row

    def row(self, index: int, pred: Any, latency: float) -> tuple[Evidence, Row]:
        """Measure a prediction that was made in ``latency`` seconds."""
        example = self.gold[index]
        name = str(example["id"]) if "id" in example else str(index)
        assessed, found = self._assessed(example, pred, name)
        evidence = Evidence({key: one.tally for key, one in assessed.items()}, self.metric.weights)
        row: Row = {
            "index": index,
            "id": name,
            "score": float(evidence.value),
            "tallies": evidence.state(),
            "latency_s": round(latency, 6),
        }
        for key in FACETS:
            if example.get(key):
                row[key] = example[key]
        errors = {error: None for one in assessed.values() for error in one.errors}
        if errors:
            row["errors"] = [error.state() for error in errors]
        why = found or failed(pred)
        if why:
            row["error"] = why
        if not failed(pred):
            row["prediction"] = pred._store
        return evidence, row

    def _assessed(self, example: Any, pred: Any, name: str) -> tuple[dict[str, Any], str]:
        """The assessments, and why the prediction could not be measured, if so: then all gold counts as missed."""
        try:
            return self.metric.assess(example, pred), ""
        except (*STOPS, MetricError):
            raise
        except Exception as error:
            error.add_note(f"the metric raised this on example {name}")
            if failed(pred) or isinstance(
                error, (DSPyError, ModelError)
            ):  # a judge's model: the prediction is not to blame
                raise
            why = str(error) if isinstance(error, GoldassayError) else f"the metric raised {said(error)}"
            found = f"{why}; found {shown(pred._store, 200)}"
            try:
                return self.metric.assess(example, failed_with(found)), found
            except Exception:  # noqa: BLE001  it is not the prediction that is wrong: the first error says more
                raise error from None

    def timed_out(self, index: int, seconds: float) -> tuple[Evidence, Row]:
        """The row of an example whose program did not come back."""
        return self.row(index, failed_with(f"TimeoutError: no answer within {seconds:g} s"), seconds)


def traced(example: Any, calls: list[dict[str, Any]]) -> Row:
    """What a report shows of an example beside its result: inputs, gold, and each prompt with its raw answer."""
    found = {"inputs": example.inputs()._store, "gold": example.labels()._store}
    return {**found, "calls": calls} if calls else found


def billed(usage: Usage) -> dict[str, int]:
    """Billed calls and tokens of one example; cache hits add none.

    >>> billed({"m": [{"prompt_tokens": 7, "completion_tokens": 2}, {"prompt_tokens": 5}]})
    {'calls': 2, 'prompt_tokens': 12, 'completion_tokens': 2}
    """
    entries = [entry for calls in usage.values() for entry in calls]
    return {
        "calls": len(entries),
        "prompt_tokens": sum(int(entry.get("prompt_tokens") or 0) for entry in entries),
        "completion_tokens": sum(int(entry.get("completion_tokens") or 0) for entry in entries),
    }
