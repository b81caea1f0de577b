"""Who belongs together: examples of one document count as one in every interval and test, whatever ids are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from goldassay import Metric, evaluate
from goldassay._support.exceptions import DataError
from goldassay.cli import app
from goldassay.core.fields import clusters, shared_text
from goldassay.gold import pairs, read
from goldassay.measures import classification
from goldassay.running.comparing import from_predictions

SAMPLES: dict[str, dict[str, Any]] = {
    "extraction": {"text": "Ada", "entities": []},
    "classification": {"text": "Ada", "label": "M"},
    "linking": {"text": "Ada", "links": []},
    "retrieval": {"query": "Ada", "relevant": ["d"]},
    "answering": {"question": "Who?", "answers": ["Ada"]},
    "triples": {"text": "Ada", "triples": []},
    "records": {"text": "Ada", "record": {"born": 1815}},
    "trajectories": {"question": "Who?", "calls": [{"name": "search"}]},
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


LONG = "The museum of Teylers opened its doors to the public in the year 1784. " * 6


@pytest.mark.parametrize(
    ("records", "share"),
    [
        ([{"text": "Ada", "label": "M"}] * 6 + [{"text": f"{n}"} for n in range(4)], 6),
        ([{"question": f"{n}?", "context": f"In {n // 5}"} for n in range(20)], 20),
    ],
)
def test_a_shared_text_without_a_document_is_reported(records: list[Any], share: int) -> None:
    message = f"{share} of {len(records)} examples share a text with others"
    assert shared_text(records).startswith(message)
    assert shared_text([dspy.Example(**record) for record in records]).startswith(message)
    assert not shared_text([{**record, "document": "d"} for record in records])


@pytest.mark.parametrize(
    "records",
    [
        [{"text": str(n), "label": "M"} for n in range(20)],
        [{"text": str(n // 2)} for n in range(3)],  # one pair
        [{"text": str(max(n, 8))} for n in range(200)],  # 9 of 200
        [{"letter": "Dear reader"} for n in range(20)],  # neither text nor context
        [{"text": ""} for n in range(20)],
    ],
)
def test_what_is_no_shared_text(records: list[Any]) -> None:
    assert not shared_text(records)


def test_what_the_intervals_count_is_printed(tmp_path: Path) -> None:
    rows = [{"id": n, "text": f"text {n}", "label": "M", "document": n // 3} for n in range(12)]
    loose = [{"id": n, "text": f"text {n // 3}", "label": "M"} for n in range(12)]
    for name, records, size, unit, warned in (
        ("whole", rows, "12 examples in 4 documents", "4 documents", 0),
        ("loose", loose, "12 examples", "12 examples", 1),
    ):
        file = tmp_path / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in records))
        args = ["classification", "--gold", str(file), "--pred", str(file)]
        output, state = (CliRunner().invoke(app, ["score", *args, *more]) for more in ([], ["--json"]))
        assert output.stdout.splitlines()[0].strip() == f"classification, {size}"
        card = json.loads(state.stdout)
        assert card["unit"] == unit
        assert sum("share a text" in warning for warning in card["warnings"]) == warned
        compared = CliRunner().invoke(app, ["compare", *args, "--pred", str(file), "--json"])
        body = json.loads(compared.stdout)
        assert {run["unit"] for run in body["runs"]} == {unit}
        assert {f"{each['n']} {each['unit']}" for each in body["comparisons"]} == {unit}
        assert sum("share a text" in warning for warning in body["runs"][0].get("warnings", [])) == warned


def test_conll_sentences_without_documents_are_reported(tmp_path: Path) -> None:
    sentences = "Ada B-P\n\nBo B-P\n\n"
    for name, content, warned in (("a", sentences, 1), ("b", f"-DOCSTART- O\n\n{sentences}", 0)):
        file = tmp_path / f"{name}.conll"
        file.write_text(content)
        assert sum("-DOCSTART-" in warning for warning in pairs("extraction", file, file).warnings) == warned


def test_evaluate_says_what_it_counts_and_what_is_shared() -> None:
    shared = [dspy.Example(id=n, text="Ada", label="M").with_inputs("text") for n in range(8)]
    run = evaluate(museum, shared, METRIC, progress=False)
    assert (run.size, run.summary()["unit"], len(run.warnings)) == ("8 examples", "8 examples", 1)
    run = evaluate(museum, [example.copy(document=n // 4) for n, example in enumerate(shared)], METRIC, progress=False)
    assert (run.size, run.summary()["unit"], run.warnings) == ("8 examples in 2 documents", "2 documents", [])


def test_document_0_is_a_document() -> None:
    run = evaluate(museum, examples([0, 0, 1, 1, 2, 2, 3, 3]), METRIC, progress=False)
    assert run.clusters == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [row.id for row in run.rows] == list("01234567")
    assert run.intervals["accuracy"].n == 4


def test_a_row_without_a_document_joins_none() -> None:
    run = evaluate(museum, examples([3, 3, 2, None, None]), METRIC, progress=False)
    assert run.clusters == [0, 0, 1, 2, 3]  # row 3 is not document 3


def test_id_0_stays_0_wherever_it_stands() -> None:
    gold = [{"id": 1, "label": "M"}, {"id": 0, "label": "M"}]
    run = from_predictions(gold, [{"label": "M"}] * 2, ACCURACY, name="ours")
    assert [row.id for row in run.rows] == ["1", "0"]


@pytest.mark.parametrize("ids", [(0, "0"), (1, "1"), ("a", "a")])
def test_duplicates_are_reported_in_python(ids: tuple[Any, Any]) -> None:
    gold = [{"id": name, "text": "x", "label": "M"} for name in ids]
    examples = [dspy.Example(**record).with_inputs("text") for record in gold]
    with pytest.raises(DataError, match=f"record {ids[0]}: duplicate"):
        evaluate(museum, examples, METRIC, progress=False)
    with pytest.raises(DataError, match=f"record {ids[0]}: duplicate"):
        from_predictions(gold, [{"label": "M"}] * 2, ACCURACY, name="ours")
    with pytest.raises(DataError, match=f"record {ids[0]}: duplicate"):
        pairs("classification", gold, [])
    with pytest.raises(DataError, match=f"record {ids[0]}: duplicate"):
        pairs("classification", [{"id": "0", "label": "M"}], gold)


def test_a_number_and_its_text_are_one_id() -> None:
    both = pairs("classification", [{"id": 0, "label": "M"}], [{"id": "0", "label": "L"}])
    assert both.pred[0]["label"] == "L"
    assert not both.warnings
