"""Programs by name with their gold, a state and a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay import workspace
from goldassay._support.exceptions import GoldassayError
from goldassay.gold import TaskSet
from goldassay.tuning.systems import SplitExamples, examples, indexed, prepared, systems, target_of


def test_a_split_has_its_examples_and_the_training_examples() -> None:
    data = examples("heritage", workspace.target("extraction"), "dev")
    assert data.name == "heritage"
    assert {example.split for example in data.examples} == {"dev"}
    assert {example.split for example in data.train} == {"train"}
    with pytest.raises(GoldassayError, match="no split 'validaton'"):
        examples("heritage", workspace.target("extraction"), "validaton")


def test_a_program_gets_what_it_requires_beside_the_input_of_its_task(tmp_path: Path) -> None:
    """A caller of tools takes their schemas; it got the question alone."""
    program = tmp_path / "calls.py"
    program.write_text("def program(question, functions, language='nl'):\n    return {}\n")
    gold = tmp_path / "tasks.jsonl"
    task = {"id": "1", "question": "3!?", "calls": [{"name": "factorial", "args": {"n": 3}}]}
    gold.write_text(json.dumps(task | {"functions": [{"name": "factorial"}]}) + "\n")
    target = workspace.target(str(program), "trajectories")
    (example,) = examples(str(gold), target, "all").examples
    assert example.inputs().toDict() == {"question": "3!?", "functions": [{"name": "factorial"}]}
    gold.write_text(json.dumps(task) + "\n")
    (example,) = examples(str(gold), target, "all").examples
    assert example.inputs().toDict() == {"question": "3!?"}


def test_an_index_that_raises_is_one_line() -> None:
    class Searching(dspy.Module):  # type: ignore[misc]
        def index(self, passages: Any) -> Any:
            raise KeyError("doc")

    record = {"id": "1", "question": "q", "answers": ["a"], "context": "Delft", "documents": ["a"]}
    with pytest.raises(GoldassayError, match=r"^index raised KeyError: 'doc' \(test_systems.py:\d+\)$"):
        indexed(Searching(), TaskSet("answering", [{"path": [record]}]))


def test_a_program_that_searches_is_indexed_as_a_copy() -> None:
    program: Any = workspace.target("retrieval:BM25").load()
    record = {"id": "q", "question": "?", "answers": [], "context": "kerkboeken", "documents": ["a"]}
    assert indexed(program, TaskSet("answering", [{"path": [{**record, "context": None}]}])) is program
    assert indexed(program, TaskSet("answering", [{"path": [record]}]))(query="kerkboeken").results[0]["doc_id"] == "a"
    assert program(query="kerkboeken").results == []


def test_what_a_program_keeps_as_its_index_is_left_alone(tmp_path: Path) -> None:
    """A RAG program with an index of its own; the index was called with the passages of gold."""
    lines = ["import dspy", "class RAG(dspy.Module):", "    def __init__(self):", "        super().__init__()"]
    lines += ["        self.index = {'a': 'kerkboeken'}", "        self.fit = None", "    def forward(self, question):"]
    (tmp_path / "rag.py").write_text("\n".join([*lines, "        return dspy.Prediction(answer=self.index['a'])"]))
    record = {"id": "q", "question": "?", "answers": [], "context": "kerkboeken", "documents": ["a"], "split": "train"}
    target = workspace.target(f"{tmp_path / 'rag.py'}:RAG", "answering")
    gold = TaskSet("answering", [{"path": [record]}])
    assert prepared(target, SplitExamples("own", gold.all, gold.train, gold))(question="?").answer == "kerkboeken"


def test_a_baseline_is_fitted_on_train() -> None:
    target = workspace.target("classification:baseline")
    data = examples("heritage", target, "dev")
    fitted: Any = prepared(target, data)
    example = data.train[0]
    assert fitted(**example.inputs()).label == example.label


def test_systems_without_a_model_are_listed_once_and_have_their_own_labels() -> None:
    data = examples("heritage", workspace.target("extraction"), "dev")
    listed = systems("extraction", data, programs=["baseline", "baseline"], models=["local", "local"])
    assert [system.name for system in listed] == ["extraction-baseline", "extraction-baseline-2"]
    assert listed[0].settings == {"program": "baseline", "lm": None}


@pytest.mark.parametrize(
    ("program", "name"), [("baseline", "baseline"), ("extraction:baseline", "baseline"), ("extraction", "program")]
)
def test_a_program_is_named_as_in_its_file_or_as_its_runs_are_called(program: str, name: str) -> None:
    assert target_of("extraction", program) == workspace.target(f"extraction:{name}")


@pytest.mark.parametrize(("split", "warnings"), [("test", 1), ("dev", 0)])
def test_a_split_of_gold_without_splits_is_all_of_it_and_says_so(
    split: str, warnings: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "gold.jsonl"
    file.write_text('{"id": "a", "text": "x", "label": "M"}\n', encoding="utf-8")
    assert len(examples(str(file), workspace.target("classification"), split).examples) == 1
    assert len(caplog.messages) == warnings
    expected = f"{file} has no splits, so all of its 1 records are the test split; goldassay gold split makes splits"
    assert caplog.messages in ([], [expected])


def test_a_task_of_the_user_without_gold_is_a_question_not_heritage(tmp_path: Path) -> None:
    program = tmp_path / "triage.py"
    program.write_text("def program(ticket):\n    return {}\n\n\ndef right(gold, pred):\n    return True\n")
    target = workspace.target(str(program))
    with pytest.raises(GoldassayError, match="^no gold of triage is named: `gold=FILE`"):
        examples(None, target, "dev")
    with pytest.raises(GoldassayError, match=r"did you mean `metric=\S*triage\.py:right`"):
        workspace.metric(target, "right")
