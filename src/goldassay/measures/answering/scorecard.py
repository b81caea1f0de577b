"""The scorecard of answering: all measures over a set of answers.

By default it has every value that costs little. What embeds texts (semantic similarity, BERTScore, and with them the
ranking's quality, accuracy and final score) is computed on request: by name in ``measures``, or with an embedder. What
only some records have the evidence for (verdicts, citations, thresholds) is there if one record has it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Any

from goldassay.embedding import DEFAULT, Embedder, Transformer, available, available_tokens, register
from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measure import Measure, check_choice, parse
from goldassay.measures.answering.claims import RATES, CitationRate, ClaimRate, Relevance
from goldassay.measures.answering.grounding import ContextEntityRecall, FactualAccuracy, LexicalSupport, LostByRetrieval
from goldassay.measures.answering.matching import Baseline, Batch
from goldassay.measures.answering.measures import BLEU, F1, ROUGE, ChrF, ExactMatch, language_of
from goldassay.measures.answering.protocols import PROTOCOLS, Conditional, Drop, Kilt, SupportingFacts
from goldassay.measures.answering.ranking import (
    BERTScore,
    Calibration,
    Confidence,
    FinalScore,
    Robustness,
    SemanticSimilarity,
    Speed,
)
from goldassay.measures.judged import JudgedMean
from goldassay.scorecard import Batches, Scorecard, fold
from goldassay.text import normal

MEASURES: tuple[Measure[Any], ...] = (
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
    *(BLEU(), ChrF(), ExactMatch("written", empty="equal"), F1("triviaqa", empty="overlap")),
    *(Drop("exact"), Drop(), Kilt(), Kilt("recall@5"), Kilt("rouge_l")),
    *(
        SupportingFacts(rate, of)
        for rate, of in (("f1", "facts"), ("exact", "facts"), ("f1", "answer"), ("f1", "joint"))
    ),
    *(Conditional(ExactMatch()), Conditional(F1(), "answerable")),
)
QUALITY, ACCURACY, FINAL = {"semantic_similarity", "quality"}, {"bertscore_f1", "accuracy"}, {"final_score"}
WITH_EVIDENCE = {*RATES, "citation_recall", "citation_precision", "lost_by_retrieval"} - {"faithfulness"}
"""Values that stand on a scorecard only if one record has what they are about."""
DEFAULT_VALUES = (
    *("exact_match", "f1", "mlqa_exact_match", "mlqa_f1", "rouge1", "rouge2", "rougeL"),
    *("semantic_similarity", "bertscore_f1", "context_entity_recall"),
    *("faithfulness", "relevance", "factual_accuracy", "lexical_support"),
    *(rate for rate in RATES if rate != "faithfulness"),
    *("citation_recall", "citation_precision", "lost_by_retrieval", "brier", "ece", "aurc"),
    *("accuracy", "quality", "confidence", "speed", "robustness", "final_score"),
)
SCRIPTS = (
    "questions have answers outside ASCII: rouge-score's tokenizer drops such letters (tokenizer='unicode' keeps "
    "them), and f1 takes a run without spaces for one word (mlqa_f1 does not)"
)


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    measures: Sequence[str | Measure[Any]] | str | None = None,
    embedder: Embedder | str | None = None,
    tokens: Transformer | str | None = None,
    baseline: Baseline | None = None,
) -> Scorecard:
    """All values over aligned records; ``None`` without the evidence or the model.

    Args:
        gold: questions with their answers.
        pred: the answers, one for each question.
        measures: only these: names of values (``rouge1``, ``semantic_similarity``), measures, or their reprs
            (``"ROUGE('Lsum')"``); or the name of an official protocol (`PROTOCOLS`), under whose names they stand.
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
    shared, facts = Batches(gold, pred), _Facts()
    if isinstance(measures, str):
        check_choice("protocol", measures, (*PROTOCOLS,))
        card = fold("answering", PROTOCOLS[measures], shared)
        card.values, card.protocol = {key: value for key, value in card.values.items() if value is not None}, measures
        return card
    asked = {name for name in measures or () if isinstance(name, str)}
    vectors = _model(embedder, available, asked & (QUALITY | FINAL))
    of_tokens = _model(tokens, available_tokens, asked & (ACCURACY | FINAL))
    quality, accuracy = SemanticSimilarity(vectors or DEFAULT), BERTScore(of_tokens or DEFAULT, baseline=baseline)
    final = FinalScore(quality.embedder, accuracy.model, baseline)
    chosen = _chosen(DEFAULT_VALUES if measures is None else measures, quality, accuracy, final)
    missing = ([] if vectors else [quality, final]) + ([] if of_tokens else [accuracy, final])
    card = fold("answering", {name: each for name, each in chosen.items() if each not in missing}, shared, facts)
    for name, measure in chosen.items():
        if card.values.setdefault(name, None) is None:
            card.measures[name], card.conventions[name] = measure, measure.conventions
            extra = "no model is installed (pip install 'goldassay[semantic]')"
            why = extra if measure in missing else "no record has the evidence"
            card.warnings += [f"{name} is not computed: {why}"] if name in asked else []
    names = [name for name in chosen if measures is not None or facts.applies(name, card)]
    for field in ("values", "measures", "conventions", "counts"):
        table = getattr(card, field)
        setattr(card, field, {name: table[name] for name in names if name in table})
    card.by.update(facts.by_kind(card))
    card.warnings += facts.warnings(card)
    return card


def _model(given: Any, find: Callable[[], str | None], asked: Collection[str]) -> str | None:
    """The name of the model given, or of what is on this machine if a value that needs it is asked for."""
    model = find() if given == "auto" or (given is None and asked) else given
    return model if model is None or isinstance(model, str) else register(model)


def _chosen(names: Sequence[str | Measure[Any]], *models: Measure[Any]) -> dict[str, Measure[Any]]:
    """The measures that were asked for, by the names of their values; ``models`` are those with an embedder."""
    known = {measure.key: measure for measure in (*reversed(MEASURES), *models)}
    known |= dict(zip(("quality", "accuracy"), models, strict=False))
    chosen: dict[str, Measure[Any]] = {}
    for name in names:
        if isinstance(name, Measure):
            chosen[name.key] = name
        elif name in known or "(" in name:
            chosen[name] = known.get(name) or parse(f"answering.{name}")
        else:
            raise GoldassayError(f"answering has no measure {name!r}; it has {', '.join(known)}, and reprs of measures")
    return chosen


class _Facts:
    """What a scorecard says beside values, gathered chunk by chunk."""

    def __init__(self) -> None:
        self.kinds: dict[str, defaultdict[str, list[int]]] = {"answerable": defaultdict(list)}
        self.counts: Counter[str] = Counter()

    def __call__(self, part: Batches) -> None:
        rows: Batch = part.of(ExactMatch())
        for gold, golds in zip(part.gold, rows.golds, strict=True):
            facets = {facet: read(gold, facet, None) for facet in ("answer_type", "language")}
            for facet, kind in {"answerable": "answerable" if golds else "unanswerable", **facets}.items():
                if kind is not None:
                    self.kinds.setdefault(facet, defaultdict(list))[str(kind)].append(self.counts["examples"])
            letters = [letter for letter in "".join(golds) if letter.isalnum()]
            self.counts["examples"] += 1
            self.counts["foreign"] += 2 * sum(map(str.isascii, letters)) < len(letters)
            self.counts["joined"] += language_of(gold) in normal.JOINED
        self.counts["failed"] += sum(rows.failed)

    def applies(self, name: str, card: Scorecard) -> bool:
        """Whether the records have what a value is about: some stand on every scorecard, some only with evidence."""
        if name.startswith("mlqa_"):
            return bool(self.counts["joined"])
        return name not in WITH_EVIDENCE or card.values[name] is not None

    def by_kind(self, card: Scorecard) -> dict[str, Any]:
        """Exact match and F1 by kind of question: with and without an answer, by type of answer, by language."""
        totals = {n: card.tallies[n].total for n in ("exact_match", "f1", "mlqa_f1") if n in card.measures}
        return {
            facet: {
                kind: {**{name: float(total[rows].mean()) for name, total in totals.items()}, "support": len(rows)}
                for kind, rows in sorted(kinds.items())
            }
            for facet, kinds in self.kinds.items()
            if totals
        }

    def warnings(self, card: Scorecard) -> list[str]:
        """What a reader of the values should know."""
        lines, examples, failed = [], card.examples, self.counts["failed"]
        bounds = [
            f"{name} lies between {total.value:.4f} and {total.highest:.4f}"
            for name, total in card.totals.items()
            if name in card.values and isinstance(total, JudgedMean) and total.unknown
        ]
        if bounds:
            lines.append(f"Verdicts that did not come back count as not supported: {', '.join(bounds)}")
        if self.counts["foreign"] and {*card.values} & {"f1", "rouge1", "rouge2", "rougeL"}:
            lines.append(f"{self.counts['foreign']} of {examples} {SCRIPTS}")
        if failed:
            lines.append(f"{failed} of {examples} questions have no answer because the program failed; they count 0")
        return lines
