"""The errors of a run, or of outputs that exist already, as the loop's cases: what was missed and what was wrong.

Only statements that the text says can be learnt from, so a missed statement counts where its sentence is known; a wrong
value is one where Wikidata has another; a novel triple is no error. Beside the errors stands, sentence by sentence, all
that is rightly said of it, which is what an example of the sentence shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from goldassay.fields import read
from goldassay.measure import Error
from goldassay.measures.triples import F1
from goldassay.measures.triples.objects import written
from goldassay.running.run import Case
from goldassay.score import Evidence
from goldassay.tally import Counts
from goldassay.wikibase.alignment import PropertyAlignmentTable

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
