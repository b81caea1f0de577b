"""The scorecard of records: its measures, folded, and the fields one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from goldassay.core import fields
from goldassay.core.measure import Batches, Measure
from goldassay.measures import Examples
from goldassay.measures.records.measures import FieldF1, RecordBatch, SchemaValid, listed
from goldassay.measures.records.mistakes import review
from goldassay.measures.records.records import Schema, by_schema, from_records, schema_text, sides
from goldassay.results.result import Result, Sections, by_key, facts_of, fold, form_alone, form_warning


def scorecard(
    gold: Examples,
    pred: Examples,
    *,
    schema: Schema = "",
    compare: Mapping[str, Any] | Sequence[Any] = (),
    blank: str = "same",
    ordered: Sequence[str] | str = (),
) -> Result:
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

    def reasons(chunk: Batches, first: FieldF1) -> Counter[Hashable]:
        """The reason of each prediction that is not a record, and the errors of form alone."""
        facts: Counter[Hashable] = Counter()
        batch: RecordBatch = chunk.of(first)
        for example, pair, leaves in zip(chunk.gold, batch.read, batch.matches, strict=True):
            if pair.reason:
                facts["reason", f"record {fields.read(example, 'id', None)}: {pair.reason}"] += 1
            unlike = [leaf for leaf in leaves if leaf.kind in ("wrong_type", "wrong_format")]
            facts.update(("form", message) for message in form_alone(review(pair, unlike)[0]))
        return facts

    sections = Sections(reasons, {"field": lambda card: by_key(card.totals["field_macro_f1"])})
    shared = Batches(gold, pred)
    text = schema_text(schema)
    inferred = ""
    table = dict(compare)
    if not text:
        records = [sides(record, None).gold for chunk in shared.chunks() for record in chunk.gold]
        inferred = schema_text({"title": "that of gold", **from_records(records)})
        table = {**by_schema(inferred), **table}
    options = {"schema": text, "compare": table, "blank": blank, "ordered": ordered}
    measures: list[Measure] = [
        SchemaValid(schema=inferred or text) if isinstance(measure, SchemaValid) else measure
        for measure in listed(**options)
    ]
    card = fold("records", measures, shared, sections=sections)
    if invalid := facts_of(card.facts, "reason"):
        count = invalid.total()
        number = "1 prediction is not a record" if count == 1 else f"{count} predictions are not records"
        card.notes.append(f"{number}, so the gold counts as missed; the first: {next(iter(invalid))}")
    if forms := facts_of(card.facts, "form"):
        card.notes.append(form_warning(forms))
    return card
