"""Gold sets: loading in one line, splits, cards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.shape import ProgramShape
from goldassay.gold import TaskSet, load
from goldassay.gold.audit import audit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "card.yaml").write_text("name: small\nversion: '1.0'\nlanguages: [nl]\n", encoding="utf-8")
    rows = [
        {"id": "a", "split": "train", "text": "Utrecht", "entities": []},
        {"id": "b", "split": "dev", "text": "Leiden", "entities": []},
    ]
    save(tmp_path / "extraction.jsonl", rows)
    save(tmp_path / "retrieval.jsonl", [{"id": "q", "split": "test", "query": "museum?", "relevant": {"p": 2}}])
    save(tmp_path / "passages.jsonl", [{"id": "p", "text": "A museum."}])
    return tmp_path


def save(file: Path, rows: list[Any]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def test_a_folder_is_loaded_with_its_card_tasks_and_splits(folder: Path) -> None:
    gold = load(folder)
    assert gold.name == "small"
    assert gold.card["version"] == "1.0"
    assert list(gold.tasks) == ["extraction", "retrieval"]
    assert [example.id for example in gold.extraction.train] == ["a"]
    assert [example.id for example in gold.extraction.all] == ["a", "b"]
    assert list(gold.extraction.dev[0].inputs()) == ["text"]
    assert list(gold.retrieval.test[0].inputs()) == ["query"]
    assert gold.retrieval.passages == [{"id": "p", "text": "A museum."}]


def test_an_absent_split_names_those_that_exist(folder: Path) -> None:
    with pytest.raises(DataError, match="no split 'test' of extraction; name `split=train` or `split=dev`"):
        load(folder).extraction.test  # noqa: B018


def test_an_absent_task_names_those_that_exist(folder: Path) -> None:
    with pytest.raises(DataError, match="no gold for triples; it has extraction, retrieval"):
        load(folder).triples  # noqa: B018


def test_a_name_is_looked_up_under_gold(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "gold").mkdir(parents=True)
    (elsewhere / "gold" / "mine").symlink_to(folder)
    monkeypatch.chdir(elsewhere)
    assert load("mine").extraction.splits == ["train", "dev"]


def test_an_unknown_name() -> None:
    with pytest.raises(DataError, match="no gold set 'nowhere'"):
        load("nowhere")


def test_a_single_file_tells_its_task_by_its_format(tmp_path: Path) -> None:
    file = tmp_path / "x.iob2"
    file.write_text("Utrecht B-TOP\n", encoding="utf-8")
    gold = load(file)
    assert gold.extraction.all[0].text == "Utrecht"
    with pytest.raises(DataError, match="no split 'train' of extraction; its records have no 'split'"):
        gold.extraction.train  # noqa: B018


@pytest.mark.parametrize(
    ("record", "task"),
    [
        ({"text": "x", "entities": []}, "extraction"),
        ({"text": "x", "label": "M"}, "classification"),
        ({"text": "x", "links": []}, "linking"),
        ({"query": "x", "relevant": ["d"]}, "retrieval"),
        ({"question": "x", "answers": [], "entities": ["x"]}, "answering"),
        ({"text": "x", "triples": []}, "triples"),
    ],
)
def test_records_tell_their_task_by_their_fields(tmp_path: Path, record: dict[str, Any], task: str) -> None:
    save(tmp_path / "x.jsonl", [{"id": "a", **record}])
    assert list(load(tmp_path / "x.jsonl").tasks) == [task]
    assert audit(tmp_path / "x.jsonl").clean


def test_a_file_that_does_not_tell_its_task(tmp_path: Path) -> None:
    save(tmp_path / "x.jsonl", [{"id": "a"}])
    with pytest.raises(GoldassayError, match="which task is this gold for"):
        load(tmp_path / "x.jsonl")


def test_a_card_names_native_files_and_their_splits(tmp_path: Path) -> None:
    (tmp_path / "dev.tok").write_text("Utrecht B-TOP\n", encoding="utf-8")
    card = "name: native\nfiles:\n  extraction:\n  - {path: dev.tok, format: iob2, split: dev}\n"
    (tmp_path / "card.yaml").write_text(card, encoding="utf-8")
    assert load(tmp_path).extraction.dev[0].text == "Utrecht"


def test_a_card_cannot_reach_outside_its_folder(tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_text("files: {extraction: ../secret.jsonl}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"'../secret.jsonl' lies outside the set"):
        load(tmp_path)


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"


@pytest.mark.parametrize(
    ("card", "expected"),
    [
        (BOMB, r"card.yaml:2: alias \*a: aliases are not read here; write the value out"),
        ("name: [", r"card.yaml:\d+: not YAML: "),
        ("- a\n- b\n", r"card.yaml: a card is a mapping"),
        ("x: " + "[" * 5000, r"card.yaml: not YAML that can be read: maximum recursion"),
        ("x: !!python/object/apply:os.getcwd []\n", r"card.yaml:1: not YAML: could not determine a constructor"),
    ],
)
def test_hostile_and_broken_cards(folder: Path, card: str, expected: str) -> None:
    (folder / "card.yaml").write_text(card, encoding="utf-8")
    with pytest.raises(DataError, match=expected) as caught:
        load(folder)
    assert "\n" not in str(caught.value)


def test_a_csv_without_a_label_column_is_not_guessed_to_be_classification(tmp_path: Path) -> None:
    file = tmp_path / "tickets.csv"
    file.write_text("body,team\nWhere is my parcel?,shipping\n", encoding="utf-8")
    with pytest.raises(DataError, match="which task is this gold for.*any other name for a task of your own"):
        load(file)
    assert list(load(file, map={"label": "team"}).tasks) == ["classification"]


def test_a_json_file_tells_its_task_where_it_has_one(own: Path, tmp_path: Path) -> None:
    assert list(load(own / "squad.json").tasks) == ["answering"]
    file = tmp_path / "gold.json"
    file.write_text('[{"id": "a", "text": "Delft", "ner_annotations": []}]', encoding="utf-8")
    assert len(load(file).extraction) == 1
    file.write_text('[{"id": "a", "text": "x", "ner_annotations": [], "entity_linking": {}}]', encoding="utf-8")
    with pytest.raises(DataError, match="which task is this gold for"):
        load(file)


def test_records_of_questions_are_searched_in_their_own_contexts() -> None:
    record = {"id": "q", "question": "When?", "answers": ["1800"], "context": "In 1800.", "documents": ["d"]}
    assert TaskSet("answering", [{"path": [record]}]).passages == [{"id": "d", "text": "In 1800."}]


def test_gold_that_is_too_much_alike_to_be_split_says_what_to_do() -> None:
    rows = [{"id": str(n), "body": f"Where is my order A{n}? It is not here.", "team": "AB"[n % 2]} for n in range(20)]
    with pytest.raises(DataError, match=r"too much alike .*train 20, dev 0.* give each a field split"):
        load(rows, task="own").task("own").for_tuning()


def test_a_program_of_a_task_gets_its_own_columns_or_the_question_before_any_call(tmp_path: Path) -> None:
    save(
        tmp_path / "t.jsonl", [{"subject": f"Bin {n}", "body": f"It is full, {n}.", "team": "parks"} for n in range(9)]
    )
    gold = load(tmp_path / "t.jsonl", task="classification", map={"label": "team"}).classification
    assert gold.content() == ["meta.subject", "meta.body"]  # what says that two are near duplicates
    gold.program = ProgramShape(inputs=("subject", "body"))
    example = gold.all[0]
    assert example.inputs().toDict() == {"subject": "Bin 0", "body": "It is full, 0."}
    assert example.label == "parks"
    gold.program = ProgramShape(inputs=("subject", "letter"))
    with pytest.raises(DataError, match=r"no record has letter, .* there are label, subject, body"):
        _ = gold.inputs
