"""GEPA by ``tune``: reflection, selection on the corpus value, and a tuning that is interrupted and goes on."""

from __future__ import annotations

import json
import os
import pickle
import signal
from pathlib import Path
from typing import Any

import dspy
import pytest
from tests import conftest as shared
from tests.processes import CONTEXT
from tests.tuning.conftest import Reflector, scripted

from goldassay import Metric
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.measures import extraction
from goldassay.tuning import tune
from goldassay.tuning.optimizers import check_gepa_state
from goldassay.tuning.saved import opened

METRIC = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})
RULE = "Find names. A number is TMP. A museum is MUS."
CALLS = {"max_metric_calls": 120}


@pytest.fixture
def gold(names_gold: list[Any]) -> dict[str, list[Any]]:
    return {"train": names_gold[:20], "dev": names_gold[20:32], "test": names_gold[32:]}


def test_gepa_raises_the_dev_value(
    lm: Any, reflector: Any, names_program: Any, gold: dict[str, list[Any]], tmp_path: Path
) -> None:
    tuned = tune(
        names_program, gold, METRIC, "gepa", lm=lm, reflection_lm=reflector(), folder=tmp_path,
        settings=CALLS, progress=False,
    )  # fmt: skip
    assert tuned.program.extract.signature.instructions == RULE
    assert tuned.dev.before.value < 0.7
    assert tuned.dev.after.value == 1.0
    state = json.loads((tmp_path / "gepa" / "corpus.json").read_text())
    values = {candidate["extract"]: value for candidate, value in state}
    assert values[RULE] == pytest.approx(1.0)
    assert values["Find names."] == pytest.approx(tuned.dev.before.value, abs=1e-4)  # Evaluate rounds to 0.01 %


def test_a_train_split_smaller_than_the_minibatch_will_do(
    lm: Any, reflector: Any, names_program: Any, gold: dict[str, list[Any]]
) -> None:
    small = {"train": gold["train"][:2], "dev": gold["dev"][:4]}
    tuned = tune(names_program, small, METRIC, "gepa", lm=lm, reflection_lm=reflector(), settings=CALLS, progress=False)
    assert tuned.dev.after.value == 1.0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("I would rather not say.", "gepa changed nothing: none of .* answers for new_instruction could be read"),
        ("refuse", "gepa changed nothing: scripted/engine failed on all .* the service is gone"),
    ],
)
def test_reflection_that_never_works_is_said(
    text: str, says: str, lm: Any, reflector: Any, names_program: Any, gold: dict[str, list[Any]]
) -> None:
    options = {"max_metric_calls": 60}
    with pytest.raises(GoldassayError, match=says):
        tune(
            names_program, gold, METRIC, "gepa", lm=lm, reflection_lm=reflector(text),
            settings=options, progress=False,
        )  # fmt: skip


FEW = {"max_metric_calls": 60}


def tune_alone(folder: Path, stop: int) -> None:
    """The tuning in a process of its own: it is interrupted at a call of its reflector, or goes on to the end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is born without it
    program, gold = (vars(shared)[name]._fixture_function() for name in ("names_program", "names_gold"))
    splits = {"train": gold[:20], "dev": gold[20:32], "test": gold[32:]}
    lm, reflector = scripted(shared.Learner()), scripted(Reflector(stop=stop))
    try:
        tune(
            program, splits, METRIC, "gepa", lm=lm, reflection_lm=reflector, folder=folder,
            settings=FEW, progress=False, resume=not stop,
        )  # fmt: skip
    except KeyboardInterrupt:
        os._exit(130)


def exit_code(folder: Path, stop: int = 0) -> int | None:
    process = CONTEXT.Process(target=tune_alone, args=(folder, stop))
    process.start()
    process.join()
    return process.exitcode


def test_an_interrupted_tuning_goes_on(lm: Any, reflector: Any, names_program: Any, gold: Any, tmp_path: Path) -> None:
    def tuned(folder: Path, resume: bool = False) -> Any:
        return tune(
            names_program, gold, METRIC, "gepa", lm=lm, reflection_lm=reflector(), folder=folder,
            settings=FEW, progress=False, resume=resume,
        )  # fmt: skip

    folder = tmp_path / "t"
    assert exit_code(folder, stop=1) == 130
    assert json.loads((folder / "tuning.json").read_text())["status"] == "interrupted"
    before = json.loads((folder / "gepa" / "corpus.json").read_text())
    with pytest.raises(GoldassayError, match="holds a tuning already"):
        tuned(folder)
    assert exit_code(folder) == 0
    about = json.loads((folder / "tuning.json").read_text())
    assert about["status"] == "finished"
    assert set(about["dev"]["after"].values()) == {1.0}
    assert json.loads((folder / "gepa" / "corpus.json").read_text())[: len(before)] == before
    whole = tuned(tmp_path / "whole")
    assert whole.cost["calls"] <= about["cost"]["calls"] <= 2 * whole.cost["calls"]  # of both parts
    with pytest.raises(GoldassayError, match="is finished"):
        tuned(folder, resume=True)


@pytest.mark.nightly
def test_what_a_budget_stopped_goes_on_and_knows_its_best(
    lm: Any, reflector: Any, names_program: Any, gold: Any, tmp_path: Path
) -> None:
    def tuned(budget: str | None, resume: bool) -> Any:
        return tune(
            names_program, gold, METRIC, "gepa", lm=lm, reflection_lm=reflector(), folder=tmp_path, settings=CALLS,
            progress=False, budget=budget, resume=resume,
        )  # fmt: skip

    first = tuned("calls=60", False)  # 12 of dev, 8 + 1 + 8 for the rule, 12 of dev with it: found, and stopped later
    assert first.stopped
    assert first.dev.after.value == 1.0
    second = tuned("calls=3", True)  # not enough to evaluate anything: the best is that of the first part
    assert second.stopped
    assert second.dev.after.value == 1.0
    third = tuned(None, True)
    assert not third.stopped
    about = json.loads((tmp_path / "tuning.json").read_text())
    assert (about["status"], about["resumed"]) == ("finished", True)


def test_another_tuning_does_not_go_on(lm: Any, names_program: Any, gold: Any, tmp_path: Path) -> None:
    about = {"optimizer": "gepa", "seed": 0, "status": "interrupted"}
    (tmp_path / "tuning.json").write_text(json.dumps(about))
    with pytest.raises(GoldassayError, match="another seed: 0 then, 1 now"):
        tune(names_program, gold, METRIC, "gepa", lm=lm, folder=tmp_path, seed=1, resume=True)
    with pytest.raises(GoldassayError, match="labeled keeps no state"):
        tune(names_program, gold, METRIC, "labeled", lm=lm, folder=tmp_path, resume=True)
    with pytest.raises(GoldassayError, match="name its folder"):
        tune(names_program, gold, METRIC, "gepa", lm=lm, resume=True)
    with pytest.raises(GoldassayError, match=r"no tuning at .*: expected tuning.json"):
        tune(names_program, gold, METRIC, "gepa", lm=lm, folder=tmp_path / "no", resume=True)


def test_a_tuning_on_other_examples_is_told_by_their_number_and_hash(tmp_path: Path) -> None:
    about = {"optimizer": "gepa", "seed": 0, "program": "p", "options": {}, "lm": None}
    earlier, other = (
        {**about, "splits": {"train": {"examples": n, "sha256": sha256}}}
        for n, sha256 in ((30, "0fe780297f72"), (20, "38c6efccdd97"))
    )
    with opened(tmp_path, False, earlier):
        pass
    message = r"on other examples: train 30 \(0fe78029\) then, train 20 \(38c6efcc\) now"
    with pytest.raises(GoldassayError, match=message), opened(tmp_path, True, other):
        pass


class Payload:
    def __reduce__(self) -> Any:
        return os.system, ("true",)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (pickle.dumps({"program_candidates": [Payload()]}), "only plain data is read"),
        (b"not a pickle", "not the state of a GEPA tuning"),
        (b"", "not the state of a GEPA tuning"),
    ],
)
def test_a_state_that_would_run_something_is_refused_before_it_does(content: bytes, says: str, tmp_path: Path) -> None:
    assert not check_gepa_state(tmp_path)
    (tmp_path / "gepa_state.bin").write_bytes(content)
    with pytest.raises(DataError, match=says):
        check_gepa_state(tmp_path)
    (tmp_path / "gepa_state.bin").write_bytes(pickle.dumps({"front": {1: {0, 1}}, "rng": (3, (1, 2), None)}))
    assert check_gepa_state(tmp_path)


class Reading:
    """A reflection model that keeps what it is shown, and proposes the rule."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def complete(self, request: Any) -> Any:
        from dspy.lm15 import Message, Response, TextPart, Usage

        self.prompts += [str(message.text) for message in request.messages]
        message = Message.assistant([TextPart(json.dumps({"new_instruction": RULE}))])
        return Response(id=None, model=request.model, message=message, finish_reason="stop", usage=Usage())


def test_gepa_reflects_on_the_notes_of_a_review(
    lm: Any, names_program: Any, gold: dict[str, list[Any]], tmp_path: Path
) -> None:
    """The note on one example reaches the reflection for the examples that are like it, through a real GEPA."""
    note = "Numbers are years here, and the program leaves them out."
    row = {"id": gold["train"][0].id, "fields": {"text": gold["train"][0].text}, "modes": ["no years"], "note": note}
    (tmp_path / "reviewed.jsonl").write_text(json.dumps(row) + "\n")
    metric = Metric(extraction.SpanF1(), feedback_from=tmp_path)
    engine = Reading()
    reflection = dspy.LM("scripted/engine", engine=engine, cache=False)
    tuned = tune(
        names_program, gold, metric, "gepa", lm=lm, reflection_lm=reflection, settings=CALLS, progress=False
    )  # fmt: skip
    assert tuned.dev.after.value == 1.0
    assert any(note in prompt for prompt in engine.prompts)
