"""Who proposes patches for a pattern: train examples that show it, or a model that reflects on it.

Rules that no model has to write are in `goldassay.tuning.rules`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import dspy
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from goldassay._dspy_compat import signature_of
from goldassay.exceptions import GoldassayError
from goldassay.lm.terse import CallPerType, TerseAdapter
from goldassay.running.identity import fingerprint
from goldassay.tuning.demonstrations import Diagnosis
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Pattern
from goldassay.tuning.wrappers import Formed, predictors, wrappers


class Proposer(Protocol):
    """Proposes patches for a pattern; ``train`` are examples that may be shown (see ``tune.demonstrable``)."""

    def propose(self, pattern: Pattern, program: dspy.Module, train: Sequence[dspy.Example]) -> list[Patch]:
        """Patches that may mend the pattern."""
        ...


def predictor_for(pattern: Pattern, program: dspy.Module) -> tuple[str, dspy.Predict]:
    """The predictor that writes the field in which the errors stand; the last one where none does."""
    known = predictors(program)
    if not known:
        raise GoldassayError("this program has no predictor, so there is no prompt to patch")
    fields = {error.field for error in pattern.errors}
    for name, predictor in known.items():
        if fields & set(signature_of(predictor).output_fields):
            return name, predictor
    return list(known.items())[-1]


def drafted(pattern: Pattern, program: dspy.Module, proposer: str, unit: str = "example", **edit: Any) -> Patch:
    """A patch with where it comes from: the pattern, what it costs, the examples (``unit``) it was seen in."""
    errors, places = pattern.count, len(pattern.documents)
    why = (
        f"{errors} error{'s' * (errors != 1)} in {places} {unit}{'s' * (places != 1)} "
        f"cost{'s' * (errors == 1)} {pattern.loss:.4f}: {pattern.name}"
    )
    return Patch(
        predictor=predictor_for(pattern, program)[0],
        rationale=why,
        pattern=pattern.name,
        examples=list(pattern.documents[:20]),
        proposer=proposer,
        program=fingerprint(program),
        **edit,
    )


@dataclass(frozen=True)
class Examples:
    """Train examples that show the pattern, chosen for how much of it they hold and how little they repeat."""

    most: int = 3

    def propose(self, pattern: Pattern, program: dspy.Module, train: Sequence[dspy.Example]) -> list[Patch]:
        """Examples of train in which the pattern's errors were made."""
        _, predictor = predictor_for(pattern, program)
        wanted = set(pattern.documents)
        keys = [*signature_of(predictor).input_fields, *signature_of(predictor).output_fields]
        shown = {str(demo.get("text", demo)) for demo in predictor.demos or []}
        candidates = [
            example for example in train if str(example.get("id")) in wanted and all(k in example for k in keys)
        ]
        weight = {str(example.get("id")): _shows(example, pattern) for example in candidates}
        candidates.sort(key=lambda example: (-weight[str(example.get("id"))], len(str(example.get("text", "")))))
        out: list[Patch] = []
        seen: set[str] = set()
        for example in candidates:
            new = set(pattern.surfaces) & _words_of(example, pattern.surfaces)
            if str(example.get("text", example)) in shown or (out and new <= seen):
                continue
            seen |= new
            demo = {key: to_jsonable_python(example[key], fallback=str) for key in keys}
            out.append(drafted(pattern, program, "examples", action="add_example", example=demo))
            if len(out) == self.most:
                break
        return out


def _shows(example: dspy.Example, pattern: Pattern) -> int:
    return sum(error.gold in str(example.toDict()) for error in pattern.errors if error.gold)


def _words_of(example: dspy.Example, surfaces: Sequence[str]) -> set[str]:
    text = str(example.toDict())
    return {surface for surface in surfaces if surface in text}


class Edit(BaseModel):
    """One edit that a model proposes."""

    action: Literal["add_instruction", "replace_instruction"]
    text: str
    old: str = ""


class Reflect(dspy.Signature):  # type: ignore[misc]
    """Propose short edits of an instruction so that a group of mistakes is not made again. Write general rules that
    also help on new texts; never copy whole sentences from the evidence."""

    instruction: str = dspy.InputField()
    mistakes: str = dspy.InputField(desc="what kind of mistake, how often, what it costs")
    evidence: list[str] = dspy.InputField(desc="single mistakes with the words around")
    tried: list[str] = dspy.InputField(desc="edits that were measured before, and what they did to the score")
    edits: list[Edit] = dspy.OutputField(desc="at most three, other than those tried")


@dataclass(frozen=True)
class Reflection:
    """A language model that reads the pattern's evidence and proposes edits; its model is bound here.

    ``tried`` is what was tried before in this campaign, a line each with its effect: the model is told.
    """

    lm: Any
    evidence: int = 8
    tried: list[str] = field(default_factory=list, compare=False)
    predict: Any = field(default_factory=lambda: dspy.Predict(Reflect), repr=False, compare=False)

    def propose(self, pattern: Pattern, program: dspy.Module, train: Sequence[dspy.Example]) -> list[Patch]:
        """Edits that the model proposes; none of them is trusted before it is tested."""
        _, predictor = predictor_for(pattern, program)
        text = signature_of(predictor).instructions
        with dspy.context(lm=self.lm, adapter=dspy.JSONAdapter()):
            try:
                found = self.predict(
                    instruction=text,
                    mistakes=f"{pattern.name}: {pattern.count} times, loss {pattern.loss:.4f}",
                    evidence=[error.message for error in pattern.errors[: self.evidence]],
                    tried=self.tried[-12:],
                )
            except Exception as error:
                why = " ".join(f"{type(error).__name__}: {error}".split())[:300]
                raise GoldassayError(f"the reflection model gave no usable edit: {why}") from error
        out = []
        for edit in found.edits[:3]:
            if edit.action == "replace_instruction" and text.count(edit.old) == 1 and edit.old:
                out.append(drafted(pattern, program, "reflection", action=edit.action, old=edit.old, text=edit.text))
            elif edit.text.strip():
                out.append(drafted(pattern, program, "reflection", action="add_instruction", text=edit.text.strip()))
        return out


class Part(Protocol):
    """A part of a bundle: edits by slot. A slot is what leave-one-out may drop, under one name in every fold."""

    def edits(self, found: Diagnosis) -> dict[str, list[Patch]]:
        """The edits by slot; nothing where there is nothing to propose."""
        ...


@dataclass
class PerPattern:
    """A proposer as a part: for each of the costliest patterns the first edit that was not tried alone and failed."""

    proposer: Proposer
    patterns: int = 3
    failures: list[str] = field(default_factory=list)

    def edits(self, found: Diagnosis) -> dict[str, list[Patch]]:
        """A slot a pattern, named by the proposer, the kind and the types."""
        out: dict[str, list[Patch]] = {}
        if isinstance(getattr(self.proposer, "tried", None), list):
            self.proposer.tried[:] = found.tried  # type: ignore[attr-defined]
        for pattern in found.patterns:
            if len(out) == self.patterns:
                break
            try:
                patches = self.proposer.propose(pattern, found.program, found.train)
            except GoldassayError as error:  # the other parts need no model
                self.failures.append(f"{pattern.name}: {error}")
                continue
            there = {name: signature_of(p).instructions for name, p in predictors(found.program).items()}
            patches = [one for one in patches if not one.text or one.text not in there.get(one.predictor, "")]
            types = "→".join(part for part in (pattern.gold_type, pattern.pred_type) if part)
            slot = " ".join(part for part in (type(self.proposer).__name__.lower(), pattern.kind, types) if part)
            if patches and slot not in out:
                out[slot] = patches[:1]
        return out


@dataclass(frozen=True)
class AnswerForm:
    """The other form than the one in which answers are written now, JSON or lines (slot ``form of the answer``)."""

    def edits(self, found: Diagnosis) -> dict[str, list[Patch]]:
        """One edit of the whole program; none where another adapter asks, or where lines cannot show the outputs."""
        adapter, signatures = _free(found)
        if adapter is None or not any(TerseAdapter("lines").lines(one) for one in signatures.values()):
            return {}
        now, other = "json", "lines"
        if any(adapter.lines(one) for one in signatures.values()):
            now, other = other, now
        return {"form of the answer": [_formed(found, signatures, other, f"answers are written as {now} now")]}


@dataclass(frozen=True)
class OneCallAType:
    """A call for each label of a list of labelled objects (slot ``one call a type``), where there are at most ``most``:
    it costs as many calls."""

    most: int = 4

    def edits(self, found: Diagnosis) -> dict[str, list[Patch]]:
        """One edit of the whole program; none where another adapter asks, or where no output is such a list."""
        adapter, signatures = _free(found)
        parted = [form for one in signatures.values() if (form := CallPerType.of(one)) is not None]
        if adapter is None or not parted or max(len(form.labels) for form in parted) > self.most:
            return {}
        labels = ", ".join(parted[0].labels)
        return {"one call a type": [_formed(found, signatures, "types", f"all of {labels} are asked for at once now")]}


def _free(found: Diagnosis) -> tuple[Any, dict[str, Any]]:
    """The adapter whose form is still free to change, if there is one, and the signatures that it asks."""
    adapter = dspy.settings.adapter
    free = isinstance(adapter, TerseAdapter) and adapter.form != "types"
    free = free and not any(isinstance(one, Formed) for one in wrappers(found.program))
    return adapter if free else None, {name: one.signature for name, one in predictors(found.program).items()}


def _formed(found: Diagnosis, signatures: Mapping[str, object], form: str, why: str) -> Patch:
    return Patch(
        predictor=next(iter(signatures)),
        action="set_form",
        text=form,
        proposer="form",
        rationale=why,
        program=fingerprint(found.program),
    )
