"""From a run's errors to patches of the program's prompt: what was missed becomes examples, what was wrong rules.

A sentence in which a statement was missed, with what should have been said of it, is an example; a property that is
missed often is a rule, and so is a wrong value. Patches are those of the loop, so ``goldassay patch test`` measures
them before they are used. Their examples come from the articles of this run, so their worth shows on other articles
only.
"""

from __future__ import annotations

from typing import Any

from goldassay.articles.mistakes import MISSED, WRONG, Errors
from goldassay.running.identity import fingerprint
from goldassay.tuning.patch_files import Patch
from goldassay.tuning.patterns import Pattern, find
from goldassay.tuning.proposers import predictor_for

SHOWN = 5


def report(errors: Errors, program: Any, most: int = 12) -> dict[str, Any]:
    """``false_positive_patterns``, ``false_negative_patterns`` and ``prompt_patches``, and the articles they are of.

    A program without predictors has no prompt, and so no patches.
    """
    patterns = find(errors.cases) if errors.cases else []
    patches: dict[str, Patch] = {}
    for pattern in patterns if prompts(program) else ():
        for patch in proposed(pattern, program, errors):
            if len(patches) < most and patch.id not in patches:
                patch.priority = len(patches) + 1
                patches[patch.id] = patch
    return {
        "articles": [case.id for case in errors.cases],
        "false_positive_patterns": [_shown(one) for one in patterns if one.kind != MISSED],
        "false_negative_patterns": [_shown(one) for one in patterns if one.kind == MISSED],
        "prompt_patches": [
            {"id": one.id, "section": one.section, **one.model_dump(exclude_none=True)} for one in patches.values()
        ],
    }


def prompts(program: Any) -> bool:
    """Whether a program has prompts that can be tuned."""
    return hasattr(program, "named_predictors") and bool(program.named_predictors())


def proposed(pattern: Pattern, program: Any, errors: Errors) -> list[Patch]:
    """Patches for one pattern: a rule, and for what was missed the sentence that shows the most of it."""
    errors_, places = pattern.count, len(pattern.documents)
    costs = (
        f"{errors_} error{'s' * (errors_ > 1)} in {places} article{'s' * (places > 1)} "
        f"cost{'s' * (errors_ == 1)} {pattern.loss:.4f}"
    )
    common: dict[str, Any] = {
        "predictor": predictor_for(pattern, program)[0],
        "rationale": f"{costs}: {pattern.name}",
        "pattern": pattern.name,
        "examples": list(pattern.documents[:20]),
        "program": fingerprint(program),
    }
    label = pattern.gold_type
    quoted = ", ".join(f'"{surface}"' for surface in pattern.surfaces[:3])
    first = pattern.errors[0]
    rules = {
        MISSED: f"Say the {label} wherever the text gives it, such as {quoted}.",
        WRONG: f'As {label} give only what the text says of its subject itself: "{first.gold}", not "{first.pred}".',
        "wrong_subject": f"Give each {label} to the subject that the text says it of.",
        "spurious": f"Do not give {quoted} as {label or pattern.pred_type} unless the text says so.",
        "duplicate": "Say each statement once.",
    }
    if pattern.kind not in rules:
        return []
    rule = rules[pattern.kind]
    out = [Patch(action="add_instruction", text=rule, proposer="rules", **common)]
    demo = _demonstration(pattern, program, errors) if pattern.kind == MISSED else None
    if demo:
        out.insert(0, Patch(action="add_example", example=demo, proposer="examples", **common))
    return out


def _demonstration(pattern: Pattern, program: Any, errors: Errors) -> dict[str, Any] | None:
    """The sentence that shows most of what was missed, with all that is said in it, in the predictor's own fields."""
    _, predictor = predictor_for(pattern, program)
    inputs, outputs = list(predictor.signature.input_fields), list(predictor.signature.output_fields)
    ours = {error.context for error in pattern.errors if error.context}
    places = set(pattern.documents)
    found = [key for key in errors.said if key[0] in places and key[1] in ours and errors.said[key]]
    if not found or inputs != ["text"] or len(outputs) != 1:
        return None
    # one that names its subject comes first: the program is asked to copy the subject from the text
    best = max(found, key=lambda key: (_named(key, errors), len(errors.said[key]), -len(key[1]), key))
    return {"text": best[1], outputs[0]: errors.said[best]}


def _named(key: tuple[str, str], errors: Errors) -> bool:
    return all(str(one["subject"]).casefold() in key[1].casefold() for one in errors.said[key])


def _shown(pattern: Pattern) -> dict[str, Any]:
    return {
        "kind": pattern.kind,
        "property": pattern.gold_type,
        "name": pattern.name,
        "count": pattern.count,
        "articles": len(pattern.documents),
        "loss": pattern.loss,
        "surfaces": list(pattern.surfaces[:SHOWN]),
        "examples": [error.state() for error in pattern.errors[:SHOWN]],
    }
