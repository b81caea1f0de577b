"""Probes of a judge: answers that stand in a text, and the faults that are planted in them.

A claim goes wrong by a verb negated, a digit changed or a name swapped; the mutation tests of the measures plant the
same. A swapped name or changed number that stands in the text anyway is no fault and is not planted. Claims without a
verb that can be negated are denied as a whole.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measures.answering import found_entities
from goldassay.measures.answering.grounding import negations
from goldassay.text.words import statement

DENIAL = {
    "en": "It is not true that: {}",
    "nl": "Het is niet waar dat: {}",
    "de": "Es stimmt nicht, dass: {}",
    "fr": "Il n’est pas vrai que : {}",
}
ADDED = {
    "en": "It also burned down in a storm of 1620.",
    "nl": "Het brandde ook af in een storm van 1620.",
    "de": "Es brannte auch in einem Sturm von 1620 ab.",
    "fr": "Il a aussi brûlé dans une tempête de 1620.",
}
REPEATED = {
    "en": "In other words, and to put it in full: {0} To sum up what was just said: {0}",
    "nl": "Met andere woorden, en voluit gezegd: {0} Om samen te vatten wat net gezegd is: {0}",
    "de": "Mit anderen Worten, und vollständig gesagt: {0} Um das Gesagte zusammenzufassen: {0}",
    "fr": "En d’autres termes, et pour tout dire : {0} Pour résumer ce qui vient d’être dit : {0}",
}


@dataclass(frozen=True, slots=True)
class Probe:
    """A question whose answer, as a sentence, stands in a text."""

    id: str
    question: str
    answer: str
    context: str
    language: str = "en"

    def phrase(self, by_language: Mapping[str, str]) -> str:
        """A text in the language of the probe, else in English, with the answer in it."""
        return by_language.get(self.language[:2], by_language["en"]).format(self.answer)


def negation(probe: Probe, _: Probe) -> str | None:
    """The claim, denied.

    >>> negation(Probe("a", "", "It was built.", ""), Probe("b", "", "", ""))
    'It was not built.'
    >>> negation(Probe("a", "", "Het werd gebouwd.", "", "nl"), Probe("b", "", "", ""))
    'Het is niet waar dat: Het werd gebouwd.'
    """
    claim = negated(probe.answer) if probe.language.startswith("en") else None
    return claim or probe.phrase(DENIAL)


def entity(probe: Probe, other: Probe) -> str | None:
    """The claim with a name replaced by one of another claim."""
    return _if_new(probe, swapped_name(probe.answer, found_entities(probe.answer), found_entities(other.answer)))


def _if_new(probe: Probe, claim: str | None) -> str | None:
    """The claim, if what is new in it does not stand in the text."""
    added = set(found_entities(claim or "")) - set(found_entities(probe.answer))
    text = probe.context.casefold()
    return claim if added and not any(name.casefold() in text for name in added) else None


FAULTS: Mapping[str, Callable[[Probe, Probe], str | None]] = {
    "negation": negation,
    "number changed": lambda probe, _: _if_new(probe, changed_digit(probe.answer)),
    "entity swapped": entity,
    "unsupported sentence added": lambda probe, _: f"{probe.answer} {probe.phrase(ADDED)}",
}


def probes_of(gold: Any, *, limit: int | None = None, seed: int = 0) -> list[Probe]:
    """Probes from a gold set with answering: questions that have an answer, with the texts of their documents.

    Texts are a question's own ``context``, the set's passages, or the texts that other tasks have under the same id.
    ``limit`` takes a seeded sample.
    """
    part = gold.task("answering")
    texts = {str(row["id"]): row["text"] for task in gold.tasks.values() for row in task.records if "text" in row}
    texts |= {row["id"]: row["text"] for row in part.passages}
    probes = []
    for record in part.records:
        text = record.get("context") or " ".join(texts[d] for d in record.get("documents") or () if d in texts)
        answers = read(record, "answers", None) or []
        answer = record.get("reference") or (f"{record['question']} {answers[0]}" if answers else "")
        if text and answer:
            probes.append(Probe(str(record["id"]), record["question"], answer, text, record.get("language") or "en"))
    if not probes:
        raise DataError("no question with an answer and a text (context, passages, or documents of other tasks)")
    return probes if limit is None or limit >= len(probes) else random.Random(seed).sample(probes, limit)


VERB = re.compile(r"\b(is|was|are|were|has|had|did|does|will|can)\b")
NOT = re.compile(VERB.pattern + r" not\b")


def negated(text: str) -> str | None:
    """The text with its first English verb negated, or no longer negated; ``None`` if that is unclear.

    >>> negated("It was built."), negated("Het werd gebouwd.")
    ('It was not built.', None)
    >>> negated("It was not built."), negated("It was never built.")
    ('It was built.', None)
    """
    if NOT.search(text):
        return NOT.sub(r"\1", text, count=1)
    unclear = negations(statement(text)) or not VERB.search(text)
    return None if unclear else VERB.sub(r"\1 not", text, count=1)


def changed_digit(text: str) -> str | None:
    """The text with its last digit raised by one (9 becomes 8); ``None`` without one.

    >>> changed_digit("in 1809."), changed_digit("in May")
    ('in 1808.', None)
    """
    place = next((at for at in range(len(text) - 1, -1, -1) if text[at].isdigit()), None)
    if place is None:
        return None
    digit = "8" if text[place] == "9" else str(int(text[place]) + 1)
    return text[:place] + digit + text[place + 1 :]


def swapped_name(text: str, names: Sequence[str], others: Sequence[str]) -> str | None:
    """The text with the last of its names replaced by the last of another text's; ``None`` where nothing changes.

    Names with a digit in them are left alone: a changed number is another fault.

    >>> swapped_name("Seen in Delft.", ["Delft"], ["Gouda", "1784"])
    'Seen in Gouda.'
    """
    mine, theirs = ([name for name in some if not any(c.isdigit() for c in name)] for some in (names, others))
    return text.replace(mine[-1], theirs[-1]) if mine and theirs and mine[-1] != theirs[-1] else None
