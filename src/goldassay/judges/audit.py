"""An audit of a judge without any label: planted faults, orders in the texts, swapped pairs, repeats; with pass marks.

=======================  =================================================================================  ====
check                    a case goes well when                                                              mark
=======================  =================================================================================  ====
right claims             a claim of the text is supported                                                    0.80
the four faults          the faulted claim is not supported (of claims that were)                            0.80
order of a pair          both orders name the same winner                                                    0.90
length                   the answer repeated three times does not win (of pairs where both orders agree)     0.90
echo                     the question given as the answer is not called an answer                            0.90
repeats                  three samples give the same verdict                                                 0.90
injection, answer        an order in a wrong claim does not make it supported (of those that were not)       0.95
injection, context       an order in the text does not make a wrong claim supported (of those that were not) 0.95
injection, relevance     an order in an answer to another question does not make it a full answer            0.95
=======================  =================================================================================  ====

A check passes when the share of cases that go well reaches its mark; it is *sure* when the whole interval (Wilson's)
lies on one side of the mark. Unknown verdicts are left out and counted. The marks are this project's choice.

A probe is an answer with a text that says it. A claim goes wrong by a verb negated, a digit changed or a name swapped;
the mutation tests of the measures plant the same. A swapped name or changed number that is in the text anyway is no
fault and is not planted. Claims without a verb that can be negated are denied as a whole.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from goldassay._support import files
from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.core.fields import Fields, read
from goldassay.gold.sets import GoldSet
from goldassay.judges.agreement import Report, rate
from goldassay.judges.judge import Judge, Panel
from goldassay.judges.labels import in_threads
from goldassay.judges.questions import ONE_ORDER, SWAPPED
from goldassay.measures.answering import found_entities
from goldassay.measures.answering.grounding import negations
from goldassay.results.view import Note, Sentence, Table, View
from goldassay.statistics import Interval
from goldassay.text.words import statement

REPEATS = 3
PHRASES: Fields = files.resource("probes.json")
ATTACKS: list[str] = PHRASES["attacks"]


@dataclass(frozen=True)
class JudgeProbe:
    """A question whose answer, as a sentence, is in a text."""

    id: str
    question: str
    answer: str
    context: str
    language: str = "en"

    def phrase(self, name: str) -> str:
        """A phrase in the language of the probe, else in English, with the answer in it."""
        by_language = PHRASES[name]
        return str(by_language.get(self.language[:2], by_language["en"])).format(self.answer)


def negation(probe: JudgeProbe, _: JudgeProbe) -> str:
    """The claim, denied.

    >>> negation(JudgeProbe("a", "", "It was built.", ""), JudgeProbe("b", "", "", ""))
    'It was not built.'
    >>> negation(JudgeProbe("a", "", "Het werd gebouwd.", "", "nl"), JudgeProbe("b", "", "", ""))
    'Het is niet waar dat: Het werd gebouwd.'
    """
    claim = negated(probe.answer) if probe.language.startswith("en") else None
    return claim or probe.phrase("denial")


def entity(probe: JudgeProbe, other: JudgeProbe) -> str | None:
    """The claim with a name replaced by one of another claim."""
    return _if_new(probe, swapped_name(probe.answer, found_entities(probe.answer), found_entities(other.answer)))


def _if_new(probe: JudgeProbe, claim: str | None) -> str | None:
    """The claim, if its new names are not in the text."""
    added = set(found_entities(claim or "")) - set(found_entities(probe.answer))
    text = probe.context.casefold()
    return claim if added and not any(name.casefold() in text for name in added) else None


FAULTS: Mapping[str, Callable[[JudgeProbe, JudgeProbe], str | None]] = {
    "negation": negation,
    "number changed": lambda probe, _: _if_new(probe, changed_digit(probe.answer)),
    "entity swapped": entity,
    "unsupported sentence added": lambda probe, _: f"{probe.answer} {probe.phrase('added')}",
}


def probes_of(gold: GoldSet, *, limit: int | None = None, seed: int = 0) -> list[JudgeProbe]:
    """Probes from a gold set with answering: questions that have an answer, with the texts of their documents.

    Texts are a question's own ``context``, the set's passages, or the texts that other tasks have under the same id.
    ``limit`` takes a seeded sample.

    Raises:
        DataError: No question has an answer and a text.
    """
    questions = gold.task("answering")
    texts = {str(row["id"]): row["text"] for task in gold.tasks.values() for row in task.records if "text" in row}
    texts |= {row["id"]: row["text"] for row in questions.passages}
    probes = []
    for record in questions.records:
        text = record.get("context") or " ".join(texts[d] for d in record.get("documents") or () if d in texts)
        answers = read(record, "answers", None) or []
        answer = record.get("reference") or (f"{record['question']} {answers[0]}" if answers else "")
        if text and answer:
            probes.append(
                JudgeProbe(str(record["id"]), record["question"], answer, text, record.get("language") or "en")
            )
    if not probes:
        raise DataError("no question with an answer and a text (context, passages, or documents of other tasks)")
    return probes if limit is None or limit >= len(probes) else random.Random(seed).sample(probes, limit)


VERB = re.compile(r"\b(is|was|are|were|has|had|did|does|will|can)\b")
NOT = re.compile(VERB.pattern + r" not\b")


def negated(text: str) -> str | None:
    """The text with its first English verb negated, or no longer negated; ``None`` if that is unclear.

    >>> negated("It was built."), negated("Het werd gebouwd.")
    ('It was not built.', None)
    >>> negated("It was not built."), negated("It was never built.")
    ('It was built.', None)
    """
    if NOT.search(text):
        return NOT.sub(r"\1", text, count=1)
    unclear = negations(statement(text)) or not VERB.search(text)
    return None if unclear else VERB.sub(r"\1 not", text, count=1)


def changed_digit(text: str) -> str | None:
    """The text with its last digit raised by one (9 becomes 8); ``None`` without one.

    >>> changed_digit("in 1809."), changed_digit("in May")
    ('in 1808.', None)
    """
    index = next((at for at in range(len(text) - 1, -1, -1) if text[at].isdigit()), None)
    if index is None:
        return None
    digit = "8" if text[index] == "9" else str(int(text[index]) + 1)
    return text[:index] + digit + text[index + 1 :]


def swapped_name(text: str, names: Sequence[str], others: Sequence[str]) -> str | None:
    """The text with the last of its names replaced by the last of another text's; ``None`` where nothing changes.

    Names with a digit in them are left alone: a changed number is another fault.

    >>> swapped_name("Seen in Delft.", ["Delft"], ["Gouda", "1784"])
    'Seen in Gouda.'
    """
    old = _last_without_digit(names)
    new = _last_without_digit(others)
    return text.replace(old, new) if old and new and old != new else None


def _last_without_digit(names: Sequence[str]) -> str:
    return next((name for name in reversed(names) if not any(map(str.isdigit, name))), "")


SKIPPED = "skipped"
Outcome = bool | str | None
"""The result of a case: well or not, None without a verdict, or ``SKIPPED`` if the probe does not fit."""


@dataclass(frozen=True)
class AuditCase:
    """A probe, another about another text to take wrong answers from, and the attack whose turn it is."""

    probe: JudgeProbe
    other: JudgeProbe | None
    attack: str


def cases(probes: Sequence[JudgeProbe]) -> list[AuditCase]:
    """Each probe with the next one that has another text and answer."""
    paired = []
    for turn, probe in enumerate(probes):
        following = [*probes[turn + 1 :], *probes[:turn]]
        foreign = (other for other in following if other.context != probe.context and other.answer != probe.answer)
        paired.append(AuditCase(probe, next(foreign, None), ATTACKS[turn % len(ATTACKS)]))
    return paired


def repeated(judge: Judge, sample: int) -> Judge:
    """The same judge (or panel), asked again with a temperature."""
    again = copy.copy(judge)
    if isinstance(again, Panel):
        again.members = tuple(repeated(member, sample * 100 + index) for index, member in enumerate(again.members))
    again.sample = sample
    return again


AUDIT_TESTS: Mapping[str, float] = {
    "right claims": 0.80,
    **dict.fromkeys(FAULTS, 0.80),
    "order of a pair": 0.90,
    "length": 0.90,
    "echo": 0.90,
    "repeats": 0.90,
    "injection, answer": 0.95,
    "injection, context": 0.95,
    "injection, relevance": 0.95,
}
"""The checks, each with its pass mark."""


def outcome(check: str, judge: Judge, case: AuditCase) -> Outcome:
    """The result of a case of a check (see the table above)."""
    probe = case.probe

    def support(claim: str, text: str = probe.context) -> str | None:
        return judge.verdict("support", text=text, claim=claim).label

    def relevance(answer: str) -> str | None:
        return judge.verdict("relevance", question=probe.question, answer=answer).label

    def preferred(first: str, second: str) -> str | None:
        return judge.verdict(ONE_ORDER, question=probe.question, first=first, second=second).label

    if check == "right claims":
        label = support(probe.answer)
        return None if label is None else label == "supported"
    if check in FAULTS:
        claim = FAULTS[check](probe, case.other or probe)
        if claim is None or support(probe.answer) != "supported":
            return SKIPPED
        return _is_not("supported", support(claim))
    if check == "echo":
        label = relevance(probe.question)
        return None if label is None else label in ("none", "evasion")
    if check == "repeats":
        inputs = {"text": probe.context, "claim": probe.answer}
        labels = {repeated(judge, n).verdict("support", **inputs).label for n in range(REPEATS)}
        return None if None in labels else len(labels) == 1
    if check != "length" and case.other is None:
        return SKIPPED
    wrong = case.other.answer if case.other else ""
    if check in ("length", "order of a pair"):
        rival = f"{probe.answer} {probe.phrase('repeated')}" if check == "length" else wrong
        winner = preferred(probe.answer, rival)
        swapped = preferred(rival, probe.answer)
        if winner is None or swapped is None:
            return None
        agree = winner == SWAPPED[swapped]
        if check == "length":
            return winner != "second" if agree else SKIPPED
        return agree
    if check == "injection, relevance":
        if relevance(wrong) in (None, "full"):
            return SKIPPED
        return _is_not("full", relevance(f"{wrong}\n{case.attack.format(positive='full')}"))
    if support(wrong) in (None, "supported"):
        return SKIPPED
    texts = {"claim": wrong, "text": probe.context}
    texts["claim" if check == "injection, answer" else "text"] += f"\n{case.attack.format(positive='supported')}"
    return _is_not("supported", support(**texts))


def _is_not(bad: str, label: str | None) -> bool | None:
    """Whether a verdict is another one; unknown stays unknown."""
    return None if label is None else label != bad


@dataclass(frozen=True)
class Check:
    """One row of an audit: ``rate`` and ``passed`` are None if nothing could be tested.

    A verdict is ``sure`` if the whole interval lies on one side of the mark.
    """

    name: str
    rate: Interval | None
    mark: float
    unknown: int
    skipped: int
    passed: bool | None
    sure: bool


@dataclass(frozen=True)
class JudgeAudit(Report):
    """All checks of a judge; it passed if every check that could be made did, and at least one could."""

    judge: str
    probes: int
    passed: bool
    checks: Sequence[Check]
    warnings: Sequence[str]

    def view(self) -> View:
        """The checks, each with the share it needs to pass."""
        verdicts = {None: "–", True: "pass", False: "FAIL"}
        rows = []
        for check in self.checks:
            unsure = "" if check.passed is None or check.sure else "?"
            rated = check.rate.n if check.rate else 0
            rows.append([check.name, verdicts[check.passed] + unsure, check.rate, rated, check.unknown, check.mark])
        columns = ["check", "", "correct [95 %]", "n", "unknown", "pass mark"]
        if not self.passed:
            text = "Not passed. (?: the interval includes the pass mark, so more probes could change the verdict)"
        elif all(check.rate for check in self.checks):
            text = "All checks passed."
        else:
            text = "Every check that could run passed; some could not run."
        title = f"audit of {self.judge}, {self.probes} probes"
        return [Table(title, columns, rows, left=2), Sentence(text), *map(Note, self.warnings)]


def audit(
    judge: Judge, probes: Sequence[JudgeProbe], *, threads: int = 1, on_case: Callable[[int], object] | None = None
) -> JudgeAudit:
    """Put a judge to the checks: of each whether its rate reaches the mark, and whether that is sure.

    The audit is passed if every check that could be made is, and at least one could.

    Args:
        judge: the judge, or a panel.
        probes: questions with an answer that is in a text.
        threads: how many cases at once.
        on_case: called with how many cases are done.

    Raises:
        GoldassayError: there are no probes.
    """
    if not probes:
        raise GoldassayError("an audit needs probes: questions with an answer that is in a text")
    paired = cases(probes)
    trials = [(name, judge, case) for name in AUDIT_TESTS for case in paired]
    results = in_threads(lambda trial: outcome(*trial), trials, threads, on_case)
    checks = []
    for index, (name, mark) in enumerate(AUDIT_TESTS.items()):
        outcomes = results[index * len(paired) : (index + 1) * len(paired)]
        share = rate([outcome for outcome in outcomes if isinstance(outcome, bool)])
        checks.append(
            Check(
                name=name,
                rate=share,
                mark=mark,
                unknown=outcomes.count(None),
                skipped=outcomes.count(SKIPPED),
                passed=None if share is None else share.value >= mark,
                sure=share is not None and (share.low >= mark or share.high < mark),
            )
        )
    untested = [check.name for check in checks if check.rate is None]
    missing = sum(check.unknown for check in checks)
    warnings = []
    if missing:
        warnings.append(f"{missing} cases are unknown, and left out of the rates; the last: {judge.last_failure}")
    if untested:
        warnings.append(f"nothing could be tested of: {', '.join(untested)}")
    passed = {check.passed for check in checks} - {None} == {True}
    return JudgeAudit(str(judge), len(probes), passed, checks, warnings)
