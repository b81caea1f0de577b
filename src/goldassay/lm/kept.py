"""DSPy's own adapters, which make the same things again at every call, with what they made kept.

The system message: the messages are equal to the last byte, since what is kept belongs to a signature as it is, its
instructions and all that its fields say, and is rendered anew when any of that changes.

The pydantic ``TypeAdapter`` of each type that values are written and read by: kept while `types_kept` lasts, for a type
object itself and not for one that is equal to it (``int | str`` equals ``str | int``, and reads "1" otherwise).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from importlib import import_module
from typing import Any
from weakref import WeakKeyDictionary

import dspy
from pydantic import TypeAdapter

ADAPTING = ("dspy.adapters.utils", "dspy.adapters.xml_adapter")
MOST = 1000  # types that are kept; a program that makes types as it goes would fill memory
STOCK = (dspy.ChatAdapter, dspy.JSONAdapter, dspy.XMLAdapter)
METHODS = ("format_system_message", "user_message_output_requirements")  # what depends on the signature alone


class MemoizedText:
    """A method of an adapter that makes text of a signature, and what it made."""

    def __init__(self, method: Callable[[Any], str]) -> None:
        self.method = method
        self.made: WeakKeyDictionary[Any, tuple[Any, str]] = WeakKeyDictionary()

    def __call__(self, signature: type[dspy.Signature]) -> str:
        fields = signature.model_fields.items()
        about = [(name, one.annotation, *(one.json_schema_extra or {}).items()) for name, one in fields]
        said = signature.instructions, about
        found = self.made.get(signature)
        if found is None or found[0] != said:
            found = self.made[signature] = (said, self.method(signature))
        return found[1]

    def __reduce__(self) -> Any:
        return MemoizedText, (self.method,)


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
        setattr(made, name, MemoizedText(getattr(stock, name)))
    return made


class Types:
    """Makes the adapter of a type once.

    >>> make = Types()
    >>> make(int) is make(int), make(int).validate_python("7")
    (True, 7)
    """

    def __init__(self) -> None:
        self.made: dict[int, tuple[Any, Any]] = {}

    def __call__(self, kind: Any) -> Any:
        found = self.made.get(id(kind))
        if found is None:
            found = kind, TypeAdapter(kind, _parent_depth=3)  # names in a type are looked up where DSPy made it
            if len(self.made) < MOST:
                self.made[id(kind)] = found
        return found[1]


_lock = threading.Lock()
_users = 0


@contextmanager
def types_kept() -> Iterator[None]:
    """While any of these lasts, DSPy's adapters make the adapter of a type once."""
    global _users
    with _lock:
        _users += 1
        if _users == 1:
            _put(Types())
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _put(TypeAdapter)


def _put(made: Any) -> None:
    for place in ADAPTING:
        import_module(place).TypeAdapter = made  # type: ignore[attr-defined]
