"""What was sent to a language model and what came back, kept with the example that it was asked for."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from dspy.utils.callback import BaseCallback

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
