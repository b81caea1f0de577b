"""What an evaluation suggests: recall gaps, gaps of the alignment table, and patches of the program's prompt.

A recall gap comes with sentences in which its statements were missed. Recall is the share of gold that was covered; a
file that gives only a property's precision (as riverbank's did) says nothing about its recall, so such properties are
listed as unknown.

An alignment gap is a predicate that the table does not have and whose triples equal statements that nothing covers:
``ex:firstName`` given for nine people, each time with the value of P735, most likely means P735.

A program can only learn from what the texts say, so a missed statement counts if its sentence is known. A value is
wrong if Wikidata has another; a novel triple is no error. A sentence in which a statement was missed, with everything
that it says, becomes an example; a property that is missed or wrong becomes a rule. The patches are those of
`goldassay.tuning`, so ``goldassay patch test`` measures them before they are used; as their examples come from these
articles, their effect shows on other articles only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from goldassay.exceptions import DataError
from goldassay.measure import Error
from goldassay.measures.triples import objects
from goldassay.running.run import Case
from goldassay.tally import Counts
from goldassay.tally.evidence import Evidence
from goldassay.tuning.edits import Diagnosis, by_pattern, predictor_for, propose_patches
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Pattern, find
from goldassay.wikidata.alignment import PropertyAlignmentTable

if TYPE_CHECKING:
    import dspy


EXAMPLES = 3


def recall_gaps(
    result: Mapping[str, Any], threshold: float = 0.5, table: PropertyAlignmentTable | None = None, file: object = None
) -> dict[str, Any]:
    """The recall gap analysis of a result, in riverbank's fields; gaps that cost the most statements first.

    >>> rows = {"P19": {"recall": 0.2, "count": 5, "label": "place of birth"}, "P20": {"precision": 0.9, "count": 3}}
    >>> report = recall_gaps({"run_metadata": {}, "by_property": rows})
    >>> [gap["property_id"] for gap in report["gaps"]], report["unknown_recall"]
    (['P19'], ['P20'])
    """
    rows = result.get("by_property")
    if not isinstance(rows, Mapping) or not rows:
        raise DataError("it has no by_property, so there is no property to analyse; evaluate again", file=file)
    table = table or PropertyAlignmentTable.of()
    measured = {
        name: row
        for name, row in rows.items()
        if isinstance(row, Mapping) and all(isinstance(row.get(key), (int, float)) for key in ("recall", "count"))
    }
    gaps = [_gap(name, row, table) for name, row in measured.items() if row["count"] and row["recall"] < threshold]
    gaps.sort(key=lambda gap: (gap["matched_count"] - gap["total_count"], gap["property_id"]))
    metadata = result["run_metadata"]
    return {
        "threshold": threshold,
        "dataset_name": metadata.get("dataset") or metadata.get("article") or "",
        "total_extraction_examples": sum(len(gap["extraction_examples"]) for gap in gaps),
        "covered_properties": sorted(
            name for name, row in measured.items() if row["count"] and row["recall"] >= threshold
        ),
        "unknown_recall": sorted(set(rows) - set(measured)),
        "gaps": gaps,
    }


def _gap(name: str, row: Mapping[str, Any], table: PropertyAlignmentTable) -> dict[str, Any]:
    label = str(row.get("label") or table.label(name))
    predicates = table.predicates(name)
    examples = [
        {
            "property_id": name,
            "property_label": label,
            "example_text": missed["context"],
            "expected_triple": [missed["article"], predicates[0] if predicates else name, missed["surface"]],
            "domain": missed["domain"],
            "difficulty": "easy" if missed["article"].casefold() in missed["context"].casefold() else "medium",
        }
        for missed in row.get("missed_examples") or ()
    ]
    notes = "" if examples else "no sentence is known in which it was missed"
    if row.get("supported_count") == 0:
        notes = "the texts of its articles never say it"
    return {
        "property_id": name,
        "property_label": label,
        "total_count": int(row["count"]),
        "matched_count": round(row["recall"] * row["count"]),
        "recall": row["recall"],
        "recall_supported": row.get("recall_supported"),
        "aligned_predicates": predicates,
        "notes": notes,
        "extraction_examples": examples,
    }


def alignment_gaps(rows: Iterable[Mapping[str, Any]], table: PropertyAlignmentTable) -> list[dict[str, Any]]:
    """Properties that the predicates of unaligned triples may mean, the best supported first."""
    used: Counter[str] = Counter()
    equal: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], list[list[str]]] = {}
    for row in rows:
        for triple in row["triples"]:
            if triple["kind"] != "no_match" or triple["subject"]["id"] not in (row["qid"], None):
                continue
            predicate = triple["triple"][1]
            used[predicate] += 1
            for name in sorted({missed["property"] for missed in row["missed"] if _is_equal(triple, missed)}):
                equal[predicate, name] += 1
                first = examples.setdefault((predicate, name), [])
                if len(first) < EXAMPLES:
                    first.append(triple["triple"])
    return [
        {
            "predicate": predicate,
            "property": name,
            "label": table.label(name),
            "in_table": name in table.by_id,
            "support": count,
            "said": used[predicate],
            "examples": examples[predicate, name],
        }
        for (predicate, name), count in sorted(
            equal.items(), key=lambda pair: (-pair[1], -pair[1] / used[pair[0][0]], pair[0])
        )
    ]


def _is_equal(triple: Mapping[str, Any], missed: Mapping[str, Any]) -> bool:
    """Whether a triple's object equals a missed statement's value."""
    if triple["object"]["id"] and missed.get("value_id"):
        return bool(triple["object"]["id"] == missed["value_id"])
    gold = {"object": missed["value"], "object_type": missed["type"], "object_id": missed.get("value_id")}
    kind = objects.kind(gold)
    return objects.same(objects.read(gold, kind), objects.read({"object": triple["triple"][2]}, kind))


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
                label, wrong = table.label(property_), triple["triple"][2]
                gold = surfaces.get((property_, value), value)  # in the text's own words, if it gives them
                message = f"{label} of {title} is {gold}, not {wrong}."
                errors.append(Error(WRONG, message, gold, wrong, label, label, field="statements"))
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
