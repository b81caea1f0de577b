"""``dspy.LM`` over a local engine, which says which answers were cut short.

It names what a local model can fail with, in a form that DSPy hands on as it is.

DSPy turns whatever an engine raises into its own ``LMError``. These are both: a `ModelError` for goldassay, and an
``LMError`` for programs that catch DSPy's.

`watch` gathers which answers were cut short while an example was worked on.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

import dspy

from goldassay.exceptions import ModelError
from goldassay.insides import ContextWindowExceededError, LMError


class LocalLM(dspy.LM):  # type: ignore[misc]
    """A local model as DSPy's LM.

    An answer that ended at ``max_tokens`` has the finish reason ``length`` in ``history[-1]["response"]``, and is
    reported to `goldassay.lm.local` whether the model made it now or DSPy's cache had it.
    """

    def update_history(self, entry: dict[str, Any]) -> None:
        """Keep the call as DSPy does, and note a cut answer."""
        super().update_history(entry)
        found = entry["response"]
        for response in found if isinstance(found, (list, tuple)) else [found]:
            if getattr(response, "finish_reason", None) == "length":
                note(self.model)


class LocalModelError(ModelError, LMError):  # type: ignore[misc]
    """A local model could not be loaded, or gave no answer."""


class PromptTooLongError(LocalModelError, ContextWindowExceededError):  # type: ignore[misc]
    """The prompt does not fit the context of a local model. DSPy's agents catch it and shorten their history."""

    def __init__(self, message: str) -> None:
        ContextWindowExceededError.__init__(self, message=message)


_CUT: ContextVar[list[str] | None] = ContextVar("cut", default=None)


def watch() -> list[str]:
    """A list that the engines called from here on add to, one entry per answer that was cut short."""
    found: list[str] = []
    _CUT.set(found)
    return found


def note(model: str) -> None:
    """An answer of this model was cut short."""
    found = _CUT.get()
    if found is not None:
        found.append(model)
