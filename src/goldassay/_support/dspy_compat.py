"""The differences between DSPy 3.0 and the newest, and the few public names that are in a submodule of DSPy.

No other module imports from a submodule of DSPy or asks for its version. Before 3.4 DSPy hands on the errors of
LiteLLM, which derive from those of OpenAI's client; from 3.4 on it raises errors of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from copy import deepcopy
from importlib import import_module
from itertools import islice
from typing import Any, cast

import dspy
from dspy.teleprompt import Teleprompter as Teleprompter
from dspy.utils.callback import ACTIVE_CALL_ID as ACTIVE_CALL_ID
from dspy.utils.callback import BaseCallback as BaseCallback
from pydantic_core import to_jsonable_python

_errors = vars(import_module("dspy.utils.exceptions"))

LM_ERRORS: tuple[type[Exception], ...]
"""The errors of a call whose model does not answer."""
UNAVAILABLE_ERRORS: tuple[type[Exception], ...]
"""The endpoint gives no answer, or refuses the request."""
HOPELESS_ERRORS: tuple[type[Exception], ...]
"""Errors that no other call of the same model will escape: a wrong key, no credit, a wrong setting."""
BAD_REQUEST_ERRORS: tuple[type[Exception], ...]
"""The model refuses this request, for example because it is too long."""
DSPY_ERRORS: tuple[type[Exception], ...]
"""The errors that DSPy and its models raise by themselves."""

if "LMError" in _errors:
    LM_ERRORS = (_errors["LMError"],)
    UNAVAILABLE_ERRORS = (_errors["LMTransportError"], _errors["LMProviderError"], _errors["LMConfigurationError"])
    HOPELESS_ERRORS = (_errors["LMAuthError"], _errors["LMBillingError"], _errors["LMConfigurationError"])
    BAD_REQUEST_ERRORS = (_errors["LMInvalidRequestError"],)
    DSPY_ERRORS = (_errors["DSPyError"],)
else:
    _openai = import_module("openai")
    LM_ERRORS = (_openai.OpenAIError,)
    UNAVAILABLE_ERRORS = LM_ERRORS
    HOPELESS_ERRORS = (_openai.AuthenticationError, _openai.PermissionDeniedError)
    BAD_REQUEST_ERRORS = (_openai.BadRequestError,)
    DSPY_ERRORS = (_openai.OpenAIError, _errors["AdapterParseError"])

ContextWindowExceededError: Any = _errors.get("ContextWindowExceededError")
if ContextWindowExceededError is None:  # DSPy 3.0
    ContextWindowExceededError = import_module("litellm").ContextWindowExceededError
elif not issubclass(ContextWindowExceededError, LM_ERRORS):  # 3.1 to 3.3
    LM_ERRORS = (*LM_ERRORS, ContextWindowExceededError)


def is_unavailable(error: BaseException | None) -> bool:
    """Whether a model's endpoint gave no answer, whatever it was asked; a request that it refuses is an answer."""
    if isinstance(error, BAD_REQUEST_ERRORS):
        return getattr(error, "status", None) == 404  # there is no such model
    return isinstance(error, UNAVAILABLE_ERRORS)


def input_keys(example: object) -> Collection[str] | None:
    """The fields that ``with_inputs`` named; None if it was not called, or for anything but a ``dspy.Example``.

    >>> sorted(input_keys(dspy.Example(text="a", label="b").with_inputs("text")))
    ['text']
    >>> input_keys(dspy.Example(text="a")) is None
    True
    """
    if not isinstance(example, dspy.Example):
        return None
    try:
        keys: Collection[str] = example.inputs().keys()
    except (ValueError, AttributeError):  # a Prediction has none
        return None
    return keys


def without(example: dspy.Example, field: str) -> dspy.Example:
    """An example without a field, with the same inputs, which its own ``without`` forgets before DSPy 3.4.

    >>> sorted(without(dspy.Example(text="a", note="b").with_inputs("text"), "note").inputs().keys())
    ['text']
    """
    keys = input_keys(example)
    rest = example.without(field)
    return rest if keys is None else rest.with_inputs(*keys)


def serialize_for_json(value: object) -> Any:
    """A value as JSON can hold it; text for what JSON has no type for.

    >>> serialize_for_json({"years": (1885, None)})
    {'years': [1885, None]}
    """
    return to_jsonable_python(value, fallback=str)


def without_cache(lm: dspy.BaseLM) -> dspy.BaseLM:
    """The same model, every call of which is answered anew; itself if it has no cache.

    >>> without_cache(dspy.LM("openai/gpt-4o-mini")).cache
    False
    """
    return lm.copy(cache=False) if getattr(lm, "cache", True) else lm


def copy_program(program: Any) -> Any:
    """A deep copy of a program that shares its models, whose histories grow with every call.

    >>> program = dspy.Predict("a -> b")
    >>> program.set_lm(dspy.LM("openai/gpt-4o-mini"))
    >>> other = copy_program(program)
    >>> other is program, other.lm is program.lm
    (False, True)
    """
    models = [predictor.lm for predictor in program.predictors()]
    try:
        return deepcopy(program, {id(lm): lm for lm in models if lm is not None})
    except Exception:  # noqa: BLE001  DSPy copies attribute by attribute what cannot be copied as a whole
        return program.deepcopy()


def history_entry(lm: dspy.BaseLM, outputs: object) -> Mapping[str, Any]:
    """The entry of ``lm.history`` for the call that returned these outputs; empty if DSPy keeps no history.

    An answer from DSPy's cache has no ``usage``.
    """
    recent = islice(reversed(lm.history), 500)
    return next((entry for entry in recent if entry.get("outputs") is outputs), {})


def was_cut(entry: Mapping[str, object]) -> bool:
    """Whether an entry of a model's history holds an answer that was cut off at ``max_tokens``."""
    response = entry.get("response")
    parts = [response, *(getattr(response, "choices", None) or ())]
    reasons = {getattr(output, "finish_reason", None) for output in parts} | {getattr(response, "status", None)}
    return not reasons.isdisjoint(("length", "incomplete"))


def signature_of(predictor: dspy.Predict) -> type[dspy.Signature]:
    """The signature of a predictor, as the class that it is; DSPy's own annotation leaves it open."""
    return cast("type[dspy.Signature]", predictor.signature)
