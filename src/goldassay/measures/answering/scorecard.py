"""The scorecard of answering: all measures over a set of answers.

By default it has every value that costs little. What embeds texts (semantic similarity, BERTScore, and with them the
ranking's quality, accuracy and final score) is computed on request: by name in ``measures``, or with an embedder. What
only some records have the evidence for (verdicts, citations, thresholds) is there if one record has it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from goldassay.embedding import DEFAULT, Embedder, Transformer, available, available_tokens, register
from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measure import Measure, check_choice, parse
from goldassay.measures.answering.calibration import BestThreshold, Calibration
from goldassay.measures.answering.citations import CitationRate
from goldassay.measures.answering.claims import RATES, ClaimRate, Relevance
from goldassay.measures.answering.embeddings import Baseline, BERTScore, SemanticSimilarity
from goldassay.measures.answering.grounding import ContextEntityRecall, FactualAccuracy, LexicalSupport, LostByRetrieval
from goldassay.measures.answering.matching import Batch
from goldassay.measures.answering.measures import F1, ROUGE, ExactMatch, language_of
from goldassay.measures.answering.protocols import PROTOCOLS
from goldassay.measures.answering.ranking import Confidence, FinalScore, Robustness, Speed
from goldassay.measures.judged import JudgedMean
from goldassay.scorecard import Batches, Scorecard, fold
from goldassay.text import normal

AUTO, FINAL = "auto", "final_score"
QUALITY, ACCURACY = ("semantic_similarity", "quality"), ("bertscore_f1", "accuracy")
SCRIPTS = (
    "questions have answers outside ASCII: rouge-score's tokenizer drops such letters (tokenizer='unicode' keeps "
    "them), and f1 takes a run without spaces for one word (mlqa_f1 does not)"
)
Named = dict[str, Measure[Any]]


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
        return _of_protocol(measures, shared)
    asked = [name for name in measures or () if isinstance(name, str)]
    vectors = _model(embedder, available, {*asked} & {*QUALITY, FINAL})
    of_tokens = _model(tokens, available_tokens, {*asked} & {*ACCURACY, FINAL})
    quality, accuracy = SemanticSimilarity(vectors or DEFAULT), BERTScore(of_tokens or DEFAULT, baseline=baseline)
    final = FinalScore(quality.embedder, accuracy.model, baseline)
    ranking = (Confidence(), Speed(), Robustness(), final)
    default = {**_default(quality, accuracy), "accuracy": accuracy, "quality": quality}
    default |= {measure.key: measure for measure in ranking}
    chosen = default if measures is None else _chosen(measures, default)
    missing = ([] if vectors else [quality, final]) + ([] if of_tokens else [accuracy, final])
    counted = {name: measure for name, measure in chosen.items() if measure not in missing}
    card = fold("answering", counted, shared, facts)
    for name, measure in chosen.items():
        if card.values.setdefault(name, None) is None:
            card.measures[name], card.conventions[name] = measure, measure.conventions
            evidence = f"no record has the evidence ({', '.join(measure.pred_fields)})"
            why = "no model is installed (pip install 'goldassay[semantic]')" if measure in missing else evidence
            card.warnings += [f"{name} is not computed: {why}"] if name in asked else []
    kept = [name for name in chosen if measures is not None or facts.applies(name, card)]
    for table in (card.values, card.measures, card.conventions, card.counts):
        entries: dict[str, Any] = dict(table)
        table.clear()
        table.update((name, entries[name]) for name in kept if name in entries)
    card.by.update(facts.by_kind(card))
    card.warnings += facts.warnings(card)
    return card


def _of_protocol(name: str, shared: Batches) -> Scorecard:
    """The values of an official protocol; those without evidence are left out."""
    check_choice("protocol", name, (*PROTOCOLS,))
    card = fold("answering", PROTOCOLS[name], shared)
    card.values, card.protocol = {key: value for key, value in card.values.items() if value is not None}, name
    return card


def _model(given: Any, find: Callable[[], str | None], asked: object) -> str | None:
    """The name of the model given, or of what is on this machine if a value that needs it is asked for."""
    model = find() if given == AUTO or (given is None and asked) else given
    return model if model is None or isinstance(model, str) else register(model)


def _default(quality: Measure[Any], accuracy: Measure[Any]) -> Named:
    measures: list[Measure[Any]] = [
        *(ExactMatch(), F1(), ExactMatch("mlqa"), F1("mlqa")),
        *(ROUGE(kind) for kind in ("1", "2", "L")),
        *(quality, accuracy, ContextEntityRecall()),
        *(ClaimRate(), Relevance(), FactualAccuracy(), LexicalSupport()),
        *(ClaimRate(rate) for rate in RATES),
        *(CitationRate("recall"), CitationRate("precision"), LostByRetrieval()),
        *(Calibration(statistic=name) for name in ("brier", "ece", "aurc")),
        *(BestThreshold(score, part) for score in ("exact", "f1") for part in ("value", "threshold")),
    ]
    return {measure.key: measure for measure in measures}


def _chosen(measures: Sequence[str | Measure[Any]], default: Named) -> Named:
    """The measures that were asked for, by the names of their values."""
    from goldassay.measures import answering

    known = {**{measure.key: measure for measure in reversed(answering.MEASURES)}, **default}
    chosen: Named = {}
    for name in measures:
        if isinstance(name, Measure):
            chosen[name.key] = name
        elif name in known:
            chosen[name] = known[name]
        elif "(" in name:
            chosen[name] = parse(f"answering.{name}")
        else:
            raise GoldassayError(f"answering has no measure {name!r}; it has {', '.join(known)}, and reprs of measures")
    return chosen


class _Facts:
    """What a scorecard says beside values, gathered chunk by chunk."""

    def __init__(self) -> None:
        self.kinds: dict[str, dict[str, list[int]]] = {"answerable": {}}
        self.counts: defaultdict[str, int] = defaultdict(int)

    def __call__(self, part: Batches) -> None:
        rows: Batch = part.of(ExactMatch())
        for place, (gold, golds) in enumerate(zip(part.gold, rows.golds, strict=True), self.counts["examples"]):
            kinds = {"answerable": "answerable" if golds else "unanswerable"}
            kinds |= {facet: read(gold, facet, None) for facet in ("answer_type", "language")}
            for facet, kind in kinds.items():
                if kind is not None:
                    self.kinds.setdefault(facet, {}).setdefault(str(kind), []).append(place)
            letters = [letter for letter in "".join(golds) if letter.isalnum()]
            self.counts["foreign"] += 2 * sum(map(str.isascii, letters)) < len(letters)
            self.counts["joined"] += language_of(gold) in normal.JOINED
        self.counts["failed"] += sum(rows.failed)
        self.counts["examples"] += len(part.gold)

    def applies(self, name: str, card: Scorecard) -> bool:
        """Whether the records have what a value is about: some stand on every scorecard, some only with evidence."""
        measure = card.measures.get(name)
        if isinstance(measure, ExactMatch) and measure.normalisation == "mlqa":
            return bool(self.counts["joined"])
        if isinstance(measure, BestThreshold):
            return "unanswerable" in self.kinds["answerable"] and card.totals[name].weight == card.examples
        if isinstance(measure, (CitationRate, LostByRetrieval)) or (
            isinstance(measure, ClaimRate) and name != "faithfulness"
        ):
            return card.values[name] is not None
        return True

    def by_kind(self, card: Scorecard) -> dict[str, Any]:
        """Exact match and F1 by kind of question: with and without an answer, by type of answer, by language."""
        totals = {n: card.tallies[n].total for n in ("exact_match", "f1", "mlqa_f1") if n in card.measures}
        return {
            facet: {
                kind: {name: float(total[rows].sum() / len(rows)) for name, total in totals.items()}
                | {"support": len(rows)}
                for kind, rows in sorted(kinds.items())
            }
            for facet, kinds in self.kinds.items()
            if totals
        }

    def warnings(self, card: Scorecard) -> list[str]:
        """What a reader of the values should know."""
        lines, examples = [], card.examples
        unknown = {
            name: total
            for name, total in card.totals.items()
            if name in card.values and isinstance(total, JudgedMean) and total.unknown
        }
        if unknown:
            bounds = (f"{name} lies between {x.value:.4f} and {x.highest:.4f}" for name, x in unknown.items())
            lines.append(f"Verdicts that did not come back count as not supported: {', '.join(bounds)}")
        if self.counts["foreign"] and set(card.values) & {"f1", "rouge1", "rouge2", "rougeL"}:
            lines.append(f"{self.counts['foreign']} of {examples} {SCRIPTS}")
        if failed := self.counts["failed"]:
            lines.append(f"{failed} of {examples} questions have no answer because the program failed; they count 0")
        return lines
