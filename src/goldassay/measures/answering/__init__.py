"""Answering: is the answer right, is it grounded, and does the program know when it does not know?

Read in this order: `records` (what a question and an answer are), `normal` and `words` (when texts are equal), `squad`
and `rouge` (words), `similarity` and `bertscore` (embeddings), `claims` with `claim_measures`, `citations`, `facts` and
`entities` (what is supported), `lexical` (the stand-in without a judge), `judged` and `lost`, `calibration` and
`thresholds`, `ranking` with `rankings`, `card` (everything over a set), `founding`. Which damage each of them notices
stands in `goldassay.proof.mutation`.
"""

from __future__ import annotations

from typing import Any

from goldassay.measure import Measure
from goldassay.measures.answering.bertscore import BERTScore, bertscore, rescaled
from goldassay.measures.answering.calibration import aurc, best_threshold, brier, ece, risk_coverage
from goldassay.measures.answering.citations import CitationPrecision, CitationRecall, Cited, citations, cited
from goldassay.measures.answering.claim_measures import (
    ClaimF1,
    ClaimPrecision,
    ClaimRecall,
    ContextPrecision,
    ContextUtilization,
    Faithfulness,
    Hallucination,
    NoiseSensitivity,
    Relevance,
    RetrievedClaimRecall,
    SelfKnowledge,
    Shares,
)
from goldassay.measures.answering.claims import Share, Support
from goldassay.measures.answering.entities import ContextEntityRecall, found_entities
from goldassay.measures.answering.facts import FactualAccuracy, factual_accuracy
from goldassay.measures.answering.lexical import LexicalSupport, lexical_support, sentence_support
from goldassay.measures.answering.lost import LostByRetrieval
from goldassay.measures.answering.ranking import (
    Confidence,
    Robustness,
    Speed,
    confidence_score,
    final_score,
    robustness_score,
    speed_score,
)
from goldassay.measures.answering.records import answers, reference
from goldassay.measures.answering.rouge import ROUGE, rouge
from goldassay.measures.answering.rouge_batch import rouge_batch
from goldassay.measures.answering.scorecard import scorecard
from goldassay.measures.answering.similarity import SemanticSimilarity, similarity
from goldassay.measures.answering.squad import F1, ExactMatch, UnicodeExactMatch, UnicodeF1, squad
from goldassay.text.sentences import sentences

MEASURES: tuple[Measure[Any], ...] = (
    ExactMatch(),
    F1(),
    UnicodeExactMatch(),
    UnicodeF1(articles=("de", "het", "een")),
    ROUGE("1"),
    ROUGE("2"),
    ROUGE("L"),
    ROUGE("Lsum"),
    ROUGE("1", part="r"),
    ROUGE("L", stem=True),
    ROUGE("L", tokenizer="unicode"),
    ContextEntityRecall(),
    ContextEntityRecall(match="exact"),
    ClaimPrecision(),
    ClaimRecall(),
    ClaimF1(),
    Faithfulness(),
    RetrievedClaimRecall(),
    ContextPrecision(),
    ContextUtilization(),
    CitationRecall(),
    CitationPrecision(),
    FactualAccuracy(),
    LexicalSupport(),
    Relevance(),
    Confidence(),
    Speed(),
    Robustness(),
)


def perfect(gold: Any) -> dict[str, Any]:
    """The prediction that gets everything right: gold's answer, retrieved and claimed.

    >>> perfect({"answers": ["1800"], "reference": "In 1800."})
    {'answer': '1800', 'confidence': 1.0, 'retrieved_contexts': ['In 1800.', '1800'], 'claims': ['In 1800.']}
    >>> perfect({"answers": []})
    {'answer': '', 'confidence': 0.0, 'retrieved_contexts': [], 'claims': []}
    """
    expected = answers(gold)
    if not expected:
        return {"answer": "", "confidence": 0.0, "retrieved_contexts": [], "claims": []}
    long = reference(gold)
    return {
        "answer": expected[0],
        "confidence": 1.0,
        "retrieved_contexts": list(dict.fromkeys([long, expected[0]] if long else expected)),
        "claims": [long] if long else [],
    }


__all__ = [
    "F1",
    "MEASURES",
    "ROUGE",
    "BERTScore",
    "CitationPrecision",
    "CitationRecall",
    "Cited",
    "ClaimF1",
    "ClaimPrecision",
    "ClaimRecall",
    "Confidence",
    "ContextEntityRecall",
    "ContextPrecision",
    "ContextUtilization",
    "ExactMatch",
    "FactualAccuracy",
    "Faithfulness",
    "Hallucination",
    "LexicalSupport",
    "LostByRetrieval",
    "NoiseSensitivity",
    "Relevance",
    "RetrievedClaimRecall",
    "Robustness",
    "SelfKnowledge",
    "SemanticSimilarity",
    "Share",
    "Shares",
    "Speed",
    "Support",
    "UnicodeExactMatch",
    "UnicodeF1",
    "answers",
    "aurc",
    "bertscore",
    "best_threshold",
    "brier",
    "citations",
    "cited",
    "confidence_score",
    "ece",
    "factual_accuracy",
    "final_score",
    "found_entities",
    "lexical_support",
    "perfect",
    "reference",
    "rescaled",
    "risk_coverage",
    "robustness_score",
    "rouge",
    "rouge_batch",
    "scorecard",
    "sentence_support",
    "sentences",
    "similarity",
    "speed_score",
    "squad",
]
