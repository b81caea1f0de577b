"""From a run's errors to patches of the program's prompt: what was missed becomes examples, what was wrong rules.

Only statements that the text says can be learnt from: a sentence in which one was missed, with what should have been
said of it, is an example; a property that is missed often is a rule. A wrong value (Wikidata has another) is a rule
too; a novel triple is no error. Patches are those of the loop, so ``goldassay patch test`` measures them before they
are used. Their examples come from the articles of this run, so their worth shows on other articles only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from goldassay.kb.alignment import PropertyAlignmentTable
from goldassay.measure import Error
from goldassay.score import Evidence
from goldassay.tally import Counts
from goldassay.tuning.edits import fingerprint
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Case, Pattern, find
from goldassay.tuning.proposers import predictor_for

MISSED, WRONG = "missed", "wrong_object"
SHOWN = 5


def cases(rows: Iterable[Mapping[str, Any]], table: PropertyAlignmentTable) -> list[Case]:
    """The rows as the loop's cases: counts of aligned properties, missed statements and wrong values as errors."""
    out = []
    for row in rows:
        if "score" not in row:
            continue
        score, title = row["score"], row["article_title"]
        counts = [sum(values[place] for values in score["properties"].values()) for place in range(3)]
        errors = [
            _error(MISSED, title, table.label(one["property"]), one["surface"], "", one["context"])
            for one in score["missed"]
            if one["aligned"] and one.get("context")
        ]
        errors += [
            _error(WRONG, title, table.label(one["statement"]["property"]), one["statement"]["value"], one["triple"][2])
            for one in score["triples"]
            if one["kind"] == "partial"
        ]
        out.append(Case(title, Evidence({"f1": Counts(*counts)}), tuple(errors), {"domain": row["domain"]}))
    return out


def _error(kind: str, title: str, label: str, gold: str, pred: str, context: str = "") -> Error:
    message = f"Missed {label} {gold!r} of {title}." if kind == MISSED else f"{label} of {title} is {gold}, not {pred}."
    return Error(kind, message, gold, pred, label, label if pred else "", context=context, field="statements")


def tuned(
    rows: Iterable[Mapping[str, Any]], program: Any, table: PropertyAlignmentTable, most: int = 12
) -> dict[str, Any]:
    """The report: ``false_positive_patterns``, ``false_negative_patterns``, ``prompt_patches``."""
    found = cases(rows, table)
    patterns = find(found) if found else []
    patches: dict[str, Patch] = {}
    for pattern in patterns:
        for patch in proposed(pattern, program, found):
            if len(patches) < most and patch.id not in patches:
                patch.priority = len(patches) + 1
                patches[patch.id] = patch
    return {
        "articles": [case.id for case in found],
        "false_positive_patterns": [_shown(one) for one in patterns if one.kind == WRONG],
        "false_negative_patterns": [_shown(one) for one in patterns if one.kind == MISSED],
        "prompt_patches": [
            {"id": one.id, "section": one.section, **one.model_dump(exclude_none=True)} for one in patches.values()
        ],
    }


def proposed(pattern: Pattern, program: Any, found: list[Case]) -> list[Patch]:
    """Patches for one pattern: a rule, and for what was missed the sentence that shows the most of it."""
    costs = f"{pattern.count} errors in {len(pattern.documents)} articles cost {pattern.loss:.4f}"
    common: dict[str, Any] = {
        "predictor": predictor_for(pattern, program)[0],
        "rationale": f"{costs}: {pattern.name}",
        "pattern": pattern.name,
        "examples": list(pattern.documents[:20]),
        "program": fingerprint(program),
    }
    label = pattern.gold_type
    if pattern.kind == MISSED:
        quoted = ", ".join(f'"{surface}"' for surface in pattern.surfaces[:3])
        rule = f"Say the {label} wherever the text gives it, such as {quoted}."
    else:
        wrong = pattern.errors[0]
        rule = f'As {label} give only what the text says of its subject itself: "{wrong.gold}", not "{wrong.pred}".'
    out = [Patch(action="add_instruction", text=rule, proposer="rules", **common)]
    demo = _demonstration(pattern, program, found) if pattern.kind == MISSED else None
    if demo:
        out.insert(0, Patch(action="add_example", example=demo, proposer="examples", **common))
    return out


def _demonstration(pattern: Pattern, program: Any, found: list[Case]) -> dict[str, Any] | None:
    """The sentence in which most was missed, with all that was missed in it, in the predictor's own fields."""
    _, predictor = predictor_for(pattern, program)
    inputs, outputs = list(predictor.signature.input_fields), list(predictor.signature.output_fields)
    by_id = {case.id: case for case in found}
    best: tuple[int, int, str, list[dict[str, Any]]] | None = None
    for title in pattern.documents:
        for context in dict.fromkeys(e.context for e in by_id[title].errors if e in pattern.errors):
            said = [e for e in by_id[title].errors if e.kind == MISSED and e.context == context]
            statements = [
                {"subject": title, "predicate": e.gold_type, "object": e.gold, "confidence": 1.0} for e in said
            ]
            rank = (len(statements), -len(context))
            if context and (best is None or rank > best[:2]):
                best = (*rank, context, statements)
    if best is None or inputs != ["text"] or len(outputs) != 1:
        return None
    return {"text": best[2], outputs[0]: best[3]}


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
