"""One article scored: what was matched, how, and the counts of it; everything as data, so that it can be kept.

Kinds of match: ``exact`` covers a statement; ``partial``: Wikidata has other values for this property of this subject;
``duplicate`` says again what is covered; ``novel``: the property is aligned and Wikidata has no value for it here;
``no_match``: the table does not know the predicate. The last two are what people annotate as discoveries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from goldassay.articles import preparing
from goldassay.articles.preparing import Subject
from goldassay.articles.support import ArticleText
from goldassay.measures.triples import objects
from goldassay.measures.triples import tally as evidence
from goldassay.measures.triples.matching import AS_USUAL, EXACT, NO_MATCH, PARTIAL, Matching, match, related
from goldassay.measures.triples.objects import Comparing
from goldassay.measures.triples.records import Statement
from goldassay.text.fuzzy import normal
from goldassay.wikibase.alignment import PropertyAlignmentTable
from goldassay.wikibase.resolver import Hierarchy

DUPLICATE, NOVEL = "duplicate", "novel"
KINDS = (EXACT, PARTIAL, DUPLICATE, NOVEL, NO_MATCH)
Verdicts = Mapping[tuple[str, str, str, str], str]


@dataclass(frozen=True)
class Scoring:
    """The conventions of a run: the table, the class tree, how values compare, the verdicts of people."""

    table: PropertyAlignmentTable = field(default_factory=PropertyAlignmentTable.ours)
    hierarchy: Hierarchy = field(default_factory=Hierarchy)
    comparing: Comparing = field(default_factory=Comparing)
    excluded: tuple[str, ...] = objects.EXCLUDED
    verdicts: Verdicts = field(default_factory=dict)

    def score(self, subject: Subject, triples: Iterable[Any]) -> dict[str, Any]:
        """The counts and the evidence of one article, as JSON."""
        said = preparing.predictions(triples, subject, self.table, self.hierarchy)
        for one in said:
            one["verdict"] = self.verdicts.get(verdict_key(subject.title, *one["spoken"]))
        gold = {"id": subject.title, "triples": preparing.gold(subject)}
        found = match(gold, {"triples": said}, self.table.alignment, self.comparing, subject.redirects, self.excluded)
        text = ArticleText(subject.text) if subject.text else None
        places = [text.says(statement) if text else None for statement in found.gold]
        for statement, at in zip(found.gold, places, strict=True):
            statement.triple["supported"] = None if at is None else bool(at)  # type: ignore[index]
        kinds = [kind(found, index, self.comparing) for index in range(len(found.pred))]
        return {
            **_counts(found, kinds, subject.item.id),
            "kinds": dict(Counter(kinds)),
            "triples": [self._said(found, index, kinds[index]) for index in range(len(found.pred))],
            "missed": [_missed(found.gold[index], places[index], text) for index in found.missed],
        }

    def _said(self, found: Matching, index: int, kind: str) -> dict[str, Any]:
        """The evidence of one prediction."""
        statement = found.pred[index]
        triple = statement.triple
        out: dict[str, Any] = {
            "triple": triple["spoken"],
            "kind": kind,
            "confidence": triple["confidence"],
            "property": triple["predicate_id"] or sorted(statement.properties),
            "subject": triple["subject_found"].state(),
            "object": triple["object_found"].state(),
        }
        out |= {name: triple[name] for name in ("turned", "verdict") if triple[name]}
        if triple["said"] > 1:
            out["said"] = triple["said"]
        if kind == EXACT:
            out["statement"] = shown(found.gold[found.pairs[index]])
        elif kind in (PARTIAL, DUPLICATE):
            out["statement"] = shown(next(gold for gold in found.gold if related(gold, statement)))
        return out


def kind(found: Matching, index: int, comparing: Comparing = AS_USUAL) -> str:
    """Which kind of match a prediction is."""
    if index in found.pairs:
        return EXACT
    said = found.pred[index]
    if not said.triple["aligned"]:
        return NO_MATCH
    near = [gold for gold in found.gold if related(gold, said)]
    if any(objects.same(gold.value, objects.read(said.triple, gold.kind), comparing) for gold in near):
        return DUPLICATE
    return PARTIAL if near else NOVEL


def verdict_key(article: str, subject: str, predicate: str, value: str) -> tuple[str, str, str, str]:
    """What an annotation is found by: the article and the statement as it was said."""
    return normal(article), normal(subject), predicate.strip(), normal(value) or value.strip()


def shown(statement: Statement) -> dict[str, Any]:
    """A statement of Wikidata as data."""
    triple = statement.triple
    return {
        "property": str(triple["predicate"]),
        "value": objects.written(triple["object"]),
        **({"value_id": triple["object_id"]} if triple.get("object_id") else {}),
        "type": str(triple.get("object_type") or ""),
        "rank": str(triple.get("rank") or ""),
        "aligned": statement.aligned,
    }


def _missed(statement: Statement, at: Any, text: ArticleText | None) -> dict[str, Any]:
    """A statement that no prediction covers, with the words in which the text says it."""
    out = {**shown(statement), "supported": statement.triple["supported"]}
    if text and isinstance(at, tuple):
        out["context"] = text.around(at)
        out["surface"] = text.text[at[0] : at[1]]
    return out


def _counts(found: Matching, kinds: list[str], item: str) -> dict[str, Any]:
    """Everything that adds up: by property, over what the text says, verdicts, confidence."""
    known, novel = evidence.known(found), evidence.novel(found)
    confidences = evidence.confidences(found)
    own = [index for index, one in enumerate(found.pred) if one.triple["subject_id"] in (item, None)]
    supported = [statement.triple["supported"] for statement in found.gold if statement.aligned]
    return {
        "properties": _plain(evidence.by_property(found)),
        "supported": _plain(evidence.by_property(found, supported=True)),
        "support": {"said": supported.count(True), "unsaid": supported.count(False), "unknown": supported.count(None)},
        "known": [known.true, known.false, known.unknown],
        "judged": [novel.tp, novel.fp],
        "verdicts": dict(Counter(one.triple["verdict"] for one in found.pred if one.triple["verdict"])),
        "bins": {str(name): list(values) for name, values in evidence.bins(confidences).items()},
        "brier": [sum((c - k) ** 2 for c, k in confidences), float(len(confidences))],
        "about_others": len(found.pred) - len(own),
        "own_aligned": [
            sum(kinds[index] == EXACT for index in own),
            sum(kinds[index] != EXACT and found.pred[index].aligned for index in own),
        ],
        "said_again": sum(one.triple["said"] - 1 for one in found.pred),
        "predicted": len(found.pred),
        "statements": len(found.gold),
        "unaligned_statements": sum(not one.aligned for one in found.gold),
    }


def _plain(by: evidence.ByProperty) -> dict[str, list[float]]:
    return {name: [float(c.tp), float(c.fp), float(c.fn)] for name, c in by.items()}
