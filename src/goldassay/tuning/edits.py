"""Edits of a program's prompts: the diagnosis that they are made from, and those that show examples.

They show a set that covers the costly errors, an empty answer, the nearest ones, or the same few for every input,
chosen by a race (`goldassay.tuning.measuring.Race`). `goldassay.tuning.instructions` has the edits in words.

A set is chosen by the greedy algorithm for a submodular function (Nemhauser, Wolsey, Fisher 1978: at least 1 − 1/e of
the best): the weight of the patterns that it covers, how well it spreads over the labels, less its length.

    f(S) = Σ_p w_p (1 − Π_{e∈S} (1 − c_ep)) + SPREAD Σ_l s_l (1 − 2^{−n_l(S)}) − LENGTH Σ_{e∈S} length_e / mean length

with w_p the pattern's share of the loss, c_ep how surely example e shows pattern p (1 if the error was made in it,
`SHOWS` if it holds what gold has there), s_l the share of label l in train and n_l(S) how many examples hold it.
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property, wraps
from typing import Any, Protocol

import dspy
from dspy import Example, Module, Predict
from pydantic import BaseModel

from goldassay._support.dspy_compat import serialize_for_json, signature_of
from goldassay._support.exceptions import GoldassayError
from goldassay.core.steps import is_made_by, tools_of
from goldassay.measures.trajectories.records import TRAJECTORY
from goldassay.running.hashing import fingerprint
from goldassay.running.leaks import text_of
from goldassay.running.run import Case
from goldassay.tuning.measuring import Race
from goldassay.tuning.patches import Patch, apply
from goldassay.tuning.patterns import PRED_KINDS, Pattern
from goldassay.tuning.wrappers import (
    Examples,
    NearestDemos,
    fits,
    inmost,
    output_fields,
    predictors,
    shows_nearest,
    signatures,
)

LABEL_SPREAD = 0.5  # the weight of the spread over labels
LENGTH = 0.05  # the price of an example of mean length
SHOWS = 0.6  # how surely an example shows a pattern if it holds what gold has there
BUDGET = 6000  # characters of all demonstrations together, some 1,500 tokens
LABEL = 40  # a longer text in an answer is not a label
Slots = dict[str, list[Patch]]


class LabelWords:
    """The words of the prompt for gold's labels: the program's ``type_words``, else those of its demonstrations.

    >>> import dspy
    >>> train = [dspy.Example(text="het archief", label="A", type="archive").with_inputs("text")]
    >>> words = LabelWords(dspy.Predict("text -> type"), train)
    >>> words.of("A"), words.of("archive"), words.of("Z")
    ('archive', 'archive', None)
    """

    def __init__(self, program: Module, train: Examples) -> None:
        self.train = train
        self.words = dict(getattr(inmost(program), "type_words", {}))
        outputs = output_fields(program)
        self.written: set[str] = set()
        pairs = defaultdict[str, set[str]](set)
        for example in train:
            answers = [value for key, value in example.items() if key in outputs]
            self.written.update(leaves(answers))
            scalars = [str(answer) for answer in answers if isinstance(answer, (str, int, Enum))]
            for key in set(example.keys()) - outputs - set(example.inputs().keys()) - {"id"}:
                if isinstance(example[key], str) and len(scalars) == 1:
                    pairs[example[key]].add(scalars[0])
        self.called = {label: next(iter(words)) for label, words in pairs.items() if len(words) == 1}

    def of(self, label: str) -> str | None:
        """The word for a label; None if there are demonstrations and none of them has one."""
        if label in self.words:
            return str(self.words[label])
        return label if not label or not self.written or label in self.written else self.called.get(label)

    def cues(self, label: str, other: str) -> list[str]:
        """At most three words in at least two train texts of one label and in none of the other, commonest first."""
        counts: dict[str, Counter[str]] = {label: Counter(), other: Counter()}
        for example in self.train:
            values = {str(value) for _, value in example.items() if isinstance(value, str)}
            for side, words in counts.items():
                if side in values or self.of(side) in values:
                    words.update(set(re.findall(r"[^\W\d_]{4,}", text_of(example).casefold())))
        candidates = [(word, count) for word, count in counts[label].items() if count > 1 and word not in counts[other]]
        return [word for word, _ in sorted(candidates, key=lambda pair: (-pair[1], pair[0]))[:3]]


@dataclass(frozen=True)
class Diagnosis:
    """The material of edits: the errors, the program, examples to show.

    ``tried`` has a line for each earlier test and its effect. ``race`` finds the set of examples that gains most, if
    train has enough for that. An edit that cannot be proposed for a pattern adds a line to ``failures``.
    """

    patterns: Sequence[Pattern]
    program: Module
    train: Examples
    tried: Sequence[str] = ()
    race: Race | None = None
    failures: list[str] = field(default_factory=list)

    @cached_property
    def words(self) -> LabelWords:
        """The words of the prompt for gold's labels."""
        return LabelWords(self.program, self.train)

    def draft(
        self, pattern: Pattern | None = None, proposer: str = "", /, unit: str = "example", **fields: Any
    ) -> Patch:
        """A patch of this program; with a pattern, of the predictor in whose field its errors are, and with its reason.

        Args:
            pattern: The errors that the patch is made from.
            proposer: The edit that proposes it.
            unit: What the pattern's documents are called.
            fields: The fields of the patch; they replace those that the pattern gives.
        """
        defaults: dict[str, object] = {"proposer": proposer, "program": fingerprint(self.program)}
        if pattern is not None:
            verb = "costs" if pattern.count == 1 else "cost"
            places = f"{counted(pattern.count, 'error')} in {counted(len(pattern.documents), unit)}"
            defaults |= {
                "predictor": predictor_for(pattern, self.program)[0],
                "rationale": f"{places} {verb} {pattern.loss:.4f}: {pattern.name}",
                "pattern": pattern.name,
                "examples": list(pattern.documents[:20]),
            }
        elif "predictor" not in fields:
            defaults["predictor"] = next(iter(predictors(self.program)))
        return Patch(**{**defaults, **fields})


Edit = Callable[[Diagnosis], Slots]
"""Proposes patches by slot: those of a slot are applied together, and dropped together by leave-one-out.

A slot has the same name in every fold. Any function of a `Diagnosis` will do; give it parameters with
``functools.partial``.
"""


def counted(number: int, noun: str) -> str:
    """A number of things, such as ``1 error`` or ``2 errors``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def functions_of(edits: Iterable[Edit]) -> set[Edit]:
    """The functions of edits, without their parameters."""
    return {getattr(edit, "func", edit) for edit in edits}


class PatternSource(Protocol):
    """A source of patterns and edits besides errors, such as the notes of a review."""

    def of_cases(self, cases: Sequence[Case]) -> list[Pattern]:
        """The patterns that these cases show."""
        ...

    def edits(self, reflection_lm: dspy.BaseLM | None) -> list[Edit]:
        """The edits that are made of them, some of which may ask a model."""
        ...


def by_pattern(name: str, each: int | None = None) -> Callable[[Callable[..., list[Patch]]], Callable[..., Slots]]:
    """Make an edit of a function that proposes patches for one pattern, the best first.

    The edit fills a slot for each pattern, the most costly first. It takes ``patterns``, how many slots to fill (by
    default one for each pattern), ``each``, how many patches a slot takes, and what the function takes besides the
    diagnosis and the pattern.

    Args:
        name: The first word of the slots' names.
        each: How many patches a slot takes if the edit does not say; by default all.
    """

    def edit_of(propose: Callable[..., list[Patch]]) -> Callable[..., Slots]:
        @wraps(propose)
        def edit(diagnosis: Diagnosis, patterns: int | None = None, each: int | None = each, **options: Any) -> Slots:
            slots = Slots()
            present = {key: signature.instructions for key, signature in signatures(diagnosis.program).items()}
            for pattern in diagnosis.patterns:
                if len(slots) == patterns:
                    break
                try:
                    proposed = propose(diagnosis, pattern, **options)
                except GoldassayError as error:  # the other edits may work all the same
                    diagnosis.failures.append(f"{pattern.name}: {error}")
                    continue
                patches = [p for p in proposed if not p.text or p.text not in present.get(p.predictor, "")][:each]
                last, *writers = [name for name, _ in reversed(predictors_for(pattern, diagnosis.program))]
                words = [p for p in patches if p.action == "add_instruction" and p.predictor == last]
                for other in writers:  # of a draft, or another way to the same answer
                    added = [p for p in words if p.text and p.text not in present[other]]
                    patches += [p.model_copy(update={"predictor": other}) for p in added]
                slot = f"{name} {pattern.title}"
                if patches and (each is None or slot not in slots):
                    slots.setdefault(slot, []).extend(patches)
            return slots

        return edit

    return edit_of


def propose_patches(diagnosis: Diagnosis, edits: Sequence[Edit], most: int | None = None) -> list[Patch]:
    """The patches of all edits, for the most costly patterns first: each edit once, at most ``most``, numbered.

    Raises:
        GoldassayError: an edit failed.
    """
    order = {pattern.name: rank for rank, pattern in reversed(list(enumerate(diagnosis.patterns)))}
    patches = [patch for edit in edits for slot in edit(diagnosis).values() for patch in slot] if order else []
    if diagnosis.failures:
        raise GoldassayError(diagnosis.failures[0])
    unique: dict[str, Patch] = {}
    for patch in sorted(patches, key=lambda patch: order.get(patch.pattern, len(order))):
        unique.setdefault(patch.id, patch)
    chosen = list(unique.values())[:most]
    for number, patch in enumerate(chosen, start=1):
        patch.priority = number
    return chosen


def predictor_for(pattern: Pattern, program: Module) -> tuple[str, type[dspy.Signature]]:
    """The last of `predictors_for`, which answers.

    Raises:
        GoldassayError: The program has no predictor.
    """
    return predictors_for(pattern, program)[-1]


def predictors_for(pattern: Pattern, program: Module) -> list[tuple[str, type[dspy.Signature]]]:
    """The predictor that the errors name, else those that write the field in which they are, or calls, else the last.

    Each has its name and its signature.

    Raises:
        GoldassayError: The program has no predictor.
    """
    named = list(signatures(program).items())
    fields = {error.field for error in pattern.errors}
    tools = {error.gold_type or error.pred_type for error in pattern.errors}
    if not named:
        raise GoldassayError("this program has no predictor, so there is no prompt to patch")
    names = [name for name, _ in program.named_predictors()]  # as steps have them, with what wraps the program
    for maker, _ in Counter(error.predictor for error in pattern.errors if error.predictor).most_common():
        makers = [pair for name, pair in zip(names, named, strict=True) if is_made_by(maker, name)]
        having = [pair for pair in makers if tools & {*tools_of(pair[1])}]
        if makers:  # "end" is not the end of "inner.end"; of several agents with a tool the last one answers
            return [min(reversed(having or makers), key=lambda pair: pair[0].count("."))]
    is_call = any(error.step is not None for error in pattern.errors)
    fields.update(TRAJECTORY if is_call else ())
    writers = []
    for name, signature in named:
        types = [str(output.annotation) for output in signature.output_fields.values()]
        if fields & signature.output_fields.keys() or (is_call and any("ToolCalls" in text for text in types)):
            writers.append((name, signature))
    return writers or named[-1:]


def covering(diagnosis: Diagnosis, most: int = 6) -> Slots:
    """Demonstrations for the errors that they cover (slot ``demonstrations``), for every predictor.

    There are none together with the nearest, which say as much.
    """
    if shows_nearest(diagnosis.program):
        return {}
    patches = []
    for name, predictor in predictors(diagnosis.program).items():
        signature = signature_of(predictor)
        keys = list(signature.input_fields)
        present = [[str(demo.get(key)) for key in keys] for demo in predictor.demos or []]
        pool = [
            example
            for example in diagnosis.train
            if fits(example, signature) and [str(example.get(key)) for key in keys] not in present
        ]
        # the example that covers most is last, next to the question
        for example in reversed(cover(pool, diagnosis.patterns, predictor, most)):
            shares = zip(diagnosis.patterns, _shares(example, diagnosis.patterns), strict=True)
            names = [pattern.name for pattern, share in shares if share]
            why = f"covers {'; '.join(names[:3]) or 'labels that no other demonstration has'}"
            patches.append(_show(diagnosis, name, example, "covering", why))
    return {"demonstrations": patches} if patches else {}


def counter_example(diagnosis: Diagnosis) -> Slots:
    """An example with an empty answer, of middle length, if too much is predicted (slot ``counter-example``)."""
    added = {*PRED_KINDS, "unanswerable", "unsupported"}
    empty: tuple[object, ...] = ([], "", {}, None)
    if not any(pattern.kind in added for pattern in diagnosis.patterns):
        return {}
    for name, signature in signatures(diagnosis.program).items():
        pool = [
            example
            for example in diagnosis.train
            if fits(example, signature) and all(example.get(key) in empty for key in signature.output_fields)
        ]
        if pool:
            example = sorted(pool, key=lambda row: len(text_of(row)))[len(pool) // 2]
            why = "an empty answer where there is nothing"
            return {"counter-example": [_show(diagnosis, name, example, "counter-example", why)]}
    return {}


def nearest_examples(diagnosis: Diagnosis, k: int = 4) -> Slots:
    """For each input its nearest examples, in place of the same ones for all (slot ``nearest``)."""
    if shows_nearest(diagnosis.program):
        return {}
    try:
        return {"nearest": [show_nearest(diagnosis, k, diagnosis.train, "nearest")]}
    except GoldassayError:  # no predictor can be shown them
        return {}


def selected_examples(diagnosis: Diagnosis, k: int = 4, sets: int = 6) -> Slots:
    """The best of ``sets`` sets of ``k`` examples, for every input (slot ``selected examples``).

    There is none if train has too few examples besides those that are measured.
    """
    race = diagnosis.race
    if race is None or len(race.pool) < 2 * k:
        return {}
    drawn = [random.Random(number).sample(list(race.pool), k) for number in range(sets)]
    try:
        patches = [show_nearest(diagnosis, k, examples, "selected") for examples in drawn]
    except GoldassayError:  # no predictor can be shown them
        return {}
    best, values = race.winner([apply(diagnosis.program, patch, any_version=True) for patch in patches])
    patch = patches[best]
    patch.examples = [str(example.get("id")) for example in drawn[best]]
    patch.rationale = (
        f"the best of {sets} sets of {k} on {len(race.bench.examples)} other train examples: "
        f"{values[best]:.3f} ({', '.join(f'{value:.3f}' for value in sorted(values, reverse=True))} when last seen)"
    )
    return {"selected examples": [patch]}


def show_nearest(diagnosis: Diagnosis, k: int, examples: Examples, proposer: str) -> Patch:
    """The patch that shows each input its ``k`` nearest of ``examples``: the same for all if they are ``k``."""
    nearest = NearestDemos(k).compile(inmost(diagnosis.program), trainset=list(examples))
    return diagnosis.draft(
        proposer=proposer,
        action="show_nearest",
        example={"k": k, "keys": nearest.keys, "examples": serialize_for_json(nearest.examples)},
        rationale=f"each input is shown its {k} nearest of {len(nearest.examples)} train examples",
    )


def cover(pool: Examples, patterns: Sequence[Pattern], predictor: Predict, most: int) -> list[Example]:
    """At most ``most`` examples of ``pool``, greedily by the function above; the one that adds most is first."""
    weights = [max(pattern.loss, 0.0) for pattern in patterns]
    if sum(weights) == 0:
        weights = [float(pattern.count) for pattern in patterns]
    uncovered = [weight / (sum(weights) or 1.0) for weight in weights]
    signature = signature_of(predictor)
    shares = [_shares(example, patterns) for example in pool]
    labels = [set(leaves([example.get(key) for key in signature.output_fields])) for example in pool]
    lengths = [len(str({key: example.get(key) for key in signature.fields})) for example in pool]
    frequency = Counter(label for some in labels for label in some)
    held = Counter[str]()  # how many chosen examples hold a label
    chosen: list[int] = []

    def gain(index: int) -> tuple[float, int, int]:
        covered = sum(weight * share for weight, share in zip(uncovered, shares[index], strict=True))
        # One more example of a label adds 2^-n - 2^-(n + 1) = 2^-n / 2 to its term 1 - 2^-n.
        # Their order is that of a set, which differs from process to process: the sum must not depend on it.
        spread = math.fsum(frequency[label] / frequency.total() * 0.5 ** held[label] / 2 for label in labels[index])
        cost = LENGTH * lengths[index] / (sum(lengths) / len(lengths))
        return covered + LABEL_SPREAD * spread - cost, -lengths[index], -index

    while len(chosen) < most:
        room = BUDGET - sum(lengths[index] for index in chosen)
        left = [i for i in range(len(pool)) if i not in chosen and (lengths[i] <= room or not chosen)]
        best = max(left, key=gain, default=None)
        if best is None or (chosen and gain(best)[0] <= 0):
            break
        uncovered = [weight * (1 - share) for weight, share in zip(uncovered, shares[best], strict=True)]
        held.update(labels[best])
        chosen.append(best)
    return [pool[index] for index in chosen]


def leaves(value: object) -> Iterator[str]:
    """The short texts in a nested value: the labels of an answer, and names.

    >>> sorted(set(leaves([{"text": "Delft", "type": "TOP"}])))
    ['Delft', 'TOP']
    """
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (list, tuple, set)):
        for inner in value:
            yield from leaves(inner)
    elif value is not None:
        text = str(getattr(value, "value", value))
        if 0 < len(text) <= LABEL:
            yield text


def _show(diagnosis: Diagnosis, name: str, example: Example, proposer: str, why: str) -> Patch:
    """The patch that adds an example to a predictor's demonstrations."""
    keys = [key for key in signatures(diagnosis.program)[name].fields if example.get(key) is not None]
    return diagnosis.draft(
        predictor=name,
        action="add_example",
        example={key: serialize_for_json(example[key]) for key in keys},
        pattern=diagnosis.patterns[0].name if diagnosis.patterns else "",
        examples=[str(example.get("id"))] if example.get("id") is not None else [],
        proposer=proposer,
        rationale=why,
    )


def _shares(example: Example | Mapping[str, object], patterns: Sequence[Pattern]) -> list[float]:
    """How surely an example shows each pattern; a demonstration of a loaded state is a dict."""
    name = str(example.get("id"))
    texts = set(leaves([value for _, value in example.items()]))
    shares = []
    for pattern in patterns:
        share = SHOWS if {pattern.gold_type, *pattern.surfaces[:6]} & texts else 0.0
        shares.append(1.0 if name in pattern.documents else share)
    return shares
