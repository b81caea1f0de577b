"""Applying a patch to a program, and taking it back: exact inverses of each other."""

from __future__ import annotations

from typing import Any

import dspy

from goldassay.exceptions import GoldassayError
from goldassay.running.identity import fingerprint
from goldassay.tuning.patch_files import Patch


def apply(program: Any, patch: Patch, *, any_version: bool = False) -> Any:
    """A copy of ``program`` with the edit made; the program itself stays as it is.

    A patch that names the program version it was made for is refused for another one, unless ``any_version``.
    """
    if patch.program and not any_version and patch.program != fingerprint(program):
        raise GoldassayError(
            f"patch {patch.id} was made for version {patch.program} of the program, this is {fingerprint(program)}; "
            "propose and test it again"
        )
    copy = program.deepcopy()
    predictor = _predictor(copy, patch)
    if patch.section == "few_shot":
        predictor.demos = _demos(list(predictor.demos or []), patch, predictor.signature)
    elif patch.section == "system":
        predictor.signature = predictor.signature.with_instructions(
            _instructions(predictor.signature.instructions, patch)
        )
    else:
        predictor.signature = _described(predictor.signature, patch)
    return copy


def inverse(program: Any, patch: Patch) -> Patch:
    """The patch that takes ``patch`` back, given the program before it was applied."""
    predictor, patched = _predictor(program, patch), apply(program, patch)
    base: dict[str, Any] = {
        "predictor": patch.predictor,
        "rationale": f"takes back {patch.id}",
        "program": fingerprint(patched),
    }
    if patch.action == "add_example":
        return Patch(action="remove_example", index=_place(patch, len(predictor.demos or [])), **base)
    if patch.action == "remove_example":
        return Patch(action="add_example", example=_plain(predictor.demos[patch.index]), index=patch.index, **base)
    if patch.action == "describe_field":
        old = predictor.signature.fields[patch.field].json_schema_extra.get("desc", "")
        return Patch(action="describe_field", field=patch.field, text=old, **base)
    now = _predictor(patched, patch).signature.instructions  # DSPy takes white space off the ends of what it is given
    return Patch(action="replace_instruction", old=now, text=predictor.signature.instructions, **base)


def _predictor(program: Any, patch: Patch) -> Any:
    known = dict(program.named_predictors())
    if patch.predictor not in known:
        raise GoldassayError(f"patch {patch.id}: no predictor {patch.predictor!r}; the program has {', '.join(known)}")
    return known[patch.predictor]


def _place(patch: Patch, count: int) -> int:
    return count if patch.index is None else patch.index


def _demos(demos: list[Any], patch: Patch, signature: Any) -> list[Any]:
    if patch.action == "add_example":
        known = {key for key, value in (patch.example or {}).items() if value is not None}
        for fields in (signature.input_fields, signature.output_fields):
            if known.isdisjoint(fields):
                raise GoldassayError(
                    f"patch {patch.id}: the example has no {' or '.join(fields)}; it would not be shown"
                )
        place = _place(patch, len(demos))
        if place > len(demos):
            raise GoldassayError(f"patch {patch.id}: no place {place} for an example; the predictor shows {len(demos)}")
        demos.insert(place, dspy.Example(**(patch.example or {})))
        return demos
    if not 0 <= (patch.index or 0) < len(demos):
        raise GoldassayError(f"patch {patch.id}: no example {patch.index}; the predictor shows {len(demos)}")
    demos.pop(patch.index or 0)
    return demos


def _instructions(text: str, patch: Patch) -> str:
    if patch.action == "add_instruction":
        return f"{text}\n{patch.text}"
    old = patch.old or ""
    if text.count(old) != 1:
        raise GoldassayError(
            f"patch {patch.id}: {old[:60]!r} stands {text.count(old)} times in the instructions, not once"
        )
    left = text.replace(old, (patch.text or "") if patch.action == "replace_instruction" else "")
    if not left.strip():
        raise GoldassayError(f"patch {patch.id} would leave no instructions, and DSPy would put its own there")
    return left


def _described(signature: Any, patch: Patch) -> Any:
    if patch.field not in signature.fields:
        raise GoldassayError(f"patch {patch.id}: no field {patch.field!r}; there are {', '.join(signature.fields)}")
    return signature.with_updated_fields(patch.field, desc=patch.text)


def _plain(demo: Any) -> dict[str, Any]:
    return {key: demo[key] for key in demo.keys()} if hasattr(demo, "keys") else dict(demo)  # noqa: SIM118
