"""The leak guard."""

from __future__ import annotations

import dspy
import pytest

from goldassay.exceptions import LeakError
from goldassay.tuning.leaks import check_examples, check_instructions

TEXT = "The Teylers Museum in Haarlem opened its doors in 1784."


def example(name: str, text: str) -> dspy.Example:
    return dspy.Example(id=name, text=text).with_inputs("text")


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (TEXT, "exactly"),
        (TEXT.upper(), "exactly"),
        (TEXT.replace(" in ", "  in "), "exactly"),
        (TEXT.replace("1784", "1785"), "nearly"),
    ],
)
def test_a_train_example_that_stands_in_dev_is_refused(text: str, how: str) -> None:
    with pytest.raises(LeakError, match=rf"record t: the train example is {how}.* dev example d"):
        check_examples([example("t", TEXT)], {"dev": [example("d", text)]})


def test_another_text_on_the_same_subject_is_no_leak() -> None:
    other = example("d", "Haarlem's Teylers Museum shows fossils, minerals and drawings.")
    check_examples([example("t", TEXT)], {"dev": [other], "test": []})


def test_an_instruction_that_copies_a_held_out_text_is_refused() -> None:
    with pytest.raises(LeakError, match="copies .* from the test split"):
        check_instructions([f"For example: {TEXT}"], {"test": [example("d", TEXT)]})
    check_instructions(["Extract names of museums such as Teylers Museum."], {"test": [example("d", TEXT)]})
