"""The error of a wrong answer, in words. Errors of claims are in `claims`."""

from __future__ import annotations

from goldassay.core.measure import Error, Review
from goldassay.measures.answering.records import AnswerPair


def wrong_answer(pair: AnswerPair) -> Review:
    """The error of a wrong answer; none if the program failed, which feedback says by itself.

    >>> rows, _ = wrong_answer(AnswerPair({"question": "When?", "answers": ["1800"]}, {"answer": "1900"}))
    >>> rows[0].message
    'Answered “1900” to “When?”; expected “1800”.'
    """
    if pair.failed:
        return (), ()
    golds = pair.answers
    text = pair.answer
    about = f" to “{pair.question}”" if pair.question else ""
    kind = "wrong_answer"
    if not golds:
        kind = "unanswerable"
        message = f"Answered “{text}”{about}, which has no answer; say nothing then."
    elif not text.strip():
        kind = "missed"
        text = ""
        message = f"No answer{about}; expected “{golds[0]}”."
    else:
        more = len(golds) - 1
        other = f" (or {more} other wordings)" if more else ""
        message = f"Answered “{text}”{about}; expected “{golds[0]}”{other}."
    gold = golds[0] if golds else ""
    return (Error(kind, message, gold=gold, pred=text, context=pair.question, field="answer"),), ()
