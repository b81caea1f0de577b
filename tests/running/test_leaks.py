"""The leak guard."""

from __future__ import annotations

from pathlib import Path

import dspy
import pytest

from goldassay._support.exceptions import LeakError
from goldassay.running import Run
from goldassay.running.evaluate import evaluate
from goldassay.running.leaks import check_examples, check_instructions, check_program, find_leaks
from goldassay.tuning import NearestDemos

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


def test_examples_without_an_id_are_named_by_their_place() -> None:
    gold = [dspy.Example(text=text).with_inputs("text") for text in ("An archive", TEXT, "Ur")]
    with pytest.raises(LeakError, match=r"record 0: the train example is exactly dev example 1;"):
        check_examples(gold[1:], {"dev": gold[:2]})


def test_another_text_on_the_same_subject_is_no_leak() -> None:
    other = example("d", "Haarlem's Teylers Museum shows fossils, minerals and drawings.")
    check_examples([example("t", TEXT)], {"dev": [other], "test": []})


def program(*demos: dict[str, object], signature: str = "text -> label", instructions: str = "") -> dspy.Predict:
    predict = dspy.Predict(dspy.Signature(signature, instructions) if instructions else signature)
    predict.demos = [dspy.Example(**demo) for demo in demos]
    return predict


OTHER = "An archive in Delft keeps maps of the canals."
GOLD = [example("a", OTHER), example("b", TEXT)]


@pytest.mark.parametrize(
    ("shown", "how"),
    [
        (program({"text": TEXT, "label": "museum"}), "exactly"),
        (program({"text": TEXT.replace("1784", "1785"), "label": "museum"}), "nearly"),
        (program({"passage": TEXT, "label": "museum"}, signature="passage -> label"), "exactly"),
        (program({"hint": "x", "passage": TEXT, "label": "y"}, signature="hint, passage -> label"), "exactly"),
        (program(instructions=f"Give the label. For example: {TEXT}"), "exactly"),
    ],
)
def test_gold_in_a_programs_own_prompts_is_a_leak(shown: dspy.Module, how: str) -> None:
    (leak,) = find_leaks(shown, GOLD)
    assert (leak.index, leak.id, leak.how.split()[0]) == (1, "b", how)
    with pytest.raises(LeakError, match="record b: the program has this dev example"):
        check_program(shown, {"dev": GOLD})


@pytest.mark.parametrize(
    "shown",
    [
        program(),
        program({"text": "Haarlem's Teylers Museum shows fossils.", "label": "museum"}),
        program(instructions="Say museum where a museum such as Teylers Museum in Haarlem is meant."),
        lambda text: dspy.Prediction(label=text),
    ],
)
def test_prompts_on_the_same_subject_are_none(shown: dspy.Module) -> None:
    assert find_leaks(shown, GOLD) == []


def test_a_short_question_that_stands_whole_in_the_instructions_is_a_leak() -> None:
    gold = [{"question": "Who founded the Teylers Museum?"}, {"question": "Who was Pieter Teyler?"}]
    leaks = find_leaks(program(instructions='Answer. To "who founded the Teylers Museum" say Pieter Teyler.'), gold)
    assert [leak.index for leak in leaks] == [0]


def test_what_gold_examples_share_is_no_leak() -> None:
    gold = [
        dspy.Example(id=str(n), text=f"{start} the city of {place}", language="Dutch").with_inputs("text", "language")
        for n, place in enumerate(("Delft", "Gouda", "Haarlem"))
        for start in ["Minutes of the council meeting that was held in"]
    ]
    step = program({"language": "Dutch", "hint": "x"}, signature="language -> hint")
    assert find_leaks(step, gold) == []
    leaking = program(
        instructions="Texts start with minutes of the council meeting that was held in the city of a place."
    )
    assert find_leaks(leaking, gold) == []
    leaking = program(instructions="As in: minutes of the council meeting that was held in the city of Gouda: museum.")
    assert [leak.id for leak in find_leaks(leaking, gold)] == ["1"]


def test_nearest_examples_count_where_they_are_nearly_the_same_since_an_input_is_not_shown_itself() -> None:
    train = [example("t", TEXT), example("u", "A library of music in The Hague.")]
    for row in train:
        row["label"] = "museum"
    nearest = NearestDemos(1).compile(program(), trainset=train)
    assert find_leaks(nearest, [example("t", TEXT)]) == []
    near = find_leaks(nearest, [example("n", TEXT.replace("1784", "1785"))])
    assert [leak.place for leak in near] == ["the nearest examples"]


def test_many_demonstrations_are_compared_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goldassay.running.leaks.PAIRS", 1000)  # so that the index is asked
    texts = [f"{number * 7919:x} was said of {number * 104729:x} in the year {number}" * 2 for number in range(90)]
    demos: list[dict[str, object]] = [{"text": text} for text in texts]
    demonstrated = program(*demos)
    gold = [example(str(number), f"{text}!") for number, text in enumerate(texts)]
    gold += [example(f"no-{n}", f"{n * 104731:x} other words {n * 7907:x} about another thing") for n in range(40)]
    assert {leak.id for leak in find_leaks(demonstrated, gold)} == {str(number) for number in range(len(texts))}


def test_evaluate_warns_before_it_calls_and_the_run_keeps_the_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    class Shows(dspy.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.predict = program({"text": TEXT, "label": "museum"})

        def forward(self, text: str) -> dspy.Prediction:
            assert caplog.records, "the warning comes first"
            return dspy.Prediction(label="museum")

    run = evaluate(Shows(), GOLD, lambda gold, pred: 1.0, folder=tmp_path / "run", progress=False)
    assert run.failed == 0
    assert "1 of 2 examples is also in the program's prompts: b" in caplog.text
    assert Run.load(tmp_path / "run").warnings == run.warnings == run.summary()["warnings"] == [caplog.messages[0]]


def test_an_instruction_that_copies_a_held_out_text_is_refused() -> None:
    with pytest.raises(LeakError, match="copies .* from the test split"):
        check_instructions([f"For example: {TEXT}"], {"test": [example("d", TEXT)]})
    check_instructions(["Extract names of museums such as Teylers Museum."], {"test": [example("d", TEXT)]})
