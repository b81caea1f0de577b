"""Edits in words: rules from the errors, what labels mean, how long a list may be, what a model proposes.

They are plain sentences, added to the instructions. The form in which answers are written is an edit, too.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Literal

import dspy
from pydantic import BaseModel

from goldassay._support import files
from goldassay._support.exceptions import GoldassayError, one_line
from goldassay.core.fields import Fields, read
from goldassay.models.lm import TerseAdapter
from goldassay.tuning.edits import Diagnosis, LabelWords, Slots, by_pattern, predictor_for
from goldassay.tuning.patches import Patch
from goldassay.tuning.patterns import Pattern
from goldassay.tuning.wrappers import Examples, Wrapped, fits, signatures

RULES: dict[str, Fields] = files.resource("rules.json")
"""Rules for each kind of error in a field of a record and in names and answers (these are left out if there is no
form to quote, or no place), and the names of marks.
"""
MARKS = RULES["marks"]


@by_pattern("rules")
def rules(diagnosis: Diagnosis, pattern: Pattern) -> list[Patch]:
    """Rules in words for each pattern, the general ones first.

    They name types, languages to look in, names to leave out, and where a name begins and ends. A program may have
    words for its types in ``type_words``, a mapping.
    """
    texts = rules_of(pattern, diagnosis.words)
    return [diagnosis.draft(pattern, "rules", action="add_instruction", text=text) for text in texts]


def rules_of(pattern: Pattern, words: LabelWords) -> list[str]:
    """The rules of one pattern."""
    kind = pattern.kind
    quoted = _quoted(pattern.surfaces[:6])
    if kind in RULES["steps"]:  # of a trajectory
        return [RULES["steps"][kind].format(**_of_step(pattern))]
    if kind in RULES["fields"] and pattern.errors[0].field == pattern.gold_type:  # of a record
        return [RULES["fields"][kind].format(field=pattern.gold_type, values=quoted)]
    gold = words.of(pattern.gold_type)
    pred = words.of(pattern.pred_type)
    if gold is None or pred is None:
        return []  # the prompt has no word for it
    if kind in ("missed", "spurious") and not (gold or pred):
        return []  # an error without a type, such as a document that was not found, is not named in an instruction
    if kind in ("wrong_label", "wrong_value"):
        cues = _quoted(words.cues(pattern.gold_type, pattern.pred_type), " or ")
        return [f"A text with {cues} is {gold}, not {pred}."] if cues else []
    names = {"gold": gold, "pred": pred, "quoted": quoted, "place": pattern.place}
    absent = [f"{{{name}}}" for name in ("quoted", "place") if not names[name]]
    texts = [text.format(**names) for text in RULES["names"].get(kind, ()) if not any(name in text for name in absent)]
    if kind == "missed":  # mostly in one language, and half as often again as its share of train says
        train = words.train
        of_train = Counter(str(read(example, "language", "") or "") for example in train)
        documents = len(pattern.documents)
        general = []
        for language, count in pattern.strata.get("language", {}).items():
            if count >= 0.7 * documents and count * len(train) >= 1.5 * of_train[language] * documents > 0:
                general.append(f"Find {gold} in texts of the language {language} too.")
        return [*general, *texts]
    return [*texts, *(_boundary(pattern, gold) if "boundary" in kind else ())]


def _of_step(pattern: Pattern) -> dict[str, str | int]:
    """The tools and the argument of a pattern of a trajectory, as rules name them."""
    argument = Counter(error.field.rpartition(".")[2] for error in pattern.errors).most_common(1)[0][0]
    tool = pattern.pred_type or pattern.gold_type
    return {"gold": pattern.gold_type, "tool": tool, "argument": argument, "step": (pattern.step or 0) + 1}


@by_pattern("tool", each=1)
def tool_descriptions(diagnosis: Diagnosis, pattern: Pattern) -> list[Patch]:
    """A sentence in the description of the tool that was called wrongly, or that another was taken for.

    It is added where DSPy's ReAct writes the tool into the instructions of its predictor.
    """
    text = RULES["tools"].get(pattern.kind)
    if not text:
        return []
    tool = pattern.gold_type or pattern.pred_type
    written = predictor_for(pattern, diagnosis.program)[1].instructions
    described = re.search(rf"\) {re.escape(tool)}, whose description is <desc>.*?(?=</desc>)", written, re.DOTALL)
    if described is None:
        return []
    names = _of_step(pattern)
    text = f"{described[0].rstrip()} {text.format(**names)}"
    return [diagnosis.draft(pattern, "tool", action="replace_instruction", old=described[0], text=text)]


def _boundary(pattern: Pattern, what: str) -> list[str]:
    """The mark and the words at the edges of names that are most often missing, and those that are too much."""
    texts = []
    pairs = [(error.gold, error.pred) for error in pattern.errors]
    ends = (("belongs", 0, 1), ("does not belong", 1, 0)) if pattern.kind == "wrong_boundary" else ()
    for verb, longer, shorter in ends:
        marked = [pair for pair in pairs if pair[longer][:-1] == pair[shorter] and pair[longer][-1:] in MARKS]
        for mark, _ in Counter(pair[longer][-1] for pair in marked).most_common(1):
            gold, pred = next(pair for pair in marked if pair[longer][-1] == mark)
            texts.append(f'The final {MARKS[mark]} {verb} to {what}: "{gold}", not "{pred}".')
    extra = Counter[str]()
    missing = Counter[str]()
    for pair in pairs:
        gold_words, words = [[word.strip("".join(MARKS)) for word in name.split()] for name in pair]
        if gold_words and words:
            extra.update({words[0], words[-1]} - {*gold_words})
            missing.update({gold_words[0], gold_words[-1]} - {*words})
    for text, counts in (("Leave {} out of {}.", extra), ("Include {} in {}: give the whole name.", missing)):
        if counts:
            texts.append(text.format(", ".join(repr(word) for word, _ in counts.most_common(4)), what))
    return texts


def definitions(diagnosis: Diagnosis) -> Slots:
    """A line for each confused pair of labels, with examples of both (slot ``definitions``)."""
    words = diagnosis.words
    lines: dict[str, None] = {}
    confused = [
        pattern
        for pattern in diagnosis.patterns
        if pattern.kind == "wrong_type" and pattern.gold_type and pattern.pred_type
    ]
    for pattern in confused[:3]:
        gold = words.of(pattern.gold_type)
        pred = words.of(pattern.pred_type)
        names = _quoted(_names(diagnosis.train, gold))
        pred_names = _quoted(_names(diagnosis.train, pred))
        if gold and pred and names and pred_names:
            lines[f"{gold} is {names}; {pred_names} is {pred}."] = None
    if not lines:
        return {}
    patch = diagnosis.draft(confused[0], "definitions", action="add_instruction", text="\n".join(lines))
    return {"definitions": [patch]}


def _names(train: Examples, label: str | None) -> list[str]:
    """At most three names that the demonstrations have under a label, those with the most different letters first."""
    names: dict[str, None] = {}
    for example in train:
        for item in (item for _, value in example.items() if isinstance(value, list) for item in value):
            row = item if isinstance(item, dict) else getattr(item, "__dict__", {})
            if label in row.values():
                names.update({str(text): None for text in row.values() if isinstance(text, str) and text != label})
    return sorted(names, key=lambda name: (len(name) > 40, -len(set(name))))[:3]


def list_length(diagnosis: Diagnosis) -> Slots:
    """How long a list may be: train's 95th percentile, if too much is predicted (slot ``bound``)."""
    many = [pattern for pattern in diagnosis.patterns if pattern.kind in ("spurious", "not_in_text", "duplicate")]
    for name, signature in signatures(diagnosis.program).items() if many else ():
        for key in signature.output_fields:
            lists = (example.get(key) for example in diagnosis.train if fits(example, signature))
            sizes = sorted(len(items) for items in lists if isinstance(items, list))
            if len(sizes) >= 10:
                text = f"Give at most {max(1, sizes[math.ceil(0.95 * len(sizes)) - 1])} {key}."
                patch = diagnosis.draft(many[0], "bounds", predictor=name, action="add_instruction", text=text)
                return {"bound": [patch]}
    return {}


class ProposedEdit(BaseModel):
    """One edit that a model proposes."""

    action: Literal["add_instruction", "replace_instruction"]
    text: str
    old: str = ""


class Reflect(dspy.Signature):  # type: ignore[misc]
    """Propose short edits of an instruction so that a group of mistakes is not made again. Write general rules that
    also help on new texts; never copy whole sentences from the evidence."""

    instruction: str = dspy.InputField()
    mistakes: str = dspy.InputField(desc="what kind of mistake, how often, what it costs")
    evidence: list[str] = dspy.InputField(desc="single mistakes with the words around")
    tried: list[str] = dspy.InputField(desc="edits that were measured before, and what they did to the score")
    edits: list[ProposedEdit] = dspy.OutputField(desc="at most three, other than those tried")


@by_pattern("reflection")
def reflection(diagnosis: Diagnosis, pattern: Pattern, lm: dspy.BaseLM) -> list[Patch]:
    """Edits that a language model proposes from the evidence of a pattern; none is trusted before it is tested.

    A model that gives no usable edit raises nothing: the diagnosis notes it in its ``failures``.

    Args:
        diagnosis: What edits are made from.
        pattern: The pattern.
        lm: The model.
    """
    mistakes = f"{pattern.name}: {pattern.count} times, loss {pattern.loss:.4f}"
    evidence = [error.message for error in pattern.errors[:8]]
    text, answer = _ask(Reflect, "gave no usable edit", lm, diagnosis, pattern, mistakes=mistakes, evidence=evidence)
    patches = []
    for edit in answer.edits[:3]:
        fields = edit.model_dump()
        if edit.action != "replace_instruction" or not edit.old or text.count(edit.old) != 1:
            fields = {"action": "add_instruction", "text": edit.text.strip()}
        if fields["text"].strip():
            patches.append(diagnosis.draft(pattern, "reflection", **fields))
    return patches


def _ask(
    question: type[dspy.Signature],
    failure: str,
    lm: dspy.BaseLM,
    diagnosis: Diagnosis,
    pattern: Pattern,
    **inputs: object,
) -> tuple[str, dspy.Prediction]:
    """The instruction of the predictor that a pattern is about, and a model's answer to a question about it.

    Raises:
        GoldassayError: The model failed, or its answer cannot be read: a message with ``failure``.
    """
    text = predictor_for(pattern, diagnosis.program)[1].instructions
    try:
        with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
            return text, dspy.Predict(question)(instruction=text, tried=list(diagnosis.tried[-12:]), **inputs)
    except Exception as error:
        raise GoldassayError(f"the reflection model {failure}: {one_line(error)[:300]}") from error


class Rewrite(dspy.Signature):  # type: ignore[misc]
    """Write the instruction of a prompt anew, so that fewer of these mistakes are made on new texts. Keep its task and
    what it says about the form of the answer; write general rules, and never copy whole sentences from the evidence."""

    instruction: str = dspy.InputField()
    mistakes: list[str] = dspy.InputField(desc="kinds of mistakes, what they cost, and one of each")
    tried: list[str] = dspy.InputField(desc="edits that were measured before, and what they did to the score")
    new_instruction: str = dspy.OutputField(desc="the whole instruction, other than those tried")


def rewritten(diagnosis: Diagnosis, lm: dspy.BaseLM) -> Slots:
    """The whole instruction as a language model writes it from the costliest patterns (slot ``instruction``).

    Raises:
        GoldassayError: The model wrote none.
    """
    mistakes = [
        f"{pattern.name}, loss {pattern.loss:.4f}: {pattern.errors[0].message}" for pattern in diagnosis.patterns[:6]
    ]

    @by_pattern("")
    def propose(diagnosis: Diagnosis, pattern: Pattern) -> list[Patch]:
        text, answer = _ask(Rewrite, "wrote no instruction", lm, diagnosis, pattern, mistakes=mistakes)
        new = answer.new_instruction.strip()
        return [diagnosis.draft(pattern, "rewritten", action="replace_instruction", old=text, text=new)] if new else []

    costliest = replace(diagnosis, patterns=diagnosis.patterns[:1])
    return dict(zip(("instruction",), propose(costliest).values(), strict=False))


def answer_form(diagnosis: Diagnosis) -> Slots:
    """The other form than the one in which answers are written now, JSON or lines (slot ``form of the answer``)."""
    adapter = dspy.settings.adapter
    asked = signatures(diagnosis.program).values()
    formed = isinstance(diagnosis.program, Wrapped) and diagnosis.program.form
    if formed or not isinstance(adapter, TerseAdapter) or not any(map(TerseAdapter("lines").lines, asked)):
        return {}
    now, other = ("lines", "json") if any(map(adapter.lines, asked)) else ("json", "lines")
    why = f"answers are written as {now} now"
    return {"form of the answer": [diagnosis.draft(proposer="form", action="set_form", text=other, rationale=why)]}


def _quoted(names: Iterable[str], separator: str = ", ") -> str:
    return separator.join(f'"{name}"' for name in names)
