"""Suggestions from an evaluation: recall gaps, and patches of the program's prompt.

A recall gap comes with sentences in which its statements were missed. Recall is the share of gold that was covered; a
file that gives only a property's precision (as riverbank's did) says nothing about its recall, so such properties are
listed as unknown.

A program can only learn from what the texts say, so a missed statement counts if its sentence is known. A value is
wrong if Wikidata has another; a novel triple is not an error. A sentence in which a statement was missed, with
everything that it says, becomes an example; a property that is missed or wrong becomes a rule. The patches are those of
`goldassay.tuning`, so ``goldassay patch test`` measures them before they are used; as their examples come from these
articles, their effect shows on other articles only.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from goldassay._support.exceptions import DataError
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.core.measure import Error
from goldassay.core.tally import Counts, Evidence
from goldassay.ext.wikidata.alignment import PropertyAlignmentTable
from goldassay.ext.wikidata.results import EXACT, PARTIAL
from goldassay.running.run import Case
from goldassay.tuning.edits import Diagnosis, by_pattern, predictor_for, propose_patches
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Pattern, find

if TYPE_CHECKING:
    import dspy

MISSED = "missed"
WRONG = "wrong_object"


def recall_gaps(result: Record, threshold: float = 0.5, file: Path | str | None = None) -> Fields:
    """The properties whose recall is below a threshold; those that cost the most statements first.

    Raises:
        DataError: The result has no values by property.

    >>> rows = {"P19": {"recall": 0.2, "count": 5, "label": "place of birth"}, "P20": {"precision": 0.9, "count": 3}}
    >>> report = recall_gaps({"run_metadata": {}, "by_property": rows})
    >>> [gap["property_id"] for gap in report["gaps"]], report["unknown_recall"]
    (['P19'], ['P20'])
    """
    rows = {name: row for name, row in sorted((result.get("by_property") or {}).items()) if row.get("count")}
    if not rows:
        raise DataError("it has no by_property, so there is no property to analyse; evaluate again", file=file)
    table = PropertyAlignmentTable.of()
    metadata = result["run_metadata"]
    measured = {name: row for name, row in rows.items() if row.get("recall") is not None}
    gaps = []
    for name, row in measured.items():
        if row["recall"] >= threshold:
            continue
        label = str(row.get("label") or table.label(name))
        predicates = table.predicates(name)
        examples = [
            {
                "property_id": name,
                "property_label": label,
                "example_text": missed["context"],
                "expected_triple": [missed["article"], (*predicates, name)[0], missed["surface"]],
                "domain": missed["domain"],
            }
            for missed in row.get("missed_examples") or ()
        ]
        gaps.append(
            {
                "property_id": name,
                "property_label": label,
                "total_count": int(row["count"]),
                "matched_count": round(row["recall"] * row["count"]),
                "recall": row["recall"],
                "recall_supported": row.get("recall_supported"),
                "aligned_predicates": predicates,
                "notes": "" if examples else "no sentence is known in which it was missed",
                "extraction_examples": examples,
            }
        )
    gaps.sort(key=lambda gap: gap["matched_count"] - gap["total_count"])
    return {
        "threshold": threshold,
        "dataset_name": metadata.get("dataset") or metadata.get("article") or "",
        "total_extraction_examples": sum(len(gap["extraction_examples"]) for gap in gaps),
        "covered_properties": [name for name, row in measured.items() if row["recall"] >= threshold],
        "unknown_recall": [name for name in rows if name not in measured],
        "gaps": gaps,
    }


class Errors(NamedTuple):
    """Errors by article, and for each sentence (article, text) all triples that it says."""

    cases: list[Case]
    sentences: dict[tuple[str, str], list[JsonObject]]


def from_rows(rows: Iterable[Record], table: PropertyAlignmentTable) -> Errors:
    """The errors in the rows of an evaluation: missed statements that the text says, and wrong values."""
    cases = []
    sentences: dict[tuple[str, str], list[JsonObject]] = {}
    for row in rows:
        title = row["article_title"]
        correct = [
            _triple(title, table.label(answer["statement"]["property"]), answer["triple"][2])
            for answer in row["triples"]
            if answer["kind"] == EXACT and answer["statement"]["aligned"] and not answer["inverted"]
        ]
        errors: list[Error] = []
        surfaces: dict[tuple[str, str], str] = {}  # the right values in the text's own words
        for statement in row["missed"]:
            context = statement.get("context")
            if not (statement["aligned"] and context):
                continue
            label = table.label(statement["property"])
            surface = statement["surface"]
            surfaces[statement["property"], statement["value"]] = surface
            # an example that lacks the covered triples of its sentence would teach to leave them out
            covered = [triple for triple in correct if triple["object"].casefold() in context.casefold()]
            sentences.setdefault((title, context), covered).append(_triple(title, label, surface))
            message = f"Missed {label} {surface!r} of {title}."
            errors.append(Error(MISSED, message, surface, "", label, "", context=context, field="statements"))
        for answer in row["triples"]:
            if answer["kind"] == PARTIAL:
                statement = answer["statement"]
                wrong = answer["triple"][2]
                right = surfaces.get((statement["property"], statement["value"])) or statement["value"]
                label = table.label(statement["property"])
                message = f"{label} of {title} is {right}, not {wrong}."
                errors.append(Error(WRONG, message, right, wrong, label, label, field="statements"))
        evidence = Evidence({"f1": Counts(**row["tally"])})
        cases.append(Case(title, evidence, tuple(errors), {"domain": row["domain"]}))
    return Errors(cases, sentences)


def _triple(subject: str, predicate: str, value: str) -> Fields:
    return {"subject": subject, "predicate": predicate, "object": value, "confidence": 1.0}


def tuning_report(errors: Errors, program: dspy.Module, limit: int = 12) -> Fields:
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


@by_pattern("sentences")
def sentences(diagnosis: Diagnosis, pattern: Pattern, errors: Errors) -> list[Patch]:
    """For each pattern a rule, and for missed statements first the sentence that shows most of them."""
    label = pattern.gold_type
    first = pattern.errors[0]
    quoted = ", ".join(f'"{surface}"' for surface in pattern.surfaces[:3])
    rules = {
        MISSED: f"Give the {label} whenever the text states it, such as {quoted}.",
        WRONG: f'As {label} give only what the text says about its subject itself: "{first.gold}", not "{first.pred}".',
    }
    if pattern.kind not in rules:
        return []
    draft = partial(diagnosis.draft, pattern, unit="article")
    rule = draft("rules", action="add_instruction", text=rules[pattern.kind])
    example = _example(pattern, diagnosis.program, errors) if pattern.kind == MISSED else None
    return [draft("examples", action="add_example", example=example), rule] if example else [rule]


def _example(pattern: Pattern, program: dspy.Module, errors: Errors) -> JsonObject | None:
    """A sentence with all that it says, in the predictor's fields; one that names its subjects comes first."""
    _, signature = predictor_for(pattern, program)
    contexts = {error.context for error in pattern.errors}
    candidates = [key for key in errors.sentences if key[0] in pattern.documents and key[1] in contexts]
    if not candidates or list(signature.input_fields) != ["text"] or len(signature.output_fields) != 1:
        return None

    def quality(key: tuple[str, str]) -> tuple[bool, int, int, tuple[str, str]]:
        triples = errors.sentences[key]
        text = key[1].casefold()
        named = all(str(triple["subject"]).casefold() in text for triple in triples)
        return named, len(triples), -len(text), key

    best = max(candidates, key=quality)
    return {"text": best[1], **dict.fromkeys(signature.output_fields, errors.sentences[best])}
