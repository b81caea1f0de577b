"""Records' measures: fields that are right, whole records, valid ones, and the tree edit accuracy.

A leaf is a value that is neither an object nor a list; ``field`` is its dotted path without indices (``lines.qty``). A
right leaf is a true positive, a wrong value a false positive and a false negative, a missing leaf a false negative, an
invented one a false positive. Comparators may give part of a credit (`anls`): the rest counts as wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from goldassay.core.evidence import means, stacked
from goldassay.core.measure import NO_EVIDENCE, Conventions, Measure, Names, Review
from goldassay.core.tally import RATE_TALLIES, By, Counts, Macro, Mean, T, Tally
from goldassay.measures import Examples, TaskMeasure
from goldassay.measures.records import matching, mistakes
from goldassay.measures.records.comparators import comparator
from goldassay.measures.records.records import Read, by_schema, expanded, schema_text, sides

RECORD_OPTIONS: Names = ("schema", "compare", "blank", "ordered")


@dataclass
class RecordBatch:
    """Aligned pairs as they are read, and their leaves, matched when first needed."""

    read: Sequence[Read]
    comparing: matching.RecordComparison

    @cached_property
    def matches(self) -> list[matching.Match]:
        """The leaves of each pair."""
        return [matching.match(read, self.comparing) for read in self.read]

    @cached_property
    def by_field(self) -> list[By[str, Counts]]:
        """The counts of each pair by field."""
        return [sum((By({leaf.field: leaf.counts}) for leaf in leaves), By()) for leaves in self.matches]

    @cached_property
    def reviews(self) -> list[Review]:
        """The errors of each pair."""
        return list(map(mistakes.review, self.read, self.matches))


@dataclass(frozen=True, kw_only=True)
class RecordMeasure(TaskMeasure[T, RecordBatch]):
    """A measure on pairs of records.

    ``schema``: a pydantic model, a DSPy signature or a JSON Schema (kept as its text); with one, a prediction that it
    does not allow counts as none. ``compare``: comparators by field, as text or functions (see `comparators`); a field
    without one is compared by its type in the schema, else by that of the gold value. ``blank``: ``same`` (absent, null
    and empty say the same), ``null`` (absent and null do) or ``apart``. ``ordered``: the lists whose order counts, or
    ``all``.
    """

    task = "records"
    shares = RECORD_OPTIONS
    choices = {
        "blank": ("same", "null", "apart"),
        "rate": tuple(RATE_TALLIES),
        "average": ("micro", "macro"),
    }
    named = (*RECORD_OPTIONS, "invalid")  # the conventions that the measure depends on

    schema: Any = ""
    compare: Any = ()
    blank: str = "same"
    ordered: Any = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        pairs = self.compare.items() if isinstance(self.compare, Mapping) else self.compare
        lists = self.ordered if isinstance(self.ordered, str) else tuple(self.ordered)
        settled = {"schema": schema_text(self.schema), "compare": tuple(map(tuple, pairs)), "ordered": lists}
        for name, value in settled.items():
            object.__setattr__(self, name, value)
        for _, chosen in self.compare:
            if isinstance(chosen, str):
                comparator(chosen)

    @property
    def comparators(self) -> dict[str, Any]:
        """The comparator of each field that has one."""
        return {**by_schema(self.schema), **dict(self.compare)}

    def batch(self, gold: Examples, pred: Examples) -> RecordBatch:
        """Every pair, read and matched once."""
        comparing = matching.RecordComparison(self.comparators, self.blank, self.ordered)
        return RecordBatch([sides(*pair, self.schema) for pair in zip(gold, pred, strict=True)], comparing)

    def reviews(self, batch: RecordBatch) -> list[Review]:
        """The errors of each pair, written once for all measures that share its batch."""
        return batch.reviews

    @property
    def chosen(self) -> Mapping[str, object]:
        """The title of the schema, and the comparator of each field."""
        compared = [
            f"{name}: {chosen if isinstance(chosen, str) else getattr(chosen, '__name__', repr(chosen))}"
            for name, chosen in self.comparators.items()
        ]
        values = {
            "schema": expanded(self.schema).get("title", "unnamed") if self.schema else "none",
            "compare": ", ".join([*compared, "others by type (number, ISO date, else exact)"]),
            "blank": self.blank,
            "ordered": self.ordered
            if isinstance(self.ordered, str)
            else "+".join(self.ordered) or "none (items aligned)",
            "invalid": "missed",
        }
        return {name: values[name] for name in self.named}


@dataclass(frozen=True)
class FieldF1(RecordMeasure):
    """F1, precision or recall over the leaf fields of all records; ``average="macro"`` is the mean over fields.

    Formula: F1 = 2 tp / (2 tp + fp + fn) over the leaves, items of lists aligned one to one; averaged as named
    Source: micro-averaged field F1 of structured extraction; that of Donut (Kim et al. 2022) does not align items

    >>> gold = {"record": {"no": "7", "lines": [{"what": "tea", "qty": 2}, {"what": "jam", "qty": 1}]}}
    >>> score = FieldF1()(gold, {"record": '{"no": "7", "lines": [{"what": "jam", "qty": 3}]}'})
    >>> score.tally, [error.kind for error in score.errors]
    (Counts(tp=2.0, fp=1.0, fn=3.0), ['wrong_value', 'missing_item'])
    >>> FieldF1(compare={"total": "number(absolute=0.01)"})
    FieldF1(schema='', compare=(('total', 'number(absolute=0.01)'),), blank='same', ordered=(), \
rate='f1', average='micro')
    """

    rate: str = "f1"
    average: str = "micro"

    @property
    def key(self) -> str:
        """``field_f1``, ``field_macro_f1`` and so on."""
        return f"field_{self.rate}" if self.average == "micro" else f"field_macro_{self.rate}"

    @property
    def counted(self) -> str:
        """The three rates have the same counts."""
        return "field" if self.average == "micro" else ""

    @property
    def zero(self) -> Tally:
        """No evidence."""
        return RATE_TALLIES[self.rate]() if self.average == "micro" else Macro(rate=self.rate)

    @property
    def fixed(self) -> Conventions:
        """The average."""
        return {"average": "micro" if self.average == "micro" else "fields with gold", "empty": NO_EVIDENCE}

    @property
    def breakdown(self) -> Mapping[str, Measure]:
        """The counts of each field."""
        return {"field": replace(self, average="macro")} if self.key == "field_f1" else {}

    def tallies(self, batch: RecordBatch) -> Tally:
        """The counts of each pair."""
        if self.average == "macro":
            return stacked([Macro(counts, self.rate) for counts in batch.by_field], self.zero)
        kind = RATE_TALLIES[self.rate]
        return stacked([kind(*counts.pooled.state().values()) for counts in batch.by_field], kind())


@dataclass(frozen=True)
class RecordAccuracy(RecordMeasure[Mean]):
    """The share of records of which every field is right, and none missing or invented.

    Formula: records without an error / all records
    Source: exact match, with this measure's comparators

    >>> RecordAccuracy()({"record": {"tags": ["a", "b"]}}, {"record": {"tags": ["b", "a"]}}).tally.value
    1.0
    """

    name = "record_accuracy"

    def tallies(self, batch: RecordBatch) -> Mean:
        """1 for a right record."""
        return means(
            float(read.pred is not None and not any(leaf.kind for leaf in leaves))
            for read, leaves in zip(batch.read, batch.matches, strict=True)
        )


@dataclass(frozen=True)
class SchemaValid(RecordMeasure[Mean]):
    """The share of predictions that are records and fit the schema; without one, that can be read as records.

    Formula: valid predictions / all predictions
    Source: JSON Schema 2020-12

    >>> SchemaValid(schema={"required": ["no"]})({"record": {"no": 7}}, {"record": {"number": 7}}).tally.value
    0.0
    """

    name = "schema_valid"
    named = ("schema",)

    def tallies(self, batch: RecordBatch) -> Mean:
        """1 for a valid prediction."""
        return means(float(read.pred is not None) for read in batch.read)

    def reviews(self, batch: RecordBatch) -> list[Review]:
        """The reason why a prediction is invalid, if it is."""
        return [review if read.reason else ((), ()) for read, review in zip(batch.read, batch.reviews, strict=True)]


@dataclass(frozen=True)
class TreeEdit(RecordMeasure[Mean]):
    """The tree edit accuracy of Donut: 1 − TED(prediction, gold) / TED(empty, gold), at least 0; the mean over records.

    The order of lists counts, and so does part of a wrong text.

    Formula: max(0, 1 − TED(prediction, gold) / TED(empty, gold))
    Source: Kim et al. 2022 (Donut); Zhang & Shasha 1989

    >>> TreeEdit()({"record": {"name": "cake"}}, {"record": {"name": "cafe"}}).tally.value
    0.8
    """

    name = "tree_edit_accuracy"
    named = ("schema", "invalid")
    fixed: ClassVar[Conventions] = {"normalisation": "Donut's", "average": "mean over records"}

    def tallies(self, batch: RecordBatch) -> Mean:
        """The accuracy of each pair; a pair of empty records has none."""
        return means(matching.tree_accuracy(read.gold, read.pred) for read in batch.read)


def listed(**options: Any) -> list[RecordMeasure]:
    """Every measure of the scorecard, in its order, under the same conventions."""
    rates = [FieldF1(rate, **options) for rate in ("precision", "recall", "f1")]
    more = [RecordAccuracy(**options), SchemaValid(**options), TreeEdit(**options)]
    return [*rates, *more, FieldF1(average="macro", **options)]


MEASURES = (
    *listed(),
    FieldF1(compare={"text": "fuzzy(threshold=0.8)", "total": "money"}, blank="null", ordered="all"),
    FieldF1(blank="apart", schema='{"type": "object", "title": "Any"}'),
)
