"""The scorecard of answering: all measures over a set of answers.

By default it has every value that costs little. What embeds texts (semantic similarity, BERTScore, and with them the
ranking's quality, accuracy and final score) is computed on request: by name in ``measures``, or with an embedder. What
only some records have the evidence for (verdicts, citations, results, confidences) is there if one record has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from goldassay.embedding import DEFAULT, Embedder, TokenEmbedder, available, available_tokens, register
from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measure import Measure, check_choice, parse
from goldassay.measures.answering import citations, claims
from goldassay.measures.answering.calibration import BestThreshold, Calibration
from goldassay.measures.answering.embeddings import Baseline, BERTScore, SemanticSimilarity
from goldassay.measures.answering.grounding import ContextEntityRecall, FactualAccuracy, LexicalSupport, LostByRetrieval
from goldassay.measures.answering.matching import Batch
from goldassay.measures.answering.measures import F1, ILLEGIBLE, ROUGE, ExactMatch, language_of
from goldassay.measures.answering.protocols import PROTOCOLS
from goldassay.measures.answering.ranking import WEIGHTS, Confidence, FinalScore, Robustness, Speed
from goldassay.measures.answering.records import check_aligned, confidence
from goldassay.scorecard import Batches, Scorecard, fold
from goldassay.text import normal

AUTO = "auto"
LATE = ("faithfulness",)  # the rate of claims that is always there
CLAIMS = tuple(claims.ClaimRate(rate) for rate in claims.RATES if rate not in LATE)
CITATIONS = (citations.CitationRate("recall"), citations.CitationRate("precision"))
QUALITY, ACCURACY, FINAL = ("semantic_similarity", "quality"), ("bertscore_f1", "accuracy"), "final_score"
Named = dict[str, Measure[Any]]


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    measures: Sequence[str | Measure[Any]] | str | None = None,
    embedder: Embedder | str | None = None,
    tokens: TokenEmbedder | str | None = None,
    idf: bool = False,
    baseline: Baseline | None = None,
    weights: Mapping[str, float] = WEIGHTS,
) -> Scorecard:
    """All values over aligned records; ``None`` without the evidence or the model.

    Args:
        gold: questions with their answers.
        pred: the answers, one for each question.
        measures: only these: names of values (``rouge1``, ``semantic_similarity``), measures, or their reprs
            (``"ROUGE('Lsum')"``); or the name of an official protocol (`PROTOCOLS`), under whose names they stand.
        embedder: makes the vectors of semantic similarity; ``"auto"`` is what is on this machine.
        tokens: makes those of BERTScore; ``"auto"`` likewise.
        idf: BERTScore weighs tokens by how rare they are among the references.
        baseline: BERTScore is rescaled by it.
        weights: of the ranking's five, for the final score.

    Raises:
        DataError: the two sides are not aligned, or a field is not what it should be.
        GoldassayError: no measure has a name that was asked for.

    >>> gold = [{"answers": ["1800"]}, {"answers": []}]
    >>> card = scorecard(gold, [{"answer": "In 1800"}, {"answer": ""}])
    >>> card.values["exact_match"], round(card.values["f1"], 4), card.values["semantic_similarity"]
    (0.5, 0.8333, None)
    """
    shared = Batches(gold, pred)
    if isinstance(measures, str):
        return _of_protocol(measures, shared)
    facts = _Facts()
    for part in shared.chunks():
        facts.look_for_evidence(part)
    names = [one for one in measures or () if isinstance(one, str)]
    models = [
        _Model("embedder", QUALITY, "quality", names, embedder, available),
        _Model("token embedder", ACCURACY, "accuracy", names, tokens, available_tokens),
    ]
    quality = SemanticSimilarity(models[0].name)
    accuracy = BERTScore(models[1].name, baseline=baseline, idf=idf)
    final = FinalScore(tuple(weights.items()), quality.embedder, accuracy.model, baseline, idf)
    default = _default(facts, quality, accuracy, final)
    chosen = default if measures is None else _chosen(measures, {**_on_request(), **default})
    lacking = {
        name: why for name in chosen if (why := next(filter(None, (m.lacks(name, weights) for m in models)), ""))
    }
    counted = {name: measure for name, measure in chosen.items() if name not in lacking}
    if any(isinstance(measure, (SemanticSimilarity, BERTScore, FinalScore)) for measure in counted.values()):
        shared = Batches(list(gold), list(pred))  # texts are embedded together, and idf is over all of them
    card = fold("answering", counted, shared, facts)
    _explain_absent(card, chosen, lacking)
    card.by.update(facts.by_kind(card))
    card.warnings += facts.warnings(card)
    return card


def _of_protocol(name: str, shared: Batches) -> Scorecard:
    """The values of an official protocol."""
    check_choice("protocol", name, (*PROTOCOLS,))
    card = fold("answering", PROTOCOLS[name], shared)
    card.values = {value: number for value, number in card.values.items() if number is not None}
    card.protocol = name
    return card


def _explain_absent(card: Scorecard, chosen: Named, lacking: Mapping[str, str]) -> None:
    """Put every value that was asked for in its place; one that has none says why."""
    for name, measure in chosen.items():
        if name in lacking or card.values[name] is None:
            why = lacking.get(name) or f"no record has the evidence ({', '.join(measure.pred_fields)})"
            if isinstance(measure, Confidence) and name not in lacking:
                why = "no answer comes with a confidence"
            card.values[name] = None
            card.measures[name], card.conventions[name] = measure, measure.conventions
            card.explain[name] = f"{measure.explained} Not computed: {why}."
    card.values = {name: card.values[name] for name in chosen}


class _Model:
    """An embedder that some values need: the one given, or what is on this machine if a value is asked for by name."""

    def __init__(
        self, kind: str, values: Sequence[str], part: str, names: Sequence[str], given: Any, find: Any
    ) -> None:
        self.kind, self.values, self.part = kind, values, part
        self.asked = any(name in (*values, FINAL) for name in names)
        self.model = find() if given == AUTO or (given is None and self.asked) else given

    @property
    def name(self) -> str:
        """The name that a measure knows it by."""
        if self.model is None:
            return DEFAULT
        return self.model if isinstance(self.model, str) else register(self.model)

    def lacks(self, name: str, weights: Mapping[str, float]) -> str:
        """Why a value cannot be computed without this model; empty if it can."""
        if self.model is not None or not (name in self.values or (name == FINAL and weights.get(self.part))):
            return ""
        if not self.asked:
            return f"it embeds every text, so it is computed only if {name} is asked for by name"
        extras = "'goldassay[light]' or 'goldassay[semantic]'" if self.part == "quality" else "'goldassay[semantic]'"
        return f"no {self.kind} is installed (pip install {extras})"


def _default(facts: _Facts, quality: Measure[Any], accuracy: Measure[Any], final: Measure[Any]) -> Named:
    """The measures of these records by the names of their values."""
    evidence = facts.evidence
    thresholds = "unanswerable" in evidence and "no confidence" not in evidence
    measures: list[Measure[Any]] = [
        *(ExactMatch(), F1()),
        *((ExactMatch("mlqa"), F1("mlqa")) if "joined" in evidence else ()),
        *(ROUGE(kind) for kind in ("1", "2", "L")),
        *(quality, accuracy, ContextEntityRecall()),
        *(claims.ClaimRate("faithfulness"), claims.Relevance(), FactualAccuracy(), LexicalSupport()),
        *(CLAIMS if "claims" in evidence else ()),
        *(CITATIONS if "citations" in evidence else ()),
        *((LostByRetrieval(),) if "results" in evidence else ()),
        *(Calibration(statistic=name) for name in ("brier", "ece", "aurc")),
        *(BestThreshold(s, part) for s in ("exact", "f1") for part in ("value", "threshold") if thresholds),
    ]
    named = {measure.key: measure for measure in measures} | {"accuracy": accuracy, "quality": quality}
    return named | {measure.key: measure for measure in (Confidence(), Speed(), Robustness(), final)}


def _on_request() -> Named:
    """Measures that are computed if they are asked for by name."""
    from goldassay.measures import answering

    return {measure.key: measure for measure in reversed((*answering.MEASURES, *CLAIMS, *CITATIONS))}


def _chosen(measures: Sequence[str | Measure[Any]], known: Named) -> Named:
    chosen: Named = {}
    for one in measures:
        if not isinstance(one, str):
            chosen[one.key] = one
        elif one in known:
            chosen[one] = known[one]
        elif "(" in one:
            chosen[one] = parse(f"answering.{one}")
        else:
            raise GoldassayError(f"answering has no measure {one!r}; it has {', '.join(known)}, and reprs of measures")
    return chosen


@dataclass(slots=True)
class _Facts:
    """What the records have evidence for, and what a scorecard tells beside values; gathered chunk by chunk."""

    evidence: set[str] = field(default_factory=set)
    kinds: dict[str, dict[str, list[int]]] = field(default_factory=lambda: {"answerable": {}})
    examples: int = 0
    joined: int = 0
    failed: int = 0
    illegible: int = 0
    unknown: int = 0
    verdicts: int = 0

    def look_for_evidence(self, part: Batches) -> None:
        """What the next chunk has evidence for; raise unless its two sides are aligned."""
        check_aligned(part.gold, part.pred)
        tests: dict[str, Callable[[Any, Any], object]] = {
            "joined": lambda gold, pred: language_of(gold) in normal.JOINED,
            "claims": lambda gold, pred: claims.from_prediction(pred),
            "citations": lambda gold, pred: citations.verdicts(pred),
            "results": lambda gold, pred: pred is not None and read(pred, "results", None) is not None,
            "no confidence": lambda gold, pred: pred is None or confidence(pred) is None,
            "unanswerable": lambda gold, pred: read(gold, "answers", None) is not None and not read(gold, "answers"),
        }
        pairs = list(zip(part.gold, part.pred, strict=True))
        self.evidence |= {name for name, test in tests.items() if any(test(*pair) for pair in pairs)}

    def __call__(self, part: Batches) -> None:
        """The next chunk, as it is measured."""
        rows: Batch = part.of(ExactMatch())
        for place, (gold, golds) in enumerate(zip(part.gold, rows.golds, strict=True), self.examples):
            kinds = {facet: read(gold, facet, None) for facet in ("answer_type", "language")}
            for facet, kind in {"answerable": "answerable" if golds else "unanswerable", **kinds}.items():
                if kind is not None:
                    self.kinds.setdefault(facet, {}).setdefault(str(kind), []).append(place)
        support = [one.support for one in map(claims.from_prediction, part.pred) if one is not None]
        self.unknown += sum(one.unknown() for one in support)
        self.verdicts += sum(len(one.verdicts()) for one in support)
        self.joined += sum(any(normal.joined(text) for text in golds) for golds in rows.golds)
        self.failed += sum(rows.failed)
        self.illegible += rows.illegible
        self.examples += len(part.gold)

    def by_kind(self, card: Scorecard) -> dict[str, Any]:
        """Exact match and F1 by kind of question: with and without an answer, by type of answer, by language."""
        names = [name for name in ("exact_match", "f1", "mlqa_f1") if name in card.tallies]
        values = {name: card.tallies[name].total for name in names}
        return {
            facet: {
                kind: {name: float(total[rows].sum() / len(rows)) for name, total in values.items()}
                | {"support": len(rows)}
                for kind, rows in sorted(kinds.items())
            }
            for facet, kinds in self.kinds.items()
            if values
        }

    def warnings(self, card: Scorecard) -> list[str]:
        """What a reader of the values should know."""
        lines, faithful, owned = [], card.totals.get("faithfulness"), card.totals.get("confidence")
        if self.unknown:
            bounds = ""
            if faithful is not None and faithful.weight:
                bounds = f"; faithfulness lies between {faithful.value:.4f} and {faithful.highest:.4f}"
            lines.append(
                f"{self.unknown} of {self.verdicts} verdicts did not come back and count as not supported{bounds}"
            )
        if owned is not None and owned.unsaid and owned.said:
            silent = f"{owned.unsaid:.0f} of {owned.said + owned.unsaid:.0f} answers have no confidence"
            lines.append(f"{silent} and are left out of confidence")
        if self.joined and set(card.values) & {"f1", "rouge1", "rouge2", "rougeL"}:
            lines.append(
                f"{self.joined} of {self.examples} questions have answers in a script that does not separate words: f1 "
                "and ROUGE compare whole runs of them; read mlqa_f1, where each character is a word (MLQA's rule)"
            )
        if self.illegible and any(
            isinstance(each, ROUGE) and each.tokenizer == "rouge-score" for each in card.measures.values()
        ):
            lines.append(f"{self.illegible} of {self.examples} questions: {ILLEGIBLE}")
        if self.failed:
            lines.append(
                f"{self.failed} of {self.examples} questions have no answer because the program failed; they count 0"
            )
        return lines
