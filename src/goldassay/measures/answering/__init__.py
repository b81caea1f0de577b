"""Answering: is the answer right, is it grounded, and does the program know when it does not know?

Read in this order: `records` (what a question and an answer are), `matching` (when texts are alike, by their words;
many questions at once), `measures` (SQuAD's two and ROUGE, of which `rouge` has the counts), `embeddings` (similarity,
support, BERTScore), `claims` (tables of verdicts) with `claim_measures`, `citations`, `grounding` (entities, lexical
support, facts), `calibration` with its `tally`, `ranking`, `mistakes` (what was got wrong, in words), `scorecard`
(everything over a set).
"""

from __future__ import annotations

from typing import Any

from goldassay.measure import Measure
from goldassay.measures.answering.calibration import (
    AURC,
    ECE,
    BestThreshold,
    Brier,
    aurc,
    best_threshold,
    brier,
    ece,
    risk_coverage,
)
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
)
from goldassay.measures.answering.claims import Support
from goldassay.measures.answering.embeddings import (
    BERTScore,
    SemanticSimilarity,
    SemanticSupport,
    bertscore,
    rescaled,
    semantic_support,
    similarity,
)
from goldassay.measures.answering.grounding import (
    ContextEntityRecall,
    FactualAccuracy,
    LexicalSupport,
    LostByRetrieval,
    factual_accuracy,
    lexical_support,
)
from goldassay.measures.answering.matching import sentence_support, squad
from goldassay.measures.answering.measures import (
    F1,
    MLQAF1,
    ROUGE,
    ExactMatch,
    MLQAExactMatch,
    UnicodeExactMatch,
    UnicodeF1,
    rouge,
)
from goldassay.measures.answering.ranking import (
    Confidence,
    FinalScore,
    Robustness,
    Speed,
    confidence_score,
    final_score,
    robustness_score,
    speed_score,
)
from goldassay.measures.answering.records import answers, reference
from goldassay.measures.answering.rouge import rouge_batch
from goldassay.measures.answering.scorecard import scorecard
from goldassay.measures.answering.tally import BoundedShare
from goldassay.measures.judged import JudgedMean
from goldassay.text.words import found_entities, sentences

MEASURES: tuple[Measure[Any], ...] = (
    ExactMatch(),
    F1(),
    UnicodeExactMatch(),
    UnicodeF1(articles=("de", "het", "een")),
    MLQAExactMatch("zh"),
    MLQAF1(),
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


def perfect(gold: object) -> dict[str, object]:
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
    "AURC",
    "ECE",
    "F1",
    "MEASURES",
    "MLQAF1",
    "ROUGE",
    "BERTScore",
    "BestThreshold",
    "BoundedShare",
    "Brier",
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
    "FinalScore",
    "Hallucination",
    "JudgedMean",
    "LexicalSupport",
    "LostByRetrieval",
    "MLQAExactMatch",
    "NoiseSensitivity",
    "Relevance",
    "RetrievedClaimRecall",
    "Robustness",
    "SelfKnowledge",
    "SemanticSimilarity",
    "SemanticSupport",
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
    "semantic_support",
    "sentence_support",
    "sentences",
    "similarity",
    "speed_score",
    "squad",
]
