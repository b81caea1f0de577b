"""The error of a wrong answer, in words. Errors of claims are in `claims`."""

from __future__ import annotations

from goldassay.measure import Error, Review, failed
from goldassay.measures.answering.records import answer, answers, question


def wrong_answer(gold: object, pred: object) -> Review:
    """The error of a wrong answer; none if the program failed, which feedback says by itself.

    >>> rows, _ = wrong_answer({"question": "When?", "answers": ["1800"]}, {"answer": "1900"})
    >>> rows[0].message
    'Answered “1900” to “When?”; expected “1800”.'
    """
    if failed(pred):
        return (), ()
    golds, text, asked = answers(gold), answer(pred, gold), question(gold)
    about = f" to “{asked}”" if asked else ""
    first = golds[0] if golds else ""
    if not golds:
        kind, message = "unanswerable", f"Answered “{text}”{about}, which has no answer; say nothing then."
    elif not text.strip():
        kind, message = "missed", f"No answer{about}; expected “{first}”."
    else:
        other = f" (or {len(golds) - 1} other wordings)" if len(golds) > 1 else ""
        kind, message = "wrong_answer", f"Answered “{text}”{about}; expected “{first}”{other}."
    return (Error(kind, message, gold=first, pred="" if kind == "missed" else text, context=asked, field="answer"),), ()
