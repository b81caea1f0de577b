"""How labels, rankings and statements go wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldassay.proof.mutation.damage import Damage, Record, each, listed
from goldassay.text.damage import changed_digit

Item = Mapping[str, Any]
SIBLING = {"M": "A", "A": "L", "L": "G", "G": "M", "E": "R", "D": "D"}
STRANGER = {"M": "E", "A": "D", "L": "T", "G": "N", "E": "M", "D": "S"}


def _label(made: str | None) -> Any:
    return lambda _gold, pred, _other: None if made == pred["label"] else {**pred, "label": made}


def _mapped(table: Mapping[str, str]) -> Any:
    def apply(_gold: Record, pred: Record, _other: Record) -> Record | None:
        found = table.get(pred["label"])
        return None if found in (None, pred["label"]) else {**pred, "label": found}

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


def _scored(results: Sequence[Item]) -> list[dict[str, Any]]:
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


def _object(item: Item, _gold: Record, _other: Record) -> Item | None:
    found = changed_digit(str(item["object"]))
    return None if found is None else {**item, "object": found}


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
