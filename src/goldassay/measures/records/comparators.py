"""Comparators: how much of a field's value is right, from 0 to 1.

A comparator is named as a text that may set its parameters: ``number(relative=0.01)``. Values of different JSON types
(the number 12.5, the text "12.50") are never the same, except for ``decimal`` (a number, also as text), ``money`` and
functions of one's own.
"""

from __future__ import annotations

import inspect
import re
import unicodedata
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, date, datetime, time
from functools import lru_cache, partial
from typing import Any

import numpy as np
from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

from goldassay._support.exceptions import GoldassayError
from goldassay._support.jsonl import JSON
from goldassay.core.measure import literal_call

Comparator = Callable[[Any, Any], float]
AMOUNT = re.compile(r"[-+]?\d[\d.,' \u00a0\u202f]*")
AMOUNT_WITH_UNIT = re.compile(rf"([^\s\d]{{1,3}}\s*)?{AMOUNT.pattern}\S*")
"""A number with a unit or currency: not a name that has a number in it."""
ISO_MONTH = re.compile(r"(\d{4})(?:-(\d\d))?")
ISO_MOMENT = re.compile(r"\d{4}-\d\d(-\d\d([T ].*)?)?|\d\d:\d\d(:\d\d.*)?")
DIGITS = re.compile(r"\W*\d+\W+\d+\W+\d+\W*")
WEAK = 1e-9  # the relative difference that floating point makes


TYPES = {type(None): "null", bool: "boolean", int: "number", float: "number", str: "string", list: "array"}


def json_type(value: JSON) -> str:
    """The JSON type of a value: null, boolean, number, string, array or object."""
    return TYPES.get(type(value), "object")


def folded(value: JSON) -> str:
    """A text in one Unicode form, without case, its white space as single spaces."""
    return _folded(str(value))


@lru_cache(maxsize=65536)
def _folded(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def exact(gold: JSON, pred: JSON) -> bool:
    """Equal."""
    return bool(gold == pred)


def normalised(gold: JSON, pred: JSON) -> bool:
    """Equal without case, white space and forms of Unicode."""
    return folded(gold) == folded(pred)


def number(gold: JSON, pred: JSON, absolute: float = 0.0, relative: float = WEAK) -> bool:
    """Numbers no further apart than ``absolute``, or than ``relative`` of the gold number; integers that are equal.

    >>> number(2000000001, 2000000002), number(2000000001, 2000000002, absolute=1)
    (False, True)
    """
    if isinstance(gold, int) and isinstance(pred, int) and (absolute, relative) == (0.0, WEAK):
        return gold == pred  # an identifier of ten digits is not its neighbour
    expected = amount(gold)
    predicted = amount(pred)
    if expected is None or predicted is None:
        return exact(gold, pred)
    return abs(expected - predicted) <= max(absolute, relative * abs(expected))


def money(gold: JSON, pred: JSON, absolute: float = 0.005) -> bool:
    """The same amount, as a number or as written ("€ 1.234,50"); currencies are compared if both sides name one."""
    expected = amount(gold)
    predicted = amount(pred)
    if expected is None or predicted is None:
        return normalised(gold, pred)
    same_currency = not unit(gold) or not unit(pred) or unit(gold) == unit(pred)
    return abs(expected - predicted) <= absolute + WEAK and same_currency


def iso_date(gold: JSON, pred: JSON, partial: bool = False, format: str = "") -> bool:
    """The same date or time in ISO 8601; with ``partial`` a prediction may say more than gold ("2024-03").

    A text may also have the ``format``, as ``strptime`` reads it. Gold that has neither form is compared as it is.
    """
    expected = moment(gold, format)
    predicted = moment(pred, format)
    if expected is None and gold:
        forms = f"ISO 8601 or {format}" if format else "ISO 8601; state its form, such as date:%d/%m/%Y"
        warnings.warn(f"gold has texts that are compared as dates and are not in {forms}", stacklevel=2)
    if expected is None or predicted is None:
        return exact(gold, pred)
    return expected == (predicted[: len(expected)] if partial else predicted)


def fuzzy(gold: JSON, pred: JSON, threshold: float = 0.9) -> bool:
    """Texts whose similarity (1 − insertions and deletions / both lengths, normalised) reaches the threshold."""
    return fuzz.ratio(folded(gold), folded(pred)) >= 100 * threshold


def anls(gold: JSON, pred: JSON, threshold: float = 0.5) -> float:
    """1 − NL, and 0 if NL exceeds the threshold: NL is the edit distance over the longer length, as in DocVQA.

    The distance is that of the texts in lower case with single spaces; the length is that of the texts as written, in
    upper case. At the threshold itself the paper's formula gives 0 (NL < τ), the script 1 − NL.

    Source: Biten et al., ICCV 2019 (Scene Text Visual Question Answering), and the evaluation script of DocVQA

    >>> anls("Rijksmuseum", "rijksmuseun"), anls("Delft", "Gouda"), anls("1885", "1890")
    (0.9090909090909091, 0.0, 0.5)
    """
    texts = (str(gold), str(pred))
    length = max(len(text.upper()) for text in texts)
    distance = Levenshtein.distance(*(" ".join(text.lower().split()) for text in texts)) / (length or 1)
    return 1 - distance if distance <= threshold else 0.0


def identifier(gold: JSON, pred: JSON) -> bool:
    """Equal letters and digits: "NL-AmRM" is "nl amrm", "not paid" is "NOT_PAID"; of numbers, equal."""
    if not isinstance(gold, str):
        return exact(gold, pred)
    return _letters(gold) == _letters(pred)


def _letters(value: JSON) -> str:
    """The letters and digits of a value; if it has none, the whole text."""
    text = folded(value)
    return re.sub(r"[\W_]+", "", text) or text


def embedding(gold: JSON, pred: JSON, threshold: float = 0.8, model: str = "") -> bool:
    """Texts whose vectors have at least this cosine; ``model`` is an embedder (`goldassay.models.embedding`)."""
    from goldassay.models.embedding import available, resolve

    vectors = np.asarray(resolve(model or available() or "")([str(gold), str(pred)]), float)
    left, right = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return bool(left @ right >= threshold)


COMPARATORS: Mapping[str, Callable[..., float]] = {
    function.__name__: function for function in (exact, normalised, number, money, fuzzy, anls, identifier, embedding)
} | {"enum": identifier, "date": iso_date, "decimal": number}


@lru_cache(maxsize=1024)
def comparator(text: str) -> Comparator:
    """The comparator of a text; a form of dates may follow a colon.

    Raises:
        GoldassayError: the text names no comparator, or a parameter that it does not have.

    >>> comparator("number(absolute=0.01)")(12.5, 12.504), comparator("date(partial=True)")("2024-03", "2024-03-01")
    (1.0, 1.0)
    >>> comparator("date:%d/%m/%Y")("2024-03-01", "01/03/2024")
    1.0
    >>> comparator("numbr")
    Traceback (most recent call last):
    goldassay._support.exceptions.GoldassayError: no comparator reads as 'numbr'; there are exact, normalised, number, \
money, \
fuzzy, anls, identifier, embedding, enum, date, decimal
    """
    name, colon, form = text.partition(":")
    try:
        name, arguments, options = (name, [], {"format": form}) if colon and "(" not in name else literal_call(text)
        parameters = list(inspect.signature(COMPARATORS[name]).parameters)[2:]
        options |= dict(zip(parameters, arguments, strict=False))
        function = partial(COMPARATORS[name], **options)
        inspect.signature(function).bind(None, None)
    except (SyntaxError, ValueError, TypeError, KeyError, AttributeError):
        raise GoldassayError(f"no comparator reads as {text!r}; there are {', '.join(COMPARATORS)}") from None
    lenient = name in ("money", "decimal")  # they compare values of different JSON types
    return lambda gold, pred: float(function(gold, pred)) if lenient or json_type(gold) == json_type(pred) else 0.0


def by_value(value: JSON) -> str:
    """The comparator of a gold value whose field has none: by its type.

    >>> by_value(12.5), by_value("2024-03-01"), by_value("Delft")
    ('number', 'date', 'exact')
    """
    if json_type(value) == "number":
        return "number"
    return "date" if isinstance(value, str) and ISO_MOMENT.fullmatch(value) and moment(value) else "exact"


def difference(gold: JSON, pred: JSON) -> str:
    """The fault of a predicted value: its type, its unit, how it is written, or the value itself.

    >>> difference(12.5, "12.50"), difference("12 kg", "12 g"), difference("2024-03-01", "01/03/2024")
    ('wrong_type', 'wrong_unit', 'wrong_format')
    """
    if json_type(gold) != json_type(pred):
        return "wrong_type"
    if not isinstance(gold, str):
        return "wrong_value"
    # a date written in digits holds the same numbers in another order
    dates = [sorted(map(int, re.findall(r"\d+", text))) for text in (gold, str(pred)) if DIGITS.fullmatch(text)]
    if normalised(gold, pred) or (len(dates) == 2 and dates[0] == dates[1]):
        return "wrong_format"
    expected = amount(gold)
    predicted = amount(pred)
    has_letters = any(map(str.isalpha, gold))
    if expected is None or predicted is None:
        return "wrong_format" if has_letters and identifier(gold, pred) else "wrong_value"
    if expected != predicted and not (has_letters and expected == -predicted):  # the hyphen of "NL-7" is not a sign
        return "wrong_value"
    if unit(gold) == unit(pred) or (has_letters and identifier(gold, pred)):
        return "wrong_format"
    return (
        "wrong_unit" if all(AMOUNT_WITH_UNIT.fullmatch(text.strip()) for text in (gold, str(pred))) else "wrong_value"
    )


def amount(value: JSON) -> float | None:
    """The one number of a value; the last separator with other than three digits after it is the decimal one.

    >>> amount("€ 1.234,50"), amount("1,234"), amount("12 kg"), amount("3 of 4")
    (1234.5, 1234.0, 12.0, None)
    """
    if not isinstance(value, str):
        return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
    numbers = AMOUNT.findall(value)
    if len(numbers) != 1:
        return None
    digits = re.sub(r"[' \u00a0\u202f]", "", numbers[0]).rstrip(".,")
    marks = [mark for mark in digits if mark in ".,"]
    if len(set(marks)) == 2 or (len(marks) == 1 and not re.search(r"[.,]\d{3}$", digits)):
        integer, _, fraction = digits.rpartition(marks[-1])
        digits = f"{re.sub('[.,]', '', integer)}.{fraction}"
    else:
        digits = re.sub("[.,]", "", digits)
    return float(digits)


SYMBOLS = {"€": "eur", "$": "usd", "£": "gbp", "¥": "jpy"}


def unit(value: JSON) -> str:
    """The unit or currency of the number in a text."""
    text = folded(AMOUNT.sub(" ", value)) if isinstance(value, str) else ""
    return SYMBOLS.get(text, text)


def moment(value: JSON, format: str = "") -> tuple[object, ...] | None:
    """A date or time in ISO 8601 or a format as its parts, as far as they are said; a time with a zone in UTC."""
    if not isinstance(value, str):
        return None
    if format:
        with suppress(ValueError):
            value = datetime.strptime(value, format).isoformat().removesuffix("T00:00:00")
    if match := ISO_MONTH.fullmatch(value):
        return tuple(int(digits) for digits in match.groups() if digits)
    for kind in (date, datetime, time):
        try:
            parsed: Any = kind.fromisoformat(value)
        except ValueError:
            continue
        if kind is date:
            return parsed.timetuple()[:3]  # type: ignore[no-any-return]
        if kind is time:
            return ("time", parsed.replace(tzinfo=None))
        parsed = parsed.astimezone(UTC) if parsed.tzinfo else parsed
        return (*parsed.timetuple()[:6], parsed.microsecond)
    return None
