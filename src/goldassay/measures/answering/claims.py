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
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measure import Assessment, Error, failed
from goldassay.measures.answering.records import (
    answer_or_nothing,
    contexts,
    expected_text,
    extra,
    number,
    question,
    unanswerable,
)
from goldassay.measures.judged import AnyJudge, JudgedMean, JudgedMeasure, unknown
from goldassay.statistics.evidence import Floats

Entailed = bool | None
ENTAILED = ("entailment", "supported", "yes", "true")
NOT = ("neutral", "contradiction", "contradicted", "not_stated", "unsupported", "no", "false")
RAGCHECKER = {
    "answer2response": "answer_by_gold",
    "response2answer": "gold_by_answer",
    "retrieved2response": "answer_by_context",
    "retrieved2answer": "gold_by_context",
}
TABLES = BY_GOLD, BY_ANSWER, BY_CONTEXT, IN_CONTEXT = tuple(RAGCHECKER.values())
SHORT = 4  # an answer of fewer words means something only together with its question


class BoundedShare(NamedTuple):
    """A value between what is certain and the ``most`` it could be, over ``n`` claims or passages."""

    value: float
    most: float
    n: int


# Verdicts are numbers in Kleene's three-valued logic: true 1, unknown ½, false 0; "and" is the minimum, "or" the
# maximum, "not" 1 − x. What is certainly true is 1, and what may be true is above 0.
TRUTH = {True: 1.0, None: 0.5, False: 0.0}


def _truths(table: Sequence[Any]) -> Floats:
    if table and isinstance(table[0], tuple):
        return np.array([[TRUTH[verdict] for verdict in row] for row in table], float)
    return np.array([TRUTH[verdict] for verdict in table], float)


def _any(truths: Floats, axis: int) -> Floats:
    return truths.max(axis, initial=0.0) if truths.ndim == 2 else truths  # a table without rows


def _share(truths: Floats) -> BoundedShare | None:
    return BoundedShare(float((truths == 1).mean()), float((truths > 0).mean()), len(truths)) if len(truths) else None


def _f1(correct: Floats, recalled: Floats) -> BoundedShare | None:
    """0 if one side alone has claims, since what says nothing misses all."""
    precision, recall = _share(correct), _share(recalled)
    if precision is None or recall is None:
        return BoundedShare(0.0, 0.0, len(correct) + len(recalled)) if len(correct) + len(recalled) else None
    low, high = ((2 * p * r / (p + r) if p + r else 0.0) for p, r in zip(precision[:2], recall[:2], strict=True))
    return BoundedShare(low, high, precision.n + recall.n)


def _context_precision(useful: Floats) -> BoundedShare | None:
    return _share(_any(useful, 0)) or (BoundedShare(0.0, 0.0, 0) if len(useful) else None)


def _utilization(recalled: Floats, useful: Floats) -> BoundedShare | None:
    """Of the gold claims that a passage has, the share that the answer has too."""
    retrieved = _any(useful, 1)
    both, lost = np.minimum(retrieved, recalled), np.minimum(retrieved, 1 - recalled)
    most, certain, possible = int((both > 0).sum()), int((lost == 1).sum()), int((retrieved > 0).sum())
    if not possible:
        return BoundedShare(0.0, 0.0, 0) if len(retrieved) else None
    return BoundedShare(int((both == 1).sum()) / possible, most / (most + certain) if most + certain else 0.0, possible)


def _ungrounded(right: bool) -> Callable[[Floats, Floats], BoundedShare | None]:
    """The share of claims that no passage supports, and that gold does, or does not."""
    return lambda correct, used: _share(np.minimum(1 - _any(used, 1), correct if right else 1 - correct))


def _noise(relevant: bool) -> Callable[[Floats, Floats, Floats], BoundedShare | None]:
    """The share of wrong claims that come from a relevant passage, or from irrelevant ones alone."""

    def share(correct: Floats, used: Floats, useful: Floats) -> BoundedShare | None:
        if not len(used) or not len(useful):
            return None
        holds_gold = _any(useful, 0)
        by_relevant = _any(np.minimum(used, holds_gold), 1)
        by_other = np.minimum(_any(np.minimum(used, 1 - holds_gold), 1), 1 - by_relevant)
        return _share(np.minimum(by_relevant if relevant else by_other, 1 - correct))

    return share


class Rate(NamedTuple):
    """A rate of claims: RAGChecker's name for it, the tables it needs, the share, and its formula."""

    checker: str
    tables: tuple[str, ...]
    share: Callable[..., BoundedShare | None]
    formula: str
    shown: bool = False  # whether the claims that its table does not support are errors
    lower_is_better: bool = False


NOISE = "claims that gold does not support and a (ir)relevant passage does / claims of the answer"
RATES = {
    "claim_precision": Rate(
        "precision", (BY_GOLD,), _share, "claims of the answer that gold supports / claims of the answer", True
    ),
    "claim_recall": Rate(
        "recall", (BY_ANSWER,), _share, "claims of gold that the answer supports / claims of gold", True
    ),
    "claim_f1": Rate(
        "f1", (BY_GOLD, BY_ANSWER), _f1, "2PR/(P+R) of claim precision and claim recall, mean over answers"
    ),
    "retrieved_claim_recall": Rate(
        "claim_recall",
        (IN_CONTEXT,),
        lambda useful: _share(_any(useful, 1)),
        "claims of gold that a retrieved passage supports / claims of gold",
        True,
    ),
    "context_precision": Rate(
        "context_precision",
        (IN_CONTEXT,),
        _context_precision,
        "retrieved passages that support a claim of gold / retrieved passages",
    ),
    "context_utilization": Rate(
        "context_utilization",
        (BY_ANSWER, IN_CONTEXT),
        _utilization,
        "claims of gold retrieved and answered / claims of gold retrieved",
    ),
    "faithfulness": Rate(
        "faithfulness",
        (BY_CONTEXT,),
        lambda used: _share(_any(used, 1)),
        "claims of the answer that a retrieved passage supports / claims of the answer",
        True,
    ),
    "hallucination": Rate(
        "hallucination",
        (BY_GOLD, BY_CONTEXT),
        _ungrounded(right=False),
        "claims of the answer that neither a passage nor gold supports / claims of the answer",
        lower_is_better=True,
    ),
    "self_knowledge": Rate(
        "self_knowledge",
        (BY_GOLD, BY_CONTEXT),
        _ungrounded(right=True),
        "claims of the answer that gold supports and no passage does / claims of the answer",
        lower_is_better=True,
    ),
    **{
        f"noise_sensitivity_in_{side}": Rate(
            f"noise_sensitivity_in_{side}",
            (BY_GOLD, BY_CONTEXT, IN_CONTEXT),
            _noise(relevant=side == "relevant"),
            NOISE,
            lower_is_better=True,
        )
        for side in ("relevant", "irrelevant")
    },
}


@dataclass(frozen=True)
class Support:
    """The verdicts of one answer. Absent tables are ``None``; the rates that need them are absent, too.

    >>> support = Support(answer_by_gold=(True, False), answer_by_context=((True,), (None,)))
    >>> support.values["precision"], support.values["faithfulness"], support.unknown()
    (BoundedShare(value=0.5, most=0.5, n=2), BoundedShare(value=0.5, most=1.0, n=2), 1)
    """

    answer_by_gold: tuple[Entailed, ...] | None = None
    gold_by_answer: tuple[Entailed, ...] | None = None
    answer_by_context: tuple[tuple[Entailed, ...], ...] | None = None
    gold_by_context: tuple[tuple[Entailed, ...], ...] | None = None

    @classmethod
    def of(cls, tables: Mapping[str, object], record: object = None) -> Support:
        """From a record with our names or RAGChecker's, and verdicts as words or truth values.

        >>> Support.of({"answer2response": ["Entailment", "Neutral", None]}).answer_by_gold
        (True, False, None)
        """
        support: dict[str, Any] = {}
        for theirs, ours in RAGCHECKER.items():
            table = tables.get(ours, tables.get(theirs))
            if table is None:
                continue
            rows = _listed(table, record, ours)
            if ours.endswith("context"):
                rows = [verdicts(row, record, f"{ours}[{place}]") for place, row in enumerate(rows)]
                support[ours] = tuple(rows)
            else:
                support[ours] = verdicts(rows, record, ours)
        for claims, by_context in ((BY_GOLD, BY_CONTEXT), (BY_ANSWER, IN_CONTEXT)):
            one, other = support.get(claims), support.get(by_context)
            if one is not None and other is not None and len(one) != len(other):
                raise DataError(f"{len(one)} claims, but {claims} has {len(other)} in {by_context}", record=record)
        widths = {len(row) for name in (BY_CONTEXT, IN_CONTEXT) for row in support.get(name, ())}
        if len(widths) > 1:
            counts = ", ".join(map(str, sorted(widths)))
            raise DataError(f"the claims have verdicts for {counts} passages", record=record)
        return cls(**support)

    def state(self) -> dict[str, list[object]]:
        """The tables that are there, as JSON."""
        tables = {name: table for name in TABLES if (table := getattr(self, name)) is not None}
        return {name: [list(row) if isinstance(row, tuple) else row for row in table] for name, table in tables.items()}

    def verdicts(self, tables: Sequence[str] = TABLES) -> list[Entailed]:
        """All verdicts of some tables."""
        rows = (row for name in tables for row in getattr(self, name) or ())
        return [verdict for row in rows for verdict in (row if isinstance(row, tuple) else (row,))]

    def unknown(self, tables: Sequence[str] = TABLES) -> int:
        """How many verdicts did not come back."""
        return self.verdicts(tables).count(None)

    def share(self, rate: str) -> BoundedShare | None:
        """One of the `RATES`; ``None`` if a table is missing, or there are no claims to share."""
        tables = [getattr(self, name) for name in RATES[rate].tables]
        return None if None in tables else RATES[rate].share(*map(_truths, tables))

    @cached_property
    def values(self) -> dict[str, BoundedShare]:
        """All rates that the tables give, by RAGChecker's names."""
        shares = ((rate.checker, self.share(name)) for name, rate in RATES.items())
        return {name: share for name, share in shares if share is not None}


def _listed(value: Any, record: object, field: str) -> Sequence[Any]:
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise DataError(f"expected a list of verdicts, found {value!r}", record=record, field=field)
    return value


def verdicts(value: object, record: object, field: str) -> tuple[Entailed, ...]:
    """A list of verdicts as truth values."""
    return tuple(verdict(each, record, field) for each in _listed(value, record, field))


def verdict(value: object, record: object, field: str) -> Entailed:
    """A verdict as a truth value, or by its word.

    >>> verdict("Entailment", "a", "together"), verdict("no", "a", "together"), verdict(None, "a", "together")
    (True, False, None)
    """
    if value is None or isinstance(value, bool):
        return value
    word = str(value).strip().lower().replace(" ", "_")
    if word in ENTAILED or word in NOT:
        return word in ENTAILED
    if word in ("unknown", ""):
        return None
    message = f"no verdict {value!r}; verdicts are Entailment, Neutral, Contradiction, or null"
    raise DataError(message, record=record, field=field)


# For each table: the kind of error of a claim that it does not support, who makes the claim, and what is wrong with it.
AGAINST = {
    BY_GOLD: ("incorrect", "The answer", "which the gold answer does not say"),
    BY_ANSWER: ("missed", "The gold answer", "which the answer leaves out"),
    BY_CONTEXT: ("unsupported", "The answer", "which no retrieved passage supports"),
    IN_CONTEXT: ("not_retrieved", "The gold answer", "which no retrieved passage holds"),
}


@dataclass
class Claims:
    """The verdicts of one answer, the texts of the claims if known, and the quotes that contradict them."""

    support: Support
    answer: Sequence[Any] = ()
    gold: Sequence[Any] = ()
    quotes: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def errors(self, table: str) -> tuple[Error, ...]:
        """The claims that a table does not support, with the quote that contradicts them if there is one."""
        of_gold = table.startswith("gold")
        texts, quotes = self.gold if of_gold else self.answer, self.quotes.get(table, ())
        where = "retrieved_contexts" if table == IN_CONTEXT else "answer"
        kind, who, wrong = AGAINST[table]
        rows = []
        for place, row in enumerate(getattr(self.support, table)):
            truth = max(map(TRUTH.__getitem__, row if isinstance(row, tuple) else (row,)), default=0.0)
            text = texts[place] if place < len(texts) and texts[place] else f"claim {place + 1}"
            text = " ".join(map(str, text)) if isinstance(text, (list, tuple)) else str(text)
            if truth == TRUTH[None]:
                message = f"Whether “{text}” is supported is not known: the verdict did not come back."
                rows.append(Error("unknown", message, field=where))
            elif not truth:
                quote = quotes[place] if place < len(quotes) else ""
                message = f"{who} says “{text}”, {wrong}." + (f" It says otherwise: “{quote}”." if quote else "")
                rows.append(Error(kind, message, text if of_gold else "", "" if of_gold else text, field=where))
        return tuple(rows)


def from_prediction(pred: object) -> Claims | None:
    """The verdicts that come with a prediction, in ``support`` or under RAGChecker's names; ``None`` if none do.

    >>> claims = from_prediction({"support": {"answer_by_gold": [True, None]}, "answer_claims": ["a", "b"]})
    >>> claims.errors("answer_by_gold")[0].kind
    'unknown'
    """
    if pred is None:
        return None
    tables, name = extra(pred, "support"), read(pred, "id", None)
    if tables is None:
        tables = {key: table for key in RAGCHECKER if (table := read(pred, key, None)) is not None} or None
    if tables is None:
        return None
    if not isinstance(tables, (Support, Mapping)):
        raise DataError(f"expected tables of verdicts, found {tables!r}", record=name, field="support")
    support = tables if isinstance(tables, Support) else Support.of(tables, name)
    return Claims(support, extra(pred, "answer_claims") or (), extra(pred, "gold_claims") or ())


def judge_claims(
    judge: AnyJudge,
    answer: str,
    gold: str | None = None,
    contexts: Sequence[str] | None = None,
    tables: Sequence[str] = TABLES,
) -> Claims:
    """The verdicts that a judge gives, for the tables asked for.

    If the claims of a text did not come back, it has one claim of unknown standing.

    Args:
        judge: splits texts into claims and says what supports them.
        answer: the program's answer.
        gold: the gold answer; needed by the tables of gold.
        contexts: the retrieved passages; needed by the tables of contexts.
        tables: which of `TABLES` to make.

    Raises:
        GoldassayError: a table needs a gold answer or passages, and there are none.
    """
    claims: dict[bool, Sequence[str | None]] = {}
    for of_gold, text in ((False, answer), (True, gold)):
        if any(name.startswith("gold") == of_gold for name in tables):
            if text is None:
                raise GoldassayError(f"{', '.join(tables)}: there is no gold answer to take claims from")
            listed = judge.claims(text)
            claims[of_gold] = [None] if listed is None else list(listed)
    texts: dict[str, Sequence[str] | None] = {
        BY_GOLD: None if gold is None else [gold],
        BY_ANSWER: [answer],
        BY_CONTEXT: contexts,
        IN_CONTEXT: contexts,
    }
    support: dict[str, Any] = {}
    quotes: dict[str, Sequence[str]] = {}
    for name in tables:
        against = texts[name]
        if against is None:
            raise GoldassayError(f"{name}: there are no texts to look for claims in")
        rows = [
            [None if claim is None else judge.verdict("support", text=text, claim=claim) for text in against]
            for claim in claims[name.startswith("gold")]
        ]
        truths = [
            tuple(None if said is None or said.label is None else said.label == "supported" for said in row)
            for row in rows
        ]
        support[name] = tuple(truths) if name.endswith("context") else tuple(row[0] for row in truths)
        quotes[name] = [next((said.quote for said in row if said and said.label == "contradicted"), "") for row in rows]
    return Claims(Support(**support), claims.get(False, ()), claims.get(True, ()), quotes)


def with_question(gold: object, text: str) -> str:
    """An answer as a text that means something by itself: a short one after its question.

    >>> with_question({"question": "When did it open?"}, "1885")
    'When did it open? 1885'
    >>> with_question({"question": "When?"}, "It opened in 1885.")
    'It opened in 1885.'
    """
    asked = question(gold)
    return f"{asked} {text}" if asked and text and len(text.split()) < SHORT else text


@dataclass(frozen=True)
class ClaimRate(JudgedMeasure):
    """A rate of claims, one of `RATES`; its mean over answers. Without a judge the verdicts come with the prediction.

    They stand in a field ``support`` (or ``meta.support``) with the four tables, or under RAGChecker's four names. An
    unknown verdict stays in the denominator and is not counted as true; `JudgedMean.highest` says what the value could
    be. The claims that precision, recall, faithfulness and retrieved recall count against are their errors.

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
        given = {"passages": passages} if passages else {}
        return {**given, "average": "answers", "no claims": "left out", **self.of_failed, **JudgedMeasure.fixed}

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
        claims = self._judge(gold, pred) if self.judge is not None else None if failed(pred) else from_prediction(pred)
        share = claims.support.share(self.rate) if claims else None
        if claims is None or share is None:
            return Assessment(JudgedMean())
        tally = JudgedMean(share.value, 1.0, share.most, float(claims.support.unknown(rate.tables)))
        return Assessment(tally, claims.errors(rate.tables[0]) if rate.shown else ())

    def _judge(self, gold: object, pred: object) -> Claims | None:
        tables = RATES[self.rate].tables
        texts, expected = None if failed(pred) else contexts(pred), expected_text(gold)
        if any("gold" in table for table in tables) and (unanswerable(gold) or not expected):
            return None
        if any("context" in table for table in tables) and texts is None:
            return None
        mine = with_question(gold, answer_or_nothing(pred, gold))
        return judge_claims(self.bound, mine, with_question(gold, expected or ""), texts, tables)


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
        asked = question(gold)
        if self.judge is None:
            raw = None if failed(pred) else extra(pred, "relevance")
            value = number(pred, "relevance", raw, "a judge's number from 0 to 1", 1.0)
            if value is None:
                return Assessment(JudgedMean())
            message = f"The answer does not answer “{asked}”." if asked else "The answer misses the question."
            errors = (Error("irrelevant", message, field="answer"),) if value < 0.5 else ()
            return Assessment(JudgedMean.of(value), errors)
        text = answer_or_nothing(pred, gold)
        if not asked or unanswerable(gold):
            return Assessment(JudgedMean())
        said = self.bound.verdict("relevance", question=asked, answer=text)
        if said.label is None:
            return Assessment(JudgedMean.of(None), (unknown("Whether the answer answers the question"),))
        tally = JudgedMean.of(RELEVANCE[said.label])
        if tally.value == 1:
            return Assessment(tally)
        why = f" The judge: {said.reason}" if said.reason else ""
        message = f"The answer {HOW[said.label]} “{asked}”.{why}"
        return Assessment(tally, (Error("irrelevant", message, pred=text, field="answer"),))
