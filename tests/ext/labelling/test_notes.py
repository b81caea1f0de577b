"""Notes of a review as patterns and edits: the costliest mode first, in the reviewer's own words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.lm15 import Message, Response, TextPart, Usage

from goldassay._support.exceptions import GoldassayError
from goldassay.core.tally import Evidence, Mean
from goldassay.ext.labelling.modes import Mode, ReviewedTrace
from goldassay.ext.labelling.notes import Notes, patterns_of, propose_from_notes
from goldassay.running.run import Case
from goldassay.tuning.edits import Diagnosis
from goldassay.tuning.service import PatchFolder


def spans(text: str, *names: tuple[str, str]) -> dict[str, Any]:
    places = [(text.index(name), name, kind) for name, kind in names]
    return {"entities": [{"start": at, "end": at + len(name), "type": kind, "text": name} for at, name, kind in places]}


def trace(number: int, mode: str = "", note: str | None = None, grade: int | None = None) -> ReviewedTrace:
    text = f"The Rijksmuseum opened in {1800 + number}."
    right = spans(text, ("Rijksmuseum", "MUS"), (str(1800 + number), "TMP"))
    wrong = spans(text, ("Rijksmuseum", "TOP"))
    modes = (mode,) if mode else ()
    return ReviewedTrace(f"t{number}", {"text": text}, wrong if mode else right, right, modes, note, grade)


YEARS = [trace(number, "no year", f"A number like {1800 + number} is a year.") for number in range(6)]
TYPES = [trace(number, "wrong type", "Museums are MUS.", 3) for number in range(6, 10)]
RIGHT = [trace(number) for number in range(10, 20)]


@pytest.fixture
def notes() -> Notes:
    modes = [Mode("no year", "Years are left out.")]
    return Notes(Path("x.review"), "extraction", [*YEARS, *TYPES, *RIGHT], ["text"], modes)


def test_the_costliest_mode_comes_first_and_its_notes_are_rules(
    notes: Notes, names_program: Any, tmp_path: Path
) -> None:
    grades = [pattern.loss for pattern in patterns_of(notes.traces, notes.modes)]
    assert grades == [pytest.approx(4 * 3 / 20), pytest.approx(6 / 20)]
    patches = propose_from_notes(PatchFolder(tmp_path, names_program), notes)
    assert [patch.mode for patch in patches] == sorted((patch.mode for patch in patches), reverse=True)
    (rule,) = [patch for patch in patches if patch.proposer == "notes" and patch.mode == "wrong type"]
    assert (rule.text, rule.examples) == ('Mind "wrong type": Museums are MUS.', ["t6"])
    years = [patch for patch in patches if patch.proposer == "notes" and patch.mode == "no year"]
    assert years[0].text == 'Mind "no year": Years are left out.'  # the mode's description is no record's
    assert [patch.examples for patch in years] == [[], ["t0"], ["t1"]]
    shown = [patch for patch in patches if patch.proposer == "covering" and patch.mode == "no year"]
    assert {name for patch in shown for name in patch.examples} <= {each.id for each in YEARS}
    assert shown[0].example
    assert {"text": "Rijksmuseum", "type": "MUS"} in shown[0].example["mentions"]  # as the predictor writes it
    other = next(patch for patch in patches if patch.proposer == "counter-examples" and patch.mode == "wrong type")
    assert other.text
    wrong, right = other.text.split(" is wrong, and ")
    assert '"type": "TOP"' in wrong
    assert '"type": "MUS"' in right
    assert other.examples == ["t6"]


def test_a_fold_sees_no_note_on_a_record_that_it_is_measured_on(notes: Notes) -> None:
    unmeasured = ReviewedTrace("u", {"text": "x"}, {}, None, ("no year",), "Read the end, too.")
    notes = Notes(notes.folder, notes.task, [*notes.traces, unmeasured], notes.inputs, notes.modes)
    cases = [Case(name, Evidence({"value": Mean.of(1.0)})) for name in ("t0", "t6", "t10")]
    patterns = {pattern.kind: pattern for pattern in notes.of_cases(cases)}
    assert set(patterns["no year"].documents) == {"t0", "u"}
    assert set(patterns["wrong type"].documents) == {"t6"}
    assert "A number like 1801 is a year." not in patterns["no year"].surfaces


class Reflector:
    """Proposes one edit, and keeps what it was asked."""

    def __init__(self) -> None:
        self.prompts: list[str] = []

    def complete(self, request: Any) -> Any:
        turns = [part.text for message in request.messages for part in message.parts if isinstance(part, TextPart)]
        self.prompts.append("\n".join(turns))
        text = json.dumps({"edits": [{"action": "add_instruction", "text": "Find years.", "old": ""}]})
        usage = Usage(input_tokens=1, output_tokens=1, total_tokens=2)
        return Response(
            id=None, model=request.model, message=Message.assistant([TextPart(text)]), finish_reason="stop", usage=usage
        )


def test_reflection_reads_the_notes_and_the_traces(notes: Notes, names_program: Any) -> None:
    engine = Reflector()
    edit = notes.edits(dspy.LM("scripted/reflector", engine=engine, cache=False))[-1]
    patterns = [item for item in patterns_of(notes.traces, notes.modes) if item.kind == "no year"]
    slots = edit(Diagnosis(patterns, names_program, notes.corrected))
    (prompt,) = engine.prompts
    assert "A number like 1802 is a year." in prompt
    assert "The Rijksmuseum opened in 1802." in prompt
    assert "right answer" in prompt
    assert [patch.text for patch in slots["reflection no year"]] == ["Find years."]


def test_what_was_read_is_known_by_its_id_or_its_text(notes: Notes) -> None:
    rows = [("t3", "Another text."), ("new", TYPES[0].fields["text"]), ("other", "The archive opened.")]
    inputs = [dspy.Example(id=name, text=text).with_inputs("text") for name, text in rows]
    assert [example["id"] for example in notes.unread(inputs)] == ["other"]


def test_without_notes_there_is_nothing_to_propose(notes: Notes, names_program: Any, tmp_path: Path) -> None:
    silent = [ReviewedTrace("a", {"text": "x"}, {"entities": []}, None, ("no year",))]
    folder = PatchFolder(tmp_path, names_program)
    with pytest.raises(GoldassayError, match="no note and no corrected answer"):
        propose_from_notes(folder, Notes(Path("x"), "extraction", silent, ["text"]))
    with pytest.raises(GoldassayError, match="there are wrong type, no year"):
        propose_from_notes(folder, notes, "zzz")
    with pytest.raises(GoldassayError, match="no record of x has gold"):
        Notes(Path("x"), "extraction", silent, ["text"]).required  # noqa: B018


def test_a_corrected_answer_has_no_reasoning_of_the_wrong_one(tmp_path: Path) -> None:
    """A demonstration would teach that reasoning, and a counter-example quote it as wrong and as right."""
    program = dspy.ChainOfThought("body -> team")
    answers = [{"team": "billing", "reasoning": f"It names money {n}."} for n in range(6)]
    modes = ("wrong team",)
    traces = [
        ReviewedTrace(f"t{n}", {"body": f"{'abcdef'[n] * 9} money"}, answer, {**answer, "team": "returns"}, modes)
        for n, answer in enumerate(answers)
    ]
    notes = Notes(tmp_path / "x.review", "triage", traces, ["body"])
    assert all("reasoning" not in example for example in [*notes.corrected, *notes.wrong.values()])
    patches = propose_from_notes(PatchFolder(tmp_path, program), notes)
    assert {patch.proposer for patch in patches} >= {"covering"}
    assert not [patch for patch in patches if "It names money" in f"{patch.text}{patch.example}"]
