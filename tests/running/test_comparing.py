"""What is compared and ranked: runs of the same gold, also in memory; claims, not diagnostics; failing systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dspy
import pytest
from pydantic import BaseModel

from goldassay import Metric
from goldassay._support.exceptions import ConventionError, GoldassayError
from goldassay.gold.pairing import pairs
from goldassay.measures import answering, classification, extraction
from goldassay.reporting import ranking, terminal
from goldassay.running import summary
from goldassay.running.comparing import compare, from_predictions, of_pairs, remeasured
from goldassay.running.evaluate import evaluate
from goldassay.running.run import Run
from goldassay.statistics import holm


def gold(last: str = "D") -> list[Any]:
    rows = [("a", "A"), ("b", "B"), ("c", "C"), ("d", last)]
    return [dspy.Example(question=name, answers=[answer]).with_inputs("question") for name, answer in rows * 4]


def upper(question: str) -> Any:
    return dspy.Prediction(answer=question.upper(), confidence=0.9)


def lower(question: str) -> Any:
    return dspy.Prediction(answer=question if question > "b" else "?", confidence=0.9)


def broken(question: str) -> Any:
    raise RuntimeError("no such model")


def exact(gold: Any, pred: Any) -> dict[str, Any]:
    return {"score": pred.answer in gold.answers, "seconds": 3.0}


def run(program: Any, examples: list[Any] | None = None, metric: Any = exact, **options: Any) -> Run:
    return evaluate(program, examples or gold(), metric, progress=False, max_failures=1.0, **options)


def test_runs_on_edited_gold_are_not_compared_in_memory_either(tmp_path: Path) -> None:
    before, edited = run(upper, name="before"), run(upper, gold("x"), name="after")
    with pytest.raises(ConventionError, match="^before and after are on different gold"):
        compare(before, edited)
    same = gold()
    first = run(upper, same)
    same[3]["answers"] = ["x"]  # in place
    with pytest.raises(ConventionError, match="different gold"):
        compare(first, run(upper, same))
    assert compare(run(upper), run(upper, folder=tmp_path / "r"))  # one in memory, one on disk


def test_predictions_are_counted_together_as_one_by_one() -> None:
    spans = [[(0, 3, "A")], [(0, 3, "A"), (5, 9, "B")], []]
    gold = [{"text": "word by word", "entities": spans[i % 3]} for i in range(30)]
    pred = [{"entities": spans[i % 2]} for i in range(30)]
    measures = {"strict_f1": extraction.SpanF1(), "macro_f1": extraction.SpanF1(average="macro")}
    one_by_one = [{key: measure(*pair) for key, measure in measures.items()} for pair in zip(gold, pred, strict=True)]
    with patch.object(extraction.SpanF1, "tallies", autospec=True, side_effect=extraction.SpanF1.tallies) as tallies:
        rows = from_predictions(gold, pred, measures, name="a").rows
    assert [call.args[1].n for call in tallies.call_args_list] == [30, 30]
    assert [row.tallies for row in rows] == [{k: a.tally.state() for k, a in by.items()} for by in one_by_one]


def test_diagnostics_take_no_part_in_the_correction() -> None:
    metric = Metric({answering.ExactMatch(): 1, answering.F1(): 1, answering.Calibration(statistic="brier"): 0})
    results = {result.measure: result for result in compare(run(lower, metric=metric), run(upper, metric=metric))}
    assert results["brier"].adjusted_p is None
    assert results["brier"].state()["corrected_p"] is None
    claims = [results[name] for name in ("exact_match", "f1")]
    assert [claim.adjusted_p for claim in claims] == holm([claim.p for claim in claims])


def test_the_metric_is_the_mean_of_what_has_a_weight(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for result in (run(upper, folder=tmp_path / "r"), Run.load(tmp_path / "r")):
        assert summary.overall(result).convention == "score"
        assert [value.weight for value in summary.values(result)] == [1.0, 0.0]
        terminal.show(result.view())
    assert "weighted mean" not in capsys.readouterr().out


def test_a_system_that_fails_everywhere_is_left_out_of_a_ranking_in_words() -> None:
    systems = [run(broken, name="gone"), run(lower, name="lower"), run(upper, name="upper")]
    ranked = ranking.rank(systems)
    assert [system.name for system in ranked] == ["upper", "lower"]
    reason = "gone is not ranked: it failed on all 16 examples; the first: RuntimeError: no such model"
    assert ranking.unranked(systems) == [reason]
    assert reason in ranking.texts(ranked, ranking.unranked(systems))["evaluation_summary.txt"]
    assert [system.name for system in ranking.rank(systems[:2])] == ["lower"]
    with pytest.raises(GoldassayError, match="^there is nothing to rank: gone"):
        ranking.rank([systems[0], systems[0]])


def test_what_a_report_shows_of_a_file_of_predictions_has_no_secrets() -> None:
    gold = [{"id": "a", "text": "ask with sk-abcdef1234567890", "label": "M"}, {"id": "b", "text": "x", "label": "L"}]
    pred = [{"id": "a", "label": "sk-zyxwvu0987654321"}, {"id": "b", "label": "L"}]
    run = of_pairs(
        "classification", pairs("classification", gold, pred), {"accuracy": classification.Accuracy()}, Path("p.jsonl")
    )
    shown = json.dumps([row.state() for row in run.rows])
    assert "sk-" not in shown
    assert shown.count("[hidden]") >= 2
    assert (run.values, run.rows[1].prediction) == ({"accuracy": 0.5}, {"id": "b", "label": "L"})


class Ticket(BaseModel):
    """An answer with a type."""

    team: str
    tags: list[dict[str, str]] = []


@pytest.mark.parametrize(
    ("metric", "again"),
    [
        (lambda gold, pred: pred.ticket.team == gold.answers[0], 0.5),
        (lambda gold, pred: pred.ticket == Ticket(team=gold.answers[0]), 0.5),
        (lambda gold, pred: isinstance(pred.ticket, Ticket) and pred.ticket.team == gold.answers[0], 0.0),
    ],
    ids=["by its field", "whole", "by its type"],
)
def test_stored_answers_with_types_are_measured_again_or_said_to_be_others(
    metric: Any, again: float, tmp_path: Path
) -> None:
    def program(question: str) -> Any:
        return dspy.Prediction(ticket=Ticket(team=question.upper() if question < "c" else "x"))

    run(program, metric=metric, folder=tmp_path / "r")
    stored = Run.load(tmp_path / "r")
    measured = remeasured(stored, Metric.of(metric))
    assert (stored.value, measured.value) == (0.5, again)
    assert any("8 of 16 examples had another score" in warning for warning in measured.warnings) == (again != 0.5)
