"""How answers go wrong."""

from __future__ import annotations

from collections.abc import Callable

from goldassay.measures.answering import found_entities
from goldassay.proof.mutation.damage import Apply, Damage, Record
from goldassay.text.damage import changed_digit, negated, swapped_name
from goldassay.text.sentences import sentences

OPPOSITES = {"opened": "closed", "largest": "smallest", "first": "last", "north": "south"}


def said(change: Callable[[str, Record, Record], str | None]) -> Apply:
    """A damage of the answer; its claims are then the sentences of the new one."""

    def apply(gold: Record, pred: Record, other: Record) -> Record | None:
        made = change(pred["answer"], gold, other) if pred["answer"] else None
        return None if made is None else {**pred, "answer": made, "claims": sentences(made)}

    return apply


def contradicted(text: str, _gold: Record, _other: Record) -> str | None:
    """One word turned into its opposite."""
    found = next((word for word in OPPOSITES if word in text.split()), None)
    return text.replace(found, OPPOSITES[found], 1) if found else None


def swapped_entity(text: str, _gold: Record, other: Record) -> str | None:
    """The last name replaced by the last name of another example's answer."""
    return swapped_name(text, found_entities(text), found_entities(other["answers"][0])) if other["answers"] else None


def unanswerable(gold: Record, pred: Record, other: Record) -> Record | None:
    """An answer where there is none."""
    if gold["answers"] or not other["answers"]:
        return None
    return {**pred, "answer": other["answers"][0], "claims": list(other["answers"]), "confidence": 0.9}


def other_contexts(gold: Record, pred: Record, other: Record) -> Record | None:
    """The passages of another question, the answer still right."""
    return {**pred, "retrieved_contexts": [other["context"]]} if gold["answers"] else None


ADDED = "It also burned down in a storm of 1620."
DAMAGES = tuple(
    Damage("answering", name, about, apply)
    for name, about, apply in (
        ("negation", "a verb is negated", said(lambda text, _gold, _other: negated(text))),
        ("contradiction", "a word becomes its opposite", said(contradicted)),
        ("digit change", "a digit of a number changes", said(lambda text, _gold, _other: changed_digit(text))),
        ("entity swap", "a name becomes another name", said(swapped_entity)),
        ("boundary -1", "the last word is lost", said(lambda text, _gold, _other: text.rsplit(" ", 1)[0])),
        ("boundary +1", "a word too many", said(lambda text, _gold, _other: f"{text.rstrip('.')} indeed.")),
        (
            "echo of the question",
            "the question, as the answer",
            said(lambda _text, gold, _other: str(gold["question"])),
        ),
        (
            "swap across documents",
            "another question's answer",
            said(lambda _t, _g, other: (other["answers"] or [None])[0]),
        ),
        ("duplicate", "the answer twice", said(lambda text, _gold, _other: f"{text} {text}")),
        ("empty", "no answer", said(lambda _text, _gold, _other: "")),
        ("reordered", "the words backwards", said(lambda text, _g, _o: " ".join(reversed(text.rstrip(".").split())))),
        (
            "unsupported sentence added",
            "one more sentence, made up",
            said(lambda text, _gold, _other: f"{text} {ADDED}"),
        ),
        ("answer where there is none", "an unanswerable question is answered", unanswerable),
        ("contexts of another question", "what was retrieved is another question's", other_contexts),
    )
)
