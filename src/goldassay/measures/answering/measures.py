"""The words of an answer beside those of gold: SQuAD's exact match and F1, for any script too, and ROUGE.

EM is 1 when the normalised texts are equal. F1 is 2·P·R / (P + R) over the multiset of normalised words; where either
side is empty after normalisation, F1 is 1 when both are and 0 otherwise (SQuAD 2.0's rule; 1.1 never has such gold). A
question without answers is right when the answer is empty. A program that failed did not abstain: it counts 0. Both are
the best over the acceptable answers, mean over questions.

ROUGE says how many words, neighbours or ordered words the answer shares with the gold. It is blind to meaning: a
negation or a wrong digit changes one word of many (see `benchmarks.mutation`).

Rajpurkar et al., EMNLP 2016; Rajpurkar, Jia and Liang, ACL 2018. https://rajpurkar.github.io/SQuAD-explorer/
Lin, ROUGE: a package for automatic evaluation of summaries, ACL 2004 workshop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measure import Assessment, failed
from goldassay.measures.answering.matching import Batch, Batched, asked, overlap
from goldassay.measures.answering.mistakes import wrong
from goldassay.measures.answering.records import all_texts, answer, answers, question, references
from goldassay.measures.answering.rouge import KINDS, rouge_batch
from goldassay.tally import Mean
from goldassay.text import normal
from goldassay.text.words import TOKENIZERS

SOURCE = "Rajpurkar et al., EMNLP 2016; Rajpurkar, Jia and Liang, ACL 2018"


@dataclass(frozen=True)
class _Answered(Batched[Mean]):
    """The best of the acceptable answers; 0 for a program that failed."""

    zero: ClassVar[Mean] = Mean()
    gold_fields: ClassVar[tuple[str, ...]] = ("answers",)
    pred_fields: ClassVar[tuple[str, ...]] = ("answer",)
    source: ClassVar[str] = SOURCE

    def normalised(self, text: str) -> str:
        """The text as it is compared."""
        return normal.squad(text)

    def agreement(self, one: str, other: str) -> float:
        """How well two normalised texts agree."""
        return float(one == other)

    def worth(self, found: str, expected: Sequence[str], gold: object = None) -> float:
        """The agreement with the nearest acceptable answer."""
        mine = self.normalised(found)
        return max(self.agreement(mine, text) for text in asked([self.normalised(text) for text in expected]))

    def tallies(self, batch: Batch) -> Mean:
        """The agreement of each answer."""
        rows = zip(batch.gold, batch.found, batch.expected, batch.broken, strict=True)
        values = [0.0 if lost else self.worth(found, expected, gold) for gold, found, expected, lost in rows]
        return Mean(np.array(values, float), np.ones(len(values)))

    def assess(self, gold: object, pred: object) -> Assessment[Mean]:
        """The agreement, and what was expected where it is not whole."""
        expected, found = answers(gold), answer(pred, gold)
        value = 0.0 if failed(pred) else self.worth(found, expected, gold)
        errors = wrong(gold, pred, expected, found) if value < 1 else ()
        right = (f"the answer “{found}”" if expected else "no answer where there is none",) if value == 1 else ()
        return Assessment(Mean.of(value), errors, right)


@dataclass(frozen=True)
class ExactMatch(_Answered):
    """The share of questions whose answer equals an acceptable one after SQuAD's normalisation.

    >>> ExactMatch()({"answers": ["Rijksmuseum"]}, {"answer": "the Rijksmuseum."}).tally.value
    1.0
    """

    name: ClassVar[str] = "exact_match"
    fixed: ClassVar[dict[str, str]] = {
        "normalisation": "SQuAD (ASCII)",
        "golds": "best",
        "unanswerable": "empty is right",
    }
    formula: ClassVar[str] = "1 where the normalised answer equals a normalised acceptable answer; mean over questions"

    def tallies(self, batch: Batch) -> Mean:
        """All at once."""
        return Mean(batch.exact, np.ones(len(batch.exact)))


@dataclass(frozen=True)
class F1(_Answered):
    """The F1 of words with the nearest acceptable answer, after SQuAD's normalisation.

    >>> F1()({"answers": ["in 1800"]}, {"answer": "1800"}).tally.value      # P 1, R 1/2
    0.6666666666666666
    """

    name: ClassVar[str] = "f1"
    fixed: ClassVar[dict[str, str]] = {
        "normalisation": "SQuAD (ASCII)",
        "golds": "best",
        "unanswerable": "empty is right",
    }
    formula: ClassVar[str] = (
        "2PR/(P+R) over the multiset of normalised words, best acceptable answer; mean over questions"
    )

    def tallies(self, batch: Batch) -> Mean:
        """All at once."""
        return Mean(batch.f1, np.ones(len(batch.f1)))

    def agreement(self, one: str, other: str) -> float:
        """F1 over the words."""
        return overlap(one, other)


@dataclass(frozen=True)
class UnicodeExactMatch(_Answered):
    """Exact match for texts of any script; ``articles`` are the words that do not count.

    >>> UnicodeExactMatch()({"answers": ["«Эрмитаж»"]}, {"answer": "эрмитаж"}).tally.value
    1.0
    """

    name: ClassVar[str] = "unicode_exact_match"
    fixed: ClassVar[dict[str, str]] = {"normalisation": "NFKC, casefold, Unicode punctuation", "golds": "best"}
    formula: ClassVar[str] = ExactMatch.formula
    source: ClassVar[str] = f"after {SOURCE}, widened to Unicode by goldassay"

    articles: tuple[str, ...] = normal.ARTICLES

    def normalised(self, text: str) -> str:
        """The text by the rules for any script."""
        return normal.unicode(text, self.articles)


@dataclass(frozen=True)
class UnicodeF1(UnicodeExactMatch):
    """The F1 of words for texts of any script; ``articles`` are the words that do not count.

    >>> UnicodeF1(articles=("het",))({"answers": ["het Rijks"]}, {"answer": "Rijks …"}).tally.value
    1.0
    """

    name: ClassVar[str] = "unicode_f1"
    formula: ClassVar[str] = F1.formula

    def agreement(self, one: str, other: str) -> float:
        """F1 over the words."""
        return overlap(one, other)


@dataclass(frozen=True)
class MLQAExactMatch(_Answered):
    """Exact match by MLQA's normalisation, for languages whose articles differ, or that do not separate words.

    ``language`` is a code of two letters; ``gold`` reads each question's own ``language``. Without one, the script of
    the question and its answers tells it where that does not separate words; elsewhere it is ``en``.

    >>> MLQAExactMatch("de")({"answers": ["Rijksmuseum"]}, {"answer": "das Rijksmuseum"}).tally.value
    1.0
    """

    name: ClassVar[str] = "mlqa_exact_match"
    fixed: ClassVar[dict[str, str]] = {"normalisation": "MLQA", "golds": "best"}
    formula: ClassVar[str] = ExactMatch.formula
    source: ClassVar[str] = "Lewis et al., ACL 2020 (MLQA); scripts of other languages without spaces by goldassay"
    gold_fields: ClassVar[tuple[str, ...]] = ("answers", "language")

    language: str = "gold"

    def worth(self, found: str, expected: Sequence[str], gold: object = None) -> float:
        """The agreement with the nearest acceptable answer, by the rules of one language."""
        code = self.language.lower()[:2] if self.language != "gold" else language_of(gold)
        mine = normal.mlqa(found, code)
        return max(self.agreement(mine, text) for text in asked([normal.mlqa(text, code) for text in expected]))


def language_of(gold: object) -> str:
    """The language of a question, as two letters."""
    given = str(read(gold, "language", None) or "").lower()[:2]
    return given or normal.joined(" ".join([question(gold), *answers(gold)])) or "en"


@dataclass(frozen=True)
class MLQAF1(MLQAExactMatch):
    """The F1 of words by MLQA's normalisation; in Chinese, Japanese or Thai each character is a word.

    >>> MLQAF1("zh")({"answers": ["阿姆斯特丹"]}, {"answer": "在阿姆斯特丹"}).tally.value      # P 5/6, R 1
    0.9090909090909091
    """

    name: ClassVar[str] = "mlqa_f1"
    formula: ClassVar[str] = F1.formula

    def agreement(self, one: str, other: str) -> float:
        """F1 over the words."""
        return overlap(one, other)


PARTS = ("p", "r", "f")


def rouge(
    prediction: str,
    references: str | Sequence[str],
    kind: str = "L",
    *,
    stem: bool = False,
    tokenizer: str = "rouge-score",
) -> tuple[float, float, float]:
    """Precision, recall and F1 against the reference whose F1 is highest.

    Args:
        prediction: the answer.
        references: one gold text, or several.
        kind: ``1``, ``2``, ``L`` or ``Lsum``.
        stem: compare Porter's stems.
        tokenizer: ``rouge-score`` (ASCII letters and digits) or ``unicode``.

    Raises:
        GoldassayError: something is no text, there is no reference, or there is no such kind or tokenizer.

    >>> rouge("the museum opened", ["the museum has opened", "it did"], "1")
    (1.0, 0.75, 0.8571428571428571)
    """
    several = [references] if isinstance(references, str) else references
    all_texts(several, "reference", "ROUGE compares texts")
    if not several:
        raise GoldassayError("ROUGE needs at least one reference")
    rows = rouge_batch([prediction] * len(several), several, [kind], stem=stem, tokenizer=tokenizer)[kind]
    precision, recall, f1 = rows[rows[:, 2].argmax()].tolist()
    return precision, recall, f1


@dataclass(frozen=True)
class ROUGE(Batched[Mean]):
    """ROUGE-1, 2, L or Lsum: precision (``p``), recall (``r``) or F1 (``f``), best over the answers and the reference.

    An unanswerable question is left out: it has no words to share. The part is that of the reference with the highest
    F1, as in rouge-score's ``score_multi``. ``tokenizer="rouge-score"`` knows ASCII letters only; an answer in another
    script scores 0 against itself, so such texts want ``unicode``.

    >>> ROUGE("1")({"answers": ["opened in 1800"]}, {"answer": "1800"}).tally.value     # P 1/1, R 1/3
    0.5
    >>> ROUGE("2", part="r").key, ROUGE("L", stem=True).conventions
    ('rouge2_r', 'rougeL[kind=L, part=f, stem=True, tokenizer=rouge-score, golds=best by F1, unanswerable=skip]')
    """

    task: ClassVar[str] = "answering"
    name: ClassVar[str] = "rouge"
    zero: ClassVar[Mean] = Mean()
    gold_fields: ClassVar[tuple[str, ...]] = ("answers", "reference")
    pred_fields: ClassVar[tuple[str, ...]] = ("answer",)
    fixed: ClassVar[dict[str, str]] = {"golds": "best by F1", "unanswerable": "skip"}
    formula: ClassVar[str] = (
        "P = common/predicted, R = common/gold, F1 = 2PR/(P+R), common = shared n-grams (1, 2) or the longest common "
        "subsequence (L; by line: Lsum); mean over answerable questions"
    )
    source: ClassVar[str] = "Lin, ACL 2004 workshop; rouge-score 0.1.2"

    kind: str = "L"
    part: str = "f"
    stem: bool = False
    tokenizer: str = "rouge-score"

    def __post_init__(self) -> None:
        for name, choices in (("kind", KINDS), ("part", PARTS), ("tokenizer", TOKENIZERS)):
            if getattr(self, name) not in choices:
                raise GoldassayError(f"ROUGE: {name} is one of {', '.join(choices)}, not {getattr(self, name)!r}")

    @property
    def attains_one(self) -> bool:  # type: ignore[override]
        """Not ROUGE-2: an answer of one word has no neighbours, and 0 even against itself."""
        return self.kind != "2"

    @property
    def key(self) -> str:
        """``rouge1``, ``rougeL``; ``rouge2_r`` for another part than F1."""
        return f"rouge{self.kind}{'' if self.part == 'f' else f'_{self.part}'}"

    def tallies(self, batch: Batch) -> Mean:
        """All at once."""
        rows = batch.rouge(self.kind, self.stem, self.tokenizer)
        return batch.best(rows[:, PARTS.index(self.part)], by=rows[:, 2])

    def assess(self, gold: object, pred: object) -> Assessment[Mean]:
        """The part of the best reference's score."""
        several, found = references(gold), answer(pred, gold)
        if not several:
            return Assessment(Mean())
        scores = rouge(found, several, self.kind, stem=self.stem, tokenizer=self.tokenizer)
        value = 0.0 if failed(pred) else scores[PARTS.index(self.part)]
        errors = wrong(gold, pred, answers(gold), found) if value < 1 else ()
        return Assessment(Mean.of(value), errors)
