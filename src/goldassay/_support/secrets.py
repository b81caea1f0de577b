"""Secrets stay out of run folders, logs, reports and everything that is printed.

`redact` hides what looks like a key, and whatever this process knows to be one: values of the environment, and the
keys, headers and parts of addresses in the settings of models (`remember`).
"""

from __future__ import annotations

import json
import os
import re
import sys
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from types import CellType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    import dspy

SECRET_NAMES = re.compile(r"key|token|secret|password|passwd|credential", re.IGNORECASE)
SETTING = re.compile(r"(?:^|[_-])(?:key|token|secret|password|passwd|credentials?|authorization)$", re.IGNORECASE)
PREFIX = "(?:sk|pk|rk|hf|gh[pousr]|github_pat|glpat|gsk|nvapi|xai|r8|pplx|tgp|lsv2|tvly|xox[abeprs])"
RANDOM = "(?=[A-Za-z]*[0-9])(?=[0-9]*[A-Za-z])"
"""Letters and digits mixed: what a key glued to a word must have, or "risk-management" would hold one."""
KEY_SHAPES = [
    (signs.split(), re.compile(shape))
    for signs, shape in (
        (
            "sk- sk_ pk- pk_ rk_ rk- hf_ hf- ghp_ gho_ ghu_ ghs_ ghr_ ghp- github_pat_ glpat- gsk_ nvapi- xai- r8_ xox "
            "pplx- tgp_ lsv2_ tvly-",
            rf"\b{PREFIX}[-_][A-Za-z0-9_\-]{{8,}}"
            rf"|{PREFIX}[-_](?:[A-Za-z0-9]+[-_]){{0,3}}?{RANDOM}[A-Za-z0-9]{{12,}}[A-Za-z0-9_\-]*"
            r"|tgp_v\d_[A-Za-z0-9_\-]{8,}|[sp]k-lf(?:-[0-9a-f]{4,8}){4}-[0-9a-f]{12}",
        ),
        (
            "aiza akia asia eyj ya29.",
            r"AIza[A-Za-z0-9_\-]{20,}|(?:\b|(?=.{4}[A-Z]*[0-9]))(?:AKIA|ASIA)[A-Z0-9]{12,}"
            r"|ya29\.[A-Za-z0-9_\-]{10,}"
            rf"|(?:\b|(?=...{RANDOM}))eyJ[A-Za-z0-9_\-]{{8,}}\.[A-Za-z0-9_\-]{{8,}}(?:\.[A-Za-z0-9_\-]*)?",
        ),
        (
            "npm_ ntn_ fw_ dckr_pat_ dop_v1_ shpat_ lin_api_ pypi- dapi sg. hooks. :aa",
            rf"(?:npm_|ntn_|fw_|dckr_pat_|dop_v1_|shpat_|lin_api_|pypi-|dapi){RANDOM}[A-Za-z0-9_\-]{{20,}}"
            rf"|SG\.{RANDOM}[A-Za-z0-9_\-]{{16,}}\.[A-Za-z0-9_\-]{{16,}}|\d{{8,10}}:AA[A-Za-z0-9_\-]{{30,}}"
            r"|(?<=hooks\.slack\.com/services/)[A-Za-z0-9/]+",
        ),
        ("key-----", r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*-----|\Z)"),
        (
            "accountkey accesskey password",
            r"(?i)(?:(?:shared)?a(?:ccount|ccess)key|password)=[^\s\"'\\,;}&]{6,}"
            r"|password\\?[\"']\s*:\s*\\?[\"'][^\s\"'\\]{6,}",
        ),
        ("bearer", rf"(?i)(?:\b|(?=bearer\s+{RANDOM}))bearer\s+[A-Za-z0-9._~+/\-]{{8,}}=*"),
        ("basic", rf"(?:\b|(?=[Bb]asic\s+{RANDOM}))[Bb]asic\s+(?=[a-z]*[A-Z0-9+/])[A-Za-z0-9+/]{{8,}}={{0,2}}"),
        ("://", r"(?<=://)[^/\s@\"']+(?=@)"),
        ("? &", r"(?i)(?<=[?&])(?:[a-z_\-]*(?:key|token|secret|password|signature)|sig|auth|code)=[^&\s\"'\\]+"),
        (
            "key token secret",  # what only a server said: a name, then a value
            r"(?i)(?:api|access|secret|auth|client)[ _\-]?(?:key|token|secret)s?(?: provided| is)?\\?[\"']?"
            r"\s*[:=]\s*\\?[\"']?[^\s\"'\\,;}&]{6,}",
        ),
    )
]
"""The shapes of keys, each with the signs of which a text (in small letters) must hold one before it is searched."""
PUBLIC_HEADERS = re.compile(r"accept|content|user-agent", re.IGNORECASE)  # whose values are not secret
BASES = re.compile(r"(?:API_BASE|BASE_URL|ENDPOINT)$")  # variables that hold the address of a model
ROUTE = re.compile(
    r"v\d\w{0,8}|api|openai|azure|anthropic|google|chat|completions|responses|models|deployments|inference|predict|"
    r"compat|compatible-mode|serving-endpoints|endpoints|engines|proxy|gateway|llm|beta|local|rest|.{0,3}"
)
"""Parts of an address's path that are not secret."""
PUBLIC = re.compile(r"version|region|model|deployment|format", re.IGNORECASE)  # names in a query, of no secrets
DUMMY_KEYS = ("not-needed", "not-required", "no-key-required", "lm-studio", "placeholder", "anything")
HIDDEN = "[hidden]"
EMPTY_CLOSURE = CellType()
MOST_OBJECTS = 5000  # objects that are looked through for models


def models(*things: object) -> list[dspy.BaseLM]:
    """The language models that programs, metrics and judges hold: in predictors, attributes and closures.

    >>> import dspy
    >>> ask = dspy.Predict("question -> answer")
    >>> ask.lm = dspy.LM("openai/small")
    >>> [lm.model for lm in models(lambda question: ask(question=question), ask)]
    ['openai/small']
    """
    library = sys.modules.get("dspy")  # where it is not loaded there are no models
    lms: dict[int, dspy.BaseLM] = {}
    seen: set[int] = set()
    waiting: deque[Any] = deque(things)
    while library and waiting and len(seen) < MOST_OBJECTS:
        thing = waiting.popleft()
        if id(thing) in seen or isinstance(thing, str | bytes | int | float | type | ModuleType | None):
            continue
        seen.add(id(thing))
        if isinstance(thing, library.BaseLM):
            lms[id(thing)] = thing
        elif isinstance(thing, list | tuple | Mapping):  # a few parts, not a million passages
            parts = list(thing.values() if isinstance(thing, Mapping) else thing)
            waiting += parts if len(parts) <= 64 else []
        elif isinstance(thing, FunctionType):
            waiting += [cell.cell_contents for cell in thing.__closure__ or () if cell != EMPTY_CLOSURE]
        else:
            waiting += [getattr(thing, "__self__", None), *getattr(thing, "__dict__", {}).values()]
    return list(lms.values())


_seen: set[str] = set()
_known: tuple[str, ...] | None = None  # those, also as JSON and repr escape them, the longest first


def remember(*things: object) -> tuple[str, ...]:
    """Hide from now on the secrets of the environment and of the models in these things; all that are known."""
    global _known
    for name, value in os.environ.items():
        _seen.update({value} if SECRET_NAMES.search(name) and len(value) >= 8 else ())
        _seen.update(_in_address(value, bool(BASES.search(name))))
    for lm in models(*things):
        _seen.update(_in_settings(lm.kwargs, str(lm.model)))
    forms = _seen | {form[1:-1] for value in _seen for form in (json.dumps(value, ensure_ascii=False), repr(value))}
    _known = tuple(sorted(forms - {HIDDEN}, key=len, reverse=True))
    return _known


def _in_settings(settings: Mapping[str, object], model: str, headers: bool = False) -> Iterator[str]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _in_settings(value, model, "header" in name.lower())
        elif isinstance(value, str):
            if _rare(value) and (SETTING.search(name) or (headers and not PUBLIC_HEADERS.match(name))):
                yield value
            yield from (word for word in _in_address(value) if word.strip("/") not in model)


def _in_address(text: str, path: bool = True) -> Iterator[str]:
    """The secrets that an address may hold: user and password, values of its query, unknown parts of its path."""
    if "://" not in text:
        return
    parts = urlsplit(text)
    user, colon, password = parts.netloc.rpartition("@")[0].partition(":")
    if user or password:
        pair = f"{unquote(user)}:{unquote(password)}"
        yield from (pair, f"{user}:{password}", b64encode(pair.encode()).decode())
    values = [password if colon else user]
    for piece in parts.query.split("&"):
        name, _, value = piece.partition("=")
        values += [value] if (SETTING.search(name) or path) and not PUBLIC.search(name) else []
    for segment in parts.path.split("/") if path else ():
        if not ROUTE.fullmatch(segment):
            yield f"/{segment}"
            values += [segment] if len(segment) >= 8 and re.search("[0-9A-Z]", segment) else []
    yield from (form for value in values for form in (value, unquote(value)) if _rare(form))


def _rare(value: str) -> bool:
    """Whether a value hides nothing else where it is hidden: no word, and no placeholder for a key."""
    long = len(value) >= 8 and value.casefold() not in DUMMY_KEYS
    return long or (len(value) >= 4 and bool(re.search(r"\d", value)) and bool(re.search(r"\D", value)))


def redact(text: str, cover: Callable[[str], str] = lambda secret: HIDDEN) -> str:
    """``text`` without secrets; ``cover`` says what a secret becomes.

    >>> redact("401 for sk-abcdef123456 at https://me:pw12@host/v1?api_key=abc")
    '401 for [hidden] at https://[hidden]@host/v1?[hidden]'
    """
    for secret in remember() if _known is None else _known:
        if secret in text:
            text = text.replace(secret, cover(secret))
    small = text.lower()
    for signs, shape in KEY_SHAPES:
        if any(sign in small for sign in signs):  # a search for a word is a hundred times faster than the shape
            text = shape.sub(lambda match: cover(match[0]), text)
    return text


def scrub(value: object) -> Any:
    """A JSON value without secrets: in every text and key, and under a name such as ``api_key``.

    >>> scrub({"api_key": "abc", "max_tokens": 5, "urls": ["https://me:pw@host/"]})
    {'api_key': '[hidden]', 'max_tokens': 5, 'urls': ['https://[hidden]@host/']}
    """
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {
            redact(str(key)): HIDDEN if isinstance(inner, str) and SETTING.search(str(key)) else scrub(inner)
            for key, inner in value.items()
        }
    return [scrub(inner) for inner in value] if isinstance(value, (list, tuple)) else value


def mask(value: object) -> Any:
    """A JSON value whose texts have a star for each character of a secret, so that offsets stay what they were.

    >>> mask({"text": "key sk-abcdef123456, Museum"})
    {'text': 'key ***************, Museum'}
    """
    if isinstance(value, str):
        return redact(value, lambda secret: "*" * len(secret))
    if isinstance(value, Mapping):
        return {mask(key): mask(inner) for key, inner in value.items()}
    return [mask(inner) for inner in value] if isinstance(value, (list, tuple)) else value
