"""Statements as they are read: subject, predicate and object, each as what it is.

A record has ``triples``, a list of mappings (or objects) with ``subject``, ``predicate`` and ``object``, and what may
stand beside: ids, labels, ``object_type``, ``rank``, ``domain``, ``verdict``, ``supported``, ``confidence``. Statements
of gold that are deprecated, and those of excluded value types on both sides, are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from goldassay.exceptions import DataError
from goldassay.fields import read
from goldassay.measure import failed, gold_field, pred_field
from goldassay.measures.triples import objects, terms
from goldassay.measures.triples.objects import EXACTLY, Comparing, Value

FIELDS = (
    "subject", "predicate", "object", "object_type", "subject_id", "predicate_id", "object_id", "object_labels",
    "evidence", "rank", "domain", "verdict", "supported", "confidence", "in_train",
)  # fmt: skip
VERDICTS = ("correct", "incorrect", "uncertain", "in_wikidata")


@dataclass(slots=True)
class Triple:
    """A triple, read: its subject as an item, its properties, its value."""

    triple: Mapping[str, Any]
    subject: terms.NamedItem | None
    properties: frozenset[str]
    aligned: bool
    kind: str
    value: Value | None
    key: tuple[str, str, str]

    @property
    def verdict(self) -> str | None:
        """What people say of it, one of `VERDICTS`."""
        verdict: str | None = self.triple.get("verdict")
        return verdict

    @property
    def words(self) -> str:
        """The statement for a person."""
        return f"({', '.join(self.key)})"


def gold_triples(gold: object, comparing: Comparing = EXACTLY) -> list[Triple]:
    """The statements of a gold example, by their words; deprecated ones are left out."""
    rows = _triples(gold_field(gold, "triples"), comparing, read(gold, "id", None))
    return sorted((row for row in rows if row.triple.get("rank") != "deprecated"), key=lambda row: row.key)


def predicted_triples(pred: object, comparing: Comparing = EXACTLY, name: object = None) -> list[Triple]:
    """The statements of a prediction, the most confident first; ``name`` is the record's, for error messages."""
    rows = _triples(pred_field(pred, "triples"), comparing, name)
    return sorted(rows, key=lambda row: (-_confidence(row.triple, name), row.key))


def sides_as_written(gold: object, pred: object) -> tuple[list[Any], list[Any]]:
    """The statements of both sides that count, as they are and in their order; of a failed prediction none."""
    left, right = (
        [
            row
            for row in side or ()
            if not (isinstance(row, Mapping) and (row.get("rank") == "deprecated" or objects.excluded(row)))
        ]
        for side in (gold_field(gold, "triples"), None if failed(pred) else pred_field(pred, "triples"))
    )
    return left, right


def perfect(gold: object) -> dict[str, list[dict[str, object]]]:
    """The prediction that says what gold says, without its deprecated statements and its annotations.

    >>> perfect({"triples": [{"subject": "a", "predicate": "b", "object": "c", "rank": "normal", "supported": True}]})
    {'triples': [{'subject': 'a', 'predicate': 'b', 'object': 'c'}]}
    """
    rows = [triple.triple for triple in gold_triples(gold)]
    return {"triples": [{key: row[key] for key in FIELDS[:9] if row.get(key) is not None} for row in rows]}


def _triples(triples: Any, comparing: Comparing, name: Any) -> list[Triple]:
    if isinstance(triples, (str, Mapping)):
        raise DataError(f"'triples' is a list of triples, not {triples!r}", record=name, field="triples")
    rows = [_triple(triple, comparing.table, name) for triple in triples or ()]
    return [row for row in rows if not objects.excluded(row.triple, comparing.excluded)]


def _triple(triple: Any, table: terms.Alignment, name: Any) -> Triple:
    fields = triple if isinstance(triple, Mapping) else {key: read(triple, key, None) for key in FIELDS}
    for key in FIELDS[:3]:
        if fields.get(key) is None:
            raise DataError(f"a triple needs a {key!r}, found {dict(fields)!r}", record=name, field="triples")
    predicate, kind = str(fields.get("predicate_id") or fields["predicate"]), objects.kind(fields)
    return Triple(
        fields,
        terms.item(fields["subject"], fields.get("subject_id")),
        table.properties(predicate),
        table.aligned(predicate),
        kind,
        objects.read(fields, kind),
        (objects.written(fields["subject"]), str(fields["predicate"]), objects.written(fields["object"])),
    )


def _confidence(triple: Mapping[str, object], name: Any) -> float:
    """The confidence of a prediction; −1 without one."""
    raw = triple.get("confidence")
    if raw is None:
        return -1.0
    if isinstance(raw, bool) or not isinstance(raw, (int, float)) or not 0.0 <= raw <= 1.0:
        raise DataError(f"a confidence lies between 0 and 1, not {raw!r}", record=name, field="triples")
    return float(raw)
