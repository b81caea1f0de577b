"""What was got wrong in answering, in words: a wrong answer, a claim that nothing supports."""

from __future__ import annotations

from collections.abc import Sequence

from goldassay.fields import read
from goldassay.measure import Error, failed

# For each table of verdicts (`claims`): the kind of error, and what is wrong with a claim that it does not support.
AGAINST = {
    "answer_by_gold": ("incorrect", "which the gold answer does not say"),
    "gold_by_answer": ("missed", "which the answer leaves out"),
    "answer_by_context": ("unsupported", "which no retrieved passage supports"),
    "gold_by_context": ("not_retrieved", "which no retrieved passage holds"),
}


def wrong(gold: object, pred: object, expected: Sequence[str], found: str) -> tuple[Error, ...]:
    """The error of a wrong answer, in words; none when the program failed (feedback says that by itself)."""
    if failed(pred):
        return ()
    asked = str(read(gold, "question", ""))
    about = f" to “{asked}”" if asked else ""
    if not expected:
        message = f"Answered “{found}”{about}, which has no answer; say nothing then."
        return (Error("unanswerable", message, pred=found, context=asked, field="answer"),)
    if not found.strip():
        message = f"No answer{about}; expected “{expected[0]}”."
        return (Error("missed", message, gold=expected[0], context=asked, field="answer"),)
    other = f" (or {len(expected) - 1} other wordings)" if len(expected) > 1 else ""
    message = f"Answered “{found}”{about}; expected “{expected[0]}”{other}."
    return (Error("wrong_answer", message, gold=expected[0], pred=found, context=asked, field="answer"),)


def unsupported(table: str, verdict: bool | None, text: str, otherwise: str = "") -> Error:
    """The error of a claim that a table does not support, or of which it is unknown.

    ``otherwise`` is the quote that contradicts it.

    >>> unsupported("answer_by_context", False, "It is red").message
    'The answer says “It is red”, which no retrieved passage supports.'
    """
    kind, says = AGAINST[table]
    field = "retrieved_contexts" if table == "gold_by_context" else "answer"
    if verdict is None:
        message = f"Whether “{text}” is supported is not known: the verdict did not come back."
        return Error("unknown", message, field=field)
    of_gold = table.startswith("gold")
    message = f"{'The gold answer says' if of_gold else 'The answer says'} “{text}”, {says}."
    message += f" It says otherwise: “{otherwise}”." if otherwise else ""
    return Error(kind, message, text if of_gold else "", "" if of_gold else text, field=field)
