"""Official protocols of question answering, and the measures that they need beside exact match and F1.

`PROTOCOLS` names the values of each as its evaluation script does. HotpotQA and MuSiQue compare ``supporting_facts`` of
both sides, as sets. DROP and Quoref take an answer of several spans (a list of texts), on both sides: the spans are
aligned one to one, and numbers must be equal. KILT looks for the sets of documents that gold names in ``provenance``
(else its ``documents``) among the ``results``. An answer that is ``None`` did not come: it counts 0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, ClassVar

import numpy as np
import scipy

from goldassay.measure import NO_PREDICTION, Conventions, Measure, failed, gold_field, parse, pred_field, stored
from goldassay.measures.answering.abstention import BestThreshold
from goldassay.measures.answering.grounding import result_ids
from goldassay.measures.answering.matching import AnswerBatch, Answering
from goldassay.measures.answering.measures import F1, ExactMatch
from goldassay.measures.answering.records import AnswerPair, extra
from goldassay.tally import Mean, divide, harmonic
from goldassay.text.normal import squad

RATES = ("precision", "recall", "exact", "f1")
NOTHING = (0.0, 0.0, 0.0)
WHOLE = {"yes", "no", "noanswer"}  # share words with nothing else
Spans = str | Sequence[str]
"""An answer of one span or of several."""


def _facts(pair: AnswerPair) -> Sequence[float]:
    """Precision, recall and equality of supporting facts, as sets."""
    predicted = pair.evidence("supporting_facts")
    if predicted is None:
        return NOTHING
    gold = _fact_set(gold_field(pair.gold, "supporting_facts"))
    pred = _fact_set(predicted)
    hits = len(gold & pred)
    return divide(hits, len(pred)), divide(hits, len(gold)), float(gold == pred)


def _fact_set(facts: Iterable[str | Sequence[str | int]]) -> set[Hashable]:
    return {tuple(fact) if isinstance(fact, list) else fact for fact in facts}


def _answer(pair: AnswerPair) -> Sequence[float]:
    """The same of the words of the answer by HotpotQA's rules, beside the nearest gold answer."""
    if pair.failed or pred_field(pair.pred, "answer") in (None, []):
        return NOTHING
    answer = squad(pair.answer)
    words = answer.split()
    best = NOTHING
    for reference in map(squad, pair.answers):
        expected = reference.split()
        common = (Counter(words) & Counter(expected)).total()
        if answer == reference or not {answer, reference} & WHOLE:
            rates = (divide(common, len(words)), divide(common, len(expected)), float(answer == reference))
            best = max(best, rates, key=lambda rates: (harmonic(*rates[:2]), rates[2]))
    return best


@dataclass(frozen=True)
class SupportingFacts(Answering[Mean]):
    """HotpotQA: supporting facts as sets (``facts``), the words of the ``answer``, or the product of both (``joint``).

    A question whose gold has no field ``supporting_facts`` is left out. F1 of no facts on either side is 0 in HotpotQA;
    with ``empty="1"`` (MuSiQue) it is 1, as are precision and recall.

    Formula: P, R of sets of facts or words; joint: P = P_answer P_facts, R = R_answer R_facts; mean over questions
    Source: Yang et al., EMNLP 2018 (evaluation script v1)

    >>> gold = {"answers": ["in Delft"], "supporting_facts": [["Vermeer", 0], ["Delft", 1]]}
    >>> pred = {"answer": "Delft", "supporting_facts": [["Vermeer", 0]]}
    >>> [round(SupportingFacts(of=part)(gold, pred).tally.value, 4) for part in ("facts", "answer", "joint")]
    [0.6667, 0.6667, 0.4]
    """

    name = "{of}_{rate}"
    attains_one: ClassVar[bool] = False  # F1 of no facts is 0, also where there are none
    choices = {"rate": RATES, "of": ("facts", "answer", "joint"), "empty": ("0", "1")}
    fixed: ClassVar[Conventions] = {
        "facts": "sets",
        "normalisation": "SQuAD (ASCII)",
        "yes, no, noanswer": "whole",
        "failed": "0",
    }

    rate: str = "f1"
    of: str = "facts"
    empty: str = "0"

    def tally(self, pair: AnswerPair) -> Mean:
        """The rate of one question."""
        facts = gold_field(pair.gold, "supporting_facts", None)
        if self.of != "answer" and facts is None:
            return Mean()
        if self.of == "facts" and self.empty == "1" and facts == [] == pair.evidence("supporting_facts"):
            return Mean.of(1.0)
        parts = {"facts": (_facts,), "answer": (_answer,), "joint": (_facts, _answer)}[self.of]
        rates: list[float] = np.prod([part(pair) for part in parts], axis=0).tolist()
        return Mean.of([*rates, harmonic(*rates[:2])][RATES.index(self.rate)])


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _words(span: str) -> list[str]:
    """The words of a span by DROP's rules; numbers keep their sign and point."""
    words = []
    for word in re.split(r" |-", str(span).lower()):
        bare = word if _is_number(word) else re.sub(r"[!-/:-@\[-`{-~]", "", word)
        words += [str(float(bare))] if _is_number(bare) else squad(bare).split()
    return words


def drop(predicted: Spans, gold: Spans) -> tuple[float, float]:
    """DROP's exact match and F1 of two answers, each a text or a list of texts.

    >>> drop(["the Rijksmuseum", "Kunsthal"], ["Kunsthal", "Rijksmuseum"]), drop("4 yards", "5 yards")
    ((1.0, 1.0), (0.0, 0.0))
    """
    spans = _spans(predicted)
    expected = _spans(gold)
    scores = np.array([[_overlap({*words}, {*others}) for words in spans] for others in expected], float)
    rows, columns = scipy.optimize.linear_sum_assignment(-scores)
    best = np.zeros(max(scores.shape))
    best[rows] = scores[rows, columns]
    exact = {*map(tuple, spans)} == {*map(tuple, expected)} and len(spans) == len(expected)
    return float(exact), float(np.round(best.mean(), 2))


def _spans(answer: Spans) -> list[list[str]]:
    """The words of each span of an answer."""
    return [_words(span) for span in ([answer] if isinstance(answer, str) else answer)]


def _overlap(pred: set[str], gold: set[str]) -> float:
    numbers = {*filter(_is_number, gold)}
    hits = len(gold & pred)
    if numbers and not numbers & pred:
        return 0.0
    return float(harmonic(divide(hits, len(pred), 1.0), divide(hits, len(gold), 1.0)))


@dataclass(frozen=True)
class Drop(Answering[Mean]):
    """DROP's and Quoref's exact match (``exact``) or F1 of answers that may have several spans, best gold answer.

    Formula: mean F1 of aligned spans over the longer side; best gold answer; mean over questions
    Source: Dua et al., NAACL 2019; Dasigi et al., EMNLP 2019 (evaluation scripts)

    >>> Drop()({"answers": [["red", "blue"], ["red"]]}, {"answer": ["red"]}).tally.value
    1.0
    """

    name = "drop_{rate}"
    choices = {"rate": ("exact", "f1")}
    fixed: ClassVar[Conventions] = {
        "spans": "aligned",
        "numbers": "equal",
        "rounding": "2 places",
        "unanswerable": "skip",
        "failed": "0",
    }

    rate: str = "f1"

    def tally(self, pair: AnswerPair) -> Mean:
        """The rate of one question; gold whose first span is empty does not count."""
        answer = None if pair.failed else pred_field(pair.pred, "answer")
        golds = gold_field(pair.gold, "answers")
        spans = [[gold] if isinstance(gold, str) else gold for gold in golds]
        rates = [drop(answer, gold) for gold in spans if answer is not None and gold and gold[0].strip()]
        column = self.choices["rate"].index(self.rate)
        return Mean.of(max((rate[column] for rate in rates), default=0.0)) if golds else Mean()


def answer_type(pair: AnswerPair) -> str | None:
    """The type of the gold answer that DROP's script takes: the last one that is the best so far in one of the rates.

    Of a question without a prediction it is that of its first gold answer.

    >>> gold = {"answers": [["4"], ["four", "five"]], "meta": {"answer_types": ["number", "spans"]}}
    >>> answer_type(AnswerPair(gold, {"answer": ["five", "four"]})), answer_type(AnswerPair(gold, None))
    ('spans', 'number')
    """
    types = extra(pair.gold, "answer_types") or []
    answer = None if pair.failed else pred_field(pair.pred, "answer")
    if answer is None:
        return types[0] if types else None
    best = np.zeros(2)
    chosen = None
    for spans, kind in zip(gold_field(pair.gold, "answers"), types, strict=False):
        rates = np.array(drop(answer, spans))
        if spans[0].strip() and (rates >= best).any():
            chosen = kind
        if spans[0].strip():
            best = np.maximum(best, rates)
    return chosen


def _documents(pair: AnswerPair) -> tuple[list[set[str]], list[str]] | None:
    """The sets of documents that gold accepts, and the distinct results in their order; None without gold."""
    sets = extra(pair.gold, "provenance")
    documents = gold_field(pair.gold, "documents", None)
    if sets is None and documents is None:
        return None
    accepted = [{*map(str, ids)} for ids in ([documents] if sets is None else sets)]  # a page without an id is ""
    return accepted, [*dict.fromkeys(result_ids(pair.evidence("results") or ()))]


def _r_precision(sets: Sequence[set[str]], ids: Sequence[str]) -> float:
    named = [gold - {""} for gold in sets]
    return max((len(gold & {*ids[: len(gold)]}) / (len(gold) or 1) for gold in named), default=0.0)


def _recall(sets: Sequence[set[str]], ids: Sequence[str], k: int = 5) -> float:
    # The documents of a set fill one place of the ranking together: that of the last of them so far.
    distinct = [set(gold) for place, gold in enumerate(sets) if gold not in sets[:place]]
    places: list[int | str] = []
    for document in ids:
        holders = [number for number, gold in enumerate(distinct) if document in gold]
        for number in holders:
            if number in places:
                places.remove(number)
            distinct[number].discard(document)
            places.append(number if distinct[number] else "whole")
        if not holders:
            places.append("other")
    return places[:k].count("whole") / (len(distinct) or 1)


@dataclass(frozen=True)
class Kilt(Answering[Mean]):
    """KILT: R-precision of the best set of gold documents in the results, ``recall@5`` of all sets, or ``rouge_l``.

    A set is recalled if its last document is among the first 5 places; the documents of a set fill one place.
    A gold document without an id is never recalled. ROUGE-L is that of the package rouge (1.0), as in the evaluation
    script. A question without gold is left out.

    Formula: documents of a gold set among the first R results / R, best set; whole sets at 5 / sets; mean
    Source: Petroni et al., NAACL 2021 (KILT)

    >>> gold = {"answers": ["1800"], "provenance": [["a", "b"], ["d"]]}
    >>> pred = {"answer": "1800", "results": ["a", "c", "b"]}
    >>> [Kilt(of)(gold, pred).tally.value for of in ("r_precision", "recall@5")]      # 1 of {a, b}; {a, b} of 2 sets
    [0.5, 0.5]
    """

    name = "kilt_{of}"
    attains_one: ClassVar[bool] = False
    choices = {"of": ("r_precision", "recall@5", "rouge_l")}

    of: str = "r_precision"

    @property
    def fixed(self) -> Conventions:
        """How documents or texts are compared."""
        compared = {"rouge": "package rouge 1.0"} if self.of == "rouge_l" else {"documents": "sets, by wikipedia_id"}
        return {**compared, "failed": "0"}

    def tally(self, pair: AnswerPair) -> Mean:
        """The value of one question."""
        if self.of == "rouge_l":
            answer = pair.answer
            values = [rouge_l(answer, text) for text in pair.answers if text.strip()]
            return Mean.of(max(values, default=0.0)) if pair.answers else Mean()
        documents = _documents(pair)
        value = _r_precision if self.of == "r_precision" else _recall
        return Mean() if documents is None else Mean.of(value(*documents))


def rouge_l(predicted: str, gold: str) -> float:
    """ROUGE-L as the package rouge (1.0) computes it: over distinct words, as they are written.

    Sentences end at full stops. The union of the words of a longest common subsequence of each sentence with each
    of the other text is what both share; of several longest ones the prediction's last words are dropped first.

    >>> round(rouge_l("the cat sat. it slept", "the cat slept"), 4)      # shared: the, cat, slept; P 3/5, R 3/3
    0.75
    """
    sentences = _sentences(predicted)
    expected = _sentences(gold)
    if not sentences or not expected:
        return 0.0
    shared = {word for other in expected for words in sentences for word in _common_words(words, other)}
    precision = len(shared) / len({*chain(*sentences)})
    recall = len(shared) / len({*chain(*expected)})
    return 2 * precision * recall / (precision + recall + 1e-8)


def _sentences(text: str) -> list[list[str]]:
    """The words of each sentence."""
    return [" ".join(part.split()).split(" ") for part in text.strip().split(".") if part]


def _common_words(words: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """One longest common subsequence, by dynamic programming: ``row[j]`` is that of the words so far and j others."""
    row: list[tuple[str, ...]] = [()] * (len(other) + 1)
    for word in words:
        before: list[tuple[str, ...]] = row
        row = [()]
        for j, rival in enumerate(other):
            row.append((*before[j], word) if word == rival else max(before[j + 1], row[j], key=len))
    return row[-1]


def _holds(on: str, pair: AnswerPair) -> bool | None:
    """Whether more than the answer is right; None without gold."""
    if on == "provenance":
        documents = _documents(pair)
        return None if documents is None else _r_precision(*documents) == 1
    if on == "predicted":
        return None if failed(pair.pred) == NO_PREDICTION else True
    expected = extra(pair.gold, "answerable")
    return extra(pair.pred, "answerable") == expected if expected and not all(expected) else None


@dataclass(frozen=True)
class Conditional(Answering[Mean]):
    """The value of another measure of answering, or 0 unless more than the answer is right.

    ``on="provenance"``: KILT's R-precision is 1. ``on="answerable"``: of all versions of a question (MuSiQue) the
    program says which are answerable; ``answerable`` is a list on both sides. ``on="predicted"``: a question without a
    prediction is left out (SQuAD 2.0's script); one whose program failed is not.

    Formula: the measure's own where the condition holds, else 0
    Source: Petroni et al., NAACL 2021 (KILT); Trivedi et al., TACL 2022 (MuSiQue)

    >>> gold = {"answers": ["1800"], "documents": ["a", "b"]}
    >>> em = Conditional(ExactMatch())
    >>> [em(gold, {"answer": "1800", "results": ids}).tally.value for ids in (["a", "c"], ["b", "a"])]
    [0.0, 1.0]
    """

    choices = {"on": ("provenance", "answerable", "predicted")}

    measure: Any
    on: str = "provenance"

    def __post_init__(self) -> None:
        super().__post_init__()
        text = stored(self.measure) if isinstance(self.measure, Measure) else stored(parse(self.measure))
        object.__setattr__(self, "measure", text)

    @property
    def fixed(self) -> Conventions:
        """The value of a question where the condition does not hold."""
        return {"elsewhere": "left out" if self.on == "predicted" else "0"}

    @cached_property
    def inner(self) -> Measure:
        """The other measure."""
        return parse(self.measure)

    @property
    def attains_one(self) -> bool:
        """As the other measure."""
        return self.inner.attains_one

    @property
    def key(self) -> str:
        """``exact_match_on_provenance`` and so on."""
        return f"{self.inner.key}_on_{self.on}"

    def tallies(self, batch: AnswerBatch) -> Mean:
        """The value of each question."""
        tally = self.inner.tallies(batch)
        holds = [_holds(self.on, pair) for pair in batch]
        counted = np.array([condition is not None for condition in holds], float)
        right = np.array([condition is True for condition in holds], float)
        return Mean(tally.total * right, tally.weight * counted)


KILT: dict[str, Measure] = {
    "accuracy": ExactMatch("written"),
    "em": ExactMatch(empty="wrong"),
    "f1": F1(empty="wrong"),
    "rougel": Kilt("rouge_l"),
}
MUSIQUE_SUPPORT = SupportingFacts(empty="1")
DROP: dict[str, Measure] = {"em": Drop("exact"), "f1": Drop()}
PROTOCOLS: dict[str, dict[str, Measure]] = {
    "squad": {"exact_match": ExactMatch(empty="overlap"), "f1": F1(empty="overlap")},
    "squad2": {
        **{"exact": Conditional(ExactMatch(), "predicted"), "f1": Conditional(F1(), "predicted")},
        **{"best_exact": BestThreshold(), "best_f1": BestThreshold("f1")},
    },
    "hotpotqa": {
        f"{part}{name}": SupportingFacts(rate, of)
        for of, part in (("answer", ""), ("facts", "sp_"), ("joint", "joint_"))
        for name, rate in {"em": "exact", "f1": "f1", "prec": "precision", "recall": "recall"}.items()
    },
    "musique": {
        **{"answer_em": ExactMatch(empty="equal"), "answer_f1": F1(empty="equal"), "support_f1": MUSIQUE_SUPPORT},
        "group_answer_sufficiency_f1": Conditional(F1(empty="equal"), "answerable"),
        "group_support_sufficiency_f1": Conditional(MUSIQUE_SUPPORT, "answerable"),
    },
    "triviaqa": {name: kind("triviaqa", empty="overlap") for name, kind in (("exact_match", ExactMatch), ("f1", F1))},
    "nq_open": dict.fromkeys(("exact_match", "accuracy"), ExactMatch("nq_open", empty="overlap")),
    "drop": DROP,
    "quoref": DROP,
    "kilt": {
        **KILT,
        **{"Rprec": Kilt(), "recall@5": Kilt("recall@5")},
        **{f"KILT-{name}": Conditional(measure) for name, measure in KILT.items()},
    },
}
"""The values of each protocol under the names of its evaluation script; those without evidence are left out."""
