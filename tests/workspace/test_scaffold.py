"""A task of one's own goes through the commands like the six: from a table to a run that can be compared."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import chdir
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage
from tests.nightly import by_day
from typer.testing import CliRunner

from goldassay import workspace
from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.gold import anyfields, load
from goldassay.measures.judged import Verdict
from goldassay.running import Run
from goldassay.workspace import scaffold

RUN = CliRunner(env={"COLUMNS": "100"})
PLACES = ("Delft", "Gouda", "Breda", "Hoorn", "Venlo", "Assen", "Tiel", "Goes", "Weert", "Emmen", "Zwolle", "Kampen")


def run(*words: object) -> Any:
    return RUN.invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def dated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace made from a table of 36 lines whose columns are called otherwise than the task's fields."""
    folder = tmp_path_factory.mktemp("dated")
    with (folder / "mine.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["note", "when", "place"])
        for n in range(36):
            place = PLACES[n % 12]
            table.writerow(
                [f"{place * (n // 12 + 1)}: {'built' if n % 2 else 'burned'} in {1650 + 10 * n}", 17 + n // 9, place]
            )
    words = ["--task", "dating", "--from", "mine.csv", "--map", "text=note,century=when", "--outputs", "century"]
    with chdir(folder):
        done = run("init", "proj", *words)
    assert done.exit_code == 0, done.exception
    return folder


@pytest.fixture
def project(dated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it."""
    shutil.copytree(dated, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "proj")
    return tmp_path / "proj"


def test_the_fields_and_types_come_from_the_data(project: Path) -> None:
    program = (project / "programs" / "dating.py").read_text(encoding="utf-8")
    assert "text: str = dspy.InputField()" in program
    assert "century: int = dspy.OutputField()" in program
    gold = load("dating", task="dating").task("dating")
    assert len(gold.train) + len(gold.dev) + len(gold.test) == len(gold) == 36
    assert gold.train[0].inputs().keys() == ["text"]


def test_what_init_wrote_passes_its_own_test(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=project, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_journey(project: Path) -> None:
    assert "36" in run("gold", "validate", "gold/dating").output
    stats = json.loads(run("gold", "stats", "dating", "--json").output)
    assert stats["tasks"]["dating"]["counts"]["century"] == {"17": 9, "18": 9, "19": 9, "20": 9}
    assert run("gold", "split", "dating", "--out", "again").exit_code == 0
    assert "force=True" in str(run("gold", "split", "dating", "--out", "again").exception)
    for threads in (1, 2):
        assert run("eval", "dating:baseline", "--split", "test", "--threads", threads).exit_code == 0
    runs = sorted(Path("runs").iterdir())
    loaded = Run.load(runs[0])
    assert loaded.values == {"score": pytest.approx(loaded.value)}
    assert {"score"} == set(loaded.intervals)
    assert all(row.errors[0].kind == "wrong_value" for row in loaded.rows if row.score < 1)
    compared = json.loads(run("compare", *runs, "--json").output)
    assert compared["comparisons"][0]["difference"] == 0
    assert run("patch", "show", "dating").exit_code == 0


def test_foreign_gold_is_read_as_it_is(project: Path) -> None:
    done = run("eval", "dating:baseline", "--gold", "../mine.csv", "--map", "text=note,century=when")
    assert done.exit_code == 0, done.exception
    wrong = run("eval", "dating:baseline", "--gold", "../mine.csv")
    assert (
        str(wrong.exception) == "../mine.csv: no record has text, which the program takes; there are note, when, place;"
        ' name its column (`map={"text": "note"}`)'
    )
    Path("numbers.csv").write_text("no,note,when\n1,built in 1505,1505\n2,built in 1605,1605\n", encoding="utf-8")
    wrong = run("eval", "dating:baseline", "--gold", "numbers.csv")
    assert '(`map={"text": "note"}`)' in str(wrong.exception)  # the first column was advised
    wrong = run("eval", "dating:baseline", "--gold", "../mine.csv", "--map", "text=notes")
    assert "no field 'notes'; it has note, when, place; the mapping asks for it as 'text'" in str(wrong.exception)


def test_its_metric_takes_equal_numbers_as_equal(project: Path) -> None:
    metric = workspace.metric("dating")
    assert [metric({"century": 17}, {"century": value}).score for value in (17.0, "17", 18)] == [1, 1, 0]


METRICS = {
    "number": "def metric(gold, pred): return 0.25",
    "bool": "def metric(gold, pred): return gold['century'] == pred['century']",
    "dict": "def metric(gold, pred): return {'right': gold['century'] == pred['century'], 'near': 0.5}",
    "prediction": "import dspy\n"
    "def metric(gold, pred): return dspy.Prediction(score=0.5, feedback='Look at the year.')",
    "counts": (
        "from goldassay import Counts\ndef metric(gold, pred) -> Counts:\n"
        "    right = gold['century'] == pred['century']\n    return Counts(tp=right, fp=not right, fn=not right)"
    ),
}


@pytest.mark.parametrize("kind", by_day(METRICS, "dict", "prediction", "counts"))
def test_any_function_is_a_metric(project: Path, kind: str) -> None:
    Path("mine.py").write_text(METRICS[kind] + "\n", encoding="utf-8")
    done = run("eval", "dating:baseline", "--split", "all", "--metric", "mine.py", "--json")
    assert done.exit_code == 0, done.exception
    body = json.loads(done.output)
    share = 9 / 36  # the commonest century of four equal ones
    wanted = {
        "number": {"score": 0.25},
        "bool": {"score": share},
        "dict": {"score": (share + 0.5) / 2, "right": share, "near": 0.5},
        "prediction": {"score": 0.5},
        "counts": {"score": share},
    }[kind]
    assert body["values"] == pytest.approx(wanted)
    assert set(body["intervals"]) == set(wanted)
    again = Run.load(body["folder"])
    assert again.values == pytest.approx(wanted)
    if kind == "prediction":
        assert again.rows[0].errors[0].message == "Look at the year."


def test_what_is_missing_is_one_line(project: Path) -> None:
    assert "no task 'datng'; did you mean 'dating'?" in str(run("eval", "datng").exception)
    (project / "metrics" / "dating.py").unlink()
    assert "the task dating has no metric: write `metric` in" in str(run("eval", "dating:baseline").exception)
    again = run("init", ".", "--task", "dating", "--inputs", "a", "--outputs", "b")
    assert "exists; name another task or folder, or overwrite it" in str(again.exception)
    assert "is a built-in task" in str(run("init", "x", "--task", "linking", "--inputs", "a").exception)
    assert "a task or field needs a Python name" in str(run("init", "x", "--task", "a b", "--inputs", "c").exception)


def test_a_column_whose_name_is_no_python_name_is_never_written_as_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"when do you open {number}?,1,praise\n" for number in range(4))
    Path("letters.csv").write_text(f'Letter text,"class","tone: str\nraise SystemExit(9)"\n{rows}')
    refused = str(run("init", "own", "--task", "tone", "--from", "letters.csv").exception)
    assert "got 'Letter text', 'class', 'tone: str\\nraise SystemExit(9)'" in refused
    assert not Path("own").exists()
    Path("letters.csv").write_text(f"Letter text,class,tone\n{rows}")
    refused = str(run("init", "own", "--task", "tone", "--from", "letters.csv", "--outputs", "tone").exception)
    assert refused.endswith('rename it: `map={"letter_text": "Letter text", "field_class": "class"}`')
    names = "letter_text=Letter text,field_class=class"
    run("init", "own", "--task", "tone", "--from", "letters.csv", "--map", names, "--outputs", "tone")
    assert "letter_text: str = dspy.InputField()" in Path("own/programs/tone.py").read_text()


def test_columns_that_describe_records_are_objects_and_empty_ones_are_no_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text as strata was a traceback of eval; a column without a value was an input that no record had."""
    monkeypatch.chdir(tmp_path)
    rows = [{"body": f"letter {number * number}", "fax": None, "self": number, "tone": "kind"} for number in range(12)]
    Path("letters.json").write_text(json.dumps([{**row, "strata": "rare"} for row in rows]))
    refused = run("init", "own", "--task", "tone", "--from", "letters.json").exception
    assert "strata: expected an object, found 'rare'" in str(refused)
    Path("letters.json").write_text(json.dumps(rows))
    assert "got 'self'" in str(run("init", "own", "--task", "tone", "--from", "letters.json").exception)
    run("init", "own", "--task", "tone", "--from", "letters.json", "--map", "number=self,text=body,tone=tone")
    monkeypatch.chdir("own")
    assert "fax" not in Path("programs/tone.py").read_text()
    assert json.loads(run("eval", "tone:baseline", "--split", "all", "--json").output)["failed"] == 0


def test_a_field_of_gold_may_be_called_self() -> None:
    rows = [{"id": "a", "self": "x", "label": "y"}]
    assert load(rows, task="mine").mine.all[0]["self"] == "x"


@pytest.mark.parametrize("task", ["ask", "counter", "any"])
def test_a_task_may_be_called_as_something_else_in_its_file(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("init", ".", "--task", task, "--inputs", "text", "--outputs", "label")
    assert f"dspy.Predict({task.title()}Task)" in Path(f"programs/{task}.py").read_text()
    assert json.loads(run("eval", f"{task}:baseline", "--json").output)["failed"] == 0


def test_a_workspace_can_begin_with_a_task_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("init", ".", "--task", "trajectories")
    assert "goldassay eval trajectories:baseline" in done.output
    assert (tmp_path / "programs" / "trajectories.py").is_file()
    done = run("eval", "trajectories:faulty", "--split", "dev", "--json")
    values = json.loads(done.stdout)["values"]
    assert 0 < values["trajectory_exact_match"] <= 1
    (row, *_) = (json.loads(line) for line in next(Path("runs").glob("*/rows.jsonl")).read_text().splitlines())
    assert row["prediction"]["trajectory"][0]["name"] in ("search", "look_up")


def test_a_column_of_ids_is_no_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"T-{n},note {n},{'good' if n % 2 else 'bad'}\n" for n in range(12))
    Path("mine.csv").write_text(f"ticket_id,note,tone\n{rows}", encoding="utf-8")
    assert run("init", "x", "--task", "tones", "--from", "mine.csv").exit_code == 0
    program = Path("x/programs/tones.py").read_text(encoding="utf-8")
    assert "note: str = dspy.InputField()" in program
    assert "ticket_id" not in program
    records = [json.loads(line) for line in Path("x/gold/tones/tones.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted(record["id"] for record in records) == sorted(f"T-{n}" for n in range(12))


def test_a_missing_metric_is_to_be_written_in_a_workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GoldassayError, match=r"write `metric` in metrics/mine\.py of a workspace"):
        workspace.metric("mine")


def test_without_data_the_gold_is_examples_to_replace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("init", "new", "--task", "tone", "--inputs", "title,body", "--outputs", "tone,reason")
    assert done.exit_code == 0, done.exception
    monkeypatch.chdir(tmp_path / "new")
    assert workspace.target("tone").shape.inputs == ("title", "body")
    assert "examples to replace" in Path("gold/tone/card.yaml").read_text(encoding="utf-8")
    body = json.loads(run("eval", "tone:baseline", "--json").output)
    assert set(body["values"]) == {"score", "tone", "reason"}


def test_a_file_is_its_own_task(tmp_path: Path) -> None:
    file = tmp_path / "shout.py"
    file.write_text("import dspy\nprogram = dspy.Predict('text -> loud')\n", encoding="utf-8")
    target = workspace.target(f"{file}:program")
    assert (target.task, target.label) == ("shout", "shout")
    assert target.shape.inputs == ("text",)
    with pytest.raises(GoldassayError, match="no such file"):
        workspace.target("nothing.py:program")


WORDS = ["mill", "bridge", "park", "school", "tram", "desk", "road", "tower", "harbour", "square", "garden", "museum"]
TONES = {"?": "question", "!": "praise", ".": "complaint"}


class Imitator:
    """A scripted model of tones: a complaint, unless a text that it was shown ends in the same mark."""

    def complete(self, request: Any) -> Any:
        turns = [part.text for message in request.messages for part in message.parts if hasattr(part, "text")]
        marks = [match[1] for turn in turns if (match := re.search(r"## text ## \]\]\n.*?([?!.])(?=\s|$)", turn))]
        labels = dict(zip(marks, turns[1::2], strict=False))
        answer = labels.get(marks[-1], "[[ ## tone ## ]]\ncomplaint\n\n[[ ## completed ## ]]")
        return Response(
            id=None,
            model=request.model,
            message=Message.assistant([TextPart(answer)]),
            finish_reason="stop",
            usage=Usage(input_tokens=9, output_tokens=1, total_tokens=10),
        )


@pytest.fixture(scope="module")
def toned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace made from sixty letters."""
    folder = tmp_path_factory.mktemp("toned")
    lines = [
        f"{n},The {WORDS[n % 12]} {n * 7919} of street {n * n}{'?!.'[n % 3]},{TONES['?!.'[n % 3]]}" for n in range(60)
    ]
    table = "id,text,tone\n" + "".join(f"{line}\n" for line in lines)
    (folder / "letters.csv").write_text(table, encoding="utf-8")
    with chdir(folder):
        done = run("init", "mine", "--task", "tone", "--from", "letters.csv", "--outputs", "tone")
    assert done.exit_code == 0, done.exception
    return folder


@pytest.fixture
def tones(toned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, and the scripted model."""
    shutil.copytree(toned, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path / "mine")
    lm = dspy.LM("scripted/imitator", engine=Imitator(), cache=False)
    monkeypatch.setattr("goldassay.models.lm.models.resolve", lambda name=None, **_: lm)
    return tmp_path / "mine"


def test_few_records_keep_enough_for_the_test_split(tones: Path) -> None:
    gold = load("tone", task="tone").task("tone")
    assert {side: len(getattr(gold, side)) for side in ("train", "dev", "test")} == {"train": 24, "dev": 12, "test": 24}
    assert {row["tone"] for row in gold.dev} == set(TONES.values())
    assert "source: letters.csv" in (tones / "gold" / "tone" / "card.yaml").read_text(encoding="utf-8")


def test_patches_of_an_own_task_are_proposed_tested_applied_and_seen(tones: Path) -> None:
    done = json.loads(run("eval", "tone", "--split", "train", "--json").output)
    body = json.loads(run("patch", "patterns", done["folder"], "--json").output)
    confused = {(row["gold_type"], row["pred_type"]) for row in body["patterns"]}
    assert confused == {("question", "complaint"), ("praise", "complaint")}
    assert run("patch", "propose", "tone", done["folder"]).exit_code == 0
    tested = run("patch", "test", "tone", "--json")
    assert tested.exit_code == 0, tested.exception
    measured = json.loads(tested.output)["patches"]
    assert max(row["effects"][0]["difference"] for row in measured) == pytest.approx(1 / 3)  # of twelve, four more
    assert run("patch", "apply", "tone", *(row["id"] for row in measured)).exit_code == 0
    after = json.loads(run("eval", "tone", "--split", "train", "--state", "programs/patches/tone", "--json").output)
    assert after["value"] > done["value"]
    assert run("report", done["folder"], after["folder"], "--out", "page.html").exit_code == 0
    assert "praise" in Path("page.html").read_text(encoding="utf-8")
    again = run("report", done["folder"], "--out", "page.html")
    assert "page.html already exists; choose another place, or add `force=True`" in str(again.exception)
    assert run("report", done["folder"], "--out", "page.html", "--force").exit_code == 0


def test_an_own_task_is_tuned_and_proven(tones: Path) -> None:
    done = run("tune", "tone", "--optimizer", "patches", "--setting", "nearest=0", "--out", "t")
    assert done.exit_code == 0, done.exception
    assert json.loads((tones / "t" / "tuning.json").read_text(encoding="utf-8"))["verdict"] == "proven on test"


def test_an_own_task_takes_a_judge(tones: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    metric = tones / "metrics" / "tone.py"
    metric.write_text(
        metric.read_text(encoding="utf-8")
        + "\nfrom goldassay.judges.measures import Criterion\n"
        + "def metric_with(judge):\n"
        + "    named = Criterion(judge, 'It names a tone.', title='named')\n"
        + "    return Metric([named], columns={'question': 'text', 'answer': 'tone'})\n",
        encoding="utf-8",
    )

    class Yes:
        name = "yes"
        calls = 0
        tokens = 0
        warning = ""

        def verdict(self, prompt: str, criterion: str, question: str, answer: str) -> Verdict:
            return Verdict("yes" if answer in TONES.values() else "no")

    monkeypatch.setattr("goldassay.cli.evaluate.named", lambda *_, **__: Yes())
    done = run("eval", "tone", "--judge-lm", "any", "--json")
    assert done.exit_code == 0, done.exception
    assert json.loads(done.output)["values"] == {"named": 1.0}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["eval", "ton"], "no task 'ton'; did you mean 'tone'? (a file is named as programs/ton.py:program)"),
        (["score", "tone", "--gold", "a", "--pred", "b"], "a: no such file"),
        (["score", "tone", "--gold", "a", "--pred", "b", "--option", "labels=a"], "labels is for classification, not"),
        (["score", "triple", "--gold", "a", "--pred", "b"], "no task 'triple'; did you mean 'triples'?"),
        (["eval", "tone:baseline", "--map", "text=body"], "says how it is read; map is for one file"),
        (["gold", "validate", "gold/tone", "--map", "a=b"], "says how it is read; map is for one file"),
        (
            ["score", "classification", "--gold", "letters.csv", "--pred", "letters.csv"],
            'set `map={"label": "COLUMN"}`',
        ),
    ],
)
def test_what_a_newcomer_gets_wrong_is_one_line_that_says_how_to_mend_it(
    words: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"letter {n},{'kind' if n % 2 else 'cross'}" for n in range(30)]
    Path("letters.csv").write_text("\n".join(["text,tone", *rows]) + "\n", encoding="utf-8")
    assert run("init", ".", "--task", "tone", "--from", "letters.csv", "--outputs", "tone").exit_code == 0
    done = run(*words)
    assert isinstance(done.exception, GoldassayError)
    assert message in str(done.exception)
    assert "\n" not in str(done.exception)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def broken(:\n", "mine.py:1: cannot be loaded: SyntaxError: "),
        ("import dspy\nimport nosuchmodule\n", "mine.py:2: cannot be loaded: ModuleNotFoundError: No module named"),
        ("import sys\nsys.exit(0)\n", "mine.py:2: cannot be loaded: SystemExit: 0"),
        (
            "class P:\n    def __init__(self):\n        raise KeyError('k')\nprogram = P\n",
            "mine.py:3: cannot be loaded: KeyErr",
        ),
        ("program = 3\n", "mine.py: program is of type int; a program is a DSPy module or a function"),
    ],
)
def test_a_program_file_that_cannot_be_loaded_is_one_line(
    source: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.py").write_text(source)
    with pytest.raises(GoldassayError) as body:
        workspace.target("mine.py", "extraction").load()
    assert f"{tmp_path}/{message}" in str(body.value)
    assert "\n" not in str(body.value)


@pytest.fixture
def two_systems(project: Path) -> tuple[Path, Path, Path]:
    """Gold, and two files of predictions: 12 and 24 of 36 centuries right."""
    gold = project / "gold" / "dating" / "dating.jsonl"
    records = [json.loads(line) for line in gold.read_text(encoding="utf-8").splitlines()]
    files = project / "a.jsonl", project / "b.jsonl"
    for file, right in zip(files, (12, 24), strict=True):
        rows = [
            {"id": record["id"], "century": record["century"] if at < right else 3} for at, record in enumerate(records)
        ]
        file.write_text("".join(json.dumps(row) + "\n" for row in rows[:35]), encoding="utf-8")
    return gold, *files


def test_files_of_predictions_are_scored_and_compared_as_for_the_built_in_tasks(
    project: Path, two_systems: tuple[Path, Path, Path]
) -> None:
    gold, first, second = two_systems
    card = json.loads(run("score", "dating", "--gold", gold, "--pred", first, "--json").output)
    assert card["task"] == "dating"
    assert card["values"] == {"score": pytest.approx(12 / 36)}
    assert "1 of 36 gold records have no prediction" in card["warnings"][0]
    assert run("score", "dating", "--gold", gold, "--pred", first, "--fail-under", "score=.5").exit_code == 1
    compared = run("compare", "dating", "--gold", gold, "--pred", first, "--pred", second, "--out", "cmp", "--json")
    assert compared.exit_code == 0, compared.exception
    result = json.loads(compared.stdout)["comparisons"][0]
    assert result["difference"] == pytest.approx(1 / 3)
    assert "a.jsonl" in Path("cmp/systems.tex").read_text(encoding="utf-8")
    assert "b.jsonl" in Path("cmp/report.html").read_text(encoding="utf-8")


FIELDS = """
from goldassay import Counts

def metric(gold, pred) -> dict[str, Counts]:
    expected, predicted = str(gold["century"]), str(pred["century"])
    right = sum(a == b for a, b in zip(expected, predicted))
    return {name: Counts(right, len(predicted) - right, len(expected) - right) for name in ("digits", "again")}
"""


def test_a_changed_metric_scores_stored_rows_again_and_its_fields_have_precision_recall_and_f1(project: Path) -> None:
    folder = json.loads(run("eval", "dating:baseline", "--split", "all", "--json").output)["folder"]
    gold = project / "gold" / "dating" / "dating.jsonl"
    before = json.loads(run("compare", "dating", "--gold", gold, "--pred", folder, "--json").output)
    assert before["values"] == pytest.approx(Run.load(folder).values)
    (project / "metrics" / "changed.py").write_text(FIELDS, encoding="utf-8")
    words = ["--measure", "metrics/changed.py"]
    after = json.loads(run("compare", "dating", "--gold", gold, "--pred", folder, *words, "--json").output)
    # the baseline says 17 throughout; of 4 centuries in equal shares 17 has 2 digits right, 18, 19 and 20 have 1, 1, 0
    assert after["values"]["digits"] == pytest.approx((2 + 1 + 1 + 0) / 8)
    assert after["by"]["field"]["digits"]["precision"] == after["values"]["score"] == pytest.approx(0.5)
    run_again = run("eval", "dating:baseline", "--split", "all", "--metric", "metrics/changed.py", "--json")
    assert json.loads(run_again.output)["values"] == pytest.approx(after["values"])


def test_texts_of_one_form_have_every_label_on_every_side(tmp_path: Path) -> None:
    forms = {"access": "Please reset the password of user {}", "billing": "The invoice {} is wrong"}
    rows = [{"id": n, "text": forms[label].format(n), "label": label} for n, label in enumerate([*forms] * 30)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scaffold.write(tmp_path / "w", "tickets", ["text"], ["label"], source=tmp_path / "data.jsonl")
    records = load(tmp_path / "w" / "gold" / "tickets", task="tickets").task("tickets").records
    sides = Counter((record["split"], record["label"]) for record in records)
    assert {side for side, _ in sides} == {"train", "dev", "test"}
    assert min(sides.values()) >= 6
    assert len(sides) == 6


def test_the_label_is_no_part_of_the_compared_text(tmp_path: Path) -> None:
    # One text with two labels stands on one side, however long the labels are.
    texts = [
        f"{word} {word[::-1]}" for word in ("alpha", "bravo", "carol", "delta", "echos", "foxes", "golfs", "hotel")
    ]
    rows = [{"text": text, "label": label * 30} for text in texts for label in "xy"]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    scaffold.write(tmp_path / "w", "tones", ["text"], ["label"], source=tmp_path / "data.jsonl")
    records = load(tmp_path / "w" / "gold" / "tones", task="tones").task("tones").records
    assert all(len({r["split"] for r in records if r["text"] == text}) == 1 for text in texts)


def test_a_name_that_stands_in_the_text_is_free_and_a_label_is_closed(tmp_path: Path) -> None:
    vendors = ["Acme", "Bolt", "Corex", "Delta", "Eon", "Fabri", "Gamma", "Hexa", "Ionic", "Jolt"]
    names = [vendors[n % 10] for n in range(40)]
    rows = [{"text": f"Invoice {n} from {name}", "vendor": name, "kind": "ab"[n % 2]} for n, name in enumerate(names)]
    assert anyfields.fields(rows) == {"text": "str", "vendor": "str", "kind": "Literal['a', 'b']"}


MODELS = """
import datetime
from enum import Enum

from pydantic import BaseModel


class Currency(Enum):
    EUR = "EUR"


class Line(BaseModel):
    what: str
    quantity: int


class Invoice(BaseModel):
    number: str
    date: datetime.date
    total: float
    currency: Currency = Currency.EUR
    lines: list[Line]
"""


@pytest.mark.nightly
def test_a_workspace_from_a_pydantic_model_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models.py").write_text(MODELS, encoding="utf-8")
    done = run("init", "shop", "--task", "invoices", "--schema", "models.py:Invoice")
    assert done.exit_code == 0, done.exception
    monkeypatch.chdir(tmp_path / "shop")
    metric = workspace.metric("invoices")
    assert (
        "compare=number: exact, date: date, total: number, currency: enum, lines.what: exact"
        in (metric.conventions["field_f1"])
    )
    evaluated = json.loads(run("eval", "invoices:baseline", "--split", "all", "--json").output)
    assert evaluated["values"]["schema_valid"] == 1.0
    assert 0 < evaluated["values"]["field_f1"] < 1
    tested = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"], check=False, capture_output=True
    )
    assert tested.returncode == 0, tested.stdout
    gold = Path("gold/invoices/invoices.jsonl")
    card = json.loads(run("score", "invoices", "--gold", gold, "--pred", evaluated["folder"], "--json").output)
    assert card["values"] == pytest.approx(evaluated["values"])
    assert card["by"]["field"]["lines.what"]["f1"] == pytest.approx(0.1)


def test_gold_of_a_schema_comes_from_a_table_and_must_fit_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("models.py").write_text(MODELS, encoding="utf-8")
    head = "text,number,date,total,lines[0].what,lines[0].quantity"
    rows = [f"Invoice A{n} of {n} March,A{n},2024-03-{n:02},{n}.50,tea,{n}" for n in range(1, 13)]
    Path("table.csv").write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    words = ["init", "shop", "--task", "invoices", "--schema", "models.py:Invoice", "--from", "table.csv"]
    assert run(*words).exit_code == 0
    record = json.loads(Path("shop/gold/invoices/invoices.jsonl").read_text(encoding="utf-8").splitlines()[1])
    assert record["record"]["lines"] == [{"what": "tea", "quantity": 2}]
    assert record["split"] in ("train", "dev", "test")
    Path("table.csv").write_text("\n".join([head, *rows, "x,A13,March,1,tea,1"]) + "\n", encoding="utf-8")
    assert "record 13, record: gold does not fit the schema: date" in str(run(*words, "--force").exception)
    assert "models.py:Invoice" in str(run("init", "x", "--task", "y", "--schema", "models.py").exception)
