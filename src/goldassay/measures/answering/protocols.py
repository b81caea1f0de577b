"""Official protocols of question answering, and the measures that they need beside exact match and F1.

`PROTOCOLS` names the values of each as its evaluation script does. HotpotQA and MuSiQue compare ``supporting_facts`` of
both sides, as sets. DROP and Quoref take an answer of several spans (a list of texts), on both sides: the spans are
aligned one to one, and numbers must be equal. KILT asks whether the gold ``documents`` stand on top of the ``results``,
and counts an answer only then.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import linear_sum_assignment

from goldassay.fields import read
from goldassay.measure import Measure, failed, gold_field, pred_field
from goldassay.measures.answering.matching import Answering, Batch
from goldassay.measures.answering.measures import F1, WHOLE, ExactMatch
from goldassay.measures.answering.records import answer, answers
from goldassay.measures.answering.rouge import common_places
from goldassay.statistics.evidence import Floats
from goldassay.tally import Mean
from goldassay.text.normal import squad

Rates = tuple[float, float, float]  # precision, recall, exact
RATE = ("f1", "exact", "precision", "recall")


def _rate(rates: Rates, rate: str) -> float:
    precision, recall, exact = rates
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"f1": f1, "exact": exact, "precision": precision, "recall": recall}[rate]


def _facts(gold: object, pred: object) -> Rates:
    """Supporting facts as sets."""
    theirs = None if failed(pred) else pred_field(pred, "supporting_facts", None)
    sets = [gold_field(gold, "supporting_facts", None) or (), theirs or ()]
    left, right = ({tuple(fact) if isinstance(fact, list) else fact for fact in side} for side in sets)
    hits = len(left & right)
    return hits / len(right) if right else 0.0, hits / len(left) if left else 0.0, float(left == right)


def _answer(gold: object, pred: object) -> Rates:
    """The words of the answer by HotpotQA's rules, beside the nearest gold answer."""
    mine, best = "" if failed(pred) else squad(answer(pred, gold)), (0.0, 0.0, 0.0)
    for reference in map(squad, answers(gold)):
        words, others = mine.split(), reference.split()
        common = (Counter(words) & Counter(others)).total()
        if not failed(pred) and (mine == reference or (common and not {mine, reference} & {*WHOLE})):
            rates = (common / len(words), common / len(others)) if common else (0.0, 0.0)
            best = max(best, (*rates, float(mine == reference)), key=lambda rates: (_rate(rates, "f1"), rates[2]))
    return best


@dataclass(frozen=True)
class SupportingFacts(Answering[Mean]):
    """Supporting facts as sets (``facts``), or times the answer's own rates (``joint``, as HotpotQA).

    >>> gold = {"answers": ["in Delft"], "supporting_facts": [["Vermeer", 0], ["Delft", 1]]}
    >>> pred = {"answer": "Delft", "supporting_facts": [["Vermeer", 0]]}
    >>> SupportingFacts()(gold, pred).tally.value, SupportingFacts(of="joint")(gold, pred).tally.value
    (0.6666666666666666, 0.4)
    """

    zero = Mean()
    gold_fields = ("answers", "supporting_facts")
    pred_fields = ("answer", "supporting_facts")
    choices = {"rate": RATE, "of": ("facts", "joint")}
    fixed: ClassVar[Mapping[str, str]] = {"facts": "sets", "failed": "0"}
    formula = "P, R of sets of facts; joint: P = P_answer P_facts, R = R_answer R_facts; mean over questions"
    source = "Yang et al., EMNLP 2018 (evaluation script v1)"

    rate: str = "f1"
    of: str = "facts"

    @property
    def key(self) -> str:
        """``facts_f1``, ``joint_exact`` and so on."""
        return f"{self.of}_{self.rate}"

    def tally(self, gold: object, pred: object) -> Mean:
        """The rate of one question."""
        rates: Any = _facts(gold, pred)
        if self.of == "joint":
            rates = tuple(a * b for a, b in zip(rates, _answer(gold, pred), strict=True))
        return Mean.of(_rate(rates, self.rate))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _bag(span: str) -> tuple[str, frozenset[str]]:
    """A span by DROP's rules: its text, and its words as a set; numbers keep their sign and point."""
    words = [word if _is_number(word) else squad(word) for word in re.split(r" |-", span.lower())]
    text = " ".join(str(float(word)) if _is_number(word) else word for word in words if word)
    return text, frozenset(text.split())


def _spans(value: Any) -> list[tuple[str, frozenset[str]]]:
    return [_bag(str(span)) for span in (value if isinstance(value, (list, tuple)) else [value])]


def drop(predicted: Any, gold: Any) -> tuple[float, float]:
    """DROP's exact match and F1 of two answers, each a text or a list of texts.

    >>> drop(["the Rijksmuseum", "Kunsthal"], ["Kunsthal", "Rijksmuseum"]), drop("4 yards", "5 yards")
    ((1.0, 1.0), (0.0, 0.0))
    """
    mine, theirs = _spans(predicted), _spans(gold)
    texts = [{text for text, _ in side} for side in (mine, theirs)]
    scores = np.array([[_overlap(p, g) for _, p in mine] for _, g in theirs], float)
    rows, columns = linear_sum_assignment(-scores)
    f1 = float(scores[rows, columns].sum()) / max(scores.shape)
    return float(texts[0] == texts[1] and len(mine) == len(theirs)), round(f1, 2)


def _overlap(pred: frozenset[str], gold: frozenset[str]) -> float:
    numbers = {word for word in gold if _is_number(word)}
    if numbers and not numbers & pred:
        return 0.0
    hits = len(gold & pred)
    return _rate((hits / len(pred) if pred else 1.0, hits / len(gold) if gold else 1.0, 0.0), "f1")


@dataclass(frozen=True)
class Drop(Answering[Mean]):
    """DROP's and Quoref's exact match (``exact``) or F1 of answers that may have several spans, best gold answer.

    >>> Drop()({"answers": [["red", "blue"], ["red"]]}, {"answer": ["red"]}).tally.value
    1.0
    """

    zero = Mean()
    gold_fields = ("answers",)
    pred_fields = ("answer",)
    choices = {"rate": ("f1", "exact")}
    fixed: ClassVar[Mapping[str, str]] = {"spans": "aligned", "numbers": "equal", "rounding": "2 places", "failed": "0"}
    formula = "mean F1 of aligned spans over the longer side; best gold answer; mean over questions"
    source = "Dua et al., NAACL 2019; Dasigi et al., EMNLP 2019 (evaluation scripts)"

    rate: str = "f1"

    @property
    def key(self) -> str:
        """``drop_f1``, ``drop_exact``."""
        return f"drop_{self.rate}"

    def batch(self, gold: Sequence[object], pred: Sequence[object]) -> Any:
        """The pairs: an answer may be a list."""
        return list(zip(gold, pred, strict=True))

    def tallies(self, batch: Any) -> Mean:
        """The rate of each question."""
        column, values = ("exact", "f1").index(self.rate), []
        for gold, pred in batch:
            mine = None if failed(pred) else pred_field(pred, "answer")
            golds = [
                reference
                for reference in gold_field(gold, "answers")
                if reference and (reference if isinstance(reference, str) else reference[0]).strip()
            ]
            values.append(max((drop(mine, reference)[column] for reference in golds), default=0.0) if mine else 0.0)
        return Mean(np.array(values), np.ones(len(values)))


@dataclass(frozen=True)
class Kilt(Answering[Mean]):
    """KILT: R-precision of the gold ``documents`` in the ``results``, or an answer's value where R-precision is 1.

    ``rouge_l`` is that of the package rouge (1.0), as the evaluation script; without ``provenance`` an answer's value
    counts whatever the results are.

    >>> gold, pred = {"answers": ["1800"], "documents": ["a", "b"]}, {"answer": "1800", "results": ["a", "c"]}
    >>> Kilt()(gold, pred).tally.value, Kilt("exact")(gold, pred).tally.value
    (0.5, 0.0)
    """

    zero = Mean()
    gold_fields = ("answers", "documents")
    pred_fields = ("answer", "results")
    choices = {"of": ("r_precision", "exact", "f1", "rouge_l")}
    fixed: ClassVar[Mapping[str, str]] = {"documents": "one set", "failed": "0"}
    formula = (
        "gold documents among the first R results / R; of an answer: its value where that is 1; mean over questions"
    )
    source = "Petroni et al., NAACL 2021 (KILT)"

    of: str = "r_precision"
    provenance: bool = True

    @property
    def key(self) -> str:
        """``r_precision``, ``kilt_exact`` and so on; without provenance ``exact``."""
        return f"kilt_{self.of}" if self.provenance and self.of != "r_precision" else self.of

    def tallies(self, batch: Batch) -> Mean:
        """The value of each question."""
        values = np.array([_r_precision(*pair) for pair in zip(batch.gold, batch.pred, strict=True)])
        if self.of != "r_precision":
            allowed = (values == 1.0) | (not self.provenance)
            values = allowed * (_rouge_l(batch) if self.of == "rouge_l" else ANSWERS[self.of].tallies(batch).total)
        return Mean(values, np.ones(len(values)))


ANSWERS: dict[str, Measure[Any]] = {"exact": ExactMatch(), "f1": F1()}


def _rouge_l(batch: Batch) -> Floats:
    """The ROUGE-L of each answer beside its nearest gold answer; 0 if the program failed."""
    rows = zip(batch.answers, batch.failed, batch.golds, strict=True)
    return np.array(
        [
            0.0 if lost else max((rouge_l(mine, reference) for reference in golds if reference.strip()), default=0.0)
            for mine, lost, golds in rows
        ]
    )


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
    shared = {words[place] for other in theirs for words in mine for place in common_places(words, other)}
    precision, recall = (len(shared) / len({word for words in side for word in words}) for side in (mine, theirs))
    return 2 * precision * recall / (precision + recall + 1e-8)


def _r_precision(gold: object, pred: object) -> float:
    documents = set(gold_field(gold, "documents", None) or ())
    results = () if failed(pred) else pred_field(pred, "results", None) or ()
    ids = [result if isinstance(result, str) else str(read(result, "doc_id", "")) for result in results]
    return len(documents & set(ids[: len(documents)])) / len(documents) if documents else 0.0


PROTOCOLS: dict[str, dict[str, Measure[Any]]] = {
    "hotpotqa": {
        "em": ExactMatch("hotpotqa"),
        "f1": F1("hotpotqa"),
        **{f"sp_{name}": SupportingFacts(rate) for name, rate in (("em", "exact"), ("f1", "f1"))},
        **{f"joint_{name}": SupportingFacts(rate, "joint") for name, rate in (("em", "exact"), ("f1", "f1"))},
    },
    "musique": {"answer_em": ExactMatch(), "answer_f1": F1(), "support_f1": SupportingFacts()},
    "triviaqa": {"exact_match": ExactMatch("triviaqa"), "f1": F1("triviaqa")},
    "nq_open": {"exact_match": ExactMatch("nq_open")},
    "drop": {"em": Drop("exact"), "f1": Drop()},
    "quoref": {"em": Drop("exact"), "f1": Drop()},
    "kilt": {
        **{"em": ExactMatch(), "f1": F1(), "rougel": Kilt("rouge_l", provenance=False), "Rprec": Kilt()},
        **{"KILT-em": Kilt("exact"), "KILT-f1": Kilt("f1"), "KILT-rougel": Kilt("rouge_l")},
    },
}
"""The values of each protocol under the names of its evaluation script."""
