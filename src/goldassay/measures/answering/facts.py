"""Factual accuracy: each claim against the gold facts, with three outcomes.

``correct``: a fact entails it; ``incorrect``: a fact contradicts it; ``unsupported``: no fact says anything of it.
Without an entailment function of your own, words decide: a claim whose words stand side by side in a fact is correct;
one that differs from such words by a number or by a negation alone is incorrect; the rest is unsupported. An empty
claim supports nothing. The value is correct / (correct + incorrect + unsupported) over the verifiable claims.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import Assessment, Error, Measure, failed, gold_field
from goldassay.measures.answering.lexical import negations
from goldassay.measures.answering.records import extra, reference
from goldassay.tally import Mean
from goldassay.text.normal import ARTICLES
from goldassay.text.vocabulary import NEGATIONS, statement

OUTCOMES = ("correct", "incorrect", "unsupported")
Relation = Callable[[str, str], str]
"""A claim and a fact to an outcome."""


def by_words(claim: str, fact: str) -> str:
    """What a fact says of a claim, by its words.

    >>> by_words("opened in 1800", "The museum opened in 1800."), by_words("opened in 1900", "It opened in 1800.")
    ('correct', 'incorrect')
    >>> by_words("It did not open", "It did open"), by_words("It burned", "It opened"), by_words("", "It opened")
    ('incorrect', 'unsupported', 'unsupported')
    """
    mine, theirs = _words(claim), _words(fact)
    if not mine:
        return "unsupported"
    same = negations(mine) % 2 == negations(theirs) % 2
    if _inside(mine, theirs):
        return "correct" if same else "incorrect"
    bare, other = _bare(mine), _bare(theirs)
    return "incorrect" if len(bare) < len(mine) + (not same) and bare and _inside(bare, other) else "unsupported"


def _words(text: str) -> list[str]:
    return [word for word in statement(text) if word not in ARTICLES]


def _bare(words: Sequence[str]) -> list[str]:
    """Without numbers and negations."""
    return [word for word in words if word not in NEGATIONS and not any(c.isdigit() for c in word)]


def _inside(part: Sequence[str], whole: Sequence[str]) -> bool:
    return f" {' '.join(part)} " in f" {' '.join(whole)} "


def outcome(claim: str, facts: Iterable[str], relation: Relation = by_words) -> str:
    """Correct where one fact says so; else incorrect where one contradicts it; else unsupported."""
    found = {relation(claim, fact) for fact in facts} if claim.strip() else set()
    return next((each for each in OUTCOMES if each in found), "unsupported")


def factual_accuracy(
    generated_claims: Sequence[Any], gold_facts: Sequence[Any], relation: Relation = by_words
) -> dict[str, Any]:
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
    return [_text(one, name) for one in several if _verifiable(one)]


def _text(found: Any, name: str) -> str:
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

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
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
