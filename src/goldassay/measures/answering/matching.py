"""How texts are compared, by their words alone: answers, entities, sentences, claims.

* two short answers: `overlap`, F1 over the multiset of normalised words (SQuAD); `squad`, many answers at once;
* the entities of one text in others: `distinct`, `lacking`;
* a sentence in texts: `sentence_support`, the longest common subsequence of words, nothing where the one has an odd
  number of negations and the other has not, or lacks a number;
* a claim against a fact: `by_words`, correct where its words stand in the fact side by side, incorrect where a number
  or a negation alone differs, else unsupported.

None of them sees meaning; `benchmarks.mutation` says which damage each of them notices. `Batch` holds many
questions, both sides read once, and the work that measures share.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, ClassVar, TypeVar

import numpy as np
from rapidfuzz.distance import LCSseq

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measure import Assessment, Measure, failed
from goldassay.measures.answering.records import all_texts, answer, answers, references
from goldassay.measures.answering.rouge import Words
from goldassay.statistics.evidence import Floats, summed
from goldassay.tally import Mean, T
from goldassay.text import normal
from goldassay.text.normal import ARTICLES
from goldassay.text.words import CONTRACTED, NE_PAIRS, NEGATIONS, sentences, statement

V = TypeVar("V")


def empty(text: str) -> bool:
    """Whether an answer says nothing: it has no letter and no digit.

    >>> empty(" … "), empty("5"), empty("NL")
    (True, False, False)
    """
    return not any(character.isalnum() for character in text)


def overlap(one: str, other: str) -> float:
    """F1 over the words of two normalised texts.

    >>> overlap("opened in 1800", "1800")       # P 1/3, R 1
    0.5
    """
    if one == other:
        return 1.0
    left, right = one.split(), other.split()
    first, second = set(left), set(right)
    if len(first) == len(left) and len(second) == len(right):
        common = len(first & second)
    else:
        common = (Counter(left) & Counter(right)).total()
    if not common:
        return 0.0
    precision, recall = common / len(left), common / len(right)
    return 2 * precision * recall / (precision + recall)


def asked(golds: Sequence[str]) -> list[str]:
    """The normalised golds that hold a word; where none does, nothing is the answer (SQuAD 2.0's rule)."""
    return [gold for gold in golds if gold] or [""]


MATCHES = ("exact", "normalised", "alias", "id")
Aliases = tuple[tuple[str, ...], ...]


def distinct(entities: Iterable[object], match: str = "normalised", aliases: Aliases = ()) -> dict[str, object]:
    """Each entity once, by what is compared.

    >>> list(distinct(["The Hague", "the hague", "Den Haag"], "alias", (("The Hague", "Den Haag"),)))
    ['hague']
    """
    table = (
        {normal.unicode(name): normal.unicode(row[0]) for row in aliases for name in row} if match == "alias" else {}
    )
    out: dict[str, object] = {}
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
    wanted: Iterable[object], texts: Sequence[str], listed: Iterable[object] | None, match: str, aliases: Aliases = ()
) -> list[str]:
    """The entities that are not there, as texts.

    Args:
        wanted: entities, texts or ``{id, text}``; each counts once.
        texts: where they may stand.
        listed: the entities that are there, where they are known; then the texts are not looked at.
        match: ``exact``, ``normalised``, ``alias`` or ``id``.
        aliases: rows of names that stand for each other.

    Raises:
        GoldassayError: ids are to be compared, and none are listed.
    """
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


class Batch:
    """Both sides of many questions, read once, and what measures share over them; made when first asked for."""

    def __init__(self, gold: Sequence[object], pred: Sequence[object]) -> None:
        self.gold, self.pred = gold, pred
        self.broken = [bool(failed(one)) for one in pred]
        self.found = [answer(one, other) for one, other in zip(pred, gold, strict=True)]
        self.expected = [answers(one) for one in gold]
        self._kept: dict[Hashable, Any] = {}

    @cached_property
    def texts(self) -> list[tuple[str, ...]]:
        """Of each question all texts that its answer may be compared with; none where it has no answer."""
        return [references(one) for one in self.gold]

    @cached_property
    def answerable(self) -> Floats:
        """1 for each question with an answer, 0 for the others."""
        return np.array([bool(one) for one in self.texts], float)

    @cached_property
    def pairs(self) -> tuple[list[str], list[str]]:
        """Each answer (empty where the program failed) beside each of its references."""
        mine = [
            "" if lost else text
            for text, lost, several in zip(self.found, self.broken, self.texts, strict=True)
            for _ in several
        ]
        return mine, [text for several in self.texts for text in several]

    @cached_property
    def _squad(self) -> tuple[Floats, Floats]:
        kept = 1.0 - np.array(self.broken, float)
        exact, f1 = squad(self.found, self.expected)
        return np.array(exact, float) * kept, np.array(f1, float) * kept

    @property
    def exact(self) -> Floats:
        """SQuAD's exact match of each; 0 for a program that failed."""
        return self._squad[0]

    @property
    def f1(self) -> Floats:
        """SQuAD's F1 of each; 0 for a program that failed."""
        return self._squad[1]

    def rouge(self, kind: str, stem: bool, tokenizer: str) -> Floats:
        """ROUGE of each pair: precision, recall and F1."""
        words = self.once(("words", stem, tokenizer), lambda: Words(*self.pairs, stem=stem, tokenizer=tokenizer))
        found: Floats = self.once(("rouge", kind, stem, tokenizer), lambda: words.rouge(kind))
        return found

    def once(self, key: Hashable, make: Callable[[], V]) -> V:
        """What is made once for all measures that ask for it under this key."""
        if key not in self._kept:
            self._kept[key] = make()
        found: V = self._kept[key]
        return found

    def best(self, values: Floats, by: Floats | None = None) -> Mean:
        """Of each question the value of its best reference (the first that is highest ``by``); none for the others."""
        out, ranks = np.zeros(len(self.gold)), values if by is None else by
        sizes = np.array([len(several) for several in self.texts], int)
        there = np.flatnonzero(sizes)
        if len(there):
            starts = np.concatenate(([0], np.cumsum(sizes[there])[:-1]))
            highest = np.repeat(np.maximum.reduceat(ranks, starts), sizes[there])
            places = np.where(ranks == highest, np.arange(len(ranks)), len(ranks))
            out[there] = values[np.minimum.reduceat(places, starts)]
        return Mean(out, self.answerable)


class Batched(Measure[T]):
    """A measure of answering that counts in `Batch`: one definition, of one question and of many."""

    task: ClassVar[str] = "answering"

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Batch:
        """Both sides, read once."""
        return Batch(gold, pred)

    def assess(self, gold: object, pred: object) -> Assessment[T]:
        """The evidence of one question."""
        return Assessment(summed(self.tallies(Batch([gold], [pred]))))


def squad(predictions: Sequence[str], golds: Sequence[Sequence[str]]) -> tuple[list[float], list[float]]:
    """Exact match and F1 of many answers, each text normalised once; an empty sequence of golds is unanswerable.

    >>> squad(["The 1800s", ""], [["1800s", "1801"], []])
    ([1.0, 1.0], [1.0, 1.0])
    """
    if isinstance(predictions, str):
        raise GoldassayError(f"predictions are a list of texts, not {predictions!r}")
    if len(predictions) != len(golds):
        raise GoldassayError(f"{len(predictions)} predictions against {len(golds)} questions; they must be aligned")
    for place, several in enumerate(golds):
        if several is None or isinstance(several, str):
            raise GoldassayError(f"question {place} needs a list of acceptable answers (empty: none), not {several!r}")
    flat = [gold for several in golds for gold in several]
    try:
        made = normal.squad_all([*predictions, *flat]) if predictions or flat else []
    except TypeError:
        all_texts(predictions, "prediction", "no answer is an empty text")
        all_texts(flat, "acceptable answer", "answers are texts")
        raise
    rest = iter(made[len(predictions) :])
    exact, f1 = [], []
    for mine, several in zip(made, golds, strict=False):
        texts = asked([next(rest) for _ in several])
        hit = mine in texts
        exact.append(float(hit))
        f1.append(1.0 if hit else max(overlap(mine, text) for text in texts))
    return exact, f1
