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
NUMBER = re.compile(r"[+-]?\d*\.?\d+(?:[eE][+-]?\d+)?")
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
                if not rest or not NUMBER.fullmatch(rest[0]):
                    raise DataError(f"a confidence stands after the sentence, not {cells[1:2]}")
                statement["confidence"] = float(rest.pop(0))
            if not rest:
                raise DataError("a line is a sentence and a predicate, then arguments, between tabs")
            predicate, *arguments = (cell.strip() for cell in rest)
            subject = arguments[0] if arguments else ""
            statement |= {"subject": subject, "predicate": predicate, "object": " ".join(arguments[1:])}
            if len(arguments) != 2:
                statement["meta"] = {"arguments": arguments}
            sentences.setdefault(text.strip(), []).append(statement)
    predicates = [statement["predicate"] for each in sentences.values() for statement in each]
    if source.side == "gold" and 2 * sum(map(bool, map(NUMBER.fullmatch, predicates))) > len(predicates):
        raise DataError("most predicates are numbers: are these predictions?", file=source.path)
    records = {_name(text): {"id": _name(text), "text": text, "triples": each} for text, each in sentences.items()}
    yield from map(Row, records.values())


def _name(sentence: str) -> str:
    letters = BRACKETS.sub("", sentence.replace(" ", ""))
    return letters.translate(dict.fromkeys(map(ord, string.punctuation)))
