"""Demonstrations as edits: sets that cover the costly errors, an empty answer where there is nothing, the nearest ones,
and the same few for every input, chosen by what they do (`goldassay.tuning.race`).

A set is chosen by the greedy algorithm for a submodular function (Nemhauser, Wolsey, Fisher 1978: at least 1 − 1/e of
the best): the weight of the patterns that it covers, how well it spreads over the labels, less its length.

    f(S) = Σ_p w_p (1 − Π_{e∈S} (1 − c_ep)) + SPREAD Σ_l s_l (1 − 2^{−n_l(S)}) − LENGTH Σ_{e∈S} length_e / mean length

with w_p the pattern's share of the loss, c_ep how surely example e shows pattern p (1 where the error was made in it,
`SHOWS` where it holds what gold has there), s_l the share of label l in train and n_l(S) how many examples hold it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import dspy
from pydantic_core import to_jsonable_python

from goldassay._dspy_compat import signature_of
from goldassay.exceptions import GoldassayError
from goldassay.running.identity import fingerprint
from goldassay.tuning.fitting import fits
from goldassay.tuning.leaks import text_of
from goldassay.tuning.patches import Patch, apply
from goldassay.tuning.patterns import ADDED, Pattern
from goldassay.tuning.race import Race
from goldassay.tuning.wrappers import Nearest, NearestDemos, inmost, predictors, wrappers

SPREAD, LENGTH, SHOWS = 0.5, 0.05, 0.6
BUDGET = 6000  # characters of all demonstrations together, some 1,500 tokens
LABEL = 40  # a longer text in an answer is no label


@dataclass(frozen=True)
class Diagnosis:
    """What a part of a bundle is made from: the errors made on other examples, the program, examples to show.

    ``shown`` are examples for a predictor by its name where gold does not hold its fields (`traced`); ``tried`` says in
    a line each what was tried before, and to what effect. ``race`` tells which set of examples does most, where train
    has enough for that.
    """

    patterns: Sequence[Pattern]
    program: Any
    train: Sequence[dspy.Example]
    shown: Mapping[str, Sequence[dspy.Example]] = field(default_factory=dict)
    tried: Sequence[str] = ()
    race: Race | None = None

    def fitting(self, name: str, predictor: dspy.Predict) -> list[dspy.Example]:
        """The examples that a predictor can be shown."""
        return [one for one in self.shown.get(name, self.train) if fits(one, signature_of(predictor))]


@dataclass(frozen=True)
class Covering:
    """A set of demonstrations for the errors that it covers (slot ``demonstrations``)."""

    most: int = 6

    def edits(self, found: Diagnosis) -> dict[str, list[Patch]]:
        """The set, for every predictor that can be shown examples; none beside the nearest, which say as much."""
        if any(isinstance(one, Nearest) for one in wrappers(found.program)):
            return {}
        out = []
        for name, predictor in predictors(found.program).items():
            there = {_asked(demo, predictor) for demo in predictor.demos or []}
            pool = [one for one in found.fitting(name, predictor) if _asked(one, predictor) not in there]
            chosen = cover(pool, found.patterns, predictor, self.most)
            for one in reversed(chosen):  # what covers most stands next to the question
                out.append(shown(found, name, one, predictor, "covering", f"covers {_covers(one, found.patterns)}"))
        return {"demonstrations": out} if out else {}


@dataclass(frozen=True)
class Revised:
    """Demonstrations that are there: those that show a costly error stay, of the others each is replaced by one that
    does, or dropped where there is none (slot ``demonstration 1`` and so on)."""

    most: int = 3

    def edits(self, found: Diagnosis) -> dict[str, list[Patch]]:
        """A slot for each demonstration that is replaced or dropped, the last ones first: places do not move."""
        out: dict[str, list[Patch]] = {}
        for name, predictor in predictors(found.program).items():
            demos = list(predictor.demos or [])
            there = {_asked(demo, predictor) for demo in demos}
            idle = [place for place, demo in enumerate(demos) if not any(_shares(demo, found.patterns))][-self.most :]
            pool = [one for one in found.fitting(name, predictor) if _asked(one, predictor) not in there]
            better = [
                one for one in cover(pool, found.patterns, predictor, len(idle)) if any(_shares(one, found.patterns))
            ]
            for place in reversed(idle):
                if better:
                    new = shown(
                        found,
                        name,
                        one := better.pop(0),
                        predictor,
                        "revised",
                        f"covers {_covers(one, found.patterns)}",
                    )
                    patch = new.model_copy(update={"action": "replace_example", "index": place})
                elif len(demos) > 1:
                    patch = Patch(
                        predictor=name,
                        action="remove_example",
                        index=place,
                        proposer="revised",
                        rationale="shows none of the errors",
                        program=fingerprint(found.program),
                    )
                else:
                    continue
                out.setdefault(f"demonstration {place + 1}", []).append(patch)
        return out


@dataclass(frozen=True)
class CounterExample:
    """An example with nothing in it, answered by nothing, where too much is found (slot ``counter-example``)."""

    def edits(self, found: Diagnosis) -> dict[str, list[Patch]]:
        """One example, of middle length."""
        if not any(pattern.kind in (*ADDED, "unanswerable", "unsupported") for pattern in found.patterns):
            return {}
        for name, predictor in predictors(found.program).items():
            outputs = list(signature_of(predictor).output_fields)
            pool = [
                one
                for one in found.fitting(name, predictor)
                if all(one.get(key) in ([], "", {}, None) for key in outputs)
            ]
            pool = [one for one in pool if any(one.get(key) is not None for key in outputs)]
            if pool:
                one = sorted(pool, key=lambda example: len(text_of(example)))[len(pool) // 2]
                why = "an empty answer where there is nothing"
                return {"counter-example": [shown(found, name, one, predictor, "counter-example", why)]}
        return {}


@dataclass(frozen=True)
class NearestExamples:
    """For each input its nearest examples, in place of the same ones for all (slot ``nearest``)."""

    k: int = 4

    def edits(self, found: Diagnosis) -> dict[str, list[Patch]]:
        """One edit of the whole program; none where it is shown its nearest examples already, or has none to show."""
        if any(isinstance(one, Nearest) for one in wrappers(found.program)):
            return {}
        try:
            patch = show_nearest(found, self.k, found.train, "nearest")
        except GoldassayError:
            return {}
        return {"nearest": [patch]}


@dataclass(frozen=True)
class SelectedExamples:
    """The best of ``sets`` sets of ``k`` examples, in place of the nearest ones (slot ``selected examples``)."""

    k: int = 4
    sets: int = 6

    def edits(self, found: Diagnosis) -> dict[str, list[Patch]]:
        """One edit of the whole program; none where train has too few examples beside those that are measured."""
        if found.race is None or len(found.race.pool) < 2 * self.k:
            return {}
        drawn = [random.Random(number).sample(list(found.race.pool), self.k) for number in range(self.sets)]
        try:
            patches = [show_nearest(found, self.k, some, "selected") for some in drawn]
        except GoldassayError:  # no predictor can be shown them
            return {}
        best, values = found.race.won([apply(found.program, one, any_version=True) for one in patches])
        patch = patches[best]
        patch.examples = [str(one.get("id")) for one in drawn[best]]
        patch.rationale = (
            f"the best of {self.sets} sets of {self.k} on {len(found.race.bench.examples)} other train examples: "
            f"{values[best]:.3f} ({', '.join(f'{value:.3f}' for value in sorted(values, reverse=True))} when last seen)"
        )
        return {"selected examples": [patch]}


def show_nearest(found: Diagnosis, k: int, examples: Sequence[dspy.Example], proposer: str) -> Patch:
    """The patch that shows each input its ``k`` nearest of ``examples``: the same for all where they are ``k``."""
    made = NearestDemos(k).compile(inmost(found.program), trainset=list(examples))
    return Patch(
        predictor=next(iter(predictors(found.program))),
        action="show_nearest",
        example={"k": k, "keys": made.keys, "examples": to_jsonable_python(made.examples, fallback=str)},
        proposer=proposer,
        rationale=f"each input is shown its {k} nearest of {len(made.examples)} train examples",
        program=fingerprint(found.program),
    )


def cover(
    pool: Sequence[dspy.Example], patterns: Sequence[Pattern], predictor: dspy.Predict, most: int
) -> list[dspy.Example]:
    """At most ``most`` examples of ``pool``, greedily by the function above; the one that adds most stands first."""
    if not pool:
        return []
    weights = [max(pattern.loss, 0.0) for pattern in patterns]
    weights = weights if sum(weights) > 0 else [float(pattern.count) for pattern in patterns]
    total = sum(weights) or 1.0
    covers = [_shares(one, patterns) for one in pool]
    outputs = list(signature_of(predictor).output_fields)
    labels = [set(leaves([one.get(key) for key in outputs])) for one in pool]
    seen = Counter(label for some in labels for label in some)
    whole = sum(seen.values()) or 1
    lengths = [len(str({key: one.get(key) for key in signature_of(predictor).fields})) for one in pool]
    mean = sum(lengths) / len(lengths)
    left = [w / total for w in weights]  # of each pattern, what is not covered yet
    held: Counter[str] = Counter()
    chosen: list[int] = []
    used = 0

    def gain(index: int) -> float:
        covered = sum(rest * share for rest, share in zip(left, covers[index], strict=True))
        spread = sum(seen[label] / whole * 0.5 ** held[label] / 2 for label in labels[index])
        return covered + SPREAD * spread - LENGTH * lengths[index] / mean

    while len(chosen) < most:
        open_ = [i for i in range(len(pool)) if i not in chosen and (used + lengths[i] <= BUDGET or not chosen)]
        best = max(open_, key=lambda i: (gain(i), -lengths[i], -i), default=None)
        if best is None or (chosen and gain(best) <= 0):
            break
        left = [rest * (1 - share) for rest, share in zip(left, covers[best], strict=True)]
        held.update(labels[best])
        used += lengths[best]
        chosen.append(best)
    return [pool[index] for index in chosen]


def shown(
    found: Diagnosis, name: str, example: dspy.Example, predictor: dspy.Predict, proposer: str, why: str
) -> Patch:
    """The patch that adds an example to a predictor's demonstrations.

    Args:
        found: The example as it was found, and for which patterns.
        name: The predictor's name.
        proposer: What proposes it.
        why: Why, in words.
    """
    keys = [key for key in signature_of(predictor).fields if example.get(key) is not None]
    return Patch(
        predictor=name,
        action="add_example",
        example={key: to_jsonable_python(example[key], fallback=str) for key in keys},
        proposer=proposer,
        rationale=why,
        pattern=found.patterns[0].name if found.patterns else "",
        examples=[str(example.get("id"))] if example.get("id") is not None else [],
        program=fingerprint(found.program),
    )


def leaves(value: Any) -> Iterator[str]:
    """The short texts in a nested value: the labels of an answer, and names.

    >>> sorted(set(leaves([{"text": "Delft", "type": "TOP"}])))
    ['Delft', 'TOP']
    """
    if isinstance(value, Mapping):
        for inner in value.values():
            yield from leaves(inner)
    elif isinstance(value, (list, tuple, set)):
        for inner in value:
            yield from leaves(inner)
    elif value is not None:
        text = str(getattr(value, "value", value))
        if 0 < len(text) <= LABEL and not hasattr(value, "model_dump"):
            yield text
        elif hasattr(value, "model_dump"):
            yield from leaves(value.model_dump())


def _shares(example: dspy.Example, patterns: Sequence[Pattern]) -> list[float]:
    """How surely an example shows each pattern."""
    name = str(example.get("id"))
    known = set(leaves([value for _, value in example.items()]))  # a demonstration of a loaded state is a dict
    return [
        1.0 if name in pattern.documents else SHOWS if {pattern.gold_type, *pattern.surfaces[:6]} & known else 0.0
        for pattern in patterns
    ]


def _covers(example: dspy.Example, patterns: Sequence[Pattern]) -> str:
    shares = _shares(example, patterns)
    found = [pattern.name for pattern, share in zip(patterns, shares, strict=True) if share]
    return "; ".join(found[:3]) or "labels that no other demonstration has"


def _asked(example: dspy.Example, predictor: Any) -> str:
    return " ".join(str(example.get(key)) for key in predictor.signature.input_fields)
