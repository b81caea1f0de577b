"""``carb``: CaRB's tables, ``sentence predicate arguments…``; predictions have a confidence after the sentence.

These predictions are what ``carb.py --tabbed`` reads. A sentence is named by its letters and digits alone, so that
systems may write brackets and spaces as they like. A statement's object is all arguments but the first.

Source: https://github.com/dair-iitd/CaRB (carb.py, oie_readers)
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import Any

from goldassay import files
from goldassay.exceptions import DataError
from goldassay.gold.formats import Row, Source

TASKS = ("triples",)
OPTIONS = ()
BRACKETS = re.compile("-[LR][RSC]B-")


def rows(source: Source) -> Iterator[Row]:
    """One record a sentence."""
    sentences: dict[str, list[dict[str, Any]]] = {}
    for number, line in enumerate(files.lines(source.path), start=1):
        cells = line.strip().split("\t")
        if not cells[0]:
            continue
        with source.checking("unreadable", line=number):
            statement: dict[str, Any] = {}
            text, *rest = cells
            if source.side == "pred":
                try:
                    statement["confidence"] = float(rest.pop(0))
                except (IndexError, ValueError):
                    raise DataError(f"a confidence stands after the sentence, not {cells[1:2]}") from None
            if not rest:
                raise DataError("a line is a sentence and a predicate, then arguments, between tabs")
            predicate, *arguments = (cell.strip() for cell in rest)
            subject = arguments[0] if arguments else ""
            statement |= {"subject": subject, "predicate": predicate, "object": " ".join(arguments[1:])}
            if len(arguments) != 2:
                statement["meta"] = {"arguments": arguments}
            sentences.setdefault(text.strip(), []).append(statement)
    records = {_name(text): {"id": _name(text), "text": text, "triples": each} for text, each in sentences.items()}
    yield from map(Row, records.values())


def _name(sentence: str) -> str:
    letters = BRACKETS.sub("", sentence.replace(" ", ""))
    return letters.translate(dict.fromkeys(map(ord, string.punctuation)))
