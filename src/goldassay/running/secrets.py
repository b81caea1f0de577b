"""Secrets stay out of run folders, logs and reports."""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Iterator, Mapping
from types import CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

if TYPE_CHECKING:
    import dspy

NAMES = re.compile(r"key|token|secret|password|passwd|credential", re.IGNORECASE)
SETTING = re.compile(r"(?:^|[_-])(?:key|token|secret|password|passwd|credentials?|authorization)$", re.IGNORECASE)
PREFIXES = (
    "sk-", "sk_", "pk-", "pk_", "rk_", "rk-", "hf_", "hf-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "ghp-",
    "github_pat_", "glpat-", "gsk_", "nvapi-", "xai-", "r8_", "xox", "pplx-", "tgp_",
)  # fmt: skip
SHAPES: tuple[tuple[tuple[str, ...], re.Pattern[str]], ...] = (
    (
        PREFIXES,
        re.compile(
            r"\b(?:(?:sk|pk|rk|hf|gh[pousr]|github_pat|glpat|gsk|nvapi|xai|r8|pplx|tgp|xox[abeprs])[-_][A-Za-z0-9_\-]{8,})"
        ),
    ),
    (
        ("aiza", "akia", "asia", "eyj", "ya29."),
        re.compile(
            r"\b(?:AIza[A-Za-z0-9_\-]{20,}|(?:AKIA|ASIA)[A-Z0-9]{12,}"
            r"|ya29\.[A-Za-z0-9_\-]{10,}"
            r"|eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}(?:\.[A-Za-z0-9_\-]*)?)"
        ),
    ),
    (
        ("private key-----",),
        re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)", re.DOTALL),
    ),
    (
        ("accountkey", "accesskey", "password"),
        re.compile(r"(?i)\b(?:(?:shared)?a(?:ccount|ccess)key|password)=[^\s\"'\\,;}&]{6,}"),
    ),
    (("bearer",), re.compile(r"(?i)\bbearer\s+[A-Za-z0-9._~+/\-]{8,}=*")),
    (("basic",), re.compile(r"\b[Bb]asic\s+(?=[a-z]*[A-Z0-9+/])[A-Za-z0-9+/]{8,}={0,2}")),
    (("://",), re.compile(r"(?<=://)[^/\s:@\"]+:[^/\s@\"]+(?=@)")),
    (
        ("?", "&"),
        re.compile(r"(?i)(?<=[?&])(?:[a-z_\-]*(?:key|token|secret|password|signature)|sig|auth|code)=[^&\s\"'\\]+"),
    ),
    (
        ("key", "token", "secret"),  # what only a server said: a name, then a value
        re.compile(
            r"(?i)\b(?:api|access|secret|auth|client)[ _\-]?(?:key|token|secret)s?(?: provided| is)?\\?[\"']?"
            r"\s*[:=]\s*\\?[\"']?[^\s\"'\\,;}&]{6,}"
        ),
    ),
)
"""What keys look like, each with what a text (in small letters) must hold before it is searched."""
HIDDEN, EMPTY = "[hidden]", CellType()
MOST = 5000  # objects that are looked through for models


def models(*things: object) -> list[dspy.BaseLM]:
    """The language models that programs, metrics and judges hold: in predictors, attributes and closures.

    >>> import dspy
    >>> ask = dspy.Predict("question -> answer")
    >>> ask.lm = dspy.LM("openai/small")
    >>> [lm.model for lm in models(lambda question: ask(question=question), ask)]
    ['openai/small']
    """
    import dspy

    lms: dict[int, dspy.BaseLM] = {}
    seen: set[int] = set()
    waiting = deque(things)
    while waiting and len(seen) < MOST:
        thing = waiting.popleft()
        if id(thing) in seen or isinstance(thing, str | bytes | int | float | type | ModuleType | None):
            continue
        seen.add(id(thing))
        if isinstance(thing, dspy.BaseLM):
            lms[id(thing)] = thing
        elif isinstance(thing, list | tuple | Mapping):  # a few parts, not a million passages
            parts = list(thing.values() if isinstance(thing, Mapping) else thing)
            waiting += parts if len(parts) <= 64 else []
        elif isinstance(thing, FunctionType):
            waiting += [cell.cell_contents for cell in thing.__closure__ or () if cell != EMPTY]
        else:
            waiting += [getattr(thing, "__self__", None), *getattr(thing, "__dict__", {}).values()]
    return list(lms.values())


def known_secrets(*things: object) -> tuple[str, ...]:
    """The secrets that this process knows: from the environment and from the settings of the models in these things."""
    secrets = {value for name, value in os.environ.items() if NAMES.search(name) and len(value) >= 8}
    for lm in models(*things):
        secrets |= set(_in_settings(lm.kwargs))
    secrets |= {json.dumps(value, ensure_ascii=False)[1:-1] for value in secrets}  # as they stand inside JSON
    return tuple(sorted(secrets, key=len, reverse=True))


def _in_settings(settings: Mapping[str, object]) -> Iterator[str]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _in_settings(value)  # extra_headers and the like
        elif isinstance(value, str) and SETTING.search(name) and len(value) >= 4:
            yield value
        elif isinstance(value, str) and "://" in value:  # an address may carry keys in its query
            yield from (part for _, part in parse_qsl(urlsplit(value).query) if len(part) >= 4)


def redact(text: str, secrets: tuple[str, ...] = ()) -> str:
    """``text`` without secrets.

    >>> redact("401 for sk-abcdef123456 at https://me:pw12@host/v1?api_key=abc", ("topsecret",))
    '401 for [hidden] at https://[hidden]@host/v1?[hidden]'
    """
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, HIDDEN)
    small = text.lower()
    for signs, shape in SHAPES:
        if any(sign in small for sign in signs):  # a search for a word is a hundred times faster than the shape
            text = shape.sub(HIDDEN, text)
    return text


def scrub(value: object, secrets: tuple[str, ...] = ()) -> Any:
    """A JSON value without secrets: in every text and key, and whatever stands under a name such as ``api_key``.

    >>> scrub({"api_key": "abc", "max_tokens": 5, "urls": ["https://me:pw@host/"]})
    {'api_key': '[hidden]', 'max_tokens': 5, 'urls': ['https://[hidden]@host/']}
    """
    if isinstance(value, str):
        return redact(value, secrets)
    if isinstance(value, Mapping):
        return {
            redact(str(key), secrets): HIDDEN
            if isinstance(inner, str) and SETTING.search(str(key))
            else scrub(inner, secrets)
            for key, inner in value.items()
        }
    return [scrub(inner, secrets) for inner in value] if isinstance(value, (list, tuple)) else value
