"""The failure modes of a review: which traces have them, what they are, and how they change.

They are what the journal's lines say. ``modes.yaml`` is written from them, for people and for the tools that come after
a review; a new description that somebody writes in it becomes a line of the journal. A mode that is added there needs
one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from operator import itemgetter

import yaml

from goldassay._support import files
from goldassay._support.exceptions import DataError
from goldassay._support.secrets import redact
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
from goldassay.ext.labelling.review.journal import Journal, ModeChange, ModeLine, NothingToUndoError
from goldassay.running.head import now
from goldassay.statistics.design import SAMPLING, sampling_of

BY_HAND = "modes.yaml"  # who edited a description in the file


class Modes:
    """The modes of a review.

    Args:
        journal: The decisions.
    """

    def __init__(self, journal: Journal) -> None:
        self.folder = journal.folder
        self.journal = journal

    def traces(self) -> list[ReviewedTrace]:
        """The traces that somebody has read, in that order.

        What several reviewers noted is put together: a trace has every mode that one of them gave it, and the last note
        and grade. A repeated visit measures the reviewer, and is left out.
        """
        folder = self.folder
        order = self.journal.order
        traces: list[tuple[int, ReviewedTrace]] = []
        for index, record in enumerate(folder.records):
            decisions = self.journal.decisions(index).values()
            lines = [line for line in decisions if line.kind != "skip" and line.visit != "repeat"]
            if not lines:
                continue
            lines.sort(key=lambda line: order[line.decision])
            settled = self.journal.settled(index)
            answer = folder.first(index)
            sampling = sampling_of(record[SAMPLING]) if record.get(SAMPLING) else None
            trace = ReviewedTrace(
                str(record["id"]),
                folder.inputs(index),
                answer.output if answer else {},
                settled.value if settled else None,
                tuple(dict.fromkeys(mode for line in lines for mode in self.journal.modes(line))),
                next((line.note for line in reversed(lines) if line.note), None),
                next((line.grade for line in reversed(lines) if line.grade), None),
                sampling,
                (sampling.wave if sampling else None) or folder.settings.created,
                next((line.step for line in reversed(lines) if line.step is not None), None),
            )
            traces.append((order[lines[0].decision], trace))
        return [trace for _, trace in sorted(traces, key=itemgetter(0))]

    def listed(self, traces: Sequence[ReviewedTrace]) -> list[Mode]:
        """The modes that a trace has, and those that somebody described, with the first traces that have them."""
        return examples_of(traces, self.journal.descriptions() | self._edited())

    def _edited(self) -> dict[str, str]:
        """The descriptions in the file that the journal never had."""
        texts = {"", *(change.description for change in self.journal.changes.values())}
        modes = {mode.name: redact(mode.description) for mode in read_modes(self.folder.path)}
        return {name: text for name, text in modes.items() if text not in texts}

    def save(self) -> list[ReviewedTrace]:
        """Write ``modes.yaml`` and ``reviewed.jsonl``; returns the traces that were read.

        Raises:
            DataError: ``modes.yaml`` was edited and is broken now.
            StorageError: A file cannot be written.
        """
        traces = self.traces()
        modes = self.listed(traces)
        for name, text in self._edited().items():
            about = {"change": f"{BY_HAND} {len(self.journal.order)}", "who": BY_HAND, "when": now()}
            edit = {**about, "kind": "describe", "mode": name, "description": text}
            self.journal.add(files.validated(ModeLine, edit, self.folder.path / MODES_FILE))
        contents = {TRACES_FILE: traces_as_text(traces)}
        if modes or (self.folder.path / MODES_FILE).exists():
            state = [{**asdict(mode), "examples": list(mode.examples)} for mode in modes]
            contents[MODES_FILE] = yaml.safe_dump({"modes": state}, sort_keys=False, allow_unicode=True)
        files.save_all({self.folder.path / name: text for name, text in contents.items()})
        return traces

    def state(self, traces: Sequence[ReviewedTrace]) -> JsonObject:
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

        state = ModeTable.of(traces, self.listed(traces)).state()
        for mode in state["modes"]:
            mode["examples"] = listed(trace for trace in traces if mode["name"] in trace.modes)
            mode["cost"] = mode["cost"] and mode["cost"]["value"]
        return {**state, "untagged": listed(trace for trace in traces if trace.note and not trace.modes)}

    def change(self, change: ModeChange, who: str) -> JsonObject:
        """Write a change of the modes; returns them as the page shows them.

        Args:
            change: The change.
            who: The reviewer.

        Raises:
            DataError: There is no such item or mode, or the change lacks a name.
            NothingToUndoError: There is nothing to undo.
            StorageError: The change cannot be written.
        """
        journal = self.journal
        with journal.lock:
            records = [self.folder.records[self.folder.place(item)[0]]["id"] for item in change.items]
            if change.change in journal.lines:
                raise DataError("this id is that of a decision; send another", field="change")
            traces = self.save()  # what was edited by hand came before this change
            if change.change not in journal.changes:
                own_ids = [line.change for line in journal.changes_in_force if line.who == who]
                self._check(change, own_ids, [mode.name for mode in self.listed(traces)])
                undoes = own_ids[-1] if change.kind == "undo" else None
                about = {"who": who, "when": now(), "records": records, "undoes": undoes}
                journal.add(ModeLine.model_validate(change.model_dump(exclude={"items"}) | about))
                traces = self.save()
            undone = journal.changes.get(journal.changes[change.change].undoes or "")
            taken_back = undone and {"change": undone.kind, "mode": undone.mode, "to": undone.to}
            return {**self.state(traces), "undone": taken_back}

    def _check(self, change: ModeChange, own_ids: Sequence[str], names: Sequence[str]) -> None:
        """Check that a reviewer with these changes can make one of the modes of these names."""
        if change.kind == "undo" and not own_ids:
            raise NothingToUndoError("there is no change of the modes to undo")
        needed = {"rename": ("mode", "to"), "merge": ("mode", "to"), "move": ("to",), "describe": ("mode",)}
        for field in needed.get(change.kind, ()):
            if getattr(change, field) is None:
                raise DataError(f"to {change.kind} a mode, name it", field=field)
        if change.mode not in (None, *names) and change.kind != "describe":
            raise DataError(f"no mode {change.mode!r}; there are {', '.join(names) or 'none'}", field="mode")
        if change.kind == "rename" and change.to in names:
            raise DataError(f"there is a mode {change.to!r} already; merge the two", field="to")
