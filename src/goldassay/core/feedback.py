"""Feedback in words, rendered from the errors of one example: deterministic and bounded in length.

Besides the errors it may have what a reviewer noted about the same or similar inputs (`ReviewNotes`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from types import NoneType
from typing import Any

from goldassay._support import jsonl
from goldassay._support.exceptions import DataError
from goldassay._support.secrets import redact
from goldassay.core.fields import Fields, identity, is_example, names, read, without_enums
from goldassay.core.measure import RECORD_ERRORS, Assessment, Error, failed
from goldassay.core.steps import FINISH, SUBMIT, is_made_by, tools_of
from goldassay.core.tally import Evidence

FEEDBACK_SIZE = 1500  # characters of a feedback
REVIEWED_FILE = "reviewed.jsonl"


class ReviewNotes:
    """Reviewers' notes about outputs, by the inputs: the note of the reviewed record that is nearest to an example.

    Similarity is the cosine of TF-IDF vectors of character n-grams (2 to 4, inside words) of the inputs; near is at
    least `NEAR`. Of near records the one with the same inputs is the nearest, then the one with the same id, then the
    most similar with a note. A record that was read and has no failure has no note.

    Args:
        folder: The folder of a review, with its ``reviewed.jsonl``.

    Raises:
        DataError: It has none, or a line is not a reviewed record.
    """

    def __init__(self, folder: Path | str) -> None:
        file = Path(folder) / REVIEWED_FILE
        if not file.is_file():
            raise DataError(
                f"no notes here: expected {REVIEWED_FILE}, which the export of a review writes", file=folder
            )
        rows = list(jsonl.rows(file, what="a reviewed record", check=lambda row: (_note(row), {**row["fields"]})))
        self.names = sorted({name for row in rows for name in row["fields"]})
        self.ids = [identity(row, "") for row in rows]
        self.texts = [self._text(row["fields"]) for row in rows]
        self.notes = [_note(row) for row in rows]

    def about(self, example: object) -> str:
        """The note of the reviewed record that is nearest to an example, without secrets; empty if none is near."""
        least = 0.5  # the similarity of inputs from which a note is shown
        shown_size = 80  # characters of the similar inputs
        text = self._text(example)
        if not text or not any(self.texts):
            return ""
        similarity = self._similarity(text)
        name = identity(example, "")

        def rank(index: int) -> tuple[bool, bool, bool, float]:
            same_id = bool(name) and self.ids[index] == name
            return self.texts[index] == text, same_id, bool(self.notes[index]), similarity[index]

        near = [index for index in range(len(self.texts)) if similarity[index] >= least]
        if not near or not self.notes[best := max(near, key=rank)]:
            return ""
        inputs = "these inputs" if self.texts[best] == text else f'similar inputs ("{self.texts[best][:shown_size]}")'
        return redact(f"A reviewer noted on an earlier output for {inputs}: {self.notes[best]}")

    @cached_property
    def _similarity(self) -> Callable[[str], Sequence[float]]:
        """The similarity of a text to the inputs of each record."""
        return similarity_to(self.texts)

    def _text(self, example: object) -> str:
        """The inputs of an example as one text: the fields that reviewed records have."""
        return " ".join(" ".join(str(read(example, name, "")) for name in self.names).split())


def similarity_to(texts: Sequence[str]) -> Callable[[str], Sequence[float]]:
    """A function that gives a text's similarity to each of these: the cosine of TF-IDF vectors of character n-grams.

    Raises:
        ValueError: None of the texts has a letter or a digit.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer: Any = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), sublinear_tf=True)
    vectors = vectorizer.fit_transform(texts)
    return lambda text: (vectors @ vectorizer.transform([text]).T).toarray().ravel()


def _note(row: Fields) -> str:
    """A reviewer's note about a record, in one line: the note, and the kinds of failure; empty of no failure."""
    modes = f"({', '.join(row['modes'])})" if row["modes"] else ""
    return " ".join(f"{row['note'] or ''} {modes}".split())


def feedback(
    gold: object,
    pred: object,
    assessments: Mapping[str, Assessment],
    evidence: Evidence,
    pred_name: str | None = None,
    pred_trace: object = None,
    note: str = "",
    trace: object = None,
) -> str:
    """Feedback: what is right, what is wrong and what the measures ask, for the predictor ``pred_name`` if it is named.

    Args:
        gold: The gold example.
        pred: The prediction.
        assessments: Each measure's assessment, by its key.
        evidence: Their tallies, with the score that they make together.
        pred_name: The predictor that the feedback is for.
        pred_trace: Its calls, as an optimizer hands them over.
        note: A reviewer's note, which comes before the errors if there are any.
        trace: All calls of the program's predictors.
    """
    lower = dict.fromkeys(evidence.worst, ", lower is better")
    values = [f"{key} {tally.value:.3f}{lower.get(key, '')}" for key, tally in evidence.items()]
    lines = [f"Score {evidence.value:.3f} ({('; ' if lower else ', ').join(values)})."]
    if failure := failed(pred):
        lines.append(f"The program failed: {failure}")
    errors = list(dict.fromkeys(error for assessment in assessments.values() for error in assessment.errors))
    right = list(dict.fromkeys(text for assessment in assessments.values() for text in assessment.right))
    if pred_name:
        others = _of_other_agents(errors, pred, trace, pred_trace)
        lines += [f"{len(others)} more are of calls that {pred_name!r} did not make."] if others else []
        errors = [error for error in errors if error not in others]
        errors = _of_predictor(errors, gold, pred_name, pred_trace, lines)
    if right:  # in a quarter of the room
        ends = accumulate(len(text) + 2 for text in right)
        fitting = max(1, sum(end <= FEEDBACK_SIZE // 4 for end in ends))
        more = f" and {len(right) - fitting} more" if fitting < len(right) else ""
        lines.append(f"Right: {'; '.join(right[:fitting])}{more}.")
    lines += [note] if note and (errors or failure) else []
    for error in errors:
        lines.append(f"- {error.message}" if error.step is None else f"- Step {error.step + 1}: {error.message}")
    lines += ["Nothing is wrong here."] if not errors and not failure else []
    # The lines that fit; a line longer than a third of the limit is cut.
    lines = [line if len(line) <= FEEDBACK_SIZE // 3 else f"{line[: FEEDBACK_SIZE // 3 - 1]}…" for line in lines]
    fitting = max(1, sum(end <= FEEDBACK_SIZE - 40 for end in accumulate(len(line) + 1 for line in lines)))
    if fitting < len(lines):
        lines = [*lines[:fitting], f"… and {len(lines) - fitting} more."]
    return "\n".join(lines)


def _of_other_agents(errors: Sequence[Error], pred: object, trace: Any, pred_trace: Any) -> list[Error]:
    """The errors that the agent in ``pred_trace`` could not avoid, of a trajectory of several of DSPy's agents.

    A wrong call is of the agents that chose its tool and arguments; a missing one of the only agent that has the tool,
    or else of those that made the call before.
    """
    made = [(step, call) for step in trace or () for call in _calls(step[2])]
    outputs = {id(step[2]) for step in pred_trace or ()}
    agent = next((id(step[0]) for step, _ in made if id(step[2]) in outputs), None)
    fields = read(pred, "trajectory", None)
    calls: list[tuple[object, object]] = []
    for name in fields if isinstance(fields, Mapping) else ():
        if name.startswith("tool_name_"):
            calls.append((fields[name], fields.get(name.replace("name", "args", 1))))
    for turn in read(pred, "history.messages", None) or ():
        calls = [*(calls if not calls or calls[-1][0] != SUBMIT else ()), *_calls(turn)]
    calls = [call for call in calls if call[0] not in (FINISH, SUBMIT)] or calls
    others = []
    for error in errors if calls and agent else ():
        if error.step is not None:
            is_missing = error.kind == "missing_call"
            call = calls[max(0, min(error.step - is_missing, len(calls) - 1))]
            makers = {id(step[0]) for step, its_call in made if its_call == call}
            having = {id(step[0]) for step, _ in made if error.gold_type in _tools(step)}
            makers = having if is_missing and len(having) == 1 else makers
            others += [error] if makers and agent not in makers else []
    return others


def _calls(output: object) -> list[tuple[object, object]]:
    """The tool and the arguments of each call in an output of DSPy's ReAct or a turn of its ReActV2."""
    if name := read(output, "next_tool_name", None):
        return [(name, read(output, "next_tool_args", None))]
    return [(call.name, call.args) for call in read(output, "tool_calls.tool_calls", None) or ()]


def _tools(step: Any) -> Collection[str]:
    """The names of the tools of the agent that made a call."""
    return tools_of(step[0].signature) or [tool.name for tool in step[1].get("tools", ())]


def _of_predictor(errors: list[Error], gold: object, pred_name: str, pred_trace: Any, lines: list[str]) -> list[Error]:
    """The errors that this predictor could have avoided; a line each counts those of others, before and after it.

    Before one that is given nothing but fields of the example, such as one that writes the query, nothing was lost.
    """
    elsewhere = Counter(e.predictor for e in errors if e.predictor and not is_made_by(e.predictor, pred_name))
    lines += [f"{count} more are of {name!r}, not of {pred_name!r}." for name, count in elsewhere.items()]
    errors = [error for error in errors if error.predictor not in elsewhere]
    outputs: dict[str, object] = {}
    texts = [(name, str(value)) for step in pred_trace or () for name, value in dict(step[1]).items()]
    is_first = all(str(read(gold, name, None)) == text for name, text in texts)
    inputs = "" if is_first else " ".join(text for _, text in texts)
    for step in pred_trace or ():
        outputs |= dict(step[2].items()) if is_example(step[2]) else {}
    if not outputs:
        return errors
    output = " ".join(map(str, outputs.values()))
    attributed = []
    earlier = 0
    later = 0
    for error in errors:
        copied = error.kind not in ("spurious", *RECORD_ERRORS) and error.step is None  # calls are in no input
        mistyped = error.kind == "wrong_type" and error.pred_type not in output
        right = error.gold and error.gold in output and (error.kind == "missed" or mistyped)
        if error.predictor:
            attributed.append(error)
        elif error.gold and inputs and copied and error.gold not in inputs:
            earlier += 1
        elif error.field and error.field not in outputs and right:  # a later step lost or mistyped it
            later += 1
        else:
            attributed.append(error)
    if earlier:
        lines.append(f"{earlier} more were lost before {pred_name!r}: its input does not hold them.")
    if later:
        lines.append(f"{later} that {pred_name!r} had found were lost after it.")
    return attributed


def differences(gold: object, pred: object, text: str, value: float, reads: Collection[str] = ()) -> tuple[Error, ...]:
    """The errors of a function that gives only a number: its own words, or the fields that differ from gold.

    Args:
        gold: The gold example.
        pred: The prediction.
        text: What the function says itself.
        value: Its number.
        reads: The fields that it reads, if that is known: others are not its errors.
    """
    if text:
        return (Error("low_score", text),)
    from goldassay._support.dspy_compat import input_keys  # imports DSPy

    inputs = input_keys(gold) or ()
    fields = names(gold)
    errors = []
    for name in names(pred):
        expected = read(gold, name, None)
        value_of_pred = read(pred, name, None)
        is_read = not reads or name in reads
        if is_read and (expected is not None or name in fields) and name not in inputs and expected != value_of_pred:
            message = f"{name}: expected {expected!r}, got {value_of_pred!r}."
            values = [_as_json(value) for value in (expected, value_of_pred)]
            errors.append(Error("wrong_value", message, gold=values[0], pred=values[1], field=name))
    return tuple(errors) or (Error("low_score", f"The metric gives {value:.3f}."),)


def _as_json(value: object) -> str:
    """A text or number as it is, and anything else as JSON: an object equals the dict that files have in its place."""
    value = without_enums(value)
    return str(value) if isinstance(value, (str, int, float, NoneType)) else jsonl.dumps(value).strip('"')
