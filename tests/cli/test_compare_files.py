"""``goldassay compare TASK``: predictions that exist, beside each other as runs are."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay.cli import app
from goldassay.gold import pairs
from goldassay.measures import classification, extraction
from goldassay.statistics import compare, interval
from goldassay.statistics.paired import ranks

SPANS = [{"start": 0, "end": 3, "type": "PER"}, {"start": 4, "end": 8, "type": "TMP"}]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Gold of 40 records, and three systems: one finds half, one nearly all, one all."""
    contents = {"gold": SPANS, "half": SPANS[:1], "most": SPANS, "all": SPANS}
    out = {}
    for name, spans in contents.items():
        out[name] = tmp_path / f"{name}.jsonl"
        rows: list[dict[str, Any]] = []
        for index in range(40):
            entities = [] if name == "most" and index == 7 else spans
            row: dict[str, Any] = {"id": f"e{index}", "text": "Ada 1815", "entities": entities}
            rows.append(row | {"language": "nl" if index % 2 else "de"} if name == "gold" else row)
        out[name].write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return out


def called(files: dict[str, Path], *names: str, options: tuple[str, ...] = ("--json",)) -> Any:
    words = ["compare", "extraction", "--gold", str(files["gold"])]
    words += [word for name in names for word in ("--pred", str(files[name]))]
    return CliRunner().invoke(app, [*words, *options])


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--margin", ".1"), "--margin is for programs"),
        (("--threads", "3"), "--threads is for programs"),
        (("--all",), "--all is for programs"),
        (("--weight", "strict_f1=2"), "--weight is for the ranking"),
    ],
)
def test_an_option_that_nothing_would_use_is_an_error(
    files: dict[str, Path], options: tuple[str, ...], says: str
) -> None:
    done = called(files, "half", "all", options=options)
    assert str(done.exception).startswith(says)


def test_the_metric_of_several_measures_is_their_mean(files: dict[str, Path]) -> None:
    options = ("--measure", "strict_f1", "--measure", "strict_recall", "--json")
    body = json.loads(called(files, "half", "all", options=options).stdout)
    assert body["runs"][0]["value"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert "(0.5 strict F1 + 0.5 strict recall)" in body["verdicts"][0]["sentence"]


def test_files_are_compared_as_runs_are(files: dict[str, Path]) -> None:
    done = called(files, "half", "most", "all")
    assert done.exit_code == 0, done.output
    body = json.loads(done.stdout)
    measure = extraction.SpanF1()
    tallies = {}
    for name in ("half", "most", "all"):
        both = pairs("extraction", files["gold"], files[name])
        tallies[name] = [measure(*pair).tally for pair in zip(both.gold, both.pred, strict=True)]
    run = body["runs"][1]
    assert run["values"]["strict_f1"] == pytest.approx(2 * 78 / (2 * 78 + 2))
    held = interval(tallies["most"], measure.zero)
    assert run["intervals"]["strict_f1"] == pytest.approx([held.low, held.high])
    most = next(row for row in body["comparisons"] if row["measure"] == "strict_f1" and "most" in row["run"])
    by_hand = compare(tallies["most"], tallies["half"], measure.zero)
    assert (most["difference"], most["p"], most["smallest_detectable"]) == (
        by_hand.difference,
        by_hand.p,
        by_hand.smallest_detectable,
    )
    assert (len(most["won"]), most["lost"]) == (39, ["e7"])
    assert set(body["runs"][0]["by"]["language"]) == {"nl", "de"}
    expected = ranks(list(tallies.values()), measure.zero)
    sets = {name: [rank.low, rank.high] for name, rank in zip(tallies, expected, strict=True)}
    assert sets == {"half": [3, 3], "most": [1, 2], "all": [1, 2]}
    assert {Path(name).stem: place for name, place in body["ranks"]["strict_f1"].items()} == sets


def test_what_is_shown_names_the_files_and_the_ranks(files: dict[str, Path]) -> None:
    done = called(files, "half", "most", "all", options=("--measure", "strict_recall"))
    assert done.exit_code == 0, done.output
    assert "half.jsonl" in done.output
    assert "1–2" in done.output
    assert "partial_f1" not in done.output


@pytest.mark.parametrize(
    ("names", "options", "says"),
    [
        ((), (), "two files of predictions or more"),
        (("half", "all"), ("--measure", "nDCG@10"), "extraction has no value 'nDCG@10' here; there are strict_"),
        (("half", "all"), ("--option", "labels=A,B"), "--option labels is for classification, not for extraction"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    files: dict[str, Path], names: tuple[str, ...], options: tuple[str, ...], says: str
) -> None:
    done = called(files, *names, options=options)
    assert done.exit_code == 1
    assert says in str(done.exception)


def test_runs_and_files_are_not_mixed(files: dict[str, Path], tmp_path: Path) -> None:
    for words, says in (
        ([str(tmp_path), str(tmp_path), "--measure", "f1"], "--measure is for files"),
        (["a", "b", "--gold", str(files["gold"])], "files are compared as"),
        (["extraction", "--pred", str(files["all"])], "files are compared as"),
        (["extraction"], "two runs or more"),
    ):
        done = CliRunner().invoke(app, ["compare", *words])
        assert says in str(done.exception), words


def test_the_protocol_stands_in_the_title_of_every_table(tmp_path: Path) -> None:
    head = "TOKEN\tNE-COARSE-LIT\tMISC\n"
    contents = {
        "gold": ("B-pers", "B-loc"),
        "one": ("B-PERS", "O"),
        "two": ("B-DATE", "B-loc"),
        "three": ("O", "B-date"),
    }
    places: dict[str, str] = {}
    for name, tags in contents.items():
        file = tmp_path / f"{name}.tsv"
        documents = (f"# document_id = {at}\n# language = {at}\nBern\t{tag}\t_\n" for at, tag in enumerate(tags))
        file.write_text(head + "".join(documents), encoding="utf-8")
        places[name] = str(file)
    words = ["compare", "extraction", "--gold", places["gold"], "--protocol", "hipe"]
    words += [word for name in ("one", "two", "three") for word in ("--pred", places[name])]
    done = CliRunner().invoke(app, words)
    titles = [line for line in done.output.splitlines() if ", protocol hipe" in line]
    assert len(titles) == 1 + 2, done.output  # the values, and a pair each
    assert "DATE" not in done.output  # one type with date, in any case
    body = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert body["protocol"] == "hipe"


def test_a_program_in_place_of_a_run_names_the_line_for_programs(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("program = print\n")
    done = CliRunner().invoke(app, ["report", str(file)])
    line = f"is a program, not a run; compare programs with goldassay compare {file} --program OTHER"
    assert line in str(done.exception)
    done = CliRunner().invoke(app, ["compare", f"{file}:one", f"{file}:two"])
    assert f"goldassay compare {file}:one --program {file}:two --gold FILE" in str(done.exception)


def test_findings_of_gold_name_the_options_of_the_command(tmp_path: Path) -> None:
    (tmp_path / "letters.csv").write_text("text,tone\na,b\n")
    done = CliRunner().invoke(
        app, ["gold", "validate", str(tmp_path / "letters.csv"), "--task", "classification", "--json"]
    )
    assert (done.exit_code, "set --map label=COLUMN" in done.stdout) == (1, True)


def test_predictions_alone_are_no_scores_and_the_line_compares_them(files: dict[str, Path], tmp_path: Path) -> None:
    """A last field that is a number or a bool is an answer, not what dspy.Evaluate measured."""
    places = []
    for name in ("before", "after"):
        places.append(str(tmp_path / f"{name}.jsonl"))
        Path(places[-1]).write_text('{"id": "a", "team": "x", "urgent": true}\n{"id": "b", "team": "y", "stars": 4}\n')
    refused = CliRunner().invoke(app, ["compare", *places])
    assert f"compare TASK --gold FILE --pred {places[0]} --pred {places[1]}" in str(refused.exception)
    named = CliRunner().invoke(app, ["compare", str(files["half"]), str(files["all"]), "--gold", str(files["gold"])])
    line = str(named.exception).split("files are compared as: goldassay ")[1]
    assert CliRunner().invoke(app, line.split()).exit_code == 0


def test_a_split_of_files_is_compared_and_a_metric_makes_any_name_a_task(tmp_path: Path) -> None:
    """--split was ignored, and `triage` was taken for a misspelt `triples`."""
    splits = {"gold": ["dev", "dev", "test", "test"], "a": [], "b": []}
    for name in splits:
        rows = [{"id": f"e{n}", "team": "x" if name == "gold" or (n < 2) == (name == "a") else "y"} for n in range(4)]
        rows = [{**row, **({"split": splits[name][n]} if splits[name] else {})} for n, row in enumerate(rows)]
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (tmp_path / "mine.py").write_text("def right(gold, pred):\n    return gold.team == pred.team\n")
    gold, a, b = (str(tmp_path / f"{name}.jsonl") for name in splits)
    line = ["compare", "triage", "--gold", gold, "--pred", a, "--pred", b, "--split", "test", "--json"]
    for option in ("--measure", "--metric"):  # the latter was taken for that of a program called triage
        done = CliRunner().invoke(app, [*line, option, f"{tmp_path / 'mine.py'}:right"])
        assert [run["values"]["score"] for run in json.loads(done.stdout)["runs"]] == [0.0, 1.0]
    shown = CliRunner().invoke(
        app, [*line[:-1], "--measure", f"{tmp_path / 'mine.py'}:right", "--out", str(tmp_path / "o")]
    )
    assert set(re.findall(r"1\.0000 \[.*?\]", shown.stdout)) == {"1.0000 [0.342, 1.000]"}  # in the ranking, too
    one = CliRunner().invoke(app, ["compare", "extraction", "--gold", gold, "--pred", a, "--split", "test"])
    assert f"goldassay score extraction --gold {gold} --pred {a} --split test" in str(one.exception)


def test_a_metric_that_raises_on_files_says_so(files: dict[str, Path], tmp_path: Path) -> None:
    """Both had 0.0000 and scored the same, with status 0."""
    (tmp_path / "mine.py").write_text("def right(gold, pred):\n    return gold.team == pred.team\n")
    line = ["compare", "extraction", "--gold", str(files["gold"]), "--pred", str(files["half"])]
    done = CliRunner().invoke(app, [*line, "--pred", str(files["all"]), "--metric", f"{tmp_path / 'mine.py'}:right"])
    assert done.exit_code == 1
    assert re.search(r"the metric raised on (\d+) of \1 examples, whose gold counts as missed", done.stderr)
    assert "mine.py:2" in done.stderr
    rows = ["gold", "half", "all"]  # the same as a measure of a task of one's own
    of_own = ["compare", "mine", "--gold", str(files[rows[0]]), *(f"--pred={files[name]}" for name in rows[1:])]
    done = CliRunner().invoke(app, [*of_own, "--measure", f"{tmp_path / 'mine.py'}:right"])
    assert (done.exit_code, "the metric raised on 40 of 40 examples" in done.stderr) == (1, True), done.output
    assert "cannot be measured" not in done.stderr  # the same in other words


def test_the_value_that_the_headline_names_is_in_both_tables(tmp_path: Path) -> None:
    """A sum of measures stood in the sentence alone."""
    for name, labels in {"gold": "xyxy", "a": "xxyy", "b": "xyxx"}.items():
        rows = [json.dumps({"id": str(n), "text": f"text {n}", "label": label}) for n, label in enumerate(labels * 8)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows), encoding="utf-8")
    line = ["compare", "classification", "--gold", str(tmp_path / "gold.jsonl")]
    line += [word for name in "ab" for word in ("--pred", str(tmp_path / f"{name}.jsonl"))]
    done = CliRunner().invoke(app, line, env={"COLUMNS": "100"})
    sentence = " ".join(done.stdout.split()).rpartition("examples")[0]
    difference = re.findall(r"[+-]\d\.\d{3} \[[^]]+\](?= metric \(0.5 accuracy \+ 0.5 macro F1\))", sentence)
    rows = [row.split("│")[2].strip() for row in done.stdout.splitlines() if row.startswith("│ metric ")]
    assert len(rows) == 2
    assert difference == rows[1:]


def test_a_program_file_is_the_task_wherever_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gold in a folder was looked for as `mine.py:long.jsonl`."""
    monkeypatch.chdir(tmp_path)
    code = "def short(text):\n    return {'label': text[0]}\n\n\ndef long(text):\n    return {'label': text}\n"
    Path("mine.py").write_text(f"{code}\n\ndef metric(gold, pred):\n    return gold.label == pred['label']\n")
    Path("set").mkdir()
    rows = [{"id": str(n), "text": f"{'ab'[n % 2]}{n}", "label": "ab"[n % 2]} for n in range(8)]
    Path("set/mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    for number, words in enumerate((["--program", "mine.py:short", "mine.py:long"], ["mine.py:long", "mine.py:short"])):
        line = [*words[:1], *(["--program"] if number else []), *words[1:], "--gold", "set", "--out", f"out{number}"]
        done = CliRunner().invoke(app, ["compare", *line, "--json"])
        assert done.exit_code == 0, (done.output, done.exception)
        values = {run["name"]: run["values"]["score"] for run in json.loads(done.stdout)["runs"]}
        assert values == {"mine-short": 1.0, "mine-long": 0.0}


def test_a_pair_is_tested_once_in_both_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    gold = [{"id": str(number), "label": "M"} for number in range(40)]
    sides = [[{"label": "ML"[number % period == 0]} for number in range(40)] for period in (2, 5)]
    first, second = (classification.scorecard(gold, side) for side in sides)
    fresh = [classification.scorecard(gold, side) for side in sides]
    test = second.difference(first, "accuracy")
    monkeypatch.setattr("goldassay.results.result.compare", None)
    assert second.difference(first, "accuracy") is test
    back = first.difference(second, "accuracy")
    monkeypatch.undo()
    again = fresh[0].difference(fresh[1], "accuracy")
    assert (back.difference, back.p, back.effect) == pytest.approx((again.difference, again.p, again.effect))
    assert back.interval.ends == pytest.approx(again.interval.ends)
