"""The grounding of an answer, as far as words show it: retrieved entities, lexical support, facts, and lost answers.

* context entity recall: |CE ∩ GE| / |GE|, the entities of the reference that occur in the retrieved contexts (RAGAS);
* lexical support: how far the words of an answer, in their order, occur in the retrieved texts: the longest common
  subsequence with a context sentence, and nothing if one side has an odd number of negations and the other has not, or
  if a number is missing. It needs no model and does not measure faithfulness: it sees words, not meaning;
* factual accuracy: each claim against the gold facts: correct if a fact has its words side by side, incorrect if a
  number or a negation alone differs, else unsupported;
* lost by retrieval: of the wrong answers, how many did retrieval lose? Retrieval itself is measured by
  `goldassay.measures.retrieval` in the same run, with ``columns``.

Es et al., RAGAS: automated evaluation of retrieval augmented generation, EACL 2024 (demonstrations).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rapidfuzz.distance import LCSseq

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import read
from goldassay.core.measure import Assessment, Conventions, Error, gold_field
from goldassay.core.tally import Mean
from goldassay.measures import Examples
from goldassay.measures.answering.matching import AnswerMeasure, Assessed
from goldassay.measures.answering.measures import ExactMatch
from goldassay.measures.answering.records import AnswerPair, Texts, extra, reference
from goldassay.measures.judged import UNKNOWN_COUNTS, JudgedMean, JudgedMeasure, unknown
from goldassay.text import normal
from goldassay.text.words import NE_PAIRS, NEGATIONS, found_entities, sentences, statement

ENTITY_MATCHES = ("exact", "normalised", "alias", "id")


@dataclass(frozen=True)
class ContextEntityRecall(JudgedMeasure):
    """The share of the reference's entities that the retrieved contexts hold; mean over questions that have any.

    An entity is in the contexts if its words occur there, side by side (or, where the prediction lists its
    ``context_entities``, if it is one of those). Each counts once. A prediction without contexts is left out.

    ``match``: ``exact`` (the same characters), ``normalised`` (case, punctuation and articles aside), ``alias`` (any
    name of a row of ``aliases`` means the others), ``id`` (entities given as ``{id, text}``). Gold's ``entities``
    are taken if it has them; else those that ``judge`` finds in the reference: a judge with ``entities(text)``, or any
    function of a text that returns names (or a prediction with ``entities``); by default `found_entities`.

    Formula: |CE ∩ GE| / |GE|; mean over questions whose reference has entities
    Source: Es et al., EACL 2024 (RAGAS)

    >>> gold = {"reference": "De Kunsthal in Rotterdam is ontworpen door Rem Koolhaas."}
    >>> pred = {"retrieved_contexts": ["Rem Koolhaas tekende de kunsthal."]}
    >>> ContextEntityRecall()(gold, pred).tally.value     # 2 of 3
    0.6666666666666666
    >>> def capitals(text: str) -> list[str]:
    ...     return [word for word in text.split() if word.istitle()]
    >>> ContextEntityRecall(judge=capitals)({"reference": "Kunsthal in Delft"}, pred).tally.value
    0.5
    """

    task = "answering"
    name = "context_entity_recall"
    fixed: ClassVar[Conventions] = {
        "duplicates": "once",
        "empty_reference": "skip",
        "failed": "left out",
        "unknown": UNKNOWN_COUNTS,
    }
    optional = True
    choices = {"match": ENTITY_MATCHES}

    match: str = "normalised"
    aliases: tuple[Texts, ...] = ()
    judge: Any = None

    def assess(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The entities of one reference in one set of contexts; those that do not occur are errors.

        Raises:
            GoldassayError: ids are compared, and the prediction does not list its ``context_entities``.
        """
        pair = AnswerPair(gold, pred)
        context_entities = extra(pred, "context_entities")
        texts = pair.contexts
        if texts is None and context_entities is None:
            return Assessment(JudgedMean())
        if self.match == "id" and context_entities is None:
            raise GoldassayError("match='id' compares ids; the prediction must list its context_entities as {id, text}")
        field = "retrieved_contexts"
        entities = gold_field(gold, "entities", None)
        if entities is None:
            text = reference(gold) or "; ".join(pair.answers)
            find = found_entities if self.judge is None or not text else getattr(self.bound, "entities", self.bound)
            entities = find(text)
        if entities is None:
            return Assessment(JudgedMean.of(None), (unknown("Which names the reference has", field),))
        keys = self._keyed(read(entities, "entities", entities))
        if context_entities is None:  # then the names are looked for in the texts, as whole words
            edge = r"\w" if self.match == "exact" else r"\S"
            searched = "\n".join(map(self._folded, texts or ()))
            present = set()
            for key in keys:
                pattern = "|".join(map(re.escape, self._names(key)))
                if re.search(rf"(?<!{edge})(?:{pattern})(?!{edge})", searched):
                    present.add(key)
        else:
            present = {*self._keyed(context_entities)}
        missing = [text for key, text in keys.items() if key not in present]
        message = "The retrieved texts lack “{}”."
        errors = tuple(Error("not_retrieved", message.format(name), gold=name, field=field) for name in missing)
        return Assessment(JudgedMean.of((len(keys) - len(missing)) / len(keys)) if keys else JudgedMean(), errors)

    def _names(self, key: str) -> Sequence[str]:
        """The names of an entity, as they are compared."""
        rows = [[*map(normal.unicode, row)] for row in self.aliases] if self.match == "alias" else []
        return next((row for row in reversed(rows) if key in row), [key])

    def _folded(self, text: str) -> str:
        """A text as it is compared; one that is nothing but articles and punctuation is itself."""
        return text if self.match == "exact" else normal.unicode(text) or text

    def _keyed(self, entities: Iterable[object]) -> dict[str, str]:
        """The first text of each entity by what it is compared by."""
        keyed: dict[str, str] = {}
        for entity in entities:
            id_ = entity if isinstance(entity, str) else read(entity, "id", None)
            text = str((not isinstance(entity, str) and read(entity, "text", None)) or id_ or "")
            keyed.setdefault(str(id_ or "") if self.match == "id" else self._names(self._folded(text))[0], text)
        keyed.pop("", None)
        return keyed


def negations(words: Sequence[str]) -> int:
    """How many negations there are among the words of a `statement`; French ne … pas is one.

    >>> negations(["it", "did", "not", "open"]), negations(["il", "ne", "ouvre", "pas"]), negations(["never"])
    (1, 1, 1)
    """
    closed = min(words.count("ne"), sum(map(words.count, NE_PAIRS)))
    return sum(word in NEGATIONS for word in words) - closed


@dataclass(frozen=True)
class LexicalSupport(Assessed[Mean]):
    """Lexical support of the answer by ``retrieved_contexts``; an empty answer and absent contexts are left out.

    Formula: mean over the answer's sentences of the best LCS(words, words of a context sentence) / words; 0 where
        negations or numbers differ; mean over answers
    Source: goldassay; a lexical stand-in, not faithfulness

    >>> texts = ["It opened in 1800. It did burn."]
    >>> pred = {"answer": "It opened in 1800. It did not burn.", "retrieved_contexts": texts}
    >>> LexicalSupport()({}, pred).tally.value
    0.5
    """

    name = "lexical_support"
    fixed: ClassVar[Conventions] = {
        "unit": "sentence",
        "match": "ordered words",
        "negation": "parity",
        "numbers": "all",
        "empty": "left out",
        "failed": "left out",
    }

    def assess(self, pair: AnswerPair) -> Assessment[Mean]:
        """The mean over the sentences of one answer that have words; those without support are errors."""
        enough = 0.6  # a sentence with less support is an error
        texts = None if pair.failed else pair.contexts
        if texts is None:
            return Assessment(Mean())
        premises = [statement(sentence) for text in texts for sentence in sentences(text)]
        supports = []
        errors = []
        for sentence in sentences(pair.answer):
            words = statement(sentence)
            if not words:
                continue
            odd = negations(words) % 2
            numbers = {word for word in words if any(map(str.isdigit, word))}
            fitting = (other for other in premises if negations(other) % 2 == odd and numbers <= {*other})
            supports.append(max((LCSseq.similarity(words, other) / len(words) for other in fitting), default=0.0))
            if supports[-1] < enough:
                message = f"The retrieved texts do not say “{sentence}”."
                errors.append(Error("unsupported", message, pred=sentence, field="answer"))
        return Assessment(Mean.of(sum(supports) / len(supports)) if supports else Mean(), tuple(errors))


OUTCOMES = ("correct", "incorrect", "unsupported")


def outcome(claim: str, facts: Iterable[str]) -> str:
    """Correct if one fact says a claim, in its words; else incorrect if one contradicts it; else unsupported.

    >>> outcome("opened in 1800", ["The museum opened in 1800."]), outcome("opened in 1900", ["It opened in 1800."])
    ('correct', 'incorrect')
    >>> outcome("It did not open", ["It did open"]), outcome("It burned", ["It opened"]), outcome("", ["It opened"])
    ('incorrect', 'unsupported', 'unsupported')
    """
    words = _content(claim)
    bare = _bare(words)
    outcomes = set()
    for fact in map(_content, facts) if words else ():
        same = negations(words) % 2 == negations(fact) % 2
        if _inside(words, fact):
            outcomes.add("correct" if same else "incorrect")
        elif bare and len(bare) < len(words) + (not same) and _inside(bare, _bare(fact)):
            outcomes.add("incorrect")
    return next((name for name in OUTCOMES if name in outcomes), "unsupported")


def _content(text: str) -> list[str]:
    """The words of a statement without articles."""
    return [word for word in statement(text) if word not in normal.ARTICLES]


def _bare(words: Sequence[str]) -> list[str]:
    """Without numbers and negations."""
    return [word for word in words if word not in NEGATIONS and not any(map(str.isdigit, word))]


def _inside(run: Sequence[str], words: Sequence[str]) -> bool:
    return f" {' '.join(run)} " in f" {' '.join(words)} "


def factual_accuracy(generated_claims: Examples, gold_facts: Examples) -> dict[str, float | None]:
    """The specification's function: claims ``{claim, verifiable}`` against facts ``{fact, source}``, or texts.

    ``factual_accuracy`` is ``None`` if no claim is verifiable.

    >>> result = factual_accuracy([{"claim": "opened in 1800", "verifiable": True}, "burned"], ["It opened in 1800"])
    >>> result["factual_accuracy"], result["correct_claims"], result["incorrect_claims"], result["unsupported_claims"]
    (0.5, 1, 0, 1)
    """
    facts = _texts(gold_facts, "fact")
    claims = _texts(generated_claims, "claim")
    counts = Counter(outcome(claim, facts) for claim in claims)
    return {
        "factual_accuracy": counts["correct"] / len(claims) if claims else None,
        **{f"{name}_claims": counts[name] for name in OUTCOMES},
        "unverifiable_claims": len(generated_claims) - len(claims),
        "total_claims": len(generated_claims),
    }


def _texts(rows: Examples, name: str, record: str | int | None = None) -> list[str]:
    """The texts of claims or facts; of claims those that can be verified."""
    texts: list[str] = []
    for row in rows if isinstance(rows, (list, tuple)) else [None]:
        text = row.get(name) if isinstance(row, Mapping) else row
        if isinstance(row, Mapping) and not row.get("verifiable", True):
            continue
        if not isinstance(text, str):
            expected = f"expected a list of {name}s, each a text or an object with {name!r}"
            raise DataError(expected, record=record, field=f"{name}s")
        texts.append(text)
    return texts


@dataclass(frozen=True)
class FactualAccuracy(Assessed[Mean]):
    """The share of the answer's verifiable ``claims`` that the gold facts say; mean over claims.

    The facts are gold's ``supporting_facts`` and its ``reference``; a prediction without ``claims`` has no evidence.

    Formula: correct / (correct + incorrect + unsupported) over verifiable claims
    Source: goldassay, after the specification

    >>> gold = {"supporting_facts": ["opgericht in 1800"]}
    >>> assessment = FactualAccuracy()(gold, {"claims": ["opgericht in 1900", "opgericht in 1800"]})
    >>> assessment.tally.value, assessment.errors[0].kind
    (0.5, 'incorrect')
    """

    name = "factual_accuracy"
    fixed: ClassVar[Conventions] = {
        "outcomes": "+".join(OUTCOMES),
        "match": "words",
        "average": "claims",
        "no facts": "left out",
        "failed": "left out",
    }

    def assess(self, pair: AnswerPair) -> Assessment[Mean]:
        """The claims of one answer; none without facts. Those that are not correct are errors."""
        rows = pair.evidence("claims")
        claims = _texts(() if rows is None else rows, "claim", pair.name)
        facts = _texts(gold_field(pair.gold, "supporting_facts", None) or (), "fact", pair.name) if claims else []
        facts += filter(None, [reference(pair.gold)])
        outcomes = [(claim, outcome(claim, facts)) for claim in claims if facts]
        messages = {"incorrect": "contradicts the gold facts", "unsupported": "is in none of the gold facts"}
        errors = tuple(
            Error(kind, f"“{claim}” {messages[kind]}.", pred=claim, field="answer")
            for claim, kind in outcomes
            if kind in messages
        )
        return Assessment(Mean(float(len(outcomes) - len(errors)), float(len(outcomes))), errors)


@dataclass(frozen=True)
class LostByRetrieval(AnswerMeasure[Mean]):
    """The share of wrong answers whose passage was not retrieved; lower is better, at 0 the reader is to blame.

    Formula: lost answers without a gold passage among the results / lost answers
    Source: goldassay

    >>> gold = {"answers": ["1800"], "documents": ["nl-1"]}
    >>> LostByRetrieval()(gold, {"answer": "1900", "results": [{"doc_id": "nl-2"}]}).tally.value
    1.0
    >>> LostByRetrieval()(gold, {"answer": "1800", "results": []}).tally.weight       # it is not lost
    0.0
    """

    name = "lost_by_retrieval"
    fixed: ClassVar[Conventions] = {"lost": "exact_match=0, answerable", "no documents": "skip"}
    lower_is_better: ClassVar[bool] = True

    def tally(self, pair: AnswerPair) -> Mean:
        """One wrong answer."""
        documents = gold_field(pair.gold, "documents", None)
        results = read(pair.pred, "results", None)
        if not documents or results is None or not pair.answers or ExactMatch()(*pair).tally.value == 1:
            return Mean()
        return Mean.of(float(not {*result_ids(results)} & set(documents)))


def result_ids(results: Iterable[object]) -> list[str]:
    """The ids of retrieved documents, which are ids or ``{doc_id}``."""
    return [result if isinstance(result, str) else str(read(result, "doc_id", "")) for result in results]
