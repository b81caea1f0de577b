"""What a local model can fail with, in a form that DSPy hands on as it is.

DSPy turns whatever an engine raises into its own ``LMError``. These are both: a `ModelError` for goldassay, and an
``LMError`` for programs that catch DSPy's.
"""

from __future__ import annotations

from dspy.utils.exceptions import ContextWindowExceededError, LMError

from goldassay.exceptions import ModelError


class LocalModelError(ModelError, LMError):  # type: ignore[misc]
    """A local model could not be loaded, or gave no answer."""


class PromptTooLongError(LocalModelError, ContextWindowExceededError):  # type: ignore[misc]
    """The prompt does not fit the context of a local model. DSPy's agents catch it and shorten their history."""

    def __init__(self, message: str) -> None:
        ContextWindowExceededError.__init__(self, message=message)
