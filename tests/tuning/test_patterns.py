"""Error patterns and what they cost."""

from __future__ import annotations

import json
import random
from typing import Any
from unittest.mock import patch

import dspy
import pytest

from goldassay import Counts, Error, Metric
from goldassay.core.tally import RATE_TALLIES, Confusion, Evidence
from goldassay.measures import trajectories
from goldassay.measures.classification import Accuracy, LabelF1
from goldassay.measures.extraction import SemEval, SpanF1
from goldassay.running.comparing import from_predictions
from goldassay.running.evaluate import evaluate
from goldassay.running.rows import Row
from goldassay.running.run import Case
from goldassay.tuning.patterns import find


def case(name: str, counts: Counts, *errors: Error, **strata: str) -> Case:
    return Case(name, Evidence({"f1": counts}), errors, strata)


def test_patterns_are_grouped_counted_and_ordered_by_what_they_cost() -> None:
    missed = [Error("missed", "m", gold=f"Stadsarchief {i}", gold_type="ARC") for i in range(3)]
    spurious = Error("spurious", "s", pred="gisteren", pred_type="TMP")
    cases = [
        case("a", Counts(1, 0, 2), missed[0], missed[1], language="nl"),
        case("b", Counts(1, 1, 1), missed[2], spurious, language="nl"),
        case("c", Counts(4, 0, 0)),
    ]
    patterns = find(cases)
    assert [(p.kind, p.count, p.documents) for p in patterns] == [("missed", 3, ("a", "b")), ("spurious", 1, ("b",))]
    # together tp 6, fp 1, fn 3: F1 = 12/16; with the three found tp 9, fp 1: 18/19; without the spurious one 12/15
    assert patterns[0].loss == pytest.approx(18 / 19 - 12 / 16)
    assert patterns[1].loss == pytest.approx(12 / 15 - 12 / 16)
    assert patterns[0].strata == {"language": {"nl": 2}}
    assert patterns[0].name == "missed ARC: Stadsarchief 0"


def test_a_wrong_type_is_repaired_on_both_sides() -> None:
    wrong = Error("wrong_type", "w", gold="Teylers", pred="Teylers", gold_type="MUS", pred_type="ARC")
    (pattern,) = find([case("a", Counts(1, 1, 1), wrong)])
    assert pattern.loss == pytest.approx(1 - 2 / 4)


def spoiled(rng: random.Random, number: int) -> tuple[dict[str, Any], list[tuple[str, Any, Any]]]:
    """Gold spans, and what became of each: the kind of error, the gold span, the predicted one."""
    gold = [(at * 10, at * 10 + 4, rng.choice("AB")) for at in range(6)]
    edits: list[tuple[str, Any, Any]] = []
    for start, end, kind in gold:
        what = rng.choice(["right", "right", "missed", "wrong_type", "wrong_boundary"])
        other = (start, end, "B" if kind == "A" else "A") if what == "wrong_type" else (start, end - 1, kind)
        edits.append((what, (start, end, kind), {"missed": None, "right": (start, end, kind)}.get(what, other)))
    extra = [("spurious", None, (100 + at, 102 + at, rng.choice("ABC"))) for at in range(rng.randint(0, 2) * 3)]
    return {"id": str(number), "text": "x" * 200, "entities": gold}, edits + extra


EXACT = [
    *(
        SpanF1(rate=rate, average=average)
        for rate in RATE_TALLIES
        for average in ("micro", "macro", "macro_seen", "weighted")
    ),
    *(SemEval("strict", rate) for rate in RATE_TALLIES),
]


@pytest.mark.parametrize("measure", EXACT, ids=repr)
def test_a_pattern_costs_what_measuring_again_without_its_errors_gains(measure: Any) -> None:
    rng = random.Random(3)
    documents = [spoiled(rng, number) for number in range(12)]

    def corpus(fixed: tuple[str, str, str] | None) -> tuple[float, list[Case]]:
        cases = []
        for gold, edits in documents:
            pred = []
            for kind, g, p in edits:
                name = kind, g[2] if g else "", p[2] if p else ""
                pred += [side for side in [g if name == fixed else p] if side is not None]
            assessed = measure(gold, {"entities": pred})
            cases.append(Case(gold["id"], Evidence({"f": assessed.tally}), assessed.errors))
        return float(sum((case.evidence for case in cases[1:]), cases[0].evidence).value), cases

    value, cases = corpus(None)
    patterns = find(cases)
    assert len(patterns) >= 8
    for pattern in patterns:
        gain = corpus((pattern.kind, pattern.gold_type, pattern.pred_type))[0] - value
        assert pattern.loss == pytest.approx(gain), pattern.name


@pytest.mark.parametrize(
    ("weight", "losses", "measures"),
    [
        (0.0, {"wrong_label": 1 / 3, "missed": 0.0}, [(), ("strict_f1",)]),
        # half the weight each: two of six labels, and an F1 of 0 that would be 1
        (1.0, {"wrong_label": 1 / 6, "missed": 1 / 2}, [("accuracy",), ("strict_f1",)]),
    ],
)
def test_an_error_costs_what_the_measures_that_name_it_lose(
    weight: float, losses: dict[str, float], measures: list[tuple[str, ...]]
) -> None:
    gold = [
        dspy.Example(text="Delft", label="M", entities=[{"start": 0, "end": 5, "type": "TOP"}]).with_inputs("text")
        for _ in range(6)
    ]
    answers = iter("LLMMMM")
    metric = Metric({Accuracy(): 1.0, SpanF1(): weight})

    def program(text: str) -> dict[str, Any]:
        return {"label": next(answers), "entities": []}

    run = evaluate(program, gold, metric, threads=1, progress=False)
    patterns = find(run.cases)
    assert {pattern.kind: pattern.count for pattern in patterns} == {"wrong_label": 2, "missed": 6}
    assert {pattern.kind: pattern.loss for pattern in patterns} == pytest.approx(losses)
    read_back = Row.of(json.loads(json.dumps(run.rows[0].state())))
    read_back.check()
    assert [error.measures for error in read_back.errors] == measures
    assert read_back.errors == run.rows[0].errors


def test_forms_that_look_different_are_different_patterns() -> None:
    isil = [Error("missed", "m", gold=f"NL-Am{i:03d}", gold_type="IDENTIFIER") for i in range(8)]
    names = [Error("missed", "m", gold=f"Koninklijke Bibliotheek {c}", gold_type="IDENTIFIER") for c in "abcdefgh"]
    cases = [case(str(i), Counts(0, 0, 1), error) for i, error in enumerate([*isil, *names])]
    assert sorted(p.count for p in find(cases)) == [8, 8]


def test_all_losses_take_a_few_walks_over_the_labels() -> None:
    rng = random.Random(1)
    labels = [(f"L{rng.randrange(20)}", f"L{rng.randrange(20)}") for _ in range(400)]
    gold = [{"label": label} for label, _ in labels]
    run = from_predictions(gold, [{"label": label} for _, label in labels], {"f1": LabelF1()}, name="a")
    cases = run.cases
    with patch.object(Confusion, "by_label", autospec=True, side_effect=Confusion.by_label) as by_label:
        assert len(find(cases)) > 200
    assert by_label.call_count < 5


def test_no_errors_no_patterns() -> None:
    assert find([case("a", Counts(1, 0, 0))]) == []
    assert find([]) == []


def test_the_table_says_in_which_languages_and_strata_a_pattern_stands(capsys: pytest.CaptureFixture[str]) -> None:
    from goldassay.reporting.terminal import show
    from goldassay.reporting.tuning import patterns

    missed = Error("missed", "", gold="Gent", gold_type="TOP")
    cases = [case(f"d{i}", Counts(0, 0, 1), missed, language="de" if i < 3 else "nl", tier="two") for i in range(4)]
    show(patterns(find(cases)))
    output = capsys.readouterr().out
    assert "language de 3, nl 1" in output
    assert "tier two 4" in output
    show(patterns(find(cases[:2])))
    assert "tier" not in capsys.readouterr().out  # two examples are no stratum


def test_errors_of_one_tool_at_two_steps_are_told_apart(capsys: pytest.CaptureFixture[str]) -> None:
    from goldassay.reporting.pages import report
    from goldassay.reporting.terminal import show
    from goldassay.reporting.tuning import patterns

    gold = [{"id": f"t{i}", "question": f"Who {i}?", "calls": [{"name": "search"}, {"name": "read"}]} for i in range(3)]
    calls = [{"kind": "tool", "name": "read", "args": {"id": 1}, "error": "no such id"} for _ in range(2)]
    predictions = [{"id": record["id"], "trajectory": calls} for record in gold]
    run = from_predictions(gold, predictions, Metric(trajectories.CallF1()), name="agent")
    show(patterns(find(run.cases)))
    output = capsys.readouterr().out
    assert "repeated_call read at step 2" in output
    assert 'read <span class="quiet">step 2</span>' in report([run])


def test_errors_of_a_tool_that_nobody_heeds_are_one_pattern_whatever_the_step() -> None:
    towns = ["Delft", "Gouda", "Tiel", "Amsterdam", "Brielle", "Zutphen", "Ootmarsum", "Vlissingen"]
    gold = [{"id": town, "calls": [{"name": "search"}] * number} for number, town in enumerate(towns, start=1)]
    steps: list[Any] = []
    predictions = []
    for town in towns:
        failed = {"kind": "tool", "name": "read", "args": {"town": town}, "error": "no such id"}
        predictions.append({"id": town, "trajectory": [*steps, {"kind": "tool", "name": "search"}, failed]})
        steps.append({"kind": "tool", "name": "search"})
    run = from_predictions(gold, predictions, Metric(trajectories.CallF1()), name="agent")
    ignored = [pattern for pattern in find(run.cases) if pattern.kind == "ignored_error"]
    assert [(pattern.title, pattern.count) for pattern in ignored] == [("ignored_error read", len(towns))]
    error = Error("wrong_argument", "", gold_type="read", pred_type="read", step=1)
    assert [pattern.title for pattern in find([case("a", Counts(0, 1, 1), error)])] == ["wrong_argument read at step 2"]


def test_a_missing_call_is_one_pattern_however_many_messages_are_before_it() -> None:
    call = {"name": "search", "args": {}}
    steps = [[call], [{"kind": "model", "name": "lm"}, call], [{"kind": "module", "name": "agent"}, call]]
    gold = [{"id": str(number), "calls": [call, {"name": "read", "args": {}}]} for number in range(len(steps))]
    predictions = [{"id": str(number), "trajectory": listed} for number, listed in enumerate(steps)]
    run = from_predictions(gold, predictions, Metric(trajectories.CallF1()), name="agent")
    assert [(pattern.title, pattern.count) for pattern in find(run.cases)] == [("missing_call read at step 2", 3)]
