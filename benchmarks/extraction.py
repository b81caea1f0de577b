"""Extraction beside seqeval and nervaluate: sentences of about 25 tokens with about 2.5 entities each.

``python -m benchmarks.extraction [N]``, 10,000 sentences without N.
"""

from __future__ import annotations

import random
import sys
from typing import Any

from benchmarks.harness import close, versus

from goldassay.core.measure import Measure
from goldassay.measures.extraction import SemEval, SpanBatch, SpanF1, evaluate_tags, scorecard
from goldassay.measures.extraction.matching import SCHEMAS

KINDS = ["GRP.HER.MUS", "GRP.HER.ARC", "GRP.HER.LIB", "GRP.HER.SOC", "TOP", "TMP", "IDENTIFIER"]
Spans = list[tuple[int, int, str]]


def sentences(n: int, seed: int = 0) -> list[tuple[Spans, Spans, int]]:
    """Gold and predictions: four in five exact, the rest misbounded, mistyped, missed or spurious."""
    rng, out = random.Random(seed), []
    for _ in range(n):
        length = max(5, int(rng.lognormvariate(3.1, 0.45)))
        gold, at = [], 0
        while at < length:
            if rng.random() < 0.12:
                end = min(length, at + rng.choice((1, 1, 2, 2, 3, 4)))
                gold.append((at, end, rng.choice(KINDS)))
                at = end
            else:
                at += 1
        pred: Spans = []
        used = 0
        for start, end, kind in gold:
            luck = rng.random()
            if luck < 0.06:
                continue
            if luck < 0.14:
                start, end = max(used, start - rng.randint(0, 2)), min(length, end + rng.randint(0, 2))
            elif luck < 0.22:
                kind = rng.choice(KINDS)
            start = max(start, used)
            if start < end:
                pred.append((start, end, kind))
                used = end
        out.append((gold, pred, length))
    return out


def tags(spans: Spans, length: int) -> list[str]:
    out = ["O"] * length
    for start, end, kind in spans:
        out[start:end] = [f"B-{kind}"] + [f"I-{kind}"] * (end - start - 1)
    return out


def simple(gold: Spans, pred: Spans) -> bool:
    """Whether no span overlaps two of the other side, so that nervaluate's order does not matter."""
    hits = [(i, j) for i, g in enumerate(gold) for j, p in enumerate(pred) if g[0] < p[1] and p[0] < g[1]]
    return len({i for i, _ in hits}) == len(hits) == len({j for _, j in hits})


def main(n: int = 10_000) -> None:
    from nervaluate import Evaluator
    from seqeval.metrics import classification_report, f1_score
    from seqeval.scheme import IOB2

    data = sentences(n)
    gold, pred = [tags(g, k) for g, _, k in data], [tags(p, k) for _, p, k in data]

    def seqeval(**options: Any) -> Any:
        report: Any = classification_report(gold, pred, output_dict=True, **options)
        return {k: {("f1" if name == "f1-score" else name): v for name, v in row.items()} for k, row in report.items()}

    versus(
        f"entity report from tags, {n} sentences",
        "seqeval report",
        seqeval,
        lambda: evaluate_tags(gold, pred),
        close,
        20,
    )
    versus(
        f"the same, strict reading, {n} sentences",
        "seqeval report, strict",
        lambda: seqeval(mode="strict", scheme=IOB2),
        lambda: evaluate_tags(gold, pred, mode="strict"),
        close,
        20,
    )
    versus(
        f"micro F1 from tags, {n} sentences",
        "seqeval f1_score",
        lambda: f1_score(gold, pred),
        lambda: evaluate_tags(gold, pred)["micro avg"]["f1"],
        close,
        10,
    )
    simple_pairs = [(g, p) for g, p, _ in data if simple(g, p)]
    inclusive = [
        [[{"start": s, "end": e - 1, "label": t} for s, e, t in side] for side in sides]
        for sides in zip(*simple_pairs, strict=True)
    ]
    exclusive = [
        [[{"start": s, "end": e, "type": t} for s, e, t in side] for side in sides]
        for sides in zip(*simple_pairs, strict=True)
    ]

    def nervaluate() -> Any:
        results = Evaluator(*inclusive, tags=KINDS, loader="dict").evaluate()["overall"]
        return {k: (v.correct, v.incorrect, v.partial, v.missed, v.spurious) for k, v in results.items()}

    def ours() -> Any:
        batch = SpanBatch(*exclusive)
        counts = {schema: batch.semeval(schema).summed for schema in SCHEMAS}
        return {("ent_type" if k == "type" else k): tuple(v.state().values()) for k, v in counts.items()}

    versus(f"SemEval's four schemas, {len(simple_pairs)} sentences", "nervaluate", nervaluate, ours, close, 20)
    records = [{"text": "word " * length, "entities": _characters(g)} for g, _, length in data]
    answers = [{"entities": _characters(p)} for _, p, _ in data]
    schemes = map(SemEval, ("strict", "exact", "partial", "type"))
    measures: list[Measure[Any]] = [SpanF1(), SpanF1("partial"), SpanF1("exact"), SpanF1("token"), *schemes]

    def one_by_one() -> Any:
        pairs = list(zip(records, answers, strict=True))
        totals: dict[str, Any] = {m.key: sum((m(*pair).tally for pair in pairs), m.zero) for m in measures}
        return {key: total.value for key, total in totals.items()}

    def at_once() -> Any:
        card = scorecard(records, answers)
        return {measure.key: card.values[measure.key] for measure in measures}

    versus(f"the whole scorecard, {n} documents", "eight measures one by one", one_by_one, at_once, close, 20, runs=1)


def _characters(spans: Spans) -> list[dict[str, Any]]:
    """Spans of words as spans of characters."""
    return [{"start": 5 * s, "end": 5 * e - 1, "type": t, "text": ""} for s, e, t in spans]


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
