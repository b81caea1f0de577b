"""The scorecard of extraction: every value of a set of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.measures.extraction import hipe as official
from goldassay.measures.extraction.corpus import SCHEMAS, Corpus, corpus
from goldassay.measures.extraction.counting import MATCH
from goldassay.measures.extraction.measures import FORMULA, MATCHING, SOURCE
from goldassay.measures.extraction.records import fields, name
from goldassay.measures.extraction.schemas import SemEval
from goldassay.scorecard import Scorecard, rates
from goldassay.tally import Counts

PROTOCOLS = (None, "hipe")
RATES = ("precision", "recall", "f1")
ALSO = {
    "strict": "HIPE strict, CoNLL, seqeval, SemEval strict",
    "partial": "HIPE fuzzy, SemEval type",
    "exact": "SemEval exact",
    "type": "the same as partial, HIPE fuzzy, SemEval type; SemEval's own partial ignores the type",
    "type_anywhere": "types of the document, wherever they stand",
    "token": r"a token (\S+) has the types of the spans that overlap it",
}


def scorecard(gold: Sequence[Any], pred: Sequence[Any], *, protocol: str | None = None) -> Scorecard:
    """All values over aligned records; ``protocol="hipe"`` counts in the order of the official HIPE scorer.

    >>> card = scorecard([{"text": "Het Rijksmuseum", "entities": [(4, 15, "MUS")]}], [{"entities": [(4, 15, "MUS")]}])
    >>> card.values["strict_f1"], card.counts["strict"]
    (1.0, {'tp': 1, 'fp': 0, 'fn': 0})
    """
    if protocol not in PROTOCOLS:
        raise GoldassayError(f"no protocol {protocol!r} for extraction; there is hipe")
    left, right, texts = fields(gold, pred)
    found = corpus(left, right, texts, lambda number: name(gold[number]))
    if protocol == "hipe":
        official.replace(found, left, right)
    card = Scorecard("extraction", len(gold))
    how = MATCHING if protocol is None else f"in the order of the text, as the {protocol} scorer"
    for match in ALSO:
        ours = match in ("type_anywhere", "token")  # which no protocol counts
        _micro(card, found.micro["partial" if match == "type" else match], match, MATCHING if ours else how)
    _semeval(card, found, how)
    _by_type(card, found)
    _by_document(card, found, how)
    if found.unlocated:
        card.warnings.append(f"{found.unlocated} predicted spans do not stand in their text and count as spurious")
    return card


def _micro(card: Scorecard, found: Counts, match: str, how: str) -> None:
    counts: dict[str, float] = {key: int(value) for key, value in found.state().items()}
    card.counts[match] = counts
    for key, value in rates(counts, f"{match}_").items():
        means = f"P = tp/(tp+fp), R = tp/(tp+fn), F1 = 2tp/(2tp+fp+fn) over all documents; also known as: {ALSO[match]}"
        _say(card, key, value, f"match={MATCH[match]}, average=micro, matching={how}, empty=null", f"{means}. {SOURCE}")


def _semeval(card: Scorecard, found: Corpus, how: str) -> None:
    means = (
        "ACT = COR+INC+PAR+SPU, POS = COR+INC+PAR+MIS, P = (COR+½PAR)/ACT, R = (COR+½PAR)/POS, F1 their harmonic mean. "
        f"{SemEval.source}"
    )
    for schema in SCHEMAS:
        counts, key = found.semeval[schema], f"semeval_{schema}"
        card.counts[key] = {part: int(value) for part, value in counts.state().items()}
        values = (counts.precision, counts.recall, counts.value) if counts.weight else (None, None, None)
        for rate, value in zip(RATES, values, strict=True):
            convention = f"schema={schema}, partial credit=0.5, average=micro, matching={how}, empty=null"
            _say(card, f"{key}_{rate}", value, convention, means)


def _by_type(card: Scorecard, found: Corpus) -> None:
    """Each type, which was taken for which, and the means over types: macro in both readings, weighted by support."""
    for match in ("strict", "partial"):
        types = found.types[match].values()
        support = [int(counts.tp + counts.fn) for counts in types]
        for rate in RATES:
            values = [float(getattr(counts, rate)) for counts in types]
            in_gold = [value for value, n in zip(values, support, strict=True) if n]
            weighted = [value * n / sum(support) for value, n in zip(values, support, strict=True) if n]
            for key, value, over in (
                (f"{match}_macro_{rate}", _mean(in_gold), "macro over types with gold"),
                (f"{match}_macro_{rate}_seen", _mean(values), "macro over all types seen"),
                (f"{match}_weighted_{rate}", sum(weighted) if weighted else None, "weighted by gold support"),
            ):
                means = f"mean over types of {FORMULA[rate]}, {over}. {SOURCE}"
                _say(card, key, value, f"match={MATCH[match]}, average={over}, empty=null", means)
    card.by["type"] = {
        kind: {
            **{key: value for match in ("strict", "partial") for key, value in _rates(found, match, kind).items()},
            "support": int(counts.tp + counts.fn),
            "predicted": int(counts.tp + counts.fp),
            "ratio": (counts.tp + counts.fp) / (counts.tp + counts.fn) if counts.tp + counts.fn else None,
        }
        for kind, counts in sorted(found.types["strict"].items())
    }
    card.by["confusion"] = {kind: dict(row) for kind, row in sorted(found.confusion.items())}


def _rates(found: Corpus, match: str, kind: str) -> dict[str, float | None]:
    return rates(found.types[match].get(kind, Counts(0, 0, 0)).state(), f"{match}_")


def _by_document(card: Scorecard, found: Corpus, how: str) -> None:
    for match, prefix in (("strict", "macro_doc_"), ("partial", "macro_doc_partial_")):
        counts = found.documents[match]
        given, wanted = np.asarray(counts.tp + counts.fp) > 0, np.asarray(counts.tp + counts.fn) > 0
        for rate, some in (("precision", given), ("recall", wanted), ("f1", given & wanted)):
            value = float(np.mean(getattr(counts, rate)[some])) if some.any() else None
            means = (
                f"mean over documents of {FORMULA[rate]}; those without predictions leave P and F1, those without gold "
                "leave R and F1. Ehrmann et al. 2022 (HIPE)"
            )
            convention = f"match={MATCH[match]}, average=macro by document, matching={how}, empty=left out"
            _say(card, prefix + rate, value, convention, means)


def _say(card: Scorecard, key: str, value: float | None, convention: str, means: str) -> None:
    card.values[key] = value if value is None else float(value)
    card.conventions[key] = f"{key}[{convention}]"
    card.explain[key] = means


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
