"""What went wrong in one example, in words: which property was missed though the text says it, in which words."""

from __future__ import annotations

import re
from typing import Any

from goldassay.fields import read
from goldassay.measure import Error
from goldassay.measures.triples import numeric, objects, terms, times
from goldassay.measures.triples.matching import Matching, related
from goldassay.measures.triples.records import Triple
from goldassay.text.normal import normal
from goldassay.text.words import around

AROUND = 30
YEAR = re.compile(r"(?<!\d)\d{3,4}(?!\d)")


def found(matching: Matching, gold: object) -> tuple[tuple[Error, ...], tuple[str, ...]]:
    """The errors of one example, and what was right."""
    text = str(read(gold, "text", None) or "")
    free = list(matching.unmatched)
    errors: list[Error] = []
    for index in matching.missed:
        wanted = matching.gold[index]
        near = next((i for i in free if related(wanted, matching.pred[i])), None)
        if near is not None:
            free.remove(near)
            errors.append(_wrong_object(wanted, matching.pred[near], text))
            continue
        near = next((i for i in free if _only_the_subject(wanted, matching.pred[i])), None)
        if near is not None:
            free.remove(near)
            errors.append(_wrong_subject(wanted, matching.pred[near], text))
            continue
        errors.append(_missed(wanted, text))
    errors += [_spurious(matching, matching.pred[index], text) for index in free]
    right = tuple(matching.pred[index].words for index in sorted(matching.pairs))
    return tuple(errors), right


def place(statement: Triple, text: str) -> tuple[int, int] | None:
    """Where the text says the object: its words, or for a time its year, for a quantity its number."""
    spoken = statement.key[2]
    forms = [terms.label(spoken), *(str(name) for name in statement.triple.get("object_labels") or ())]
    for form in forms:
        at = text.casefold().find(form.casefold()) if form.strip() else -1
        if at >= 0:
            return at, at + len(form)
    if isinstance(statement.value, times.Time):
        return next(((m.start(), m.end()) for m in YEAR.finditer(text) if int(m[0]) == abs(statement.value.year)), None)
    if isinstance(statement.value, numeric.Quantity):
        for number in numeric.NUMBER.finditer(text):
            said = numeric.quantity(number["number"])
            if said and set(said.readings) & set(statement.value.readings):
                return number.start("number"), number.end("number")
    return None


def _words(text: str, at: tuple[int, int]) -> str:
    return " ".join(around(text, *at, AROUND).split())


def _said(statement: Triple, text: str) -> tuple[str, tuple[int, int] | None]:
    at = place(statement, text)
    if at is None:
        return ("" if not text else " The text does not say it in these words."), None
    return f" The text says it: “…{_words(text, at)}…”.", at


def _error(kind: str, message: str, wanted: Triple | None, said: Triple | None, at: Any, text: str) -> Error:
    return Error(
        kind,
        message,
        gold=wanted.key[2] if wanted else "",
        pred=said.key[2] if said else "",
        gold_type=wanted.key[1] if wanted else "",
        pred_type=said.key[1] if said else "",
        start=at[0] if at else None,
        end=at[1] if at else None,
        context=_words(text, at) if at else "",
        field="triples",
    )


def _missed(wanted: Triple, text: str) -> Error:
    tail, at = _said(wanted, text)
    return _error("missed", f"Missed {wanted.words}.{tail}", wanted, None, at, text)


def _wrong_object(wanted: Triple, said: Triple, text: str) -> Error:
    tail, at = _said(wanted, text)
    message = f"{wanted.key[1]} of {wanted.key[0]} is {wanted.key[2]}, not {said.key[2]}.{tail}"
    return _error("wrong_object", message, wanted, said, at, text)


def _wrong_subject(wanted: Triple, said: Triple, text: str) -> Error:
    tail, at = _said(wanted, text)
    message = f"{wanted.key[1]} {wanted.key[2]} belongs to {wanted.key[0]}, not to {said.key[0]}.{tail}"
    return _error("wrong_subject", message, wanted, said, at, text)


def _spurious(matching: Matching, said: Triple, text: str) -> Error:
    at = place(said, text)
    twin = next((g for g in matching.gold if g.properties & said.properties and _twin(g, said)), None)
    if twin is not None:
        return _error("duplicate", f"{said.words} says again what is already said.", None, said, at, text)
    if not said.aligned:
        message = f"{said.words} is unknown: the alignment table does not have {said.key[1]!r}."
        return _error("unaligned", message, None, said, at, text)
    where = "" if not text or at else f" and the text does not contain {said.key[2]!r}"
    return _error("spurious", f"Gold does not have {said.words}{where}.", None, said, at, text)


def _only_the_subject(wanted: Triple, said: Triple) -> bool:
    """Whether property and object are right."""
    return bool(wanted.properties & said.properties) and objects.same(
        wanted.value, objects.read(said.triple, wanted.kind)
    )


def _twin(gold: Triple, said: Triple) -> bool:
    return normal(gold.key[0]) == normal(said.key[0]) and objects.same(gold.value, objects.read(said.triple, gold.kind))
