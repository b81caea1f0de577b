"""Damages: predictions that were right, made wrong in one way; here of answers, labels, rankings and objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goldassay.core.fields import Record
from goldassay.judges.audit import changed_digit, negated, swapped_name
from goldassay.measures.answering import found_entities
from goldassay.text.words import sentences

Apply = Callable[[Record, Record, Record], Record | None]
"""A gold example, its right prediction and another gold example of the task, to a damaged prediction, or ``None`` where
this example cannot be damaged so."""


@dataclass(frozen=True)
class Damage:
    """One way of being wrong. What is ``harmless`` changes no meaning: no measure may notice it."""

    task: str
    name: str
    about: str
    apply: Apply
    harmless: bool = False


def listed(field: str, change: Callable[[Sequence[Record], Record, Record], Sequence[Record] | None]) -> Apply:
    """A damage of a list in the prediction: ``change`` gets the list, the gold example and another one."""

    def apply(gold: Record, pred: Record, other: Record) -> Record | None:
        changed = change(pred[field], gold, other)
        return None if changed is None else {**pred, field: list(changed)}

    return apply


def each(field: str, change: Apply) -> Apply:
    """A damage of every item of a list that can be damaged so."""

    def made(items: Sequence[Record], gold: Record, other: Record) -> Sequence[Record] | None:
        changed = [change(item, gold, other) for item in items]
        if all(item is None for item in changed):
            return None
        return [item if new is None else new for item, new in zip(items, changed, strict=True)]

    return listed(field, made)


OPPOSITES = {"opened": "closed", "largest": "smallest", "first": "last", "north": "south"}


def said(change: Callable[[str, Record, Record], str | None]) -> Apply:
    """A damage of the answer; its claims are then the sentences of the new one."""

    def apply(gold: Record, pred: Record, other: Record) -> Record | None:
        changed = change(pred["answer"], gold, other) if pred["answer"] else None
        return None if changed is None else {**pred, "answer": changed, "claims": sentences(changed)}

    return apply


def contradicted(text: str, _gold: Record, _other: Record) -> str | None:
    """One word turned into its opposite."""
    opposite = next((word for word in OPPOSITES if word in text.split()), None)
    return text.replace(opposite, OPPOSITES[opposite], 1) if opposite else None


def swapped_entity(text: str, _gold: Record, other: Record) -> str | None:
    """The last name replaced by the last name of another example's answer."""
    return swapped_name(text, found_entities(text), found_entities(other["answers"][0])) if other["answers"] else None


def unanswerable(gold: Record, pred: Record, other: Record) -> Record | None:
    """An answer where there is none."""
    if gold["answers"] or not other["answers"]:
        return None
    return {**pred, "answer": other["answers"][0], "claims": list(other["answers"]), "confidence": 0.9}


def other_contexts(gold: Record, pred: Record, other: Record) -> Record | None:
    """The passages of another question, the answer still right."""
    return {**pred, "retrieved_contexts": [other["context"]]} if gold["answers"] else None


ADDED = "It also burned down in a storm of 1620."
ANSWERING = tuple(
    Damage("answering", name, about, apply)
    for name, about, apply in (
        ("negation", "a verb is negated", said(lambda text, _gold, _other: negated(text))),
        ("contradiction", "a word becomes its opposite", said(contradicted)),
        ("digit change", "a digit of a number changes", said(lambda text, _gold, _other: changed_digit(text))),
        ("entity swap", "a name becomes another name", said(swapped_entity)),
        ("boundary -1", "the last word is lost", said(lambda text, _gold, _other: text.rsplit(" ", 1)[0])),
        ("boundary +1", "a word too many", said(lambda text, _gold, _other: f"{text.rstrip('.')} indeed.")),
        (
            "echo of the question",
            "the question, as the answer",
            said(lambda _text, gold, _other: str(gold["question"])),
        ),
        (
            "swap across documents",
            "another question's answer",
            said(lambda _t, _g, other: (other["answers"] or [None])[0]),
        ),
        ("duplicate", "the answer twice", said(lambda text, _gold, _other: f"{text} {text}")),
        ("empty", "no answer", said(lambda _text, _gold, _other: "")),
        ("reordered", "the words backwards", said(lambda text, _g, _o: " ".join(reversed(text.rstrip(".").split())))),
        (
            "unsupported sentence added",
            "one more sentence, made up",
            said(lambda text, _gold, _other: f"{text} {ADDED}"),
        ),
        ("answer where there is none", "an unanswerable question is answered", unanswerable),
        ("contexts of another question", "what was retrieved is another question's", other_contexts),
    )
)


SIBLING = {"M": "A", "A": "L", "L": "G", "G": "M", "E": "R", "D": "D"}
STRANGER = {"M": "E", "A": "D", "L": "T", "G": "N", "E": "M", "D": "S"}


def _label(made: str | None) -> Any:
    return lambda _gold, pred, _other: None if made == pred["label"] else {**pred, "label": made}


def _mapped(table: Mapping[str, str]) -> Any:
    def apply(_gold: Record, pred: Record, _other: Record) -> Record | None:
        label = table.get(pred["label"])
        return None if label in (None, pred["label"]) else {**pred, "label": label}

    return apply


def _secondary(items: Sequence[Any], gold: Record, _other: Record) -> Sequence[Any]:
    return ["T"] if items else items


CLASSIFICATION = (
    Damage("classification", "type swap inside the group", "a label of the same group", _mapped(SIBLING)),
    Damage("classification", "type swap to another group", "a label of another group", _mapped(STRANGER)),
    Damage(
        "classification",
        "swap across documents",
        "another document's labels",
        lambda _gold, pred, other: {
            **pred,
            "label": other["label"],
            "secondary_labels": list(other["secondary_labels"]),
        },
    ),
    Damage("classification", "empty", "no label", _label(None)),
    Damage("classification", "unknown label", "a label that does not exist", _label("ZZ")),
    Damage("classification", "secondary swapped", "another secondary label", listed("secondary_labels", _secondary)),
    Damage(
        "classification",
        "reordered",
        "the secondary labels in another order",
        listed("secondary_labels", lambda items, _gold, _other: list(reversed(items))),
        harmless=True,
    ),
)


def _scored(results: Sequence[Record]) -> list[dict[str, Any]]:
    return [{**result, "score": float(len(results) - place)} for place, result in enumerate(results)]


RETRIEVAL = tuple(
    Damage("retrieval", name, about, listed("results", change), harmless)
    for name, about, change, harmless in (
        ("reordered", "the ranking upside down", lambda items, _g, _o: _scored(list(reversed(items))), False),
        ("best two swapped", "the two best in the wrong order", lambda i, _g, _o: _scored([i[1], i[0], *i[2:]]), False),
        ("relevant lost", "the best document is missing", lambda items, _g, _o: items[1:], False),
        (
            "unsupported document added",
            "an irrelevant document on top",
            lambda items, _g, _o: _scored([{"doc_id": "zzz"}, *items]),
            False,
        ),
        (
            "swap across documents",
            "another query's documents",
            lambda _i, _g, other: _scored([{"doc_id": name} for name in other["relevant"]]),
            False,
        ),
        ("empty", "nothing is found", lambda _items, _g, _o: [], False),
        ("duplicate", "every document twice", lambda items, _g, _o: [*items, *items], False),
        ("listed in another order", "the same scores", lambda items, _g, _o: list(reversed(items)), True),
    )
)


def _object(item: Record, _gold: Record, _other: Record) -> Record | None:
    changed = changed_digit(str(item["object"]))
    return None if changed is None else {**item, "object": changed}


def _of_other(field: str, at: int) -> Any:
    return lambda item, _gold, other: (
        None
        if other["triples"][at][field] == item[field]
        else {
            **item,
            field: next(row[field] for row in other["triples"] if row["predicate"] == item["predicate"]),
        }
    )


TRIPLES = (
    Damage("triples", "digit change", "a digit of every date changes", each("triples", _object)),
    Damage("triples", "entity swap", "every object is another's", each("triples", _of_other("object", 1))),
    Damage("triples", "subject swap", "every subject is another's", each("triples", _of_other("subject", 0))),
    Damage(
        "triples",
        "roles swapped",
        "subject and object exchanged",
        each("triples", lambda item, _g, _o: {**item, "subject": item["object"], "object": item["subject"]}),
    ),
    Damage(
        "triples",
        "type swap",
        "every predicate is another",
        each(
            "triples", lambda item, _g, _o: {**item, "predicate": {"P571": "P576", "P131": "P276"}[item["predicate"]]}
        ),
    ),
    Damage(
        "triples",
        "swap across documents",
        "another text's statements",
        listed("triples", lambda _i, _g, o: o["triples"]),
    ),
    Damage("triples", "duplicate", "every statement twice", listed("triples", lambda items, _g, _o: [*items, *items])),
    Damage("triples", "empty", "no statements", listed("triples", lambda _items, _g, _o: [])),
    Damage(
        "triples",
        "unsupported statement added",
        "one more statement, made up",
        listed(
            "triples",
            lambda items, _g, _o: [*items, {**items[1], "object": "Atlantis"}],
        ),
    ),
    Damage(
        "triples",
        "reordered",
        "the statements in another order",
        listed("triples", lambda items, _g, _o: list(reversed(items))),
        harmless=True,
    ),
)


def _record(change: Callable[[dict[str, Any], Record], Any]) -> Apply:
    """A damage of the record; ``change`` gets a copy of it and the record of another example."""
    return lambda _gold, pred, other: {**pred, "record": change({**pred["record"]}, other["record"])}


def _works(record: dict[str, Any]) -> list[dict[str, Any]]:
    return [dict(work) for work in record["works"]]


def _retitled(record: dict[str, Any], _other: Record) -> dict[str, Any]:
    first, second = _works(record)
    return {**record, "works": [{**first, "title": second["title"]}, {**second, "title": first["title"]}]}


RECORDS = tuple(
    Damage("records", name, about, _record(change), harmless)
    for name, about, change, harmless in (
        ("digit change", "a digit of the year changes", lambda r, _o: {**r, "opened": r["opened"] + 10}, False),
        ("entity swap", "the name of another record", lambda r, o: {**r, "name": o["name"]}, False),
        ("type swap", "a number as a text", lambda r, _o: {**r, "opened": str(r["opened"])}, False),
        ("field lost", "an object is missing", lambda r, _o: {k: v for k, v in r.items() if k != "town"}, False),
        ("field invented", "fields that gold lacks", lambda r, _o: {**r, "notes": {"a": "b", "c": "d"}}, False),
        ("item lost", "an item of the list is missing", lambda r, _o: {**r, "works": r["works"][1:]}, False),
        ("duplicate", "every item twice", lambda r, _o: {**r, "works": [*r["works"], *r["works"]]}, False),
        ("values swapped", "the titles of two items exchanged", _retitled, False),
        ("swap across documents", "another text's record", lambda _r, o: o, False),
        ("cut off", "JSON that ends too early", lambda _r, _o: '{"name": "Hill', False),
        ("empty", "a record without fields", lambda _r, _o: {}, False),
        ("fields reordered", "the fields in another order", lambda r, _o: dict(reversed(r.items())), True),
        ("reordered", "the items in another order", lambda r, _o: {**r, "works": r["works"][::-1]}, False),
    )
)


def _steps(change: Callable[[list[dict[str, Any]], Record], Sequence[Record]]) -> Apply:
    """A damage of the steps; ``change`` gets copies of them and the prediction's other example."""

    def apply(_gold: Record, pred: Record, other: Record) -> Record:
        steps = [{**step, "args": dict(step["args"])} for step in pred["trajectory"]]
        return {**pred, "trajectory": change(steps, other)}

    return apply


TRAJECTORIES = tuple(
    Damage("trajectories", name, about, _steps(change), harmless)
    for name, about, change, harmless in (
        ("type swap", "another tool", lambda s, _o: [{**s[0], "name": "look_up"}, *s[1:]], False),
        ("digit change", "a digit of the year changes", lambda s, _o: [*s[:2], _year(s[2])], False),
        (
            "entity swap",
            "the name of another example",
            lambda s, o: [{**s[0], "args": o["calls"][0]["args"]}, *s[1:]],
            False,
        ),
        ("argument lost", "an argument is missing", lambda s, _o: [s[0], {**s[1], "args": {}}, s[2]], False),
        ("argument invented", "an argument that gold lacks", lambda s, _o: [_deeper(s[0]), *s[1:]], False),
        ("call failed", "the last call returns an error", lambda s, _o: [*s[:2], {**s[2], "error": "timeout"}], False),
        ("call lost", "the last call is missing", lambda s, _o: s[:2], False),
        ("duplicate", "every call twice", lambda s, _o: [step for step in s for _ in range(2)], False),
        ("swap across documents", "another example's calls", lambda _s, o: o["calls"], False),
        ("empty", "no calls", lambda _s, _o: [], False),
        ("reordered", "the calls in another order", lambda s, _o: s[::-1], False),
        ("outputs", "what the tools gave is noted", lambda s, _o: [{**step, "output": "x"} for step in s], True),
    )
)
TRAJECTORIES += (Damage("trajectories", "cut", "it ends before its end", lambda _g, p, _o: {**p, "finished": False}),)


def _year(step: dict[str, Any]) -> dict[str, Any]:
    return {**step, "args": {"year": step["args"]["year"] + 10}}


def _deeper(step: dict[str, Any]) -> dict[str, Any]:
    return {**step, "args": {**step["args"], "depth": 9}}
