"""The journal of a review, ``labels.jsonl``: one line a decision, on the disk before the page goes on.

Nothing is ever rewritten: a decision that is made again is another line, and an undo is a line that names the decision
that it takes back. The state of a review is what its lines say, read from the first to the last, so a process that is
killed loses nothing that was answered. A line has the id that the page gave its decision: sent twice, it is written
once.

A change of the modes (what went wrong) is a line too. The modes of a decision are those that it names, with every later
change that was not undone, in order; so a mode that is renamed has its new name in all records, and an undo brings back
the old one. ``modes.yaml`` is written from the lines, for people and for the tools that come after a review; a new
description that somebody writes in it becomes a line. A mode that is added there needs one.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property
from operator import itemgetter
from typing import Annotated, Any, Literal

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from goldassay._support import files, jsonl
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay._support.jsonl import JSON
from goldassay._support.secrets import mask, redact
from goldassay.core.fields import JsonObject
from goldassay.ext.labelling.drafts import text_of
from goldassay.ext.labelling.modes import (
    MODES_FILE,
    TRACES_FILE,
    Mode,
    ModeTable,
    ReviewedTrace,
    examples_of,
    read_modes,
    traces_as_text,
)
from goldassay.ext.labelling.review.folder import Folder
from goldassay.gold.outputs import filled
from goldassay.running.head import now
from goldassay.statistics.design import SAMPLING, sampling_of


def canonical(value: JSON) -> str:
    """A text that two values share if they say the same: order and the words under a span do not matter.

    >>> canonical([{"start": 1, "end": 2, "text": "a"}, 3]) == canonical([3.0, {"end": 2, "start": 1, "note": None}])
    True
    """
    about = ("text", "confidence", "form")  # of a span or statement: what does not make it another one
    if isinstance(value, Mapping):
        inner = []
        for name in sorted(value := filled(dict(value))):
            if name == "calls":  # whose order counts
                inner.append(f"calls: [{', '.join(map(canonical, value[name]))}]")
            elif "start" not in value or name not in about:
                inner.append(f"{name!r}: {canonical(value[name])}")
        return f"{{{', '.join(inner)}}}"
    if isinstance(value, list):
        return f"[{', '.join(sorted(map(canonical, value)))}]"
    return repr(int(value) if isinstance(value, float) and value.is_integer() else value)


Name = Annotated[str, AfterValidator(lambda text: " ".join(redact(text).split())), Field(min_length=1, max_length=200)]
Text = Annotated[str, AfterValidator(redact), Field(max_length=10_000)]  # notes go into prompts and files
Value = Annotated[dict[str, Any], AfterValidator(mask)]
Kind = Literal["label", "skip", "unsure", "undo", "reveal"]


class NothingToUndoError(GoldassayError):
    """Every decision, or change of the modes, of this reviewer is undone."""


class Decision(BaseModel):
    """A decision as the page sends it.

    Args:
        decision: Its id, made by the page.
        item: The record and the visit that it is about.
        kind: What was decided; ``reveal`` shows the systems' names from now on.
        value: The gold fields.
        choice: The side that was chosen: its number, ``both`` or ``neither``.
        good: Whether the first suggestion is good.
        note: A remark.
        modes: Names of what went wrong.
        grade: How bad it is, 1 to 3.
        step: The first wrong step of the first answer, from 0, to which the modes belong.
        seconds: How long it took.
        undoes: The decision that an undo takes back; by default the reviewer's last.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    decision: str = Field(min_length=1, max_length=200)
    item: str = Field(default="", max_length=200)
    kind: Kind
    value: Value | None = None
    choice: str | None = Field(default=None, max_length=200)
    good: bool | None = None
    note: Text | None = None
    modes: list[Name] = []
    grade: int | None = Field(default=None, ge=1, le=3)
    step: int | None = Field(default=None, ge=0)
    seconds: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    undoes: str | None = None


class Line(Decision):
    """A decision with who made it, when, and what was shown: the systems in the order of their suggestions."""

    record: str = ""
    who: str = Field(min_length=1, max_length=200)
    sitting: str = Field(default="", max_length=200)
    when: str
    blind: bool = False
    shown: list[str] = []

    @cached_property
    def index(self) -> int:
        """The place of the record in the draft; -1 of a line that is about none."""
        return int(self.item.partition(":")[0] or -1)

    @cached_property
    def visit(self) -> str:
        """Which visit to the record it was."""
        return self.item.partition(":")[2] or "first"

    @cached_property
    def meaning(self) -> str:
        """A text that two decisions share if they decide the same."""
        return canonical(
            {"value": self.value} if self.value is not None else {"choice": self.choice, "good": self.good}
        )


class ModeChange(BaseModel):
    """A change of the modes as the page sends it.

    Args:
        change: Its id, made by the page.
        kind: ``rename`` and ``merge`` give all records of ``mode`` the mode ``to``; ``move`` gives it to some of them,
            or adds it if there is no ``mode``; ``describe`` says what ``mode`` is; ``undo`` takes back the last change.
        mode: The mode that is changed.
        to: The mode that records get.
        items: The records that move.
        description: What the mode is.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    change: str = Field(min_length=1, max_length=200)
    kind: Literal["rename", "merge", "move", "describe", "undo"]
    mode: Name | None = None
    to: Name | None = None
    items: list[str] = []
    description: Text = ""


class ModeLine(ModeChange):
    """A change of the modes in the journal: with the ids of its records, who made it when, and what an undo undoes."""

    records: list[str] = []
    undoes: str | None = None
    who: str
    when: str


def parsed(row: Mapping[str, JSON]) -> Line | ModeLine:
    """A line of the journal."""
    return ModeLine.model_validate(row) if "change" in row else Line.model_validate(row)


class Journal:
    """The decisions of a review: what was written, what is in force, what is settled, and what went wrong (the modes).

    Args:
        folder: The folder of the review; the file of the lines is made if there is none.
        read_only: Whether nothing is added.

    Raises:
        DataError: A line is not a decision on a record of the draft.
    """

    def __init__(self, folder: Folder, *, read_only: bool = False) -> None:
        self.folder = folder
        self.lock = threading.RLock()  # held by whoever reads or adds several lines
        self.lines: dict[str, Line] = {}
        self.changes: dict[str, ModeLine] = {}
        self.changes_in_force: list[ModeLine] = []
        self.order: dict[str, int] = {}
        self._undone: set[str] = set()
        self._histories: dict[int, dict[tuple[str, str], list[Line]]] = {}  # of each record, the last decided last
        file = folder.path / "labels.jsonl"
        if file.exists():
            for line, _ in jsonl.parsed_rows(file, parsed, what="a decision"):
                name = line.change if isinstance(line, ModeLine) else line.decision
                if name in self.order:
                    if line == self.lines.get(name, self.changes.get(name)):
                        continue  # the same line twice is one
                    raise DataError("two lines have this id; delete the one that is wrong", file=file, record=name)
                try:
                    if isinstance(line, Line) and line.kind not in ("undo", "reveal"):
                        index, _ = folder.place(line.item)
                        record = folder.records[index]["id"]
                        if line.record != record:
                            raise DataError(f"item {line.item} is record {record!r}, not {line.record!r}")
                        if line.value is not None:
                            folder.check(index, line.value)
                    self._apply(line)
                except DataError as error:
                    message = (
                        f"decision {name} does not fit the draft: {error}; delete the line, or restore draft.jsonl"
                    )
                    raise DataError(message, file=file) from None
                except (LookupError, ValueError):
                    message = "this line undoes, or refers to, something that is not there"
                    record = None if isinstance(line, ModeLine) else name
                    raise DataError(message, file=file, record=record) from None
        self._log = None if read_only else jsonl.Log(file, sync=True)

    def add(self, line: Line | ModeLine) -> None:
        """Write a decision or a change of the modes that is not there yet; a journal that is only read takes none."""
        if self._log:
            self._log.add(line.model_dump(exclude_defaults=True))
            self._apply(line)

    def _apply(self, line: Line | ModeLine) -> None:
        if isinstance(line, ModeLine):
            if line.undoes and line.undoes not in self.changes:
                raise LookupError(line.undoes)
            self.order[line.change] = len(self.order)
            self.changes[line.change] = line
            undone = {change.undoes for change in self.changes.values()}
            in_force = (change for change in self.changes.values() if change.kind != "undo")
            self.changes_in_force = [change for change in in_force if change.change not in undone]
            return
        self.order[line.decision] = len(self.order)
        self.lines[line.decision] = line
        if line.kind == "reveal":
            return
        subject = self.lines[str(line.undoes)] if line.kind == "undo" else line
        histories = self._histories.setdefault(subject.index, {})
        history = histories.pop((subject.who, subject.visit), [])
        if line.kind == "undo":
            self._undone.add(subject.decision)
            history.remove(subject)
        else:
            history.append(line)
        if history:
            histories[subject.who, subject.visit] = history

    def current(self, index: int, who: str, visit: str = "first") -> Line | None:
        """The last decision of a reviewer on a visit to a record that was not undone."""
        return self.decisions(index).get((who, visit))

    def decisions(self, index: int) -> Mapping[tuple[str, str], Line]:
        """The decisions on a record that are in force, by reviewer and visit."""
        return {key: history[-1] for key, history in self._histories.get(index, {}).items()}

    def in_force(self) -> list[Line]:
        """All decisions that are in force, in the order of the records."""
        return [line for index in sorted(self._histories) for line in self.decisions(index).values()]

    def last(self, who: str) -> Line | None:
        """The decision that a reviewer's next undo takes back."""
        mine = (line for line in reversed(self.lines.values()) if line.who == who and line.decision not in self._undone)
        return next((line for line in mine if line.kind not in ("undo", "reveal")), None)

    def modes(self, line: Line) -> list[str]:
        """The modes of a decision: those that it names, with the changes since then."""
        modes = line.modes
        for change in self.changes_in_force:
            if not change.to or self.order[change.change] < self.order[line.decision]:
                continue
            moved = change.kind == "move" and line.record in change.records
            if change.kind in ("rename", "merge") or moved:
                modes = [change.to if mode == change.mode else mode for mode in modes]
                modes += [change.to] if moved and change.mode is None else []
        return list(dict.fromkeys(modes))

    def descriptions(self) -> dict[str, str]:
        """The modes that have been described."""
        texts: dict[str, str] = {}
        for change in self.changes_in_force:
            mode = change.mode or ""
            if change.kind == "describe":
                texts[mode] = change.description
            elif change.kind != "move" and mode in texts and change.to:
                text = texts.pop(mode)
                texts[change.to] = texts.get(change.to) or text
        return texts

    def settled(self, index: int) -> Line | None:
        """The decision that is the gold of a record: what settled a conflict, or what all said; None if none is."""
        labels = [line for line in self.decisions(index).values() if line.kind == "label"]
        if not labels or self.is_conflict(index):
            return None
        return next((line for line in labels if line.visit == "conflict"), labels[0])

    def all_settled(self) -> list[Line | None]:
        """The decision that is the gold of each record, or None."""
        return [self.settled(index) for index in range(len(self.folder.records))]

    def conflicts(self) -> list[int]:
        """The records on which decisions differ, or somebody was unsure, and that nobody has settled."""
        return [index for index in range(len(self.folder.records)) if self.is_conflict(index)]

    def is_conflict(self, index: int) -> bool:
        """Whether the decisions on a record are to be settled."""
        lines = list(self.decisions(index).values())
        if len(lines) < 2:
            return any(line.kind == "unsure" for line in lines)
        labels = [line for line in lines if line.kind == "label"]
        if any(line.visit == "conflict" for line in labels):
            return False
        return len({line.meaning for line in labels}) > 1 or any(line.kind == "unsure" for line in lines)

    def traces(self) -> list[ReviewedTrace]:
        """The traces that somebody has read, in that order.

        What several reviewers noted is put together: a trace has every mode that one of them gave it, and the last note
        and grade. A repeated visit measures the reviewer, and is left out.
        """
        folder = self.folder
        order = self.order
        traces: list[tuple[int, ReviewedTrace]] = []
        for index, record in enumerate(folder.records):
            decisions = self.decisions(index).values()
            lines = [line for line in decisions if line.kind != "skip" and line.visit != "repeat"]
            if not lines:
                continue
            lines.sort(key=lambda line: order[line.decision])
            settled = self.settled(index)
            answer = folder.first(index)
            sampling = sampling_of(record[SAMPLING]) if record.get(SAMPLING) else None
            trace = ReviewedTrace(
                str(record["id"]),
                folder.inputs(index),
                answer.output if answer else {},
                settled.value if settled else None,
                tuple(dict.fromkeys(mode for line in lines for mode in self.modes(line))),
                next((line.note for line in reversed(lines) if line.note), None),
                next((line.grade for line in reversed(lines) if line.grade), None),
                sampling,
                (sampling.wave if sampling else None) or folder.settings.created,
                next((line.step for line in reversed(lines) if line.step is not None), None),
            )
            traces.append((order[lines[0].decision], trace))
        return [trace for _, trace in sorted(traces, key=itemgetter(0))]

    def listed_modes(self, traces: Sequence[ReviewedTrace]) -> list[Mode]:
        """The modes that a trace has, and those that somebody described, with the first traces that have them."""
        return examples_of(traces, self.descriptions() | self._edited_modes())

    def _edited_modes(self) -> dict[str, str]:
        """The descriptions in the file that the journal never had."""
        texts = {"", *(change.description for change in self.changes.values())}
        modes = {mode.name: redact(mode.description) for mode in read_modes(self.folder.path)}
        return {name: text for name, text in modes.items() if text not in texts}

    def save_modes(self) -> list[ReviewedTrace]:
        """Write ``modes.yaml`` and ``reviewed.jsonl``; returns the traces that were read.

        Raises:
            DataError: ``modes.yaml`` was edited and is broken now.
            StorageError: A file cannot be written.
        """
        traces = self.traces()
        modes = self.listed_modes(traces)
        for name, text in self._edited_modes().items():
            about = {"change": f"{MODES_FILE} {len(self.order)}", "who": MODES_FILE, "when": now()}
            edit = {**about, "kind": "describe", "mode": name, "description": text}
            self.add(files.validated(ModeLine, edit, self.folder.path / MODES_FILE))
        contents = {TRACES_FILE: traces_as_text(traces)}
        if modes or (self.folder.path / MODES_FILE).exists():
            state = [{**asdict(mode), "examples": list(mode.examples)} for mode in modes]
            contents[MODES_FILE] = yaml.safe_dump({"modes": state}, sort_keys=False, allow_unicode=True)
        files.save_all({self.folder.path / name: text for name, text in contents.items()})
        return traces

    def mode_state(self, traces: Sequence[ReviewedTrace]) -> JsonObject:
        """The modes as the page shows them."""
        items = {str(record["id"]): str(index) for index, record in enumerate(self.folder.records)}

        def listed(chosen: Iterable[ReviewedTrace]) -> list[JsonObject]:
            return [
                {
                    "item": items[trace.id],
                    "id": trace.id,
                    "note": trace.note,
                    "grade": trace.grade,
                    "text": text_of(trace.fields, self.folder.task)[:160],
                }
                for trace in chosen
            ]

        state = ModeTable.of(traces, self.listed_modes(traces)).state()
        for mode in state["modes"]:
            mode["examples"] = listed(trace for trace in traces if mode["name"] in trace.modes)
            mode["cost"] = mode["cost"] and mode["cost"]["value"]
        return {**state, "untagged": listed(trace for trace in traces if trace.note and not trace.modes)}

    def change_modes(self, change: ModeChange, who: str) -> JsonObject:
        """Write a change of the modes; returns them as the page shows them.

        Args:
            change: The change.
            who: The reviewer.

        Raises:
            DataError: There is no such item or mode, or the change lacks a name.
            NothingToUndoError: There is nothing to undo.
            StorageError: The change cannot be written.
        """
        with self.lock:
            records = [self.folder.records[self.folder.place(item)[0]]["id"] for item in change.items]
            if change.change in self.lines:
                raise DataError("this id is that of a decision; send another", field="change")
            traces = self.save_modes()  # what was edited by hand came before this change
            if change.change not in self.changes:
                own_ids = [line.change for line in self.changes_in_force if line.who == who]
                names = [mode.name for mode in self.listed_modes(traces)]
                needed = {"rename": ("mode", "to"), "merge": ("mode", "to"), "move": ("to",), "describe": ("mode",)}
                if change.kind == "undo" and not own_ids:
                    raise NothingToUndoError("there is no change of the modes to undo")
                for field in needed.get(change.kind, ()):
                    if getattr(change, field) is None:
                        raise DataError(f"to {change.kind} a mode, name it", field=field)
                if change.mode not in (None, *names) and change.kind != "describe":
                    raise DataError(f"no mode {change.mode!r}; there are {', '.join(names) or 'none'}", field="mode")
                if change.kind == "rename" and change.to in names:
                    raise DataError(f"there is a mode {change.to!r} already; merge the two", field="to")
                undoes = own_ids[-1] if change.kind == "undo" else None
                about = {"who": who, "when": now(), "records": records, "undoes": undoes}
                self.add(ModeLine.model_validate(change.model_dump(exclude={"items"}) | about))
                traces = self.save_modes()
            undone = self.changes.get(self.changes[change.change].undoes or "")
            taken_back = undone and {"change": undone.kind, "mode": undone.mode, "to": undone.to}
            return {**self.mode_state(traces), "undone": taken_back}

    def close(self) -> None:
        """Close the file."""
        if self._log:
            self._log.close()
