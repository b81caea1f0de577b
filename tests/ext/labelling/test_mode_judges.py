"""A judge of a failure mode: what it is shown, what it is measured on, the share that it corrects, and its file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage

from goldassay._support.exceptions import DataError
from goldassay.ext.labelling.mode_judges import (
    SHOWN,
    Case,
    ModeAlignment,
    ModeJudge,
    align,
    alignment,
    load_judge,
    mode_judge,
    suggest_modes,
)
from goldassay.ext.labelling.modes import Mode, ReviewedTrace, mode_shares
from goldassay.judges.judge import Judge
from goldassay.statistics.design import Sampling

MODE = Mode("net for total", "The net sum is given as the total.")


class Engine:
    """Says yes where the output has a net sum; without demonstrations, or of odd outputs, it says always the same."""

    def __init__(self, always: str = "") -> None:
        self.always = always
        self.prompts: list[str] = []

    def complete(self, request: Any) -> Any:
        turns = [part.text for message in request.messages for part in message.parts if isinstance(part, TextPart)]
        self.prompts.append("\n".join([str(request.system), *turns]))
        output = turns[-1].split("[[ ## output ## ]]")[1].split("Respond with")[0]
        taught = "[[ ## verdict ## ]]\nyes" in "\n".join(turns[:-1])
        verdict = self.always or ("yes" if "net" in output and taught else "no")
        verdict = "perhaps" if "unreadable" in output else verdict
        text = f"[[ ## verdict ## ]]\n{verdict}\n[[ ## completed ## ]]"
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(
            id=None, model=request.model, message=Message.assistant([TextPart(text)]), finish_reason="stop", usage=usage
        )


def judge(engine: Engine) -> Judge:
    return Judge(dspy.LM("scripted/judge", engine=engine, cache=False), retries=0)


def trace(number: int, population: int = 200) -> ReviewedTrace:
    """One in four has the failure; the judge errs on one in twenty of either kind."""
    failed = number % 4 == 0
    kind = "net" if failed != (number % 20 in (8, 11)) else "total"
    sampling = Sampling(question="level", stratum="all", size=population, population=population, position=number % 60)
    return ReviewedTrace(
        id=f"t{number}",
        fields={"letter": f"Invoice {number}"},
        output={"total": f"{kind} {number * 7}"},
        modes=(MODE.name,) if failed else (),
        note=f"copied the net sum of {number}." if failed else None,
        sampling=sampling,
    )


READ = [trace(number) for number in range(60)]
ALL: dict[str, Case] = {each.id: (each.fields, each.output) for each in map(trace, range(200))}


@pytest.fixture(scope="module")
def aligned() -> tuple[ModeJudge, ModeAlignment]:
    """A judge and what it is worth."""
    mode = mode_judge(MODE, READ, judge(Engine()))
    return mode, align(mode, READ, ALL)


def test_it_is_measured_on_traces_that_it_was_not_shown() -> None:
    engine = Engine()
    mode = mode_judge(MODE, READ, judge(engine))
    assert len(mode.shown) == 2 * SHOWN
    assert sorted(demo["verdict"] for demo in mode.demos) == ["no"] * SHOWN + ["yes"] * SHOWN
    result = align(mode, READ, ALL)
    assert (result.unseen, result.with_mode) == (54, 12)
    assert len(engine.prompts) == 194  # each trace once, and none that it was shown
    assert all("The net sum is given as the total." in prompt for prompt in engine.prompts)
    noted = [number for number in range(60) if any(f"copied the net sum of {number}." in p for p in engine.prompts)]
    assert {f"t{number}" for number in noted} < {*mode.shown}
    unseen = [each for each in READ if each.id not in mode.shown]
    right = [("net" in each.output["total"]) == bool(each.modes) for each in unseen if each.modes]
    assert result.sensitivity
    assert result.sensitivity.value == pytest.approx(sum(right) / 12)
    assert result.specificity
    assert result.specificity.value == pytest.approx(0.95, abs=0.05)
    assert result.better_than_chance
    assert result.share
    assert result.labels_only
    assert result.share.low < 0.25 < result.share.high
    assert result.share.high - result.share.low < result.labels_only.high - result.labels_only.low


def test_another_seed_shows_others() -> None:
    chosen = [mode_judge(MODE, READ, judge(Engine()), seed=seed).shown for seed in (0, 0, 1)]
    assert chosen[0] == chosen[1] != chosen[2]


@pytest.mark.parametrize("always", ["yes", "no"])
def test_a_judge_no_better_than_chance_is_not_used(always: str, tmp_path: Path) -> None:
    mode = mode_judge(MODE, READ, judge(Engine(always)))
    result = align(mode, READ, dict([*ALL.items()][: len(READ)]))
    assert not result.better_than_chance
    assert result.share is None
    assert result.labels_only == mode_shares(READ, [MODE])[0].share
    mode.save(tmp_path, result)
    assert load_judge(tmp_path, MODE.name, judge(Engine())) is None


def test_unknown_verdicts_are_counted() -> None:
    odd = [replace(each, output={"total": "unreadable"}) if place < 3 else each for place, each in enumerate(READ)]
    mode = mode_judge(MODE, odd, judge(Engine()))
    result = align(mode, odd, {each.id: (each.fields, each.output) for each in odd} | {"x": ({}, {})})
    asked = sum(each.id not in mode.shown for each in odd[:3])
    assert result.unseen == 54 - asked
    assert result.warnings[0].startswith(f"{asked} of ")


def test_traces_from_elsewhere_have_rogan_and_gladens_share() -> None:
    """Half of the new traces fail: only the error rates of the judge tell that, not the labels of the old ones."""
    shown = mode_judge(MODE, READ, judge(Engine())).shown
    verdicts: dict[str, bool | None] = {each.id: "net" in each.output["total"] for each in READ if each.id not in shown}
    new: dict[str, bool | None] = {f"n{number}": number % 2 == 0 for number in range(300)}
    result = alignment(MODE.name, READ, {**verdicts, **new}, new.keys())
    assert result.share
    assert result.share.method == "rogan-gladen"
    assert 0.35 < result.share.low < 0.5 < result.share.high
    assert any("not a sample of these traces" in warning for warning in result.warnings)


def test_it_is_saved_without_secrets_and_asked_again(tmp_path: Path) -> None:
    secret = "sk-abcdef1234567890"
    traces = [replace(each, note=f"{each.note} {secret}" if each.note else None) for each in READ]
    mode = mode_judge(MODE, traces, judge(Engine()))
    result = align(mode, traces, ALL)
    file = mode.save(tmp_path, result)
    assert file == tmp_path / "judges" / "net-for-total-0a771f9c.json"
    assert secret not in file.read_text()
    assert json.loads(file.read_text())["unseen"] == 54
    again = load_judge(tmp_path, MODE.name, judge(Engine()))
    assert again is not None
    assert again.mode == MODE
    assert again.verdicts([({}, {"total": "net 5"}), ({}, {"total": "total 5"}), ({}, {})]) == [True, False, False]
    assert load_judge(tmp_path, "another", judge(Engine())) is None


@pytest.mark.parametrize("name", ["../../etc/x", "Net For Total", "a/b", "総額", "net-for-total", "x" * 300])
def test_a_mode_of_any_name_has_a_file_of_its_own(
    name: str, aligned: tuple[ModeJudge, ModeAlignment], tmp_path: Path
) -> None:
    traces = [replace(each, modes=(name,) if each.modes else ()) for each in READ]
    file = mode_judge(Mode(name), traces, judge(Engine())).save(tmp_path, replace(aligned[1], mode=name))
    assert file.parent == tmp_path / "judges"
    assert len(file.name) < 100
    assert load_judge(tmp_path, name, judge(Engine())) is not None


def test_a_file_that_is_no_judge_is_an_error(aligned: tuple[ModeJudge, ModeAlignment], tmp_path: Path) -> None:
    aligned[0].save(tmp_path, aligned[1]).write_text('{"mode": "net for total", "demos": 3}')
    with pytest.raises(DataError, match="net-for-total"):
        load_judge(tmp_path, MODE.name, judge(Engine()))


def test_one_failure_is_too_few() -> None:
    with pytest.raises(DataError, match="1 of 11 have it"):
        mode_judge(MODE, [READ[0], *(each for each in READ[:14] if not each.modes)], judge(Engine()))


def test_notes_without_a_mode_are_not_shown_as_right() -> None:
    traces = [replace(each, note="odd") if not each.modes and place % 2 else each for place, each in enumerate(READ)]
    for seed in range(5):
        mode = mode_judge(MODE, traces, judge(Engine()), seed=seed)
        noted = {each.id for each in traces if each.note == "odd"}
        assert not noted & {*mode.shown}


class Namer:
    """Names a kind as the note says, once too long to be a name."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    def complete(self, request: Any) -> Any:
        turns = [part.text for message in request.messages for part in message.parts if isinstance(part, TextPart)]
        self.questions.append(turns[-1])
        note = turns[-1].split("[[ ## note ## ]]")[1]
        kind = "x" * 200 if "long" in note else "No Date." if "date" in note else "wrong language"
        text = f"[[ ## kind ## ]]\n{kind}\n[[ ## completed ## ]]"
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(
            id=None, model=request.model, message=Message.assistant([TextPart(text)]), finish_reason="stop", usage=usage
        )


def test_suggestions_are_present_modes_or_new_ones_that_later_notes_see() -> None:
    engine = Namer()
    asked = Judge(dspy.LM("scripted/judge", engine=engine, cache=False), retries=0)
    notes = ["date is absent", "answers in French", "in German sk-abcdef1234567890", "long", None]
    traces = [ReviewedTrace(str(place), note=note) for place, note in enumerate(notes)]
    tagged = ReviewedTrace("tagged", note="date", modes=("no date",))
    groups = suggest_modes([*traces, tagged], [Mode("no date", "a date is absent")], asked)
    assert {name: [trace.id for trace in group] for name, group in groups.items()} == {
        "no date": ["0"], "wrong language": ["1", "2"], "x" * 60: ["3"],
    }  # fmt: skip
    assert "wrong language" in engine.questions[2]
    assert "sk-abcdef" not in engine.questions[2]
