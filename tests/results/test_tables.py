"""The tables of a result: what leads, what a breakdown shows, and the commonest confusions."""

from __future__ import annotations

from goldassay.measures import classification, extraction
from goldassay.results.tables import headline_view, of_breakdown, of_confusions, result_view
from goldassay.results.view import Note, Sentence, Table

LABELS = classification.scorecard([{"label": label} for label in "MMMLLA"], [{"label": label} for label in "MLLLLM"])
SPANS = extraction.scorecard(
    [{"text": "in Delft", "entities": [{"start": 3, "end": 8, "type": "TOP"}]}], [{"entities": []}]
)


def test_the_headline_leads_and_says_what_shows_the_rest() -> None:
    values, by, more, *_ = headline_view(LABELS, "--all")
    assert isinstance(values, Table)
    assert [str(row[0]) for row in values.rows] == ["accuracy", "macro_f1"]
    assert str(values.rows[0][1]).startswith("0.5000 [")  # M, L and L of six
    assert isinstance(by, Table)
    assert isinstance(more, Sentence)
    assert f"{len(LABELS.values) - 2} more values" in more.text
    assert "--all" in more.text


def test_all_values_are_there_once() -> None:
    tables = [part for part in result_view(SPANS) if isinstance(part, Table)]
    families, singles = tables[:2]
    assert [str(row[0]) for row in families.rows][:1] == ["strict"]
    names = [str(row[0]).split(" ")[0] for row in singles.rows]
    in_families = {f"{row[0]}_{rate}" for row in families.rows for rate in ("precision", "recall", "f1")}
    assert sorted([*names, *in_families]) == sorted(SPANS.values)


def test_warnings_end_the_view() -> None:
    result = classification.scorecard([{"label": "M"}], [{"label": "L"}])
    result.notes = ["of one example nothing follows"]
    last = result_view(result)[-len(result.warnings) :]
    assert last == [Note(warning) for warning in result.warnings]


def test_a_breakdown_has_the_largest_support_first_and_few_columns() -> None:
    others: dict[str, float | None] = {f"v{number}": 0.5 for number in range(6)}
    keys = {"a": {**others, "f1": 0.1, "support": 1}, "b": {**others, "f1": 0.1, "support": 9}}
    columns, rows = of_breakdown("type", keys)
    assert columns == ["type", "f1", "support"]
    assert rows == [["b", "0.1000", "9"], ["a", "0.1000", "1"]]


def test_fields_have_the_worst_first_and_those_without_evidence_last() -> None:
    keys: dict[str, dict[str, float | None]] = {"good": {"f1": 0.9}, "none": {"f1": None}, "bad": {"f1": 0.2}}
    _, rows = of_breakdown("field", keys)
    assert [row[0] for row in rows] == ["bad", "good", "none"]


def test_confusions_are_counted_with_their_share_of_gold() -> None:
    by_gold = {"M": {"M": 1.0, "L": 3.0}, "L": {"L": 2.0, "M": 0.0}, "SPURIOUS": {"M": 1.0}}
    columns, rows = of_confusions(by_gold)
    assert columns == ["gold", "predicted", "times", "of gold"]
    assert rows == [["M", "L", "3", "75%"], ["SPURIOUS", "M", "1", "–"]]
