"""Citations (ALCE): do the cited passages carry the sentence, and is each of them needed?

A sentence is recalled (1) when it cites something and its cited passages together entail it. A citation of a recalled
sentence is precise when its passage entails the sentence alone, or when the others fail to entail it without it. Recall
is the mean over an answer's sentences, precision the share of precise citations; both are means over answers.

Gao et al., Enabling large language models to generate text with citations, EMNLP 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import Assessment, Error, Measure, failed, pred_field
from goldassay.measures.answering.claims import verdict
from goldassay.measures.answering.claims import verdicts as verdicts_of
from goldassay.measures.judged import UNKNOWN, JudgedMean

Entails = Callable[[str, str], bool | None]
"""Premise and hypothesis to a verdict; ``None`` where it did not come back."""


@dataclass(frozen=True)
class Cited:
    """One sentence with its citations: whether all together entail it, each alone, and the others without each."""

    sentence: str
    together: bool | None
    alone: tuple[bool | None, ...] = ()
    without: tuple[bool | None, ...] = ()

    @property
    def precise(self) -> int:
        """How many of the citations are precise."""
        if not self.together:
            return 0
        pairs = zip(self.alone, self.without, strict=True)
        return sum(alone is True or rest is False for alone, rest in pairs)

    @property
    def possible(self) -> int:
        """How many of them are precise, or would be if every unknown verdict went their way."""
        if self.together is False:
            return 0
        pairs = zip(self.alone, self.without, strict=True)
        return sum(alone is not False or rest is not True for alone, rest in pairs)

    @property
    def unknown(self) -> int:
        """How many verdicts did not come back."""
        return [self.together, *self.alone, *self.without].count(None)


def cited(sentence: str, passages: Sequence[str], entails: Entails) -> Cited:
    """Ask for all verdicts that a sentence with its cited passages needs.

    >>> def contains(premise, hypothesis):
    ...     return all(word in premise for word in hypothesis.split())
    >>> cited("a b", ["a", "b", "c"], contains)
    Cited(sentence='a b', together=True, alone=(False, False, False), without=(False, False, True))
    """
    if not passages:
        return Cited(sentence, False)
    together = entails("\n".join(passages), sentence)
    if len(passages) == 1 or not together:  # one citation of a recalled sentence is precise; of others none is
        return Cited(sentence, together, (together,) * len(passages), (False,) * len(passages))
    alone = tuple(entails(passage, sentence) for passage in passages)
    rests = [[*passages[:place], *passages[place + 1 :]] for place in range(len(passages))]
    return Cited(sentence, together, alone, tuple(entails("\n".join(rest), sentence) for rest in rests))


def citations(rows: Sequence[Cited]) -> tuple[float | None, float | None]:
    """Recall and precision of an answer's citations; no sentences have no recall, no citations have precision 0.

    >>> citations([Cited("a b", True, (False, False, False), (False, False, True)), Cited("c", False)])   # 1/2, 2/3
    (0.5, 0.6666666666666666)
    """
    if not rows:
        return None, None
    total = sum(len(row.alone) for row in rows)
    return sum(row.together is True for row in rows) / len(rows), (
        sum(row.precise for row in rows) / total if total else 0.0
    )


@dataclass(frozen=True)
class _Citations(Measure[JudgedMean]):
    """From the verdicts in the prediction's ``citations``; not applicable without them."""

    task: ClassVar[str] = "answering"
    zero: ClassVar[JudgedMean] = JudgedMean()
    pred_fields: ClassVar[tuple[str, ...]] = ("citations",)
    fixed: ClassVar[dict[str, str]] = {"average": "answers", "unknown": UNKNOWN}
    source: ClassVar[str] = "Gao et al., EMNLP 2023 (ALCE)"
    place: ClassVar[int] = 0

    def assess(self, gold: object, pred: object) -> Assessment[JudgedMean]:
        """The citations of one answer."""
        rows = None if failed(pred) else verdicts(pred)
        value = citations(rows)[self.place] if rows else None
        if rows is None or value is None:
            return Assessment(JudgedMean())
        tally = JudgedMean(value, 1.0, self.highest(rows), float(sum(row.unknown for row in rows)))
        errors = tuple(
            Error(
                "unsupported", f"What “{row.sentence}” cites does not carry it.", pred=row.sentence, field="citations"
            )
            for row in rows
            if row.together is not True
        )
        return Assessment(tally, errors)

    def highest(self, rows: Sequence[Cited]) -> float:
        """The value if every unknown verdict went its way."""
        if self.place == 0:
            return sum(row.together is not False for row in rows) / len(rows)
        total = sum(len(row.alone) for row in rows)
        return sum(row.possible for row in rows) / total if total else 0.0


def verdicts(pred: object) -> list[Cited] | None:
    """The prediction's ``citations``, where they come with verdicts (``together``, ``alone``, ``without``)."""
    found = pred_field(pred, "citations", None)
    if not isinstance(found, (list, tuple)) or not found:
        return None
    out = []
    for place, row in enumerate(found):
        if isinstance(row, Cited):
            out.append(row)
            continue
        if not isinstance(row, Mapping) or "together" not in row:
            return None
        name, field = read(pred, "id", None), f"citations[{place}]"
        alone, without = (verdicts_of(row.get(key, ()), name, f"{field}.{key}") for key in ("alone", "without"))
        if len(alone) != len(without):
            what = f"{len(alone)} verdicts alone, {len(without)} without; each citation has one of both"
            raise DataError(what, record=name, field=field)
        together = verdict(row["together"], name, f"{field}.together")
        out.append(Cited(str(row.get("sentence", "")), together, alone, without))
    return out


@dataclass(frozen=True)
class CitationRecall(_Citations):
    """The share of sentences that their citations carry.

    >>> row = {"sentence": "a", "together": True, "alone": [True], "without": [False]}
    >>> CitationRecall()({}, {"citations": [row]}).tally
    JudgedMean(total=1.0, weight=1.0, most=1.0, unknown=0.0)
    """

    name: ClassVar[str] = "citation_recall"
    formula: ClassVar[str] = "sentences whose cited passages together entail them / sentences; mean over answers"


@dataclass(frozen=True)
class CitationPrecision(_Citations):
    """The share of citations that are needed or suffice.

    >>> row = {"sentence": "a", "together": True, "alone": [True, False], "without": [False, True]}
    >>> CitationPrecision()({}, {"citations": [row]}).tally.value
    0.5
    """

    name: ClassVar[str] = "citation_precision"
    place: ClassVar[int] = 1
    formula: ClassVar[str] = (
        "citations that entail their sentence alone, or without which the others do not / citations; mean over answers"
    )
