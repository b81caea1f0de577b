"""All values of a set of queries in one pass, per query and as means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measures.retrieval.matching import Batch
from goldassay.measures.retrieval.measures import Ranked
from goldassay.measures.retrieval.names import named
from goldassay.scorecard import Batches, Scorecard, fold
from goldassay.statistics.evidence import summed
from goldassay.tally import Mean

DEFAULT = ("nDCG@5", "nDCG@10", "nDCG@20", "P@5", "P@10", "R@10", "RR", "AP")
Wanted = Sequence[str | Ranked]


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    measures: Wanted | None = None,
    ties: str = "docno_desc",
    missing: int | str = 0,
    **options: Any,
) -> Scorecard:
    """The mean of each measure over the queries, keyed by the name it was asked for, and the values by query.

    ``measures`` are names (see `named`) or measures; ``ties`` and ``missing`` are the conventions of the names that do
    not say otherwise.

    Args:
        gold: Records with ``relevant``.
        pred: Records with ``results``, aligned with them.

    >>> card = scorecard([{"id": "1", "relevant": ["a"]}], [{"results": ["b", "a"]}], measures=["RR", "P@5"])
    >>> card.values, card.conventions["RR"]
    ({'RR': 0.5, 'P@5': 0.2}, 'RR[ties=docno_desc, missing=0]')
    """
    if options:
        raise GoldassayError(f"retrieval has no option {', '.join(map(repr, options))}; it has measures, ties, missing")
    asked = chosen(measures, ties=ties, missing=missing)
    shared = Batches(gold, pred)
    empty = idle = 0

    def look(part: Batches) -> None:
        nonlocal empty, idle
        batch: Batch = part.of(next(iter(asked.values())))
        empty += int((batch.retrieved == 0).sum())
        idle += int((batch.relevant() == 0).sum())

    card = fold("retrieval", asked, shared, look)
    card.by["query"] = _by_query(card.tallies, _ids(gold))
    if empty:
        counted = "left out" if missing == "skip" else "counted 0"
        card.warnings.append(f"{empty} of {card.examples} queries have no results and are {counted}")
    if idle:
        card.warnings.append(
            f"{idle} of {card.examples} queries have no relevant document: they count 0, and are left out of recall"
        )
    return card


def evaluate(
    qrels: Mapping[str, Mapping[str, float]],
    run: Mapping[str, Mapping[str, float]],
    measures: Wanted | None = None,
    *,
    ties: str = "docno_desc",
    missing: int | str = 0,
) -> dict[str, dict[str, float]]:
    """Values by measure and query, from judgements and a run as mappings (the form that pytrec_eval takes).

    Every query of ``qrels`` is in the answer; those of the run that are not judged are an error. A value that does not
    apply is absent.

    Args:
        measures: Names or measures; the usual eight without them.
        ties: How documents of one score are ordered: ``docno_desc`` or ``stable``.
        missing: What a query without results counts: 0, or ``skip``.

    >>> evaluate({"q": {"a": 1}}, {"q": {"a": 0.5, "b": 0.9}}, ["RR"])
    {'RR': {'q': 0.5}}
    """
    unknown = next((query for query in run if query not in qrels), None)
    if unknown is not None:
        raise GoldassayError(f"the run has query {unknown!r}, which is not judged; leave it out or judge it")
    asked = chosen(measures, ties=ties, missing=missing)
    batch = Batch(list(qrels.values()), [run.get(query) or {} for query in qrels], list(qrels))
    out: dict[str, dict[str, float]] = {}
    for name, measure in asked.items():
        found = measure.tallies(batch)
        row = zip(qrels, found.total.tolist(), strict=True)
        out[name] = dict(row) if found.weight.all() else dict(compress(row, found.weight.tolist()))
    return out


def means(
    qrels: Mapping[str, Mapping[str, float]],
    run: Mapping[str, Mapping[str, float]],
    measures: Wanted | None = None,
    *,
    ties: str = "docno_desc",
    missing: int | str = 0,
) -> dict[str, float | None]:
    """The mean of each measure, from judgements and a run as mappings.

    Args:
        qrels: The grade of each judged document, by query.
        measures: As in `evaluate`.
        ties: As in `evaluate`.
        missing: As in `evaluate`.

    >>> means({"q": {"a": 1}, "p": {"b": 1}}, {"q": {"a": 0.5, "b": 0.9}}, ["RR"])
    {'RR': 0.25}
    """
    asked = chosen(measures, ties=ties, missing=missing)
    batch = Batch(list(qrels.values()), [run.get(query) or {} for query in qrels], list(qrels))
    return {name: _mean(measure.tallies(batch)) for name, measure in asked.items()}


def band(
    gold: Sequence[object], pred: Sequence[object], measures: Wanted | None = None
) -> dict[str, tuple[float, float]]:
    """The least and the greatest mean over all orders of documents with one score.

    Every measure here rises when a document of a higher grade moves up, so the extremes are the orders by grade.

    >>> band([{"relevant": ["a"]}], [{"results": [{"doc_id": "a", "score": 1}, {"doc_id": "b", "score": 1}]}], ["RR"])
    {'RR': (0.5, 1.0)}
    """
    asked = chosen(measures)
    batch = Batch.of(gold, pred)
    out = {}
    for name, measure in asked.items():
        low, high = (_mean(replace(measure, ties=ties).tallies(batch)) for ties in ("worst", "best"))
        if low is not None and high is not None:
            out[name] = (low, high)
    return out


def chosen(measures: Wanted | None = None, **conventions: Any) -> dict[str, Ranked]:
    """The measures by the names they were asked for."""
    asked: dict[str, Ranked] = {}
    for one in measures or DEFAULT:
        asked[one if isinstance(one, str) else one.key] = named(one, **conventions) if isinstance(one, str) else one
    return asked


def _mean(found: Mean) -> float | None:
    total = summed(found)
    return float(total.value) if total.weight else None


def _ids(gold: Sequence[Any]) -> list[str]:
    found = [example.get("id") if type(example) is dict else read(example, "id", None) for example in gold]
    return [str(index + 1) if name is None else str(name) for index, name in enumerate(found)]


def _by_query(tallies: Mapping[str, Mean], ids: list[str]) -> dict[str, dict[str, float | None]]:
    columns: list[list[float | None]] = []
    for tally in tallies.values():
        column: list[float | None] = tally.total.tolist()
        if not tally.weight.all():
            column = [value if weight else None for value, weight in zip(column, tally.weight.tolist(), strict=True)]
        columns.append(column)
    return {
        name: dict(zip(tallies, values, strict=True))
        for name, values in zip(ids, zip(*columns, strict=True), strict=True)
    }
