"""Whether somebody watches: progress is shown on a terminal alone, and not where ``--quiet`` was said."""

from __future__ import annotations

import os
from typing import Any

QUIET = "GOLDASSAY_QUIET"
"""The variable of the environment that ``--quiet`` sets, so that worker processes see it too."""


def quiet() -> bool:
    """Whether nothing is to be said of progress."""
    return bool(os.environ.get(QUIET))


def watched(stream: Any) -> bool:
    """Whether progress is shown on a stream: it is a terminal, and quiet was not asked for.

    >>> import io
    >>> watched(io.StringIO())
    False
    """
    return not quiet() and bool(stream.isatty())
