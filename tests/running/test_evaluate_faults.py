"""One example's fault is one example's; a run that fails as a whole says so; folders belong to one run."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dspy
import pytest
from pydantic import BaseModel

from goldassay import Metric
from goldassay._support.exceptions import ConventionError, DataError, GoldassayError, MetricError, RunStopped
from goldassay.measures import extraction
from goldassay.running import Run, new_folder
from goldassay.running.comparing import remeasured
from goldassay.running.evaluate import evaluate

METRIC = Metric(extraction.SpanF1())


def examples(n: int) -> list[Any]:
    spans = [(3, 7, "TMP")]
    return [dspy.Example(id=f"e{i}", text=f"in {1500 + i}", entities=spans).with_inputs("text") for i in range(n)]


def right(text: str) -> Any:
    return dspy.Prediction(entities=[(3, 7, "TMP")])


class Unsayable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def raising(error: BaseException) -> Any:
    def program() -> Any:
        raise error

    return program


def odd(kind: type, *methods: str) -> Any:
    """An object of this kind whose methods raise."""

    def raises(*_: object, **__: object) -> Any:
        raise ZeroDivisionError("odd")

    return type("Odd", (kind,), dict.fromkeys(methods, raises))


ODD: dict[str, Any] = {
    "a list whose iteration raises": odd(list, "__iter__")([1]),
    "a list without a length": odd(list, "__len__", "__iter__")([1]),
    "a dict whose items raise": odd(dict, "items", "keys", "__iter__", "get")(a=1),
    "a text that cannot be read": odd(str, "__str__", "__repr__", "__len__", "__iter__", "split")("a"),
    "an object without a repr": odd(object, "__repr__", "__str__", "__getattr__")(),
    "a number that is none": odd(int, "__int__", "__index__", "__eq__", "__lt__", "__repr__", "bit_length")(3),
    "a list of such": [odd(list, "__iter__")([1]), odd(object, "__repr__", "__str__")()],
    "a span of such": [dict.fromkeys(("start", "end", "type", "text"), odd(object, "__repr__", "__eq__", "__str__")())],
}
FAULTS: dict[str, tuple[Any, str]] = {
    "None": (lambda: None, "the program returned None"),
    "a string": (lambda: "Delft", "expected a list of spans, not str"),
    "another dict": (lambda: {"spans": [], "note": ""}, "no field 'entities'"),
    "a missing field": (lambda: dspy.Prediction(label="x"), "no field 'entities'"),
    "a string for a list": (lambda: dspy.Prediction(entities="Delft"), "Delft"),
    "a number for a list": (lambda: dspy.Prediction(entities=7), "7"),
    "numbers for spans": (lambda: dspy.Prediction(entities=[1, 2]), "[1, 2]"),
    "a type that is a number": (lambda: dspy.Prediction(entities=[{"start": 3, "end": 7, "type": 5}]), ""),
    "offsets that are none": (lambda: dspy.Prediction(entities=[{"start": "a", "end": None, "type": "X"}]), ""),
    "SystemExit": (raising(SystemExit(0)), "SystemExit: 0"),
    "CancelledError": (raising(asyncio.CancelledError()), "CancelledError"),
    "GeneratorExit": (raising(GeneratorExit()), "GeneratorExit"),
    "RecursionError": (raising(RecursionError("deep")), "RecursionError: deep"),
    "an error without a text": (raising(Unsayable()), "Unsayable: (its text cannot be read)"),
    **{name: (lambda value=value: dspy.Prediction(entities=value), "") for name, value in ODD.items()},
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_fault_of_one_example_is_one_failed_row(fault: str, tmp_path: Path) -> None:
    wrong, says = FAULTS[fault]

    def program(text: str) -> Any:
        return wrong() if text == "in 1502" else right(text)

    run = evaluate(program, examples(6), METRIC, folder=tmp_path / "r", threads=2, progress=False)
    assert len(run.rows) == 6
    assert run.rows[2].score == 0.0
    assert run.rows[2].tallies["strict_f1"]["fn"] == 1  # its gold counts as missed
    assert [row.score for row in run.rows].count(1.0) == 5
    assert says in run.rows[2].error
    assert Run.load(tmp_path / "r").values == run.values
    again = evaluate(program, examples(6), METRIC, resume=tmp_path / "r", progress=False)  # and again on resume
    assert again.values == run.values


def test_a_dict_with_the_field_is_a_prediction() -> None:
    assert evaluate(lambda text: {"entities": [(3, 7, "TMP")]}, examples(2), METRIC, progress=False).value == 1.0


def test_a_program_that_hangs_is_one_failed_row(tmp_path: Path) -> None:
    stop = threading.Event()

    def program(text: str) -> Any:
        if text == "in 1501":
            stop.wait(60)
        if text == "in 1503":
            while not stop.is_set():  # Python that never ends is ended
                pass
        return right(text)

    started = time.monotonic()
    run = evaluate(program, examples(8), METRIC, folder=tmp_path / "r", threads=2, timeout=0.4, progress=False)
    stop.set()
    assert time.monotonic() - started < 20
    assert [row.id for row in run.rows if row.error] == ["e1", "e3"]
    assert run.rows[1].error == "TimeoutError: no answer within 0.4 s"
    assert run.rows[1].tallies["strict_f1"]["fn"] == 1
    assert len(Run.load(tmp_path / "r").rows) == 8
    for seconds in (0, float("nan")):
        with pytest.raises(GoldassayError, match="a timeout is a number of seconds above 0"):
            evaluate(program, examples(1), METRIC, timeout=seconds)


def test_a_program_may_change_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("goldassay.running.rows.ROWS_IN_MEMORY", 3)  # so that rows are read from the file again
    other = tmp_path / "other"
    other.mkdir()

    def program(text: str) -> Any:
        os.chdir(other)
        return right(text)

    run = evaluate(program, examples(9), METRIC, folder="r", threads=2, progress=False)
    assert Path.cwd() == tmp_path
    assert len(list(run.rows)) == 9
    assert Run.load("r").head.status == "finished"
    assert list(other.iterdir()) == []


@pytest.mark.parametrize("late", [False, True])
def test_a_folder_that_is_deleted_during_the_run_is_an_error(late: bool, tmp_path: Path) -> None:
    def program(text: str) -> Any:
        if text == ("in 1505" if late else "in 1502"):
            shutil.rmtree(tmp_path / "r")
        return right(text)

    with pytest.raises(GoldassayError, match=r"rows\.jsonl was deleted") as raised:
        evaluate(program, examples(6), METRIC, folder=tmp_path / "r", progress=False)
    assert "safe" not in str(raised.value)
    assert "resume" not in str(raised.value)
    assert not (tmp_path / "r").exists()


def test_an_asynchronous_program_is_awaited() -> None:
    class Later(dspy.Module):  # type: ignore[misc]
        async def forward(self, text: str) -> Any:
            await asyncio.sleep(0.001)
            if text == "in 1502":
                raise ValueError("no")
            return right(text)

    run = evaluate(Later(), examples(6), METRIC, threads=3, progress=False)
    assert [row.error for row in run.rows] == ["", "", "ValueError: no", "", "", ""]


def test_a_run_that_cannot_begin_leaves_nothing_behind(tmp_path: Path) -> None:
    lock = threading.Lock()

    def program(text: str) -> Any:
        with lock:
            return right(text)

    for engine, says in (("ray", "cannot be sent to a worker"), ("clouds", "no engine 'clouds'")):
        with pytest.raises(GoldassayError, match=says):
            evaluate(program, examples(3), METRIC, folder=tmp_path / "r", engine=engine, progress=False)
        assert not list(tmp_path.iterdir())
    assert evaluate(program, examples(3), METRIC, folder=tmp_path / "r", progress=False).value == 1.0


def test_gold_and_programs_that_cannot_be_called_are_refused() -> None:
    bare = [dspy.Example(text="in 1500", entities=[])]

    def any_fields(**fields: Any) -> Any:
        return dspy.Prediction(entities=[])

    with pytest.raises(GoldassayError, match=r"gold example 0 .Example. does not say which .* add .with_inp"):
        evaluate(any_fields, bare, METRIC)
    with pytest.raises(GoldassayError, match="gold example 1 .dict. does not say"):
        evaluate(any_fields, [*examples(1), {"text": "in 1500"}], METRIC)
    with pytest.raises(GoldassayError, match="a program is a DSPy module or a function .*, not <class"):
        evaluate(dspy.Module, examples(1), METRIC)
    with pytest.raises(GoldassayError, match="a program is a DSPy module or a function .*, not None"):
        evaluate(None, examples(1), METRIC)


def test_failures_that_are_alike_at_the_start_stop_a_run(tmp_path: Path) -> None:
    calls: list[str] = []

    def program(text: str) -> Any:
        calls.append(text)
        raise ConnectionRefusedError("connection refused")

    with pytest.raises(
        RunStopped,
        match=r"^stopped after 5 of 100 examples: the first 5 examples failed alike: Conn.*; "
        r"fix it and resume with .*r`; with other code or another model start a new run$",
    ) as caught:
        evaluate(program, examples(100), METRIC, folder=tmp_path / "r", progress=False)
    assert len(calls) == 5
    assert Run.load(tmp_path / "r").head.status == "stopped"
    assert isinstance(caught.value.run, Run)
    whole = evaluate(program, examples(9), METRIC, max_failures=1, progress=False)
    assert whole.value == 0.0


def test_too_many_failures_stop_a_run_and_few_do_not() -> None:
    def program(text: str) -> Any:
        if int(text[3:]) % 3:
            raise ValueError(f"no {text}")
        return right(text)

    with pytest.raises(
        RunStopped, match=r"13 of 20 examples failed, more than `max_failures=0.5`; the last, e19: Value"
    ):
        evaluate(program, examples(60), METRIC, progress=False)
    assert len(evaluate(program, examples(60), METRIC, max_failures=0.7, progress=False).rows) == 60
    with pytest.raises(RunStopped, match=r"^the one example failed: e1: ValueError: no in 1501$"):
        evaluate(program, examples(2)[1:], METRIC, progress=False)


def test_a_model_that_refuses_for_good_stops_a_run_at_once() -> None:
    calls: list[str] = []

    def program(text: str) -> Any:
        calls.append(text)
        raise dspy.utils.exceptions.LMAuthError("invalid api key", model="openai/x", status=401)

    with pytest.raises(RunStopped, match="LMAuthError: .*invalid api key"):
        evaluate(program, examples(30), METRIC, progress=False)
    assert len(calls) == 1


def test_folders_made_at_once_are_all_different(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: new_folder(tmp_path, "extraction"), range(40)))
    assert len(set(folders)) == 40
    assert all(folder.is_dir() for folder in folders)


def test_a_folder_has_one_writer_and_holds_one_run(tmp_path: Path) -> None:
    inside: list[str] = []

    def program(text: str) -> Any:
        for call in ({"resume": tmp_path / "r"}, {"folder": tmp_path / "r"}):
            with pytest.raises(GoldassayError) as caught:
                evaluate(right, examples(3), METRIC, progress=False, **call)  # type: ignore[arg-type]
            inside.append(str(caught.value))
        return right(text)

    evaluate(program, examples(3), METRIC, folder=tmp_path / "r", progress=False)
    assert f"is being written by another run (process {os.getpid()} on " in inside[0]
    assert "is being written by another run" in inside[1]
    with pytest.raises(GoldassayError, match="was started with another program, or other prompts; start a new run"):
        evaluate(right, examples(3), METRIC, folder=tmp_path / "r", progress=False)


def test_the_same_call_goes_on_in_the_same_folder(tmp_path: Path) -> None:
    calls: list[str] = []

    def program(text: str) -> Any:
        calls.append(text)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return right(text)

    with pytest.raises(KeyboardInterrupt):
        evaluate(program, examples(6), METRIC, folder=tmp_path / "r", progress=False)
    for _ in range(2):  # the second call finds a finished run
        run = evaluate(program, examples(6), METRIC, folder=tmp_path / "r", progress=False)
        assert (len(run.rows), run.head.status, len(calls)) == (6, "finished", 7)


KILLED = """
import sys, time, pathlib, dspy
sys.path.insert(0, {here!r})
from test_evaluate_faults import METRIC, examples, right
from goldassay.running.evaluate import evaluate
def program(text):
    time.sleep(0.02)
    return right(text)
evaluate(program, examples(200), METRIC, folder=pathlib.Path({folder!r}), progress=False)
"""


def test_a_lock_that_a_killed_process_left_is_none(tmp_path: Path) -> None:
    folder = tmp_path / "r"

    def program(text: str) -> Any:
        return right(text)

    code = KILLED.format(here=str(Path(__file__).parent), folder=str(folder))
    other = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while time.monotonic() < until and not (folder / "run.json").exists():  # written after rows.jsonl is begun
        time.sleep(0.05)
    assert other.poll() is None
    with pytest.raises(GoldassayError, match=rf"is being written by another run \(process {other.pid} on "):
        evaluate(program, examples(200), METRIC, resume=folder, progress=False)
    other.send_signal(signal.SIGKILL)
    other.communicate()
    with pytest.raises(ConventionError, match="was started with another version of the program's code"):
        evaluate(program, examples(200), METRIC, resume=folder, progress=False)
    assert Run.load(folder).head.status == "running"


def test_a_finished_run_that_is_asked_for_again_is_left_as_it_is(tmp_path: Path) -> None:
    run = evaluate(right, examples(4), METRIC, folder=tmp_path / "r", progress=False)
    before = {file.name: file.read_bytes() for file in (tmp_path / "r").iterdir()}
    again = evaluate(right, examples(4), METRIC, resume=tmp_path / "r", progress=False)
    assert again.values == run.values
    assert {file.name: file.read_bytes() for file in (tmp_path / "r").iterdir()} == before


def test_rows_that_failed_are_tried_again(tmp_path: Path) -> None:
    down = {"in 1501", "in 1502"}

    def program(text: str) -> Any:
        if text in down:
            raise OSError("down")
        return dspy.Prediction(entities=[(3, 7, "TMP")] if text in ("in 1501", "in 1503") else [])

    evaluate(program, examples(4), METRIC, folder=tmp_path / "r", progress=False)
    down.clear()
    run = evaluate(program, examples(4), METRIC, resume=tmp_path / "r", progress=False)
    assert [row.retried for row in run.rows] == [False, True, True, False]


PROGRAM = """
import dspy
from helper_of_{name} import LABEL
class Years(dspy.Module):
    def __init__(self):
        super().__init__()
        self.find = dspy.Predict("text -> entities")
    def forward(self, text):
        if text == "in 1503":
            raise KeyboardInterrupt
        return dspy.Prediction(entities=[(3, 7, LABEL)])
program = Years()
"""


def test_a_run_is_only_gone_on_with_as_it_was_begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    helper, file = tmp_path / "helper_of_faults.py", tmp_path / "years.py"
    helper.write_text("LABEL = 'TMP'\n")
    file.write_text(PROGRAM.format(name="faults"))
    from goldassay import workspace

    program = workspace.load(file).program
    lm = dspy.LM("openai/a", temperature=0.0, api_key="secret-1", api_base="http://localhost:1/v1?token=abc")
    with pytest.raises(KeyboardInterrupt):
        evaluate(program, examples(6), METRIC, lm=lm, folder=tmp_path / "r", progress=False)
    written = (tmp_path / "r" / "run.json").read_text()
    assert "secret-1" not in written
    assert "token=abc" not in written

    def resume(what: str, **options: Any) -> None:
        with pytest.raises(ConventionError, match=f"was started with another {what}"):
            evaluate(program, examples(6), METRIC, resume=tmp_path / "r", progress=False, **{"lm": lm, **options})

    resume("model.* 'temperature': 0.0.* then.* 'temperature': 1.0", lm=lm.copy(temperature=1.0))
    resume("model.*'name': 'openai/a'.*'name': 'openai/b'", lm=dspy.LM("openai/b", temperature=0.0))
    resume("adapter .ChatAdapter then, JSONAdapter now", adapter=dspy.JSONAdapter())
    helper.write_text("LABEL = 'LOC'\n")
    resume("version of the program's code")
    helper.write_text("LABEL = 'TMP'\n")
    text = file.read_text()
    file.write_text(text.replace("(3, 7", "(3, 6"))
    resume("version of the program's code")
    file.write_text(text)
    program.find.signature = program.find.signature.with_instructions("Find years.")
    resume("program, or other prompts")


def test_a_program_of_the_same_class_that_was_made_otherwise_is_another(tmp_path: Path) -> None:
    class Marks(dspy.Module):  # type: ignore[misc]
        def __init__(self, kind: str) -> None:
            super().__init__()
            self.kind, self.calls = kind, 0

        def forward(self, text: str) -> Any:
            self.calls += 1
            if text == "in 1503":
                raise KeyboardInterrupt
            return dspy.Prediction(entities=[(3, 7, self.kind)])

    program = Marks("TMP")
    with pytest.raises(KeyboardInterrupt):
        evaluate(program, examples(6), METRIC, folder=tmp_path / "r", progress=False)
    with pytest.raises(ConventionError, match="was started with another program"):
        evaluate(Marks("TOP"), examples(6), METRIC, resume=tmp_path / "r", progress=False)
    with pytest.raises(KeyboardInterrupt):  # what it counts is no setting
        evaluate(program, examples(6), METRIC, resume=tmp_path / "r", progress=False)


def test_a_generator_is_read_once_for_all_measures() -> None:
    metric = Metric({extraction.SpanF1(): 0.5, extraction.SpanF1("partial"): 0.5})
    run = evaluate(
        lambda text: dspy.Prediction(entities=(span for span in [(3, 7, "TMP")])), examples(2), metric, progress=False
    )
    assert run.values["strict_f1"] == run.values["partial_f1"] > 0


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ('{"index": 0, "id": "e0"}', r"rows.jsonl:1: not a row of this run"),
        ('{"index": -1, "id": "e0", "tallies": {"strict_f1": {"tp": 1, "fp": 0, "fn": 0}}}', "not a row of this run"),
        ('{"index": 0, "id": "e0", "tallies": {"strict_f1": {"tp": "x", "fp": 0, "fn": 0}}}', "not a row of this run"),
        ('{"index": 0, "id": "e0", "tallies": {"strict_f1": 7}}', "not a row of this run"),
        ('{"index": 0, "id": "e0", "tallies": {"other": {}}}', "not a row of this run"),
        (
            '{"index": 0, "id": "e0", "tallies": {"strict_f1": {"tp": 1, "fp": 0, "fn": 0}}, "score": 1, "calls": [1]}',
            "not a row of this run",
        ),
        ("[1]", "not a row of this run"),
        ("nonsense", "rows.jsonl:1: not JSON"),
        ("\\xff", "rows.jsonl:1: not JSON"),
    ],
)
def test_a_damaged_folder_is_one_line(tmp_path: Path, rows: str, says: str) -> None:
    evaluate(right, examples(2), METRIC, folder=tmp_path / "r", progress=False)
    (tmp_path / "r" / "rows.jsonl").write_text(f"{rows}\n")
    with pytest.raises(DataError, match=says):
        Run.load(tmp_path / "r")


@pytest.mark.parametrize(
    ("about", "says"),
    [
        (b"\xff\xfe", "run.json: not UTF-8 at byte 0"),
        (b"[]", "not a goldassay run.json"),
        (b"{}", "run.json: not a run: it lacks measures"),
        (
            b'{"measures": {"x": {"measure": "no.Such()", "weight": 1, "conventions": ""}}}',
            "run.json: measures: no",
        ),
        (b'{"measures": 7}', "not a goldassay run.json"),
        (b"[" * 100_000, "not JSON that can be read"),
    ],
)
def test_a_damaged_head_is_one_line(tmp_path: Path, about: bytes, says: str) -> None:
    evaluate(right, examples(2), METRIC, folder=tmp_path / "r", progress=False)
    (tmp_path / "r" / "run.json").write_bytes(about)
    with pytest.raises(GoldassayError, match=says) as caught:
        Run.load(tmp_path / "r")
    assert "\n" not in str(caught.value)


LIMITED = """
import sys, pathlib, resource
sys.path.insert(0, {here!r})
from test_evaluate_faults import METRIC, examples, right
from goldassay._support.exceptions import RunStopped
from goldassay.running.evaluate import evaluate
resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))
try:
    evaluate(right, examples(200), METRIC, folder=pathlib.Path({folder!r}), progress=False)
except RunStopped as error:
    print(error)
"""


@pytest.mark.nightly
def test_a_file_that_may_not_grow_stops_the_run_and_loses_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "r"
    code = LIMITED.format(here=str(Path(__file__).parent), folder=str(folder))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rows = len(Run.load(folder).rows)
    assert 5 < rows < 200
    assert f"stopped after {rows} of 200 examples: {folder}/rows.jsonl: cannot be written: File too large; " in (
        done.stdout
    )
    assert f"resume with `resume={folder}`\n" in done.stdout
    assert len(evaluate(right, examples(200), METRIC, resume=folder, progress=False).rows) == 200


def test_a_function_whose_predictor_has_no_model_is_told_how_to_name_one() -> None:
    predict = dspy.Predict("text -> label")
    with pytest.raises(RunStopped, match=r"name a model \(`lm=MODEL`\): ValueError: No LM is loaded"):
        evaluate(lambda text: predict(text=text), examples(2), METRIC, progress=False)


@pytest.mark.parametrize(
    "metric",
    [
        lambda gold, pred: gold.a == pred,
        lambda gold, pred: pred.upper() == gold.a.upper(),
        lambda gold, pred: gold.a == pred.output,
        lambda gold, pred: gold.a == pred["output"],
        lambda gold, pred: gold.a == _output(pred),
        lambda gold, pred: gold.output == pred,
    ],
    ids=["equal", "method", "field", "item", "field elsewhere", "gold of the same name"],
)
def test_a_metric_gets_the_plain_value_of_a_program_as_in_dspy(metric: Any, tmp_path: Path) -> None:
    gold = [dspy.Example(q="x", a=a, output=a).with_inputs("q") for a in "xyx"]
    run = evaluate(lambda q: q, gold, metric, progress=False, folder=tmp_path / "run")
    assert run.value == remeasured(Run.load(tmp_path / "run"), Metric.of(metric)).value == pytest.approx(2 / 3)


def _output(pred: Any) -> str:
    return str(pred.output)


@dataclass
class Ticket:
    team: str
    tags: list[str] = field(default_factory=list)

    def is_for(self, team: str) -> bool:
        return self.team == team


class TicketModel(BaseModel):
    team: str
    tags: list[str] = []

    def is_for(self, team: str) -> bool:
        return self.team == team


@pytest.mark.parametrize("kind", [Ticket, TicketModel, dict])
@pytest.mark.parametrize("reflected", [False, True])
def test_a_metric_compares_the_object_that_a_program_returned_as_in_dspy(
    kind: Any, reflected: bool, tmp_path: Path
) -> None:
    def metric(gold: Any, pred: Any) -> bool:
        wanted = kind(team=gold.team, tags=["a"])
        return bool(pred == wanted if reflected else wanted == pred)

    gold = [dspy.Example(q="x", team=team).with_inputs("q") for team in "xyx"]
    run = evaluate(lambda q: kind(team=q, tags=["a"]), gold, metric, progress=False, folder=tmp_path / "run")
    stored = remeasured(Run.load(tmp_path / "run"), Metric.of(metric))
    assert run.value == stored.value == pytest.approx(2 / 3)
    if kind is not dict:
        for own in (
            lambda gold, pred: pred.is_for(gold.team),
            lambda gold, pred: isinstance(pred, kind) and pred.team == gold.team,
            lambda gold, pred: pred["team"] == gold.team,
            lambda gold, pred: pred.get("team") == gold.team,
        ):
            run = evaluate(lambda q: kind(team=q), gold, own, progress=False)
            assert run.value == pytest.approx(2 / 3)


def test_a_judge_in_a_function_whose_answer_cannot_be_read_is_one_line() -> None:
    judge = dspy.Predict("text -> verdict: bool")

    def judged(gold: Any, pred: Any) -> bool:
        with dspy.context(lm=dspy.utils.DummyLM([{"verdict": "perhaps"}] * 4)):
            return bool(judge(text=gold.text).verdict)

    advice = r"on record e0; catch it there, and return what such an example counts"
    with pytest.raises(MetricError, match=rf"^the metric raised AdapterParseError: .* \(test_.*py:\d+\), {advice}"):
        evaluate(right, examples(2), judged, progress=False)
