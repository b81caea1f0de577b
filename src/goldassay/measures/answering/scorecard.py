"""The scorecard of answering: all measures over a set of answers.

By default it has every value that costs little. What embeds texts (semantic similarity, BERTScore, and with them the
ranking's quality, accuracy and final score) is computed on request: by name in ``measures``, or with an embedder. What
only some records have the evidence for (verdicts, citations, thresholds) is there if one record has it.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from functools import partial

import numpy as np

from goldassay.embedding import DEFAULT, Embedder, TokenEmbedder, available, available_tokens, register
from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measure import Measure, check_choice, parse
from goldassay.measures.answering.abstention import BestThreshold
from goldassay.measures.answering.claims import RATES, CitationRate, ClaimRate, Relevance
from goldassay.measures.answering.grounding import ContextEntityRecall, FactualAccuracy, LexicalSupport, LostByRetrieval
from goldassay.measures.answering.matching import AnswerBatch, Baseline
from goldassay.measures.answering.measures import ANLS, BLEU, F1, ROUGE, ChrF, ExactMatch
from goldassay.measures.answering.protocols import (
    PROTOCOLS,
    Conditional,
    Drop,
    Kilt,
    SupportingFacts,
    answer_type,
)
from goldassay.measures.answering.ranking import (
    BERTScore,
    Calibration,
    Confidence,
    FinalScore,
    Robustness,
    SemanticSimilarity,
    Speed,
)
from goldassay.measures.answering.records import AnswerPair, answers
from goldassay.measures.judged import JudgedMean
from goldassay.scorecard import Batches, Scorecard, Sections, fold
from goldassay.tally import divide

MEASURES: tuple[Measure, ...] = (
    *(ExactMatch(), F1()),
    *(ExactMatch("unicode"), F1("unicode", articles=("de", "het", "een"))),
    *(ExactMatch("mlqa"), F1("mlqa")),
    *(ROUGE(kind) for kind in ("1", "2", "L", "Lsum")),
    *(ROUGE("1", part="r"), ROUGE("L", stem=True), ROUGE("L", tokenizer="unicode")),
    *(ContextEntityRecall(), ContextEntityRecall(match="exact")),
    *map(ClaimRate, RATES),
    *(CitationRate("recall"), CitationRate("precision")),
    *(FactualAccuracy(), LexicalSupport(), Relevance()),
    *(Confidence(), Speed(), Robustness()),
    *(Calibration(statistic=name) for name in ("brier", "ece", "aurc")),
    LostByRetrieval(),
    *(BLEU(), ChrF(), ANLS(), ExactMatch("written", empty="equal"), F1("triviaqa", empty="overlap")),
    *(Drop("exact"), Drop(), Kilt(), Kilt("recall@5"), Kilt("rouge_l")),
    *(
        SupportingFacts(rate, of)
        for rate, of in (("f1", "facts"), ("exact", "facts"), ("f1", "answer"), ("f1", "joint"))
    ),
    *(Conditional(ExactMatch()), Conditional(F1(), "answerable"), BestThreshold()),
)
WITH_EVIDENCE = {*RATES, "citation_recall", "citation_precision", "lost_by_retrieval"} - {"faithfulness"}
"""Values that are on a scorecard only if one record has evidence for them."""
DEFAULT_VALUES = (
    *("exact_match", "f1", "rouge1", "rouge2", "rougeL"),
    *("semantic_similarity", "bertscore_f1", "context_entity_recall"),
    *("faithfulness", "relevance", "factual_accuracy", "lexical_support"),
    *(rate for rate in RATES if rate != "faithfulness"),
    *("citation_recall", "citation_precision", "lost_by_retrieval", "brier", "ece", "aurc"),
    *("accuracy", "quality", "confidence", "speed", "robustness", "final_score"),
)
BY_KIND = ("exact_match", "exact", "em", "f1", "mlqa_f1")
FACETS = ("answerable", "answer_type", "language")
OFFICIAL_FACETS = {"squad2": ("answerable",), "drop": ("answer_type",)}
"""The facets that official scripts print, too."""
NO_MODEL = "no model is installed (pip install 'goldassay[semantic]')"
FAILED = "{n} of {examples} questions have no answer because the program failed or made no prediction; they count 0"
SCRIPTS = (
    "{n} of {examples} questions have answers outside ASCII: rouge-score's tokenizer drops such letters "
    "(tokenizer='unicode' keeps them), and f1 takes a run without spaces for one word (mlqa_f1 does not)"
)


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    measures: Sequence[str | Measure] | None = None,
    protocol: str | None = None,
    embedder: Embedder | str | None = None,
    tokens: TokenEmbedder | str | None = None,
    baseline: Baseline | None = None,
) -> Scorecard:
    """All values over aligned records; ``None`` without the evidence or the model.

    Args:
        gold: questions with their answers.
        pred: the answers, one for each question.
        measures: only these: names of values (``rouge1``, ``semantic_similarity``), measures, or their reprs
            (``"ROUGE('Lsum')"``).
        protocol: an official protocol (`PROTOCOLS`): its values instead, under the names of its script.
        embedder: makes the vectors of semantic similarity; ``"auto"`` is what is on this machine.
        tokens: makes those of BERTScore; ``"auto"`` likewise.
        baseline: BERTScore is rescaled by it.

    Raises:
        DataError: a field is not what it should be.
        GoldassayError: no measure has a name that was asked for.

    >>> gold = [{"answers": ["1800"]}, {"answers": []}]
    >>> card = scorecard(gold, [{"answer": "In 1800"}, {"answer": ""}])
    >>> card.values["exact_match"], round(card.values["f1"], 4), card.values["semantic_similarity"]
    (0.5, 0.8333, None)
    """
    shared = Batches(gold, pred)
    if protocol is not None:
        check_choice("protocol", protocol, (*PROTOCOLS,))
        by = {facet: partial(_by_kind, facet) for facet in OFFICIAL_FACETS.get(protocol, ())}
        card = fold("answering", PROTOCOLS[protocol], shared, sections=Sections(by=by))
        card.protocol = protocol
        card.values = {key: value for key, value in card.values.items() if value is not None}
        card.measures = {name: measure for name, measure in card.measures.items() if name in card.values}
        return card
    asked = {name for name in measures or () if isinstance(name, str)}
    models, missing = _models(asked, embedder, tokens, baseline)
    chosen = _chosen(DEFAULT_VALUES if measures is None else measures, models)
    available = {name: measure for name, measure in chosen.items() if measure not in missing}
    card = fold("answering", available, shared, sections=_sections({*chosen}))
    if measures is None:
        empty = {name for name in WITH_EVIDENCE if card.values[name] is None}
        chosen = {name: measure for name, measure in chosen.items() if name not in empty}
    for name, measure in chosen.items():
        if name in asked and card.values.get(name) is None:
            reason = NO_MODEL if measure in missing else "no record has the evidence"
            card.warnings.append(f"{name} is not computed: {reason}")
    card.values = {name: card.values.get(name) for name in chosen}
    card.measures = chosen
    card.conventions = {name: measure.conventions for name, measure in chosen.items()}
    card.counts = {name: counts for name, counts in card.counts.items() if name in chosen}
    card.warnings += _unknown(card)
    return card


def _unknown(card: Scorecard) -> list[str]:
    """A warning about values with missing verdicts."""
    ranges = [
        f"{name} lies between {total.value:.4f} and {total.highest:.4f}"
        for name, total in card.totals.items()
        if name in card.values and isinstance(total, JudgedMean) and total.unknown
    ]
    return [f"Missing verdicts count as not supported: {', '.join(ranges)}"] if ranges else []


Named = dict[str, Measure]


def _models(
    asked: Set[str],
    embedder: Embedder | str | None,
    tokens: TokenEmbedder | str | None,
    baseline: Baseline | None,
) -> tuple[Named, list[Measure]]:
    """The measures that embed texts, by name, and those whose model is neither given nor asked for by name.

    ``"auto"``, and a value that is asked for without a model, take a model that is on this machine.
    """
    final = {"final_score"}
    if embedder == "auto" or (embedder is None and asked & {"semantic_similarity", "quality", *final}):
        embedder = available()
    if tokens == "auto" or (tokens is None and asked & {"bertscore_f1", "accuracy", *final}):
        tokens = available_tokens()
    quality = SemanticSimilarity(_model_name(embedder))
    accuracy = BERTScore(_model_name(tokens), baseline=baseline)
    whole = FinalScore(quality.embedder, accuracy.model, baseline)
    named: Named = {quality.key: quality, accuracy.key: accuracy, "accuracy": accuracy, "quality": quality}
    missing: list[Measure] = [
        *((quality, whole) if not embedder else ()),
        *((accuracy, whole) if not tokens else ()),
    ]
    return {**named, whole.key: whole}, missing


def _model_name(model: Embedder | TokenEmbedder | str | None) -> str:
    """The name under which a model is found again."""
    if isinstance(model, str):
        return model
    return register(model) if model else DEFAULT


def _chosen(names: Sequence[str | Measure], models: Named) -> Named:
    """The measures that were asked for, by the names of their values."""
    known = {**{measure.key: measure for measure in reversed(MEASURES)}, **models}
    chosen: Named = {}
    for name in names:
        if isinstance(name, Measure):
            chosen[name.key] = name
        elif name in known or "(" in name:
            chosen[name] = known.get(name) or parse(f"answering.{name}")
        else:
            raise GoldassayError(f"answering has no measure {name!r}; it has {', '.join(known)}, and reprs of measures")
    return chosen


def _facts(part: Batches, first: Measure) -> dict[str, int]:
    """Questions whose answers are in another script, and programs that failed."""
    batch: AnswerBatch = part.of(ExactMatch())
    return {"foreign": sum(map(_is_foreign, batch.golds)), "failed": sum(batch.failed)}


def _is_foreign(golds: Sequence[str]) -> bool:
    """Whether most letters of the answers are outside ASCII."""
    letters = [letter for letter in "".join(golds) if letter.isalnum()]
    return 2 * sum(map(str.isascii, letters)) < len(letters)


def _by_kind(facet: str, card: Scorecard) -> dict[str, dict[str, float]] | None:
    """Exact match and F1 by kind of question: with and without an answer, by type of answer, by language."""
    totals = {name: card.tallies[name] for name in BY_KIND if name in card.measures}
    shared = card.shared if card.shared and totals else Batches((), ())
    totals = {name: shared.weighted(tallies) for name, tallies in totals.items()}
    kinds: list[str | None]
    if facet == "answerable":
        kinds = ["answerable" if answers(example) else "unanswerable" for example in shared.gold]
    else:
        kinds = [read(example, facet, None) for example in shared.gold]
    if facet == "answer_type" and "em" in totals:
        kinds = [answer_type(AnswerPair(*pair)) for pair in zip(shared.gold, shared.pred, strict=True)]
    by: dict[str, dict[str, float]] = {}
    names = np.array([str(kind) for kind in kinds])
    for kind in sorted({str(kind) for kind in kinds if kind is not None}):
        rows = names == kind
        means = {
            name: float(divide(tally.total[rows].sum(), tally.weight[rows].sum())) for name, tally in totals.items()
        }
        by[kind] = {**means, "support": int(rows.sum())}
    return by or None


def _sections(names: Set[str]) -> Sections:
    """Facets and warnings of a scorecard with these values."""
    by_words = names & {"f1", "rouge1", "rouge2", "rougeL"}
    warnings = {"foreign": SCRIPTS, "failed": FAILED} if by_words else {"failed": FAILED}
    return Sections(_facts, {facet: partial(_by_kind, facet) for facet in FACETS}, warnings)
