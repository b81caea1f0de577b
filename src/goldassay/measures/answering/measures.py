"""The words of an answer beside those of gold: exact match and F1 under three normalisations, and ROUGE.

Exact match is 1 if the normalised texts are equal. F1 is 2·P·R / (P + R) over the multiset of normalised words; if
either side is empty after normalisation, F1 is 1 if both are and 0 otherwise (SQuAD 2.0's rule; 1.1 never has such
gold). A question without answers is right if the answer is empty. A program that failed did not abstain: it counts 0.
Both are the best over the acceptable answers, mean over questions.

ROUGE says how many words, neighbours or ordered words the answer shares with the gold. It is blind to meaning: a
negation or a wrong digit changes one word of many.

Rajpurkar et al., EMNLP 2016; Rajpurkar, Jia and Liang, ACL 2018. https://rajpurkar.github.io/SQuAD-explorer/
Lewis et al., MLQA, ACL 2020. Lin, ROUGE: a package for automatic evaluation of summaries, ACL 2004 workshop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from goldassay.fields import read
from goldassay.measure import Review
from goldassay.measures.answering.matching import KINDS, PARTS, Answering, Batch, agreement, overlap
from goldassay.measures.answering.mistakes import wrong_answer
from goldassay.measures.answering.records import answers, question, references
from goldassay.tally import Mean
from goldassay.text import normal
from goldassay.text.words import TOKENIZERS

SQUAD = "Rajpurkar et al., EMNLP 2016; Rajpurkar, Jia and Liang, ACL 2018"
WIDER = "scripts of other languages without spaces by goldassay"
NORMALISATIONS: dict[str, tuple[str, str, Callable[[str], str] | None]] = {
    "squad": ("SQuAD (ASCII)", SQUAD, normal.squad),
    "unicode": ("NFKC, casefold, Unicode punctuation", f"after {SQUAD}, widened to Unicode by goldassay", None),
    "mlqa": ("MLQA", f"Lewis et al., ACL 2020 (MLQA); {WIDER}", None),
    "triviaqa": (
        "TriviaQA (punctuation is a space)",
        "Joshi et al., ACL 2017 (evaluation script)",
        normal.triviaqa,
    ),
    "nq_open": (
        "NFD, SQuAD (ASCII)",
        "Min et al., NeurIPS 2020 (EfficientQA's evaluation script)",
        normal.nq_open,
    ),
    "written": (
        "as written, without white space at its ends",
        "Petroni et al., NAACL 2021 (KILT's accuracy)",
        str.strip,
    ),
}
"""What is done to each text, whose rules they are, and the function of those that have no further parameter."""
EMPTY = {
    "skip": "left out beside others",
    "equal": "kept, an empty answer equals them",
    "overlap": "kept, F1 0",
    "wrong": "kept, F1 0, a blank answer wrong",
}


@dataclass(frozen=True)
class ExactMatch(Answering[Mean]):
    """The share of questions whose answer equals an acceptable one after normalisation.

    ``normalisation``: ``squad`` (ASCII); ``triviaqa`` and ``nq_open`` as in their evaluation scripts; ``written``, as
    it stands; ``unicode``, for any script, where ``articles`` are the words that do not count; ``mlqa``, MLQA's rules
    for a ``language`` (a code of two letters), whose articles differ or whose characters are words. ``language="gold"``
    reads each question's own ``language``; without one, the script of the question and its answers tells it where it
    does not separate words, and it is ``en`` elsewhere.

    ``empty``: what gold answers without a word count. ``skip``: nothing beside others (SQuAD 2.0). ``equal``: an empty
    answer is right, and its F1 is 1 (MuSiQue). ``overlap``: it is right, and its F1 is 0, for no word is shared
    (TriviaQA). ``wrong``: as ``overlap``, but an answer without any character is wrong (KILT). With all but ``skip`` an
    answer that is ``None`` counts 0.

    >>> ExactMatch()({"answers": ["Rijksmuseum"]}, {"answer": "the Rijksmuseum."}).tally.value
    1.0
    >>> ExactMatch("unicode")({"answers": ["«Эрмитаж»"]}, {"answer": "эрмитаж"}).tally.value
    1.0
    >>> ExactMatch("mlqa", language="de")({"answers": ["Rijksmuseum"]}, {"answer": "das Rijksmuseum"}).tally.value
    1.0
    """

    zero = Mean()
    pred_fields = ("answer",)
    choices = {"normalisation": tuple(NORMALISATIONS), "empty": tuple(EMPTY)}
    base: ClassVar[str] = "exact_match"
    column: ClassVar[int] = 0
    formula = "1 where the normalised answer equals a normalised acceptable answer; mean over questions"

    normalisation: str = "squad"
    articles: tuple[str, ...] = normal.ARTICLES
    language: str = "gold"
    empty: str = "skip"

    @property
    def key(self) -> str:
        """``exact_match``, ``unicode_exact_match``, ``triviaqa_f1`` and so on."""
        return self.base if self.normalisation == "squad" else f"{self.normalisation}_{self.base}"

    @property
    def gold_fields(self) -> tuple[str, ...]:  # type: ignore[override]
        """MLQA's rules look at the language."""
        return ("answers", "language") if self.normalisation == "mlqa" else ("answers",)

    @property
    def in_key(self) -> tuple[str, ...]:  # type: ignore[override]
        """The parameters of the other normalisations say nothing."""
        own = {"unicode": "articles", "mlqa": "language"}.get(self.normalisation)
        return tuple(name for name in ("normalisation", "articles", "language", "empty") if name != own)

    @property
    def fixed(self) -> Mapping[str, str]:  # type: ignore[override]
        """The rules, and what an empty answer counts."""
        empty = {"empty golds": EMPTY[self.empty], "unanswerable": "empty is right", "failed": "0"}
        return {"normalisation": NORMALISATIONS[self.normalisation][0], "golds": "best", **empty}

    @property
    def source(self) -> str:  # type: ignore[override]
        """Whose rules they are."""
        return NORMALISATIONS[self.normalisation][1]

    def tallies(self, batch: Batch) -> Mean:
        """The agreement of each answer with the nearest acceptable one."""
        if (self.normalisation, self.empty) == ("squad", "skip"):
            values = batch.squad[self.column]
        else:
            lost = batch.failed if self.empty == "skip" else batch.absent
            pairs = enumerate(zip(batch.gold, batch.answers, batch.golds, strict=True))
            values = np.array([0.0 if lost[i] else self._agreement(*pair) for i, pair in pairs], np.float64)
        return Mean(values, np.ones(len(values)))

    def _agreement(self, gold: object, text: str, golds: tuple[str, ...]) -> float:
        language = language_of(gold) if self.language == "gold" else self.language.lower()[:2]
        mlqa = partial(normal.mlqa, language=language)
        wide = mlqa if self.normalisation == "mlqa" else partial(normal.unicode, articles=self.articles)
        normalised = NORMALISATIONS[self.normalisation][2] or wide
        mine, theirs = normalised(text), [normalised(expected) for expected in golds]
        if self.empty == "skip" or not golds:
            return agreement(mine, theirs)[self.column]
        if self.empty == "wrong" and not text.strip():
            return 0.0
        if self.column == 0:
            return float(mine in theirs)
        return max(overlap(mine, expected) for expected in theirs) if mine or self.empty == "equal" else 0.0

    def review(self, gold: object, pred: object, batch: Batch) -> Review:
        """What was expected, if the agreement is not whole."""
        if self.tallies(batch).total[0] < 1:  # type: ignore[index]
            return wrong_answer(gold, pred)
        return (), (f"the answer “{batch.answers[0]}”" if batch.golds[0] else "no answer where there is none",)


@dataclass(frozen=True)
class F1(ExactMatch):
    """The F1 of words with the nearest acceptable answer, after normalisation (see `ExactMatch`).

    MLQA's rules take each character of Chinese, Japanese or Thai for a word.

    >>> F1()({"answers": ["in 1800"]}, {"answer": "1800"}).tally.value      # P 1, R 1/2
    0.6666666666666666
    >>> F1("mlqa", language="zh")({"answers": ["阿姆斯特丹"]}, {"answer": "在阿姆斯特丹"}).tally.value      # P 5/6, R 1
    0.9090909090909091
    """

    base = "f1"
    column = 1
    formula = "2PR/(P+R) over the multiset of normalised words, best acceptable answer; mean over questions"


def language_of(gold: object) -> str:
    """The language of a question, as two letters."""
    code = str(read(gold, "language", None) or "").lower()[:2]
    return code or normal.joined(" ".join([question(gold), *answers(gold)])) or "en"


@dataclass(frozen=True)
class ROUGE(Answering[Mean]):
    """ROUGE-1, 2, L or Lsum: precision (``p``), recall (``r``) or F1 (``f``), best over the answers and the reference.

    An unanswerable question is left out: it has no words to share. The part is that of the reference with the highest
    F1, as in rouge-score's ``score_multi``. ``tokenizer="rouge-score"`` knows ASCII letters only, so an answer in
    another script scores 0 against itself; such texts need ``unicode``.

    >>> ROUGE("1")({"answers": ["opened in 1800"]}, {"answer": "1800"}).tally.value     # P 1/1, R 1/3
    0.5
    >>> ROUGE("2", part="r").key, ROUGE("L", stem=True).conventions.partition(", golds")[0]
    ('rouge2_r', 'rougeL[kind=L, part=f, stem=True, tokenizer=rouge-score')
    """

    zero = Mean()
    gold_fields = ("answers", "reference")
    pred_fields = ("answer",)
    choices = {"kind": KINDS, "part": PARTS, "tokenizer": TOKENIZERS}
    fixed = {"golds": "best by F1", "unanswerable": "skip", "failed": "0"}
    formula = (
        "P = common/predicted, R = common/gold, F1 = 2PR/(P+R), common = shared n-grams (1, 2) or the longest common "
        "subsequence (L; by line: Lsum); mean over answerable questions"
    )
    source = "Lin, ACL 2004 workshop; rouge-score 0.1.2"

    kind: str = "L"
    part: str = "f"
    stem: bool = False
    tokenizer: str = "rouge-score"

    @property
    def attains_one(self) -> bool:  # type: ignore[override]
        """Not ROUGE-2: an answer of one word has no neighbours, and 0 even against itself."""
        return self.kind != "2"

    @property
    def key(self) -> str:
        """``rouge1``, ``rougeL``; ``rouge2_r`` for another part than F1."""
        return f"rouge{self.kind}{'' if self.part == 'f' else f'_{self.part}'}"

    def tallies(self, batch: Batch) -> Mean:
        """The part of each best reference's score."""
        rows = batch.rouge(self.kind, self.stem, self.tokenizer)
        return batch.best(rows[:, PARTS.index(self.part)], by=rows[:, 2])

    def review(self, gold: object, pred: object, batch: Batch) -> Review:
        """What was expected, if the words are not all shared."""
        if not references(gold) or self.tallies(batch).total[0] == 1:  # type: ignore[index]
            return (), ()
        return wrong_answer(gold, pred)
