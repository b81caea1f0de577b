"""Context entity recall: which of the reference's entities stand in the retrieved contexts?

|CE ∩ GE| / |GE|, where GE are the entities of the reference and CE those of the contexts; each counts once. An entity
of GE is in the contexts when its words stand there, side by side (or, where the prediction lists the entities of its
contexts, when it is one of those). Without entities in the reference the value is not applicable.

Es et al., RAGAS: automated evaluation of retrieval augmented generation, EACL 2024 (demonstrations).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measure import Assessment, Error, Measure, gold_field
from goldassay.measures.answering.records import answers, contexts, extra, reference
from goldassay.tally import Mean
from goldassay.text import normal
from goldassay.text.vocabulary import OPENERS
from goldassay.text.words import small_letters

MATCHES = ("exact", "normalised", "alias", "id")
Aliases = tuple[tuple[str, ...], ...]
_ACCENTS = "\u0300-\u036f"  # marks that stand behind their letter
_LINK = r"(?:of|the|de|het|van|voor|der|den|des|für|du|la|le|les|et|di|da|del|von|zu|und|d[’'])"


@cache
def _pattern() -> re.Pattern[str]:
    """Words with a capital, those that link them, and words with a digit; all scripts have their own small letters."""
    name = rf"[^\W\d_{small_letters()}][\w{_ACCENTS}’'&-]*"
    return re.compile(rf"{name}(?:(?:\s+{_LINK})*\s+{name})*|\b\w*\d[\w./:-]*\w\b|\b\d\b")


def found_entities(text: str) -> tuple[str, ...]:
    """Names, codes and numbers of a text, by patterns: each once, in order.

    A script without capitals gives whole runs of letters. For better ones give your own extractor.

    >>> found_entities("De Kunsthal in Rotterdam (NL-RtKh) is in 1992 ontworpen door Rem Koolhaas.")
    ('Kunsthal', 'Rotterdam', 'NL-RtKh', '1992', 'Rem Koolhaas')
    >>> found_entities("Эрмитаж основан в 1764 году в Петербурге.")
    ('Эрмитаж', '1764', 'Петербурге')
    """
    out = []
    for match in _pattern().finditer(text):
        words = match.group().split()
        while words and words[0].lower() in OPENERS:
            words = words[1:]
        if words:
            out.append(" ".join(words))
    return tuple(dict.fromkeys(out))


@dataclass(frozen=True)
class ContextEntityRecall(Measure[Mean]):
    """The share of the reference's entities that the retrieved contexts hold; mean over questions that have any.

    ``match``: ``exact`` (the same characters), ``normalised`` (case, punctuation and articles aside), ``alias`` (any
    name of a row of ``aliases`` stands for the others), ``id`` (entities given as ``{id, text}``). Gold's
    ``entities`` are taken where they are given; else `found_entities` of the reference. ``Metric(columns=…)``
    renames the fields.

    >>> gold = {"reference": "De Kunsthal in Rotterdam is ontworpen door Rem Koolhaas."}
    >>> pred = {"retrieved_contexts": ["Rem Koolhaas tekende de kunsthal."]}
    >>> ContextEntityRecall()(gold, pred).tally.value     # 2 of 3
    0.6666666666666666
    """

    task: ClassVar[str] = "answering"
    name: ClassVar[str] = "context_entity_recall"
    zero: ClassVar[Mean] = Mean()
    gold_fields: ClassVar[tuple[str, ...]] = ("reference",)
    pred_fields: ClassVar[tuple[str, ...]] = ("retrieved_contexts",)
    fixed: ClassVar[dict[str, str]] = {"duplicates": "once", "empty_reference": "skip"}
    formula: ClassVar[str] = "|CE ∩ GE| / |GE|; mean over questions whose reference has entities"
    source: ClassVar[str] = "Es et al., EACL 2024 (RAGAS)"

    match: str = "normalised"
    aliases: Aliases = ()

    def __post_init__(self) -> None:
        if self.match not in MATCHES:
            raise GoldassayError(f"ContextEntityRecall: match is one of {', '.join(MATCHES)}, not {self.match!r}")

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        """The entities of one reference in one set of contexts."""
        listed = extra(pred, "context_entities") if pred is not None else None
        texts = contexts(pred)
        wanted = _of_gold(gold)
        if not wanted or (texts is None and listed is None):
            return Assessment(Mean())
        missing = lacking(wanted, texts or (), listed, self.match, self.aliases)
        n = len(distinct(wanted, self.match, self.aliases))
        errors = tuple(
            Error("not_retrieved", f"The retrieved texts lack “{name}”.", gold=name, field="retrieved_contexts")
            for name in missing
        )
        return Assessment(Mean.of((n - len(missing)) / n), errors)


def _of_gold(gold: Any) -> Sequence[Any]:
    given = gold_field(gold, "entities", None)
    if given is not None:
        return list(given)
    return found_entities(reference(gold) or " ".join(answers(gold)))


def distinct(entities: Iterable[Any], match: str = "normalised", aliases: Aliases = ()) -> dict[str, Any]:
    """Each entity once, by what is compared.

    >>> list(distinct(["The Hague", "the hague", "Den Haag"], "alias", (("The Hague", "Den Haag"),)))
    ['hague']
    """
    table = (
        {normal.unicode(name): normal.unicode(row[0]) for row in aliases for name in row} if match == "alias" else {}
    )
    out: dict[str, Any] = {}
    for entity in entities:
        if match == "id":
            key = read(entity, "id", None) if isinstance(entity, Mapping) else entity
        elif match == "exact":
            key = _text(entity)
        else:
            key = normal.unicode(_text(entity)) or _text(entity)
            key = table.get(key, key)
        if key:
            out.setdefault(str(key), entity)
    return out


def lacking(
    wanted: Iterable[Any], texts: Sequence[str], listed: Iterable[Any] | None, match: str, aliases: Aliases = ()
) -> list[str]:
    """The entities that are not there: not among those ``listed``, or where none are, not in the texts."""
    keys = distinct(wanted, match, aliases)
    if listed is not None:
        there = set(distinct(listed, match, aliases))
        return [_text(entity) for key, entity in keys.items() if key not in there]
    if match == "id":
        raise GoldassayError("match='id' compares ids; the prediction must list its context_entities as {id, text}")
    if match == "exact":
        return [_text(e) for key, e in keys.items() if not any(_stands(key, text) for text in texts)]
    folded = [f" {normal.unicode(text)} " for text in texts]
    names: dict[str, list[str]] = {key: [key] for key in keys}
    if match == "alias":
        for row in aliases:
            names.setdefault(normal.unicode(row[0]), []).extend(normal.unicode(name) for name in row)
    return [
        _text(e) for key, e in keys.items() if not any(f" {name} " in text for name in names[key] for text in folded)
    ]


def _stands(words: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def _text(entity: Any) -> str:
    return str(entity.get("text") or entity.get("id") or "") if isinstance(entity, Mapping) else str(entity)
