"""Gold fed back as its own predictions scores 1, in every task and format that holds it; runs are scored again."""

from __future__ import annotations

import importlib
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold import pairs, read, write
from goldassay.gold.formats import named, names

BEST = {
    "extraction": ("strict_f1", "partial_f1", "token_f1", "strict_macro_f1", "macro_doc_f1"),
    "classification": ("accuracy", "macro_f1_supported", "weighted_f1", "kappa", "multilabel_f1"),
    "linking": ("hits@1", "mrr", "nil_f1", "link_f1", "strong_link_f1", "macro_doc_link_f1"),
    "retrieval": ("nDCG@10", "RR", "R@10", "AP"),
    "answering": ("exact_match", "f1"),
    "triples": ("precision", "recall", "f1"),
}
SUFFIX = {
    "jsonl": ".jsonl",
    "iob2": ".iob2",
    "conll": ".conll",
    "hipe": ".tsv",
    "tsv": ".tsv",
    "csv": ".csv",
    "trec": ".qrels",
}
FOLDERS = ("brat",)


SQUAD = {
    "data": [
        {
            "title": "Delft",
            "paragraphs": [
                {
                    "context": "The museum was founded in 1911.",
                    "qas": [
                        {"id": "1", "question": "When?", "answers": [{"text": "1911", "answer_start": 26}]},
                        {"id": "2", "question": "By whom?", "answers": [], "is_impossible": True},
                    ],
                },
                {
                    "context": "It stands on the Oude Delft.",
                    "qas": [{"id": "3", "question": "Where?", "answers": [{"text": "Oude Delft", "answer_start": 17}]}],
                },
            ],
        }
    ]
}


def cases() -> list[Any]:
    files = [
        (task, name)
        for name in names()
        if named(name).write
        for task in BEST
        if task in (named(name).written or named(name).tasks)
    ]
    return [pytest.param(task, name, id=f"{task}-{name}") for task, name in files]


def plain(record: dict[str, Any], task: str, name: str) -> dict[str, Any]:
    """A record as every format can hold it: no overlaps, one Wikidata id, one answer."""
    copied = {key: value for key, value in record.items() if key not in ("strata", "meta", "split")}
    for field in ("entities", "links"):
        parts: list[Any] = []
        for span in sorted(copied.get(field, ()), key=lambda span: (span["start"], -span["end"])):
            if not parts or parts[-1]["end"] <= span["start"]:
                parts.append(
                    {**span, "ids": {"wikidata": span["ids"]["wikidata"][:1]} if span["ids"].get("wikidata") else {}}
                    if field == "links"
                    else span
                )
        if field in copied:
            copied[field] = parts
    return copied


@pytest.mark.parametrize(("task", "name"), cases())
def test_gold_against_itself_is_one(task: str, name: str, root: Path, tmp_path: Path) -> None:
    records = [
        record for record in read(root / "gold" / "heritage" / f"{task}.jsonl", task=task) if record["split"] == "dev"
    ]
    file = tmp_path / ("gold" if name in FOLDERS else f"gold{SUFFIX.get(name, '.json')}")
    if name == "squad":
        file.write_text(json.dumps(SQUAD), encoding="utf-8")
    else:
        write(file, [plain(record, task, name) for record in records], format=name, task=task)
    both = pairs(task, file, file, format=name)
    card = importlib.import_module(f"goldassay.measures.{task}").scorecard(both.gold, both.pred)
    assert {key: card.values[key] for key in BEST[task] if card.values[key] is not None} == {
        key: pytest.approx(1.0) for key in BEST[task] if card.values[key] is not None
    }
    assert any(card.values[key] is not None for key in BEST[task])


@pytest.mark.parametrize("task", list(BEST))
def test_the_whole_gold_set_against_itself_is_one_and_says_so(task: str, root: Path) -> None:
    file = root / "gold" / "heritage" / f"{task}.jsonl"
    both = pairs(task, file, file)
    card = importlib.import_module(f"goldassay.measures.{task}").scorecard(both.gold, both.pred)
    assert {key: card.values[key] for key in BEST[task]} == {key: pytest.approx(1.0) for key in BEST[task]}
    assert "holds gold, not predictions; each record counts as its own prediction" in both.warnings[0]


def test_what_is_wrong_in_predictions_is_still_said(tmp_path: Path) -> None:
    gold, pred = tmp_path / "gold.jsonl", tmp_path / "pred.jsonl"
    gold.write_text('{"id": "a", "text": "x", "label": "M"}\n')
    pred.write_text('{"id": "a", "label": {"name": "M"}}\n')
    with pytest.raises(DataError, match="label"):
        pairs("classification", gold, pred)


def test_a_run_is_scored_again(tmp_path: Path) -> None:
    gold, folder = tmp_path / "gold.jsonl", tmp_path / "run"
    folder.mkdir()
    texts = {"a": "in Delft", "b": "in Gouda", "c": "in Breda", "d": "in Hoorn"}
    span = {"start": 3, "end": 8, "type": "TOP"}
    gold.write_text(
        "".join(json.dumps({"id": name, "text": text, "entities": [span]}) + "\n" for name, text in texts.items())
    )
    rows = [
        {
            "id": "a",
            "index": 0,
            "prediction": {"reasoning": "…", "entities": [{**span, "text": "Delft", "why": "x"}]},
            "tallies": {},
        },
        {"id": "b", "index": 1, "prediction": {"entities": [{"text": "Amsterdam", "type": "TOP"}]}, "tallies": {}},
        {"id": "c", "index": 2, "error": "it failed", "tallies": {}},
        {
            "id": "d",
            "index": 3,
            "error": "a str",
            "prediction": {"entities": "x"},
            "tallies": {},
            "gold": {"entities": []},
        },
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for place in (folder, folder / "rows.jsonl"):
        both = pairs("extraction", gold, place)
        assert [len(record["entities"]) for record in both.pred] == [1, 1, 0, 0]
        assert both.pred[1]["entities"][0]["start"] is None
        assert "2 of 4 gold records have no prediction" in both.warnings[0]
    rows[0]["prediction"] = {"entities": [[0, 2, "TOP"]]}  # as a program may give them
    (folder / "rows.jsonl").write_text(f"{json.dumps(rows[0])}\n")
    assert pairs("extraction", gold, folder).pred[0]["entities"] == [{"start": 0, "end": 2, "type": "TOP"}]
    rows[0]["prediction"] = {"entities": "x"}
    (folder / "rows.jsonl").write_text("".join(json.dumps({"gold": {"entities": []}} | row) + "\n" for row in rows))
    with pytest.raises(DataError, match="entities: input should be a valid list"):  # and never its gold in place of it
        pairs("extraction", gold, folder)
    with pytest.raises(GoldassayError, match="format run is not written"):
        write(folder, both.pred[:1], format="run", task="extraction", side="pred")


def test_a_span_beyond_its_text_is_refused_on_both_sides(tmp_path: Path) -> None:
    text, span = "Delft", {"start": 3, "end": 30, "type": "TOP", "text": "ft"}
    gold, pred = tmp_path / "gold.jsonl", tmp_path / "pred.jsonl"
    gold.write_text(json.dumps({"id": "a", "text": text, "entities": []}) + "\n")
    pred.write_text(json.dumps({"id": "a", "entities": [span]}) + "\n")
    with pytest.raises(DataError, match="3:30 reaches beyond the text, which has 5 characters"):
        pairs("extraction", gold, pred)
    pred.write_text(json.dumps({"id": "a", "text": text, "entities": [span]}) + "\n")
    for side in ("gold", "pred"):
        with pytest.raises(DataError, match="reaches beyond the text"):
            read(pred, task="extraction", side=side)  # type: ignore[arg-type]
    folder = tmp_path / "brat"
    folder.mkdir()
    (folder / "a.txt").write_text(text)
    (folder / "a.ann").write_text("T1\tTOP 3 30\tft\n")
    with pytest.raises(DataError, match="reaches beyond the text"):
        read(folder, task="extraction")


def test_bad_tags_can_be_passed_over_and_are_counted(tmp_path: Path) -> None:
    file = tmp_path / "gold.conll"
    file.write_text("# made by hand\nin O\nDelft B-LOC\n# O\nstaat X-LOC\nhet LOC\nPrinsenhof B-ORG\n")
    with pytest.raises(DataError, match=r"gold\.conll:5: record 1: tag 'X-LOC'"):
        pairs("extraction", file, file)
    both = pairs("extraction", file, file, skip_bad=4)
    assert [span["type"] for span in both.gold[0]["entities"]] == ["LOC", "ORG"]
    assert both.gold[0]["text"] == "in Delft # staat het Prinsenhof"
    assert "4 faults were passed over; the first" in both.warnings[0]
    with pytest.raises(DataError, match="'LOC' is outside the scheme IOB2"):
        pairs("extraction", file, file, skip_bad=1)


def test_of_a_run_with_repeats_the_first_answers_count_and_a_warning_says_so(tmp_path: Path) -> None:
    """It did not: a value of one repeat of five looked like that of the run."""
    row = {"index": 0, "id": "a", "inputs": {"text": "x"}, "gold": {"label": "M"}}
    answers = [{**row, "repeat": number, "prediction": {"label": label}} for number, label in enumerate("MLL", 1)]
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    scored = pairs("classification", [{"id": "a", "text": "x", "label": "M"}], tmp_path)
    assert [record["label"] for record in scored.pred] == ["M"]
    assert [warning.rpartition(": ")[2] for warning in scored.warnings] == [f"goldassay runs show {tmp_path}"]


def test_a_run_may_go_on_after_the_sixth_column(tmp_path: Path) -> None:
    gold, pred = tmp_path / "gold.qrels", tmp_path / "sys.run"
    gold.write_text("1 0 d1 1\n")
    pred.write_text("1 Q0 d1 1 0.5 tag and more\n")
    both = pairs("retrieval", gold, pred)
    assert both.pred[0]["results"] == [{"doc_id": "d1", "score": 0.5, "source": "tag"}]
    assert both.warnings == []


def test_predictions_without_a_name_that_tells_their_format_are_in_that_of_gold(tmp_path: Path) -> None:
    """As those of a process are: ``--pred <(make-predictions)``."""
    gold, pipe = tmp_path / "gold.jsonl", tmp_path / "63"
    line = json.dumps(
        {"id": "a", "text": "Delft", "entities": [{"start": 0, "end": 5, "type": "TOP", "text": "Delft"}]}
    )
    gold.write_text(f"{line}\n")
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=[f"{line}\n"])
    writer.start()
    both = pairs("extraction", gold, pipe)
    writer.join()
    assert [len(record["entities"]) for record in both.pred] == [1]
