"""DSPy's own adapters, which render the same system message again at every call, with what they rendered kept.

The messages are equal to the last byte: what is kept belongs to a signature as it is, its instructions and all that its
fields say, and is rendered anew when any of that changes.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any
from weakref import WeakKeyDictionary

import dspy

STOCK = (dspy.ChatAdapter, dspy.JSONAdapter, dspy.XMLAdapter)
METHODS = ("format_system_message", "user_message_output_requirements")  # what depends on the signature alone


class Kept:
    """A method of an adapter that makes text of a signature, and what it made."""

    def __init__(self, method: Callable[[Any], str]) -> None:
        self.method = method
        self.made: WeakKeyDictionary[Any, tuple[Any, str]] = WeakKeyDictionary()

    def __call__(self, signature: Any) -> str:
        fields = signature.model_fields.items()
        about = [(name, one.annotation, *(one.json_schema_extra or {}).items()) for name, one in fields]
        said = signature.instructions, about
        found = self.made.get(signature)
        if found is None or found[0] != said:
            found = self.made[signature] = (said, self.method(signature))
        return found[1]

    def __reduce__(self) -> Any:
        return Kept, (self.method,)


def keeping(adapter: dspy.Adapter | None) -> dspy.Adapter | None:
    """A stock adapter of DSPy's (``None`` is the one that it takes by itself) that keeps; any other as it is.

    >>> signature, plain = dspy.Signature("question -> answer: list[int]"), dspy.ChatAdapter()
    >>> type(keeping(plain)).__name__
    'ChatAdapter'
    >>> keeping(plain).format(signature, [], {"question": "?"}) == plain.format(signature, [], {"question": "?"})
    True
    """
    stock = dspy.ChatAdapter() if adapter is None else adapter
    if type(stock) not in STOCK:
        return adapter
    made = copy(stock)
    for name in METHODS:
        setattr(made, name, Kept(getattr(stock, name)))
    return made
