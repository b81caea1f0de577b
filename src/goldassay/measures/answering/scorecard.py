"""The scorecard of answering: a fold of its measures over a set of answers.

By default it has every value that costs little. What embeds texts (semantic similarity, BERTScore, and with them the
ranking's quality, accuracy and final score) is computed where it is asked for: by name in ``measures``, or by giving an
embedder. What only some records have the evidence for (verdicts, citations, results, confidences) is there where one
record has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.embedding import Embedder, TokenEmbedder, available, available_tokens, register
from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measure import Measure, failed, parse
from goldassay.measures.answering import claim_measures, claims, ranking
from goldassay.measures.answering.batch import Batch
from goldassay.measures.answering.bertscore import Baseline, BERTScore
from goldassay.measures.answering.calibration import AURC, ECE, BestThreshold, Brier
from goldassay.measures.answering.citations import CitationPrecision, CitationRecall, verdicts
from goldassay.measures.answering.grounding import ContextEntityRecall, FactualAccuracy, LexicalSupport, LostByRetrieval
from goldassay.measures.answering.measures import F1, MLQAF1, ROUGE, ExactMatch, MLQAExactMatch, language_of
from goldassay.measures.answering.records import aligned, confidence
from goldassay.measures.answering.semantic import SemanticSimilarity
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
    aligned(gold, pred)
    shared = Batches(gold, pred)
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
    known = _known(gold, pred, quality, accuracy, final)
    chosen = known if measures is None else _chosen(measures, {**_more(), **known})
    lacks = {name: lacking for name in chosen if (lacking := _lacking(name, texts is None, words is None, weights))}
    card = fold("answering", {name: one for name, one in chosen.items() if name not in lacks}, shared)
    for name, measure in chosen.items():
        if name in lacks:
            unasked = not (needs_tokens if lacks[name] == "tokens" else needs_texts)
            _absent(card, name, measure, _why(name, lacks[name], unasked))
        elif card.values[name] is None:
            _absent(card, name, measure, _no_evidence(measure))
    card.values = {name: card.values[name] for name in chosen}
    rows: Batch = shared.of(ExactMatch())
    card.by.update(_by_kind(card, gold, rows))
    card.warnings += _warnings(card, gold, pred, rows)
    return card


def _lacking(name: str, no_texts: bool, no_tokens: bool, weights: Mapping[str, float]) -> str:
    """Which embedder a value lacks: that of ``texts``, that of ``tokens``, or none."""
    if no_texts and (name in QUALITY or (name == "final_score" and weights.get("quality"))):
        return "texts"
    return "tokens" if no_tokens and (name in ACCURACY or (name == "final_score" and weights.get("accuracy"))) else ""


def _named(embedder: Embedder | TokenEmbedder | str) -> str:
    return embedder if isinstance(embedder, str) else register(embedder)


def _known(
    gold: Sequence[Any], pred: Sequence[Any], quality: Measure[Any], accuracy: Measure[Any], final: Measure[Any]
) -> dict[str, Measure[Any]]:
    """The measures of these records by the names of their values."""
    some: list[Measure[Any]] = [ExactMatch(), F1()]
    some += [MLQAExactMatch(), MLQAF1()] if any(language_of(one) in normal.JOINED for one in gold) else []
    some += [ROUGE("1"), ROUGE("2"), ROUGE("L"), quality, accuracy, ContextEntityRecall()]
    some += [claim_measures.Faithfulness(), claim_measures.Relevance(), FactualAccuracy(), LexicalSupport()]
    if any(claims.given(one) for one in pred):
        some += CLAIMS
    if any(verdicts(one) for one in pred if not failed(one)):
        some += [CitationRecall(), CitationPrecision()]
    if any(read(one, "results", None) is not None for one in pred if one is not None):
        some.append(LostByRetrieval())
    some += [Brier(), ECE(), AURC()]
    if _thresholds(gold, pred):
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


def _thresholds(gold: Sequence[Any], pred: Sequence[Any]) -> bool:
    """Whether some questions have no answer, and every prediction that is there has a confidence."""
    if any(one is None or confidence(one) is None for one in pred):
        return False
    return any(read(one, "answers", None) is not None and not read(one, "answers") for one in gold)


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


def _by_kind(card: Scorecard, gold: Sequence[Any], rows: Batch) -> dict[str, dict[str, dict[str, float | None]]]:
    """Exact match and F1 by kind of question: with and without an answer, by type of answer, by language."""
    facets: dict[str, dict[str, list[int]]] = {"answerable": {}}
    for place, (one, expected) in enumerate(zip(gold, rows.expected, strict=True)):
        facets["answerable"].setdefault("answerable" if expected else "unanswerable", []).append(place)
        for facet in ("answer_type", "language"):
            kind = read(one, facet, None)
            if kind is not None:
                facets.setdefault(facet, {}).setdefault(str(kind), []).append(place)
    shown = {name: card.tallies[name] for name in ("exact_match", "f1", "mlqa_f1") if name in card.tallies}
    if not shown:
        return {}
    return {
        facet: {
            kind: {
                **{name: float(tally.total[places].sum() / len(places)) for name, tally in shown.items()},
                "support": len(places),
            }
            for kind, places in sorted(kinds.items())
        }
        for facet, kinds in facets.items()
    }


def _warnings(card: Scorecard, gold: Sequence[Any], pred: Sequence[Any], rows: Batch) -> list[str]:
    out = []
    found = [one.support for one in map(claims.given, pred) if one is not None]
    lost, asked = sum(one.unknown for one in found), sum(one.asked for one in found)
    if lost:
        total = card.totals.get("faithfulness")
        between = ""
        if total is not None and total.weight:
            between = f"; faithfulness lies between {total.value:.4f} and {total.highest:.4f}"
        out.append(f"{lost} of {asked} verdicts did not come back and count as not supported{between}")
    owned = card.totals.get("confidence")
    if owned is not None and owned.unsaid and owned.said:
        told = f"{owned.unsaid:.0f} of {owned.said + owned.unsaid:.0f} answers have no confidence"
        out.append(f"{told} and are left out of confidence")
    joined = sum(any(normal.joined(text) for text in several) for several in rows.expected)
    if joined and set(card.values) & {"f1", "rouge1", "rouge2", "rougeL"}:
        out.append(
            f"{joined} of {len(gold)} questions have answers in a script that does not separate words: f1 and ROUGE "
            "compare whole runs of them; read mlqa_f1, where each character is a word (MLQA's rule)"
        )
    if any(rows.broken):
        gone = f"{sum(rows.broken)} of {len(rows.broken)} questions"
        out.append(f"{gone} have no answer because the program failed; they count 0")
    return out
