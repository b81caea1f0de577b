"""Edits of a program's prompts: the protocol, the diagnosis that they are made from, and what they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import dspy

from goldassay._dspy_compat import signature_of
from goldassay.exceptions import GoldassayError
from goldassay.running.identity import fingerprint
from goldassay.tuning.measuring import Race
from goldassay.tuning.patches import Patch, make_patch
from goldassay.tuning.patterns import Pattern
from goldassay.tuning.wrappers import fits, predictors


@dataclass(frozen=True)
class Diagnosis:
    """What edits are made from: the errors, the program, examples to show.

    ``tried`` says in a line each what was tried before, and to what effect. ``race`` tells which set of examples does
    most, if train has enough for that. An edit that cannot be proposed for a pattern adds a line to ``failures``.
    """

    patterns: Sequence[Pattern]
    program: Any
    train: Sequence[dspy.Example]
    tried: Sequence[str] = ()
    race: Race | None = None
    failures: list[str] = field(default_factory=list)

    def fitting(self, predictor: dspy.Predict) -> list[dspy.Example]:
        """The examples that a predictor can be shown."""
        return [example for example in self.train if fits(example, signature_of(predictor))]

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
        if pattern is not None:
            loss = f"cost{'s' * (pattern.count == 1)} {pattern.loss:.4f}: {pattern.name}"
            fields = {
                "predictor": predictor_for(pattern, self.program)[0],
                "rationale": f"{_plural(pattern.count, 'error')} in {_plural(len(pattern.documents), unit)} {loss}",
                "pattern": pattern.name,
                "examples": list(pattern.documents[:20]),
                **fields,
            }
        fields.setdefault("predictor", next(iter(predictors(self.program))))
        return make_patch(**{"proposer": proposer, "program": fingerprint(self.program), **fields})


class Edit(Protocol):
    """Proposes patches by slot: those of a slot are applied together, and dropped together by leave-one-out.

    A slot has the same name in every fold. Any function of a `Diagnosis` will do; give it parameters with
    ``functools.partial``.
    """

    def __call__(self, diagnosis: Diagnosis, /) -> dict[str, list[Patch]]:
        """The patches by slot; empty if there is nothing to propose."""
        ...


def wraps(edit: Any, *functions: Any) -> bool:
    """Whether an edit is one of these functions, with parameters or without."""
    return getattr(edit, "func", edit) in functions


def by_pattern(
    diagnosis: Diagnosis,
    name: str,
    propose: Callable[[Pattern], list[Patch]],
    patterns: int | None = None,
    each: int | None = None,
) -> dict[str, list[Patch]]:
    """A slot for each pattern, the most costly first.

    Args:
        diagnosis: What edits are made from.
        name: The first word of the slots' names.
        propose: The patches of a pattern, the best first.
        patterns: How many slots to fill; by default one for each pattern.
        each: How many patches a slot takes; by default all.
    """
    slots: dict[str, list[Patch]] = {}
    present = {key: signature_of(p).instructions for key, p in predictors(diagnosis.program).items()}
    for pattern in diagnosis.patterns:
        if len(slots) == patterns:
            break
        try:
            patches = [p for p in propose(pattern) if not p.text or p.text not in present.get(p.predictor, "")]
        except GoldassayError as error:  # the other edits may work all the same
            diagnosis.failures.append(f"{pattern.name}: {error}")
            continue
        types = "→".join(part for part in (pattern.gold_type, pattern.pred_type) if part)
        slot = " ".join(part for part in (name, pattern.kind, types) if part)
        if patches and (each is None or slot not in slots):
            slots.setdefault(slot, []).extend(patches[:each])
    return slots


def propose_patches(diagnosis: Diagnosis, edits: Sequence[Edit], most: int | None = None) -> list[Patch]:
    """The patches of all edits, for the most costly patterns first: each edit once, at most ``most``, numbered.

    Raises:
        GoldassayError: an edit failed.
    """
    order = {pattern.name: place for place, pattern in reversed(list(enumerate(diagnosis.patterns)))}
    if not diagnosis.patterns:
        return []
    patches = [patch for edit in edits for slot in edit(diagnosis).values() for patch in slot]
    if diagnosis.failures:
        raise GoldassayError(diagnosis.failures[0])
    unique: dict[str, Patch] = {}
    for patch in sorted(patches, key=lambda patch: order.get(patch.pattern, len(order))):
        unique.setdefault(patch.id, patch)
    chosen = list(unique.values())[:most]
    for number, patch in enumerate(chosen, start=1):
        patch.priority = number
    return chosen


def predictor_for(pattern: Pattern, program: dspy.Module) -> tuple[str, dspy.Predict]:
    """The predictor that writes the field in which the errors are; by default the last one."""
    named = predictors(program)
    if not named:
        raise GoldassayError("this program has no predictor, so there is no prompt to patch")
    fields = {error.field for error in pattern.errors}
    for name, predictor in named.items():
        if fields & set(signature_of(predictor).output_fields):
            return name, predictor
    return list(named.items())[-1]


def _plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
