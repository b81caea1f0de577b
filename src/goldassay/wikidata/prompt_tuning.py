"""From a run's errors to patches of the program's prompt: what was missed becomes examples, what was wrong rules.

Only statements that the text says can be learnt from: a sentence in which one was missed, with what should have been
said of it, is an example; a property that is missed often is a rule. A wrong value (Wikidata has another) is a rule
too; a novel triple is no error. Patches are those of the loop, so ``goldassay patch test`` measures them before they
are used. Their examples come from the articles of this run, so their worth shows on other articles only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from goldassay.fields import read
from goldassay.kb.alignment import PropertyAlignmentTable
from goldassay.measure import Error
from goldassay.measures.triples import F1
from goldassay.measures.triples.objects import written
from goldassay.score import Evidence
from goldassay.tally import Counts
from goldassay.tuning.edits import fingerprint
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Case, Pattern, find
from goldassay.tuning.proposers import predictor_for

MISSED, WRONG = "missed", "wrong_object"
SHOWN = 5


@dataclass(frozen=True)
class Errors:
    """The loop's cases, and per article and sentence all that is rightly said of it: what an example shows."""

    cases: list[Case]
    said: dict[tuple[str, str], list[dict[str, Any]]]


def from_rows(rows: Iterable[Mapping[str, Any]], table: PropertyAlignmentTable) -> Errors:
    """The errors of a run's rows: missed statements that the text says, and wrong values."""
    found, sentences = [], dict[tuple[str, str], list[dict[str, Any]]]()
    for row in rows:
        if "score" not in row:
            continue
        score, title = row["score"], row["article_title"]
        counts = [sum(values[place] for values in score["properties"].values()) for place in range(3)]
        missed = [one for one in score["missed"] if one["aligned"] and one.get("context")]
        errors = [
            _error(MISSED, title, table.label(one["property"]), one["surface"], "", one["context"]) for one in missed
        ]
        errors += [
            _error(WRONG, title, table.label(one["statement"]["property"]), one["statement"]["value"], one["triple"][2])
            for one in score["triples"]
            if one["kind"] == "partial"
        ]
        right = [
            (table.label(one["statement"]["property"]), one["triple"][2])
            for one in score["triples"]
            if one["kind"] == "exact" and one["statement"]["aligned"] and not one.get("turned")
        ]
        for one in missed:
            said = sentences.setdefault((title, one["context"]), [])
            if not said:  # an example that left out what was found would teach to leave it out
                said += [_say(title, *pair) for pair in right if pair[1].casefold() in one["context"].casefold()]
            said.append(_say(title, table.label(one["property"]), one["surface"]))
        found.append(Case(title, Evidence({"f1": Counts(*counts)}), tuple(errors), {"domain": row["domain"]}))
    return Errors(found, sentences)


def from_outputs(gold: Sequence[Any], pred: Sequence[Any], measure: Any = None) -> Errors:
    """The errors of outputs that exist already, beside their gold; a sentence's example is its gold."""
    judge = measure or F1()
    found, sentences = [], dict[tuple[str, str], list[dict[str, Any]]]()
    for record, answer in zip(gold, pred, strict=True):
        made, name, text = judge(record, answer), str(read(record, "id")), str(read(record, "text", ""))
        errors = tuple(replace(error, context=text, field="statements") for error in made.errors)
        found.append(Case(name, Evidence({judge.key: made.tally}), errors))
        sentences[name, text] = [
            _say(one["subject"], one["predicate"], written(one["object"])) for one in read(record, "triples")
        ]
    return Errors(found, sentences)


def _say(subject: str, predicate: str, value: str) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": value, "confidence": 1.0}


def _error(kind: str, title: str, label: str, gold: str, pred: str, context: str = "") -> Error:
    message = f"Missed {label} {gold!r} of {title}." if kind == MISSED else f"{label} of {title} is {gold}, not {pred}."
    return Error(kind, message, gold, pred, label, label if pred else "", context=context, field="statements")


def report(errors: Errors, program: Any, most: int = 12) -> dict[str, Any]:
    """``false_positive_patterns``, ``false_negative_patterns`` and ``prompt_patches``, and the articles they are of."""
    patterns = find(errors.cases) if errors.cases else []
    patches: dict[str, Patch] = {}
    for pattern in patterns:
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


def proposed(pattern: Pattern, program: Any, errors: Errors) -> list[Patch]:
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
    best = max(found, key=lambda key: (len(errors.said[key]), -len(key[1]), key))
    return {"text": best[1], outputs[0]: errors.said[best]}


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
