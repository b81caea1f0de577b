"""The scorecard of records: its measures, folded, and the fields one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from goldassay import fields
from goldassay.measure import Measure
from goldassay.measures import Examples
from goldassay.measures.records.measures import FieldF1, RecordBatch, SchemaValid, listed
from goldassay.measures.records.records import by_schema, from_records, schema_text, sides
from goldassay.scorecard import Batches, Scorecard, by_key, fold


def scorecard(
    gold: Examples,
    pred: Examples,
    *,
    schema: object = "",
    compare: Mapping[str, Any] | Sequence[Any] = (),
    blank: str = "same",
    ordered: Sequence[str] | str = (),
) -> Scorecard:
    """All values over aligned records.

    Without a schema, the types of gold's own values say how fields are compared, and ``schema_valid`` is the share of
    predictions that fit the schema that all gold records fit; what does not fit it is counted as it is.

    Args:
        gold: The gold records.
        pred: The predictions.
        schema: A pydantic model, a DSPy signature or a JSON Schema.
        compare: Comparators by field.
        blank: What absent, null and empty values are: ``same``, ``null`` or ``apart``.
        ordered: The lists whose order counts, or ``all``.

    >>> card = scorecard([{"record": {"no": 7, "day": "2024-03-01"}}], [{"record": {"no": 7, "day": "2024-03-02"}}])
    >>> card.values["field_f1"], card.values["schema_valid"], card.by["field"]["day"]["f1"]
    (0.5, 1.0, 0.0)
    """
    shared = Batches(gold, pred)
    text, inferred = schema_text(schema), ""
    table = dict(compare)
    if not text:
        records = [sides(record, None).gold for part in shared.chunks() for record in part.gold]
        inferred = schema_text({"title": "that of gold", **from_records(records)})
        table = {**by_schema(inferred), **table}
    options = {"schema": text, "compare": table, "blank": blank, "ordered": ordered}
    measures: list[Measure[Any]] = [
        SchemaValid(schema=inferred or text) if isinstance(measure, SchemaValid) else measure
        for measure in listed(**options)
    ]
    reasons: list[str] = []

    def look(part: Batches) -> None:
        batch: RecordBatch = part.of(measures[0])
        ids = (fields.read(record, "id", None) for record in part.gold)
        reasons.extend(f"record {key}: {read.reason}" for key, read in zip(ids, batch.read, strict=True) if read.reason)

    card = fold("records", measures, shared, look)
    card.by["field"] = by_key(card.totals[FieldF1(average="macro").key])
    if reasons:
        number = "1 prediction is" if len(reasons) == 1 else f"{len(reasons)} predictions are"
        card.warnings.append(f"{number} no record, so the gold counts as missed; the first: {reasons[0]}")
    return card
