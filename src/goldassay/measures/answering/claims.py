"""Claims and what supports them: eleven rates from four tables of verdicts, none of which is ever dropped.

An answer has C claims, the gold answer G, and there are k passages. Each verdict says whether a text entails a claim:
``answer_by_gold`` (C), ``gold_by_answer`` (G), ``answer_by_context`` (C × k), ``gold_by_context`` (G × k). A verdict is
``True``, ``False``, or ``None`` if it did not come back. With unknown verdicts a claim's standing may be unknown too; a
rate then counts what is certain, and ``most`` is what it would be if every unknown verdict went its way: the truth lies
between.

The tables come with a prediction (`from_prediction`), written by people or by a judge of an earlier run, or a judge
makes them (`judge_claims`). Without verdicts there is no evidence, and the rate does not apply. Since a judge answers
each question once, several rates together cost no more than the largest. Where gold is needed, an unanswerable question
is left out; where contexts are, a prediction without them. An answer of fewer than four words is read together with its
question. Hallucination, self-knowledge and noise sensitivity are better when lower: for reading, not for optimizing.

Ru et al., RAGChecker: a fine-grained framework for diagnosing retrieval-augmented generation, NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import Assessment, Error, failed
from goldassay.measures.answering.records import (
    answer_or_nothing,
    answers,
    contexts,
    extra,
    number,
    question,
    reference,
    unanswerable,
)
from goldassay.measures.judged import AnyJudge, JudgedMean, JudgedMeasure, Verdict, unknown
from goldassay.statistics.evidence import Floats
from goldassay.tally import divide

Entailed = bool | None
TABLES = BY_GOLD, BY_ANSWER, BY_CONTEXT, IN_CONTEXT = (
    "answer_by_gold",
    "gold_by_answer",
    "answer_by_context",
    "gold_by_context",
)
LABELS: dict[str | None, Entailed] = {
    "supported": True,
    "contradicted": False,
    "not_stated": False,
}  # a judge's; any other is unknown
SHORT = 4  # an answer of fewer words means something only together with its question


class BoundedShare(NamedTuple):
    """A value between what is certain and the ``most`` that it could be."""

    value: float
    most: float


# Verdicts are numbers in Kleene's three-valued logic: true 1, unknown ½, false 0; "and" is the minimum, "or" the
# maximum, "not" 1 − x. What is certainly true is 1, and what may be true is above 0.
TRUTH = {True: 1.0, None: 0.5, False: 0.0}
NONE = BoundedShare(0.0, 0.0)


def _any(truths: Floats, axis: int) -> Floats:
    largest: Floats = truths.max(axis, initial=0.0)
    return largest


def _share(truths: Floats) -> BoundedShare | None:
    return BoundedShare(float((truths == 1).mean()), float((truths > 0).mean())) if len(truths) else None


def _f1(correct: Floats, recalled: Floats) -> BoundedShare | None:
    """0 if one side alone has claims, since what says nothing misses all."""
    precision, recall = _share(correct), _share(recalled)
    if precision is None or recall is None:
        return NONE if precision or recall else None
    return BoundedShare(*(divide(2 * p * r, p + r) for p, r in zip(precision, recall, strict=True)))


def _utilization(recalled: Floats, useful: Floats) -> BoundedShare | None:
    """Of the gold claims that a passage has, the share that the answer has too."""
    retrieved = _any(useful, 1)
    both, lost = np.minimum(retrieved, recalled), np.minimum(retrieved, 1 - recalled)
    most, certain = int((both > 0).sum()), int((lost == 1).sum())
    value = divide(int((both == 1).sum()), int((retrieved > 0).sum()))
    return BoundedShare(value, divide(most, most + certain)) if len(retrieved) else None


def _noise(relevant: bool, correct: Floats, used: Floats, useful: Floats) -> BoundedShare | None:
    """The share of wrong claims that come from a relevant passage, or from irrelevant ones alone."""
    if not len(used) or not len(useful):
        return None
    holds_gold = _any(useful, 0)
    by_relevant = _any(np.minimum(used, holds_gold), 1)
    by_other = np.minimum(_any(np.minimum(used, 1 - holds_gold), 1), 1 - by_relevant)
    return _share(np.minimum(by_relevant if relevant else by_other, 1 - correct))


class Rate(NamedTuple):
    """A rate of claims: the tables it needs, the share, and its formula."""

    tables: tuple[str, ...]
    share: Callable[..., BoundedShare | None]
    formula: str
    shown: bool = False  # whether the claims that its table does not support are errors
    lower_is_better: bool = False


NOISE = "claims that gold does not support and a (ir)relevant passage does / claims of the answer"
RATES = {
    "claim_precision": Rate((BY_GOLD,), _share, "claims of the answer that gold supports / claims of the answer", True),
    "claim_recall": Rate((BY_ANSWER,), _share, "claims of gold that the answer supports / claims of gold", True),
    "claim_f1": Rate((BY_GOLD, BY_ANSWER), _f1, "2PR/(P+R) of claim precision and claim recall, mean over answers"),
    "retrieved_claim_recall": Rate(
        (IN_CONTEXT,),
        lambda useful: _share(_any(useful, 1)),
        "claims of gold that a retrieved passage supports / claims of gold",
        shown=True,
    ),
    "context_precision": Rate(
        (IN_CONTEXT,),
        lambda useful: _share(_any(useful, 0)) or (NONE if len(useful) else None),
        "retrieved passages that support a claim of gold / retrieved passages",
    ),
    "context_utilization": Rate(
        (BY_ANSWER, IN_CONTEXT), _utilization, "claims of gold retrieved and answered / claims of gold retrieved"
    ),
    "faithfulness": Rate(
        (BY_CONTEXT,),
        lambda used: _share(_any(used, 1)),
        "claims of the answer that a retrieved passage supports / claims of the answer",
        shown=True,
    ),
    "hallucination": Rate(
        (BY_GOLD, BY_CONTEXT),
        lambda correct, used: _share(np.minimum(1 - _any(used, 1), 1 - correct)),
        "claims of the answer that neither a passage nor gold supports / claims of the answer",
        lower_is_better=True,
    ),
    "self_knowledge": Rate(
        (BY_GOLD, BY_CONTEXT),
        lambda correct, used: _share(np.minimum(1 - _any(used, 1), correct)),
        "claims of the answer that gold supports and no passage does / claims of the answer",
        lower_is_better=True,
    ),
    "noise_sensitivity_in_relevant": Rate(
        (BY_GOLD, BY_CONTEXT, IN_CONTEXT), partial(_noise, True), NOISE, lower_is_better=True
    ),
    "noise_sensitivity_in_irrelevant": Rate(
        (BY_GOLD, BY_CONTEXT, IN_CONTEXT), partial(_noise, False), NOISE, lower_is_better=True
    ),
}

# For each table: the kind of error of a claim that it does not support, who makes the claim, and what is wrong with it.
AGAINST = {
    BY_GOLD: ("incorrect", "The answer", "which the gold answer does not say"),
    BY_ANSWER: ("missed", "The gold answer", "which the answer leaves out"),
    BY_CONTEXT: ("unsupported", "The answer", "which no retrieved passage supports"),
    IN_CONTEXT: ("not_retrieved", "The gold answer", "which no retrieved passage holds"),
}


@dataclass(frozen=True)
class Support:
    """The verdicts of one answer. The rates that need a table that is not there are absent, too.

    ``tables`` has by name a row for each claim and a column for each text; ``claims`` the texts of the claims of the
    ``answer`` and of ``gold``, if they are known; ``quotes`` by table what contradicts each claim.

    >>> support = Support.of({"answer_by_gold": [True, False], "answer_by_context": [[True], [None]]})
    >>> support.values["claim_precision"], support.values["faithfulness"], support.unknown()
    (BoundedShare(value=0.5, most=0.5), BoundedShare(value=0.5, most=1.0), 1)
    """

    tables: Mapping[str, tuple[tuple[Entailed, ...], ...]]
    claims: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    quotes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, record: Mapping[str, Any], name: object = None, claims: Mapping[str, Sequence[Any]] = {}) -> Support:
        """From a record (of this name) with some of the four tables.

        >>> Support.of({"answer_by_gold": [True, False, None]}).tables
        {'answer_by_gold': ((True,), (False,), (None,))}
        """
        tables: dict[str, tuple[tuple[Entailed, ...], ...]] = {}
        for table in TABLES:
            rows = record.get(table)
            if rows is not None and table.endswith("context"):
                tables[table] = tuple(verdicts(rows[at], name, f"{table}[{at}]") for at in range(len(rows)))
            elif rows is not None:
                tables[table] = tuple((verdict,) for verdict in verdicts(rows, name, table))
        sizes = [{len(tables[each]) for each in sides if each in tables} for sides in (TABLES[::2], TABLES[1::2])]
        widths = {len(row) for each in (BY_CONTEXT, IN_CONTEXT) for row in tables.get(each, ())}
        if any(len(each) > 1 for each in (*sizes, widths)):
            raise DataError("its tables of verdicts disagree on how many claims or passages there are", record=name)
        return cls(tables, claims)

    def unknown(self, tables: Sequence[str] = TABLES) -> int:
        """How many verdicts of some tables did not come back."""
        return sum(row.count(None) for name in tables for row in self.tables.get(name, ()))

    def share(self, rate: str) -> BoundedShare | None:
        """One of the `RATES`; ``None`` if a table is missing, or there are no claims to share."""
        arrays = []
        for name in RATES[rate].tables:
            if name not in self.tables:
                return None
            rows = self.tables[name]
            truths = np.array([[TRUTH[verdict] for verdict in row] for row in rows], float)
            truths = truths.reshape(len(rows), len(rows[0]) if rows else 0)
            arrays.append(truths if name.endswith("context") else _any(truths, 1))
        return RATES[rate].share(*arrays)

    @property
    def values(self) -> dict[str, BoundedShare]:
        """All rates that the tables give."""
        return {name: share for name in RATES if (share := self.share(name)) is not None}

    def errors(self, table: str) -> tuple[Error, ...]:
        """The claims that a table does not support, with the quote that contradicts them if there is one."""
        side = table.partition("_")[0]
        claims, quotes = self.claims.get(side, ()), self.quotes.get(table, ())
        where = "retrieved_contexts" if table == IN_CONTEXT else "answer"
        kind, who, wrong = AGAINST[table]
        errors = []
        for place, row in enumerate(self.tables[table]):
            text = claims[place] if place < len(claims) and claims[place] else f"claim {place + 1}"
            text = text if isinstance(text, str) else " ".join(map(str, text))
            if True in row:
                continue
            if None in row:
                errors.append(unknown(f"Whether “{text}” is supported", where))
                continue
            quote = f" It says otherwise: “{quotes[place]}”." if quotes and quotes[place] else ""
            message = f"{who} says “{text}”, {wrong}.{quote}"
            sides = (text, "") if side == "gold" else ("", text)
            errors.append(Error(kind, message, *sides, field=where))
        return tuple(errors)


def verdicts(values: Any, record: object, field: str) -> tuple[Entailed, ...]:
    """A list of verdicts: ``True``, ``False``, or ``None`` for one that did not come back."""
    if not isinstance(values, (list, tuple)) or not all(value in (True, False, None) for value in values):
        raise DataError(
            f"expected a list of verdicts (true, false or null), found {values!r}", record=record, field=field
        )
    return tuple(values)


def from_prediction(pred: object) -> Support | None:
    """The verdicts that come with a prediction, in ``support``; ``None`` if none do.

    >>> support = from_prediction({"support": {"answer_by_gold": [True, None]}, "answer_claims": ["a", "b"]})
    >>> support.errors("answer_by_gold")[0].kind
    'unknown'
    """
    tables = extra(pred, "support")
    if tables is None:
        return None
    name = read(pred, "id", None)
    if not isinstance(tables, Mapping):
        raise DataError(f"expected tables of verdicts, found {tables!r}", record=name, field="support")
    return Support.of(tables, name, {side: extra(pred, f"{side}_claims") or () for side in ("answer", "gold")})


def judge_claims(
    judge: AnyJudge, answer: str, gold: str, contexts: Sequence[str], tables: Sequence[str] = TABLES
) -> Support:
    """The verdicts that a judge gives, for the tables asked for.

    If the claims of a text did not come back, it has one claim of unknown standing.

    Args:
        judge: splits texts into claims and says what supports them.
        answer: the program's answer.
        gold: the gold answer.
        contexts: the retrieved passages.
        tables: which of `TABLES` to make.
    """
    claims: dict[str, Sequence[str | None]] = {}
    for side, text in (("answer", answer), ("gold", gold)):
        if any(name.startswith(side) for name in tables):
            listed = judge.claims(text)
            claims[side] = [None] if listed is None else listed
    against = {BY_GOLD: [gold], BY_ANSWER: [answer], BY_CONTEXT: contexts, IN_CONTEXT: contexts}
    support, quotes = {}, {}
    for name in tables:
        rows = [
            [
                Verdict(None) if claim is None else judge.verdict("support", text=text, claim=claim)
                for text in against[name]
            ]
            for claim in claims[name.partition("_")[0]]
        ]
        support[name] = tuple(tuple(LABELS.get(each.label) for each in row) for row in rows)
        quotes[name] = [next((each.quote for each in row if each.label == "contradicted"), "") for row in rows]
    return Support(support, claims, quotes)


@dataclass(frozen=True)
class ClaimRate(JudgedMeasure):
    """A rate of claims, one of `RATES`; its mean over answers. Without a judge the verdicts come with the prediction.

    They stand in a field ``support`` (or ``meta.support``) with the four tables. An unknown verdict stays in the
    denominator and is not counted as true; `JudgedMean.highest` says what the value could be. The claims that
    precision, recall, faithfulness and retrieved recall count against are their errors.

    >>> ClaimRate("faithfulness")({}, {"support": {"answer_by_context": [[False, True], [False, None]]}}).tally
    JudgedMean(total=0.5, weight=1.0, most=1.0, unknown=1.0)
    >>> from goldassay.measures.judged import Verdict
    >>> class Literal:
    ...     name = "literal"
    ...     def claims(self, text):
    ...         return text.split("; ")
    ...     def verdict(self, question, text, claim):
    ...         return Verdict("supported" if claim in text else "not_stated")
    >>> pred = {"answer": "opened in 1885; is red", "retrieved_contexts": ["It opened in 1885."]}
    >>> assessment = ClaimRate("faithfulness", Literal())({}, pred)
    >>> assessment.tally.value, assessment.errors[0].message
    (0.5, 'The answer says “is red”, which no retrieved passage supports.')
    """

    name = "{rate}"
    task = "answering"
    gold_fields = ("reference", "answers", "question")
    pred_fields = ("support", "answer", "retrieved_contexts")
    source = "Ru et al., RAGChecker, NeurIPS 2024"
    optional = True
    in_key = ("rate",)
    choices = {"rate": tuple(RATES)}

    rate: str = "faithfulness"
    judge: Any = None

    @property
    def fixed(self) -> Mapping[str, str]:  # type: ignore[override]
        """Where noise comes from, the average, and what an unknown verdict counts."""
        passages = self.rate.partition("_in_")[2]
        noise = {"passages": passages} if passages else {}
        return {**noise, "average": "answers", "no claims": "left out", **self.of_failed, **JudgedMeasure.fixed}

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The definition of the rate."""
        return RATES[self.rate].formula

    @property
    def lower_is_better(self) -> bool:  # type: ignore[override]
        """Whether the rate is of something wrong."""
        return RATES[self.rate].lower_is_better

    def judged(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The rate of one answer, and the claims that count against it."""
        rate = RATES[self.rate]
        support = self._judge(gold, pred) if self.judge is not None else None if failed(pred) else from_prediction(pred)
        share = support.share(self.rate) if support else None
        if support is None or share is None:
            return Assessment(JudgedMean())
        tally = JudgedMean(share.value, 1.0, share.most, float(support.unknown(rate.tables)))
        return Assessment(tally, support.errors(rate.tables[0]) if rate.shown else ())

    def _judge(self, gold: object, pred: object) -> Support | None:
        tables = RATES[self.rate].tables
        texts = None if failed(pred) else contexts(pred)
        short = read(gold, "answers", None) is not None and answers(gold)
        expected = reference(gold) or (short[0] if short else "")
        needs_gold, needs_texts = (any(side in table for table in tables) for side in ("gold", "context"))
        if (needs_gold and (unanswerable(gold) or not expected)) or (needs_texts and texts is None):
            return None
        mine, theirs = (_with_question(gold, text) for text in (answer_or_nothing(pred, gold), expected))
        return judge_claims(self.bound, mine, theirs, texts or (), tables)


def _with_question(gold: object, text: str) -> str:
    """An answer as a text that means something by itself: a short one after its question."""
    asked = question(gold)
    return f"{asked} {text}" if asked and text and len(text.split()) < SHORT else text


RELEVANCE = {"full": 1.0, "partial": 0.5, "none": 0.0, "evasion": 0.0}
HOW = {"partial": "answers in part only", "none": "does not answer", "evasion": "evades"}


@dataclass(frozen=True)
class Relevance(JudgedMeasure):
    """Does the answer answer the question: in full (1), in part (0.5), not at all or by an evasion (0)?

    A cosine to the question is no relevance, since an echo of the question wins it. So there is no value without a
    judge, or a judge's number in the prediction's ``relevance`` (or ``meta.relevance``), from 0 to 1. An empty answer
    evades. A judge is not asked about a question that gold calls unanswerable: to say nothing is right there.

    >>> Relevance()({}, {"answer": "In 1800.", "relevance": 0.75}).tally.value
    0.75
    """

    task = "answering"
    name = "relevance"
    gold_fields = ("question",)
    pred_fields = ("answer", "relevance")
    formula = "mean over answers of full 1, partial 0.5, none 0, evasion 0"
    source = "goldassay"
    optional = True

    judge: Any = None

    @property
    def fixed(self) -> Mapping[str, str]:  # type: ignore[override]
        """What each level counts."""
        levels = "full=1, partial=0.5, none=0, evasion=0"
        return {"levels": levels, "average": "answers", **self.of_failed, **JudgedMeasure.fixed}

    def judged(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """How well one answer answers, with the judge's reason if it is not in full."""
        asked, text, how, why = question(gold), answer_or_nothing(pred, gold), "does not answer", ""
        if self.judge is None:
            raw = None if failed(pred) else extra(pred, "relevance")
            value = number(pred, "relevance", raw, "a judge's number from 0 to 1", 1.0)
        elif not asked or unanswerable(gold):
            value = None
        else:
            said = self.bound.verdict("relevance", question=asked, answer=text)
            if said.label is None:
                return Assessment(JudgedMean.of(None), (unknown("Whether the answer answers the question"),))
            value, how = RELEVANCE[said.label], HOW.get(said.label, "")
            why = f" The judge: {said.reason}" if said.reason else ""
        if value is None:
            return Assessment(JudgedMean())
        wrong = value < (0.5 if self.judge is None else 1)
        message = f"The answer {how} {f'“{asked}”' if asked else 'the question'}.{why}"
        return Assessment(
            JudgedMean.of(value), (Error("irrelevant", message, pred=text, field="answer"),) if wrong else ()
        )
