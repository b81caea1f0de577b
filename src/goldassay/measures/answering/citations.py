"""Citations (ALCE): do the cited passages carry the sentence, and is each of them needed?

A sentence is recalled (1) if it cites something and its cited passages together entail it. A citation of a recalled
sentence is precise if its passage entails the sentence alone, or if the others fail to entail it without it. Recall is
the mean over an answer's sentences, precision the share of precise citations; both are means over answers.

Gao et al., Enabling large language models to generate text with citations, EMNLP 2023.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import Error, Measure, Review, failed, pred_field
from goldassay.measures.answering import claims
from goldassay.measures.judged import UNKNOWN, JudgedMean

Entails = Callable[[str, str], bool | None]
"""Premise and hypothesis to a verdict; ``None`` if it did not come back."""


@dataclass(frozen=True)
class Cited:
    """One sentence with its citations: whether all together entail it, each alone, and the others without each."""

    sentence: str
    together: bool | None
    alone: tuple[bool | None, ...] = ()
    without: tuple[bool | None, ...] = ()

    def precise(self, unknown: bool = False) -> int:
        """How many of the citations are precise, or may be if every unknown verdict went their way (``unknown``)."""
        holds, fails = ((True, None), (False, None)) if unknown else ((True,), (False,))
        pairs = zip(self.alone, self.without, strict=True)
        return sum(alone in holds or rest in fails for alone, rest in pairs) if self.together in holds else 0

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
    together, n = entails("\n".join(passages), sentence) if passages else False, len(passages)
    if n < 2 or not together:  # one citation of a recalled sentence is precise; of others none is
        return Cited(sentence, together, (together,) * n, (False,) * n)
    alone = tuple(entails(passage, sentence) for passage in passages)
    rests = ("\n".join([*passages[:place], *passages[place + 1 :]]) for place in range(n))
    return Cited(sentence, together, alone, tuple(entails(rest, sentence) for rest in rests))


@dataclass(frozen=True)
class CitationRate(Measure[JudgedMean]):
    """Citation ``recall``, the share of sentences that their citations carry, or ``precision``.

    Precision is the share of citations that suffice or are needed. The verdicts are those in the prediction's
    ``citations``; without them the measure does not apply. An answer without citations has precision 0.

    >>> row = {"sentence": "a", "together": True, "alone": [True, False], "without": [False, True]}
    >>> [CitationRate(rate)({}, {"citations": [row]}).tally.value for rate in ("recall", "precision")]
    [1.0, 0.5]
    """

    name = "citation_{rate}"
    task = "answering"
    zero = JudgedMean()
    pred_fields = ("citations",)
    fixed = {"average": "answers", "failed": "left out", "unknown": UNKNOWN}
    source = "Gao et al., EMNLP 2023 (ALCE)"
    in_key = ("rate",)
    choices = {"rate": ("recall", "precision")}

    rate: str = "recall"

    @property
    def formula(self) -> str:  # type: ignore[override]
        """The definition of the rate."""
        if self.rate == "recall":
            return "sentences whose cited passages together entail them / sentences; mean over answers"
        needed = "without which the others do not"
        return f"citations that entail their sentence alone, or {needed} / citations; mean over answers"

    def tally(self, gold: object, pred: object) -> JudgedMean:
        """The citations of one answer."""
        rows = verdicts(pred)
        if not rows:
            return JudgedMean()
        if self.rate == "recall":
            total = len(rows)
            certain, possible = (sum(row.together in holds for row in rows) for holds in ((True,), (True, None)))
        else:
            total = sum(len(row.alone) for row in rows) or 1
            certain, possible = (sum(row.precise(unknown) for row in rows) for unknown in (False, True))
        return JudgedMean(certain / total, 1.0, possible / total, float(sum(row.unknown for row in rows)))

    def errors(self, gold: object, pred: object) -> Review:
        """The sentences that their citations do not carry."""
        lost = [row.sentence for row in verdicts(pred) if row.together is not True]
        message = "What “{}” cites does not carry it."
        return tuple(Error("unsupported", message.format(one), pred=one, field="citations") for one in lost), ()


def verdicts(pred: object) -> list[Cited]:
    """The prediction's ``citations``, if they come with verdicts (``together``, ``alone``, ``without``)."""
    listed = None if failed(pred) else pred_field(pred, "citations", None)
    rows: list[Cited] = []
    for place, row in enumerate(listed if isinstance(listed, (list, tuple)) else ()):
        if not isinstance(row, Mapping) or "together" not in row:
            return []
        name, field = read(pred, "id", None), f"citations[{place}]"
        fields = {"together": [row["together"]], "alone": row.get("alone", ()), "without": row.get("without", ())}
        (together,), alone, without = (claims.verdicts(v, name, f"{field}.{key}") for key, v in fields.items())
        if len(alone) != len(without):
            what = f"{len(alone)} verdicts alone, {len(without)} without; each citation has one of both"
            raise DataError(what, record=name, field=field)
        rows.append(Cited(str(row.get("sentence", "")), together, alone, without))
    return rows
