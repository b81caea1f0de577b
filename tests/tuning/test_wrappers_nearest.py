"""Nearest demonstrations: who is shown, to whom, and that nothing is shared or leaks."""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import dspy
import pytest
from pydantic import BaseModel

from goldassay._support.exceptions import GoldassayError
from goldassay.running.hashing import fingerprint
from goldassay.tuning.wrappers import NearestDemos, Wrapped, demonstrations, rebuilt

TRAIN = [
    dspy.Example(id="1", text="Stadsarchief Delft bewaart akten", label="A").with_inputs("text"),
    dspy.Example(id="2", text="Museum Boerhaave toont instrumenten", label="M").with_inputs("text"),
    dspy.Example(id="3", text="De bibliotheek leent boeken uit", label="L").with_inputs("text"),
    dspy.Example(id="4", text="Gemeentearchief Gouda bewaart charters", label="A").with_inputs("text"),
]


class Label(dspy.Module):
    def __init__(self) -> None:
        super().__init__()
        self.label = dspy.Predict("text -> label")

    def forward(self, text: str) -> Any:
        return self.label(text=text)

    async def aforward(self, text: str) -> Any:
        return await self.label.acall(text=text)


class Echo:
    """Answers with the texts of the demonstrations in the prompt."""

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        examples = [part.text for m in request.messages[:-1] if m.role == "user" for part in m.parts]
        texts = [text.split("[[ ## text ## ]]\n")[1].split("\n")[0] for text in examples]
        answer = f"[[ ## label ## ]]\n{json.dumps(texts, ensure_ascii=False)}\n\n[[ ## completed ## ]]"
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        message = Message.assistant([TextPart(answer)])
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=usage)


class AsyncEcho(Echo):
    async def complete(self, request: Any) -> Any:
        return super().complete(request)


@pytest.fixture
def lm() -> Any:
    return dspy.LM("echo/demos", engine=Echo(), async_engine=AsyncEcho(), cache=False)


def shown(program: Any, text: str, lm: Any) -> list[str]:
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
        state: list[str] = json.loads(program(text=text).label)
    return state


def test_the_nearest_stand_next_to_the_question(lm: Any) -> None:
    tuned = NearestDemos(k=2).compile(Label(), trainset=TRAIN)
    assert shown(tuned, "Archief van Gouda: charters en akten", lm) == [TRAIN[0].text, TRAIN[3].text]
    assert shown(tuned, "Een museum met instrumenten", lm)[-1] == TRAIN[1].text


def test_an_example_is_not_shown_to_itself(lm: Any) -> None:
    tuned = NearestDemos(k=4).compile(Label(), trainset=TRAIN)
    assert sorted(shown(tuned, TRAIN[0].text, lm)) == sorted(example.text for example in TRAIN[1:])


def test_k_larger_than_train_shows_all_of_it(lm: Any) -> None:
    assert len(shown(NearestDemos(k=9).compile(Label(), trainset=TRAIN), "x", lm)) == 4


def test_the_student_and_the_tuned_program_stay_as_they_are(lm: Any) -> None:
    student = Label()
    tuned = NearestDemos(k=2).compile(student, trainset=TRAIN)
    shown(tuned, "Archief", lm)
    assert student.label.demos == []
    assert tuned.program.label.demos == []


def test_a_model_of_its_own_is_not_copied_with_what_it_was_asked(lm: Any) -> None:
    # flawed: each call copied the history of all calls before it, and left nothing in that of the model
    tuned = NearestDemos(k=2).compile(Label(), trainset=TRAIN)
    tuned.set_lm(lm)
    for number in range(3):
        tuned(text=f"archief {number}")
    assert len(lm.history) == 3


def test_threads_do_not_meet(lm: Any) -> None:
    tuned = NearestDemos(k=1).compile(Label(), trainset=TRAIN)
    question = ["archief Gouda charters", "museum instrumenten", "boeken bibliotheek"] * 8
    alone = [shown(tuned, text, lm) for text in question]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda text: shown(tuned, text, lm), question)) == alone


def test_async(lm: Any) -> None:
    tuned = NearestDemos(k=1).compile(Label(), trainset=TRAIN)

    async def main() -> Any:
        with dspy.context(lm=lm, adapter=dspy.ChatAdapter()):
            return (await tuned.acall(text="museum instrumenten")).label

    assert json.loads(asyncio.run(main())) == [TRAIN[1].text]


def test_saved_and_loaded_it_shows_the_same(lm: Any, tmp_path: Path) -> None:
    tuned = NearestDemos(k=3).compile(Label(), trainset=TRAIN)
    tuned.program.label.signature = tuned.program.label.signature.with_instructions("Name the kind.")
    tuned.save(str(tmp_path / "tuned.json"))
    again: Any = rebuilt(Label(), tuned.dump_state())
    again.load(str(tmp_path / "tuned.json"))
    assert again.k == 3
    assert again.program.label.signature.instructions == "Name the kind."
    assert shown(again, "archief", lm) == shown(tuned, "archief", lm)
    assert "id" not in again.examples[0]  # only what is shown or compared is kept


class Name(BaseModel):
    text: str


class Names(dspy.Module):
    """Its gold has spans; its predictor gives names."""

    def __init__(self) -> None:
        super().__init__()
        self.find = dspy.Predict("text -> names")

    def to_demo(self, example: Any) -> dict[str, Any]:
        return {"names": [Name(text=span["text"]) for span in example["entities"]]}


SPANS = [dspy.Example(text="In Gent", entities=[{"start": 3, "end": 7, "text": "Gent"}]).with_inputs("text")]


def test_to_demo_turns_gold_into_the_predictors_outputs() -> None:
    tuned = NearestDemos().compile(Names(), trainset=SPANS)
    assert tuned.nearest(text="In Brugge") == [{"text": "In Gent", "names": [{"text": "Gent"}]}]
    (demonstration,) = demonstrations(Names(), SPANS)
    assert demonstration.entities == SPANS[0].entities  # the metric still finds gold in it
    assert set(demonstration.inputs().keys()) == {"text"}


def test_what_was_labelled_with_the_predictors_fields_is_shown_as_it_is() -> None:
    labelled = dspy.Example(text="In Gent", names=["Gent"]).with_inputs("text")
    assert demonstrations(Names(), [labelled])[0].toDict() == labelled.toDict()


def test_to_demo_cannot_change_what_the_metric_reads() -> None:
    class Same(Names):
        def to_demo(self, example: Any) -> dict[str, Any]:
            return {"text": example["text"], "names": [], "entities": ["Gent"]}

    with pytest.raises(GoldassayError, match="to_demo changes 'entities'"):
        demonstrations(Same(), SPANS)


def test_a_to_demo_that_raises_is_one_line() -> None:
    class Raising(Names):
        def to_demo(self, example: Any) -> dict[str, Any]:
            return {"names": example["nothing"]}

    with pytest.raises(GoldassayError, match=r"^to_demo raised KeyError: 'nothing' \(test_wrappers_nearest.py:\d+\)$"):
        demonstrations(Raising(), SPANS)


def test_a_predictor_that_gold_says_nothing_about_stays_without_demonstrations(lm: Any) -> None:
    class Two(Label):
        def __init__(self) -> None:
            super().__init__()
            self.other = dspy.Predict("question -> answer")

    program = NearestDemos(k=1).compile(Two(), trainset=TRAIN).inside({"text": "archief"})
    assert [len(predictor.demos) for predictor in (program.label, program.other)] == [1, 0]


def test_a_chain_of_thought_is_shown_what_gold_has() -> None:
    program = (
        NearestDemos(k=1).compile(dspy.ChainOfThought("text -> label"), trainset=TRAIN).inside({"text": "archief"})
    )
    (demo,) = program.predictors()[0].demos
    assert set(demo.keys()) == {"text", "label"}


def test_what_cannot_be_shown_is_an_error() -> None:
    with pytest.raises(GoldassayError, match=r"^no train example can be shown to 'self': it needs names.*to_demo"):
        NearestDemos().compile(dspy.Predict("text -> names"), trainset=SPANS)
    with pytest.raises(GoldassayError, match=r"it needs names, .*return \{\"names\": …\}$"):  # nobody has its reasoning
        NearestDemos().compile(dspy.ChainOfThought("text -> names"), trainset=SPANS)


@pytest.mark.parametrize(
    ("train", "message"),
    [
        ([], "no train example can be shown"),
        ([dspy.Example(text="", label="A").with_inputs("text")], "have no text in text"),
    ],
)
def test_no_examples_or_no_text(train: list[Any], message: str) -> None:
    with pytest.raises(GoldassayError, match=message):
        NearestDemos().compile(Label(), trainset=train)


def test_k_is_at_least_one() -> None:
    with pytest.raises(GoldassayError, match="k is at least 1, not 0"):
        NearestDemos(k=0)


def test_k_and_the_examples_are_part_of_a_programs_version() -> None:
    versions = [
        fingerprint(NearestDemos(k=k).compile(Label(), trainset=train))
        for k, train in ((2, TRAIN), (3, TRAIN), (2, TRAIN[:3]), (2, TRAIN))
    ]
    assert versions[0] == versions[3]
    assert len(set(versions)) == 3


class Page(BaseModel):
    title: str
    number: int | None = None


@pytest.mark.parametrize(
    "values",
    [
        [Page(title="Delft", number=1), Page(title="Delft", number=2), Page(title="Gouda")],
        [date(1885, 3, 1), date(1885, 3, 2), date(1885, 3, 3)],
        [("Delft", 1), ("Delft", 2), ("Gouda", 1)],
        [{"place": "Delft", "year": 1}, {"place": "Delft", "year": 2}, {"place": "Gouda", "year": 1}],
    ],
    ids=["model", "date", "tuple", "dict"],
)
def test_an_input_that_is_no_plain_json_is_not_shown_itself(values: list[Any], tmp_path: Path) -> None:
    train = [dspy.Example(page=value, label=str(n)).with_inputs("page") for n, value in enumerate(values)]
    tuned = NearestDemos(k=2).compile(dspy.Predict("page -> label"), trainset=train)
    tuned.save(str(tmp_path / "state.json"))
    loaded: Any = Wrapped(dspy.Predict("page -> label"))
    loaded.load(str(tmp_path / "state.json"))
    for program in (tuned, loaded):
        for number, value in enumerate(values):
            assert {demo["label"] for demo in program.nearest(page=value)} == {"0", "1", "2"} - {str(number)}


def test_of_several_accepted_answers_the_shortest_is_shown() -> None:
    program = dspy.ChainOfThought("question -> answer")
    train = [
        dspy.Example(question="Where is the archive?", answers=["in Gouda", "Gouda"]).with_inputs("question"),
        dspy.Example(question="Who wrote it?", answers=[]).with_inputs("question"),
    ]
    tuned = NearestDemos(k=2).compile(program, trainset=train)
    shown = tuned.nearest(question="Where is the library?")
    assert [demo["answer"] for demo in shown] == ["Gouda", ""]


def test_a_label_is_shown_under_the_name_of_the_only_output() -> None:
    tuned = NearestDemos(k=1).compile(dspy.ChainOfThought("text -> kind"), trainset=TRAIN)
    assert tuned.nearest(text=TRAIN[0].text)[0]["kind"] == TRAIN[0].label
