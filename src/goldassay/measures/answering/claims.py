"""Claims and what supports them: eleven values from four tables of verdicts, none of which is ever dropped.

An answer has C claims, the gold answer G, and there are k passages. Each verdict says whether a text entails a claim:
``answer_by_gold`` (C), ``gold_by_answer`` (G), ``answer_by_context`` (C × k), ``gold_by_context`` (G × k). A verdict is
``True``, ``False``, or ``None`` for one that did not come back. With unknown verdicts a claim's standing may be unknown
too; a value then counts what is certain, and ``most`` what it would be if every unknown went its way: the truth lies
between.

The tables stand with a prediction (`given`), or a judge makes them (`asked`).

Ru et al., RAGChecker: a fine-grained framework for diagnosing retrieval-augmented generation, NeurIPS 2024.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from goldassay.exceptions import DataError, GoldassayError
from goldassay.fields import read
from goldassay.measure import Error
from goldassay.measures.answering.mistakes import unsupported
from goldassay.measures.answering.records import extra, question
from goldassay.measures.answering.tally import BoundedShare, Kleene, line_of, share_of, table_of
from goldassay.measures.judged import ClaimJudge, Verdict

Entailed = bool | None
ENTAILED = ("entailment", "supported", "yes", "true")
NOT = ("neutral", "contradiction", "contradicted", "not_stated", "unsupported", "no", "false")
RAGCHECKER = {
    "answer2response": "answer_by_gold",
    "response2answer": "gold_by_answer",
    "retrieved2response": "answer_by_context",
    "retrieved2answer": "gold_by_context",
}
TABLES = tuple(RAGCHECKER.values())
SHORT = 4  # an answer of fewer words says something only together with its question


@dataclass(frozen=True)
class Support:
    """The verdicts of one answer. Tables that are not there are ``None``; the values that need them are then absent.

    >>> made = Support(answer_by_gold=(True, False), answer_by_context=((True,), (None,)))
    >>> made.values["precision"], made.values["faithfulness"], made.unknown
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
        made: dict[str, Any] = {}
        for theirs, ours in RAGCHECKER.items():
            found = tables.get(ours, tables.get(theirs))
            if found is None:
                continue
            if isinstance(found, str) or not isinstance(found, Sequence):
                raise DataError(f"expected a list of verdicts, found {found!r}", record=record, field=ours)
            if ours.endswith("context"):
                made[ours] = tuple(verdicts(row, record, f"{ours}[{place}]") for place, row in enumerate(found))
            else:
                made[ours] = verdicts(found, record, ours)
        support = cls(**made)
        support._check(record)
        return support

    def _check(self, record: object) -> None:
        for claims, contexts in (("answer_by_gold", "answer_by_context"), ("gold_by_answer", "gold_by_context")):
            one, other = getattr(self, claims), getattr(self, contexts)
            if one is not None and other is not None and len(one) != len(other):
                raise DataError(f"{len(one)} claims, but {claims} has {len(other)} in {contexts}", record=record)
        rows = [*(self.answer_by_context or ()), *(self.gold_by_context or ())]
        widths = {len(row) for row in rows}
        if len(widths) > 1:
            raise DataError(
                f"the claims have verdicts for {', '.join(map(str, sorted(widths)))} passages", record=record
            )

    def only(self, tables: Sequence[str]) -> Support:
        """The same verdicts without the other tables."""
        return replace(self, **{name: None for name in TABLES if name not in tables})

    def state(self) -> dict[str, list[object]]:
        """The tables that are there, as JSON."""
        found = {name: getattr(self, name) for name in TABLES}
        return {
            name: [list(row) if isinstance(row, tuple) else row for row in table]
            for name, table in found.items()
            if table is not None
        }

    @cached_property
    def unknown(self) -> int:
        """How many verdicts did not come back."""
        return sum(row.count(None) for row in self._rows)

    @cached_property
    def asked(self) -> int:
        """How many verdicts were asked for."""
        return sum(map(len, self._rows))

    @cached_property
    def _rows(self) -> list[tuple[Entailed, ...]]:
        """The verdicts of all tables."""
        rows = [*(self.answer_by_context or ()), *(self.gold_by_context or ())]
        return [self.answer_by_gold or (), self.gold_by_answer or (), *rows]

    @cached_property
    def values(self) -> dict[str, BoundedShare]:
        """All values that the tables give, by name.

        A share over no claims is left out; F1 is 0 where one side alone has claims, for what says nothing misses all.
        """
        made: dict[str, BoundedShare | None] = {}
        correct, recalled = line_of(self.answer_by_gold), line_of(self.gold_by_answer)
        used, useful = table_of(self.answer_by_context), table_of(self.gold_by_context)
        if correct:
            made["precision"] = share_of(correct)
        if recalled:
            made["recall"] = share_of(recalled)
        if correct and recalled:
            made["f1"] = _f1(made["precision"], made["recall"])
        if useful:
            found, relevant = useful.any(1), useful.any(0)
            made |= {
                "claim_recall": share_of(found),
                "context_precision": share_of(relevant, empty=len(found.sure) > 0),
            }
            if recalled:
                made["context_utilization"] = _utilization(found, recalled)
        if used:
            grounded = used.any(1)
            made["faithfulness"] = share_of(grounded)
            if correct:
                made |= {
                    "hallucination": share_of(~grounded & ~correct),
                    "self_knowledge": share_of(~grounded & correct),
                }
        if used and useful and correct and len(used.sure) and len(useful.sure):
            made |= _noise(used, useful.any(0), correct)
        return {name: share for name, share in made.items() if share is not None}


def _noise(used: Kleene, relevant: Kleene, correct: Kleene) -> dict[str, BoundedShare | None]:
    """Wrong claims that come from a relevant passage, and those that come from irrelevant ones alone."""
    by_relevant = (used & relevant).any(1)
    by_irrelevant = (used & ~relevant).any(1) & ~by_relevant
    return {
        "noise_sensitivity_in_relevant": share_of(by_relevant & ~correct),
        "noise_sensitivity_in_irrelevant": share_of(by_irrelevant & ~correct),
    }


def _utilization(found: Kleene, recalled: Kleene) -> BoundedShare | None:
    """Of the gold claims that a passage has, the share that the answer has too."""
    both = found & recalled
    most, lost = int(both.maybe.sum()), int((found & ~recalled).sure.sum())
    possible = int(found.maybe.sum())
    if not possible:
        return BoundedShare(0.0, 0.0, 0) if len(found.sure) else None
    return BoundedShare(int(both.sure.sum()) / possible, most / (most + lost) if most + lost else 0.0, possible)


def _f1(precision: BoundedShare | None, recall: BoundedShare | None) -> BoundedShare | None:
    if precision is None or recall is None:
        alone = precision or recall
        return BoundedShare(0.0, 0.0, alone.n) if alone else None

    def harmonic(p: float, r: float) -> float:
        return 2 * p * r / (p + r) if p + r else 0.0

    low, high = harmonic(precision.value, recall.value), harmonic(precision.most, recall.most)
    return BoundedShare(low, high, precision.n + recall.n)


def verdicts(found: object, record: object, field: str) -> tuple[Entailed, ...]:
    """A list of verdicts."""
    if isinstance(found, str) or not isinstance(found, Sequence):
        raise DataError(f"expected a list of verdicts, found {found!r}", record=record, field=field)
    return tuple(verdict(one, record, field) for one in found)


def verdict(found: object, record: object, field: str) -> Entailed:
    """A verdict as a truth value, or by its word.

    >>> verdict("Entailment", "a", "together"), verdict("no", "a", "together"), verdict(None, "a", "together")
    (True, False, None)
    """
    if found is None or isinstance(found, bool):
        return found
    word = str(found).strip().lower().replace(" ", "_")
    if word in ENTAILED:
        return True
    if word in NOT:
        return False
    if word in ("unknown", ""):
        return None
    raise DataError(
        f"no verdict {found!r}; verdicts are Entailment, Neutral, Contradiction, or null", record=record, field=field
    )


@dataclass
class Claimed:
    """The verdicts of one answer, the texts of the claims where they are known, and the quotes that contradict them."""

    support: Support
    answer: Sequence[Any] = ()
    gold: Sequence[Any] = ()
    otherwise: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def errors(self, table: str) -> list[Error]:
        """The claims that a table does not support, with the quote that contradicts them where there is one."""
        texts, quotes = self.gold if table.startswith("gold") else self.answer, self.otherwise.get(table, ())
        out = []
        for place, row in enumerate(getattr(self.support, table)):
            found = row if not isinstance(row, tuple) else True if True in row else None if None in row else False
            if found is not True:
                text = _text(texts[place]) if place < len(texts) and texts[place] else f"claim {place + 1}"
                out.append(unsupported(table, found, text, quotes[place] if place < len(quotes) else ""))
        return out


def _text(claim: Any) -> str:
    return " ".join(map(str, claim)) if isinstance(claim, (list, tuple)) else str(claim)


def given(pred: object) -> Claimed | None:
    """The verdicts that stand with a prediction, in ``support`` or under RAGChecker's names; ``None`` where none do.

    >>> found = given({"support": {"answer_by_gold": [True, None]}, "answer_claims": ["a", "b"]})
    >>> found.errors("answer_by_gold")[0].kind
    'unknown'
    """
    found = None if pred is None else extra(pred, "support")
    name = read(pred, "id", None) if pred is not None else None
    if pred is not None and found is None:
        found = {key: table for key in RAGCHECKER if (table := read(pred, key, None)) is not None} or None
    if found is None:
        return None
    if not isinstance(found, (Support, Mapping)):
        raise DataError(f"expected tables of verdicts, found {found!r}", record=name, field="support")
    support = found if isinstance(found, Support) else Support.of(found, name)
    return Claimed(support, extra(pred, "answer_claims") or (), extra(pred, "gold_claims") or ())


def told(gold: object, text: str) -> str:
    """An answer as a text that says something by itself: a short one with its question before it.

    >>> told({"question": "When did it open?"}, "1885"), told({"question": "When?"}, "It opened in 1885.")
    ('When did it open? 1885', 'It opened in 1885.')
    """
    asked = question(gold)
    return f"{asked} {text}" if asked and text and len(text.split()) < SHORT else text


def asked(
    judge: ClaimJudge,
    answer: str,
    gold: str | None = None,
    contexts: Sequence[str] | None = None,
    tables: Sequence[str] = TABLES,
) -> Claimed:
    """The verdicts that a judge gives, for the tables that are asked for.

    A decomposition that did not come back is one claim of unknown standing.

    Args:
        judge: splits texts into claims and says what supports them.
        answer: the program's answer.
        gold: the gold answer; needed by the tables of gold.
        contexts: the retrieved passages; needed by the tables of contexts.
        tables: which of `TABLES` to make.

    Raises:
        GoldassayError: a table needs a gold answer or passages, and there are none.
    """
    made = Claimed(Support(), _claims(judge, answer) if any(one.startswith("answer") for one in tables) else ())
    if any(name.startswith("gold") for name in tables):
        if gold is None:
            raise GoldassayError(f"{', '.join(tables)}: there is no gold answer to take claims from")
        made.gold = _claims(judge, gold)
    texts: dict[str, Sequence[str] | None] = {
        "answer_by_gold": None if gold is None else [gold],
        "gold_by_answer": [answer],
        "answer_by_context": contexts,
        "gold_by_context": contexts,
    }
    truths: dict[str, Any] = {}
    for name in tables:
        against = texts[name]
        if against is None:
            raise GoldassayError(f"{name}: there are no texts to look for claims in")
        claims = made.gold if name.startswith("gold") else made.answer
        rows = [[None if claim is None else judge.support(text, claim) for text in against] for claim in claims]
        truth = [tuple(_truth(said) for said in row) for row in rows]
        truths[name] = tuple(truth) if name.endswith("context") else tuple(row[0] for row in truth)
        contradicted = [[said.quote for said in row if said and said.label == "contradicted"] for row in rows]
        made.otherwise = {**made.otherwise, name: [next(iter(quotes), "") for quotes in contradicted]}
    made.support = Support(**truths)
    return made


def _claims(judge: ClaimJudge, text: str) -> Sequence[str | None]:
    found = judge.claims(text)
    return [None] if found is None else list(found)


def _truth(said: Verdict | None) -> Entailed:
    return None if said is None or said.label is None else said.label == "supported"
