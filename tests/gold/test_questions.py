"""Answering in csv, tsv and json: flat records, found by the names of their fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.nightly import drawn

from goldassay._support.exceptions import DataError
from goldassay.gold import load, pairs, read, write
from goldassay.gold.audit import audit
from goldassay.gold.reading import convert

QUICK = drawn(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\x00"), min_size=1, max_size=12).filter(str.strip)
LIST = st.lists(TEXT, max_size=3)


def saved(file: Path, content: str) -> Path:
    file.write_text(content, encoding="utf-8")
    return file


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_the_founding_documents_fields(tmp_path: Path, suffix: str) -> None:
    rows = [
        {"question": "When?", "gold_answer": "1800", "supporting_facts": ["opened, 1800"], "answer_type": "temporal"},
        {"question": "Who?", "gold_answer": "", "answer_type": "factual"},
    ]
    table = 'question,gold_answer,supporting_facts,answer_type\nWhen?,1800,"opened, 1800",temporal\nWho?,,,factual\n'
    file = saved(tmp_path / f"x.{suffix}", table if suffix == "csv" else json.dumps(rows))
    assert read(file, task="answering") == [
        {
            "id": "1",
            "question": "When?",
            "answers": ["1800"],
            "supporting_facts": ["opened, 1800"],
            "answer_type": "temporal",
        },
        {"id": "2", "question": "Who?", "answers": [], "answer_type": "factual"},
    ]
    assert list(load(file).tasks) == ["answering"]


def test_several_answers_in_a_cell_and_columns_of_ones_own(tmp_path: Path) -> None:
    file = saved(tmp_path / "x.csv", 'id,question,answers,tier\na,Q?,1800|in 1800,2\nb,R?,"[""a | b""]",\n')
    assert read(file, task="answering") == [
        {"id": "a", "question": "Q?", "answers": ["1800", "in 1800"], "meta": {"tier": "2"}},
        {"id": "b", "question": "R?", "answers": ["a | b"]},
    ]


@QUICK
@given(st.lists(st.tuples(TEXT, LIST, LIST, TEXT), min_size=1, max_size=4))
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_gold_there_and_back(tmp_path: Path, suffix: str, rows: list[tuple[str, list[str], list[str], str]]) -> None:
    records: list[dict[str, Any]] = [
        {"id": f"q{n}", "question": q, "answers": answers, "documents": names, "reference": long, "meta": {"n": n}}
        for n, (q, answers, names, long) in enumerate(rows)
    ]
    write(tmp_path / f"x.{suffix}", records, task="answering")
    assert read(tmp_path / f"x.{suffix}", task="answering") == records


@QUICK
@given(st.lists(st.tuples(TEXT | st.just(""), st.floats(0, 1), LIST), min_size=1, max_size=4))
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_answers_there_and_back(tmp_path: Path, suffix: str, rows: list[tuple[str, float, list[str]]]) -> None:
    records = [
        {"id": f"q{n}", "answer": answer, "confidence": sure, "retrieved_contexts": texts}
        for n, (answer, sure, texts) in enumerate(rows)
    ]
    write(tmp_path / f"p.{suffix}", records, task="answering", side="pred")
    assert read(tmp_path / f"p.{suffix}", task="answering", side="pred") == records


def test_squad_goes_into_a_table_without_loss(own: Path, real_data: Path, tmp_path: Path) -> None:
    real = real_data / "xquad" / "xquad.de.json"
    for file, count in ((own / "squad.json", 2), *([(real, 1190)] if real.is_file() else [])):
        conversion = convert(file, tmp_path / f"{count}.csv", task="answering")
        assert (conversion.records, conversion.lost) == (count, {})


@pytest.mark.parametrize("suffix", ["csv", "json"])
def test_without_ids_both_are_aligned_in_their_order(tmp_path: Path, suffix: str) -> None:
    texts = {
        "g.csv": "question,answers\nWhen?,1800\nWho?,\n",
        "p.csv": "question,answer\nWhen?,in 1800\nWho?,\n",
        "g.json": '[{"question": "When?", "answers": "1800"}, {"question": "Who?", "answers": null}]',
        "p.json": '[{"answer": "in 1800"}, {"answer": null}]',
    }
    gold, pred = (saved(tmp_path / f"{side}.{suffix}", texts[f"{side}.{suffix}"]) for side in "gp")
    aligned = pairs("answering", gold, pred)
    assert [record["answers"] for record in aligned.gold] == [["1800"], []]
    assert [record["answer"] for record in aligned.pred] == ["in 1800", ""]


@pytest.mark.parametrize(
    ("pred", "said"),
    [
        ("question,answer\nWhen?,1800\nWhom?,\n", "row 2 has another text than gold's; add an id column"),
        ("question,answr\nWhen?,1800\nWho?,\n", "p.csv:2: no column answer; there are question, answr"),
        ("answer,confidence\n1800,high\n,\n", "p.csv:2: confidence: not a number: 'high'"),
        (
            "answer,citations\n1800,{\n,\n",
            "p.csv:2: citations: not JSON: Expecting property name",
        ),
        ("answer,confidence\n1800\n,\n", "p.csv:2: 1 columns where the header has 2"),
        ("", "the file is empty"),
    ],
)
def test_what_is_wrong_in_a_table_is_one_line(tmp_path: Path, pred: str, said: str) -> None:
    gold = saved(tmp_path / "g.csv", "question,answers\nWhen?,1800\nWho?,\n")
    with pytest.raises(DataError) as caught:
        pairs("answering", gold, saved(tmp_path / "p.csv", pred))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('[{"answer": "x"}]', "record 1: no column question; there are answer"),
        ('[{"question": "x"}]', "no column answers; there are question"),
        ('[{"question": 5, "answers": []}]', "question: input should be a valid string"),
        ('[{"question": "x", "answers": [{}]}]', "answers[0]: input should be a valid string"),
        ('[{"question": "x", "answers": [], "anwser_type": "y"}]', "anwser_type"),
        ("[]", "there are no records"),
    ],
)
def test_what_is_wrong_in_a_list_is_one_line(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(DataError) as caught:
        read(saved(tmp_path / "x.json", content), task="answering")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_question_id_twice(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="twice|again|more than once"):
        read(saved(tmp_path / "x.csv", "id,question,answers\na,Q,1\na,R,2\n"), task="answering")


def test_an_audit_reads_the_list_too(tmp_path: Path) -> None:
    good = saved(
        tmp_path / "x.json", '[{"question": "When?", "gold_answer": "1800"}, {"question": "Who?", "answers": []}]'
    )
    assert audit(good, task="answering").clean
    rows = '[{"question": "When?"}, {"question": "Who?", "answers": [{}]}, {"question": "Q?", "answers": []}]'
    findings = audit(saved(tmp_path / "y.json", rows), task="answering").findings
    assert [(finding.kind, finding.field) for finding in findings] == [("schema", None), ("schema", "answers[0]")]


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_a_reference_alone_is_the_answer(tmp_path: Path, suffix: str) -> None:
    """Of a table such a question counted as one without an answer; of JSON Lines it was refused."""
    line = json.dumps({"id": "a", "question": "When?", "reference": "In 1885."})
    file = saved(tmp_path / f"x.{suffix}", "question,reference\nWhen?,In 1885.\n" if suffix == "csv" else line)
    assert read(file, task="answering")[0]["answers"] == ["In 1885."]


def test_a_mapping_may_be_of_one_side(tmp_path: Path) -> None:
    file = saved(tmp_path / "x.csv", "question,right,ours\nWhen?,1885,In 1885\n")
    columns = {"gold.answers": "right", "pred.answer": "ours"}
    gold, pred = (read(file, "answering", side, map=columns)[0] for side in ("gold", "pred"))
    assert (gold["answers"], pred["answer"]) == (["1885"], "In 1885")
