"""What a reader does with what is wrong in a file: stop there, as a rule, or tell it and go on, as an audit asks.

A reader calls ``wrong`` with the error and leaves out the line, the question or the tag that it is about. The kind is
one of the audit's kinds of findings.
"""

from __future__ import annotations

from typing import Protocol

from goldassay.exceptions import DataError


class Wrong(Protocol):
    """Takes an error, and either raises it or returns."""

    def __call__(self, error: DataError, kind: str = "unreadable") -> None: ...


def stop(error: DataError, kind: str = "unreadable") -> None:
    """Raise the first error.

    >>> stop(DataError("no type", file="gold.tsv", line=3))
    Traceback (most recent call last):
    goldassay.exceptions.DataError: gold.tsv:3: no type
    """
    raise error


def go_on(error: DataError, kind: str = "unreadable") -> None:
    """Say nothing: what is wrong was told before.

    >>> go_on(DataError("no type", file="gold.tsv", line=3))
    """
