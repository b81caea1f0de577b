"""Measures by the names that ir_measures writes: ``nDCG@10``, ``P(rel=2)@5``, ``RBP(p=0.8)``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from goldassay.exceptions import GoldassayError
from goldassay.measures.retrieval.measures import AP, RBP, RR, Bpref, Ranked, nDCG
from goldassay.measures.retrieval.shares import Judged, P, R, Rprec, Success

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


def named(text: str, **conventions: Any) -> Ranked:
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
