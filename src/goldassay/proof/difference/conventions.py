"""The conventions that measures can be given, what each is called, and what tools call the values that they print."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measure import Measure

RATES = ("precision", "recall", "f1")
CHOICES: Mapping[str, tuple[Any, ...]] = {
    "bounds": ("given", "word"),
    "matching": ("one-to-one", "hipe"),
    "within": ("overlap", "document"),
    "over": ("gold", "seen", "all", "supported", "inkb", "nil"),
    "ties": ("docno_desc", "stable", "best", "worst"),
    "missing": (0, "skip"),
    "gain": ("linear", "exponential"),
    "ideal": ("judged", "retrieved"),
    "rel": (1, 2, 3),
    "k": (1, 3, 5, 10, 20, 100, None),
    "labels": ("seen", "institutions"),
}
"""The conventions that are fields of measures, and what each may be; a measure refuses what it does not know."""

WORDS = {
    "bounds=word": "spans widened to whole words",
    "bounds=given": "spans as given",
    "average=micro": "one value over everything",
    "average=macro by type": "the mean over types",
    "average=weighted by gold support": "the mean over types, weighted by how often each stands in gold",
    "average=macro by document": "the mean over documents",
    "over=supported": "over the labels that stand in gold",
    "over=all": "over all",
    "labels=institutions": "over the 19 institution types",
    "labels=seen": "over the labels seen",
    "over=gold": "over the types that stand in gold",
    "over=seen": "over all types seen",
    "match=span+type": "the same span and type",
    "match=overlap+type": "an overlap of the same type",
    "match=span": "the same span, whatever the type",
    "match=type": "the same type anywhere in the document",
    "match=type+overlap": "an overlap of the same type",
    "match=token+type": "tokens",
    "matching=hipe": "counted in the order of the HIPE scorer",
    "matching=one-to-one": "matched one-to-one",
    "missing=skip": "queries without results left out",
    "missing=0": "queries without results counted 0",
    "gain=exponential": "gain 2^grade − 1",
    "gain=linear": "gain as graded",
    "ideal=retrieved": "the ideal taken from what was retrieved",
    "ideal=judged": "the ideal taken from all judged documents",
    "ties=stable": "equal scores in the order given",
    "ties=best": "equal scores in the best order",
    "ties=worst": "equal scores in the worst order",
    "ties=docno_desc": "equal scores by document id",
}

TOOLS: Mapping[str, Mapping[str, str]] = {
    "seqeval": {
        **{f"strict_{rate}": "micro avg" for rate in RATES},
        **{f"strict_macro_{rate}_seen": "macro avg" for rate in RATES},
        **{f"strict_weighted_{rate}": "weighted avg" for rate in RATES},
    },
    "conlleval": {f"strict_{rate}": "overall" for rate in RATES},
    "nervaluate": {
        f"semeval_{schema}_{rate}": "ent_type" if schema == "type" else schema
        for schema in ("strict", "exact", "partial", "type")
        for rate in RATES
    },
    "hipe": {
        **{f"strict_{rate}": "strict micro" for rate in RATES},
        **{f"partial_{rate}": "ent_type micro (fuzzy)" for rate in RATES},
        **{f"macro_doc_{rate}": "strict macro_doc" for rate in RATES},
        **{f"link_{rate}": "ent_type micro (fuzzy)" for rate in RATES},
        **{f"strong_link_{rate}": "strict micro" for rate in RATES},
    },
    "scikit-learn": {
        "accuracy": "accuracy",
        "macro_f1": "macro avg, labels given",
        "macro_f1_supported": "macro avg",
        "weighted_f1": "weighted avg",
        "kappa": "cohen_kappa_score",
    },
    "trec_eval": {"AP": "map", "RR": "recip_rank", "P@10": "P_10", "nDCG@10": "ndcg_cut_10", "R@10": "recall_10"},
    "squad": {"exact_match": "exact", "f1": "f1"},
}
"""What tools call the values that they print, by our names."""


def chosen(measure: Measure[Any]) -> Iterator[tuple[str, Measure[Any]]]:
    """The measure with one convention chosen otherwise."""
    for one in fields(measure):
        for choice in CHOICES.get(one.name, ()):
            if choice == getattr(measure, one.name):
                continue
            try:
                made = replace(measure, **{one.name: choice})
            except GoldassayError:
                continue
            yield f"{made.key} {one.name}={choice}", made


def differences(measure: Measure[Any], other: Measure[Any]) -> tuple[str, ...]:
    """What another measure does otherwise, in words."""
    mine, theirs = named(measure), named(other)
    out = []
    for key in sorted(theirs, key=lambda key: key not in mine):
        if mine.get(key) != theirs[key] and key not in ("empty", "rate"):
            before = f" instead of {say(key, mine[key])}" if key in mine else ""
            out.append(f"{say(key, theirs[key])}{before}")
    rates = [next((rate for rate in RATES if rate in one.key), "") for one in (measure, other)]
    if rates[0] != rates[1] and all(rates):
        out.append(f"{rates[1]} instead of {rates[0]}")
    if not out and measure.key != other.key:
        out.append(f"{other.key} instead of {measure.key}")
    return tuple(out)


def named(measure: Measure[Any]) -> dict[str, str]:
    """A measure's conventions by name.

    >>> from goldassay.measures.extraction import ExactF1
    >>> named(ExactF1())["match"]
    'span'
    """
    inner = measure.conventions.partition("[")[2].removesuffix("]")
    pairs = (part.partition("=") for part in inner.split(", "))
    return {key: value for key, sign, value in pairs if sign}


def say(key: str, value: str) -> str:
    """A convention in words, or as it is written."""
    return WORDS.get(f"{key}={value}", f"{key}={value}")
