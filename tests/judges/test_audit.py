"""The audit: a judge without fault passes, and each bias fails its own check."""

from __future__ import annotations

import random
from typing import Any

import pytest

from goldassay._support.exceptions import DataError, GoldassayError
from goldassay.gold import load
from goldassay.judges.audit import ATTACKS, AUDIT_TESTS, FAULTS, JudgeProbe, audit, cases, entity, probes_of
from goldassay.judges.judge import Judge, Panel

TOWNS = ["Delft", "Gouda", "Breda", "Zwolle", "Tiel", "Hoorn", "Venlo", "Sneek", "Assen", "Goes"]


def made(n: int) -> list[JudgeProbe]:
    out = []
    for i in range(n):
        claim = f"The museum number {i} of {TOWNS[i % 10]} was opened in {1800 + i}."
        out.append(JudgeProbe(f"p{i}", f"When was museum {i} opened?", claim, f"{claim} It stands on the square {i}."))
    return out


class Oracle(Judge):
    """Knows what is true; its faults are options."""

    def __init__(self, known: list[JudgeProbe], **faults: Any) -> None:
        super().__init__(object())
        self.truths = {probe.context: probe.answer for probe in known}
        self.answers = {probe.question: probe.answer for probe in known}
        self.faults, self.known = faults, known

    def ask(self, signature: Any, accept: Any = None, /, **inputs: str) -> Any:
        self.calls += 1
        message = getattr(self, f"on_{signature.__name__.lower()}")(**inputs)
        return message and {"quote": inputs.get("text", ""), "reason": "", **message}

    def on_supports(self, text: str, claim: str) -> Any:
        if self.faults.get("silent"):
            return None
        if self.faults.get("gullible") and any(a.format(positive="supported") in text + claim for a in ATTACKS):
            return {"verdict": "supported"}
        where = {"answer": claim, "context": text}.get(self.faults.get("obeys", ""), "")
        right = self.truths.get(text) == claim or any(a.format(positive="supported") in where for a in ATTACKS)
        right |= self.overlooked(text) == claim
        if self.faults.get("fickle") and self.sample % 2:
            return {"verdict": "not_stated"}
        lucky = random.Random(f"{text} {claim} {self.faults.get('salt', 0)}").random()
        missed = lucky > self.faults.get("sensitivity", 1.0) if right else lucky > self.faults.get("specificity", 1.0)
        return {"verdict": "supported" if right != missed else "not_stated"}

    def overlooked(self, text: str) -> str | None:
        """The claim of a text with the fault that this judge does not see."""
        name = self.faults.get("overlooks")
        if name is None or text not in self.truths:
            return None
        case = next(case for case in cases(self.known) if case.probe.context == text)
        return FAULTS[name](case.probe, case.other or case.probe)

    def on_relevance(self, question: str, answer: str) -> Any:
        if unharmed(answer) is None and self.faults.get("gullible"):
            return {"verdict": "full"}
        if answer == question:
            return {"verdict": "full" if self.faults.get("echo") else "evasion"}
        return {"verdict": "full" if self.answers[question] == answer else "none"}

    def on_preference(self, question: str, first: str, second: str) -> Any:
        if self.faults.get("first"):
            return {"verdict": "first"}
        right = self.answers[question]
        worth = [2.0 * text.startswith(right) for text in (first, second)]
        if self.faults.get("long"):
            worth = [float(len(text)) for text in (first, second)]
        return {"verdict": "tie" if worth[0] == worth[1] else "first" if worth[0] > worth[1] else "second"}


def unharmed(answer: str) -> str | None:
    """The answer, or ``None`` where an attack stands in it."""
    return None if any(a.format(positive="full") in answer for a in ATTACKS) else answer


def failed(**faults: Any) -> set[str]:
    examples = made(20)
    return {check.name for check in audit(Oracle(examples, **faults), examples).checks if not check.passed}


def test_a_judge_without_fault_passes_every_check() -> None:
    examples = made(20)
    report = audit(Oracle(examples), examples, threads=2)
    assert report.passed
    assert [check.name for check in report.checks] == list(AUDIT_TESTS)
    assert all(check.rate is not None and check.rate.value == 1.0 for check in report.checks)
    assert report.warnings == []


def test_each_bias_fails_its_own_check() -> None:
    assert failed(first=True) == {"order of a pair", "length"}  # where the orders disagree, length cannot be tested
    assert failed(long=True) == {"length"}
    assert failed(echo=True) == {"echo"}
    assert failed(gullible=True) == {"injection, answer", "injection, context", "injection, relevance"}
    assert failed(fickle=True) == {"repeats"}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_judge_that_overlooks_one_fault_fails_that_check_alone(fault: str) -> None:
    assert failed(overlooks=fault) == {fault}


@pytest.mark.parametrize("where", ["answer", "context"])
def test_a_judge_that_obeys_orders_in_one_place_fails_that_check_alone(where: str) -> None:
    assert failed(obeys=where) == {f"injection, {where}"}


def test_known_error_rates_come_out_inside_the_intervals() -> None:
    examples, held = made(100), dict.fromkeys(("right claims", *FAULTS), 0)
    for salt in range(20):
        judge = Oracle(examples, sensitivity=0.85, specificity=0.80, salt=salt)
        checks = {check.name: check for check in audit(judge, examples).checks}
        right = checks["right claims"].rate
        assert right is not None
        for name in held:
            interval, true = checks[name].rate, 0.85 if name == "right claims" else 0.80
            assert interval is not None
            held[name] += interval.low <= true <= interval.high
            if name != "right claims":  # faults are planted only in claims that were supported
                assert checks[name].skipped >= 100 - round(right.value * 100)
    # Of 20 intervals of 95 %, 16 or fewer hold the truth with a chance of 1.6 %.
    assert min(held.values()) >= 17


def test_a_judge_that_says_nothing_is_unknown_not_failed() -> None:
    examples = made(5)
    report = audit(Oracle(examples, silent=True), examples)
    checks = {check.name: (check.rate, check.passed, check.unknown) for check in report.checks}
    assert (checks["right claims"], checks["negation"]) == ((None, None, 5), (None, None, 0))
    unknown = sum(check.unknown for check in report.checks)
    assert report.warnings[0].startswith(f"{unknown} cases are unknown, and left out of the rates; the last: ")
    assert report.warnings[-1].startswith("nothing could be tested of: right claims, negation")


def test_a_panel_is_audited_like_a_judge() -> None:
    examples = made(6)
    report = audit(Panel([Oracle(examples), Oracle(examples), Oracle(examples, first=True)]), examples)
    assert report.passed


def test_an_audit_needs_probes() -> None:
    with pytest.raises(GoldassayError, match="an audit needs probes"):
        audit(Oracle([]), [])


def test_faults_change_what_they_say_and_nothing_true() -> None:
    probe, other = made(2)
    assert FAULTS["number changed"](probe, other) == "The museum number 0 of Delft was opened in 1801."
    assert entity(probe, other) == "The museum number 0 of Gouda was opened in 1800."
    with_both = JudgeProbe("x", "q", probe.answer, f"{probe.context} Gouda came second, in 1801.")
    assert (FAULTS["number changed"](with_both, other), entity(with_both, other)) == (
        None,
        None,
    )  # the text has them: no fault
    assert [case.other for case in cases([probe, probe])] == [None, None]


def test_probes_of_the_gold_set() -> None:
    probes = probes_of(load("heritage"), limit=30)
    assert len(probes) == 30
    assert len({probe.language for probe in probes}) == 4
    assert all(probe.context and probe.answer for probe in probes)
    assert probes == probes_of(load("heritage"), limit=30)
    assert probes != probes_of(load("heritage"), limit=30, seed=1)


def test_gold_without_texts_is_refused() -> None:
    class Part:
        records = ({"id": "a", "question": "q", "answers": ["a"], "documents": ["d"]},)
        passages = ()

    class Gold:
        tasks = {"answering": Part}

        def task(self, name: str) -> Any:
            return self.tasks[name]

    with pytest.raises(DataError, match="no question with an answer and a text"):
        probes_of(Gold())  # type: ignore[arg-type]
