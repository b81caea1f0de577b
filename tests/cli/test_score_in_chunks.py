"""``score`` of many examples, some at a time: every number is that of measuring them together."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import goldassay
from goldassay._support import jsonl
from goldassay._support.exceptions import DataError
from goldassay.core import measure as core_measure
from goldassay.reporting import terminal
from goldassay.results.result import Result

Record = dict[str, Any]
WORDS = ["the", "museum", "of", "Delft", "was", "founded", "in", "1911", "by", "Jan", "Steen", "and", "friends"]


def spans(rng: random.Random, text: str) -> list[Record]:
    """Words of a text, some of them, none twice."""
    starts = [at for at in range(len(text)) if at == 0 or text[at - 1] == " "]
    entities = []
    for start in sorted(rng.sample(starts, rng.randrange(0, 4))):
        end = start + len(text[start:].split(" ")[0])
        entities.append(
            {"start": start, "end": end, "text": text[start:end], "type": rng.choice(["LOC", "PER", "ORG"])}
        )
    return entities


def extraction(rng: random.Random, text: str) -> tuple[Record, Record]:
    predicted = spans(rng, text)
    if rng.random() < 0.1:
        predicted.append({"start": None, "end": None, "text": "Rotterdam", "type": rng.choice(["LOC", "MISC"])})
    return {"text": text, "entities": spans(rng, text)}, {"entities": predicted}


def classification(rng: random.Random, text: str) -> tuple[Record, Record]:
    label = rng.choice("MMGLN")
    predicted = rng.choice([label, rng.choice(["M", "G", "Z", "other", None])])
    return {"text": text, "label": label, "secondary_labels": rng.choice([[], ["A"]])}, {"label": predicted}


def linking(rng: random.Random, text: str) -> tuple[Record, Record]:
    gold = [{**span, "ids": {"wikidata": rng.choice([[], ["Q1"], ["Q2"]])}} for span in spans(rng, text)]
    predicted = [
        {**span, "candidates": [{"id": f"Q{n}"} for n in rng.sample(range(4), rng.randrange(3))]}
        for span in spans(rng, text)
    ]
    return {"text": text, "links": gold}, {"links": predicted}


def retrieval(rng: random.Random, text: str) -> tuple[Record, Record]:
    judged = {f"d{n}": rng.randrange(4) for n in rng.sample(range(30), rng.randrange(1, 9))}
    ranked = [{"doc_id": f"d{n}", "score": rng.choice([0.5, rng.random()])} for n in rng.sample(range(30), 12)]
    return {"query": text, "relevant": judged}, {"results": rng.choice([ranked, ranked, []])}


def answering(rng: random.Random, text: str) -> tuple[Record, Record]:
    answers = [] if rng.random() < 0.2 else [" ".join(rng.sample(WORDS, 3)) for _ in range(2)]
    predicted = {"answer": rng.choice(["", " ".join(rng.sample(WORDS, 4)), *answers]), "confidence": rng.random()}
    gold = {"question": text, "answers": answers, "language": rng.choice(["nl", "en"])}
    return gold, {**predicted, "latency_ms": rng.random() * 900}


def triples(rng: random.Random, text: str) -> tuple[Record, Record]:
    def some() -> list[Record]:
        return [
            {"subject": rng.choice(["Delft", "Jan"]), "predicate": f"P{rng.randrange(6)}", "object": rng.choice(WORDS)}
            for _ in range(rng.randrange(4))
        ]

    predicted = [
        {**line, "confidence": rng.random(), "verdict": rng.choice(["correct", "incorrect", "uncertain"])}
        for line in some()
    ]
    supported = [{**line, "supported": True} if rng.random() < 0.1 else line for line in some()]
    return {"text": text, "triples": supported, "domain": rng.choice(["art", "city"])}, {"triples": predicted}


MADE: dict[str, Callable[[random.Random, str], tuple[Record, Record]]] = {
    one.__name__: one for one in (extraction, classification, linking, retrieval, answering, triples)
}


def written(folder: Path, task: str, order: str, n: int = 97) -> tuple[Path, Path]:
    rng = random.Random(task)
    gold, pred = [], []
    for number in range(n):
        left, right = MADE[task](rng, " ".join(rng.sample(WORDS, 6)))
        gold.append({"id": f"r{number}", **left})
        if order == "same" or number % 9:
            pred.append({"id": f"r{number}", **right})
    if order == "other":
        rng.shuffle(pred)
    files = folder / "gold.jsonl", folder / "pred.jsonl"
    for file, records in zip(files, (gold, pred), strict=True):
        file.write_text("".join(json.dumps(line) + "\n" for line in records), encoding="utf-8")
    return files


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes what is measured at once a few examples."""

    def shrink() -> None:
        monkeypatch.setattr(core_measure, "EXAMPLES_AT_ONCE", 13)

    return shrink


def told(card: Result, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    """All that is said of a scorecard: as JSON, and on the terminal."""
    text = jsonl.dumps(card.state())
    assert text == jsonl.dumps(json.loads(text))
    capsys.readouterr()
    terminal.show(card.view())
    printed = capsys.readouterr()
    return [text, printed.out, printed.err]


@pytest.mark.parametrize("order", ["same", "other"])
@pytest.mark.parametrize("task", MADE)
def test_every_number_is_the_same_to_the_last_bit(
    task: str, order: str, tmp_path: Path, small: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    gold, pred = written(tmp_path, task, order)
    whole = goldassay.score(task, gold, pred, intervals=True)
    small()
    chunked = goldassay.score(task, gold, pred, intervals=True)
    assert chunked.intervals
    assert told(chunked, capsys) == told(whole, capsys)


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("extraction", {"bounds": "word"}),
        ("extraction", {"protocol": "hipe"}),
        ("linking", {"protocol": "hipe"}),
        ("classification", {"labels": list("MGLNA")}),
        ("retrieval", {"measures": ["nDCG@3", "R(rel=2)@5", "AP"]}),
        ("answering", {"measures": ["f1", "ROUGE('Lsum')", "aurc"]}),
    ],
)
def test_with_options_too(
    task: str, options: Record, tmp_path: Path, small: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    gold, pred = written(tmp_path, task, "same")
    whole = goldassay.score(task, gold, pred, intervals=True, **options)
    small()
    assert told(goldassay.score(task, gold, pred, intervals=True, **options), capsys) == told(whole, capsys)


@pytest.mark.parametrize(
    ("line", "predicted"),
    [
        ('{"id": "r0", "entities": []}', "record r0: duplicate document id"),
        ('{"id": "x", "entities": []}', "record x: prediction for a document that gold does not have"),
        ('{"id": "x", "entities": 7}', r"pred.jsonl:98: record x, entities: "),
        ('{"id": "r1", "entities": [{"start": 0, "end": 2, "text": "no", "type": "A"}]}', "text.0:2. is "),
    ],
)
def test_what_is_wrong_is_said_in_the_same_words(
    line: str, predicted: str, tmp_path: Path, small: Callable[[], None]
) -> None:
    gold, pred = written(tmp_path, "extraction", "same")
    lines = pred.read_text().splitlines()
    lines = [record for record in lines if json.loads(record)["id"] != "r1"] if '"r1"' in line else lines
    pred.write_text("\n".join([*lines, line]))
    with pytest.raises(DataError, match=predicted) as whole:
        goldassay.score("extraction", gold, pred)
    small()
    with pytest.raises(DataError) as chunked:
        goldassay.score("extraction", gold, pred)
    assert str(chunked.value) == str(whole.value)


def as_run(pred: Path) -> Path:
    """Predictions as a run keeps them: out of order, with what is no field of the task, failures, and later tries."""
    records = [json.loads(line) for line in pred.read_text().splitlines()]
    rows: list[Record] = [
        {"id": record["id"], "prediction": {**record, "reasoning": "so"}, "tallies": {}} for record in records
    ]
    random.Random(3).shuffle(rows)
    rows = [{"id": rows[-1]["id"], "error": "ValueError: no", "tallies": {}}, {**rows[-2], "prediction": {}}, *rows[1:]]
    folder = pred.parent / "run"
    folder.mkdir()
    rows[1]["error"] = "no field of the task"
    text = "\n\n".join(json.dumps(row, ensure_ascii=bool(place % 2)) for place, row in enumerate(rows))
    (folder / "rows.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("task", MADE)
def test_a_run_is_measured_some_rows_at_a_time_too(
    task: str, tmp_path: Path, small: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    gold, pred = written(tmp_path, task, "same")
    run = as_run(pred)
    whole = goldassay.score(task, gold, run, intervals=True)
    small()
    for place in (run, run / "rows.jsonl"):
        chunked = goldassay.score(task, gold, place, intervals=True)
        assert told(chunked, capsys) == told(whole, capsys)


@pytest.mark.parametrize(
    ("line", "predicted"),
    [
        ('{"id": "x", "prediction": {"entities": []}}', "record x: prediction for a document that gold does not have"),
        ('{"id": "x", "prediction": {"entities": 7}}', r"rows.jsonl:\d+: record x, entities: "),
        ('{"id": "x", "prediction": {"entities": 7', r"rows.jsonl:\d+: not JSON"),
        ('{"id": "x", "id": "y"}', r"rows.jsonl:\d+: 'id' is repeated"),
        ('{"id": "r0", "prediction": {"entities": [{"start": "0", "end": 2, "type": "A"}]}}', r"entities\[0\].start: "),
        ("\xff", r"not UTF-8"),
    ],
)
def test_what_is_wrong_with_a_row_is_said_in_the_same_words(
    line: str, predicted: str, tmp_path: Path, small: Callable[[], None]
) -> None:
    gold, pred = written(tmp_path, "extraction", "same")
    rows = as_run(pred) / "rows.jsonl"
    rows.write_bytes(rows.read_bytes() + b"\n" + line.encode("latin-1"))
    with pytest.raises(DataError, match=predicted) as whole:
        goldassay.score("extraction", gold, rows.parent)
    small()
    with pytest.raises(DataError) as chunked:
        goldassay.score("extraction", gold, rows.parent)
    assert str(chunked.value) == str(whole.value)


def test_gold_as_its_own_prediction(
    tmp_path: Path, small: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    gold, _ = written(tmp_path, "linking", "same")
    whole = goldassay.score("linking", gold, gold)
    small()
    assert told(goldassay.score("linking", gold, gold), capsys) == told(whole, capsys)
