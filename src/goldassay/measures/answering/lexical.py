"""Lexical support: how far the words of an answer, in their order, stand in the retrieved texts.

It needs no model and is no faithfulness: it sees words, not meaning, and so it bears its own name. For each sentence of
the answer, the longest common subsequence with a sentence of the contexts over the answer sentence's length, the best
one counts; where one of the two has an odd number of negations and the other has not, or where the answer's sentence
has a number that the other lacks, the pair supports nothing. So a copied sentence has 1, a copied one with a "not" put
in or taken out has less, whichever side it stands on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

from rapidfuzz.distance import LCSseq

from goldassay.measure import Assessment, Error, Measure, failed
from goldassay.measures.answering.records import answer, contexts
from goldassay.tally import Mean
from goldassay.text.sentences import sentences
from goldassay.text.vocabulary import CONTRACTED, NE_PAIRS, NEGATIONS, statement

ENOUGH = 0.6  # a sentence with less is shown as unsupported


def negations(words: Sequence[str]) -> int:
    """How many negations stand among the words ("n't" is one; French ne … pas is one).

    >>> negations(["it", "didn", "t", "open"]), negations(["il", "ne", "ouvre", "pas"]), negations(["never"])
    (1, 1, 1)
    """
    found = sum(word in NEGATIONS for word in words)
    found += sum(one in CONTRACTED and other == "t" for one, other in pairwise(words))
    return found - min(words.count("ne"), sum(map(words.count, NE_PAIRS)))


def sentence_support(sentence: str, texts: Sequence[str]) -> float:
    """How far the best of the texts' sentences has this sentence's words, in order; 0 for a sentence without words.

    >>> sentence_support("It opened in 1800.", ["The museum is big. It opened in 1800 with a feast."])
    1.0
    >>> sentence_support("It did not open.", ["It did open."]), sentence_support("It opened 1900", ["It opened 1800"])
    (0.0, 0.0)
    """
    mine = statement(sentence)
    if not mine:
        return 0.0
    odd, numbers = negations(mine) % 2, {word for word in mine if any(c.isdigit() for c in word)}
    best = 0.0
    for text in texts:
        for theirs in _read(text):
            if negations(theirs) % 2 == odd and numbers <= set(theirs):
                best = max(best, LCSseq.similarity(mine, theirs) / len(mine))
    return best


@lru_cache(maxsize=4096)
def _read(text: str) -> tuple[list[str], ...]:
    """The words of each sentence; passages are retrieved again and again."""
    return tuple(statement(sentence) for sentence in sentences(text))


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

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
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
