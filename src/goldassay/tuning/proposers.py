"""Who proposes patches for a pattern: train examples that show it, a model that reflects on it, or rules (`rules`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import dspy
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

from goldassay.exceptions import GoldassayError
from goldassay.tuning.edits import fingerprint
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Pattern


class Proposer(Protocol):
    """Proposes patches for a pattern; ``train`` are examples that may be shown (see ``tune.demonstrable``)."""

    def propose(self, pattern: Pattern, program: Any, train: Sequence[Any]) -> list[Patch]:
        """Patches that may mend the pattern."""


def predictor_for(pattern: Pattern, program: Any) -> tuple[str, Any]:
    """The predictor that writes the field in which the errors stand; the last one where none does."""
    predictors = program.named_predictors()
    if not predictors:
        raise GoldassayError("this program has no predictor, so there is no prompt to patch")
    fields = {error.field for error in pattern.errors}
    for name, predictor in predictors:
        if fields & set(predictor.signature.output_fields):
            return name, predictor
    found: tuple[str, Any] = predictors[-1]
    return found


def drafted(pattern: Pattern, program: Any, proposer: str, **edit: Any) -> Patch:
    """A patch with where it comes from: the pattern, what it costs, the examples it was seen in."""
    why = f"{pattern.count} errors in {len(pattern.documents)} examples cost {pattern.loss:.4f}: {pattern.name}"
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

    def propose(self, pattern: Pattern, program: Any, train: Sequence[Any]) -> list[Patch]:
        """Examples of train in which the pattern's errors were made."""
        _, predictor = predictor_for(pattern, program)
        wanted = set(pattern.documents)
        keys = [*predictor.signature.input_fields, *predictor.signature.output_fields]
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


def _shows(example: Any, pattern: Pattern) -> int:
    return sum(error.gold in str(example.toDict()) for error in pattern.errors if error.gold)


def _words_of(example: Any, surfaces: Sequence[str]) -> set[str]:
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
    edits: list[Edit] = dspy.OutputField(desc="at most three")


@dataclass(frozen=True)
class Reflection:
    """A language model that reads the pattern's evidence and proposes edits; its model is bound here."""

    lm: Any
    evidence: int = 8
    predict: Any = field(default_factory=lambda: dspy.Predict(Reflect), repr=False, compare=False)

    def propose(self, pattern: Pattern, program: Any, train: Sequence[Any]) -> list[Patch]:
        """Edits that the model proposes; none of them is trusted before it is tested."""
        _, predictor = predictor_for(pattern, program)
        text = predictor.signature.instructions
        with dspy.context(lm=self.lm, adapter=dspy.JSONAdapter()):
            try:
                found = self.predict(
                    instruction=text,
                    mistakes=f"{pattern.name}: {pattern.count} times, loss {pattern.loss:.4f}",
                    evidence=[error.message for error in pattern.errors[: self.evidence]],
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
