"""All values of a set of queries in one pass, per query and as means.

Measures are named as in ir_measures: ``nDCG@10``, ``P(rel=2)@5``, ``RBP(p=0.8)`` (`named`). The names of trec_eval
(``ndcg_cut_10``) and ranx (``mrr@10``) are understood too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from goldassay._support.exceptions import GoldassayError
from goldassay.core.measure import Batches, literal_call
from goldassay.measures import Examples
from goldassay.measures.retrieval.measures import MEASURES, RISING, Ranked
from goldassay.measures.retrieval.records import RankingBatch, grades, scores
from goldassay.results.result import Result, Sections, by_example, fold, unlike_gold, valued

MEASURE_NAME = re.compile(
    r"(?P<name>[a-z]+?(?:_rank|_rate)?)(?:_cut)?\s*(?:\((?P<inner>.*)\))?\s*(?:[@_.]\s*(?P<k>\d+))?", re.DOTALL | re.I
)
NEEDS_K = ("P", "R", "Judged", "Success")
DEFAULT_MEASURES = ("nDCG@5", "nDCG@10", "nDCG@20", "P@5", "P@10", "R@10", "RR", "AP")
Measures = Sequence[str | Ranked] | None


def named(text: str, **conventions: object) -> Ranked:
    """The measure of that name; ``conventions`` such as ``missing="skip"`` apply unless the name says otherwise.

    Raises:
        GoldassayError: no measure has that name.

    >>> named("nDCG@10")
    nDCG(ties='docno_desc', missing=0, k=10, gain='linear', ideal='judged')
    >>> named("P(rel=2)@5").key, named("RBP(p=0.9)").p, named("nDCG(dcg='exp-log2')@10").gain
    ('P(rel=2)@5', 0.9, 'exponential')
    >>> named("ndcg_cut_10") == named("nDCG@10"), named("recip_rank").key
    (True, 'RR')
    >>> named("nDGC@10")
    Traceback (most recent call last):
    goldassay._support.exceptions.GoldassayError: no measure 'nDGC@10'; there are nDCG@k, P@k, R@k, RR, AP, Bpref, \
RBP, Rprec, \
Judged@k, Success@k, with rel=, p=, dcg=, gain=, ideal=, ties=, missing= in brackets
    """
    classes: dict[str, type[Ranked]] = {measure.name: type(measure) for measure in MEASURES}
    gains = {"log2": "linear", "exp-log2": "exponential"}
    names = {name.lower(): name for name in classes}
    names |= {"precision": "P", "recall": "R", "mrr": "RR", "recip_rank": "RR", "map": "AP", "hit_rate": "Success"}
    match: Any = MEASURE_NAME.fullmatch(text.strip())
    try:
        k = match["k"]
        name = names[match["name"].lower()]
        _, arguments, options = literal_call(f"f({match['inner'] or ''})")
        if "dcg" in options:
            options["gain"] = gains[options.pop("dcg")]
        if k or name == "nDCG":
            options["k"] = int(k) if k else None
        if arguments or (name in NEEDS_K and not k):
            raise ValueError(text)
        return classes[name](**{**conventions, **options})
    except (KeyError, SyntaxError, ValueError, AttributeError, TypeError):
        known = ", ".join(f"{name}@k" if name in (*NEEDS_K, "nDCG") else name for name in classes)
        brackets = "rel=, p=, dcg=, gain=, ideal=, ties=, missing= in brackets"
        raise GoldassayError(f"no measure {text!r}; there are {known}, with {brackets}") from None


def chosen(measures: Measures = None, **conventions: object) -> dict[str, Ranked]:
    """The measures by the names they are requested under; the usual eight without any."""
    return {
        measure if isinstance(measure, str) else measure.key: (
            named(measure, **conventions) if isinstance(measure, str) else measure
        )
        for measure in measures or DEFAULT_MEASURES
    }


def scorecard(
    gold: Examples,
    pred: Examples,
    *,
    measures: Measures = None,
    ties: str = "docno_desc",
    missing: int | str = 0,
) -> Result:
    """The mean of each measure over the queries, keyed by its name in ``measures``, and the values by query.

    Args:
        gold: Records with ``relevant``.
        pred: Records with ``results``, aligned with them.
        measures: Names (see `named`) or measures.
        ties: The convention of names that do not say otherwise.
        missing: The same.

    Raises:
        GoldassayError: A convention is given, and no name that it would apply to.

    >>> card = scorecard([{"id": "1", "relevant": ["a"]}], [{"results": ["b", "a"]}], measures=["RR", "P@5"])
    >>> card.values, card.conventions["RR"]
    ({'RR': 0.5, 'P@5': 0.2}, 'RR[ties=docno_desc, missing=0, unjudged=irrelevant, no_relevant=0]')
    """
    if measures and (ties, missing) != ("docno_desc", 0) and not any(isinstance(name, str) for name in measures):
        message = "ties and missing are for names of measures; these measures have their own: nDCG(10, missing='skip')"
        raise GoldassayError(message)
    by_name = chosen(measures, ties=ties, missing=missing)

    def facts(chunk: Batches, first: Ranked) -> dict[str, int]:
        batch: RankingBatch = chunk.of(first)
        return {
            "empty": int((batch.retrieved == 0).sum()),
            "idle": int((batch.relevant() == 0).sum()),
            "rising": len(first.notes(chunk.pred[:20])),
        }

    counted = "left out" if missing == "skip" else "counted 0"
    warnings = {
        "empty": f"{{n}} of {{examples}} queries have no results and are {counted}",
        "rising": RISING,
        "idle": "{n} of {examples} queries have no relevant document and count 0, as in trec_eval",
    }
    sections = Sections(facts, {"query": by_example}, warnings)
    card = fold("retrieval", by_name, Batches(gold, pred), sections=sections)
    if not any(card.values.values()):
        documents = [
            {name for names in map(of, side) for name in names} for of, side in ((grades, gold), (scores, pred))
        ]
        card.notes += unlike_gold("document", *documents)
    return card


def band(gold: Examples, pred: Examples, measures: Measures = None) -> dict[str, tuple[float, float]]:
    """The least and the greatest mean over all orders of documents with one score.

    Every measure here rises when a document of a higher grade moves up, so the extremes are the orders by grade.

    >>> band([{"relevant": ["a"]}], [{"results": [{"doc_id": "a", "score": 1}, {"doc_id": "b", "score": 1}]}], ["RR"])
    {'RR': (0.5, 1.0)}
    """
    batch = RankingBatch.of(gold, pred)
    bands = {}
    for name, measure in chosen(measures).items():
        low = valued(replace(measure, ties="worst").tallies(batch).summed)
        high = valued(replace(measure, ties="best").tallies(batch).summed)
        if low is not None and high is not None:
            bands[name] = (low, high)
    return bands
