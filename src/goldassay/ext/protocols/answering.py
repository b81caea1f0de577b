"""Official protocols of question answering, and the measures that they need besides exact match and F1.

HotpotQA and MuSiQue compare ``supporting_facts`` of both sides, as sets. DocVQA has the measure `ANLS`. DROP and Quoref
take an answer of several spans (a list of texts), on both sides: the spans are aligned one to one, and numbers must be
equal. KILT looks for the sets of documents that gold names in ``provenance`` (else its ``documents``) among the
``results``. An answer that is ``None`` did not come: it counts 0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, product
from typing import ClassVar

import numpy as np
import scipy

from goldassay._support.exceptions import DataError
from goldassay.core.fields import identity
from goldassay.core.measure import Batches, Conventions, Measure, gold_field, pred_field
from goldassay.core.tally import Mean, divide, harmonic
from goldassay.measures.answering.abstention import Gated
from goldassay.measures.answering.grounding import result_ids
from goldassay.measures.answering.matching import AnswerMeasure
from goldassay.measures.answering.measures import ANLS, F1, ExactMatch
from goldassay.measures.answering.records import AnswerPair, extra
from goldassay.measures.answering.scorecard import means_by_kind, official_scorecard
from goldassay.measures.protocols import Protocol
from goldassay.results.result import Facets, Result
from goldassay.text.normal import squad

FACT_RATES = ("precision", "recall", "exact", "f1")
NOTHING = (0.0, 0.0, 0.0)
Spans = str | Sequence[str]
"""An answer of one span or of several."""


def _facts(pair: AnswerPair) -> Sequence[float]:
    """Precision, recall and equality of supporting facts, as sets."""
    predicted = pair.evidence("supporting_facts")
    if predicted is None:
        return NOTHING
    fact_lists = (gold_field(pair.gold, "supporting_facts"), predicted)
    try:
        gold, pred = [{tuple(fact) if isinstance(fact, list) else fact for fact in facts} for facts in fact_lists]
    except TypeError:
        message = "supporting facts are a list of names or numbers, or of lists of these"
        raise DataError(message, field="supporting_facts", record=identity(pair.gold, 0)) from None
    hits = len(gold & pred)
    return divide(hits, len(pred)), divide(hits, len(gold)), float(gold == pred)


def _answer(pair: AnswerPair) -> Sequence[float]:
    """The same of the words of the answer by HotpotQA's rules, against the nearest gold answer."""
    if pair.failed or pred_field(pair.pred, "answer") in (None, []):
        return NOTHING
    answer = squad(pair.answer)
    words = answer.split()
    undivided = {"yes", "no", "noanswer"}  # share words with nothing else
    best = NOTHING
    for reference in map(squad, pair.answers):
        expected = reference.split()
        common = (Counter(words) & Counter(expected)).total()
        if answer == reference or not {answer, reference} & undivided:
            rates = (divide(common, len(words)), divide(common, len(expected)), float(answer == reference))
            best = max(best, rates, key=lambda rates: (harmonic(*rates[:2]), rates[2]))
    return best


@dataclass(frozen=True)
class SupportingFacts(AnswerMeasure[Mean]):
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
    choices = {"rate": FACT_RATES, "of": ("facts", "answer", "joint"), "empty": ("0", "1")}
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
        rates: list[float] = np.prod([rates_of(pair) for rates_of in parts], axis=0).tolist()
        return Mean.of([*rates, harmonic(*rates[:2])][FACT_RATES.index(self.rate)])


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
    span_lists = [[answer] if isinstance(answer, str) else answer for answer in (predicted, gold)]
    spans, expected = [[_words(span) for span in side] for side in span_lists]

    def overlap(pred: set[str], gold: set[str]) -> float:
        numbers = {*filter(_is_number, gold)}
        if numbers and not numbers & pred:
            return 0.0
        hits = len(gold & pred)
        return float(harmonic(divide(hits, len(pred), 1.0), divide(hits, len(gold), 1.0)))

    scores = np.array([[overlap({*words}, {*reference}) for words in spans] for reference in expected], float)
    rows, columns = scipy.optimize.linear_sum_assignment(-scores)
    best = np.zeros(max(scores.shape))
    best[rows] = scores[rows, columns]
    exact = {*map(tuple, spans)} == {*map(tuple, expected)} and len(spans) == len(expected)
    return float(exact), float(np.round(best.mean(), 2))


@dataclass(frozen=True)
class Drop(AnswerMeasure[Mean]):
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
    """The type of the gold answer that DROP's script takes: the last one that is the best so far in both rates.

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
        if spans[0].strip():
            best = np.maximum(best, rates)
            chosen = kind if (rates == best).all() else chosen
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


def _recall(sets: Sequence[set[str]], ids: Sequence[str]) -> float:
    # The documents of a set fill one place of the ranking together: that of the last of them so far.
    distinct = [set(gold) for index, gold in enumerate(sets) if gold not in sets[:index]]
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
    return places[:5].count("whole") / (len(distinct) or 1)


@dataclass(frozen=True)
class Kilt(AnswerMeasure[Mean]):
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
    sentences, expected = [
        [" ".join(line.split()).split(" ") for line in text.strip().split(".") if line] for text in (predicted, gold)
    ]
    if not sentences or not expected:
        return 0.0
    shared: set[str] = set()
    for words, other in product(sentences, expected):
        # the longest common subsequence, by dynamic programming: row[j] is that of the words so far and j others
        row: list[tuple[str, ...]] = [()] * (len(other) + 1)
        for word in words:
            before = row
            row = [()]
            for j, rival in enumerate(other):
                row.append((*before[j], word) if word == rival else max(before[j + 1], row[j], key=len))
        shared.update(row[-1])
    precision = len(shared) / len({*chain(*sentences)})
    recall = len(shared) / len({*chain(*expected)})
    return 2 * precision * recall / (precision + recall + 1e-8)


@dataclass(frozen=True)
class Conditional(Gated):
    """The value of another measure of answering, or 0 unless more than the answer is right.

    ``on="provenance"``: KILT's R-precision is 1. ``on="answerable"``: of all versions of a question (MuSiQue) the
    program says which are answerable; ``answerable`` is a list on both sides.

    Formula: the measure's own where the condition holds, else 0
    Source: Petroni et al., NAACL 2021 (KILT); Trivedi et al., TACL 2022 (MuSiQue)

    >>> gold = {"answers": ["1800"], "documents": ["a", "b"]}
    >>> em = Conditional(ExactMatch())
    >>> [em(gold, {"answer": "1800", "results": ids}).tally.value for ids in (["a", "c"], ["b", "a"])]
    [0.0, 1.0]
    """

    choices = {"on": ("provenance", "answerable")}
    fixed: ClassVar[Conventions] = {"elsewhere": "0"}

    on: str = "provenance"

    @property
    def key(self) -> str:
        """``exact_match_on_provenance`` and so on."""
        return f"{self.inner.key}_on_{self.on}"

    def holds(self, pair: AnswerPair) -> bool | None:
        """Whether more than the answer is right; None without gold."""
        if self.on == "provenance":
            documents = _documents(pair)
            return None if documents is None else _r_precision(*documents) == 1
        expected = extra(pair.gold, "answerable")
        return extra(pair.pred, "answerable") == expected if expected and not all(expected) else None


def _of_questions(name: str, values: Mapping[str, Measure], facets: Facets = {}) -> Protocol:
    """A protocol whose files are laid out as the format of the same name."""
    scorecard = partial(official_scorecard, name, values, facets=facets)
    return Protocol(name, ("answering",), scorecard, format=name, reads_records=True)


def _by_answer_type(card: Result) -> Mapping[str, object] | None:
    shared = card.batches or Batches((), ())
    return means_by_kind(card, list(map(answer_type, map(AnswerPair, shared.gold, shared.pred))))


MEASURES: tuple[Measure, ...] = (
    Drop("exact"),
    Drop(),
    Kilt(),
    Kilt("recall@5"),
    Kilt("rouge_l"),
    *(SupportingFacts(rate, of) for rate, of in (("f1", "facts"), ("exact", "facts"), ("f1", "answer"))),
    SupportingFacts("f1", "joint"),
    Conditional(ExactMatch()),
    Conditional(F1(), "answerable"),
)
_DROP = {"em": Drop("exact"), "f1": Drop()}
_KILT: dict[str, Measure] = {
    "accuracy": ExactMatch("stripped"),
    "em": ExactMatch(empty="wrong"),
    "f1": F1(empty="wrong"),
    "rougel": Kilt("rouge_l"),
}
# The values of each protocol under the names of its evaluation script.
HOTPOTQA = _of_questions(
    "hotpotqa",
    {
        f"{part}{name}": SupportingFacts(rate, of)
        for of, part in (("answer", ""), ("facts", "sp_"), ("joint", "joint_"))
        for name, rate in {"em": "exact", "f1": "f1", "prec": "precision", "recall": "recall"}.items()
    },
)
MUSIQUE = _of_questions(
    "musique",
    {
        "answer_em": ExactMatch(empty="equal"),
        "answer_f1": F1(empty="equal"),
        "support_f1": SupportingFacts(empty="1"),
        "group_answer_sufficiency_f1": Conditional(F1(empty="equal"), "answerable"),
        "group_support_sufficiency_f1": Conditional(SupportingFacts(empty="1"), "answerable"),
    },
)
TRIVIAQA = _of_questions(
    "triviaqa",
    {"exact_match": ExactMatch("triviaqa", empty="overlap"), "f1": F1("triviaqa", empty="overlap")},
)
NQ_OPEN = _of_questions(
    "nq_open",
    dict.fromkeys(("exact_match", "accuracy"), ExactMatch("nq_open", empty="overlap")),
)
DROP = _of_questions("drop", _DROP, {"answer_type": _by_answer_type})
QUOREF = _of_questions("quoref", _DROP)
DOCVQA = _of_questions("docvqa", {"anls": ANLS()})
KILT = _of_questions(
    "kilt",
    {
        **_KILT,
        "Rprec": Kilt(),
        "recall@5": Kilt("recall@5"),
        **{f"KILT-{name}": Conditional(measure) for name, measure in _KILT.items()},
    },
)
