"""Answering: is the answer right, is it grounded, and does the program know when it does not know?

Read in this order: `records` (what a question and an answer are), `matching` (how answers are compared; many questions
at once), `measures` (exact match, F1, ROUGE, BLEU, chrF, ANLS), `claims` (tables of verdicts and their rates,
relevance, citations), `grounding` (entities, lexical support, facts), `ranking` (its five values, and calibration),
`abstention` (questions without an answer: SQuAD 2.0), `mistakes` (the errors, in words), `scorecard` (everything over a
set). HotpotQA, DROP, KILT and others are in `goldassay.ext.protocols`.
"""

from __future__ import annotations

from goldassay.measures import misspelled
from goldassay.measures.answering.claims import CitationRate, ClaimRate, Relevance
from goldassay.measures.answering.grounding import (
    ContextEntityRecall,
    FactualAccuracy,
    LexicalSupport,
    LostByRetrieval,
    factual_accuracy,
)
from goldassay.measures.answering.matching import bertscore, rouge, similarity, squad
from goldassay.measures.answering.measures import ANLS, BLEU, F1, ROUGE, ChrF, ExactMatch
from goldassay.measures.answering.ranking import (
    BERTScore,
    Calibration,
    Confidence,
    Robustness,
    SemanticSimilarity,
    Speed,
    final_score,
)
from goldassay.measures.answering.records import answers, reference
from goldassay.measures.answering.scorecard import MEASURES, scorecard
from goldassay.measures.judged import JudgedMean
from goldassay.text.words import found_entities, sentences

__all__ = [
    "ANLS",
    "BLEU",
    "F1",
    "MEASURES",
    "ROUGE",
    "BERTScore",
    "Calibration",
    "ChrF",
    "CitationRate",
    "ClaimRate",
    "Confidence",
    "ContextEntityRecall",
    "ExactMatch",
    "FactualAccuracy",
    "JudgedMean",
    "LexicalSupport",
    "LostByRetrieval",
    "Relevance",
    "Robustness",
    "SemanticSimilarity",
    "Speed",
    "answers",
    "bertscore",
    "factual_accuracy",
    "final_score",
    "found_entities",
    "reference",
    "rouge",
    "scorecard",
    "sentences",
    "similarity",
    "squad",
]
__getattr__ = misspelled
