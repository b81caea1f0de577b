"""Official protocols of question answering, and the measures that they need beside exact match and F1.

`PROTOCOLS` names the values of each as its evaluation script does. HotpotQA and MuSiQue compare ``supporting_facts`` of
both sides, as sets. DROP and Quoref take an answer of several spans (a list of texts), on both sides: the spans are
aligned one to one, and numbers must be equal. KILT looks for the sets of documents that gold names in ``provenance``
(else its ``documents``) among the ``results``. An answer that is ``None`` did not come: it counts 0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy

from goldassay.fields import read
from goldassay.measure import Measure, failed, gold_field, parse, pred_field, stored
from goldassay.measures.answering.matching import AnsweringMean
from goldassay.measures.answering.measures import F1, ExactMatch
from goldassay.measures.answering.records import answer, answers, extra
from goldassay.tally import Mean, divide
from goldassay.text.normal import squad

Rates = tuple[float, float, float]  # precision, recall, exact
RATES = ("precision", "recall", "exact", "f1")
NOTHING = (0.0, 0.0, 0.0)
WHOLE = {"yes", "no", "noanswer"}  # share words with nothing else


def _f1(precision: float, recall: float) -> float:
    return float(divide(2 * precision * recall, precision + recall))


def _facts(gold: object, pred: object) -> Rates:
    """Supporting facts as sets."""
    theirs = None if failed(pred) else pred_field(pred, "supporting_facts", None)
    if theirs is None:
        return NOTHING
    sides = gold_field(gold, "supporting_facts"), theirs
    left, right = ({tuple(fact) if isinstance(fact, list) else fact for fact in side} for side in sides)
    hits = len(left & right)
    return divide(hits, len(right)), divide(hits, len(left)), float(left == right)


def _answer(gold: object, pred: object) -> Rates:
    """The words of the answer by HotpotQA's rules, beside the nearest gold answer."""
    if failed(pred) or pred_field(pred, "answer") in (None, []):
        return NOTHING
    mine, best = squad(answer(pred, gold)), NOTHING
    for reference in map(squad, answers(gold)):
        words, others = mine.split(), reference.split()
        common = (Counter(words) & Counter(others)).total()
        if mine == reference or not {mine, reference} & WHOLE:
            rates = divide(common, len(words)), divide(common, len(others)), float(mine == reference)
            best = max(best, rates, key=lambda rates: (_f1(*rates[:2]), rates[2]))
    return best


@dataclass(frozen=True)
class SupportingFacts(AnsweringMean):
    """HotpotQA: supporting facts as sets (``facts``), the words of the ``answer``, or the product of both (``joint``).

    A question whose gold has no field ``supporting_facts`` is left out.

    >>> gold = {"answers": ["in Delft"], "supporting_facts": [["Vermeer", 0], ["Delft", 1]]}
    >>> pred = {"answer": "Delft", "supporting_facts": [["Vermeer", 0]]}
    >>> [round(SupportingFacts(of=part)(gold, pred).tally.value, 4) for part in ("facts", "answer", "joint")]
    [0.6667, 0.6667, 0.4]
    """

    name = "{of}_{rate}"
    gold_fields = ("answers", "supporting_facts")
    pred_fields = ("answer", "supporting_facts")
    attains_one = False  # F1 of no facts is 0, also where there are none
    choices = {"rate": RATES, "of": ("facts", "answer", "joint")}
    fixed = {
        "facts": "sets",
        "normalisation": "SQuAD (ASCII)",
        "yes, no, noanswer": "whole",
        "failed": "0",
    }
    formula = "P, R of sets of facts or words; joint: P = P_answer P_facts, R = R_answer R_facts; mean over questions"
    source = "Yang et al., EMNLP 2018 (evaluation script v1)"

    rate: str = "f1"
    of: str = "facts"

    def tally(self, gold: object, pred: object) -> Mean:
        """The rate of one question."""
        if self.of != "answer" and gold_field(gold, "supporting_facts", None) is None:
            return Mean()
        parts = {"facts": (_facts,), "answer": (_answer,), "joint": (_facts, _answer)}[self.of]
        rates: Any = np.prod([part(gold, pred) for part in parts], axis=0).tolist()
        return Mean.of([*rates, _f1(*rates[:2])][RATES.index(self.rate)])


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _bag(span: str) -> tuple[str, frozenset[str]]:
    """A span by DROP's rules: its text, and its words as a set; numbers keep their sign and point."""
    words = []
    for word in map(str.lower, re.split(r" |-", span)):
        bare = word if _is_number(word) else re.sub(r"[!-/:-@\[-`{-~]", "", word)
        words.append(squad(bare) if not _is_number(bare) else str(float(bare)))
    text = " ".join(filter(None, words))
    return text, frozenset(text.split())


def drop(predicted: Any, gold: Any) -> tuple[float, float]:
    """DROP's exact match and F1 of two answers, each a text or a list of texts.

    >>> drop(["the Rijksmuseum", "Kunsthal"], ["Kunsthal", "Rijksmuseum"]), drop("4 yards", "5 yards")
    ((1.0, 1.0), (0.0, 0.0))
    """
    mine, theirs = (
        [_bag(str(span)) for span in (side if isinstance(side, (list, tuple)) else [side])]
        for side in (predicted, gold)
    )
    texts = [{text for text, _ in side} for side in (mine, theirs)]
    scores = np.array([[_overlap(p, g) for _, p in mine] for _, g in theirs], float)
    rows, columns = scipy.optimize.linear_sum_assignment(-scores)
    best = np.zeros(max(scores.shape))
    best[rows] = scores[rows, columns]
    return float(texts[0] == texts[1] and len(mine) == len(theirs)), float(np.round(best.mean(), 2))


def _overlap(pred: frozenset[str], gold: frozenset[str]) -> float:
    numbers = {word for word in gold if _is_number(word)}
    if numbers and not numbers & pred:
        return 0.0
    hits = len(gold & pred)
    return _f1(hits / len(pred) if pred else 1.0, hits / len(gold) if gold else 1.0)


@dataclass(frozen=True)
class Drop(AnsweringMean):
    """DROP's and Quoref's exact match (``exact``) or F1 of answers that may have several spans, best gold answer.

    >>> Drop()({"answers": [["red", "blue"], ["red"]]}, {"answer": ["red"]}).tally.value
    1.0
    """

    name = "drop_{rate}"
    gold_fields = ("answers",)
    pred_fields = ("answer",)
    choices = {"rate": ("exact", "f1")}
    fixed = {
        "spans": "aligned",
        "numbers": "equal",
        "rounding": "2 places",
        "unanswerable": "skip",
        "failed": "0",
    }
    formula = "mean F1 of aligned spans over the longer side; best gold answer; mean over questions"
    source = "Dua et al., NAACL 2019; Dasigi et al., EMNLP 2019 (evaluation scripts)"

    rate: str = "f1"

    def tally(self, gold: object, pred: object) -> Mean:
        """The rate of one question; gold whose first span is empty does not count."""
        mine, golds = None if failed(pred) else pred_field(pred, "answer"), gold_field(gold, "answers")
        spans = [[each] if isinstance(each, str) else each for each in golds]
        rates = [drop(mine, each) for each in spans if mine is not None and each and each[0].strip()]
        column = self.choices["rate"].index(self.rate)
        return Mean.of(max((rate[column] for rate in rates), default=0.0)) if golds else Mean()


def _documents(gold: object, pred: object) -> tuple[list[set[str]], list[str]] | None:
    """The sets of documents that gold accepts, and the distinct results in their order; None without gold."""
    sets, documents = extra(gold, "provenance"), gold_field(gold, "documents", None)
    if sets is None and documents is None:
        return None
    results = () if failed(pred) else pred_field(pred, "results", None) or ()
    ids = [result if isinstance(result, str) else str(read(result, "doc_id", "")) for result in results]
    return [{*map(str, each)} for each in ([documents] if sets is None else sets)], list(dict.fromkeys(ids))


def _r_precision(sets: Sequence[set[str]], ids: Sequence[str]) -> float:
    return max((len(each & {*ids[: len(each)]}) / (len(each) or 1) for each in sets), default=0.0)


def _recall(sets: Sequence[set[str]], ids: Sequence[str], k: int = 5) -> float:
    # The documents of a set fill one place of the ranking together, where the last of them so far stands.
    distinct = [set(each) for place, each in enumerate(sets) if each not in sets[:place]]
    places: list[int | str] = []
    for document in ids:
        holders = [number for number, each in enumerate(distinct) if document in each]
        for number in holders:
            if number in places:
                places.remove(number)
            distinct[number].discard(document)
            places.append(number if distinct[number] else "whole")
        if not holders:
            places.append("other")
    return places[:k].count("whole") / (len(distinct) or 1)


@dataclass(frozen=True)
class Kilt(AnsweringMean):
    """KILT: R-precision of the best set of gold documents in the results, ``recall@5`` of all sets, or ``rouge_l``.

    A set is recalled if its last document stands among the first 5 places; the documents of a set fill one place.
    ROUGE-L is that of the package rouge (1.0), as in the evaluation script. A question without gold is left out.

    >>> gold = {"answers": ["1800"], "provenance": [["a", "b"], ["d"]]}
    >>> pred = {"answer": "1800", "results": ["a", "c", "b"]}
    >>> [Kilt(of)(gold, pred).tally.value for of in ("r_precision", "recall@5")]      # 1 of {a, b}; {a, b} of 2 sets
    [0.5, 0.5]
    """

    name = "kilt_{of}"
    gold_fields = ("answers", "documents")
    pred_fields = ("answer", "results")
    attains_one = False
    choices = {"of": ("r_precision", "recall@5", "rouge_l")}
    fixed = {"documents": "sets", "failed": "0"}
    formula = "documents of a gold set among the first R results / R, best set; whole sets at 5 / sets; mean"
    source = "Petroni et al., NAACL 2021 (KILT)"

    of: str = "r_precision"

    def tally(self, gold: object, pred: object) -> Mean:
        """The value of one question."""
        if self.of == "rouge_l":
            mine, golds = "" if failed(pred) else answer(pred, gold), answers(gold)
            return Mean.of(max((rouge_l(mine, one) for one in golds if one.strip()), default=0.0)) if golds else Mean()
        documents = _documents(gold, pred)
        if documents is None:
            return Mean()
        return Mean.of((_r_precision if self.of == "r_precision" else _recall)(*documents))


def rouge_l(predicted: str, gold: str) -> float:
    """ROUGE-L as the package rouge (1.0) computes it: over distinct words, as they are written.

    Sentences end at full stops. The union of the words of a longest common subsequence of each sentence with each
    of the other text is what both share; of several longest ones the prediction's last words are dropped first.

    >>> round(rouge_l("the cat sat. it slept", "the cat slept"), 4)      # shared: the, cat, slept; P 3/5, R 3/3
    0.75
    """
    mine, theirs = (
        [" ".join(part.split()).split(" ") for part in text.strip().split(".") if part] for text in (predicted, gold)
    )
    if not mine or not theirs:
        return 0.0
    shared = {word for other in theirs for words in mine for word in _common_words(words, other)}
    precision, recall = (len(shared) / len({word for words in side for word in words}) for side in (mine, theirs))
    return 2 * precision * recall / (precision + recall + 1e-8)


def _common_words(words: Sequence[str], other: Sequence[str]) -> set[str]:
    """The words of one longest common subsequence: the table of lengths, walked back from its end."""
    lengths = np.zeros((len(words) + 1, len(other) + 1), int)
    for i, j in product(range(len(words)), range(len(other))):
        same = words[i] == other[j]
        lengths[i + 1, j + 1] = lengths[i, j] + 1 if same else max(lengths[i, j + 1], lengths[i + 1, j])
    common, i, j = set(), len(words), len(other)
    while i and j:
        if words[i - 1] == other[j - 1]:
            i, j = i - 1, j - 1
            common.add(words[i])
        elif lengths[i, j - 1] > lengths[i - 1, j]:
            j -= 1
        else:
            i -= 1
    return common


def _provenance(gold: object, pred: object) -> bool | None:
    documents = _documents(gold, pred)
    return None if documents is None else _r_precision(*documents) == 1


def _answerable(gold: object, pred: object) -> bool | None:
    expected = extra(gold, "answerable")
    return extra(pred, "answerable") == expected if expected and not all(expected) else None


CONDITIONS = {"provenance": _provenance, "answerable": _answerable}


@dataclass(frozen=True)
class Conditional(AnsweringMean):
    """The value of another measure of answering, or 0 unless more than the answer is right.

    ``on="provenance"``: KILT's R-precision is 1. ``on="answerable"``: of all versions of a question (MuSiQue) the
    program says which are answerable; ``answerable`` is a list on both sides.

    >>> gold = {"answers": ["1800"], "documents": ["a", "b"]}
    >>> em = Conditional(ExactMatch())
    >>> [em(gold, {"answer": "1800", "results": ids}).tally.value for ids in (["a", "c"], ["b", "a"])]
    [0.0, 1.0]
    """

    shares = ("measure", "on")
    choices = {"on": tuple(CONDITIONS)}
    fixed = {"elsewhere": "0"}

    measure: Any
    on: str = "provenance"

    def __post_init__(self) -> None:
        super().__post_init__()
        inner = self.measure if isinstance(self.measure, Measure) else parse(self.measure)
        object.__setattr__(self, "measure", stored(inner))
        object.__setattr__(self, "inner", inner)
        fields = ("documents", "results") if self.on == "provenance" else ("answerable", "answerable")
        object.__setattr__(self, "gold_fields", (*inner.gold_fields, fields[0]))
        object.__setattr__(self, "pred_fields", (*inner.pred_fields, fields[1]))
        for name in ("attains_one", "formula", "source"):
            object.__setattr__(self, name, getattr(inner, name))

    @property
    def key(self) -> str:
        """``exact_match_on_provenance`` and so on."""
        return f"{self.inner.key}_on_{self.on}"  # type: ignore[attr-defined]

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Any:
        """What the measure counts in, and where the condition holds."""
        holds = [CONDITIONS[self.on](*pair) for pair in zip(gold, pred, strict=True)]
        return self.inner.batch(gold, pred), holds  # type: ignore[attr-defined]

    def tallies(self, batch: Any) -> Mean:
        """The value of each question."""
        tally, holds = self.inner.tallies(batch[0]), batch[1]  # type: ignore[attr-defined]
        counted = np.array([each is not None for each in holds], float)
        return Mean(tally.total * np.array([each is True for each in holds], float), tally.weight * counted)


def _hotpotqa() -> dict[str, Measure[Any]]:
    names = {"exact": "em", "f1": "f1", "precision": "prec", "recall": "recall"}
    parts = {"answer": "", "facts": "sp_", "joint": "joint_"}
    return {f"{before}{names[rate]}": SupportingFacts(rate, of) for of, before in parts.items() for rate in names}


def _kilt() -> dict[str, Measure[Any]]:
    exact, f1 = ExactMatch(empty="wrong"), F1(empty="wrong")
    answer = {"accuracy": ExactMatch("written"), "em": exact, "f1": f1, "rougel": Kilt("rouge_l")}
    more = {f"KILT-{name}": Conditional(measure) for name, measure in answer.items()}
    return {**answer, "Rprec": Kilt(), "recall@5": Kilt("recall@5"), **more}


DROP: dict[str, Measure[Any]] = {"em": Drop("exact"), "f1": Drop()}
PROTOCOLS: dict[str, dict[str, Measure[Any]]] = {
    "hotpotqa": _hotpotqa(),
    "musique": {
        **{"answer_em": ExactMatch(empty="equal"), "answer_f1": F1(empty="equal"), "support_f1": SupportingFacts()},
        "group_answer_sufficiency_f1": Conditional(F1(empty="equal"), "answerable"),
        "group_support_sufficiency_f1": Conditional(SupportingFacts(), "answerable"),
    },
    "triviaqa": {name: kind("triviaqa", empty="overlap") for name, kind in (("exact_match", ExactMatch), ("f1", F1))},
    "nq_open": dict.fromkeys(("exact_match", "accuracy"), ExactMatch("nq_open", empty="overlap")),
    "drop": DROP,
    "quoref": DROP,
    "kilt": _kilt(),
}
"""The values of each protocol under the names of its evaluation script; those without evidence are left out."""
