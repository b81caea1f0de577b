"""Failure modes in a review: named while reading, renamed, merged, moved, taken back, and read again."""

from __future__ import annotations

import json
import random
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.ext.labelling.review.conftest import Client, Start, extraction, write_draft
from typer.testing import CliRunner

from goldassay._support.exceptions import DataError
from goldassay.cli import app
from goldassay.ext.labelling.modes import read_modes, read_traces
from goldassay.ext.labelling.review import review as open_review
from goldassay.ext.labelling.review.folder import Folder
from goldassay.ext.labelling.review.journal import Decision, ModeChange, NothingToUndoError
from goldassay.ext.labelling.review.session import Session, reviewed_traces
from goldassay.gold import read, write
from goldassay.gold.audit import audit

SPAN = {"start": 0, "end": 6, "type": "ORG"}


def empty(**more: Any) -> dict[str, Any]:
    return {"value": {"entities": []}, **more}


def test_traces_that_were_read_are_listed_while_the_page_is_open(start: Start) -> None:
    review = start(extraction())
    page = Client(review.url)
    page.decide("2", **empty(modes=["  no   place ", "slow"], note="Bonn is absent", grade=2))
    page.decide("0", value={"entities": [SPAN]})
    page.decide("1", kind="skip")
    page.decide("3", kind="unsure", modes=["slow"])
    traces = reviewed_traces(review.folder)
    assert [trace.id for trace in traces] == ["d2", "d0", "d3"], "in the order of reading"
    first = traces[0]
    assert (first.modes, first.note, first.grade) == (("no place", "slow"), "Bonn is absent", 2)
    assert first.gold == {"entities": []}
    assert [span["text"] for span in first.output["entities"]] == ["Museum"]
    assert first.fields.keys() == {"text"}
    assert first.sampling
    assert first.sampling.stratum == "all"
    assert first.wave
    assert (traces[1].modes, traces[2].gold) == ((), None)
    assert read_traces(review.folder) == traces


def test_what_two_reviewers_noted_is_put_together(start: Start) -> None:
    review = start(extraction(), overlap=1)
    for who, mode in (("ann", "slow"), ("bo", "rude")):
        Client(review.url, who).decide("0", **empty(modes=[mode]))
    (trace,) = reviewed_traces(review.folder)
    assert trace.modes == ("slow", "rude")


def test_a_grade_is_1_to_3(start: Start) -> None:
    page = Client(start(extraction()).url)
    for grade in (0, 4, "bad"):
        sent = {"decision": f"x{grade}", "item": "0", "kind": "label", "grade": grade, **empty()}
        assert page.send("POST", "decisions", sent)[0] == 400
    page.decide("0", **empty(grade=3))
    assert page.record("0")["decision"]["grade"] == 3


def test_a_folder_that_is_no_review_is_one_line(start: Start) -> None:
    review = start(extraction())
    with pytest.raises(DataError, match="no folder of a review"):
        reviewed_traces(review.folder.parent)


def change(kind: str, **fields: Any) -> dict[str, Any]:
    return {"change": str(uuid.uuid4()), "kind": kind, **fields}


def named(page: Client) -> dict[str, list[str]]:
    """The ids of each mode's records."""
    return {mode["name"]: [each["id"] for each in mode["examples"]] for mode in page.get("modes")["modes"]}


def test_modes_are_renamed_merged_moved_described_and_taken_back(start: Start) -> None:
    review = start(extraction())
    page = Client(review.url)
    for item, mode in (("0", "no place"), ("1", "no plase"), ("2", "slow"), ("3", "slow")):
        page.decide(item, **empty(modes=[mode], note=f"note {item}"))
    page.decide("4", **empty(note="odd"))
    state = page.get("modes")
    (untagged,) = state["untagged"]
    assert untagged.pop("text").startswith("Museum")
    assert untagged == {"item": "4", "id": "d4", "note": "odd", "grade": None}
    assert (state["read"], state["since_new"], state["population"]) == (5, 2, 40)
    page.post("modes", change("merge", mode="no plase", to="no place"))
    page.post("modes", change("rename", mode="no place", to="place  missing"))
    page.post("modes", change("describe", mode="place missing", description="a place of the text is absent"))
    page.post("modes", change("move", mode="slow", to="very slow", items=["3", "4"]))
    page.post("modes", change("move", to="odd", items=["4"]))
    assert named(page) == {"place missing": ["d0", "d1"], "odd": ["d4"], "slow": ["d2"], "very slow": ["d3"]}
    assert page.record("1")["decision"]["modes"] == ["place missing"]
    setup = {mode["name"]: mode["description"] for mode in page.get("setup")["modes"]}
    assert setup["place missing"] == "a place of the text is absent"
    share = next(mode for mode in page.get("modes")["modes"] if mode["name"] == "odd")["share"]
    assert share["value"] == pytest.approx(0.2)
    assert share["low"] < 0.2 < share["high"]
    for expected in ("move", "move", "describe", "rename", "merge"):
        answer = page.post("modes", change("undo"))
        assert answer["undone"]["change"] == expected
    assert named(page) == {"slow": ["d2", "d3"], "no place": ["d0"], "no plase": ["d1"]}
    assert page.send("POST", "modes", change("undo"))[0] == 409
    assert Client(review.url, "bo").send("POST", "modes", change("undo"))[0] == 409


def test_the_same_change_twice_is_one_line(start: Start) -> None:
    review = start(extraction())
    page = Client(review.url)
    page.decide("0", **empty(modes=["slow"]))
    sent = change("rename", mode="slow", to="late")
    assert page.post("modes", sent) == page.post("modes", sent)
    assert len((review.folder / "labels.jsonl").read_text().splitlines()) == 2
    page.decide("1", **empty(modes=["slow"]))
    assert named(page) == {"late": ["d0"], "slow": ["d1"]}, "a mode that is named after the change is another one"
    page.undo()
    page.decide("0", **empty(modes=["rude"]))
    assert page.undo()["undone"]["modes"] == ["rude"]
    assert page.record("0")["decision"]["modes"] == ["late"]


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (change("rename", mode="quick", to="x"), "no mode 'quick'; there are slow"),
        (change("rename", mode="slow", to="slow"), "merge the two"),
        (change("merge", mode="slow"), "to merge a mode, name it"),
        (change("describe", description="x"), "to describe a mode, name it"),
        (change("move", to="x", items=["40"]), "no item '40'"),
        (change("rename", mode="slow", to="  "), "to: "),
        (change("drop", mode="slow"), "kind: "),
    ],
)
def test_a_change_that_cannot_be_made_is_refused_and_not_written(start: Start, sent: Any, message: str) -> None:
    review = start(extraction())
    page = Client(review.url)
    page.decide("0", **empty(modes=["slow"]))
    status, answer = page.send("POST", "modes", sent)
    assert status in (400, 422)
    assert message in answer["error"]
    assert len((review.folder / "labels.jsonl").read_text().splitlines()) == 1


def test_a_description_that_is_edited_by_hand_is_kept(start: Start) -> None:
    review = start(extraction())
    page = Client(review.url)
    page.decide("0", **empty(modes=["slow"]))
    page.post("modes", change("describe", mode="slow", description="late"))
    file = review.folder / "modes.yaml"
    content = yaml.safe_load(file.read_text())
    assert [(mode["name"], mode["examples"]) for mode in content["modes"]] == [("slow", ["d0"])]
    content["modes"][0]["description"] = "takes a minute"
    content["modes"].append({"name": "rude", "description": "insults"})
    file.write_text(yaml.safe_dump(content))
    reviewed_traces(review.folder)
    page.post("modes", change("rename", mode="slow", to="sluggish"))
    modes = {mode.name: mode.description for mode in read_modes(review.folder)}
    assert modes == {"sluggish": "takes a minute", "rude": "insults"}
    page.post("modes", change("undo"))
    page.post("modes", change("undo"))
    assert [mode.name for mode in read_modes(review.folder)] == ["slow", "rude"]
    review.close()
    with open_review(review.folder) as again:
        modes = {mode["name"]: mode["description"] for mode in Client(again.url).get("modes")["modes"]}
    assert modes == {"slow": "takes a minute", "rude": "insults"}
    file.write_text("modes: [")
    with pytest.raises(DataError, match="modes.yaml"):
        open_review(review.folder)


class Model:
    """Decisions and changes, each replayed from the first that was not taken back."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, Any]] = []

    def undo(self, who: str, modes: bool) -> bool:
        own = [place for place, line in enumerate(self.lines) if line[1] == who and (line[0] != "decision") is modes]
        if own:
            del self.lines[own[-1]]
        return bool(own)

    def state(self) -> dict[str, set[str]]:
        state: dict[tuple[str, str], set[str]] = {}
        for kind, who, value in self.lines:
            if kind == "decision":
                state[value[0], who] = set(value[1])
            for (item, _), modes in state.items():
                applies = kind in ("rename", "merge") or (kind == "move" and item in value.items)
                if applies and kind != "decision" and (value.mode is None or value.mode in modes):
                    modes -= {value.mode}
                    modes.add(value.to)
        items: dict[str, set[str]] = {}
        for (item, _), modes in state.items():
            items.setdefault(f"d{item}", set()).update(modes)
        return items


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(1, 12))])
def test_any_sequence_is_what_folding_its_lines_from_the_beginning_gives(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    source = write_draft(tmp_path / "draft.jsonl", extraction(6))
    folder = Folder.open([source], overlap=1.0)
    model = Model()
    names = ["a", "b", "c", "d"]
    file = folder.path / "modes.yaml"
    stale = b""

    def step(session: Session) -> None:
        who = rng.choice(["ann", "bo"])
        kind = rng.choice(["decision"] * 4 + ["rename", "merge", "move", "describe", "undo", "undo modes"])
        identity = str(uuid.uuid4())
        if kind == "decision":
            item = str(rng.randrange(6))
            modes = rng.sample(names, rng.randrange(3))
            label = {"item": item, "kind": "label", "value": {"entities": []}, "modes": modes}
            session.decide(Decision.model_validate({"decision": identity, **label}), who, "")
            model.lines.append((kind, who, (item, modes)))
        elif kind == "undo":
            if model.undo(who, modes=False):
                session.decide(Decision(decision=identity, kind="undo"), who, "")
        elif kind == "undo modes":
            if model.undo(who, modes=True):
                session.journal.change_modes(ModeChange(change=identity, kind="undo"), who)
        else:
            mode = rng.choice([*names, None]) if kind == "move" else rng.choice(names)
            items = [str(rng.randrange(6)) for _ in range(3)]
            sent: dict[str, Any] = {
                "kind": kind,
                "mode": mode,
                "to": rng.choice(names),
                "items": items,
                "description": identity,
            }
            made = ModeChange.model_validate({"change": identity, **sent})
            try:
                session.journal.change_modes(made, who)
                model.lines.append((kind, who, made))
            except DataError:
                return

    def folded(session: Session) -> dict[str, set[str]]:
        return {trace.id: set(trace.modes) for trace in session.journal.traces()}

    for _ in range(6):
        with closing(Session(folder)) as session:
            assert folded(session) == model.state()
            for _ in range(10):
                step(session)
                assert folded(session) == model.state()
                if rng.random() < 0.2 and file.exists():
                    stale = file.read_bytes()
            listed = session.journal.listed_modes(session.journal.traces())
        with (folder.path / "labels.jsonl").open("a") as stream:
            stream.write('{"change": "x", "kind": "rena')  # killed while it wrote
        if stale:
            file.write_bytes(stale)  # and before it wrote this one
        with closing(Session(folder, read_only=True)) as again:
            assert again.journal.listed_modes(again.journal.traces()) == listed
    with closing(Session(folder)) as session:
        for who in ("ann", "bo"):
            while model.undo(who, modes=True):
                session.journal.change_modes(ModeChange(change=str(uuid.uuid4()), kind="undo"), who)
            while model.undo(who, modes=False):
                session.decide(Decision(decision=str(uuid.uuid4()), kind="undo"), who, "")
        with pytest.raises(NothingToUndoError):
            session.journal.change_modes(ModeChange(change="last", kind="undo"), "ann")
        assert folded(session) == {}
        assert session.journal.listed_modes([]) == []


def test_exported_gold_has_its_errors_in_every_format(start: Start, tmp_path: Path) -> None:
    records = extraction(20)
    for record in records:
        record["sampling"]["question"] = "errors"
    review = start(records)
    page = Client(review.url)
    page.decide("0", **empty(modes=["slow", "no place"], note="Bonn", grade=2))
    page.decide("1", value={"entities": [SPAN]})
    page.decide("2", good=False, modes=["slow"])
    page.post("modes", change("rename", mode="slow", to="late"))
    review.export()
    file = review.folder / "gold.jsonl"
    rows = read(file, task="extraction")
    errors = [{"mode": mode, "note": "Bonn", "grade": 2} for mode in ("late", "no place")]
    assert [row["errors"] for row in rows] == [errors, []]
    assert audit(str(review.folder), task="extraction").clean
    for name in ("gold.csv", "gold.jsonl"):
        labels = [{"id": row["id"], "text": row["text"], "label": "M", "errors": row["errors"]} for row in rows]
        write(tmp_path / name, labels, task="classification")
        assert [row["errors"] for row in read(tmp_path / name, task="classification")] == [errors, []]
    assert [trace.id for trace in read_traces(review.folder)] == ["d0", "d1", "d2"], "also one without gold"
    done = CliRunner().invoke(app, ["review", str(review.folder), "--export", "--json"])
    assert json.loads(done.stdout)["records"] == 2, "while the page is open"


def test_gold_of_a_review_without_modes_has_no_errors(start: Start) -> None:
    review = start(extraction(20))
    Client(review.url).decide("0", **empty(note="sure"))
    review.export()
    (row,) = read(review.folder / "gold.jsonl", task="extraction")
    assert "errors" not in row


def test_a_column_of_another_table_that_is_called_errors_stays_beside(tmp_path: Path) -> None:
    (tmp_path / "gold.csv").write_text("id,text,label,errors\na,x,M,3\n")
    (row,) = read(tmp_path / "gold.csv", task="classification")
    assert row["meta"] == {"errors": "3"}


def test_a_key_in_a_note_or_a_description_reaches_no_file(start: Start) -> None:
    key = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
    review = start(extraction())
    page = Client(review.url)
    page.decide("0", **empty(modes=["no place"], note=f"called with {key}"))
    reviewed_traces(review.folder)
    file = review.folder / "modes.yaml"
    file.write_text(file.read_text().replace("description: ''", f"description: like {key}"))
    (trace,) = reviewed_traces(review.folder)
    assert trace.note == "called with [hidden]"
    assert [mode.description for mode in read_modes(review.folder)] == ["like [hidden]"]
    assert not [each.name for each in review.folder.iterdir() if each.is_file() and key in each.read_text()]


@pytest.mark.parametrize("name", ["", "x" * 300])
def test_a_name_in_the_file_that_no_mode_can_have_is_one_line(start: Start, name: str) -> None:
    review = start(extraction())
    modes = {"modes": [{"name": name, "description": "slow"}]}
    (review.folder / "modes.yaml").write_text(yaml.safe_dump(modes))
    with pytest.raises(DataError, match=r"modes\.yaml: mode"):
        reviewed_traces(review.folder)


def test_a_review_that_cannot_be_written_is_counted_as_it_is(start: Start) -> None:
    review = start(extraction(3))
    Client(review.url).decide("0", value={"entities": []}, modes=["slow"])
    review.close()
    (review.folder / "reviewed.jsonl").unlink(missing_ok=True)
    (review.folder / "reviewed.jsonl").mkdir()  # which nobody can replace by a file, not even root
    assert [trace.modes for trace in reviewed_traces(review.folder)] == [("slow",)]


def test_a_wrong_value_of_any_length_is_a_short_line(start: Start) -> None:
    review = start(extraction(3))
    review.close()
    (review.folder / "modes.yaml").write_text(f"modes: {'x' * 100_000}\n")
    with pytest.raises(DataError) as caught:
        read_modes(review.folder)
    assert len(str(caught.value)) < 500
