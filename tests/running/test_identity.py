"""What a run says of its program: its parts, and not what it was asked before."""

from __future__ import annotations

from typing import Any

import dspy

from goldassay.running.identity import _modules, code_hash


class Two(dspy.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = dspy.Predict("text -> label")
        self.more = [dspy.ChainOfThought("text -> kind"), {"again": self.first}]


def test_the_parts_are_those_that_dspy_names() -> None:
    program = Two()
    assert [(name, id(part)) for name, part in _modules(program)] == [
        (name, id(part)) for name, part in program.named_sub_modules()
    ]
    assert list(_modules(lambda text: text)) == []


def test_what_a_program_was_asked_before_is_not_looked_through() -> None:
    program: Any = Two()
    names, code = [name for name, _ in _modules(program)], code_hash(program)
    program.first.history += [{"messages": [{"content": "x"}], "module": dspy.Predict("a -> b")}] * 3
    assert [name for name, _ in _modules(program)] == names
    assert code_hash(program) == code
