"""Protocol ``bfcl``: the verdicts of the official checker on 4,000 outputs, its files, and single rules by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from goldassay import score
from goldassay._support.exceptions import DataError
from goldassay.core.steps import Step
from goldassay.ext.protocols.bfcl import AstMatch, ast_error, call_error
from goldassay.ext.protocols.formats.calls import written_calls
from goldassay.gold import load, read
from goldassay.measures.trajectories.records import reference, trajectory


def lines(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_every_verdict_and_every_kind_of_error_of_the_official_checker(shared_data: Path) -> None:
    tasks = {task["id"]: task for task in lines(shared_data / "bfcl" / "tasks.jsonl")}
    differing = []
    for output in lines(shared_data / "bfcl" / "outputs.jsonl"):
        task = tasks[output["id"]]
        gold = {"calls": [{"name": name, "args": args} for call in task["ground_truth"] for name, args in call.items()]}
        calls = trajectory(output).calls
        error = ast_error(task["functions"], reference(gold).alternatives[0], calls, task["category"])
        if (not error, error) != (output["valid"], output["error_type"] or ""):
            differing.append((output["id"], error, output["error_type"]))
    assert differing == []


def test_a_file_of_tasks_and_a_file_of_calls(shared_data: Path, tmp_path: Path) -> None:
    outputs = [output for output in lines(shared_data / "bfcl" / "outputs.jsonl") if output["damage"] == "none"]
    pred = tmp_path / "pred.jsonl"
    pred.write_text("".join(json.dumps({"id": o["id"], "calls": o["calls"]}) + "\n" for o in outputs), encoding="utf-8")
    result = score("trajectories", shared_data / "bfcl" / "tasks.jsonl", pred, protocol="bfcl")
    assert result.values["ast_accuracy"] == sum(output["valid"] for output in outputs) / 1000
    assert {name: row["examples"] for name, row in result.by["category"].items()} == {
        "multiple": 200,
        "parallel": 200,
        "parallel_multiple": 200,
        "simple_python": 400,
    }


AREA = {
    "name": "area",
    "parameters": {
        "properties": {
            "base": {"type": "float"},
            "unit": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "box": {"type": "dict"},
            "boxes": {"type": "array", "items": {"type": "dict"}},
        },
        "required": ["base"],
    },
}


@pytest.mark.parametrize(
    ("gold", "pred", "error"),
    [
        ({"base": [1.5]}, {"base": 1.5}, ""),
        ({"base": [2.0]}, {"base": 2}, ""),  # an integer passes for a float
        ({"base": [2.0]}, {"base": "2"}, "type_error:simple"),
        ({"base": ["b"]}, {"base": "b"}, ""),  # a variable: the type of an acceptable answer
        ({"base": [1.5], "unit": ["Square m."]}, {"base": 1.5, "unit": "square-m"}, ""),
        ({"base": [1.5], "unit": ["m", ""]}, {"base": 1.5}, ""),
        ({"base": [1.5], "unit": ["m"]}, {"base": 1.5}, "simple_function_checker:missing_optional"),
        ({"base": [1.5]}, {}, "simple_function_checker:missing_required"),
        ({"base": [1.5]}, {"base": 1.5, "unit": "m"}, "simple_function_checker:unexpected_param"),
        ({"base": [1.5], "tags": [["A", "b"]]}, {"base": 1.5, "tags": ["a", "B"]}, ""),
        ({"base": [1.5], "tags": [["a"]]}, {"base": 1.5, "tags": [1]}, "type_error:nested"),
        ({"base": [1.5], "tags": [["a"], ""]}, {"base": 1.5, "tags": []}, ""),  # as the script does
        ({"base": [1.5], "box": [{"w": [1, 2], "h": ["", 3]}]}, {"base": 1.5, "box": {"w": 2}}, ""),
        ({"base": [1.5], "box": [{"w": [1]}]}, {"base": 1.5, "box": {"w": 2}}, "value_error:dict_value"),
        ({"base": [1.5], "box": [{"w": [1]}]}, {"base": 1.5, "box": {"v": 1}}, "value_error:dict_key"),
        ({"base": [1.5], "boxes": [[{"w": [1]}]]}, {"base": 1.5, "boxes": []}, "value_error:list_dict_count"),
        ({"base": [1.5], "boxes": [[{"w": [1]}]]}, {"base": 1.5, "boxes": [{"w": 1}]}, ""),
    ],
)
def test_rules_by_hand(gold: dict[str, Any], pred: dict[str, Any], error: str) -> None:
    assert call_error(AREA, Step("area", gold), Step("area", pred)) == error


def test_the_pair_of_files_of_the_leaderboard(tmp_path: Path) -> None:
    question = {"id": "simple_python_0", "question": [[{"role": "user", "content": "Area?"}]], "function": [AREA]}
    question |= {"split": "dev", "document": "geometry"}
    answer = {"id": "simple_python_0", "ground_truth": [{"area": {"base": [10]}}]}
    (tmp_path / "possible_answer").mkdir()
    for file, line in ((tmp_path / "simple.json", question), (tmp_path / "possible_answer" / "simple.json", answer)):
        file.write_text(json.dumps(line) + "\n", encoding="utf-8")
    pred = tmp_path / "result.json"
    for result in ([{"area": '{"base": 10}'}], "[area(base=10)]"):
        pred.write_text(json.dumps({"id": "simple_python_0", "result": result}) + "\n", encoding="utf-8")
        for gold in (tmp_path / "simple.json", tmp_path / "possible_answer" / "simple.json"):
            assert score("trajectories", gold, pred, protocol="bfcl").values["ast_accuracy"] == 1
            (example,) = load(gold, task="trajectories", format="bfcl").trajectories.dev
            assert (example.question, example.document) == ("Area?", "geometry")


@pytest.mark.parametrize(
    ("category", "result", "error"),
    [
        ("live_irrelevance", "I cannot help.", ""),
        ("irrelevance", "[area(base=1)]", "irrelevance_error:decoder_success"),
        ("live_relevance", [{"area": {"base": 1}}], ""),
        ("live_relevance", [], "relevance_error:decoder_failed"),
    ],
)
def test_tasks_without_an_answer(tmp_path: Path, category: str, result: Any, error: str) -> None:
    name = f"{category}_0-0-0"
    (tmp_path / "gold.json").write_text(json.dumps({"id": name, "question": [], "function": [AREA]}))
    (tmp_path / "pred.json").write_text(json.dumps({"id": name, "result": result}))
    scorecard = score("trajectories", tmp_path / "gold.json", tmp_path / "pred.json", protocol="bfcl")
    assert scorecard.values["ast_accuracy"] == (not error)
    assert list(scorecard.by.get("error", {})) == [error][: bool(error)]


def test_a_tool_that_is_called_finish_is_a_tool() -> None:
    gold = {"calls": [{"name": "finish", "args": {"text": ["x"]}}], "category": "multiple"}
    for pred in ({"calls": [{"finish": {"text": "x"}}]}, {"trajectory": [{"name": "finish", "args": {"text": "x"}}]}):
        assert AstMatch()(gold, pred).tally.value == 1
    assert not trajectory({"trajectory": [{"name": "finish", "args": {}}]}).calls


def test_a_text_is_read_and_never_run(tmp_path: Path) -> None:
    marker = tmp_path / "run"
    assert written_calls(f"[area(base=open({str(marker)!r}, 'w'))]")[0]["area"]["base"].startswith("open(")
    assert not marker.exists()
    assert written_calls("(" * 5000) == [{"": {"": "(" * 5000}}]


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("[area(base=4+1, tags=[a, 'b'])]", {"base": 5, "tags": ["a", "b"]}),
        ("```\narea(base=2**3)]", {"base": 8}),
        ("[area(base=+5, box={'w': c})", {"base": -5, "box": {"w": "c"}}),  # the script negates whatever the sign is
        ("[area(base=side(n=2))", {"base": {"side": {"n": 2}}}),
        ("[area(base=Unit.M)]", None),
        ("[area(base=9**9**9)]", None),
    ],
)
def test_a_text_is_read_as_the_script_reads_it(text: str, args: Any) -> None:
    assert written_calls(text) == [{"": {"": text}} if args is None else {"area": args}]


@pytest.mark.parametrize("result", ["I cannot help.", "[1, 2]", [{"area": '{"base": 10'}]])
def test_what_cannot_be_read_is_the_decoders_failure(result: Any, tmp_path: Path) -> None:
    gold = {"id": "a", "functions": [AREA], "ground_truth": [{"area": {"base": [10]}}], "category": "simple_python"}
    irrelevant = {"id": "b", "functions": [AREA], "ground_truth": [], "category": "irrelevance"}
    (tmp_path / "gold.jsonl").write_text(f"{json.dumps(gold)}\n{json.dumps(irrelevant)}\n", encoding="utf-8")
    lines = (json.dumps({"id": name, "result": result}) for name in "ab")
    (tmp_path / "pred.jsonl").write_text("\n".join(lines), encoding="utf-8")
    files = (tmp_path / "gold.jsonl", tmp_path / "pred.jsonl")
    card = score("trajectories", *files, protocol="bfcl", intervals=False)
    assert card.by["error"] == {"ast_decoder:decoder_failed": {"examples": 1}}


@pytest.mark.parametrize(("name", "truth"), [("simple_java_0", [{"area": {"base": ["10L"]}}]), ("turns_0", [["ls()"]])])
def test_other_languages_and_several_turns_are_refused(name: str, truth: Any, tmp_path: Path) -> None:
    (tmp_path / "possible_answer").mkdir()
    question = {"id": name, "question": [[{"role": "user", "content": "one"}]], "function": [AREA]}
    gold = tmp_path / "BFCL_v4.json"
    gold.write_text(json.dumps(question) + "\n", encoding="utf-8")
    answer = json.dumps({"id": name, "ground_truth": truth})
    (tmp_path / "possible_answer" / "BFCL_v4.json").write_text(answer + "\n", encoding="utf-8")
    with pytest.raises(DataError, match=f"in Python, of one turn.*{name[:-2]}"):
        score("trajectories", gold, [], protocol="bfcl")


CALL = {"type": "function", "function": {"name": "geo_area", "arguments": '{"base": 10}'}}


@pytest.mark.parametrize(
    ("pred", "right"),
    [
        ({"result": [{"geo_area": '{"base": 10}'}]}, True),  # what models behind interfaces without dots return
        ({"messages": [{"role": "assistant", "tool_calls": [CALL]}]}, True),
        ({"calls": [{"name": "geo_area", "args": {"base": 10}}]}, True),
        ({"calls": [{"name": "geo.area", "args": {"base": 10}}]}, True),
        ({"result": "[geo.area(base=10)]"}, True),
        ({"result": "[geo_area(base=10)]"}, False),  # a name that a model wrote
        ({"calls": [{"geo_area": {"base": 10}}]}, False),
    ],
)
@pytest.mark.parametrize("category", ["simple_python", "multiple", "parallel"])
def test_a_name_without_the_dots_of_gold(tmp_path: Path, pred: Any, right: bool, category: str) -> None:
    schema = {**AREA, "name": "geo.area"}
    gold = {"id": "a", "functions": [schema], "ground_truth": [{"geo.area": {"base": [10]}}], "category": category}
    (tmp_path / "gold.jsonl").write_text(json.dumps(gold), encoding="utf-8")
    (tmp_path / "pred.jsonl").write_text(json.dumps({"id": "a", **pred}), encoding="utf-8")
    card = score("trajectories", tmp_path / "gold.jsonl", tmp_path / "pred.jsonl", protocol="bfcl", intervals=False)
    assert card.values["ast_accuracy"] == right
    assert ["where gold has a dot" in warning for warning in card.warnings] == [True] * (not right)


def test_an_error_is_named_as_the_script_names_it() -> None:
    gold = {"calls": [{"name": "area", "args": {"base": [10]}}], "functions": [AREA], "category": "simple_python"}
    (error,) = AstMatch()(gold, {"calls": [{"area": {"base": 11}}]}).errors
    assert error.kind == "value_error:others"


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"name": "area", "parameters": {"properties": {"base": {"type": "number"}}}}, "float for number"),
        ({"name": "area", "parameters": {"properties": {"base": {"type": "array"}}}}, "the type of items"),
        ({"name": "area"}, "not laid out as BFCL has it: it has no 'parameters'"),
        ({"name": "area", "parameters": {"properties": {"base": {"type": []}}}}, "not laid out as BFCL has it"),
        ({"name": "volume", "parameters": {"properties": {}}}, "no function is called 'area': there is volume"),
    ],
)
def test_a_schema_that_the_checker_cannot_use_is_named(schema: Any, message: str) -> None:
    gold = {
        "id": "t7",
        "calls": [{"name": "area", "args": {"base": [1]}}],
        "functions": [schema],
        "category": "multiple",
    }
    with pytest.raises(DataError, match=f"record t7, functions: .*{message}"):
        AstMatch()(gold, {"calls": [{"area": {"base": 1}}]})


def test_the_files_of_the_leaderboard_are_recognised(tmp_path: Path) -> None:
    """`eval` and `gold validate` refused the first question, which is a list of turns."""
    line = {"id": "simple_python_1", "question": [[{"role": "user", "content": "3!?"}]], "function": [AREA]}
    file = tmp_path / "tasks.jsonl"
    file.write_text(json.dumps({**line, "ground_truth": [{"area": {"base": [3.0]}}]}) + "\n", encoding="utf-8")
    (record,) = read(file, "trajectories")
    assert record == read(file, "trajectories", format="bfcl")[0]
    assert record["calls"] == [{"name": "area", "args": {"base": [3.0]}}]
