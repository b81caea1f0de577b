"""Who belongs together: examples of one document count as one in every interval and test, whatever ids are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import Metric, evaluate
from goldassay.exceptions import DataError
from goldassay.fields import clusters
from goldassay.gold import read
from goldassay.gold.reading import align
from goldassay.measures import classification
from goldassay.running.comparing import from_predictions

SAMPLES: dict[str, dict[str, Any]] = {
    "extraction": {"text": "Ada", "entities": []},
    "classification": {"text": "Ada", "label": "M"},
    "linking": {"text": "Ada", "links": []},
    "retrieval": {"query": "Ada", "relevant": ["d"]},
    "answering": {"question": "Who?", "answers": ["Ada"]},
    "triples": {"text": "Ada", "triples": []},
    "letters": {"text": "Ada", "year": 1815},
}
METRIC = Metric(classification.Accuracy())
ACCURACY = {"accuracy": classification.Accuracy()}


@pytest.mark.parametrize("task", SAMPLES)
def test_records_of_every_task_and_kind_of_file_name_their_document(tmp_path: Path, task: str) -> None:
    from pyarrow import Table, parquet

    rows = [{"id": n, **SAMPLES[task], "document": n // 2} for n in range(4)]
    foreign = [{**row, "document": None, "page": {"number": n // 2}} for n, row in enumerate(rows)]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "b.jsonl").write_text("".join(json.dumps(row) + "\n" for row in foreign))
    parquet.write_table(Table.from_pylist(rows), tmp_path / "a.parquet")
    renamed = ",".join(f"{name}={name}" for name in SAMPLES[task]) + ",document=page.number"
    for file, renaming in (("a.jsonl", None), ("a.parquet", None), ("b.jsonl", renamed)):
        assert clusters(read(tmp_path / file, task=task, map=renaming)) == ["0", "0", "1", "1"]


def examples(documents: list[Any]) -> list[Any]:
    """Examples with ids from 0, the label M, and these documents."""
    return [
        dspy.Example(id=place, text=f"text {place}", label="M", document=name).with_inputs("text")
        for place, name in enumerate(documents)
    ]


def museum(text: str) -> Any:
    return dspy.Prediction(label="M")


def test_document_0_is_a_document() -> None:
    run = evaluate(museum, examples([0, 0, 1, 1, 2, 2, 3, 3]), METRIC, progress=False)
    assert run.clusters == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [row["id"] for row in run.rows] == list("01234567")
    assert run.intervals["accuracy"].n == 4


def test_a_row_without_a_document_joins_none() -> None:
    run = evaluate(museum, examples([3, 3, 2, None, None]), METRIC, progress=False)
    assert run.clusters == [0, 0, 1, 2, 3]  # row 3 is not document 3


def test_id_0_stays_0_wherever_it_stands() -> None:
    gold = [{"id": 1, "label": "M"}, {"id": 0, "label": "M"}]
    run = from_predictions(gold, [{"label": "M"}] * 2, ACCURACY, name="ours")
    assert [row["id"] for row in run.rows] == ["1", "0"]


@pytest.mark.parametrize("ids", [(0, "0"), (1, "1"), ("a", "a")])
def test_duplicates_are_reported_in_python(ids: tuple[Any, Any]) -> None:
    gold = [{"id": name, "text": "x", "label": "M"} for name in ids]
    asked = [dspy.Example(**record).with_inputs("text") for record in gold]
    with pytest.raises(DataError, match=f"record {ids[0]}: duplicate"):
        evaluate(museum, asked, METRIC, progress=False)
    with pytest.raises(DataError, match=f"record {ids[0]}: duplicate"):
        from_predictions(gold, [{"label": "M"}] * 2, ACCURACY, name="ours")
    with pytest.raises(DataError, match=f"record {ids[0]}: duplicate"):
        align("classification", gold, [])
    with pytest.raises(DataError, match=f"record {ids[0]}: duplicate"):
        align("classification", [{"id": "0", "label": "M"}], gold)


def test_a_number_and_its_text_are_one_id() -> None:
    pairs = align("classification", [{"id": 0, "label": "M"}], [{"id": "0", "label": "L"}])
    assert pairs.pred[0]["label"] == "L"
    assert not pairs.warnings
