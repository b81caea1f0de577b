"""Secrets stay out of run folders, logs and reports."""

from __future__ import annotations

import os
import re
from typing import Any

NAMES = re.compile(r"key|token|secret|password|passwd|credential", re.IGNORECASE)
SHAPES = (
    re.compile(r"\b(?:sk|pk|hf|ghp|xox[abp])[-_][A-Za-z0-9_\-]{8,}"),
    re.compile(r"(?i)\bbearer\s+[A-Za-z0-9._\-]{8,}"),
    re.compile(r"(?<=://)[^/\s:@\"]+:[^/\s@\"]+(?=@)"),
)
HIDDEN = "[hidden]"


def known(lm: Any = None) -> tuple[str, ...]:
    """The secrets that this process knows: from the environment and from the model's settings."""
    found = {value for name, value in os.environ.items() if NAMES.search(name) and len(value) >= 8}
    for name, value in (getattr(lm, "kwargs", None) or {}).items():
        if isinstance(value, str) and NAMES.search(name) and len(value) >= 4 and not name.endswith("tokens"):
            found.add(value)
    return tuple(sorted(found, key=len, reverse=True))


def redact(text: str, secrets: tuple[str, ...] = ()) -> str:
    """``text`` without secrets.

    >>> redact("401 for sk-abcdef123456 at https://me:pw12@host/v1", ("topsecret",))
    '401 for [hidden] at https://[hidden]@host/v1'
    """
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, HIDDEN)
    for shape in SHAPES:
        text = shape.sub(HIDDEN, text)
    return text
