"""Labels where two systems disagree: the difference is right, no level is printed, what is broken is one line."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from goldassay import compare
from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.ext.labelling.drafts import Pool, draft
from goldassay.ext.labelling.labelled import verdict
from goldassay.ext.labelling.review.folder import Folder
from goldassay.gold import write

Records = list[dict[str, Any]]
LABELS = "MALGO"


def saved(file: Path, records: Records) -> Path:
    file.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return file


def systems(right: float = 0.848, changed: float = 0.12, fixed: float = 0.55) -> tuple[Records, Records, Records]:
    """Gold of 600 letters, and the answers of two systems of which one gets .848 right."""
    rng = random.Random(11)
    gold, first, second = [], [], []
    for number in range(600):
        truth = rng.choice(LABELS)
        wrong = rng.choice(LABELS.replace(truth, ""))
        a = truth if rng.random() < right else wrong
        b = a
        if rng.random() < changed:
            b = truth if rng.random() < fixed else wrong
        gold.append({"id": f"d{number}", "text": f"letter {number}", "label": truth})
        first.append({"id": f"d{number}", "label": a})
        second.append({"id": f"d{number}", "label": b})
    return gold, first, second


def labelled(gold: Records, answers: dict[str, Records], n: int = 60, **options: Any) -> Records:
    truth = {record["id"]: record["label"] for record in gold}
    inputs = [{name: record[name] for name in ("id", "text")} for record in gold]
    records = draft(Pool.of("classification", inputs, answers), n=n, **options).records
    return [{**record, "label": truth[record["id"]]} for record in records]


def run(*words: object) -> Result:
    return CliRunner().invoke(app, list(map(str, words)))


def refusal(*words: object) -> str:
    """The one line that a command ends with (`goldassay.cli.main` prints it, with exit status 2)."""
    error = run(*words).exception
    assert isinstance(error, GoldassayError)
    assert "\n" not in str(error)
    return str(error)


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    gold, first, second = systems()
    records = labelled(gold, {"a": first, "b": second})
    half = [*records[:12], *({key: record[key] for key in record if key != "label"} for record in records[12:])]
    contents = {"all": gold, "a": first, "b": second, "gold": records, "half": half}
    return {name: saved(tmp_path / f"{name}.jsonl", content) for name, content in contents.items()}


def command(files: dict[str, Path], gold: str = "gold", *preds: str) -> list[str | Path]:
    sides = [part for name in preds or ("a", "b") for part in ("--pred", files[name])]
    return ["compare", "classification", "--gold", files[gold], *sides]


def test_the_difference_is_that_of_all_labels_and_no_level_is_printed(files: dict[str, Path]) -> None:
    truth = json.loads(run(*command(files, "all"), "--json").stdout)["comparisons"][0]
    result = json.loads(run(*command(files), "--json").stdout)
    (accuracy,) = result["comparisons"]
    assert accuracy["difference"] == pytest.approx(truth["difference"])
    assert accuracy["interval"]["low"] == pytest.approx(truth["interval"]["low"], abs=0.005)
    assert accuracy["labels"]["proven"] is True
    assert accuracy["labels"]["better"] == "a.jsonl"
    assert [each["values"] for each in result["runs"]] == [{}, {}]
    assert [each["value"] for each in result["runs"]] == [None, None]
    text = run(*command(files))
    assert "holds whenever you stop" in " ".join(text.stdout.split())
    assert "no prediction" not in text.stderr
    assert text.stderr.count("these examples were chosen where systems disagree") == 1


def test_a_level_is_refused_in_one_line(files: dict[str, Path]) -> None:
    message = refusal("score", "classification", "--gold", files["gold"], "--pred", files["a"])
    assert "they show how systems differ, not how good one is" in message
    assert "gold draft --for level" in message


def test_half_of_the_labels_are_a_smaller_sample(files: dict[str, Path]) -> None:
    result = run(*command(files, "half"), "--json")
    (accuracy,) = json.loads(result.stdout)["comparisons"]
    assert accuracy["labels"]["labels"] == 12
    assert accuracy["labels"]["left"] == 20
    assert accuracy["p"] == accuracy["labels"]["p"]  # the number of labels was not fixed beforehand
    assert result.stderr.count("are not labelled yet and are left out") == 1


def test_compare_says_better_where_its_sentence_does(tmp_path: Path) -> None:
    for n in (8, 12, 16, 20, 24, 400):  # of the last all disagreements are labelled
        gold, first, second = systems(changed=0.06 if n == 400 else 0.12, fixed=0.8)
        labels = labelled(gold, {"a": first, "b": second}, n)
        files = {name: saved(tmp_path / f"{name}.jsonl", rows) for name, rows in (("a", first), ("b", second))}
        answer = json.loads(run(*command(files | {"gold": saved(tmp_path / "gold.jsonl", labels)}), "--json").stdout)
        (accuracy,) = answer["comparisons"]
        state = accuracy["labels"]
        assert accuracy["p"] == state["p"]
        assert (accuracy["interval"]["low"], accuracy["interval"]["high"]) == (state["low"], state["high"])
        shown = state["low"] > 0 or state["high"] < 0
        assert shown == state["proven"] == ("is not proven" not in state["sentence"])


def test_a_table_of_the_draft_is_the_same_gold(files: dict[str, Path], tmp_path: Path) -> None:
    records = [json.loads(line) for line in files["gold"].read_text(encoding="utf-8").splitlines()]
    write(tmp_path / "gold.csv", records, task="classification")
    both = [
        json.loads(run(*command(files | {"csv": tmp_path / "gold.csv"}, gold), "--json").stdout)
        for gold in ("gold", "csv")
    ]
    assert both[0]["comparisons"][0]["labels"] == both[1]["comparisons"][0]["labels"]


def test_a_value_of_the_corpus_needs_labels_on_agreements(files: dict[str, Path], tmp_path: Path) -> None:
    gold, first, second = systems()
    message = refusal(*command(files), "--measure", "macro_f1")
    assert "draft records for the question compare and the measure macro_f1" in message
    more = saved(tmp_path / "macro.jsonl", labelled(gold, {"a": first, "b": second}, 90, measure="macro_f1"))
    answer = json.loads(run(*command(files | {"macro": more}, "macro"), "--json").stdout)
    assert [each["measure"] for each in answer["comparisons"]] == ["accuracy", "macro_f1"]
    truth = json.loads(run(*command(files, "all"), "--json").stdout)["comparisons"][1]["difference"]
    ends = answer["comparisons"][1]["interval"]
    assert ends["low"] < truth < ends["high"]


def test_three_systems_are_ranked_by_all_pairs(tmp_path: Path) -> None:
    gold, first, second = systems(0.6, 0.5, 0.9)
    third = [{**record, "label": "X"} if number % 4 == 0 else record for number, record in enumerate(second)]
    answers = {"a": first, "b": second, "c": third}
    files = {name: saved(tmp_path / f"{name}.jsonl", records) for name, records in answers.items()}
    files["gold"] = saved(tmp_path / "gold.jsonl", labelled(gold, answers, 300))
    result = json.loads(run(*command(files, "gold", "a", "b", "c"), "--measure", "accuracy", "--json").stdout)
    corrected = [each["corrected_p"] for each in result["comparisons"]]
    assert corrected[0] >= result["comparisons"][0]["p"]
    assert len(result["ranks"]["accuracy"]) == 3
    truth = sum(a["label"] == g["label"] for a, g in zip(second, gold, strict=True)) / 600
    truth -= sum(a["label"] == g["label"] for a, g in zip(first, gold, strict=True)) / 600
    assert result["comparisons"][0]["difference"] == pytest.approx(truth, abs=0.04)


def span_systems(n: int, *recalls: float) -> tuple[Records, dict[str, Records]]:
    """Gold spans of n texts, some long and some short, and systems that find this share of them."""
    rng = random.Random(3)
    gold: Records = []
    answers: dict[str, Records] = {f"s{number}": [] for number in range(len(recalls))}
    for number in range(n):
        spans = [{"start": 4 * k, "end": 4 * k + 3, "type": "T"} for k in range(rng.choice([1, 2, 12]))]
        gold.append({"id": f"t{number}", "text": "abc " * 12, "entities": spans})
        luck = [rng.random() for _ in spans]
        for (name, rows), recall in zip(answers.items(), recalls, strict=True):
            own = [span for span, drawn in zip(spans, luck, strict=True) if drawn < recall]
            late = [{**span, "type": "U"} for span in spans if int(name[1:]) and span["start"] == 40]
            rows.append({"id": f"t{number}", "entities": [*own, *late]})
    return gold, answers


def test_counts_of_three_systems_are_scaled_by_what_each_predicts(tmp_path: Path) -> None:
    """From the files of predictions and from the draft alone it is the same estimate, near that of all gold."""
    gold, answers = span_systems(400, 0.6, 0.75, 0.9)
    inputs = [{"id": record["id"], "text": record["text"]} for record in gold]
    truth = {record["id"]: record["entities"] for record in gold}
    drafted = draft(Pool.of("extraction", inputs, answers), n=120).records
    records = [{**record, "entities": truth[record["id"]]} for record in drafted]
    files = [saved(tmp_path / f"{name}.jsonl", rows) for name, rows in answers.items()]
    preds = [part for file in files for part in ("--pred", file)]
    command = ["compare", "extraction", *preds, "--measure", "strict_f1", "--json", "--gold"]
    complete = json.loads(run(*command, saved(tmp_path / "all.jsonl", gold)).stdout)["comparisons"]
    result = json.loads(run(*command, saved(tmp_path / "some.jsonl", records)).stdout)
    for each, whole, name in zip(result["comparisons"], complete, ["s1", "s2"], strict=True):
        alone = verdict("extraction", records, ["s0", name])
        assert each["difference"] == pytest.approx(alone.difference)
        assert each["difference"] == pytest.approx(whole["difference"], abs=0.02)
        assert each["interval"]["high"] - each["interval"]["low"] < 0.09
    pairs = result["pairs"]
    assert [pair["systems"] for pair in pairs] == [
        ["s0.jsonl", "s1.jsonl"],
        ["s0.jsonl", "s2.jsonl"],
        ["s1.jsonl", "s2.jsonl"],
    ]
    assert {pair["pairs"] for pair in pairs} == {3}
    assert "of 3 pairs tested together" in pairs[2]["details"][0]
    printed = " ".join(run(*command[:-2], "--gold", tmp_path / "some.jsonl").stdout.split())
    assert all(pair["sentence"] in printed for pair in pairs)


def test_a_measure_that_counts_otherwise_than_the_draft_of_three_systems_is_one_line(tmp_path: Path) -> None:
    gold, answers = span_systems(200, 0.6, 0.75, 0.9)
    inputs = [{"id": record["id"], "text": record["text"]} for record in gold]
    truth = {record["id"]: record["entities"] for record in gold}
    drafted = draft(Pool.of("extraction", inputs, answers), n=120).records
    half = [{**each, "sampling": {**each["sampling"], "predicted": {"s0": 1, "s1": 1, "s2": 1}}} for each in drafted]
    records = [{**record, "entities": truth[record["id"]]} for record in half]
    preds = [part for name, rows in answers.items() for part in ("--pred", saved(tmp_path / f"{name}.jsonl", rows))]
    message = refusal("compare", "extraction", *preds, "--gold", saved(tmp_path / "gold.jsonl", records))
    assert "draft records for the question compare and the measure strict_f1" in message


def other(files: dict[str, Path], tmp_path: Path, **changes: Records) -> dict[str, Path]:
    return files | {name: saved(tmp_path / f"other-{name}.jsonl", records) for name, records in changes.items()}


def test_predictions_of_another_system_are_refused(files: dict[str, Path], tmp_path: Path) -> None:
    _, _, second = systems()
    drafted = json.loads(files["gold"].read_text(encoding="utf-8").splitlines()[0])["id"]
    changed = [{**record, "label": "X"} if record["id"] == drafted else record for record in second]
    message = refusal(*command(other(files, tmp_path, b=changed)))
    assert f"record {drafted}: these predictions are not those that the draft was made from" in message


def test_other_disagreements_and_missing_predictions_are_one_line(files: dict[str, Path], tmp_path: Path) -> None:
    _, first, second = systems()
    labelled_ids = {json.loads(line)["id"] for line in files["gold"].read_text(encoding="utf-8").splitlines()}
    changed = [dict(record) for record in second]
    for record in [record for record in changed if record["id"] not in labelled_ids][:3]:
        record["label"] = "X"
    message = refusal(*command(other(files, tmp_path, b=changed)))
    assert "the draft has 32 inputs in the stratum 'disagree', these predictions have 35" in message
    message = refusal(*command(other(files, tmp_path, a=first[:500], b=second[:500])))
    assert "500 inputs have predictions, where the draft was made from 600" in message


def test_labels_outside_the_design_are_one_line(files: dict[str, Path], tmp_path: Path) -> None:
    gold, _, _ = systems()
    records = [json.loads(line) for line in files["gold"].read_text(encoding="utf-8").splitlines()]
    extra = next(record for record in gold if record["id"] not in {each["id"] for each in records})
    message = refusal(*command(other(files, tmp_path, gold=[*records, extra])))
    assert "labels outside the design cannot be weighed" in message


def test_a_draft_for_a_level_compares_too(files: dict[str, Path], tmp_path: Path) -> None:
    gold, first, second = systems()
    records = labelled(gold, {"a": first, "b": second}, 200, question="level", strata="agreement")
    result = json.loads(run(*command(other(files, tmp_path, gold=records)), "--json").stdout)
    difference = result["comparisons"][0]
    assert difference["interval"]["low"] < -0.03 < difference["interval"]["high"]
    assert result["runs"][0]["values"]["accuracy"] == pytest.approx(0.848, abs=0.06)


def test_runs_without_the_population_are_one_line(files: dict[str, Path], tmp_path: Path) -> None:
    from goldassay import evaluate
    from goldassay.core.metric import Metric
    from goldassay.gold import load
    from goldassay.measures.classification import Accuracy

    examples = load(files["gold"], task="classification").classification.all
    runs = [evaluate(lambda text, answer=answer: {"label": answer}, examples, Metric([Accuracy()])) for answer in "MA"]
    assert runs[0].values == {}
    assert runs[0].results["value"] is None
    with pytest.raises(GoldassayError, match="answers to the drafted examples only"):
        compare(*runs)


def test_the_line_that_labels_two_programs_of_one_file_names_one_that_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = "import dspy\n" + "".join(
        f"def {name}(letter: str) -> dspy.Prediction:\n    return dspy.Prediction(kind='{name}')\n" for name in "ab"
    )
    Path("two.py").write_text(source)
    saved(Path("inputs.jsonl"), [{"id": str(number), "letter": f"letter {number}"} for number in range(30)])
    words = ["compare", "two.py:a", "--program", "two.py:a", "--program", "two.py:b", "--unlabelled", "inputs.jsonl"]
    result = CliRunner().invoke(app, words)
    assert "goldassay review ranking/draft.jsonl --task two.py:a)" in result.stdout
    opened = Folder.open([Path("ranking/draft.jsonl")], "two.py:a")
    assert opened.settings.task == "two"


def test_a_metric_that_no_label_fits_is_told_before_anything_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    module = """
class Kind(dspy.Module):
    def __init__(self, kind):
        self.kind, self.predict = kind, dspy.Predict("letter -> kind")

    def forward(self, letter):
        Path("called").touch()
        return dspy.Prediction(kind=self.kind)
"""
    programs = f"from pathlib import Path\nimport dspy\n{module}\na = Kind('a')\nb = Kind('b')\n"
    saved(Path("inputs.jsonl"), [{"id": str(number), "letter": f"letter {number}"} for number in range(30)])
    words = ["compare", "two.py:a", "--program", "two.py:a", "--program", "two.py:b", "--unlabelled", "inputs.jsonl"]
    for name in ("wanted", "kind"):
        Path("two.py").write_text(f"{programs}def metric(gold, pred):\n    return gold.{name} == pred.kind\n")
        result = CliRunner().invoke(app, words)
        if name == "wanted":
            assert "the metric reads gold.wanted, and neither" in str(result.exception)
            assert "let the metric read gold.kind" in str(result.exception)
        assert Path("called").exists() == (name == "kind"), result.output


def test_choices_of_people_are_measured_by_a_metric_that_is_named(tmp_path: Path) -> None:
    own = "def metric(gold, pred):\n    return gold.output == pred\n"
    (tmp_path / "own.py").write_text(f"def program(text):\n    return 'x'\n\n\n{own}")
    rows: Records = [{"id": str(number), "text": f"letter {number}"} for number in range(20)]
    answers = {name: [{"id": row["id"], "output": name} for row in rows] for name in "ab"}
    chosen = draft(Pool.of("own", rows, answers), "compare", n=20).records
    gold = saved(tmp_path / "draft.jsonl", [{**record, "output": "b", "preferred": ["b"]} for record in chosen])
    files = [str(saved(tmp_path / f"{name}.jsonl", answers[name])) for name in "ab"]
    words = ["compare", str(tmp_path / "own.py"), "--gold", str(gold), "--pred", files[0], "--pred", files[1]]
    by_choice = CliRunner().invoke(app, words)
    named = CliRunner().invoke(app, [*words, "--measure", str(tmp_path / "own.py")])
    for result, measure in ((by_choice, "share of right answers"), (named, "score")):
        assert f"b.jsonl is better than a.jsonl: +1.000 [+1.000, +1.000] {measure}" in " ".join(result.stdout.split())
