"""What an answer rests on, as far as words can say: entities that were retrieved, support, facts, and who lost it.

* context entity recall: |CE ∩ GE| / |GE|, the entities of the reference that stand in the retrieved contexts (RAGAS);
* lexical support: how far the words of an answer, in their order, stand in the retrieved texts. It needs no model and
  is no faithfulness: it sees words, not meaning, and so it bears its own name;
* factual accuracy: each claim against the gold facts, correct, incorrect or unsupported;
* lost by retrieval: of the answers that are lost, how many did retrieval lose? Retrieval itself is measured by
  `goldassay.measures.retrieval` in the same run, with ``columns``.

Es et al., RAGAS: automated evaluation of retrieval augmented generation, EACL 2024 (demonstrations).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measure import Assessment, Error, Measure, failed, gold_field
from goldassay.measures.answering.matching import (
    MATCHES,
    OUTCOMES,
    Aliases,
    Relation,
    by_words,
    distinct,
    lacking,
    outcome,
    sentence_support,
)
from goldassay.measures.answering.measures import ExactMatch
from goldassay.measures.answering.records import answer, answers, contexts, extra, reference
from goldassay.measures.judged import JudgedMean, JudgedMeasure, unknown
from goldassay.tally import Mean
from goldassay.text.words import found_entities, sentences, statement


@dataclass(frozen=True)
class ContextEntityRecall(JudgedMeasure):
    """The share of the reference's entities that the retrieved contexts hold; mean over questions that have any.

    An entity is in the contexts when its words stand there, side by side (or, where the prediction lists its
    ``context_entities``, when it is one of those). Each counts once. A prediction without contexts is left out.

    ``match``: ``exact`` (the same characters), ``normalised`` (case, punctuation and articles aside), ``alias`` (any
    name of a row of ``aliases`` stands for the others), ``id`` (entities given as ``{id, text}``). Gold's ``entities``
    are taken where they are given; else those that ``judge`` finds in the reference: a judge with ``entities(text)``,
    or any function of a text that returns names (or a prediction with ``entities``); without one `found_entities`.
    ``Metric(columns=…)`` renames the fields.

    >>> gold = {"reference": "De Kunsthal in Rotterdam is ontworpen door Rem Koolhaas."}
    >>> pred = {"retrieved_contexts": ["Rem Koolhaas tekende de kunsthal."]}
    >>> ContextEntityRecall()(gold, pred).tally.value     # 2 of 3
    0.6666666666666666
    >>> def capitals(text: str) -> list[str]:
    ...     return [word for word in text.split() if word.istitle()]
    >>> ContextEntityRecall(judge=capitals)({"reference": "Kunsthal in Delft"}, pred).tally.value
    0.5
    """

    task: ClassVar[str] = "answering"
    name: ClassVar[str] = "context_entity_recall"
    gold_fields: ClassVar[tuple[str, ...]] = ("reference", "answers")
    pred_fields: ClassVar[tuple[str, ...]] = ("retrieved_contexts",)
    fixed: ClassVar[Mapping[str, str]] = {"duplicates": "once", "empty_reference": "skip", **JudgedMeasure.fixed}
    formula: ClassVar[str] = "|CE ∩ GE| / |GE|; mean over questions whose reference has entities"
    source: ClassVar[str] = "Es et al., EACL 2024 (RAGAS)"
    optional: ClassVar[bool] = True

    match: str = "normalised"
    aliases: Aliases = ()
    judge: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.match not in MATCHES:
            raise GoldassayError(f"ContextEntityRecall: match is one of {', '.join(MATCHES)}, not {self.match!r}")

    def assess(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The entities of one reference in one set of contexts."""
        listed = extra(pred, "context_entities") if pred is not None else None
        texts = contexts(pred)
        if texts is None and listed is None:
            return Assessment(JudgedMean())
        named = self._wanted(gold)
        if named is None:
            return Assessment(JudgedMean.of(None), (unknown("Which names the reference has", "retrieved_contexts"),))
        wanted = distinct(named, self.match, self.aliases)
        if not wanted:
            return Assessment(JudgedMean())
        missing = lacking(named, texts or (), listed, self.match, self.aliases)
        errors = tuple(
            Error("not_retrieved", f"The retrieved texts lack “{name}”.", gold=name, field="retrieved_contexts")
            for name in missing
        )
        return Assessment(JudgedMean.of((len(wanted) - len(missing)) / len(wanted)), errors)

    def _wanted(self, gold: Any) -> Sequence[Any] | None:
        """The entities of gold; ``None`` where the judge cannot say."""
        given = gold_field(gold, "entities", None)
        if given is not None:
            return list(given)
        text = reference(gold) or " ".join(answers(gold))
        if self.judge is None or not text:
            return found_entities(text)
        if hasattr(self.bound, "entities"):
            named: list[str] | None = self.bound.entities(text)
            return named
        made = self.bound(text)
        listed = read(made, "entities", None)
        return [_named(one) for one in (made if listed is None else listed)]


def _named(entity: Any) -> Any:
    """An entity's text, of a record that has one; ids stay with it."""
    return entity if isinstance(entity, str) or read(entity, "id", None) else read(entity, "text", str(entity))


ENOUGH = 0.6  # a sentence with less is shown as unsupported


def lexical_support(text: str, texts: Sequence[str]) -> float | None:
    """The mean over the text's sentences; ``None`` where it has no words.

    >>> lexical_support("It opened in 1800. It burned down.", ["It opened in 1800."])
    0.6666666666666666
    """
    found = [sentence_support(sentence, texts) for sentence in sentences(text) if statement(sentence)]
    return sum(found) / len(found) if found else None


@dataclass(frozen=True)
class LexicalSupport(Measure[Mean]):
    """Lexical support of the answer by ``retrieved_contexts``; an empty answer and absent contexts are left out.

    >>> LexicalSupport()({}, {"answer": "In 1800", "retrieved_contexts": ["It opened in 1800."]}).tally.value
    1.0
    """

    task: ClassVar[str] = "answering"
    name: ClassVar[str] = "lexical_support"
    zero: ClassVar[Mean] = Mean()
    pred_fields: ClassVar[tuple[str, ...]] = ("answer", "retrieved_contexts")
    fixed: ClassVar[dict[str, str]] = {
        "unit": "sentence",
        "match": "ordered words",
        "negation": "parity",
        "numbers": "all",
    }
    formula: ClassVar[str] = (
        "mean over the answer's sentences of the best LCS(words, words of a context sentence) / words; 0 where "
        "negations or numbers differ; mean over answers"
    )
    source: ClassVar[str] = "goldassay; a lexical stand-in, not faithfulness"

    def tallies(self, batch: Iterable[tuple[object, object]]) -> Mean:
        """The mean over the sentences of each answer."""
        found = []
        for gold, pred in batch:
            texts = None if failed(pred) else contexts(pred)
            found.append(None if texts is None else lexical_support(answer(pred, gold), texts))
        weight = np.array([value is not None for value in found], float)
        return Mean(np.array([value or 0.0 for value in found]), weight)

    def assess(self, gold: object, pred: object) -> Assessment[Mean]:
        """The mean over the sentences."""
        if failed(pred):
            return Assessment(Mean())
        text, texts = answer(pred, gold), contexts(pred)
        value = None if texts is None else lexical_support(text, texts)
        if value is None or texts is None:
            return Assessment(Mean())
        errors = tuple(
            Error("unsupported", f"“{sentence}” does not stand in the retrieved texts.", pred=sentence, field="answer")
            for sentence in sentences(text)
            if sentence_support(sentence, texts) < ENOUGH
        )
        return Assessment(Mean.of(value), errors)


def factual_accuracy(
    generated_claims: Sequence[object], gold_facts: Sequence[object], relation: Relation = by_words
) -> dict[str, float | None]:
    """The founding document's function: claims ``{claim, verifiable}`` against facts ``{fact, source}``; texts will do.

    ``factual_accuracy`` is ``None`` where no claim is verifiable.

    >>> found = factual_accuracy([{"claim": "opened in 1800", "verifiable": True}, "burned"], ["It opened in 1800"])
    >>> found["factual_accuracy"], found["correct_claims"], found["incorrect_claims"], found["unsupported_claims"]
    (0.5, 1, 0, 1)
    """
    facts, checked = _texts(gold_facts, "fact"), _texts(generated_claims, "claim")
    found = Counter(outcome(claim, facts, relation) for claim in checked)
    return {
        "factual_accuracy": found["correct"] / len(checked) if checked else None,
        **{f"{each}_claims": found[each] for each in OUTCOMES},
        "unverifiable_claims": len(generated_claims) - len(checked),
        "total_claims": len(generated_claims),
    }


def _verifiable(claim: Any) -> bool:
    return bool(claim.get("verifiable", True)) if isinstance(claim, Mapping) else True


def _texts(several: Any, name: str) -> list[str]:
    """The texts of claims or facts; of claims those that can be verified."""
    if isinstance(several, str) or not isinstance(several, Sequence):
        raise DataError(f"a list of {name}s is needed, not {several!r}", field=f"{name}s")
    return [_one(one, name) for one in several if _verifiable(one)]


def _one(found: Any, name: str) -> str:
    text = found.get(name) if isinstance(found, Mapping) else found
    if not isinstance(text, str):
        raise DataError(f"a {name} is text, or an object with a {name!r}, not {found!r}", field=f"{name}s")
    return text


@dataclass(frozen=True)
class FactualAccuracy(Measure[Mean]):
    """The share of the answer's verifiable ``claims`` that the gold facts say; mean over claims.

    The facts are gold's ``supporting_facts`` and its ``reference``; a prediction without ``claims`` has no evidence.

    >>> gold = {"supporting_facts": ["opgericht in 1800"]}
    >>> found = FactualAccuracy()(gold, {"claims": ["opgericht in 1900", "opgericht in 1800"]})
    >>> found.tally.value, found.errors[0].kind
    (0.5, 'incorrect')
    """

    task: ClassVar[str] = "answering"
    name: ClassVar[str] = "factual_accuracy"
    zero: ClassVar[Mean] = Mean()
    gold_fields: ClassVar[tuple[str, ...]] = ("supporting_facts", "reference")
    pred_fields: ClassVar[tuple[str, ...]] = ("claims",)
    fixed: ClassVar[dict[str, str]] = {
        "outcomes": "correct+incorrect+unsupported",
        "match": "words",
        "average": "claims",
    }
    formula: ClassVar[str] = "correct / (correct + incorrect + unsupported) over verifiable claims"
    source: ClassVar[str] = "goldassay, after the founding document"

    def assess(self, gold: object, pred: object) -> Assessment[Mean]:
        """The claims of one answer."""
        claims = None if failed(pred) else extra(pred, "claims")
        if claims is None:
            return Assessment(Mean())
        try:
            facts = _texts(gold_field(gold, "supporting_facts", None) or (), "fact")
            texts = _texts(claims, "claim")
        except DataError as error:
            raise error.at(record=read(pred, "id", None)) from None
        long = reference(gold)
        facts += [long] if long else []
        if not facts or not texts:
            return Assessment(Mean())
        found = [outcome(text, facts) for text in texts]
        says = {"incorrect": "contradicts the gold facts", "unsupported": "is in none of the gold facts"}
        errors = tuple(
            Error(each, f"“{text}” {says[each]}.", pred=text, field="answer")
            for text, each in zip(texts, found, strict=True)
            if each != "correct"
        )
        return Assessment(Mean(float(found.count("correct")), float(len(found))), errors)


@dataclass(frozen=True)
class LostByRetrieval(Measure[Mean]):
    """The share of lost answers whose passage was not retrieved; lower is better, at 0 the reader is to blame.

    >>> gold = {"answers": ["1800"], "documents": ["nl-1"]}
    >>> LostByRetrieval()(gold, {"answer": "1900", "results": [{"doc_id": "nl-2"}]}).tally.value
    1.0
    >>> LostByRetrieval()(gold, {"answer": "1800", "results": []}).tally.weight       # it is not lost
    0.0
    """

    task: ClassVar[str] = "answering"
    name: ClassVar[str] = "lost_by_retrieval"
    zero: ClassVar[Mean] = Mean()
    gold_fields: ClassVar[tuple[str, ...]] = ("answers", "documents")
    pred_fields: ClassVar[tuple[str, ...]] = ("answer", "results")
    fixed: ClassVar[dict[str, str]] = {"lost": "exact_match=0, answerable", "no documents": "skip"}
    formula: ClassVar[str] = "lost answers without a gold passage among the results / lost answers"
    source: ClassVar[str] = "goldassay"
    lower_is_better: ClassVar[bool] = True

    def assess(self, gold: object, pred: object) -> Assessment[Mean]:
        """One answer, if it is lost."""
        wanted = gold_field(gold, "documents", None)
        results = None if pred is None else read(pred, "results", None)
        if not wanted or results is None or not answers(gold) or ExactMatch()(gold, pred).tally.value == 1:
            return Assessment(Mean())
        found = {one if isinstance(one, str) else str(read(one, "doc_id", "")) for one in results}
        if found & set(wanted):
            return Assessment(Mean.of(0.0))
        message = f"No passage with the answer was retrieved (gold names {', '.join(map(str, wanted))})."
        return Assessment(Mean.of(1.0), (Error("not_retrieved", message, gold=str(wanted[0]), field="results"),))
