"""The scorecard's part on how sure a program is: calibration, SQuAD 2.0's thresholds, the ranking's five."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.measure import Measure
from goldassay.measures.answering import calibration, ranking
from goldassay.measures.answering import thresholds as squad2
from goldassay.measures.answering.card_rows import Rows, absent, each
from goldassay.measures.answering.records import confidence
from goldassay.scorecard import Scorecard

RULES: tuple[Measure[Any], ...] = (ranking.Confidence(), ranking.Speed(), ranking.Robustness())
CALIBRATION = {
    "brier": ("mean (confidence − correct)²", "Brier, Monthly Weather Review 1950"),
    "ece": ("Σ_b (n_b/n) |accuracy_b − confidence_b| over 10 equal bins", "Naeini et al., AAAI 2015"),
    "aurc": (
        "area under risk–coverage: mean over k of the error rate of the k most confident",
        "Geifman et al., ICLR 2019",
    ),
}


def calibrated(card: Scorecard, rows: Rows, exact: Sequence[float]) -> None:
    """Over the questions that were answered with a confidence: correct is an exact match."""
    sure, right = [], []
    for pred, text, hit, lost in zip(rows.pred, rows.found, exact, rows.broken, strict=True):
        raw = None if lost or ranking.empty(text) else confidence(pred)
        if raw is not None:
            sure.append(raw)
            right.append(hit)
    for name, (formula, source) in CALIBRATION.items():
        card.values[name] = getattr(calibration, name)(sure, right) if sure else None
        card.conventions[name] = f"{name}[correct=exact_match, over=answered with a confidence]"
        card.explain[name] = f"{formula}; lower is better. Source: {source}."
    if sure:
        card.counts["calibration"] = {"answered": float(len(sure)), "correct": float(sum(right))}


def thresholds(card: Scorecard, rows: Rows, exact: Sequence[float], f1: Sequence[float]) -> None:
    """SQuAD 2.0's best thresholds, where some questions have no answer and every prediction a confidence."""
    sure = [confidence(pred) for pred in rows.pred if pred is not None]
    known = [raw for raw in sure if raw is not None]
    if len(known) < len(rows.pred) or all(rows.expected):
        return
    unsure = [round(1 - raw, 12) for raw in known]
    for name, scores in (("exact", exact), ("f1", f1)):
        best, threshold = squad2.best_threshold(scores, unsure, [bool(one) for one in rows.expected])
        for key, value, formula in (
            (f"best_{name}", best, squad2.DEFINITION),
            (
                f"best_{name}_thresh",
                threshold,
                f"the probability of no answer up to which answers count in best_{name}",
            ),
        ):
            card.values[key] = value
            card.conventions[key] = f"{key}[probability=1 − confidence, ties=together]"
            card.explain[key] = f"{formula}. Source: {squad2.SOURCE}."


def five(
    card: Scorecard, rows: Rows, accuracy: float | None, quality: float | None, weights: Mapping[str, float]
) -> None:
    """The ranking's five and their sum."""
    each(card, rows, RULES)
    _unsaid(card, rows)
    made = {"accuracy": accuracy, "quality": quality} | {rule.key: card.values.pop(rule.key) for rule in RULES}
    for name, other in (("accuracy", "bertscore_f1"), ("quality", "semantic_similarity")):
        card.conventions[name] = f"{name}[{card.conventions[other]}]"
        card.explain[name] = f"the ranking's {name}: {other}, answerable questions only. {card.explain[other]}"
    card.values |= {name: made[name] for name in ranking.FIVE}
    card.values["final_score"] = ranking.final_score(made, weights)
    plain = ", ".join(f"{name} {weight:g}" for name, weight in weights.items())
    card.conventions["final_score"] = f"final_score[weights={plain}]"
    card.explain["final_score"] = f"the weighted mean of the five; no value where one is missing. {ranking.SOURCE}"


def _unsaid(card: Scorecard, rows: Rows) -> None:
    """The rule for confidence can judge empty answers without one; alone they are no value, and gaps are said."""
    spoken = [
        confidence(pred)
        for pred, text, lost in zip(rows.pred, rows.found, rows.broken, strict=True)
        if not lost and not ranking.empty(text)
    ]
    missing = spoken.count(None)
    if missing and missing == len(spoken):
        absent(card, RULES[0], "no answer comes with a confidence")
        card.counts.pop(RULES[0].key, None)
    elif missing:
        card.warnings.append(f"{missing} of {len(spoken)} answers have no confidence and are left out of confidence")
