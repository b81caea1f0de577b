"""The scorecard of answering: all measures over a set of answers.

By default it has every value that costs little. What embeds texts (semantic similarity, BERTScore, and with them the
ranking's quality, accuracy and final score) is computed on request: by name in ``measures``, or with an embedder. What
only some records have the evidence for (verdicts, citations, thresholds) is there if one record has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial
from types import MappingProxyType

import numpy as np

from goldassay._support.exceptions import GoldassayError
from goldassay.core.fields import read
from goldassay.core.measure import Batches, Measure, parse, registered
from goldassay.core.tally import divide
from goldassay.measures.answering.abstention import Attempted, BestThreshold
from goldassay.measures.answering.claims import CLAIM_RATES, CitationRate, ClaimRate, Relevance
from goldassay.measures.answering.grounding import (
    ContextEntityRecall,
    FactualAccuracy,
    LexicalSupport,
    LostByRetrieval,
)
from goldassay.measures.answering.matching import AnswerBatch, Baseline
from goldassay.measures.answering.measures import ANLS, BLEU, F1, ROUGE, ChrF, ExactMatch
from goldassay.measures.answering.ranking import (
    BERTScore,
    Calibration,
    Confidence,
    FinalScore,
    Robustness,
    SemanticSimilarity,
    Speed,
)
from goldassay.measures.answering.records import answers
from goldassay.measures.judged import JudgedMean
from goldassay.measures.protocols import Protocol, official_result
from goldassay.models.embedding import DEFAULT_EMBEDDER, Embedder, TokenEmbedder, available, available_tokens, register
from goldassay.results.result import Facets, Result, Sections, fold
from goldassay.text import normal

MEASURES: tuple[Measure, ...] = (
    ExactMatch(),
    F1(),
    ExactMatch("unicode"),
    F1("unicode", articles=("de", "het", "een")),
    ExactMatch("mlqa"),
    F1("mlqa"),
    *(ROUGE(kind) for kind in ("1", "2", "L", "Lsum")),
    ROUGE("1", part="r"),
    ROUGE("L", stem=True),
    ROUGE("L", tokenizer="unicode"),
    ContextEntityRecall(),
    ContextEntityRecall(match="exact"),
    *map(ClaimRate, CLAIM_RATES),
    CitationRate("recall"),
    CitationRate("precision"),
    FactualAccuracy(),
    LexicalSupport(),
    Relevance(),
    Confidence(),
    Speed(),
    Robustness(),
    *(Calibration(statistic=name) for name in ("brier", "ece", "aurc")),
    LostByRetrieval(),
    BLEU(),
    ChrF(),
    ANLS(),
    ExactMatch("written", empty="equal"),
    F1("triviaqa", empty="overlap"),
    Attempted(ExactMatch()),
    BestThreshold(),
)
WITH_EVIDENCE = {*CLAIM_RATES, "citation_recall", "citation_precision", "lost_by_retrieval"} - {"faithfulness"}
"""Values that are on a scorecard only if one record has evidence for them."""
DEFAULT_VALUES = (
    "exact_match",
    "f1",
    "rouge1",
    "rouge2",
    "rougeL",
    "semantic_similarity",
    "bertscore_f1",
    "context_entity_recall",
    "faithfulness",
    "relevance",
    "factual_accuracy",
    "lexical_support",
    *(rate for rate in CLAIM_RATES if rate != "faithfulness"),
    "citation_recall",
    "citation_precision",
    "lost_by_retrieval",
    "brier",
    "ece",
    "aurc",
    "accuracy",
    "quality",
    "confidence",
    "speed",
    "robustness",
    "final_score",
)
BY_KIND = ("exact_match", "exact", "em", "f1", "mlqa_f1")

SCRIPTS = (
    "{n} of {examples} questions have answers outside ASCII: rouge-score's tokenizer drops such letters "
    "(tokenizer='unicode' keeps them), and f1 takes a run without spaces for one word (mlqa_f1 does not)"
)
FORMS = (
    "{n} of {examples} answers differ from gold's in Unicode's forms alone (accents, quotes, dashes) and count as "
    "wrong by SQuAD's rules, which are of ASCII; unicode_exact_match counts them as right"
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
) -> Result:
    """All values over aligned records; ``None`` without the evidence or the model.

    Args:
        gold: questions with their answers.
        pred: the answers, one for each question.
        measures: only these: names of values (``rouge1``, ``semantic_similarity``), measures, or their reprs
            (``"ROUGE('Lsum')"``).
        protocol: an official protocol: its values instead, under the names of its script.
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
    if official := official_result("answering", shared, protocol):
        return official
    requested = {name for name in measures or () if isinstance(name, str)}
    models, missing = _models(requested, embedder, tokens, baseline)
    chosen = _chosen(DEFAULT_VALUES if measures is None else measures, models)
    available = {name: measure for name, measure in chosen.items() if measure not in missing}
    failed = "{n} of {examples} questions have no answer because the program failed or made no prediction; they count 0"
    warnings = {"foreign": SCRIPTS} if {"f1", "rouge1", "rouge2", "rougeL"} & chosen.keys() else {}
    warnings |= {"forms": FORMS} if {"exact_match", "f1"} & chosen.keys() else {}
    facets = {facet: partial(_by_facet, facet) for facet in ("answerable", "answer_type", "language")}
    sections = Sections(_facts, facets, warnings | {"failed": failed})
    card = fold("answering", available, shared, sections=sections)
    if measures is None:
        empty = {name for name in WITH_EVIDENCE if not card.totals[name].weight}
        chosen = {name: measure for name, measure in chosen.items() if name not in empty}
    for name, measure in chosen.items():
        if name in requested and (name not in card.columns or not card.totals[name].weight):
            no_model = "no model is installed (pip install 'goldassay[semantic]')"
            reason = no_model if measure in missing else "no record has the evidence"
            card.notes.append(f"{name} is not computed: {reason}")
    card.measures = chosen
    card.conventions = {name: measure.conventions for name, measure in chosen.items()}
    ranges = [
        f"{name} lies between {total.value:.4f} and {total.highest:.4f}"
        for name, total in card.totals.items()
        if name in chosen and isinstance(total, JudgedMean) and total.unknown
    ]
    card.notes += [f"Missing verdicts count as not supported: {', '.join(ranges)}"] if ranges else []
    return card


def official_scorecard(
    protocol: str,
    values: Mapping[str, Measure],
    shared: Batches,
    facets: Facets = MappingProxyType({}),
) -> Result:
    """The values of an official script under its names; those without evidence are left out.

    Args:
        protocol: The name of the protocol.
        values: The measure of each value.
        shared: The questions and their answers.
        facets: What the script prints by kind of question, by the name of the facet.
    """
    card = fold("answering", values, shared, sections=Sections(by=facets))
    card.protocol = protocol
    return card.select(name for name, total in card.totals.items() if total.weight)


Named = dict[str, Measure]


def _models(
    requested: Set[str],
    embedder: Embedder | str | None,
    tokens: TokenEmbedder | str | None,
    baseline: Baseline | None,
) -> tuple[Named, list[Measure]]:
    """The measures that embed texts, by name, and those whose model is neither given nor asked for by name.

    ``"auto"``, and a value that is asked for without a model, take a model that is on this machine.
    """
    final = {"final_score"}
    if embedder == "auto" or (embedder is None and requested & {"semantic_similarity", "quality", *final}):
        embedder = available()
    if tokens == "auto" or (tokens is None and requested & {"bertscore_f1", "accuracy", *final}):
        tokens = available_tokens()
    quality = SemanticSimilarity(_model_name(embedder))
    accuracy = BERTScore(_model_name(tokens), baseline=baseline)
    overall = FinalScore(quality.embedder, accuracy.model, baseline)
    named: Named = {quality.key: quality, accuracy.key: accuracy, "accuracy": accuracy, "quality": quality}
    missing: list[Measure] = [
        *((quality, overall) if not embedder else ()),
        *((accuracy, overall) if not tokens else ()),
    ]
    return {**named, overall.key: overall}, missing


def _model_name(model: Embedder | TokenEmbedder | str | None) -> str:
    """The name under which a model is found again."""
    if isinstance(model, str):
        return model
    return register(model) if model else DEFAULT_EMBEDDER


def _chosen(names: Sequence[str | Measure], models: Named) -> Named:
    """The measures that were asked for, by the names of their values."""
    by_key = {**{measure.key: measure for measure in reversed(registered("answering"))}, **models}
    chosen: Named = {}
    for name in names:
        if isinstance(name, Measure):
            chosen[name.key] = name
        elif name in by_key or "(" in name:
            chosen[name] = by_key.get(name) or parse(f"answering.{name}")
        else:
            raise GoldassayError(
                f"answering has no measure {name!r}; it has {', '.join(by_key)}, and reprs of measures"
            )
    return chosen


def _facts(chunk: Batches, first: Measure) -> dict[str, int]:
    """Questions whose answers are in another script or Unicode form, and programs that failed."""
    batch: AnswerBatch = chunk.of(ExactMatch())
    foreign = 0
    for golds in batch.golds:
        letters = [letter for letter in "".join(golds) if letter.isalnum()]
        foreign += 2 * sum(map(str.isascii, letters)) < len(letters)  # most are outside ASCII
    forms = 0
    for answer, golds, exact in zip(batch.answers, batch.golds, batch.squad[0], strict=True):
        if answer and not exact and not "".join([answer, *golds]).isascii():
            forms += normal.unicode(answer) in map(normal.unicode, golds)
    return {"foreign": foreign, "failed": sum(batch.failed), "forms": forms}


def _by_facet(facet: str, card: Result) -> dict[str, dict[str, float]] | None:
    """Means with and without an answer, by type of answer, or by language."""
    gold = card.records
    if facet == "answerable":
        return means_by_kind(card, ["answerable" if answers(example) else "unanswerable" for example in gold])
    return means_by_kind(card, [read(example, facet, None) for example in gold])


def means_by_kind(card: Result, kinds: Sequence[str | None]) -> dict[str, dict[str, float]] | None:
    """Exact match and F1 of each kind of question.

    Args:
        card: The scorecard.
        kinds: The kind of each question; None leaves it out.
    """
    totals = {name: card.design.weighted(card.columns[name]) for name in BY_KIND if name in card.measures}
    if not totals:
        return None
    by: dict[str, dict[str, float]] = {}
    names = np.array([str(kind) for kind in kinds])
    for kind in sorted({str(kind) for kind in kinds if kind is not None}):
        rows = names == kind
        means = {
            name: float(divide(tally.total[rows].sum(), tally.weight[rows].sum())) for name, tally in totals.items()
        }
        by[kind] = {**means, "support": int(rows.sum())}
    return by or None


SQUAD = Protocol(
    "squad",
    ("answering",),
    partial(official_scorecard, "squad", {"exact_match": ExactMatch(empty="overlap"), "f1": F1(empty="overlap")}),
    aliases=("squad1.1",),
)
_SQUAD2: Named = {
    "exact": Attempted(ExactMatch()),
    "f1": Attempted(F1()),
    "best_exact": BestThreshold(),
    "best_f1": BestThreshold("f1"),
}


def _squad2(shared: Batches) -> Result:
    """SQuAD 2.0's values, with a note where ties make the best ones depend on the order of the script's file."""
    card = official_scorecard("squad2", _SQUAD2, shared, {"answerable": partial(_by_facet, "answerable")})
    if (best := card.totals.get("best_exact")) and (tied := best.tied):
        card.notes.append(
            f"{tied} of {len(shared.gold)} questions share their probability with another: best_exact and best_f1 "
            "answer them together; the script goes through them one by one in the order of its file, and may stop "
            "between two of them at a higher value"
        )
    return card


SQUAD2 = Protocol("squad2", ("answering",), _squad2, aliases=("squad_v2", "squad2.0"))
