"""A review while people work on it: what pages are shown, what they decide, how far it is and how sure the result.

`Session.export` writes the gold and its card; the functions read what a review has so far.
"""

from __future__ import annotations

import ast
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import yaml

from goldassay._support import files
from goldassay._support.exceptions import DataError, GoldassayError, StorageError
from goldassay.core.fields import Fields, JsonObject, Record
from goldassay.core.measure import TASKS
from goldassay.ext.labelling.drafts import draft
from goldassay.ext.labelling.modes import ReviewedTrace, read_modes
from goldassay.ext.labelling.review.folder import Folder, Suggestion, json_lines
from goldassay.ext.labelling.review.journal import Decision, Journal, Line, NothingToUndoError, canonical
from goldassay.ext.labelling.review.quality import GOOD, Quality
from goldassay.ext.labelling.review.queue import Queue
from goldassay.gold import anyfields
from goldassay.gold.records import candidate_ids
from goldassay.measures.trajectories.records import TRAJECTORY, steps_of
from goldassay.running.head import now

GOLD_FILE = "gold.jsonl"
SLOW = 0.5  # seconds from which figures are computed rarely: people do not wait for them
VOCABULARY = {"type": "types", "predicate": "predicates"} | dict.fromkeys(
    ("label", "labels", "secondary_labels"), "labels"
)
"""The fields of a value whose words the page offers."""


class Session:
    """A folder with its decisions and its queue; its methods may be called from several threads.

    Args:
        folder: The folder.
        read_only: Whether nothing is decided; then another process may have the folder open.

    Raises:
        DataError: A file of the folder is broken.
    """

    def __init__(self, folder: Folder, read_only: bool = False) -> None:
        read_modes(folder.path)  # a file that cannot be read is an error now, not later on the page
        self.folder = folder
        self.journal = Journal(folder, read_only=read_only)
        self.queue = Queue(self.journal, None if read_only else folder.path / ".leases.json")
        self.quality = Quality(self.journal)
        self._computed: Fields = {}
        self._computing = threading.Lock()
        self._pause = 0.0  # until when slow figures are not computed again

    def setup(self, who: str, sitting: str) -> JsonObject:
        """The data that a page needs once."""
        folder = self.folder
        form = []  # the fields of a task of your own, with their types
        for name, type_ in () if folder.task in TASKS else anyfields.fields(folder.suggested).items():
            choices = list(ast.literal_eval(type_.removeprefix("Literal"))) if type_.startswith("Literal") else []
            form.append({"name": name, "type": type_.partition("[")[0], "description": "", "choices": choices})
        with self.journal.lock:
            words: dict[str, set[str]] = {kind: set() for kind in VOCABULARY.values()}
            for value in (*folder.suggested, *(line.value for line in self.journal.in_force() if line.value)):
                for holder in (value, *(value.get("entities") or ()), *(value.get("triples") or ())):
                    for name in VOCABULARY.keys() & holder.keys():
                        values = holder[name] if isinstance(holder[name], list) else [holder[name]]
                        words[VOCABULARY[name]].update(str(word) for word in values if word is not None)
            modes = self.journal.listed_modes(self.journal.traces())
            return {
                "title": folder.path.stem,
                "task": folder.task,
                "mode": folder.mode,
                "question": folder.design.question if folder.design.drafted else None,
                "outputs": folder.outputs,
                **{kind: sorted(texts) for kind, texts in words.items()},
                "several": "labels" in folder.outputs,
                "schema": folder.schema,
                "fields": form,
                "systems": self.systems(),
                "reviewer": who,
                "records": len(folder.records),
                "index": [[str(index), record["id"]] for index, record in enumerate(folder.records)],
                "next": self.queue.next(who, sitting),
                "guidelines": folder.guidelines(),
                "then": folder.next_steps,
                "judge": folder.settings.judge,
                "modes": [{"name": mode.name, "description": mode.description} for mode in modes],
                "progress": self.progress(who, sitting),
            }

    def systems(self) -> list[str] | None:
        """The names of the systems; None while they are hidden."""
        revealed = any(line.kind == "reveal" for line in self.journal.lines.values())
        hidden = self.folder.mode == "compare" and not revealed and self._left()
        return None if hidden else self.folder.systems

    def record(self, item: str, who: str) -> Fields:
        """A record as a page shows it.

        Raises:
            DataError: There is no such item.
        """
        folder = self.folder
        index, visit = folder.place(item)
        with self.journal.lock:
            hidden = self.systems() is None
            sides: list[JsonObject] = []
            for number, answer in enumerate(self._shown(index, visit), start=1):
                name = None if hidden else answer.system or None
                output = self._described(answer.output) if folder.task == "linking" else answer.output
                side: JsonObject = {"key": str(number), "system": name, "output": output, "value": answer.value}
                if steps := steps_of(output):
                    if hidden:  # the name of a model gives away whose answer it is
                        steps = [replace(step, name=step.kind) if step.kind == "model" else step for step in steps]
                    side["steps"] = [step.state() for step in steps]
                    side["output"] = {field: value for field, value in output.items() if field not in TRAJECTORY}
                sides.append(side)
            decision = self.journal.current(index, who, visit)
            return {
                "item": item,
                "visit": visit,
                "id": folder.records[index]["id"],
                "fields": folder.fields(index, blind=self._is_blind(index, visit)),
                "suggestions": sides,
                "blind": self._is_blind(index, visit),
                "decision": decision and self._own(decision),
            }

    def _is_blind(self, index: int, visit: str) -> bool:
        design = self.folder.design
        if visit == "conflict" or design.question == "errors":  # the answer is what is judged
            return False
        return index in self.queue.blind and bool(self.folder.suggestions(index))

    def _shown(self, index: int, visit: str) -> list[Suggestion]:
        """The suggestions of a visit; of a conflict the values that reviewers gave."""
        if visit == "conflict":
            labels = [
                line for line in self.journal.decisions(index).values() if line.kind == "label" and line.visit != visit
            ]
            values = {line.meaning: line.value for line in labels if line.value is not None}
            if len(values) > 1:
                return [Suggestion("", values[key] or {}, values[key] or {}) for key in sorted(values)]
        return [] if self._is_blind(index, visit) else self.folder.suggestions(index, visit)

    def _described(self, output: Record) -> JsonObject:
        """Links whose candidates have their label and description, where the knowledge base knows them."""
        links = []
        for link in output.get("links") or ():
            group = []
            for candidate in link.get("candidates") or ():
                entry = self.folder.knowledge.get(str(candidate["id"]))
                described = self.folder.entry(entry) if entry else {}
                group.append({**described, **candidate, "ids": candidate_ids(candidate)})
            links.append({**link, "candidates": group})
        return {**output, "links": links}

    def decide(self, decision: Decision, who: str, sitting: str) -> Fields:
        """Write a decision; returns what the page shows next.

        Raises:
            DataError: There is no such item, or the value is not gold of the task.
            NothingToUndoError: There is nothing to undo.
            StorageError: The decision cannot be written.
        """
        with self.journal.lock:
            if decision.decision in self.journal.changes:
                raise DataError("this id is that of a change of the modes; send another", field="decision")
            if decision.decision not in self.journal.lines:
                about: JsonObject = {"who": who, "sitting": sitting, "when": now()}
                if decision.kind == "undo":
                    last = self.journal.lines.get(decision.undoes) if decision.undoes else self.journal.last(who)
                    if last is None or last is not self.journal.current(last.index, who, last.visit):
                        raise NothingToUndoError("there is nothing to undo")
                    about |= {"undoes": last.decision, "item": last.item, "record": last.record}
                elif decision.kind != "reveal":
                    index, visit = self.folder.place(decision.item)
                    suggestions = self._shown(index, visit)
                    about |= {
                        "value": self._value(decision, index, suggestions),
                        "record": self.folder.records[index]["id"],
                        "blind": self._is_blind(index, visit),
                        "shown": [item.system for item in suggestions],
                    }
                self.journal.add(Line.model_validate(decision.model_dump() | about))
                self._pause = 0.0 if decision.kind == "reveal" else self._pause
            line = self.journal.lines[decision.decision]
            undone = self.journal.lines[line.undoes] if line.kind == "undo" and line.undoes else None
            item = undone.item if undone else line.item
            ahead = self.queue.next(who, sitting)
            judged = None  # a judge's verdict of the answer, now that a person has decided, and whether they agree
            if self.folder.settings.judge and line.kind == "label" and (both := self.quality.judgements(line)):
                good, verdict = both
                judged = {"verdict": verdict, "agrees": (verdict >= GOOD) == good}
            return {
                "decision": line.decision,
                "item": item,
                "next": [item, *(name for name in ahead if name != item)][: len(ahead) or 1] if undone else ahead,
                "progress": self.progress(who, sitting),
                "judge": judged,
                "undone": undone and self._own(undone),
            }

    def _own(self, line: Line) -> JsonObject:
        """The decision of its reviewer, with the modes under their present names."""
        fields = {"decision", "kind", "value", "choice", "good", "note", "modes", "grade", "step"}
        return {**line.model_dump(include=fields), "modes": self.journal.modes(line)}

    def _value(self, decision: Decision, index: int, suggestions: Sequence[Suggestion]) -> JsonObject | None:
        """The gold of a decision: what was sent, or the side that was chosen; None if it makes none."""
        if decision.kind != "label":
            return None
        # The value of the side that was chosen; of both sides if they say the same.
        values: dict[str, JsonObject | None] = {
            str(number): item.value for number, item in enumerate(suggestions, start=1)
        }
        if self.folder.task == "trajectories" and len(values) > 1 and suggestions[0].system:
            values = dict.fromkeys(values)  # the better continuation need not be right
        if values:
            same = len(set(map(canonical, values.values()))) == 1
            values |= {"both": values["1"] if same else None, "neither": None}
        if decision.choice is not None and decision.choice not in values:
            raise DataError(f"no side {decision.choice!r}; there are {', '.join(values) or 'none'}")
        value = values.get(decision.choice or "") if decision.value is None else decision.value
        if value is not None:
            self.folder.check(index, value)
        elif decision.good is not False and decision.choice is None:
            raise DataError("a label needs a value or a choice", record=self.folder.records[index]["id"])
        return value

    def _left(self) -> int:
        """How many records nobody has decided."""
        return len(self.folder.records) - len({line.index for line in self.journal.in_force() if line.kind != "skip"})

    def progress(self, who: str, sitting: str, *, fresh: bool = False) -> JsonObject:
        """How far the review is, and how sure its result.

        Args:
            who: The reviewer.
            sitting: The page.
            fresh: Whether the verdict and the quality of labels are computed anew, which may take a while.
        """
        with self.journal.lock:
            self.queue.keep(sitting)
            revision = len(self.journal.order)
            lines = self.journal.in_force()
            decided = [line for line in lines if line.kind != "skip" and line.visit == "first"]
            times = [line.seconds for line in self.journal.lines.values() if line.who == who and line.seconds][-30:]
            mine = [line for line in lines if line.sitting == sitting]
            left = self._left()
            systems = self.systems()
            due = fresh and self._computed.get("revision") != revision and time.monotonic() > self._pause
            computes = due and self._computing.acquire(blocking=False)  # one request computes, others go on
            settled = self.journal.all_settled() if computes else []
        if computes:
            try:
                began = time.monotonic()
                self._computed = {"revision": revision, **self.quality.state(lines, settled, systems is None)}
                seconds = time.monotonic() - began
                self._pause = began + 3 * seconds if seconds > SLOW else 0.0
            finally:
                self._computing.release()
        pace = median(times) if times else None
        return {
            "revision": revision,
            "stale": self._computed.get("revision") != revision,
            "done": len({line.index for line in decided}),
            "left": left,
            "total": len(self.folder.records),
            "conflicts": len(self.journal.conflicts()),
            "skipped": sum(line.kind == "skip" for line in lines),
            "unsure": sum(line.kind == "unsure" for line in lines),
            "pace": pace,
            "minutes": None if pace is None else left * pace / 60,
            "sitting": {"done": len(mine), "minutes": sum(line.seconds for line in mine) / 60},
            "verdict": self._computed.get("verdict"),
            "decided": (self._computed.get("verdict") or {}).get("decided", False),
            "systems": systems,
            "quality": self._computed.get("quality") or {},
            "judge": self._computed.get("judge"),
        }

    def search(self, text: str) -> list[JsonObject]:
        """The entries of the knowledge base whose names are nearest to a text."""
        matches = self.folder.knowledge.best([text], 20)[0] if text.strip() and self.folder.knowledge else []
        return [self.folder.entry(self.folder.knowledge[match.id]) for match in matches]

    def export(self) -> Fields:
        """Write ``gold.jsonl`` and ``card.yaml``; returns where, how many records, and what was left out.

        If somebody named a failure mode, or the draft is for errors, each record has its ``errors``: the modes, with
        note and grade; none means that it was read and nothing went wrong. ``reviewed.jsonl`` has all records that were
        read.

        Where a judge was asked, ``judge.jsonl`` has people's labels with its verdicts, for `goldassay judge eval`.
        Records whose decisions differ, on which somebody is unsure, or whose decision made no gold have none. Where
        systems are compared, they stay in the file, so that a comparison counts them as the page does; else they are
        left out.

        Raises:
            StorageError: A file cannot be written.
        """
        folder = self.folder
        with self.journal.lock:
            settled = self.journal.all_settled()
            lines = self.journal.in_force()
            traces = {trace.id: trace for trace in self.journal.save_modes()}
        records = self.quality.records(settled)
        if folder.design.question == "errors" or any(trace.modes for trace in traces.values()):
            for index, record in enumerate(records):
                if trace := traces.get(record["id"]):
                    step = {} if trace.step is None else {"step": trace.step}
                    errors = [{"mode": mode, "note": trace.note, "grade": trace.grade, **step} for mode in trace.modes]
                    records[index] = {**record, "errors": errors}
        with_gold = {line.record for line in settled if line and line.value is not None}
        labelled = [record for record in records if record["id"] in with_gold]
        gold = records if folder.mode == "compare" else labelled
        decided = {line.index for line in lines if line.kind != "skip"}
        left_out = len(decided) - len(labelled)
        card = {
            "name": folder.path.stem,
            "source": f"labelled with goldassay review by {len({line.who for line in lines})} people",
            "created": datetime.now(UTC).date().isoformat(),
            "files": {folder.task: GOLD_FILE},
            **({} if folder.task in TASKS else {"inputs": list(folder.inputs(0))}),
            "tasks": {folder.task: {"records": len(labelled)}},
            "review": {
                "records_in_draft": len(folder.records),
                "decided": len(decided),
                "left_out": left_out,
                "conflicts": len(self.journal.conflicts()),
                **self.quality.state(lines, settled)["quality"],
            },
        }
        verdicts: dict[str, Fields] = {}
        for line in lines:
            if line.visit == "first" and (both := self.quality.judgements(line)):
                good, verdict = both
                row = verdicts.setdefault(line.record, {"id": line.record, "verdict": verdict >= GOOD, "labels": {}})
                row["labels"][line.who] = good
        judged = list(verdicts.values())
        contents: dict[str, str | bytes] = {
            GOLD_FILE: json_lines(gold),
            "card.yaml": yaml.safe_dump(card, sort_keys=False, allow_unicode=True),
        }
        if judged:
            contents["judge.jsonl"] = json_lines(judged)
        files.save_all({folder.path / name: text for name, text in contents.items()})
        counts = {
            "decided records have no gold: conflicts, unsure, or answers that are all right or wrong": left_out,
            "records of the draft are not decided": len(folder.records) - len(decided),
        }
        return {
            "path": str(folder.path / GOLD_FILE),
            "records": len(labelled),
            "left_out": left_out,
            "warnings": [f"{count} {what}" for what, count in counts.items() if count],
            "systems": self.systems(),
        }

    def close(self) -> None:
        """Close the journal and the folder."""
        self.journal.close()
        self.folder.close()


def reviewed_traces(folder: Path) -> list[ReviewedTrace]:
    """The traces of a review that somebody has read, in that order, and writes ``reviewed.jsonl`` and ``modes.yaml``.

    Another process may have the folder open; of one that cannot be written the files stay as they are.

    Raises:
        DataError: It is not a folder of a review, or cannot be read.
    """
    with closing(Session(Folder.read(folder), read_only=True)) as session:
        try:
            return session.journal.save_modes()
        except StorageError:  # whoever may only read the folder may count what is in it
            return session.journal.traces()


def all_traces(folder: Path, sources: Sequence[Path] = ()) -> dict[str, tuple[JsonObject, JsonObject]]:
    """The inputs and the output of every trace that a review was drafted from, by id; read or not.

    Args:
        folder: The folder of the review.
        sources: Where the traces are, if not where the folder says.

    Raises:
        DataError: They are gone, or cannot be read.
    """
    review = Folder.read(folder)
    places = [*sources] or review.sources
    try:
        pool = review.pool(places)
        records = draft(pool, "level", n=len(pool.inputs)).records
    except GoldassayError as error:
        if sources:
            raise
        raise DataError(f"its traces cannot be read; name them, too: {error}", file=folder) from None
    everything = Folder(folder, review.settings, records)
    traces = {}
    for index, record in enumerate(records):
        answer = everything.first(index)
        traces[record["id"]] = (everything.inputs(index), answer.output if answer else {})
    return traces


def labels_of(folder: Path) -> tuple[list[Fields], dict[str, dict[str, Sequence[str]]]]:
    """The records of a review with their labels, in the order of these, and by their ids the modes of each system.

    Another process may have the folder open.

    Raises:
        DataError: It is not a folder of a review, or cannot be read.
    """
    with closing(Session(Folder.read(folder), read_only=True)) as session:
        settled = session.journal.all_settled()
        modes = {trace.id: trace.modes for trace in session.journal.traces()}
        failures = {line.record: session.quality.failures(line, modes[line.record]) for line in settled if line}
        return session.quality.records(settled), failures
