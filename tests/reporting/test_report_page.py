"""A report's text: what stands in it, that data stays data, that nothing but its own scripts may run."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import shutil
from dataclasses import replace
from html import unescape
from pathlib import Path

import dspy
import pytest
from tests.reporting.conftest import judged
from typer.testing import CliRunner

from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.core.tally import Evidence, Mean
from goldassay.measures import classification, extraction
from goldassay.reporting import pages, summary
from goldassay.reporting.summary import RunSummary
from goldassay.reporting.verdicts import differences
from goldassay.results.comparison import Comparison
from goldassay.results.comparisons import Comparisons
from goldassay.running import Run
from goldassay.running.evaluate import evaluate
from goldassay.running.head import RunGold, RunHead, RunMeasure
from goldassay.running.rows import Row
from goldassay.running.summary import labels
from goldassay.statistics.ppi import corrected

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
    assert len(scripts) == 4  # the page, steps, an example, the list
    for script in scripts:
        assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in allowed
    assert not re.search(
        r"""(?:src|href)=["']?(?:https?:)?//""", re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    )


def test_every_example_is_packed_with_gold_predictions_and_errors(two: list[Run]) -> None:
    text = pages.report(two)
    index = json.loads(unpacked(text, "index-data"))
    assert index["ids"] == [row.id for row in two[0].rows]
    assert sum(index["failed"][0]) == sum(1 for row in two[0].rows if row.error)
    assert sum(index["different"]) > 0
    lines = [json.loads(line) for line in unpacked(text, "rows-0").split("\n")]
    assert lines[3]["inputs"] == two[0].rows[3].inputs
    assert lines[3]["runs"][1]["prediction"] == two[1].rows[3].prediction
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
    head = replace(two[1].head, name="other", gold=RunGold(12, "0"))
    text = pages.report([two[0], Run(head, two[1].rows[:12], two[1].zero)])
    assert "other is not compared example by example" in text
    assert 'id="against"' not in text


def test_a_run_that_stopped_earlier_is_not_compared_and_says_why(two: list[Run]) -> None:
    begun = Run(two[0].head, list(two[0].rows)[:30], two[0].zero, Path("runs/begun"))
    assert "stopped at different examples; resume them first" in pages.report([begun, two[1]])
    assert "stopped at different examples; resume them first" in pages.report([two[1], begun])


def test_confusion_comes_from_labels_and_types(two: list[Run]) -> None:
    gold = [dspy.Example(id=str(i), text="t", label="AB"[i % 2]).with_inputs("text") for i in range(4)]
    run = evaluate(lambda text: dspy.Prediction(label="A"), gold, Metric(classification.Accuracy()), progress=False)
    rows = [replace(row, gold={"label": example["label"]}) for row, example in zip(run.rows, gold, strict=True)]
    assert RunSummary(Run(run.head, rows, run.zero)).confusion == {("A", "A"): 2, ("B", "A"): 2}
    # of 40 texts with a year each some fail; of the others every third year has a wrong end, which is no other type
    spans = RunSummary(two[0]).confusion
    assert spans
    right = sum(not row.errors and not row.error for row in two[0].rows)
    failed = sum(bool(row.error) for row in two[0].rows)
    assert spans["TMP", "TMP"] == 40 - failed  # a wrong boundary has the right type
    assert spans["TMP", summary.MISSED_SPAN] == failed
    assert 0 < right < 40 - failed
    assert (summary.SPURIOUS, "TMP") not in spans
    text = pages.report([two[0]])
    assert "(missed)" in text


def test_runs_of_one_name_are_told_apart_by_what_differs(two: list[Run]) -> None:
    def run(name: str, model: str, folder: str) -> Run:
        return Run(replace(two[0].head, name=name, lm=model, settings={}), two[0].rows, two[0].zero, Path(folder))

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
    (tmp_path / "aligned.json").write_text(json.dumps(judged("local:/home/ann/x.gguf@2").state()))
    text = pages.report(**pages.sources([tmp_path / "aligned.json"]))
    words = " ".join(unescape(re.sub(r"<[^>]*>", "", text.partition("<main")[2].partition("</main")[0])).split())
    assert "A judge compared with people" in words
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
    rows[0]["steps"] = [{"kind": "model", "name": about["lm"]}]
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
    rows = [replace(row, inputs=None, gold=None, calls=()) for row in two[0].rows]
    text = pages.report([Run(two[0].head, rows, two[0].zero)])
    assert "made without trace" in text


def test_judged_values_stand_beside_what_people_would_find(two: list[Run]) -> None:
    estimate = corrected([1, 1, 0, 0, 1, 0], [1, 1, 1, 0, 1, 0], [1, 1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0])
    run = Run(two[0].head, two[0].rows, two[0].zero)
    run.__dict__["corrected"] = {"strict_f1": estimate}
    text = pages.report([run])
    assert "corrected by people" in text
    assert f"{estimate.corrected.value:.3f}" in text
    assert f"[{estimate.corrected.low:.3f}, {estimate.corrected.high:.3f}]" in text


def test_the_comparison_in_the_terminal_ends_with_the_sentence_of_the_report(two: list[Run]) -> None:
    _, (difference,), _ = differences([RunSummary(run) for run in two], ["thirds", "fifths"])
    folders = [str(run.folder) for run in two]
    result = CliRunner().invoke(app, ["compare", *folders])
    assert " ".join(result.output.split()).endswith(difference.spoken.sentence)
    answer = json.loads(CliRunner().invoke(app, ["compare", *folders, "--json"]).stdout)
    assert answer["verdicts"] == [
        {"run": "fifths", "verdict": difference.spoken.verdict, "sentence": difference.spoken.sentence}
    ]


def test_parts_differ_with_an_interval_and_small_ones_are_grey(two: list[Run]) -> None:
    _, (difference,), _ = differences([RunSummary(run) for run in two], ["thirds", "fifths"])
    parts = {(part.facet, part.key): part for part in difference.parts}
    half = parts["half", "low"]
    rows = [place for place, row in enumerate(two[0].rows) if (row.strata or {})["half"] == "low"]
    before, after = [sum((run.evidence[place] for place in rows), start=run.zero).value for run in two]
    assert half.n == 20
    assert [half.before, half.after] == pytest.approx([before, after])
    assert half.low < half.after - half.before < half.high
    assert parts["type", "TMP"].n == 40


def test_verdicts_in_every_direction() -> None:
    def run(values: list[float]) -> Run:
        rows = [
            Row(place, str(place), {"score": {"total": value, "weight": 1.0}}, value)
            for place, value in enumerate(values)
        ]
        head = RunHead("r", measures={"score": RunMeasure("own.Returned()", "score[]", 1.0)}, gold=RunGold(len(rows)))
        return Run(head, rows, Evidence({"score": Mean()}, {"score": 1.0}))

    bad = run([0.0] * 20)
    good = run([1.0] * 20)

    def difference(*runs: Run) -> Comparison:
        (spoken,) = Comparisons([run.result for run in runs], [[]], names=("A", "B")).spoken
        assert spoken is not None
        return spoken

    assert difference(bad, good).sentence.startswith("B is better than A by +1.000 [+")
    assert difference(good, bad).sentence.startswith("B is worse than A by -1.000 [-")
    assert difference(good, good).sentence == "B and A have the same score on all 20 examples."
    mixed = difference(run([1.0, 0.0] * 10), run([1.0] * 9 + [0.0] * 11))
    assert mixed.verdict == "open"
    assert "It is open whether" in mixed.sentence
