"""How articles are scored: the conventions, the metric, and the kind of each triple of an article.

A prediction is ``exact`` if it covers a statement; ``partial`` if Wikidata has other values for the property of this
subject; ``duplicate`` if it repeats what is covered; ``novel`` if the property is aligned and Wikidata has no value for
it here; ``no_match`` if the table does not have the predicate. People annotate the last two as discoveries.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import dspy

from goldassay.fields import Fields
from goldassay.measures import triples as measures
from goldassay.measures.triples import objects
from goldassay.measures.triples.mistakes import indexed
from goldassay.measures.triples.objects import TripleMatching
from goldassay.measures.triples.records import MatchedTriples, Triple, related, statements
from goldassay.metric import Metric
from goldassay.text.normal import normal
from goldassay.wikidata.alignment import PropertyAlignmentTable
from goldassay.wikidata.articles import Subject, align

EXACT = "exact"
PARTIAL = "partial"
DUPLICATE = "duplicate"
NOVEL = "novel"
NO_MATCH = "no_match"
KINDS = (EXACT, PARTIAL, DUPLICATE, NOVEL, NO_MATCH)
VerdictKey = tuple[str, str, str, str]


@dataclass(frozen=True)
class Scoring:
    """The conventions of an evaluation.

    Args:
        table: The alignment table.
        comparing: How values compare.
        verdicts: Human verdicts on novel triples, by `verdict_key`.
    """

    table: PropertyAlignmentTable = field(default_factory=PropertyAlignmentTable.of)
    comparing: TripleMatching = field(default_factory=TripleMatching)
    verdicts: Mapping[VerdictKey, str] = field(default_factory=dict)

    @cached_property
    def options(self) -> Fields:
        """The options of every measure of triples."""
        table = {"alignment": self.table.pairs, "prefixes": self.table.prefixes}
        return {name: getattr(self.comparing, name) for name in TripleMatching.__dataclass_fields__} | table

    @property
    def metric(self) -> Metric:
        """F1 of statements, with precision and recall beside it."""
        weights = {"f1": 1.0, "precision": 0.0, "recall": 0.0}
        return Metric({measures.F1(rate=rate, **self.options): weight for rate, weight in weights.items()})

    def example(self, subject: Subject) -> dspy.Example:
        """An article as a gold example."""
        return dspy.Example(
            id=subject.key,
            key=subject.key,
            text=subject.text,
            title=subject.title,
            triples=self.gold(subject),
            strata={"domain": subject.domain},
        ).with_inputs("key", "text", "title")

    def gold(self, subject: Subject) -> list[Fields]:
        """The statements of the item, each with whether the text supports it, in which words and which sentence."""
        triples = subject.gold()
        text = indexed(subject.text)
        for statement in (
            statements({"triples": triples}, None, TripleMatching(**self.options)).gold if subject.text else ()
        ):
            triple: Any = statement.triple
            place = text.find(statement)
            triple["supported"] = None if place is None else bool(place)
            if isinstance(place, tuple):
                triple |= {"surface": text.text[slice(*place)], "context": text.sentence(place)}
        return triples

    def predictions(self, subject: Subject, triples: Iterable[object]) -> list[Fields]:
        """A program's triples, resolved, aligned, and with people's verdicts."""
        predictions = align(triples, subject, self.table)
        for triple in predictions:
            triple["verdict"] = self.verdicts.get(verdict_key(subject.title, *triple["original"]))
        return predictions

    def evidence(self, matching: MatchedTriples) -> Fields:
        """The kind of each prediction, the missed statements of an article, and counts that add up over articles."""
        triples = [self._explain(matching, index) for index in range(len(matching.pred))]
        counts = Counter(triple["kind"] for triple in triples)
        counts |= Counter(predicted=len(triples), statements=len(matching.gold))
        counts["unaligned"] = sum(not statement.aligned for statement in matching.gold)
        return {
            "counts": counts,
            "triples": triples,
            "missed": [statement_state(statement) for statement in matching.missed],
        }

    def _explain(self, matching: MatchedTriples, index: int) -> Fields:
        """A prediction with its kind, and the statement that it covers, repeats or contradicts."""
        prediction = matching.pred[index]
        triple = prediction.triple
        statement = None
        if index in matching.pairs:
            kind = EXACT
            statement = matching.gold[matching.pairs[index]]
        elif not triple["aligned"]:
            kind = NO_MATCH
        elif near := [gold for gold in matching.gold if related(gold, prediction)]:
            values = ((gold.value, objects.read(triple, gold.kind)) for gold in near)
            kind = DUPLICATE if any(self.comparing.same(*pair) for pair in values) else PARTIAL
            statement = near[0]
        else:
            kind = NOVEL
        state = {
            "triple": triple["original"],
            "kind": kind,
            "property": triple["predicate_id"] or sorted(prediction.properties),
            **{name: triple[name] for name in ("confidence", "inverted", "verdict")},
            **triple["resolved"],
        }
        if kind == NO_MATCH:
            state["may_mean"] = sorted(
                str(missed.triple["predicate"])
                for missed in matching.missed
                if triple["subject_id"] in (missed.triple["subject_id"], None)
                and self.comparing.same(missed.value, objects.read(triple, missed.kind))
            )
        return state | ({"statement": statement_state(statement)} if statement else {})


def verdict_key(article: str, subject: str, predicate: str, value: str) -> VerdictKey:
    """Identifies a triple for annotations: the article and the triple as the program gave it."""
    return normal(article), normal(subject), predicate.strip(), normal(value) or value.strip()


def statement_state(statement: Triple) -> Fields:
    """A Wikidata statement as JSON."""
    triple = statement.triple
    return {
        "property": str(triple["predicate"]),
        "value": objects.written(triple["object"]),
        "value_id": triple.get("object_id"),
        "type": str(triple.get("object_type") or ""),
        "aligned": statement.aligned,
        **{name: triple[name] for name in ("supported", "surface", "context") if name in triple},
    }
