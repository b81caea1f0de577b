"""Items (things with an identity) compare by id; where one has none, by label or alias, normalised and whole.

``http://www.wikidata.org/entity/Q190804``, ``wd:Q190804`` and ``Q190804`` are one id. An IRI of another kind gives a
label from its last part: ``ex:Marie_Curie`` is "Marie Curie".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from goldassay.text.normal import normal

QID = re.compile(r"(?:https?://(?:www\.)?wikidata\.org/(?:entity|wiki)/|wd:|wikidata:)?(Q[1-9]\d*)")
IRI = re.compile(r"<?https?://\S+[/#](?P<last>[^/#\s>]+)/?>?")
PREFIXED = re.compile(r"[a-z][\w.-]*:(?P<last>[^\s/:][^\s:]*)")


@dataclass(frozen=True, slots=True)
class NamedItem:
    """A thing: its id if known, and the normalised names that it goes by."""

    id: str | None
    names: frozenset[str]


def read(raw: object, known: str | None = None, labels: Iterable[str] = ()) -> NamedItem | None:
    """An item from an id, an IRI, a label, or a mapping with ``id``, ``label``, ``labels`` or ``aliases``.

    >>> read("wd:Q190804").id, sorted(read("ex:Marie_Curie").names), read({"id": "Q1", "label": "universe"}).id
    ('Q190804', ['marie curie'], 'Q1')
    """
    names = [str(label) for label in labels]
    if isinstance(raw, Mapping):
        known = known or raw.get("id") or raw.get("wikidata") or None
        inner = raw.get("value")
        raw = raw.get("label") or raw.get("text") or (inner if isinstance(inner, str) else None)
        if isinstance(inner, Mapping):
            known = known or inner.get("id")
    if isinstance(raw, Mapping) or raw is None:
        raw = ""
    text = str(raw).strip()
    found = QID.fullmatch(text)
    if found:
        known = known or found[1]
    elif text:
        names.append(label(text))
    if known:
        match = QID.fullmatch(str(known))
        known = match[1] if match else str(known)
    names = [name for name in map(normal, names) if name]
    return NamedItem(known or None, frozenset(names)) if known or names else None


def label(text: str) -> str:
    """The readable part of an IRI or of a prefixed name; other text as it is.

    >>> label("ex:Marie_Curie"), label("http://dbpedia.org/resource/Caf%C3%A9"), label("Re:Zero")
    ('Marie Curie', 'Café', 'Re:Zero')
    """
    found = IRI.fullmatch(text) or PREFIXED.fullmatch(text)
    return unquote(found["last"]).replace("_", " ") if found else text


def same(gold: NamedItem, pred: NamedItem, equivalents: Mapping[str, str] | None = None) -> bool:
    """Whether both are one thing.

    >>> same(read("Q1", labels=["universe"]), read("Universe")), same(read("Q1"), read("Q2"))
    (True, False)
    """
    table = equivalents or {}
    if gold.id and pred.id:
        return table.get(gold.id, gold.id) == table.get(pred.id, pred.id)
    if gold.names & pred.names:
        return True
    return bool(table) and bool({table.get(name, name) for name in gold.names} & {table.get(n, n) for n in pred.names})
