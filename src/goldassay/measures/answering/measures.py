"""The words of an answer against those of gold: exact match, F1, ROUGE, BLEU and chrF.

Exact match is 1 if the normalised texts are equal. F1 is 2·P·R / (P + R) over the multiset of normalised words; if
either side is empty after normalisation, F1 is 1 if both are and 0 otherwise (SQuAD 2.0's rule; 1.1 never has such
gold). A question without answers is right if the answer is empty. A program that failed did not abstain: it counts 0.
Both are the best over the acceptable answers, mean over questions.

ROUGE says how many words, neighbours or ordered words the answer shares with the gold. It is blind to meaning: a
negation or a wrong digit changes one word of many.

BLEU and chrF are those of the corpus, as sacrebleu computes them by default, from 0 to 1. BLEU: the geometric mean of
the precision of word n-grams (n from 1 to 4, each counted at most as often as in the gold answer that has it most
often), times exp(1 − r / h) where the answers are shorter (h words) than the nearest gold (r). An order without a match
counts half of one, the next a quarter (``exp``). chrF: precision and recall of character n-grams (n from 1 to 6,
without white space), each averaged over n, and their F2.

Rajpurkar et al., EMNLP 2016; Rajpurkar, Jia and Liang, ACL 2018. https://rajpurkar.github.io/SQuAD-explorer/
Lewis et al., MLQA, ACL 2020. Lin, ROUGE: a package for automatic evaluation of summaries, ACL 2004 workshop.
Papineni et al., ACL 2002; Popović, WMT 2015; Post, WMT 2018 (sacrebleu 2.6, tokenizer 13a).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import or_
from typing import ClassVar

import numpy as np

from goldassay.core.fields import read
from goldassay.core.measure import Conventions, Names, Review, pred_field
from goldassay.core.tally import By, Counts, Mean, Number, divide, positive
from goldassay.measures.answering.matching import (
    ROUGE_KINDS,
    ROUGE_RATES,
    AnswerBatch,
    AnswerMeasure,
    agreement,
    overlap,
)
from goldassay.measures.answering.records import AnswerPair, Texts
from goldassay.measures.calibration import scalar
from goldassay.measures.records.comparators import anls
from goldassay.text import normal
from goldassay.text.words import TOKENIZERS

NORMALISATIONS: dict[str, tuple[str, Callable[..., str]]] = {
    "squad": ("SQuAD (ASCII)", normal.squad),
    "unicode": ("NFKC, casefold, Unicode punctuation", normal.unicode),
    "mlqa": ("MLQA", normal.mlqa),
    "triviaqa": ("TriviaQA (punctuation is a space)", normal.triviaqa),
    "nq_open": ("NFD, SQuAD (ASCII)", normal.nq_open),
    "written": ("as written", str),
    "stripped": ("as written, without white space at its ends", str.strip),
}
"""The normalization of each text, in words and as a function."""
EMPTY_ANSWERS = {
    "skip": "left out beside others",
    "equal": "kept, an empty answer equals them",
    "overlap": "kept, F1 0",
    "wrong": "kept, F1 0, a blank answer wrong",
}


@dataclass(frozen=True)
class ExactMatch(AnswerMeasure[Mean]):
    """The share of questions whose answer equals an acceptable one after normalisation.

    ``normalisation``: ``squad`` (ASCII); ``triviaqa`` and ``nq_open`` as in their evaluation scripts; ``written``, as
    is, and ``stripped``, without white space at its ends; ``unicode``, for any script, where ``articles`` are the words
    that do not count; ``mlqa``, MLQA's rules for a ``language`` (a code of two letters), whose articles differ or whose
    characters are words. ``language="gold"`` reads each question's own ``language``; without one, the script of the
    question and its answers decides it where it does not separate words, and it is ``en`` elsewhere.

    ``empty``: what gold answers without a word count. ``skip``: nothing if there are others (SQuAD 2.0). ``equal``: an
    empty answer is right, and its F1 is 1 (MuSiQue). ``overlap``: it is right, and its F1 is 0, for no word is shared
    (TriviaQA). ``wrong``: as ``overlap``, but an answer without any character is wrong (KILT). With all but ``skip`` an
    answer that is ``None`` counts 0.

    Formula: 1 where the normalised answer equals a normalised acceptable answer; mean over questions
    Source: Rajpurkar et al., EMNLP 2016; Rajpurkar, Jia and Liang, ACL 2018 (widened to Unicode by goldassay); Joshi et
        al., ACL 2017; Min et al., NeurIPS 2020 (EfficientQA's evaluation script); Petroni et al., NAACL 2021 (KILT's
        accuracy); Lewis et al., ACL 2020 (MLQA; scripts of other languages without spaces by goldassay)

    >>> ExactMatch()({"answers": ["Rijksmuseum"]}, {"answer": "the Rijksmuseum."}).tally.value
    1.0
    >>> ExactMatch("unicode")({"answers": ["«Эрмитаж»"]}, {"answer": "эрмитаж"}).tally.value
    1.0
    >>> ExactMatch("mlqa", language="de")({"answers": ["Rijksmuseum"]}, {"answer": "das Rijksmuseum"}).tally.value
    1.0
    """

    enough = 1.0
    choices = {"normalisation": tuple(NORMALISATIONS), "empty": tuple(EMPTY_ANSWERS)}
    base = "exact_match"
    column = 0

    normalisation: str = "squad"
    articles: Texts = normal.ARTICLES
    language: str = "gold"
    empty: str = "skip"

    @property
    def key(self) -> str:
        """``exact_match``, ``unicode_exact_match``, ``triviaqa_f1`` and so on."""
        return self.base if self.normalisation == "squad" else f"{self.normalisation}_{self.base}"

    @property
    def in_key(self) -> Names:
        """The parameters of the other normalisations say nothing."""
        option = {"unicode": "articles", "mlqa": "language"}.get(self.normalisation)
        return tuple(name for name in ("normalisation", "articles", "language", "empty") if name != option)

    @property
    def fixed(self) -> Conventions:
        """The rules, and what an empty answer counts."""
        empty = {"empty golds": EMPTY_ANSWERS[self.empty], "unanswerable": "empty is right", "failed": "0"}
        return {"normalisation": NORMALISATIONS[self.normalisation][0], "golds": "best", **empty}

    def tallies(self, batch: AnswerBatch) -> Mean:
        """The agreement of each answer with the nearest acceptable one."""
        if (self.normalisation, self.empty) == ("squad", "skip"):
            values = batch.squad[self.column]
        else:
            rows = zip(batch, batch.failed, batch.answers, batch.golds, strict=True)
            values = np.array([0.0 if failed else self._value(pair, text, golds) for pair, failed, text, golds in rows])
        return Mean(values, np.ones(len(values)))

    def _value(self, pair: AnswerPair, text: str, golds: Texts) -> float:
        """The agreement of an answer, whose text and golds are read already, by another rule than SQuAD's."""
        if self.empty != "skip" and pred_field(pair.pred, "answer") is None:
            return 0.0
        normalise = NORMALISATIONS[self.normalisation][1]
        if self.normalisation == "unicode":
            normalise = partial(normalise, articles=self.articles)
        elif self.normalisation == "mlqa":
            language = self.language
            if language == "gold":  # two letters
                language = str(read(pair.gold, "language", None) or "").lower()[:2]
                language = language or normal.joined(" ".join([pair.question, *pair.answers])) or "en"
            normalise = partial(normalise, language=language)
        answer = normalise(text)
        expected = [normalise(gold) for gold in golds]
        if self.empty == "skip" or not golds:
            return agreement(answer, expected)[self.column]
        if self.empty == "wrong" and not text.strip():
            return 0.0
        if self.column == 0:
            return float(answer in expected)
        return max(overlap(answer, gold) for gold in expected) if answer or self.empty == "equal" else 0.0

    def reviews(self, batch: AnswerBatch) -> list[Review]:
        """The error of a wrong answer, or the right answer in words."""
        reviews: list[Review] = []
        for index, (errors, _) in enumerate(super().reviews(batch)):
            right = f"the answer “{batch.answers[index]}”" if batch.golds[index] else "no answer where there is none"
            reviews.append((errors, () if errors or batch.failed[index] else (right,)))
        return reviews


@dataclass(frozen=True)
class F1(ExactMatch):
    """The F1 of words with the nearest acceptable answer, after normalisation (see `ExactMatch`).

    MLQA's rules take each character of Chinese, Japanese or Thai for a word.

    Formula: 2PR/(P+R) over the multiset of normalised words, best acceptable answer; mean over questions

    >>> F1()({"answers": ["in 1800"]}, {"answer": "1800"}).tally.value      # P 1, R 1/2
    0.6666666666666666
    >>> F1("mlqa")({"answers": ["阿姆斯特丹"]}, {"answer": "在阿姆斯特丹"}).tally.value      # P 5/6, R 1
    0.9090909090909091
    """

    base = "f1"
    column = 1


@dataclass(frozen=True)
class ROUGE(AnswerMeasure[Mean]):
    """ROUGE-1, 2, L or Lsum: precision (``p``), recall (``r``) or F1 (``f``), best over the answers and the reference.

    An unanswerable question is left out: it has no words to share. The part is that of the reference with the highest
    F1, as in rouge-score's ``score_multi``. ``tokenizer="rouge-score"`` knows ASCII letters only, so an answer in
    another script scores 0 against itself; such texts need ``unicode``.

    Formula: P = common/predicted, R = common/gold, F1 = 2PR/(P+R), common = shared n-grams (1, 2) or the longest
        common subsequence (L; by line: Lsum); mean over answerable questions
    Source: Lin, ACL 2004 workshop; rouge-score 0.1.2

    >>> ROUGE("1")({"answers": ["opened in 1800"]}, {"answer": "1800"}).tally.value     # P 1/1, R 1/3
    0.5
    >>> ROUGE("2", part="r").key, ROUGE("L", stem=True).conventions.partition(", golds")[0]
    ('rouge2_r', 'rougeL[kind=L, part=f, stem=True, tokenizer=rouge-score')
    """

    enough = 1.0
    choices = {"kind": ROUGE_KINDS, "part": ROUGE_RATES, "tokenizer": TOKENIZERS}
    fixed: ClassVar[Conventions] = {"golds": "best by F1", "unanswerable": "skip", "failed": "0"}

    kind: str = "L"
    part: str = "f"
    stem: bool = False
    tokenizer: str = "rouge-score"

    @property
    def attains_one(self) -> bool:
        """Not ROUGE-2: an answer of one word has no neighbours, and 0 even against itself."""
        return self.kind != "2"

    @property
    def key(self) -> str:
        """``rouge1``, ``rougeL``; ``rouge2_r`` for another part than F1."""
        return f"rouge{self.kind}" if self.part == "f" else f"rouge{self.kind}_{self.part}"

    def tallies(self, batch: AnswerBatch) -> Mean:
        """The part of each best reference's score."""
        rows = batch.rouge(self.kind, self.stem, self.tokenizer)
        return batch.best(rows[:, ROUGE_RATES.index(self.part)], by=rows[:, 2])


@dataclass(frozen=True)
class ANLS(AnswerMeasure[Mean]):
    """How near an answer is to the nearest acceptable one, letter by letter; 0 beyond a distance of ``threshold``.

    At the threshold itself DocVQA's script counts the answer (at one half .5), the paper's formula does not.

    Formula: 1 − edit distance / the longer length, without case, best acceptable answer; mean over questions
    Source: Biten et al., ICCV 2019; the evaluation script of DocVQA

    >>> ANLS()({"answers": ["Teylers Museum", "Teyler"]}, {"answer": "teylor"}).tally.value      # 1 - 1/6
    0.8333333333333334
    """

    name = "anls"
    enough = 1.0
    fixed: ClassVar[Conventions] = {
        "at threshold": "counts, as DocVQA's script",
        "golds": "best",
        "unanswerable": "empty is right",
        "failed": "0",
    }

    threshold: float = 0.5

    def tally(self, pair: AnswerPair) -> Mean:
        """The nearness of one answer."""
        golds = pair.answers or ("",)
        return Mean.of(0.0 if pair.failed else max(anls(gold, pair.answer, self.threshold) for gold in golds))


ORDERS = 4
ENTITIES = {"<skipped>": "", "-\n": "", "\n": " ", "&quot;": '"', "&amp;": "&", "&lt;": "<", "&gt;": ">"}


def words_13a(text: str) -> list[str]:
    """The words of mteval's tokenizer 13a.

    >>> words_13a("It opened in 1,800.5 (twice).")
    ['It', 'opened', 'in', '1,800.5', '(', 'twice', ')', '.']
    """
    splits = (
        (r"([\{-\~\[-\` -\&\(-\+\:-\@\/])", r" \1 "),
        (r"([^0-9])([\.,])", r"\1 \2 "),
        (r"([\.,])([^0-9])", r" \1 \2"),
        (r"([0-9])(-)", r"\1 \2 "),
    )
    text = text.rstrip()  # as sacrebleu does: a "-" at the end of the last line divides no word
    for entity, character in ENTITIES.items():
        text = text.replace(entity, character)
    text = f" {text} "
    for pattern, parts in splits:
        text = re.sub(pattern, parts, text)
    return text.split()


def _grams(items: Sequence[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(items[at:] for at in range(n)), strict=False))


class NGrams(By[str, Mean]):
    """Matches over n-grams for each n, and the answers' words over the gold's (``length``); ``value`` is BLEU."""

    inner = Mean()

    @property
    def value(self) -> Number:
        """BLEU."""
        zeros: Number = 0.0
        logs: Number = 0.0
        for n in range(1, ORDERS + 1):
            order = self.get(str(n), Mean())
            none = 1.0 - positive(order.total)
            zeros = zeros + none
            share = divide(order.total + none / 2.0**zeros, order.weight, empty=1.0)
            logs = logs + np.log(share) - 1e9 * (1.0 - positive(order.weight))
        length = self.get("length", Mean())
        matches = self.get("1", Mean()).total
        brevity = np.exp(np.minimum(0.0, 1.0 - divide(length.weight, length.total, empty=1e9)))
        return scalar(brevity * np.exp(logs / ORDERS) * positive(matches) + (1.0 - positive(self.weight)))


@dataclass(frozen=True)
class BLEU(AnswerMeasure[NGrams]):
    """BLEU of the corpus; an unanswerable question is left out, a program that failed gave no word.

    Formula: exp(min(0, 1 − r / h)) (p1 p2 p3 p4)^¼ over the corpus
    Source: Papineni et al., ACL 2002; sacrebleu 2.6

    >>> round(BLEU()({"answers": ["the museum opened in 1800"]}, {"answer": "the museum opened in May"}).tally.value, 4)
    0.6687
    """

    name = "bleu"
    attains_one: ClassVar[bool] = False  # answers of fewer than four words have no n-gram of each order
    zero: ClassVar[NGrams] = NGrams()
    fixed: ClassVar[Conventions] = {
        "tokens": "13a",
        "case": "mixed",
        "smoothing": "exp",
        "golds": "all",
        "unanswerable": "skip",
        "failed": "0",
    }

    def tally(self, pair: AnswerPair) -> NGrams:
        """The n-grams of one answer against all its golds."""
        answer = words_13a(pair.answer)
        golds = [*map(words_13a, pair.references)]
        if not golds:
            return NGrams()
        nearest = min((abs(len(words) - len(answer)), len(words)) for words in golds)[1]
        counts = {"length": Mean(float(len(answer)), float(nearest))}
        for n in range(1, ORDERS + 1):
            grams = _grams(answer, n)
            most = reduce(or_, (_grams(words, n) for words in golds))
            counts[str(n)] = Mean(float((grams & most).total()), float(grams.total()))
        return NGrams(counts)


class CharacterGrams(By[str, Counts]):
    """The counts of character n-grams for each n; ``value`` is chrF."""

    @property
    def value(self) -> Number:
        """F2 of the mean precision and the mean recall over the orders that both sides have."""
        comparable = [positive(counts.predicted) * positive(counts.support) for counts in self.values()]
        pairs = list(zip(self.values(), comparable, strict=True))
        p = divide(sum(counts.precision * weight for counts, weight in pairs), sum(comparable))
        r = divide(sum(counts.recall * weight for counts, weight in pairs), sum(comparable))
        return scalar(divide(5.0 * p * r, 4.0 * p + r) + (1.0 - positive(self.weight)))


@dataclass(frozen=True)
class ChrF(AnswerMeasure[CharacterGrams]):
    """chrF of the corpus, for each question the gold answer with the highest chrF.

    Formula: F2 of the mean precision and the mean recall of character n-grams over the corpus
    Source: Popović, WMT 2015; sacrebleu 2.6

    >>> round(ChrF()({"answers": ["Rijksmuseum"]}, {"answer": "Rijksmusea"}).tally.value, 4)
    0.7733
    """

    name = "chrf"
    zero: ClassVar[CharacterGrams] = CharacterGrams()
    fixed: ClassVar[Conventions] = {
        "characters": "1 to 6",
        "words": "none",
        "beta": "2",
        "golds": "best",
        "unanswerable": "skip",
        "failed": "0",
    }

    def tally(self, pair: AnswerPair) -> CharacterGrams:
        """The character n-grams of one answer against those of the best gold."""
        longest = 6
        answer = "".join(pair.answer.split())
        tallies = []
        for text in pair.references:
            tally = CharacterGrams()
            for n in range(1, longest + 1):
                grams = _grams(answer, n)
                expected = _grams("".join(text.split()), n)
                hits = float((grams & expected).total())
                predicted = float(grams.total()) if expected else 0.0
                tally[str(n)] = Counts(hits, predicted - hits, float(expected.total()) - hits)
            tallies.append(tally)
        # A gold text without characters is 0 beside others, as in sacrebleu.
        return max(tallies, key=lambda tally: tally.value * (tally.weight > 0), default=CharacterGrams())
