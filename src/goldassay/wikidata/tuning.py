"""What a run would be improved by: properties found too rarely, predicates that the table lacks, patches of the prompt.

`analysed`: a property comes with real sentences in which its statements were missed. Recall is the share of gold that
was covered. A file that gives a property's precision only (as the founding kit's did) says nothing of its recall: such
properties are listed as unknown, never as if their precision were it.

`Gaps`: a predicate that the alignment table does not know is a gap where its triples equal statements that nothing
covers: ``ex:firstName`` said of nine people, each time with the value of P735, most likely means P735. Each gap is a
proposal for a person, with how often it was seen and how often the predicate said something else.

`report`: patches from the errors of a run, or of outputs that exist already. Only statements that the text says can be
learnt from, so a missed statement counts where its sentence is known; a wrong value is one where Wikidata has another;
a novel triple is no error. Beside the errors stands, sentence by sentence, all that is rightly said of it.

A sentence in which a statement was missed, with what should have been said of it, is an example; a property that is
missed often is a rule, and so is a wrong value. Patches are those of the loop, so ``goldassay patch test`` measures
them before they are used. Their examples come from the articles of this run, so their worth shows on other articles
only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import Error, Measure
from goldassay.measures.triples import F1, objects
from goldassay.measures.triples.objects import written
from goldassay.running.run import Case
from goldassay.score import Evidence
from goldassay.tally import Counts
from goldassay.tuning.edits import Diagnosis, by_pattern, predictor_for, propose_patches
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Pattern, find
from goldassay.wikidata.alignment import PropertyAlignmentTable

if TYPE_CHECKING:
    import dspy


def analysed(
    result: Mapping[str, Any], threshold: float = 0.5, table: PropertyAlignmentTable | None = None, file: object = None
) -> dict[str, Any]:
    """The report, in the founding kit's fields; gaps that cost the most statements first.

    >>> rows = {"P19": {"recall": 0.2, "count": 5, "label": "place of birth"}, "P20": {"precision": 0.9, "count": 3}}
    >>> report = analysed({"run_metadata": {}, "by_property": rows})
    >>> [gap["property_id"] for gap in report["gaps"]], report["unknown_recall"]
    (['P19'], ['P20'])
    """
    rows = result.get("by_property")
    if not isinstance(rows, Mapping) or not rows:
        raise DataError("it has no by_property, so there is no property to look at; evaluate again", file=file)
    known = table or PropertyAlignmentTable.ours()
    gaps, covered, unknown = [], [], []
    for name, row in rows.items():
        recall, count = _number(row, "recall"), _number(row, "count")
        if recall is None or count is None:
            unknown.append(name)
        elif count and recall < threshold:
            gaps.append(_gap(name, row, recall, count, known))
        elif count:
            covered.append(name)
    gaps.sort(key=lambda gap: (gap["matched_count"] - gap["total_count"], gap["property_id"]))
    metadata = result["run_metadata"]
    return {
        "threshold": threshold,
        "dataset_name": metadata.get("dataset") or metadata.get("article") or "",
        "total_extraction_examples": sum(len(gap["extraction_examples"]) for gap in gaps),
        "covered_properties": sorted(covered),
        "unknown_recall": sorted(unknown),
        "gaps": gaps,
    }


def _gap(
    name: str, row: Mapping[str, Any], recall: float, count: float, table: PropertyAlignmentTable
) -> dict[str, Any]:
    label = str(row.get("label") or table.label(name))
    predicates = table.predicates(name)
    examples = [
        {
            "property_id": name,
            "property_label": label,
            "example_text": one["context"],
            "expected_triple": [one["article"], predicates[0] if predicates else name, one["surface"]],
            "domain": one["domain"],
            "difficulty": "easy" if one["article"].casefold() in one["context"].casefold() else "medium",
        }
        for one in row.get("missed_examples") or ()
    ]
    supported = row.get("recall_supported")
    notes = "the text of its articles never says it" if row.get("supported_count") == 0 else ""
    return {
        "property_id": name,
        "property_label": label,
        "total_count": int(count),
        "matched_count": round(recall * count),
        "recall": recall,
        "recall_supported": supported,
        "aligned_predicates": predicates,
        "notes": notes or ("" if examples else "no sentence in which it was missed is known"),
        "extraction_examples": examples,
    }


def _number(row: Any, name: str) -> float | None:
    value = row.get(name) if isinstance(row, Mapping) else None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


EXAMPLES = 3


class AlignmentGap(TypedDict):
    """A predicate that the table lacks, the property that it may mean, and how often it was said with such a value."""

    predicate: str
    property: str
    label: str
    in_table: bool
    support: int
    said: int
    examples: list[list[str]]


class Gaps:
    """Collects proposals from rows, one article at a time."""

    def __init__(self, table: PropertyAlignmentTable) -> None:
        self.table = table
        self.said: Counter[str] = Counter()
        self.equal: Counter[tuple[str, str]] = Counter()
        self.examples: dict[tuple[str, str], list[list[str]]] = {}

    def add(self, row: Mapping[str, Any]) -> None:
        """The unaligned triples of one article beside its missed statements."""
        score, item = row["score"], row["wikidata_qid"]
        for one in score["triples"]:
            if one["kind"] != "no_match" or one["subject"]["id"] not in (item, None):
                continue
            predicate = one["triple"][1]
            self.said[predicate] += 1
            for name in sorted({other["property"] for other in score["missed"] if _equal(one, other)}):
                self.equal[predicate, name] += 1
                kept = self.examples.setdefault((predicate, name), [])
                if len(kept) < EXAMPLES:
                    kept.append(one["triple"])

    def found(self) -> list[AlignmentGap]:
        """Proposals, the best supported first."""
        return [
            {
                "predicate": predicate,
                "property": name,
                "label": self.table.label(name),
                "in_table": name in self.table.by_id,
                "support": count,
                "said": self.said[predicate],
                "examples": self.examples[predicate, name],
            }
            for (predicate, name), count in sorted(
                self.equal.items(), key=lambda pair: (-pair[1], -pair[1] / self.said[pair[0][0]], pair[0])
            )
        ]


def _equal(said: Mapping[str, Any], missed: Mapping[str, Any]) -> bool:
    """Whether a triple's object is a missed statement's value."""
    if said["object"]["id"] and missed.get("value_id"):
        return bool(said["object"]["id"] == missed["value_id"])
    gold = {"object": missed["value"], "object_type": missed["type"], "object_id": missed.get("value_id")}
    kind = objects.kind(gold)
    return objects.same(objects.read(gold, kind), objects.read({"object": said["triple"][2]}, kind))


MISSED, WRONG = "missed", "wrong_object"


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
        surfaces = {(one["property"], one["value"]): one["surface"] for one in missed}
        errors += [
            _error(WRONG, title, table.label(one["statement"]["property"]), _right(one, surfaces), one["triple"][2])
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


def _right(one: Mapping[str, Any], surfaces: Mapping[tuple[str, str], str]) -> str:
    """The value that Wikidata has where another was said, in the text's own words where it gives it."""
    key = (one["statement"]["property"], one["statement"]["value"])
    return surfaces.get(key, key[1])


def from_outputs(gold: Sequence[object], pred: Sequence[object], measure: Measure[Counts] | None = None) -> Errors:
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


def report(errors: Errors, program: dspy.Module, most: int = 12) -> dict[str, Any]:
    """``false_positive_patterns``, ``false_negative_patterns`` and ``prompt_patches``, and the articles they are of.

    A program without predictors has no prompt, and so no patches.
    """
    patterns = find(errors.cases) if errors.cases else []
    diagnosis = Diagnosis(patterns, program, ())
    patches = propose_patches(diagnosis, [partial(sentences, errors=errors)], most) if prompts(program) else []
    return {
        "articles": [case.id for case in errors.cases],
        "false_positive_patterns": [one.reported() for one in patterns if one.kind != MISSED],
        "false_negative_patterns": [one.reported() for one in patterns if one.kind == MISSED],
        "prompt_patches": [
            {"id": one.id, "section": one.section, **one.model_dump(exclude_none=True)} for one in patches
        ],
    }


def prompts(program: dspy.Module) -> bool:
    """Whether a program has prompts that can be tuned."""
    return hasattr(program, "named_predictors") and bool(program.named_predictors())


def sentences(diagnosis: Diagnosis, errors: Errors) -> dict[str, list[Patch]]:
    """For each pattern a rule, and for missed statements the sentence that shows the most of them, first."""

    def propose(pattern: Pattern) -> list[Patch]:
        label = pattern.gold_type
        quoted = ", ".join(f'"{surface}"' for surface in pattern.surfaces[:3])
        first = pattern.errors[0]
        rules = {
            MISSED: f"Say the {label} wherever the text gives it, such as {quoted}.",
            WRONG: f"As {label} give only what the text says of its subject itself: "
            f'"{first.gold}", not "{first.pred}".',
            "wrong_subject": f"Give each {label} to the subject that the text says it of.",
            "spurious": f"Do not give {quoted} as {label or pattern.pred_type} unless the text says so.",
            "duplicate": "Say each statement once.",
        }
        if pattern.kind not in rules:
            return []
        draft = partial(diagnosis.draft, pattern, unit="article")
        rule = draft("rules", action="add_instruction", text=rules[pattern.kind])
        demo = _demonstration(pattern, diagnosis.program, errors) if pattern.kind == MISSED else None
        return [draft("examples", action="add_example", example=demo), rule] if demo else [rule]

    return by_pattern(diagnosis, "sentences", propose)


def _demonstration(pattern: Pattern, program: Any, errors: Errors) -> dict[str, Any] | None:
    """The sentence that shows most of what was missed, with all that is said in it, in the predictor's own fields."""
    predictor: Any = predictor_for(pattern, program)[1]
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
