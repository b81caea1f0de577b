"""Claims and what supports them: eleven rates from four tables of verdicts, none of which is ever dropped; citations.

An answer has C claims, the gold answer G, and there are k passages. Each verdict says whether a text entails a claim:
``answer_by_gold`` (C), ``gold_by_answer`` (G), ``answer_by_context`` (C × k), ``gold_by_context`` (G × k). A verdict is
``True``, ``False``, or ``None`` if it did not come back. With unknown verdicts a claim may be unknown too; a
rate then counts what is certain, and ``most`` is what it would be if every unknown verdict went its way: the truth lies
between.

The tables come with a prediction, written by people or by a judge of an earlier run, or a judge makes them
(`judge_claims`). Without verdicts there is no evidence, and the rate does not apply. Since a judge answers
each question once, several rates together cost no more than the largest. Where gold is needed, an unanswerable question
is left out; where contexts are, a prediction without them. An answer of fewer than four words is read together with its
question. Hallucination, self-knowledge and noise sensitivity are better when lower: for reading, not for optimizing.

Citations (ALCE): a sentence is recalled (1) if it cites something and its cited passages together entail it. A citation
of a recalled sentence is precise if its passage entails the sentence alone, or if the others fail to entail it without
it. Recall is the mean over an answer's sentences, precision the share of precise citations; both are means over
answers.

Ru et al., RAGChecker: a fine-grained framework for diagnosing retrieval-augmented generation, NeurIPS 2024.
Gao et al., Enabling large language models to generate text with citations, EMNLP 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from goldassay._support.exceptions import DataError
from goldassay.core.evidence import Floats
from goldassay.core.fields import read
from goldassay.core.measure import Assessment, Conventions, Error, Names
from goldassay.core.tally import divide, harmonic
from goldassay.measures.answering.matching import Assessed
from goldassay.measures.answering.records import AnswerPair, extra, number_of
from goldassay.measures.judged import UNKNOWN_COUNTS, ClaimJudge, JudgedMean, JudgedMeasure, Verdict, unknown

BY_GOLD = "answer_by_gold"
BY_ANSWER = "gold_by_answer"
BY_CONTEXT = "answer_by_context"
IN_CONTEXT = "gold_by_context"
CLAIM_TABLES = (BY_GOLD, BY_ANSWER, BY_CONTEXT, IN_CONTEXT)

# Verdicts are numbers in Kleene's three-valued logic: true 1, unknown ½, false 0; "and" is the minimum, "or" the
# maximum, "not" 1 − x. What is certainly true is 1, and what may be true is above 0. A share is a pair: of what is
# certain, and of what may be.
SUPPORT_SCORES = {True: 1.0, None: 0.5, False: 0.0}
Share = tuple[float, float] | None
Tables = Mapping[str, Floats]  # by name a row of truths for each claim and a column for each text


def _any(truths: Floats, axis: int = 1) -> Floats:
    return np.asarray(truths.max(axis, initial=0.0))


def _share(truths: Floats) -> Share:
    return (float((truths == 1).mean()), float((truths > 0).mean())) if len(truths) else None


def _f1(correct: Floats, recalled: Floats) -> Share:
    """0 if one side alone has claims, since what says nothing misses all."""
    p = _share(correct)
    r = _share(recalled)
    if p and r:
        return harmonic(p[0], r[0]), harmonic(p[1], r[1])
    return (0.0, 0.0) if p or r else None


def _utilization(recalled: Floats, useful: Floats) -> Share:
    """The share of the gold claims in the passages that the answer has too."""
    # A claim is retrieved and answered ("both"), retrieved and not answered ("lost"), or not retrieved. An unknown
    # verdict may put it into either. The certain value is the least: of the claims that may be retrieved, only those
    # that are certainly both count. The possible one is the greatest: every claim that may be both is, and only what
    # is certainly lost counts against it; claims that may not even be retrieved leave the share.
    retrieved = _any(useful)
    minima = np.minimum(retrieved, recalled)
    lost = np.minimum(retrieved, 1 - recalled)
    possible = int((minima > 0).sum())
    certainly_lost = int((lost == 1).sum())
    least = divide(int((minima == 1).sum()), int((retrieved > 0).sum()))
    return (least, divide(possible, possible + certainly_lost)) if len(retrieved) else None


def _noise(relevant: bool, correct: Floats, used: Floats, useful: Floats) -> Share:
    """The share of wrong claims that come from a relevant passage, or from irrelevant ones alone."""
    if not len(used) or not len(useful):
        return None
    holds_gold = _any(useful, 0)
    by_relevant = _any(np.minimum(used, holds_gold))
    by_other = np.minimum(_any(np.minimum(used, 1 - holds_gold)), 1 - by_relevant)
    return _share(np.minimum(by_relevant if relevant else by_other, 1 - correct))


CLAIM_RATES: dict[str, tuple[tuple[str, ...], Callable[..., Share]]] = {
    "claim_precision": ((BY_GOLD,), _share),
    "claim_recall": ((BY_ANSWER,), _share),
    "claim_f1": ((BY_GOLD, BY_ANSWER), _f1),
    "retrieved_claim_recall": ((IN_CONTEXT,), lambda useful: _share(_any(useful))),
    "context_precision": (
        (IN_CONTEXT,),
        lambda useful: _share(_any(useful, 0)) or ((0.0, 0.0) if len(useful) else None),
    ),
    "context_utilization": ((BY_ANSWER, IN_CONTEXT), _utilization),
    "faithfulness": ((BY_CONTEXT,), lambda used: _share(_any(used))),
    "hallucination": (
        (BY_GOLD, BY_CONTEXT),
        lambda correct, used: _share(np.minimum(1 - _any(used), 1 - correct)),
    ),
    "self_knowledge": ((BY_GOLD, BY_CONTEXT), lambda correct, used: _share(np.minimum(1 - _any(used), correct))),
    "noise_sensitivity_in_relevant": ((BY_GOLD, BY_CONTEXT, IN_CONTEXT), partial(_noise, True)),
    "noise_sensitivity_in_irrelevant": ((BY_GOLD, BY_CONTEXT, IN_CONTEXT), partial(_noise, False)),
}
"""For each rate the tables that it needs, and the share."""
LOWER = ("hallucination", "self_knowledge", "noise_sensitivity_in_relevant", "noise_sensitivity_in_irrelevant")
"""The rates of something wrong: lower is better."""
AGAINST = {
    "claim_precision": ("incorrect", "answer", "The answer says “{}”, which the gold answer does not say."),
    "claim_recall": ("missed", "answer", "The gold answer says “{}”, which the answer leaves out."),
    "faithfulness": ("unsupported", "answer", "The answer says “{}”, which no retrieved passage supports."),
    "retrieved_claim_recall": (
        "not_retrieved",
        "retrieved_contexts",
        "The gold answer says “{}”, which no retrieved passage holds.",
    ),
}
"""The rates whose unsupported claims are errors: the kind of error, the field, and the message."""


def read_tables(record: Mapping[str, Any], name: str | int | None = None) -> Tables:
    """Those of the four tables that a record (of this name) has.

    Raises:
        DataError: a table is not a list of verdicts, or two of them have different numbers of claims or passages.

    >>> read_tables({"answer_by_gold": [True, False, None]})["answer_by_gold"].tolist()
    [[1.0], [0.0], [0.5]]
    """
    if not isinstance(record, Mapping):
        raise DataError(f"expected tables of verdicts, found {record!r}", record=name, field="support")
    tables = {
        table: [_truths(row, name, f"{table}[{at}]") for at, row in enumerate(rows)]
        if table.endswith("context")
        else [[truth] for truth in _truths(rows, name, table)]
        for table in CLAIM_TABLES
        if (rows := record.get(table)) is not None
    }
    sizes = {(table.partition("_")[0], len(rows)) for table, rows in tables.items()}
    sizes |= {("passages", len(row)) for table in CLAIM_TABLES[2:] for row in tables.get(table, ())}
    if len(dict(sizes)) < len(sizes):
        raise DataError("its tables of verdicts disagree on how many claims or passages there are", record=name)
    return {table: _array(rows) for table, rows in tables.items()}


def share(tables: Tables, rate: str) -> JudgedMean:
    """One of the `CLAIM_RATES`; no evidence if a table is missing, or there are no claims to share.

    >>> share(read_tables({"answer_by_context": [[True], [None]]}), "faithfulness")
    JudgedMean(total=0.5, weight=1.0, most=1.0, unknown=1.0)
    """
    names, count = CLAIM_RATES[rate]
    if not tables.keys() >= {*names}:
        return JudgedMean()
    ends = count(*(tables[name] if name.endswith("context") else _any(tables[name]) for name in names))
    lost = float(sum((tables[name] == SUPPORT_SCORES[None]).sum() for name in names))
    return JudgedMean(ends[0], 1.0, ends[1], lost) if ends else JudgedMean()


def _truths(verdicts: Sequence[bool | None], record: str | int | None, field: str) -> list[float]:
    """A list of verdicts as numbers: ``True``, ``False``, or ``None`` for one that did not come back."""
    if not isinstance(verdicts, (list, tuple)) or not all(verdict in (True, False, None) for verdict in verdicts):
        message = f"expected a list of verdicts (true, false or null), found {verdicts!r}"
        raise DataError(message, record=record, field=field)
    return [SUPPORT_SCORES[verdict] for verdict in verdicts]


def _array(rows: Sequence[Sequence[float]]) -> Floats:
    return np.array(rows, float).reshape(len(rows), len(rows[0]) if rows else 0)


Claims = Mapping[str, Sequence[Any]]  # the texts of the claims of ``answer`` and ``gold``
Quotes = Mapping[str, Sequence[str]]  # by table what contradicts each claim


def judge_claims(
    judge: ClaimJudge, answer: str, gold: str, contexts: Sequence[str], tables: Sequence[str] = CLAIM_TABLES
) -> tuple[Tables, Claims, Quotes]:
    """The verdicts that a judge gives, for the tables asked for; the claims, and what contradicts them.

    If the claims of a text did not come back, it has one claim, whose verdicts are unknown.

    Args:
        judge: splits texts into claims and says what supports them.
        answer: the program's answer.
        gold: the gold answer.
        contexts: the retrieved passages.
        tables: which of `CLAIM_TABLES` to make.
    """
    support_of_label: dict[str | None, float] = {
        "supported": 1.0,
        "contradicted": 0.0,
        "not_stated": 0.0,
    }  # any other is unknown
    texts = {"answer": answer, "gold": gold}
    against = {BY_GOLD: [gold], BY_ANSWER: [answer], BY_CONTEXT: contexts, IN_CONTEXT: contexts}
    claims: dict[str, Sequence[str | None]] = {}
    support: dict[str, Floats] = {}
    quotes: dict[str, list[str]] = {}
    for name in tables:
        side = name.partition("_")[0]
        if side not in claims:
            answer_claims = judge.claims(texts[side])
            claims[side] = [None] if answer_claims is None else answer_claims
        rows = [
            [
                Verdict(None) if claim is None else judge.verdict("support", text=text, claim=claim)
                for text in against[name]
            ]
            for claim in claims[side]
        ]
        support[name] = _array(
            [[support_of_label.get(verdict.label, SUPPORT_SCORES[None]) for verdict in row] for row in rows]
        )
        quotes[name] = [next((v.quote for v in row if v.label == "contradicted"), "") for row in rows]
    return support, claims, quotes


@dataclass(frozen=True)
class ClaimRate(JudgedMeasure):
    """A rate of claims, one of `CLAIM_RATES`; its mean over answers.

    Without a judge the verdicts come with the prediction.

    A field ``support`` (or ``meta.support``) has the four tables. An unknown verdict stays in the
    denominator and is not counted as true; `JudgedMean.highest` says what the value could be. The claims that
    precision, recall, faithfulness and retrieved recall count against are their errors.

    ``claim_precision`` claims of the answer that gold supports / claims of the answer; ``claim_recall`` claims of gold
    that the answer supports / claims of gold; ``claim_f1`` 2PR/(P+R) of both; ``retrieved_claim_recall`` claims of gold
    that a retrieved passage supports / claims of gold; ``context_precision`` retrieved passages that support a claim of
    gold / retrieved passages; ``context_utilization`` claims of gold retrieved and answered / claims of gold retrieved.
    Of the claims of the answer: ``faithfulness`` those that a retrieved passage supports, ``hallucination`` those that
    neither a passage nor gold supports, ``self_knowledge`` those that gold supports and no passage does, noise
    sensitivity those that gold does not support and a (ir)relevant passage does.

    Formula: the share of claims (or passages) that the rate names; mean over answers
    Source: Ru et al., RAGChecker, NeurIPS 2024

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
    optional = True
    in_key: ClassVar[Names] = ("rate",)
    choices = {"rate": tuple(CLAIM_RATES)}

    rate: str = "faithfulness"
    judge: object = None

    @property
    def fixed(self) -> Conventions:
        """The average, and what an unknown verdict counts."""
        return {"average": "answers", "no claims": "left out", **self.of_failed, "unknown": UNKNOWN_COUNTS}

    @property
    def lower_is_better(self) -> bool:
        """Whether the rate is of something wrong."""
        return self.rate in LOWER

    def assess(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The rate of one answer, and the claims that count against it."""
        pair = AnswerPair(gold, pred)
        needed = CLAIM_RATES[self.rate][0]
        tables: Tables = {}
        claims: Claims = {}
        quotes: Quotes = {}
        if self.judge is None:  # then the verdicts come with the prediction
            record = pair.evidence("support")
            tables = {} if record is None else read_tables(record, pair.name)
            claims = {side: extra(pred, f"{side}_claims") or () for side in ("answer", "gold")}
        else:
            contexts = None if pair.failed else pair.contexts
            expected = pair.expected
            lacks_gold = not expected and any("gold" in table for table in needed)
            lacks_contexts = contexts is None and any("context" in table for table in needed)
            if not lacks_gold and not lacks_contexts:
                answer = _whole(pair, pair.answer)
                texts = _whole(pair, expected), contexts or ()
                tables, claims, quotes = judge_claims(self.bound, answer, *texts, needed)
        tally = share(tables, self.rate)
        if not tally.weight or self.rate not in AGAINST:
            return Assessment(tally)
        errors = []
        (table,) = needed
        kind, field, message = AGAINST[self.rate]
        side = table.partition("_")[0]
        claim_texts = dict(enumerate(claims.get(side, ())))
        contradicts = dict(enumerate(quotes.get(table, ())))
        for index, truth in enumerate(_any(tables[table])):
            text = claim_texts.get(index) or f"claim {index + 1}"
            text = text if isinstance(text, str) else " ".join(map(str, text))
            if truth == SUPPORT_SCORES[None]:
                errors.append(unknown(f"Whether “{text}” is supported", field))
            elif truth == SUPPORT_SCORES[False]:
                quote = f" It says otherwise: “{contradicts[index]}”." if contradicts.get(index) else ""
                gold_and_pred = (text, "") if side == "gold" else ("", text)
                errors.append(Error(kind, message.format(text) + quote, *gold_and_pred, field=field))
        return Assessment(tally, tuple(errors))


def _whole(pair: AnswerPair, text: str) -> str:
    """A text, with the question before it if it is short."""
    short = 4  # an answer of fewer words means something only together with its question
    is_short = pair.question and text and len(text.split()) < short
    return f"{pair.question} {text}" if is_short else text


RELEVANCE = {"full": 1.0, "partial": 0.5, "none": 0.0, "evasion": 0.0}


@dataclass(frozen=True)
class Relevance(JudgedMeasure):
    """Does the answer answer the question: in full (1), in part (0.5), not at all or by an evasion (0)?

    A cosine to the question does not measure relevance, since an echo of the question wins it. So there is no value
    without a judge, or a judge's number in the prediction's ``relevance`` (or ``meta.relevance``), from 0 to 1. An
    empty answer evades. A judge is not asked about a question that gold calls unanswerable: to say nothing is right
    there.

    Formula: mean over answers of full 1, partial 0.5, none 0, evasion 0
    Source: goldassay

    >>> Relevance()({}, {"answer": "In 1800.", "relevance": 0.75}).tally.value
    0.75
    """

    task = "answering"
    name = "relevance"
    optional = True
    worth = RELEVANCE

    judge: object = None

    @property
    def fixed(self) -> Conventions:
        """The value of each level."""
        levels = "full=1, partial=0.5, none=0, evasion=0"
        return {"levels": levels, "average": "answers", **self.of_failed, "unknown": UNKNOWN_COUNTS}

    def assess(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """How well one answer answers, with the judge's reason if it is not in full."""
        pair = AnswerPair(gold, pred)
        question = pair.question
        text = pair.answer
        about = f"“{question}”" if question else "the question"
        if self.judge is None:
            stated = pair.evidence("relevance")
            value = number_of(pred, "relevance", stated, "a judge's number from 0 to 1", 1.0)
            error = Error("irrelevant", f"The answer does not answer {about}.", pred=text, field="answer")
            return Assessment(JudgedMean() if value is None else JudgedMean.of(value), _below(value, 0.5, error))
        if not question or read(gold, "answers", None) in ([], ()):
            return Assessment(JudgedMean())
        verdict = self.bound.verdict("relevance", question=question, answer=text)
        if verdict.label is None:
            return Assessment(JudgedMean.of(None), (unknown("Whether the answer answers the question"),))
        reason = f" The judge: {verdict.reason}" if verdict.reason else ""
        how = {"partial": "answers in part only", "none": "does not answer", "evasion": "evades"}
        message = f"The answer {how.get(verdict.label, '')} {about}.{reason}"
        error = Error("irrelevant", message, pred=text, field="answer")
        value = RELEVANCE[verdict.label]
        return Assessment(JudgedMean.of(value), _below(value, 1.0, error))


def _below(value: float | None, enough: float, error: Error) -> tuple[Error, ...]:
    """The error, if there is a value and it is too low."""
    return () if value is None or value >= enough else (error,)


@dataclass(frozen=True)
class CitationRate(Assessed[JudgedMean]):
    """Citation ``recall``, the share of sentences that their citations support, or ``precision``.

    Precision is the share of citations that suffice or are needed. The prediction's ``citations`` have a row for each
    ``sentence`` with the verdicts on it: whether all cited passages entail it ``together``, each ``alone``, and the
    others ``without`` each. Without verdicts the measure does not apply; without citations precision is 0.

    Formula: sentences that their cited passages together entail / sentences, or citations that entail their
        sentence alone, or without which the others do not / citations; mean over answers
    Source: Gao et al., EMNLP 2023 (ALCE)

    >>> row = {"sentence": "a", "together": True, "alone": [True, False], "without": [False, True]}
    >>> [CitationRate(rate)({}, {"citations": [row]}).tally.value for rate in ("recall", "precision")]
    [1.0, 0.5]
    """

    name = "citation_{rate}"
    zero: ClassVar[JudgedMean] = JudgedMean()
    fixed: ClassVar[Conventions] = {"average": "answers", "failed": "left out", "unknown": UNKNOWN_COUNTS}
    in_key: ClassVar[Names] = ("rate",)
    choices = {"rate": ("recall", "precision")}

    rate: str = "recall"

    def assess(self, pair: AnswerPair) -> Assessment[JudgedMean]:
        """The citations of one answer; the sentences that their citations do not support are errors.

        Raises:
            DataError: a sentence has other than one verdict ``alone`` and one ``without`` for each citation.
        """
        rows = pair.evidence("citations") or ()
        if not rows or not all(isinstance(row, Mapping) and "together" in row for row in rows):
            return Assessment(JudgedMean())
        truths: list[float] = []
        lost = 0
        errors = []
        for index, row in enumerate(rows):
            field = f"citations[{index}]"
            (together,) = _truths([row["together"]], pair.name, f"{field}.together")
            alone = _truths(row.get("alone", ()), pair.name, f"{field}.alone")
            without = _truths(row.get("without", ()), pair.name, f"{field}.without")
            if len(alone) != len(without):
                message = "each citation has a verdict alone and one without it"
                raise DataError(message, record=pair.name, field=field)
            citations = zip(alone, without, strict=True) if self.rate == "precision" else [(1.0, 0.0)]
            truths += [min(together, max(single, 1 - remainder)) for single, remainder in citations]
            lost += [together, *alone, *without].count(SUPPORT_SCORES[None])
            if together < SUPPORT_SCORES[True]:
                sentence = row.get("sentence", "")
                message = f"The citations of “{sentence}” do not support it."
                errors.append(Error("unsupported", message, pred=sentence, field="citations"))
        certain, possible = _share(np.array(truths)) or (0.0, 0.0)
        return Assessment(JudgedMean(certain, 1.0, possible, float(lost)), tuple(errors))
