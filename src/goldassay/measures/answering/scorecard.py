"""The scorecard of answering: a fold of its measures over a set of answers.

By default it has every value that costs little. What embeds texts (semantic similarity, BERTScore, and with them the
ranking's quality, accuracy and final score) is computed where it is asked for: by name in ``measures``, or by giving an
embedder. What only some records have the evidence for (verdicts, citations, results, confidences) is there where one
record has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goldassay.embedding import Embedder, TokenEmbedder, available, available_tokens, register
from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measure import Measure, failed, parse
from goldassay.measures.answering import claim_measures, claims, ranking
from goldassay.measures.answering.calibration import AURC, ECE, BestThreshold, Brier
from goldassay.measures.answering.citations import CitationPrecision, CitationRecall, verdicts
from goldassay.measures.answering.embeddings import Baseline, BERTScore, SemanticSimilarity
from goldassay.measures.answering.grounding import ContextEntityRecall, FactualAccuracy, LexicalSupport, LostByRetrieval
from goldassay.measures.answering.matching import Batch
from goldassay.measures.answering.measures import F1, MLQAF1, ROUGE, ExactMatch, MLQAExactMatch, language_of
from goldassay.measures.answering.records import aligned, confidence
from goldassay.scorecard import Batches, Scorecard, fold
from goldassay.text import normal

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
EMBEDDING = (SemanticSimilarity, BERTScore, ranking.FinalScore)
QUALITY, ACCURACY = ("semantic_similarity", "quality"), ("bertscore_f1", "accuracy")


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    measures: Sequence[str | Measure[Any]] | None = None,
    embedder: Embedder | str | None = None,
    tokens: TokenEmbedder | str | None = None,
    idf: bool = False,
    baseline: Baseline | None = None,
    weights: Mapping[str, float] = ranking.WEIGHTS,
) -> Scorecard:
    """All values over aligned records; ``None`` where the evidence or the model is not there.

    Args:
        gold: questions with their answers.
        pred: the answers, one for each question.
        measures: only these: names of values (``rouge1``, ``semantic_similarity``), measures, or how one reads
            (``"ROUGE('Lsum')"``).
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
    held = _held(shared)
    asked = [one for one in measures or () if isinstance(one, str)]
    needs_texts = any(one in (*QUALITY, "final_score") for one in asked)
    needs_tokens = any(one in (*ACCURACY, "final_score") for one in asked)
    texts = available() if embedder == AUTO or (embedder is None and needs_texts) else embedder
    words = available_tokens() if tokens == AUTO or (tokens is None and needs_tokens) else tokens
    quality = SemanticSimilarity() if texts is None else SemanticSimilarity(_named(texts))
    accuracy = BERTScore(baseline=baseline, idf=idf)
    if words is not None:
        accuracy = BERTScore(_named(words), baseline=baseline, idf=idf)
    final = ranking.FinalScore(tuple(weights.items()), quality.embedder, accuracy.model, baseline, idf)
    known = _known(held, quality, accuracy, final)
    chosen = known if measures is None else _chosen(measures, {**_more(), **known})
    lacks = {name: lacking for name in chosen if (lacking := _lacking(name, texts is None, words is None, weights))}
    counted = {name: one for name, one in chosen.items() if name not in lacks}
    if any(isinstance(one, EMBEDDING) for one in counted.values()):
        shared = Batches(list(gold), list(pred))  # texts are embedded together, and idf is over all of them
    told = _Told()
    card = fold("answering", counted, shared, told.look)
    for name, measure in chosen.items():
        if name in lacks:
            unasked = not (needs_tokens if lacks[name] == "tokens" else needs_texts)
            _absent(card, name, measure, _why(name, lacks[name], unasked))
        elif card.values[name] is None:
            _absent(card, name, measure, _no_evidence(measure))
    card.values = {name: card.values[name] for name in chosen}
    card.by.update(_by_kind(card, told.kinds))
    card.warnings += _warnings(card, told)
    return card


def _lacking(name: str, no_texts: bool, no_tokens: bool, weights: Mapping[str, float]) -> str:
    """Which embedder a value lacks: that of ``texts``, that of ``tokens``, or none."""
    if no_texts and (name in QUALITY or (name == "final_score" and weights.get("quality"))):
        return "texts"
    return "tokens" if no_tokens and (name in ACCURACY or (name == "final_score" and weights.get("accuracy"))) else ""


def _named(embedder: Embedder | TokenEmbedder | str) -> str:
    return embedder if isinstance(embedder, str) else register(embedder)


@dataclass(slots=True)
class _Held:
    """Which evidence any of the records has; ``unsure`` is a prediction without a confidence."""

    joined: bool = False
    claims: bool = False
    citations: bool = False
    results: bool = False
    unsure: bool = False
    unanswerable: bool = False


def _held(shared: Batches) -> _Held:
    """What there is to measure; the two sides are proved to be aligned."""
    held = _Held()
    for part in shared.chunks():
        aligned(part.gold, part.pred)
        gold, pred = part.gold, part.pred
        held.joined |= any(language_of(one) in normal.JOINED for one in gold)
        held.claims |= any(claims.given(one) for one in pred)
        held.citations |= any(verdicts(one) for one in pred if not failed(one))
        held.results |= any(read(one, "results", None) is not None for one in pred if one is not None)
        held.unsure |= any(one is None or confidence(one) is None for one in pred)
        held.unanswerable |= any(read(one, "answers", None) is not None and not read(one, "answers") for one in gold)
    return held


def _known(held: _Held, quality: Measure[Any], accuracy: Measure[Any], final: Measure[Any]) -> dict[str, Measure[Any]]:
    """The measures of these records by the names of their values."""
    some: list[Measure[Any]] = [ExactMatch(), F1()]
    some += [MLQAExactMatch(), MLQAF1()] if held.joined else []
    some += [ROUGE("1"), ROUGE("2"), ROUGE("L"), quality, accuracy, ContextEntityRecall()]
    some += [claim_measures.Faithfulness(), claim_measures.Relevance(), FactualAccuracy(), LexicalSupport()]
    if held.claims:
        some += CLAIMS
    if held.citations:
        some += [CitationRecall(), CitationPrecision()]
    if held.results:
        some.append(LostByRetrieval())
    some += [Brier(), ECE(), AURC()]
    if held.unanswerable and not held.unsure:
        some += [BestThreshold(score, part) for score in ("exact", "f1") for part in ("value", "threshold")]
    five = {"accuracy": accuracy, "quality": quality}
    rules: list[Measure[Any]] = [ranking.Confidence(), ranking.Speed(), ranking.Robustness(), final]
    return {one.key: one for one in some} | five | {one.key: one for one in rules}


def _more() -> dict[str, Measure[Any]]:
    """Measures that are computed where they are asked for by name."""
    from goldassay.measures import answering

    return {one.key: one for one in reversed((*answering.MEASURES, *CLAIMS, CitationRecall(), CitationPrecision()))}


def _chosen(measures: Sequence[str | Measure[Any]], known: Mapping[str, Measure[Any]]) -> dict[str, Measure[Any]]:
    out: dict[str, Measure[Any]] = {}
    for one in measures:
        if not isinstance(one, str):
            out[one.key] = one
        elif one in known:
            out[one] = known[one]
        elif "(" in one:
            out[one] = parse(f"answering.{one}")
        else:
            raise GoldassayError(
                f"answering has no measure {one!r}; it has {', '.join(known)}, and measures as they read"
            )
    return out


def _absent(card: Scorecard, name: str, measure: Measure[Any], why: str) -> None:
    """A value that is not there, and why."""
    card.values[name] = None
    card.measures[name], card.conventions[name] = measure, measure.conventions
    card.explain[name] = f"{measure.explained} Not computed: {why}."


def _why(name: str, lacks: str, unasked: bool) -> str:
    if unasked:
        return f"it embeds every text, so it is asked for by name (--measure {name})"
    extra = "'goldassay[light]' or 'goldassay[semantic]'" if lacks == "texts" else "'goldassay[semantic]'"
    return f"no {'embedder' if lacks == 'texts' else 'token embedder'} is installed (pip install {extra})"


def _no_evidence(measure: Measure[Any]) -> str:
    if isinstance(measure, ranking.Confidence):
        return "no answer comes with a confidence"
    return f"no record has the evidence ({', '.join(measure.pred_fields)})"


class _Told:
    """What is told beside values: which questions are of which kind, and what warnings count."""

    def __init__(self) -> None:
        self.kinds: dict[str, dict[str, list[int]]] = {"answerable": {}}
        self.examples = self.joined = self.broken = self.unknown = self.asked = 0

    def look(self, part: Batches) -> None:
        """The next chunk."""
        rows: Batch = part.of(ExactMatch())
        for place, (one, expected) in enumerate(zip(part.gold, rows.expected, strict=True), self.examples):
            self.kinds["answerable"].setdefault("answerable" if expected else "unanswerable", []).append(place)
            for facet in ("answer_type", "language"):
                kind = read(one, facet, None)
                if kind is not None:
                    self.kinds.setdefault(facet, {}).setdefault(str(kind), []).append(place)
        found = [one.support for one in map(claims.given, part.pred) if one is not None]
        self.unknown += sum(one.unknown for one in found)
        self.asked += sum(one.asked for one in found)
        self.joined += sum(any(normal.joined(text) for text in several) for several in rows.expected)
        self.broken += sum(rows.broken)
        self.examples += len(part.gold)


def _by_kind(card: Scorecard, kinds: Mapping[str, Mapping[str, Sequence[int]]]) -> dict[str, Any]:
    """Exact match and F1 by kind of question: with and without an answer, by type of answer, by language."""
    shown = {name: card.tallies[name].total for name in ("exact_match", "f1", "mlqa_f1") if name in card.tallies}
    if not shown:
        return {}
    return {
        facet: {
            kind: {
                **{name: float(total[places].sum() / len(places)) for name, total in shown.items()},
                "support": len(places),
            }
            for kind, places in sorted(found.items())
        }
        for facet, found in kinds.items()
    }


def _warnings(card: Scorecard, told: _Told) -> list[str]:
    out = []
    if told.unknown:
        total = card.totals.get("faithfulness")
        between = ""
        if total is not None and total.weight:
            between = f"; faithfulness lies between {total.value:.4f} and {total.highest:.4f}"
        out.append(f"{told.unknown} of {told.asked} verdicts did not come back and count as not supported{between}")
    owned = card.totals.get("confidence")
    if owned is not None and owned.unsaid and owned.said:
        unsaid = f"{owned.unsaid:.0f} of {owned.said + owned.unsaid:.0f} answers have no confidence"
        out.append(f"{unsaid} and are left out of confidence")
    if told.joined and set(card.values) & {"f1", "rouge1", "rouge2", "rougeL"}:
        out.append(
            f"{told.joined} of {told.examples} questions have answers in a script that does not separate words: f1 and "
            "ROUGE compare whole runs of them; read mlqa_f1, where each character is a word (MLQA's rule)"
        )
    if told.broken:
        gone = f"{told.broken} of {told.examples} questions"
        out.append(f"{gone} have no answer because the program failed; they count 0")
    return out
