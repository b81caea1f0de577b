"""``gold draft`` on the command line: files in and out, continuation, the way through other formats and back."""

from __future__ import annotations

import csv
import json
import re
import shlex
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from goldassay import evaluate
from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.gold import read
from goldassay.gold.agreement import agree_files
from goldassay.statistics.design import Design

Row = dict[str, Any]
TASK = ("--task", "classification")


def call(*words: object) -> Any:
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, (done.output, done.exception)
    return done


def refusal(*words: object) -> str:
    """The one line of a command that refuses."""
    done = CliRunner().invoke(app, [*map(str, words)])
    assert isinstance(done.exception, GoldassayError), done.output
    assert "\n" not in str(done.exception)
    return str(done.exception)


def rows(file: Path) -> list[Row]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def save(file: Path, several: list[Row]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in several), encoding="utf-8")
    return file


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two files of predictions that differ at every third text."""
    several = [{"id": f"d{i}", "text": f"letter {i} of many", "label": "M"} for i in range(90)]
    other = [{**row, "label": "L" if i % 3 == 0 else "M"} for i, row in enumerate(several)]
    return [save(tmp_path / "a.jsonl", several), save(tmp_path / "b.jsonl", other)]


def test_a_draft_is_labelled_continued_and_compared_with_the_files_it_came_from(
    files: list[Path], tmp_path: Path
) -> None:
    out = tmp_path / "draft.jsonl"
    done = call("gold", "draft", *files, *TASK, "--n", 10, "--out", out)
    assert "goldassay compare classification --gold" in done.output
    assert "already exists" in refusal("gold", "draft", *files, *TASK, "--n", 10, "--out", out)
    save(out, [{**row, "label": "M"} for row in rows(out)])
    call("gold", "draft", *files, *TASK, "--more", 5, "--out", out)
    drafted = rows(out)
    assert [row.get("label") for row in drafted] == ["M"] * 10 + [None] * 5
    assert [row["sampling"]["position"] for row in drafted] == [*range(15)]
    result = json.loads(
        call("compare", "classification", "--gold", out, "--pred", files[0], "--pred", files[1], "--json").stdout
    )
    assert result["runs"]
    save(files[1], [{**row, "label": "M" if row["id"] == "d1" else row["label"]} for row in rows(files[1])][:-1])
    assert "not of this draft" in refusal("gold", "draft", *files, *TASK, "--more", 5, "--out", out)
    assert rows(out) == drafted


@pytest.mark.parametrize(
    ("task", "asked", "answers", "gold"),
    [
        ("answering", "question", [{"answer": "The Louvre"}, {"answer": "Delft"}], {"answers": ["Louvre"]}),
        ("retrieval", "query", [{"results": [{"doc_id": "a"}]}, {"results": [{"doc_id": "b"}]}], {"relevant": ["a"]}),
    ],
)
def test_predictions_that_repeat_their_input_are_compared_as_they_are(
    task: str, asked: str, answers: list[Row], gold: Row, tmp_path: Path
) -> None:
    files = [
        save(tmp_path / f"{name}.jsonl", [{"id": f"q{i}", asked: f"which is {i}?", **answer} for i in range(30)])
        for name, answer in zip("ab", answers, strict=True)
    ]
    out = tmp_path / "draft.jsonl"
    call("gold", "draft", *files, "--task", task, "--n", 12, "--out", out)
    assert set(rows(out)[0]["suggestions"]["a"]) == set(answers[0])
    save(out, [{**row, **gold} for row in rows(out)])
    done = call("compare", task, "--gold", out, "--pred", files[0], "--pred", files[1], "--json")
    assert json.loads(done.stdout)["comparisons"][0]["labels"]["better"] == "a.jsonl"


def test_the_task_and_the_file_to_write_are_required(files: list[Path]) -> None:
    for words in ((*TASK,), ("--out", "d.jsonl")):
        done = CliRunner().invoke(app, ["gold", "draft", str(files[0]), *words])
        assert done.exit_code == 2
        assert "Missing option" in done.output


def test_json_says_what_was_drafted(files: list[Path], tmp_path: Path) -> None:
    done = call("gold", "draft", *files, *TASK, "--out", tmp_path / "d.jsonl", "--n", 5, "--json")
    state = json.loads(done.stdout)
    assert (state["question"], state["records"], state["population"]) == ("compare", 5, 90)
    assert state["strata"] == {"agree": {"size": 60, "drafted": 0}, "disagree": {"size": 30, "drafted": 5}}
    assert state["systems"] == ["a", "b"]


def test_a_table_carries_the_design_there_and_back(files: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "draft.csv"
    call("gold", "draft", *files, *TASK, "--n", 6, "--out", out)
    with pytest.raises(Exception, match="none of its 6 records is labelled yet"):
        read(out, task="classification")
    with out.open(encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    assert {row["gold_type"] for row in table} == {""}  # the column to fill in
    with out.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, table[0])
        writer.writeheader()
        writer.writerows({**row, "gold_type": "M"} for row in table)
    records = read(out, task="classification")
    assert {record["label"] for record in records} == {"M"}
    assert [record["sampling"]["position"] for record in records] == [*range(6)]
    assert records[0]["suggestions"] == {"a": {"label": "M"}, "b": {"label": "L"}}
    assert Design.of(records).drafted


@pytest.mark.parametrize("task", ["classification", "extraction"])
def test_label_studio_carries_the_design_there_and_back(task: str, tmp_path: Path) -> None:
    span = {"start": 0, "end": 6, "type": "TOP"}
    outputs: dict[str, tuple[Row, Row]] = {
        "classification": ({"label": "M"}, {"label": "L"}),
        "extraction": ({"entities": []}, {"entities": [span]}),
    }
    files = [
        save(tmp_path / f"{name}.jsonl", [{"id": f"d{i}", "text": f"letter {i} of many", **output} for i in range(9)])
        for name, output in zip("ab", outputs[task], strict=True)
    ]
    out = tmp_path / "tasks.json"
    call("gold", "draft", *files, "--task", task, "--n", 6, "--out", out)
    tasks = json.loads(out.read_text(encoding="utf-8"))
    assert len(tasks[0]["predictions"]) == 2  # a suggestion of each system
    for each in tasks:
        each["annotations"] = each.pop("predictions")[1:]
    out.write_text(json.dumps(tasks[:4]), encoding="utf-8")
    records = read(out, task=task, format="label-studio")
    assert [record["sampling"]["position"] for record in records] == [*range(4)]
    assert set(records[0]["suggestions"]) == {"a", "b"}
    warning = agree_files([out], task, format="label-studio").warnings[-1]
    assert warning.startswith("0 of 4 labels differ from every suggestion")


def test_agreement_of_labels_with_each_suggestion(files: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "draft.jsonl"
    call("gold", "draft", *files, *TASK, "--n", 10, "--out", out)
    save(out, [{**row, "label": "LMX"[place % 3]} for place, row in enumerate(rows(out))])
    result = agree_files([out], "classification")
    assert result.annotators == ("a", "b", "label")
    assert result.warnings[-1].startswith("3 of 10 labels differ from every suggestion (30%)")
    assert "favour a, b" in result.warnings[-1]


def test_verdicts_of_a_judge_make_strata_and_travel(files: list[Path], tmp_path: Path) -> None:
    verdicts = save(tmp_path / "v.jsonl", [{"id": f"d{i}", "score": float(i % 3 == 0)} for i in range(90)])
    out = tmp_path / "draft.jsonl"
    call("gold", "draft", files[0], *TASK, "--verdicts", verdicts, "--n", 9, "--out", out)
    drafted = [row["sampling"] for row in rows(out)]
    assert {each["stratum"]: each["verdict_mean"] for each in drafted} == {
        "verdict below 1": 0.0,
        "verdict from 1": 1.0,
    }
    assert all(each["verdict"] == each["verdict_mean"] for each in drafted)
    message = refusal("gold", "draft", *files, *TASK, "--verdicts", verdicts, "--out", tmp_path / "x.jsonl")
    assert "verdicts are on the answers of one system" in message


def test_a_table_is_continued_with_what_people_added_to_it(files: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "draft.csv"
    call("gold", "draft", *files, *TASK, "--n", 6, "--out", out)
    with out.open(encoding="utf-8", newline="") as stream:
        table = list(csv.DictReader(stream))
    for place, row in enumerate(table):
        row |= {"gold_type": "M" if place < 4 else "", "note": "=unsure, ask"}
    with out.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, table[0])
        writer.writeheader()
        writer.writerows(table)
    call("gold", "draft", *files, *TASK, "--more", 5, "--out", out)
    with out.open(encoding="utf-8", newline="") as stream:
        after = list(csv.DictReader(stream))
    assert [row["gold_type"] for row in after] == ["M"] * 4 + [""] * 7
    assert {row["note"].strip("'") for row in after[:6]} == {"=unsure, ask"}
    assert [json.loads(row["sampling"])["position"] for row in after] == [*range(11)]
    assert len(read(out, task="classification")) == 4
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl", "draft.csv"]


def test_tasks_of_label_studio_are_continued_with_their_annotations(files: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "tasks.json"
    call("gold", "draft", *files, *TASK, "--n", 6, "--out", out)
    tasks = json.loads(out.read_text(encoding="utf-8"))
    for each in tasks[:2]:
        each["annotations"] = [{**each["predictions"][0], "completed_by": 7}]
    out.write_text(json.dumps(tasks), encoding="utf-8")
    call("gold", "draft", *files, *TASK, "--more", 3, "--out", out)
    after = json.loads(out.read_text(encoding="utf-8"))
    assert after[:6] == tasks
    assert [each["data"]["sampling"]["position"] for each in after] == [*range(9)]
    message = refusal("gold", "draft", *files, *TASK, "--more", 3, "--out", tmp_path / "draft.tsv")
    assert "a draft is continued in .jsonl, .csv, .json" in message


def test_a_rule_of_your_own_names_likely_failures(files: list[Path], tmp_path: Path) -> None:
    rules = tmp_path / "rules.py"
    rules.write_text(
        "def many(example, prediction):\n    return prediction.label == 'L' and 'hasty' if '3' in example.text else 0\n"
        "def rule(example, prediction):\n    return example['id'] in ('d1', 'd2')\n"
        "def broken(example, prediction):\n    return prediction.tone\n",
        encoding="utf-8",
    )
    out = tmp_path / "errors.jsonl"
    words = ["gold", "draft", files[1], *TASK, "--for", "errors", "--out", out]
    call(*words, "--strata", f"{rules}:many", "--n", 9)
    kinds = {row["id"]: row["sampling"]["stratum"] for row in rows(out)}
    hasty = {f"d{i}" for i in range(0, 90, 3) if "3" in str(i)}
    assert {name for name, kind in kinds.items() if kind == "hasty"} <= hasty
    assert list(kinds.values()).count("rest") == 3
    call(*words, "--strata", f"{rules}:many", "--more", 3)
    assert len(rows(out)) == 12
    level = tmp_path / "level.jsonl"
    call("gold", "draft", files[1], *TASK, "--strata", rules, "--out", level, "--n", 45)
    assert {row["sampling"]["stratum"]: row["sampling"]["size"] for row in rows(level)} == {"rest": 88, "rule": 2}
    message = refusal(*words[:-1], tmp_path / "x.jsonl", "--strata", f"{rules}:broken")
    assert "rules.py: record d0: the rule broken raised AttributeError" in message
    assert "has no 'absent'" in refusal(*words[:-1], tmp_path / "x.jsonl", "--strata", f"{rules}:absent")
    assert "no strata are chosen for errors" in refusal(*words[:-1], tmp_path / "x.jsonl", "--strata", "confidence")


def test_the_file_of_judge_eval_and_a_judged_run_are_verdicts(files: list[Path], tmp_path: Path) -> None:
    """As `judge eval --out` writes its rows; a verdict that could not be read has no score."""
    verdicts = [
        {"id": f"d{i}", "inputs": {"text": ""}, "label": None, "verdict": "yes", "score": float(i % 3 > 0)}
        for i in range(90)
    ]
    verdicts[0]["score"] = None
    judged = save(tmp_path / "judged.jsonl", verdicts)
    gold = [dspy.Example(id=f"d{i}", text=f"letter {i} of many").with_inputs("text") for i in range(90)]
    evaluate(
        lambda text: {"label": "M"},
        gold,
        lambda gold, pred: float(int(gold["id"][1:]) % 3 > 0),
        folder=tmp_path / "run",
    )
    sizes = []
    for source in (judged, tmp_path / "run"):
        out = tmp_path / f"{source.stem}.draft.jsonl"
        done = call("gold", "draft", files[0], *TASK, "--verdicts", source, "--n", 9, "--out", out, "--json")
        sizes.append({name: each["size"] for name, each in json.loads(done.stdout)["strata"].items()})
    assert sizes[0] == {"no verdict": 1, "verdict below 1": 29, "verdict from 1": 60}
    assert sizes[1] == {"verdict below 1": 30, "verdict from 1": 60}


def test_skipped_records_and_the_worth_of_a_judge_are_said(files: list[Path], tmp_path: Path) -> None:
    verdicts = save(tmp_path / "v.jsonl", [{"id": f"d{i}", "score": 0.2 + (i % 3 > 0) * 0.6} for i in range(90)])
    several = [{**row, "confidence": 0.5} for row in rows(files[0])]
    a = save(tmp_path / "ours.jsonl", several)
    out = tmp_path / "draft.jsonl"
    call("gold", "draft", a, *TASK, "--verdicts", verdicts, "--strata", "confidence", "--n", 30, "--out", out)
    drafted = [{**row, "label": "M" if int(row["id"][1:]) % 3 else "L"} for row in rows(out)]
    save(out, drafted)
    score = ["score", "classification", "--gold", out, "--pred", a]
    done = call(*score)
    assert "the judge's verdicts make 30 labels worth" in " ".join(done.stderr.split())
    bands = tmp_path / "bands.jsonl"  # strata by the verdicts, which are right in two of three
    call("gold", "draft", a, *TASK, "--verdicts", verdicts, "--n", 30, "--out", bands)
    save(
        bands,
        [{**row, "label": "M" if int(row["id"][1:]) % 3 and int(row["id"][1:]) % 5 else "L"} for row in rows(bands)],
    )
    said = " ".join(call("score", "classification", "--gold", bands, "--pred", a).stderr.split())
    worth = re.search(r"30 labels worth (\d+) for accuracy", said)
    assert worth is not None
    assert int(worth[1]) > 33
    assert "have no label" not in done.stderr
    save(
        out,
        [
            {key: row[key] for key in row if key != "label"} if place in (3, 5) else row
            for place, row in enumerate(drafted)
        ],
    )
    assert "2 records come before labelled ones of their stratum" in " ".join(call(*score).stderr.split())
    save(
        out,
        [{key: row[key] for key in row if key != "label"} if place > 20 else row for place, row in enumerate(drafted)],
    )
    assert "come before labelled ones" not in call(*score).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("{tmp}/absent.jsonl",), "no such file"),
        (("{a}", "--for", "better"), "question is compare"),
        (("{a}", "--for", "compare"), "name two sources"),
        (("{a}", "--verdicts", "{a}"), "no row has the id of an input and a score"),
        (("{tmp}/empty.jsonl",), "the file is empty"),
        (("{tmp}/broken.jsonl",), "broken.jsonl"),
    ],
)
def test_what_cannot_be_drafted_is_one_line(
    files: list[Path], tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    (tmp_path / "empty.jsonl").write_text("", encoding="utf-8")
    (tmp_path / "broken.jsonl").write_text('{"id": "a", "text": ', encoding="utf-8")
    filled = [word.format(tmp=tmp_path, a=files[0]) for word in words]
    assert message in refusal("gold", "draft", *filled, *TASK, "--out", tmp_path / "d.jsonl")
    assert not (tmp_path / "d.jsonl").exists()


class Reads(dspy.Module):  # type: ignore[misc]
    """A program whose steps a run records."""

    def forward(self, text: str) -> Any:
        return dspy.Prediction(label="M", answer=text)


class ReadsTwice(dspy.Module):  # type: ignore[misc]
    """A program of two steps."""

    def __init__(self) -> None:
        self.read = Reads()

    def forward(self, text: str) -> Any:
        return self.read(text=self.read(text=text).answer)


@pytest.mark.parametrize("task", ["classification", "answering"])
def test_the_line_that_opens_the_page_of_a_run_with_steps_opens_that_of_its_task(tmp_path: Path, task: str) -> None:
    field = "question" if task == "answering" else "text"
    gold = [dspy.Example({"id": f"d{i}", field: f"letter {i}", "label": "M"}).with_inputs(field) for i in range(12)]
    reads = ReadsTwice()
    program = reads if task == "classification" else lambda question: reads(text=question)
    evaluate(program, gold, lambda gold, pred: pred.label == "M", name="own", folder=tmp_path / "run")
    out = tmp_path / "draft.jsonl"
    done = call("gold", "draft", tmp_path / "run", "--task", task, "--n", 5, "--out", out)
    assert rows(out)[0]["suggestions"]["own"]["trajectory"]
    line = re.search(r"goldassay (review .*)", done.output)
    assert line
    call(*line[1].split(), "--export")
    assert json.loads((tmp_path / "draft.review" / "review.json").read_text(encoding="utf-8"))["task"] == task


def test_a_program_of_one_step_is_reviewed_without_steps(tmp_path: Path) -> None:
    gold = [dspy.Example(id=f"d{i}", text=f"letter {i}", label="M").with_inputs("text") for i in range(12)]
    evaluate(Reads(), gold, lambda gold, pred: pred.label == "M", name="own", folder=tmp_path / "run")
    out = tmp_path / "draft.jsonl"
    call("gold", "draft", tmp_path / "run", "--task", "classification", "--n", 5, "--out", out)
    assert "trajectory" not in rows(out)[0]["suggestions"]["own"]


def test_lines_that_are_advised_take_folders_with_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are pasted as they are printed."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "my letters"
    folder.mkdir()
    for name, other in (("ours", "M"), ("theirs", "L")):
        several = [{"id": f"r{n}", "text": f"letter {n}", "Final label": "M" if n % 2 else other} for n in range(20)]
        save(folder / f"{name}.jsonl", several)
    sides = ("my letters/ours.jsonl", "my letters/theirs.jsonl")
    monkeypatch.setenv("COLUMNS", "300")
    printed = call("gold", "draft", *sides, *TASK, "--map", "label=Final label", "--out", "my letters/draft.jsonl")
    draft = folder / "draft.jsonl"
    save(draft, [{**row, "label": "M"} for row in rows(draft)])
    (line,) = [line for line in printed.stdout.splitlines() if line.startswith("goldassay compare")]
    assert "worse than ours.jsonl: -0.500" in call(*shlex.split(line)[1:]).stdout
