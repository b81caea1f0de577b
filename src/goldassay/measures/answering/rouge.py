"""ROUGE as a measure: how many words, neighbours or ordered words the answer shares with the gold.

It is blind to meaning: a negation or a wrong digit changes one word of many (see `goldassay.proof.mutation`).

Lin, ROUGE: a package for automatic evaluation of summaries, ACL 2004 workshop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from goldassay.exceptions import GoldassayError
from goldassay.measure import Assessment, Measure, failed
from goldassay.measures.answering.records import all_texts, answer, answers, references, wrong
from goldassay.measures.answering.rouge_batch import KINDS, rouge_batch
from goldassay.tally import Mean
from goldassay.text.words import TOKENIZERS

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
class ROUGE(Measure[Mean]):
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

    def assess(self, gold: Any, pred: Any) -> Assessment[Mean]:
        """The part of the best reference's score."""
        several, found = references(gold), answer(pred, gold)
        if not several:
            return Assessment(Mean())
        scores = rouge(found, several, self.kind, stem=self.stem, tokenizer=self.tokenizer)
        value = 0.0 if failed(pred) else scores[PARTS.index(self.part)]
        errors = wrong(gold, pred, answers(gold), found) if value < 1 else ()
        return Assessment(Mean.of(value), errors)
