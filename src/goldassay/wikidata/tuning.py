"""Patches of a program's prompt from the errors of an evaluation on articles.

A program can only learn from what the texts say, so a missed statement counts if its sentence is known. A value is
wrong if Wikidata has another; a novel triple is no error. A sentence in which a statement was missed, with
everything that it says, becomes an example; a property that is missed or wrong becomes a rule. The patches are those of
`goldassay.tuning`, so ``goldassay patch test`` measures them before they are used; as their examples come from these
articles, their effect shows on other articles only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from goldassay.measure import Error
from goldassay.running.run import Case
from goldassay.score import Evidence
from goldassay.tally import Counts
from goldassay.tuning.edits import Diagnosis, by_pattern, predictor_for, propose_patches
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Pattern, find
from goldassay.wikidata.alignment import PropertyAlignmentTable

if TYPE_CHECKING:
    import dspy

MISSED, WRONG = "missed", "wrong_object"


@dataclass(frozen=True)
class Errors:
    """Errors by article, and for each sentence (article, text) all triples that it says."""

    cases: list[Case]
    sentences: dict[tuple[str, str], list[dict[str, Any]]]


def from_rows(rows: Iterable[Mapping[str, Any]], table: PropertyAlignmentTable) -> Errors:
    """The errors in the rows of an evaluation: missed statements that the text says, and wrong values."""
    cases, sentences = [], dict[tuple[str, str], list[dict[str, Any]]]()
    for row in rows:
        title = row["article_title"]
        missed = [statement for statement in row["missed"] if statement["aligned"] and statement.get("context")]
        errors = []
        surfaces = {}
        for statement in missed:
            label, surface = table.label(statement["property"]), statement["surface"]
            message = f"Missed {label} {surface!r} of {title}."
            context = statement["context"]
            errors.append(Error(MISSED, message, surface, "", label, "", context=context, field="statements"))
            surfaces[statement["property"], statement["value"]] = surface
        for triple in row["triples"]:
            if triple["kind"] == "partial":
                property_, value = triple["statement"]["property"], triple["statement"]["value"]
                label, said = table.label(property_), triple["triple"][2]
                gold = surfaces.get((property_, value), value)  # in the text's own words, if it gives them
                message = f"{label} of {title} is {gold}, not {said}."
                errors.append(Error(WRONG, message, gold, said, label, label, field="statements"))
        exact = [triple for triple in row["triples"] if triple["kind"] == "exact" and triple["statement"]["aligned"]]
        for statement in missed:
            triples = sentences.setdefault((title, statement["context"]), [])
            if not triples:  # an example without what was found would teach to leave it out
                triples += [
                    _triple(title, table.label(triple["statement"]["property"]), triple["triple"][2])
                    for triple in exact
                    if not triple["inverted"] and triple["triple"][2].casefold() in statement["context"].casefold()
                ]
            triples.append(_triple(title, table.label(statement["property"]), statement["surface"]))
        evidence = Evidence({"f1": Counts(**row["tally"])})
        cases.append(Case(title, evidence, tuple(errors), {"domain": row["domain"]}))
    return Errors(cases, sentences)


def _triple(subject: str, predicate: str, value: str) -> dict[str, Any]:
    return {"subject": subject, "predicate": predicate, "object": value, "confidence": 1.0}


def tuning_report(errors: Errors, program: dspy.Module, limit: int = 12) -> dict[str, Any]:
    """``false_positive_patterns``, ``false_negative_patterns``, ``prompt_patches``, and the articles that they are of.

    A program without predictors has no prompt, and so no patches.
    """
    patterns = find(errors.cases) if errors.cases else []
    edits = [partial(sentences, errors=errors)]
    patches = propose_patches(Diagnosis(patterns, program, ()), edits, limit) if has_prompts(program) else []
    return {
        "articles": [case.id for case in errors.cases],
        "false_positive_patterns": [pattern.reported() for pattern in patterns if pattern.kind != MISSED],
        "false_negative_patterns": [pattern.reported() for pattern in patterns if pattern.kind == MISSED],
        "prompt_patches": [
            {"id": patch.id, "section": patch.section, **patch.model_dump(exclude_none=True)} for patch in patches
        ],
    }


def has_prompts(program: dspy.Module) -> bool:
    """Whether a program has prompts that can be tuned."""
    return hasattr(program, "named_predictors") and bool(program.named_predictors())


def sentences(diagnosis: Diagnosis, errors: Errors) -> dict[str, list[Patch]]:
    """For each pattern a rule, and for missed statements first the sentence that shows most of them."""

    def propose(pattern: Pattern) -> list[Patch]:
        label, first = pattern.gold_type, pattern.errors[0]
        quoted = ", ".join(f'"{surface}"' for surface in pattern.surfaces[:3])
        rules = {
            MISSED: f"Give the {label} whenever the text states it, such as {quoted}.",
            WRONG: f'As {label} give only what the text says about its subject itself: "{first.gold}", '
            f'not "{first.pred}".',
        }
        if pattern.kind not in rules:
            return []
        draft = partial(diagnosis.draft, pattern, unit="article")
        rule = draft("rules", action="add_instruction", text=rules[pattern.kind])
        example = _example(pattern, diagnosis.program, errors) if pattern.kind == MISSED else None
        return [draft("examples", action="add_example", example=example), rule] if example else [rule]

    return by_pattern(diagnosis, "sentences", propose)


def _example(pattern: Pattern, program: dspy.Module, errors: Errors) -> dict[str, Any] | None:
    """A sentence with all that it says, in the predictor's fields; one that names its subjects comes first."""
    predictor: Any = predictor_for(pattern, program)[1]
    inputs, outputs = list(predictor.signature.input_fields), list(predictor.signature.output_fields)
    contexts = {error.context for error in pattern.errors if error.context}
    candidates = {
        key: triples
        for key, triples in errors.sentences.items()
        if key[0] in pattern.documents and key[1] in contexts and triples
    }
    if not candidates or inputs != ["text"] or len(outputs) != 1:
        return None

    def quality(key: tuple[str, str]) -> tuple[bool, int, int, tuple[str, str]]:
        triples, text = candidates[key], key[1].casefold()
        named = all(str(triple["subject"]).casefold() in text for triple in triples)
        return named, len(triples), -len(text), key

    best = max(candidates, key=quality)
    return {"text": best[1], outputs[0]: candidates[best]}
