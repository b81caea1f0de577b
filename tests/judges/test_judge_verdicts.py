"""Verdicts in a file: asked once over two runs, unknown ones seen again, cut lines overlooked."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage

from goldassay._support.exceptions import DataError
from goldassay.judges.judge import Judge, Verdicts

ASKED = {"criterion": "c", "question": "q", "answer": "a"}


class Engine:
    def __init__(self) -> None:
        self.calls = 0

    def complete(self, request: Any) -> Any:
        self.calls += 1
        label = "perhaps" if "odd" in str(request.messages[-1]) else "yes"
        text = f"[[ ## reason ## ]]\nr\n[[ ## verdict ## ]]\n{label}\n[[ ## completed ## ]]"
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(
            id=None, model=request.model, message=Message.assistant([TextPart(text)]), finish_reason="stop", usage=usage
        )


def test_a_second_run_asks_for_nothing(tmp_path: Path) -> None:
    file, engine = tmp_path / "run" / "verdicts.jsonl", Engine()
    lm = dspy.LM("scripted/judge", engine=engine, cache=False)
    first = Judge(lm, verdicts=Verdicts(file))
    assert [first.verdict("criterion", **ASKED | {"answer": text}).label for text in ("a", "odd")] == [
        "yes",
        None,
    ]
    calls = engine.calls
    again = Judge(lm, verdicts=Verdicts(file))
    assert [again.verdict("criterion", **ASKED | {"answer": text}).label for text in ("a", "odd", "odd")] == [
        "yes",
        None,
        None,
    ]
    assert (engine.calls, again.calls, again.unknown) == (calls, 0, 1)
    assert again.warning.startswith("unknown verdicts of scripted/judge@1: 1")
    other = Judge(lm, verdicts=Verdicts(file), version="2")
    assert other.verdict("criterion", **ASKED).label == "yes"
    assert engine.calls == calls + 1


def test_a_line_that_was_cut_is_overlooked(tmp_path: Path) -> None:
    file = tmp_path / "verdicts.jsonl"
    file.write_text('{"key": "a", "fields": null}\n{"key": "b", "fie', encoding="utf-8")
    verdicts = Verdicts(file)
    assert dict(verdicts) == {"a": None}
    verdicts["c"] = {"verdict": "yes"}
    assert dict(Verdicts(file)) == {"a": None, "c": {"verdict": "yes"}}


def test_errors_for_people(tmp_path: Path) -> None:
    file = tmp_path / "verdicts.jsonl"
    file.write_text('{"key": "a"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"verdicts.jsonl:1: not a verdict"):
        Verdicts(file)


def test_a_judge_inside_a_copied_module_stays_itself() -> None:
    own_judge = Judge(dspy.LM("scripted/judge", engine=Engine(), cache=False))
    assert copy.deepcopy({"judge": own_judge})["judge"] is own_judge
