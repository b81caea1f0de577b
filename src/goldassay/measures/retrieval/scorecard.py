"""All values of a set of queries in one pass, per query and as means.

Measures are asked for by the names that ir_measures writes: ``nDCG@10``, ``P(rel=2)@5``, ``RBP(p=0.8)`` (`named`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from itertools import compress
from typing import Any

import numpy as np

from goldassay.exceptions import GoldassayError
from goldassay.fields import read
from goldassay.measures.retrieval.matching import Batch
from goldassay.measures.retrieval.measures import AP, RBP, RR, Bpref, Ranked, nDCG
from goldassay.measures.retrieval.shares import Judged, P, R, Rprec, Success
from goldassay.scorecard import Batches, Scorecard, each, fold
from goldassay.statistics.evidence import summed
from goldassay.tally import Mean

NAME = re.compile(r"(?P<name>[A-Za-z]+)\s*(?:\((?P<inner>.*)\))?\s*(?:@\s*(?P<k>\d+))?", re.DOTALL)
KNOWN: dict[str, type[Ranked]] = {
    measure.name: measure for measure in (nDCG, P, R, RR, AP, Bpref, RBP, Rprec, Judged, Success)
}
ALIASES = {
    "NDCG": "nDCG", "ndcg": "nDCG", "Precision": "P", "Recall": "R", "MRR": "RR", "MAP": "AP", "bpref": "Bpref",
    "BPref": "Bpref", "RPrec": "Rprec",
}  # fmt: skip
NEEDS_K = ("P", "R", "Judged", "Success")
NO_K = ("Bpref", "Rprec")
OWN = ("gain", "ideal", "ties", "missing")


def named(text: str, **conventions: object) -> Ranked:
    """The measure of that name; ``conventions`` such as ``missing="skip"`` apply where the name does not say otherwise.

    >>> named("nDCG@10")
    nDCG(k=10, gain='linear', ideal='judged', ties='docno_desc', missing=0)
    >>> named("P(rel=2)@5").key, named("RBP(p=0.9)").p, named("nDCG(dcg='exp-log2')@10").gain
    ('P(rel=2)@5', 0.9, 'exponential')
    >>> named("nDGC@10")
    Traceback (most recent call last):
    goldassay.exceptions.GoldassayError: no measure 'nDGC@10'; there are nDCG@k, P@k, R@k, RR, AP, Bpref, RBP, Rprec, \
Judged@k, Success@k, with rel=, p=, dcg=, gain=, ideal=, ties=, missing= in brackets
    """
    found = NAME.fullmatch(text.strip())
    name = ALIASES.get(found["name"], found["name"]) if found else ""
    if found is None or name not in KNOWN:
        raise _unknown(text)
    options = {**conventions, **_options(text, found["inner"])}
    if found["k"]:
        if name in NO_K:
            raise GoldassayError(f"{name} has no cut-off: write {name}, not {text!r}")
        options["k"] = int(found["k"])
    elif name in NEEDS_K:
        raise GoldassayError(f"{name} needs a cut-off: write {name}@10, not {text!r}")
    elif name == "nDCG":
        options["k"] = None
    make: Callable[..., Ranked] = KNOWN[name]
    try:
        return make(**options)
    except TypeError:
        taken = ", ".join(field.name for field in fields(KNOWN[name]) if field.name != "k")
        raise GoldassayError(f"{text!r}: {name} takes {taken}") from None


def _options(text: str, inner: str | None) -> dict[str, Any]:
    """The literal arguments in brackets."""
    if not inner:
        return {}
    try:
        call = ast.parse(f"f({inner})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError(inner)
        options = {str(option.arg): ast.literal_eval(option.value) for option in call.keywords}
    except (SyntaxError, ValueError):
        raise _unknown(text) from None
    if "dcg" in options:
        dcg = options.pop("dcg")
        if dcg not in ("log2", "exp-log2"):
            raise GoldassayError(f"{text!r}: dcg is 'log2' or 'exp-log2', not {dcg!r}")
        options["gain"] = "linear" if dcg == "log2" else "exponential"
    return options


def _unknown(text: str) -> GoldassayError:
    names = ", ".join(f"{name}@k" if name in (*NEEDS_K, "nDCG") else name for name in KNOWN)
    options = ", ".join(f"{option}=" for option in ("rel", "p", "dcg", *OWN))
    return GoldassayError(f"no measure {text!r}; there are {names}, with {options} in brackets")


DEFAULT = ("nDCG@5", "nDCG@10", "nDCG@20", "P@5", "P@10", "R@10", "RR", "AP")
Wanted = Sequence[str | Ranked]


def scorecard(
    gold: Sequence[object],
    pred: Sequence[object],
    *,
    measures: Wanted | None = None,
    ties: str = "docno_desc",
    missing: int | str = 0,
    **options: object,
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
    ids: list[str] = []

    def look(part: Batches) -> None:
        nonlocal empty, idle
        ids.extend(_ids(part.gold, len(ids)))
        batch: Batch = part.of(next(iter(asked.values())))
        empty += int((batch.retrieved == 0).sum())
        idle += int((batch.relevant() == 0).sum())

    card = fold("retrieval", asked, shared, look)
    card.by["query"] = each(ids, card.tallies)
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
        totals, weights = np.asarray(found.total), np.asarray(found.weight)
        row = zip(qrels, totals.tolist(), strict=True)
        out[name] = dict(row) if weights.all() else dict(compress(row, weights.tolist()))
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


def chosen(measures: Wanted | None = None, **conventions: object) -> dict[str, Ranked]:
    """The measures by the names they were asked for."""
    asked: dict[str, Ranked] = {}
    for one in measures or DEFAULT:
        asked[one if isinstance(one, str) else one.key] = named(one, **conventions) if isinstance(one, str) else one
    return asked


def _mean(found: Mean) -> float | None:
    total = summed(found)
    return float(total.value) if total.weight else None


def _ids(gold: Sequence[Any], before: int = 0) -> list[str]:
    found = [example.get("id") if type(example) is dict else read(example, "id", None) for example in gold]
    return [str(before + index) if name is None else str(name) for index, name in enumerate(found, 1)]
