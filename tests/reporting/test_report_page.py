"""A report's text: what stands in it, that data stays data, that nothing but its own scripts may run."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from goldassay import Metric
from goldassay.cli import app
from goldassay.exceptions import GoldassayError
from goldassay.measures import classification, extraction
from goldassay.reporting import pages, summary
from goldassay.reporting.summary import RunSummary, labels
from goldassay.reporting.verdicts import Difference, differences
from goldassay.running import Run
from goldassay.running.evaluate import evaluate
from goldassay.statistics.ppi import corrected
from goldassay.tally import Evidence, Mean

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\u202e\x1b[2J{{ 7*7 }}"


def unpacked(text: str, name: str) -> str:
    element = re.search(rf'<script type="application/gzip" id="{name}">([^<]*)</script>', text)
    assert element, name
    return gzip.decompress(base64.b64decode(element[1])).decode()


def test_values_and_intervals_are_those_of_the_run(two: list[Run]) -> None:
    text = pages.report(two)
    for run in two:
        for value in (run.value, *run.values.values()):
            assert f'data-value="{value}"' in text
    for interval in two[0].intervals.values():
        assert f"[{interval.low:.3f}, {interval.high:.3f}]" in text


def test_only_its_own_scripts_may_run(two: list[Run]) -> None:
    text = pages.report(two)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    allowed = policy[1].replace("&#39;", "'")
    assert "default-src 'none'" in allowed
    assert "connect-src 'none'" in allowed
    assert "unsafe-eval" not in allowed
    assert not re.search(r"script-src[^;]*unsafe", allowed)
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    assert len(scripts) == 3
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in allowed
    assert not re.search(
        r"""(?:src|href)=["']?(?:https?:)?//""", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    )


def test_every_example_is_packed_with_gold_predictions_and_errors(two: list[Run]) -> None:
    text = pages.report(two)
    index = json.loads(unpacked(text, "index-data"))
    assert index["ids"] == [row["id"] for row in two[0].rows]
    assert sum(index["failed"][0]) == sum(1 for row in two[0].rows if row.get("error"))
    assert sum(index["different"]) > 0
    lines = [json.loads(line) for line in unpacked(text, "rows-0").split("\n")]
    assert lines[3]["inputs"] == two[0].rows[3]["inputs"]
    assert lines[3]["runs"][1]["prediction"] == two[1].rows[3]["prediction"]
    assert "molen bij delft" in unpacked(text, "texts-0").split("\n")[3]


def test_data_is_never_markup(tmp_path: Path) -> None:
    gold = [
        dspy.Example(
            id=HOSTILE, text=HOSTILE, strata={HOSTILE: HOSTILE}, entities=[{"start": 0, "end": 3, "type": HOSTILE}]
        ).with_inputs("text")
    ]
    evaluate(
        lambda text: dspy.Prediction(entities=[{"start": 1, "end": 4, "type": HOSTILE, "text": text}]),
        gold,
        Metric(extraction.SpanF1()),
        folder=tmp_path,
        name=HOSTILE,
        settings={"gold": HOSTILE},
        progress=False,
    )
    text = pages.report([Run.load(tmp_path)], title=HOSTILE)
    assert "<script>alert" not in text
    assert "<img src=x" not in text
    assert "49" not in re.sub(r"<(script|style).*?</\1>", "", text, flags=re.DOTALL).partition("<h1>")[2][:200]


def test_a_run_on_other_gold_stands_beside_without_a_difference(two: list[Run]) -> None:
    about = {**two[1].about, "name": "other", "gold": {"examples": 12, "sha256": "0"}}
    text = pages.report([two[0], Run(about, two[1].rows[:12], two[1].zero)])
    assert "other is not compared example by example" in text
    assert 'id="against"' not in text


def test_a_run_that_stopped_earlier_is_not_compared_and_says_why(two: list[Run]) -> None:
    begun = Run(two[0].about, list(two[0].rows)[:30], two[0].zero, Path("runs/begun"))
    assert "stopped at different examples; resume them first" in pages.report([begun, two[1]])
    assert "stopped at different examples; resume them first" in pages.report([two[1], begun])


def test_confusion_comes_from_labels_and_types(two: list[Run]) -> None:
    gold = [dspy.Example(id=str(i), text="t", label="AB"[i % 2]).with_inputs("text") for i in range(4)]
    run = evaluate(lambda text: dspy.Prediction(label="A"), gold, Metric(classification.Accuracy()), progress=False)
    rows = [{**row, "gold": {"label": example["label"]}} for row, example in zip(run.rows, gold, strict=True)]
    assert RunSummary(Run(run.about, rows, run.zero)).confusion == {("A", "A"): 2, ("B", "A"): 2}
    # of 40 texts with a year each some fail; of the others every third year has a wrong end, which is no other type
    spans = RunSummary(two[0]).confusion
    assert spans
    right = sum(not row.get("errors") and not row.get("error") for row in two[0].rows)
    failed = sum(bool(row.get("error")) for row in two[0].rows)
    assert spans["TMP", "TMP"] == 40 - failed  # a wrong boundary has the right type
    assert spans["TMP", summary.MISSED] == failed
    assert 0 < right < 40 - failed
    assert (summary.SPURIOUS, "TMP") not in spans
    text = pages.report([two[0]])
    assert "(missed)" in text


def test_runs_of_one_name_are_told_apart_by_what_differs(two: list[Run]) -> None:
    def run(name: str, model: str, folder: str) -> Run:
        return Run({**two[0].about, "name": name, "lm": model, "settings": {}}, two[0].rows, two[0].zero, Path(folder))

    runs = [
        run("a", "openai/small", "20260101-100000-a"),
        run("a", "openai/big", "20260101-110000-a"),
        run("b", "local:/home/ann/x.gguf", "20260101-100000-b"),
        run("b", "local:/home/ann/x.gguf", "20260101-100500-b"),
        run("c", "openai/big", "20260101-100500-c"),
    ]
    assert labels(runs) == ["a, small", "a, big", "b, 20260101-100000-b", "b, 20260101-100500-b", "c"]
    assert labels([run("d", "m", "one"), run("d", "m", "one")]) == ["d #1", "d #2"]


def test_a_page_of_judges_says_what_the_share_is_as_people_would_find_it(tmp_path: Path) -> None:
    ends = {"low": 0.25, "high": 0.75}
    about = {
        "judge": "local:/home/ann/x.gguf@2",
        "question": "support",
        "positive": "supported",
        "n": 16,
        "accuracy": {"value": 0.8125, **ends},
        "confusion": {
            "supported": {"supported": 6, "refuted": 1, "unknown": 0},
            "refuted": {"supported": 2, "refuted": 7, "unknown": 0},
        },
        "corrected": {
            "naive": {"value": 0.5454, **ends},
            "corrected": {"value": 0.4666, **ends},
            "people_only": {"value": 0.4375, **ends},
        },
        "warnings": ["16 labels are few"],
    }
    (tmp_path / "aligned.json").write_text(json.dumps(about))
    text = pages.report(**pages.sources([tmp_path / "aligned.json"]))
    words = " ".join(re.sub(r"<[^>]*>", "", text.partition("<main")[2].partition("</main")[0]).split())
    assert "A judge beside people" in words
    assert "local:x.gguf@2" in words
    assert "agrees with people with accuracy 0.812 [0.250, 0.750] on 16 items" in words
    assert "corrected by people's labels, the share is 0.467 [0.250, 0.750]" in words
    assert "16 labels are few" in words
    assert "unknown" not in words  # a column in which nothing stands


def test_a_model_of_a_file_is_named_without_where_it_lies(two: list[Run], tmp_path: Path) -> None:
    place = tmp_path / "run"
    assert two[0].folder
    shutil.copytree(two[0].folder, place)
    about = json.loads((place / "run.json").read_text())
    about["lm"] = about["settings"]["lm"] = "local:/home/ann/models/qwen.gguf"
    about["settings"] |= {"gold": "/home/ann/gold.json", "split": "dev"}  # of a file all examples are taken
    about["measures"]["strict_f1"]["conventions"] = "strict_f1[judge=local:/home/ann/models/qwen.gguf@2]"
    (place / "run.json").write_text(json.dumps(about))
    rows = [json.loads(line) for line in (place / "rows.jsonl").read_text().splitlines()]
    rows[0]["calls"] = [{"lm": about["lm"], "prompt": [], "answer": "x"}]
    (place / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = pages.report([Run.load(place)])
    assert ">local:qwen.gguf<" in text
    assert "judge=local:qwen.gguf@2" in text
    assert "gold.json, 40 examples" in text
    assert '"lm":"local:qwen.gguf"' in unpacked(text, "rows-0").replace('"lm": ', '"lm":')
    assert "/home/ann" not in text + unpacked(text, "rows-0") + unpacked(text, "index-data")
    listed = CliRunner().invoke(app, ["runs", "list", str(tmp_path)], catch_exceptions=False).stdout
    result = CliRunner().invoke(app, ["runs", "show", str(place)], catch_exceptions=False).stdout
    assert "local:qwen.gguf" in listed
    assert "local:qwen.gguf" in result
    assert "/home/ann" not in listed + result


def test_what_is_no_run_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(GoldassayError, match="no run at"):
        pages.sources([tmp_path])
    with pytest.raises(GoldassayError, match="needs a run folder"):
        pages.sources([])
    (tmp_path / "j.json").write_text("[]")
    with pytest.raises(GoldassayError, match="agreement of a judge"):
        pages.sources([tmp_path / "j.json"])


def test_a_run_without_trace_says_so(two: list[Run], tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {key: value for key, value in row.items() if key not in ("inputs", "gold", "calls")} for row in two[0].rows
    ]
    text = pages.report([Run(two[0].about, rows, two[0].zero)])
    assert "made without trace" in text


def test_judged_values_stand_beside_what_people_would_find(two: list[Run]) -> None:
    estimate = corrected([1, 1, 0, 0, 1, 0], [1, 1, 1, 0, 1, 0], [1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0])
    run = Run(two[0].about, two[0].rows, two[0].zero)
    run.__dict__["corrected"] = {"strict_f1": estimate}
    text = pages.report([run])
    assert "corrected by people" in text
    assert f"{estimate.corrected.value:.3f}" in text
    assert f"[{estimate.corrected.low:.3f}, {estimate.corrected.high:.3f}]" in text


def test_the_comparison_in_the_terminal_ends_with_the_sentence_of_the_report(two: list[Run]) -> None:
    _, (difference,), _ = differences([RunSummary(run) for run in two], ["thirds", "fifths"])
    folders = [str(run.folder) for run in two]
    result = CliRunner().invoke(app, ["compare", *folders])
    assert " ".join(result.output.split()).endswith(difference.sentence)
    answer = json.loads(CliRunner().invoke(app, ["compare", *folders, "--json"]).stdout)
    assert answer["verdicts"] == [{"run": "fifths", "verdict": difference.verdict, "sentence": difference.sentence}]


def test_parts_differ_with_an_interval_and_small_ones_are_grey(two: list[Run]) -> None:
    _, (difference,), _ = differences([RunSummary(run) for run in two], ["thirds", "fifths"])
    parts = {(part.facet, part.key): part for part in difference.parts}
    half = parts["half", "low"]
    rows = [place for place, row in enumerate(two[0].rows) if row["strata"]["half"] == "low"]
    before, after = [sum((run.evidence[place] for place in rows), start=run.zero).value for run in two]
    assert half.n == 20
    assert [half.before, half.after] == pytest.approx([before, after])
    assert half.low < half.after - half.before < half.high
    assert parts["type", "TMP"].n == 40


def test_verdicts_in_every_direction() -> None:
    def run(values: list[float]) -> Run:
        rows = [
            {"index": place, "id": str(place), "score": value, "tallies": {"score": {"total": value, "weight": 1.0}}}
            for place, value in enumerate(values)
        ]
        about = {
            "name": "r",
            "measures": {"score": {"measure": "own.score", "conventions": "score[]", "weight": 1.0}},
            "gold": {"examples": len(rows)},
        }
        return Run(about, rows, Evidence({"score": Mean()}, {"score": 1.0}))

    bad = run([0.0] * 20)
    good = run([1.0] * 20)
    names = ("A", "B")
    assert Difference((bad, good), names, []).sentence.startswith("B is better than A by +1.000 [+")
    assert Difference((good, bad), names, []).sentence.startswith("B is worse than A by -1.000 [-")
    assert Difference((good, good), names, []).sentence == "B and A score the same in score on all 20 examples."
    mixed = Difference((run([1.0, 0.0] * 10), run([1.0] * 9 + [0.0] * 11)), names, [])
    assert mixed.verdict == "open"
    assert "cannot be told" in mixed.sentence
