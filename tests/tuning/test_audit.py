"""The audit: every source of results is read, leaks undo a verdict, and the proof runs both programs."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import dspy
import pytest

import goldassay
from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.measures import extraction
from goldassay.running.evaluate import evaluate
from goldassay.tuning import tune
from goldassay.tuning.audit import prove

AUDITS = Path(__file__).parent / "audits"  # written by ``python -m benchmarks.optimizers --fixtures``
KEYS = ["verdict", "gain", "interval", "naive_gain", "candidates", "examples", "clusters", "selection", "needed"]


def write(file: Path, rows: list[dict[str, object]]) -> Path:
    with file.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return file


def long(gains: dict[str, float], n: int = 60, **more: Any) -> list[dict[str, object]]:
    rng = random.Random(0)
    return [
        {"example": f"e{i}", "candidate": name, "score": int(rng.random() < 0.4 + gain)}
        | {key: value(name, i) for key, value in more.items()}
        for name, gain in gains.items()
        for i in range(n)
    ]


@pytest.mark.parametrize("file", sorted(AUDITS.glob("*.json")), ids=lambda file: file.stem)
def test_results_of_every_version_are_read(file: Path) -> None:
    audit = goldassay.audit(file)
    kind = file.stem.rpartition("-")[0]
    assert list(audit.state())[: len(KEYS)] == KEYS
    parents = [name for each in json.loads(file.read_text())["candidates"] for name in each.get("parents", ())]
    bred = kind in ("miprov2", "simba") or set(parents) - {"0"}
    assert audit.selection == ("bred" if bred else "independent") or kind == "to-dict"
    assert audit.verdict in ("open", "same")
    assert audit.examples == (0 if kind in ("miprov2", "simba") else 12)


class Echo(dspy.Module):  # type: ignore[misc]
    """Right where the hash of question and prompt has it."""

    def __init__(self) -> None:
        super().__init__()
        self.predict = dspy.Predict("q -> a")

    def forward(self, q: str) -> dspy.Prediction:
        seed = q + self.predict.signature.instructions + str(len(self.predict.demos))
        return dspy.Prediction(a=q if random.Random(seed).random() < 0.5 else "")


def right(gold: Any, pred: Any, trace: object = None) -> float:
    return float(gold.q == pred.a)


def questions(n: int, start: int = 0) -> list[dspy.Example]:
    return [
        dspy.Example(id=f"q{i}", q=f"question {i} {'abcdefgh'[i % 8] * 6}").with_inputs("q")
        for i in range(start, start + n)
    ]


@pytest.fixture(scope="module")
def searched() -> Any:
    """What a real random search returns; its training set is its validation set, as DSPy does without one."""
    search = dspy.BootstrapFewShotWithRandomSearch(metric=right, num_candidate_programs=3, num_threads=1)
    return search.compile(Echo(), trainset=questions(20))


def test_random_search_with_its_leak(searched: Any, tmp_path: Path) -> None:
    alone = goldassay.audit(searched)
    assert (alone.candidates, alone.examples, alone.selection) == (5, 20, "independent")
    assert not alone.findings
    if alone.chosen != alone.baseline:  # the demonstrations stand in what it was chosen on
        assert "program's prompts" in goldassay.audit(searched, gold=questions(20)).findings[0]  # too few are clean
    searched.save(str(tmp_path / "program.json"))
    saved = goldassay.save_result(searched, tmp_path / "result.json")
    assert goldassay.audit(saved).state() == alone.state()
    with pytest.raises(GoldassayError, match="a saved program has no scores"):
        goldassay.audit(tmp_path / "program.json")


def test_the_clean_examples_of_a_table_of_scores_are_judged(searched: Any, tmp_path: Path) -> None:
    file = goldassay.save_result(searched, tmp_path / "result.json")
    content = json.loads(file.read_text())
    gold = questions(220)
    for number, candidate in enumerate(content["candidates"]):
        candidate["scores"] = {str(at): float(random.Random(f"{at} {number}").random() < 0.3) for at in range(220)}
    best = next(candidate for candidate in content["candidates"] if candidate["name"] == "seed 0")
    best["scores"] = {str(at): float(at % 5 > 0) for at in range(220)}
    content["chosen"] = "seed 0"
    content["state"] = {"predict": {"demos": [{"q": each.q} for each in gold[:1]], "signature": {}}}
    file.write_text(json.dumps(content))
    audit = goldassay.audit(file, gold=gold)
    assert audit.verdict == "better"
    assert audit.examples == 220 - len(audit.details["left_out"]) < 220
    assert "are left out, since the program's prompts show them: 0 (exactly in a demonstration of 'self')" in str(audit)


def test_train_in_validation_and_other_gold(searched: Any) -> None:
    audit = goldassay.audit(searched, gold=questions(20), train=questions(20))
    assert any("also appear in validation" in finding for finding in audit.findings)
    with pytest.raises(GoldassayError, match="7 examples, and 20 were scored"):
        goldassay.audit(searched, gold=questions(7, start=90))


def test_a_leak_undoes_helped(tmp_path: Path) -> None:
    rows = long({"before": 0.0, "after": 0.55})
    result = goldassay.audit(write(tmp_path / "a.csv", rows))
    assert result.verdict == "better"
    assert result.with_findings(["a leak"], []).verdict == "open"


def test_table_with_documents_parents_failures_and_repeats(tmp_path: Path) -> None:
    rows = long({"start": 0.0, "child": 0.5}, document=lambda name, i: f"d{i // 3}", parent=lambda name, i: "")
    audit = goldassay.audit(write(tmp_path / "a.csv", rows), baseline="start")
    assert (audit.verdict, audit.clusters, audit.selection) == ("better", 20, "independent")
    bred = goldassay.audit(
        write(tmp_path / "b.csv", [*rows, *[{**row, "candidate": "x", "parent": "child"} for row in rows[:60]]]),
        baseline="start",
    )
    assert (bred.verdict, bred.selection) == ("open", "bred")
    with pytest.raises(GoldassayError, match="`fresh=` is for two runs"):
        goldassay.audit(tmp_path / "a.csv", baseline="start", fresh=True)
    twice = goldassay.audit(write(tmp_path / "c.csv", rows * 2), baseline="start")
    assert twice.interval == pytest.approx(audit.interval)
    assert "count once" in twice.findings[0]
    failed = [
        row | ({"score": ""} if row["candidate"] == "start" and index < 9 else {}) for index, row in enumerate(rows)
    ]
    assert "only start failed" in goldassay.audit(write(tmp_path / "d.csv", failed), baseline="start").findings[0]
    same = [row | {"score": 1} for row in rows]
    assert "constant" in goldassay.audit(write(tmp_path / "e.csv", same), baseline="start").findings[0]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", "[]", "no scores"),
        ("a.json", "{}", "no scores"),
        ("a.json", '{"x": 1}', "not the result of an optimizer"),
        ("a.json", "3", "not the result of an optimizer"),
        ("a.json", "{", "not JSON"),
        ("a.json", '{"val_subscores": [[1.0]], "parents": 3, "val_aggregate_scores": [1]}', "not the result of an"),
        ("a.json", '{"format": "goldassay.audit", "source": 3}', "source"),
        ("a.json", '[{"q": "a", "m": 1}]', "two runs or more"),
        ("a.csv", "example,candidate\na,b\n", "no column score"),
        ("a.csv", "example,candidate,score\na,b,high\n", "'high', which is not a number"),
        ("a.csv", "example,candidate,score\na,b,nan\n", "not a number"),
        ("a.csv", "example,candidate,score\na,b,1\n", "name the baseline"),
        ("a.csv", "example,candidate,score\na,baseline,1\nb,other,1\n", "no candidate was scored"),
        ("a.csv", "example,candidate,score\na,baseline,1\na,other,1\n", "two examples or more"),
        ("gepa_state.bin", "x", "pickle"),
    ],
)
@pytest.mark.extensions
def test_foreign_and_broken_files_are_one_line(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(GoldassayError, match=message) as raised:
        goldassay.audit(tmp_path / name)
    assert "\n" not in str(raised.value)


@pytest.mark.extensions
def test_results_of_evaluate_and_their_files(tmp_path: Path) -> None:
    program, other = Echo(), Echo()
    other.predict.signature = other.predict.signature.with_instructions("Answer.")
    results = []
    for name, each in (("before", program), ("after", other)):
        run = dspy.Evaluate(
            devset=questions(40), metric=right, num_threads=1, save_as_json=str(tmp_path / f"{name}.json")
        )
        results.append(run(each, save_as_csv=str(tmp_path / f"{name}.csv")))
    audit = goldassay.audit(*results)
    gap = (results[1].score - results[0].score) / 100
    assert audit.gain == pytest.approx(gap)
    assert (audit.selection, audit.examples) == ("none", 40)
    for each in results:  # an example that stands twice counts once
        each.results = [*each.results, *((row[0].copy(id=f"again {row[0].id}"), *row[1:]) for row in each.results)]
    assert goldassay.audit(*results).interval == pytest.approx(audit.interval)
    for kind in ("json", "csv"):
        from_files = goldassay.audit(tmp_path / f"before.{kind}", tmp_path / f"after.{kind}")
        assert from_files.interval == audit.interval
    with pytest.raises(GoldassayError, match="on different gold"):
        goldassay.audit(results[0], dspy.Evaluate(devset=questions(40, 9), metric=right, num_threads=1)(other))


def test_two_results_of_evaluate_may_have_chosen_the_program() -> None:
    def evaluation(right: bool) -> dspy.Prediction:
        rows = [(example, dspy.Prediction(a=""), right) for example in questions(40)]
        return dspy.Prediction(score=100.0 * right, results=rows)

    audit = goldassay.audit(evaluation(False), evaluation(True))
    assert (audit.verdict, audit.better) == ("better", False)
    assert "if these examples chose the program, the gain includes luck" in str(audit)
    assert goldassay.audit(evaluation(False), evaluation(True), fresh=True).better


def test_a_saturated_metric_asks_for_harder_examples_and_not_for_more() -> None:
    def evaluation(wrong: int) -> dspy.Prediction:
        rows = [(example, dspy.Prediction(a=""), float(n != wrong)) for n, example in enumerate(questions(60))]
        return dspy.Prediction(score=98.3, results=rows)

    result = goldassay.audit(evaluation(3), evaluation(4), fresh=True)
    assert (result.verdict, result.needed, result.more) == ("open", None, None)
    assert "harder examples" in str(result)
    assert "more examples" not in str(result)


def test_an_optimizer_that_returns_the_program_as_it_was(tmp_path: Path) -> None:
    result = {"val_subscores": [[1.0, 0.0, 1.0]], "parents": [[None]], "val_aggregate_scores": [0.67], "best_idx": 0}
    (tmp_path / "gepa.json").write_text(json.dumps(result), encoding="utf-8")
    audit = goldassay.audit(tmp_path / "gepa.json")
    assert (audit.verdict, audit.gain, audit.candidates, audit.examples) == ("same", 0.0, 0, 3)
    assert str(audit) == "same: gain 0; there is no other candidate"


def test_runs_by_their_corpus_value_and_their_folders(tmp_path: Path) -> None:
    def answering(share: float) -> Any:
        return lambda q: dspy.Prediction(a=q if random.Random(q).random() < share else "")

    runs = [
        evaluate(answering(share), questions(60), right, folder=tmp_path / f"{i}", progress=False, name=f"run {i}")
        for i, share in enumerate((0.2, 0.9, 0.3))
    ]
    pair = goldassay.audit(*runs[:2])
    assert pair.verdict == "better"
    assert pair.gain == pytest.approx(runs[1].value - runs[0].value)
    assert goldassay.audit(tmp_path / "0", tmp_path / "1").state() == pair.state()
    with pytest.raises(GoldassayError, match="of runs the first is the baseline"):
        goldassay.audit(*runs[:2], baseline="run 1")
    three = goldassay.audit(*runs)
    assert (three.selection, three.candidates, Path(three.chosen).name, three.verdict) == (
        "independent",
        2,
        "1",
        "better",
    )


def test_optimizers_without_scores_of_examples(tmp_path: Path) -> None:
    program: Any = Echo()
    program.candidate_programs = [{"score": 60.0, "program": None, "full_eval": True}] * 10
    program.mb_candidate_programs, program.trial_logs = [], {1: {"full_eval_score": 50.0}}
    audit = goldassay.audit(program, gold=questions(30))
    assert audit.naive_gain == pytest.approx(0.1)
    assert audit.verdict == "open"
    assert audit.gain is None
    assert "+0.12 with 30 examples" in str(audit)
    assert "--program FILE --gold TEST" in str(audit)
    with pytest.raises(GoldassayError, match="nothing to audit"):
        goldassay.audit(Echo())


def test_fresh_proof_shows_costs_diff_and_leaks() -> None:
    before, after = Echo(), Echo()
    after.predict.demos = [dspy.Example(q=questions(1)[0].q, a="x")]
    audit = prove(before, after, questions(30), right)
    assert audit.details["diff"].startswith("--- before")
    assert audit.details["costs"]["after"]["calls"] == 0
    assert "4 of 30 examples are left out" in audit.findings[0]
    assert (audit.examples, audit.details["left_out"]) == (26, ["q0", "q8", "q16", "q24"])
    assert audit.selection == "none"
    gap = audit.details["values"]["after"] - audit.details["values"]["before"]
    assert f"with them the gain is {gap:+.3f} [" in audit.findings[0]
    clean = prove(before, after, [each for each in questions(30) if int(each.id[1:]) % 8], right)
    assert (audit.gain, audit.interval) == (clean.gain, clean.interval)
    assert "is also in the program" not in str(clean)
    few = prove(before, after, questions(20), right)
    assert "are also in the program's prompts" in few.findings[0]
    assert json.loads(json.dumps(audit.state()))["verdict"] == audit.verdict
    assert "examples are left out" in (audit._repr_html_() or "")


def test_tune_gives_its_own_results_the_same_verdict(
    lm: Any, names_program: Any, names_gold: list[Any], tmp_path: Path
) -> None:
    gold = {"train": names_gold[:20], "dev": names_gold[20:32], "test": names_gold[32:]}
    metric, few = Metric(extraction.SpanF1()), {"num_candidate_programs": 1}
    tuned = tune(names_program, gold, metric, "labeled", lm=lm, folder=tmp_path / "labeled", progress=False)
    about = json.loads((tmp_path / "labeled" / "tuning.json").read_text())["audit"]
    by_folder = goldassay.audit(tmp_path / "labeled")
    assert about["verdict"] == goldassay.audit(tuned).verdict == by_folder.verdict
    assert about["interval"] == pytest.approx(list(by_folder.interval or ()))
    assert (tuned.verdict == "proven on test") == by_folder.better
    chosen = tune(names_program, gold, metric, "bootstrap", lm=lm, test=False, settings=few, progress=False)
    assert (chosen.audit.selection, chosen.audit.better) == ("bred", False)  # dev chose it


def test_an_example_without_a_document_joins_none_in_an_audit(tmp_path: Path) -> None:
    # Documents 2 and 3 have two examples each; examples 2 and 3, whose ids read like them, have none of their own.
    documents = ["2", "2", None, None, 3, 3]
    gold = [dspy.Example(id=n, text=f"t{n}", document=d).with_inputs("text") for n, d in enumerate(documents)]
    rows = [f"{n},{name},{float(n % 2 or name == 'b')}" for name in "ab" for n in range(6)]
    file = tmp_path / "scores.csv"
    file.write_text("example,candidate,score\n" + "\n".join(rows) + "\n")
    assert goldassay.audit(file, gold=gold, baseline="a").clusters == 4
