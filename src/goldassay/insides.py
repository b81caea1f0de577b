"""All of DSPy that goldassay uses beside its public names: when a new DSPy moves one, this file changes and no other.

``PLACES`` names them. A test asks for each, and no other module imports from a submodule of DSPy or reads a private
attribute of its objects.
"""

from __future__ import annotations

from collections.abc import Collection, MutableMapping
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from goldassay.exceptions import GoldassayError

PLACES = {
    "dspy.adapters.utils": ("serialize_for_json",),
    "dspy.clients.execution": ("_cached", "_store", "aexecute", "execute", "finalize", "prepare"),
    "dspy.primitives.base_module": ("BaseModule",),
    "dspy.lm15": ("Message", "Response", "TextPart", "Usage"),
    "dspy.teleprompt": ("Teleprompter",),
    "dspy.utils.callback": ("BaseCallback", "with_callbacks"),
    "dspy.utils.exceptions": (
        "ContextWindowExceededError",
        "DSPyError",
        "LMAuthError",
        "LMBillingError",
        "LMConfigurationError",
        "LMError",
        "LMInvalidRequestError",
        "LMRateLimitError",
        "is_retryable_lm_error",
    ),
    "dspy.utils.usage_tracker": ("UsageTracker",),
}
ADAPTING = ("dspy.adapters.utils", "dspy.adapters.xml_adapter")  # where a ``TypeAdapter`` is made at every call
STORE = "_store"  # of dspy.Example and dspy.Prediction: their fields
INPUT_KEYS = "_input_keys"  # of dspy.Example: what `with_inputs` named

if TYPE_CHECKING:
    import dspy
    from dspy.adapters.utils import serialize_for_json as serialize_for_json
    from dspy.clients.execution import _cached as _cached
    from dspy.clients.execution import _store as _store
    from dspy.clients.execution import aexecute as aexecute
    from dspy.clients.execution import execute as execute
    from dspy.clients.execution import finalize as finalize
    from dspy.clients.execution import prepare as prepare
    from dspy.lm15 import Message as Message
    from dspy.lm15 import Response as Response
    from dspy.lm15 import TextPart as TextPart
    from dspy.lm15 import Usage as Usage
    from dspy.primitives.base_module import BaseModule as BaseModule
    from dspy.teleprompt import Teleprompter as Teleprompter
    from dspy.utils.callback import BaseCallback as BaseCallback
    from dspy.utils.callback import with_callbacks as with_callbacks
    from dspy.utils.exceptions import ContextWindowExceededError as ContextWindowExceededError
    from dspy.utils.exceptions import DSPyError as DSPyError
    from dspy.utils.exceptions import LMAuthError as LMAuthError
    from dspy.utils.exceptions import LMBillingError as LMBillingError
    from dspy.utils.exceptions import LMConfigurationError as LMConfigurationError
    from dspy.utils.exceptions import LMError as LMError
    from dspy.utils.exceptions import LMInvalidRequestError as LMInvalidRequestError
    from dspy.utils.exceptions import LMRateLimitError as LMRateLimitError
    from dspy.utils.exceptions import is_retryable_lm_error as is_retryable_lm_error
    from dspy.utils.usage_tracker import UsageTracker as UsageTracker
else:

    def __getattr__(name: str) -> Any:
        for place, names in PLACES.items():
            if name in names:
                return found(place, name)
        raise AttributeError(name)


def found(place: str, name: str) -> Any:
    """What DSPy keeps there under that name; raises `GoldassayError` where the installed DSPy has moved it."""
    try:
        return getattr(import_module(place), name)
    except (ImportError, AttributeError):
        raise GoldassayError(
            f"DSPy {version('dspy')} has no {place}.{name}, which goldassay uses: install dspy-ai>=3.4,<3.5"
        ) from None


class _Bars(WeakSet[Any]):
    """The bars of tqdm that are shown, for which a bar that somebody else took out is no error."""

    remove = WeakSet.discard


def several_at_once() -> None:
    """Let several ``dspy.Parallel`` run in one process.

    Each begins by emptying tqdm's set of all bars, also while the bar of another is being made, which then fails on
    one call in some hundred with a ``KeyError``: an example lost at random.
    """
    shown = import_module("tqdm.std").tqdm
    if type(shown._instances) is WeakSet:
        shown._instances = _Bars(shown._instances)


def fields_of(prediction: object) -> MutableMapping[str, Any]:
    """The fields of a prediction or example, as DSPy keeps them."""
    held: MutableMapping[str, Any] = getattr(prediction, STORE)
    return held


def input_keys(example: object) -> Collection[str] | None:
    """The fields that ``with_inputs`` named; None where it was forgotten, or where this is no example of DSPy."""
    keys: Collection[str] | None = getattr(example, INPUT_KEYS, None)
    return keys


def signature_of(predictor: dspy.Predict) -> type[dspy.Signature]:
    """The signature of a predictor; DSPy's types say that it may be absent, or an instance."""
    made: Any = predictor
    found: type[dspy.Signature] = made.signature
    return found
