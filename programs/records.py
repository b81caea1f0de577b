"""Records: what a notice says about a museum's acquisition, as a pydantic model.

``program`` asks a language model for the whole record. ``baseline`` needs none: patterns for dates, amounts, numbers
of objects and the few ways in which a notice names an institution.
"""

from __future__ import annotations

import calendar
import re
from typing import Any, Literal

import dspy
from pydantic import BaseModel

MONTHS = list(calendar.month_name)[1:]
SYMBOLS = {"€": "EUR", "£": "GBP", "$": "USD", "euros": "EUR", "pounds": "GBP", "dollars": "USD"}
WAYS = {"bought": "purchase", "paid": "purchase", "purchase": "purchase", "will": "bequest", "bequest": "bequest"}
WAYS |= {"gift": "gift", "gave": "gift", "transfer": "transfer"}


class Price(BaseModel):
    """An amount of money."""

    amount: float
    currency: Literal["EUR", "GBP", "USD"]


class MuseumObject(BaseModel):
    """An object: what it is, without more words; its inventory number; the year on it or of it."""

    title: str
    number: str
    year: int | None = None


class Acquisition(BaseModel):
    """An acquisition; the date in ISO 8601, as far as it is said."""

    institution: str
    place: str
    date: str
    method: Literal["purchase", "gift", "bequest", "transfer"]
    source: str
    price: Price | None = None
    fund: str | None = None
    objects: list[MuseumObject]


class Read(dspy.Signature):  # type: ignore[misc]
    """Read the record of the acquisition out of the notice."""

    text: str = dspy.InputField()
    record: Acquisition = dspy.OutputField()


class Records(dspy.Module):  # type: ignore[misc]
    """The record by a language model."""

    def __init__(self) -> None:
        super().__init__()
        self.read = dspy.Predict(Read)

    def forward(self, text: str) -> dspy.Prediction:
        """The record of one notice."""
        return dspy.Prediction(record=self.read(text=text).record)


NUMBER = re.compile(r"(?:\(inv\. |registered as |\[)([A-Z]{2,4}[ -]\d{4}[.-]\d+)")
YEAR = re.compile(r"\b(1[6-9]\d\d)\b")
NAME = r"(?P<institution>[A-ZÀ-Ý][\w’'-]*(?: (?:de |la |Het )?[A-ZÀ-Ý][\w’'-]*)*)"
PLACED = re.compile(rf"{NAME}(?: in | \(|, )(?P<place>[A-ZÀ-Ý][\w’'-]+)")
MONEY = re.compile(r"([€£$]) ?([\d.,]*\d)|([\d.,]*\d) (euros|pounds|dollars)")


class Patterns(dspy.Module):  # type: ignore[misc]
    """What patterns find; no model."""

    def forward(self, text: str) -> dspy.Prediction:
        """The record of one notice, as far as patterns find it."""
        placed = PLACED.search(text)
        record: dict[str, Any] = placed.groupdict() if placed else {}
        record |= {"date": _date(text), "method": _method(text), "price": _price(text), "objects": []}
        begin = 0
        for match in NUMBER.finditer(text):
            words = text[begin : match.start()]
            year, noun = YEAR.search(words), re.search(r"\ban? ([a-z' -]+?)(?: with| of| in|,|$| \()", words)
            item = {"title": noun[1].strip() if noun else "", "number": match[1]}
            record["objects"].append(item | ({"year": int(year[1])} if year else {}))
            begin = match.end()
        return dspy.Prediction(record=record)


def _method(text: str) -> str | None:
    return next((way for word, way in WAYS.items() if re.search(rf"\b{word}\b", text, re.IGNORECASE)), None)


def _price(text: str) -> dict[str, Any] | None:
    match = MONEY.search(text)
    if not match:
        return None
    digits = (match[2] or match[3]).replace(",", ".")
    whole, _, cents = digits.rpartition(".")
    amount = f"{whole.replace('.', '')}.{cents}" if whole and len(cents) == 2 else digits.replace(".", "")
    return {"amount": float(amount), "currency": SYMBOLS[match[1] or match[4]]}


def _date(text: str) -> str | None:
    if match := re.search(r"\b\d{4}-\d\d-\d\d\b", text):
        return match[0]
    if match := re.search(r"\b(\d\d)\.(\d\d)\.(\d{4})\b", text):
        return f"{match[3]}-{match[2]}-{match[1]}"
    month = "|".join(MONTHS)
    if not (match := re.search(rf"(?:(\d\d?) )?({month})(?: (\d\d?),)? (\d{{4}})", text)):
        return None
    day = match[1] or match[3]
    return f"{match[4]}-{MONTHS.index(match[2]) + 1:02}" + (f"-{int(day):02}" if day else "")


program = Records()
baseline = Patterns()
