"""``goldassay score``: what it prints, and what it says when the input is wrong (one line, exit code 2)."""

from __future__ import annotations

import json
import subprocess
from contextlib import chdir
from pathlib import Path

import pytest
from typer.testing import CliRunner

from goldassay._support.exceptions import GoldassayError
from goldassay.cli import app
from goldassay.statistics import wilson

GOLD = [
    {"id": "a", "text": "Het Rijksmuseum", "entities": [{"start": 4, "end": 15, "type": "MUS", "text": "Rijksmuseum"}]},
    {"id": "b", "text": "in 1800", "entities": [{"start": 3, "end": 7, "type": "TMP", "text": "1800"}]},
]
PRED = [
    {"id": "a", "entities": [{"start": 4, "end": 15, "type": "MUS", "text": "Rijksmuseum"}]},
    {"id": "b", "entities": [{"start": 0, "end": 7, "type": "TMP", "text": "in 1800"}]},
]


def goldassay(*words: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in this process, with the exit code and the line that `main` makes of an error."""
    with chdir(cwd or Path.cwd()):
        done = CliRunner().invoke(app, [str(word) for word in words])
    code, error = done.exit_code, done.stderr
    if done.exception and not isinstance(done.exception, SystemExit):
        assert isinstance(done.exception, GoldassayError), done.exception
        code, error = 2, f"{error}goldassay: error: {done.exception}\n"
    return subprocess.CompletedProcess([], code, done.stdout, error)


def jsonl(path: Path, records: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    return jsonl(tmp_path / "gold.jsonl", GOLD), jsonl(tmp_path / "pred.jsonl", PRED)  # type: ignore[arg-type]


def test_json_is_one_object_with_the_promised_keys(files: tuple[Path, Path]) -> None:
    done = goldassay("score", "extraction", "--gold", files[0], "--pred", files[1], "--json")
    assert done.returncode == 0, done.stderr
    body = json.loads(done.stdout)
    assert body.keys() >= {"task", "examples", "values", "counts", "by", "conventions", "warnings"}
    assert body["counts"]["strict"] == {"tp": 1, "fp": 1, "fn": 1}
    assert body["values"]["strict_f1"] == 0.5
    assert body["values"]["partial_f1"] == 1.0
    assert body["by"]["type"]["TMP"]["strict_f1"] == 0.0
    assert body["conventions"]["strict_f1"].startswith("strict_f1[")


def test_a_table_fits_the_terminal(files: tuple[Path, Path]) -> None:
    done = goldassay("score", "extraction", "--gold", files[0], "--pred", files[1])
    assert done.returncode == 0, done.stderr
    assert "0.5000" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if line.startswith("│")) <= 120


def test_intervals_stand_beside_the_values_unless_they_are_left_out(files: tuple[Path, Path]) -> None:
    arguments = ("score", "extraction", "--gold", files[0], "--pred", files[1])
    body = json.loads(goldassay(*arguments, "--json").stdout)
    low, high = body["intervals"]["strict_f1"]  # one document right, one wrong: they say hardly anything
    assert 0.0 < low < 0.01 < 0.99 < high < 1.0
    low, high = body["intervals"]["partial_f1"]  # both right, which two coins are one time in four
    assert (low < 0.3, high) == (True, 1.0)
    assert body["interval_methods"]["strict_f1"] == "effective"
    brief = goldassay(*arguments).stdout
    assert "0.5000 [0.002, 0.998]" in brief
    assert sum("_f1" in line for line in brief.partition("by type")[0].splitlines()) == 2  # of 22
    assert f"goldassay compare extraction --gold {files[0]} --pred {files[1]} --out report" in brief
    output = goldassay(*arguments, "--all").stdout
    assert "0.5000 [0.002, 0.998]" in output
    assert "Wilson at the effective sample size" in output
    assert json.loads(goldassay(*arguments, "--json", "--no-intervals").stdout)["intervals"] == {}


def test_intervals_of_measures_by_the_names_they_were_asked_for_and_with_equivalent_ids(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n", encoding="utf-8")
    (tmp_path / "run").write_text("1 Q0 a 1 2.0 x\n2 Q0 a 1 2.0 x\n2 Q0 b 2 1.0 x\n", encoding="utf-8")
    done = goldassay(
        "score", "retrieval", "--gold", tmp_path / "qrels", "--pred", tmp_path / "run", "--format", "trec",
        "--measure", "P(rel=1)@1", "--json",
    )  # fmt: skip
    assert json.loads(done.stdout)["intervals"] == {"P(rel=1)@1": pytest.approx(wilson(1, 2))}
    link = {"start": 0, "end": 5, "text": "Paris"}
    gold = jsonl(tmp_path / "g.jsonl", [{"id": "1", "text": "Paris", "links": [{**link, "ids": {"wikidata": ["Q1"]}}]}])
    pred = jsonl(tmp_path / "p.jsonl", [{"id": "1", "links": [{**link, "candidates": [{"id": "Q2", "score": 1}]}]}])
    (tmp_path / "same.tsv").write_text("Q2\tQ1\n", encoding="utf-8")
    done = goldassay(
        "score", "linking", "--gold", gold, "--pred", pred, "--option", f"equivalent={tmp_path / 'same.tsv'}", "--json"
    )
    assert json.loads(done.stdout)["intervals"]["hits@1"] == pytest.approx(wilson(1, 1))


def test_a_list_of_labels_is_averaged_over_and_held_to(tmp_path: Path) -> None:
    gold = jsonl(
        tmp_path / "g.jsonl", [{"id": "1", "text": "x", "label": "pos"}, {"id": "2", "text": "y", "label": "neg"}]
    )
    pred = jsonl(tmp_path / "p.jsonl", [{"id": "1", "label": "pos"}, {"id": "2", "label": "other"}])
    (tmp_path / "labels.txt").write_text("pos\nneg\nmixed\n", encoding="utf-8")
    for labels in ("pos, neg,mixed", tmp_path / "labels.txt"):
        done = goldassay(
            "score", "classification", "--gold", gold, "--pred", pred, "--option", f"labels={labels}", "--json"
        )
        assert done.returncode == 0, done.stderr
        body = json.loads(done.stdout)
        assert body["values"]["macro_f1"] == pytest.approx(1 / 3)  # F1 1 for pos, 0 for neg and mixed
        assert "macro_f1" in body["intervals"]
        assert any("'other'" in warning for warning in body["warnings"])
    fewer = goldassay("score", "classification", "--gold", gold, "--pred", pred, "--option", "labels=pos,mixed")
    assert "1 gold labels are outside the list and count as OTHER: 'neg'" in " ".join(fewer.stderr.split())


def test_tables_take_another_list_of_labels(tmp_path: Path) -> None:
    (tmp_path / "g.tsv").write_text("text\tgold_type\nx\tcat\n", encoding="utf-8")
    (tmp_path / "p.tsv").write_text("text\tgold_type\nx\tcat\n", encoding="utf-8")
    done = goldassay(
        "score",
        "classification",
        "--gold",
        tmp_path / "g.tsv",
        "--pred",
        tmp_path / "p.tsv",
        "--option",
        "labels=cat,dog",
        "--json",
    )
    assert json.loads(done.stdout)["values"]["accuracy"] == 1.0


def test_a_wide_terminal_has_the_conventions_beside_the_values(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    done = goldassay("score", "extraction", "--gold", files[0], "--pred", files[1])
    assert "match=span+type, average=micro" in done.stdout


BAD = {
    "no such file": ("gold", None, "gold.jsonl"),
    "empty file": ("gold", b"", "gold.jsonl"),
    "not utf-8": ("pred", b'{"id": "a", "entities": []}\n\xff\xfe\n', "pred.jsonl"),
    "a line cut off": ("pred", b'{"id": "a", "entities": []}\n{"id": "b", "enti', "pred.jsonl:2"),
    "an unknown document": ("pred", b'{"id": "zzz", "entities": []}\n', "zzz"),
    "a document twice": ("pred", b'{"id": "a", "entities": []}\n{"id": "a", "entities": []}\n', "a"),
    "offsets that do not match": (
        "gold",
        b'{"id": "a", "text": "Het Rijksmuseum", "entities": ['
        b'{"start": 6, "end": 17, "type": "M", "text": "Rijksmuseum"}]}\n',
        "4",
    ),
    "an unknown field": ("gold", b'{"id": "a", "text": "x", "entities": [], "surprise": 1}\n', "surprise"),
}


@pytest.mark.parametrize("case", BAD, ids=list(BAD))
def test_bad_input_is_one_line_and_exit_code_2(files: tuple[Path, Path], case: str) -> None:
    side, content, says = BAD[case]
    file = files[0] if side == "gold" else files[1]
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    done = goldassay("score", "extraction", "--gold", files[0], "--pred", files[1])
    assert done.returncode == 2, done.stdout + done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr
    assert done.stderr.startswith("goldassay: ")
    assert says in done.stderr
    assert not done.stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["score", "nothing", "--gold", "g", "--pred", "p"], "no task 'nothing'"),
        (
            ["score", "extraction", "--gold", "{g}", "--pred", "{p}", "--measure", "nDCG@10"],
            "extraction has no measure 'nDCG@10'; there are ",
        ),
        (["score", "extraction", "--gold", "{g}", "--pred", "{p}", "--protocol", "mine"], "no protocol 'mine'"),
        (["score", "extraction", "--gold", "{g}", "--pred", "{p}", "--format", "xml"], "xml"),
        (["eval", "nothing"], "no task 'nothing'; there are extraction, "),
        (["eval", "extraction:nothing"], "has no 'nothing'"),
        (["eval", "extraction:baseline", "--split", "holdout"], "no split 'holdout'"),
        (["eval", "extraction:baseline", "--gold", "no-such-set"], "no-such-set"),
        (["compare", "runs/none", "runs/nope"], "no run at"),
        (["tune", "extraction", "--optimizer", "magic"], "no optimizer 'magic'"),
        (["patch", "show", "extraction", "nope"], "no patch 'nope'"),
    ],
)
def test_a_wrong_call_is_one_line_and_exit_code_2(
    files: tuple[Path, Path], words: list[str], says: str, root: Path
) -> None:
    done = goldassay(*(word.format(g=files[0], p=files[1]) for word in words), cwd=root)
    assert done.returncode == 2, done.stdout + done.stderr
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_a_wrong_column_lists_the_columns(tmp_path: Path) -> None:
    file = tmp_path / "a.tsv"
    file.write_text("TOKEN\tNE-COARSE-LIT\tMISC\nBern\tB-LOC\t_\n", encoding="utf-8")
    done = goldassay("score", "extraction", "--gold", file, "--pred", file, "--format", "hipe:NE-MINE")
    assert done.returncode == 2
    assert "NE-COARSE-LIT" in done.stderr


def test_what_comes_next_has_the_options_that_were_set(tmp_path: Path) -> None:
    for name in ("gold", "pred"):
        (tmp_path / f"{name}.csv").write_text("body,team\nlate,post\nbroken,shop\n", encoding="utf-8")
    options = ["--gold", tmp_path / "gold.csv", "--pred", tmp_path / "pred.csv", "--map", "text=body,label=team"]
    shown = goldassay("score", "classification", *options, "--measure", "accuracy").stdout
    line = next(line for line in shown.splitlines() if line.startswith("Each error"))
    assert line.endswith("--measure accuracy --map text=body,label=team --out report")
    *words, _ = line.partition("goldassay ")[2].split()
    done = goldassay(*words, tmp_path / "report")
    assert done.returncode == 0, done.stderr


def test_fail_under_holds_a_value_to_a_floor(files: tuple[Path, Path]) -> None:
    arguments = ("score", "extraction", "--gold", files[0], "--pred", files[1], "--json", "--fail-under")
    assert goldassay(*arguments, "strict_f1=.5").returncode == 0
    low = goldassay(*arguments, "strict_f1=.8", "--fail-under", "partial_f1=.9")
    assert (low.returncode, low.stderr) == (1, "goldassay: strict_f1 is 0.5000, under 0.8\n")
    assert json.loads(low.stdout)["values"]["strict_f1"] == 0.5  # what was measured is printed all the same
    wrong = goldassay(*arguments, "strict_f=.8")
    assert (wrong.returncode, "there are strict_f1" in wrong.stderr) == (2, True)
    assert "as strict_f1=.8, got strict_f1" in goldassay(*arguments, "strict_f1").stderr


def test_the_protocol_stands_in_the_title_and_what_it_does_not_define_is_marked(tmp_path: Path) -> None:
    rows = ["TOKEN\tNE-COARSE-LIT\tMISC", "Bern\tB-LOC\t_", "in\tO\t_"]
    file = tmp_path / "a.tsv"
    file.write_text("\n".join(rows) + "\n", encoding="utf-8")
    arguments = ("score", "extraction", "--gold", file, "--pred", file, "--format", "hipe")
    official = goldassay(*arguments, "--protocol", "hipe")
    assert official.stdout.startswith("extraction, 1 example, protocol hipe")
    assert "by type, protocol hipe" in official.stdout
    assert "token *" in official.stdout
    assert "strict *" not in official.stdout
    assert "strict_macro_f1_seen  " in official.stdout  # the scorer's F1_macro
    assert "* not defined by the protocol hipe" in official.stdout
    assert official.stdout.count("protocol hipe") == 4  # both tables of values, the star's meaning, the types
    ours = goldassay(*arguments, "--all")
    assert ours.stdout.startswith("extraction, 1 example ")
    assert "*" not in ours.stdout
    body = json.loads(goldassay(*arguments, "--protocol", "hipe", "--json").stdout)
    assert (body["protocol"], "strict_f1" in body["undefined"]) == ("hipe", False)


def test_types_stand_by_support_and_the_largest_confusions_are_shown(tmp_path: Path) -> None:
    kinds = [f"T{number:02}" for number in range(40)]
    gold: list[dict[str, object]] = [
        {"id": str(i), "text": "x" * 9, "entities": [{"start": 0, "end": 1, "type": kind, "text": "x"}]}
        for i, kind in enumerate([*kinds, "T39", "T39", "T38"])
    ]
    answered = [{"start": 0, "end": 1, "type": "T39", "text": "x"}]
    pred: list[dict[str, object]] = [{"id": str(i), "entities": answered} for i in range(len(gold))]
    done = goldassay(
        "score", "extraction", "--gold", jsonl(tmp_path / "g", gold), "--pred", jsonl(tmp_path / "p", pred),
        "--format", "jsonl", "--all",
    )  # fmt: skip
    by_type = done.stdout.partition("by type")[2]
    assert by_type.index("T39") < by_type.index("T38") < by_type.index("T00")
    assert "and 10 more" in by_type.partition("largest confusions")[0]
    first = by_type.partition("largest confusions")[2].splitlines()[4]
    assert [word for word in first.split() if word.isalnum()] == ["T38", "T39", "2"]


def test_tags_are_read_as_conlleval_or_as_their_scheme_is_written(tmp_path: Path) -> None:
    """An orphan I- is an entity or nothing: 2 of 3 found and 2 of 2 wanted, or 1 of 1 and 1 of 2."""
    gold, pred = tmp_path / "gold.conll", tmp_path / "pred.conll"
    gold.write_text("a B-PER\nb O\nc B-LOC\nd O\n", encoding="utf-8")
    pred.write_text("a I-PER\nb O\nc B-LOC\nd I-PER\n", encoding="utf-8")
    arguments = ("score", "extraction", "--gold", gold, "--pred", pred, "--json")
    assert json.loads(goldassay(*arguments).stdout)["values"]["strict_f1"] == pytest.approx(4 / 5)
    strict = json.loads(goldassay(*arguments, "--option", "malformed=strict", "--option", "scheme=IOB2").stdout)
    assert strict["values"]["strict_f1"] == pytest.approx(2 / 3)
    assert strict["warnings"] == ["tags were read as their scheme is written (malformed=strict)"]
    assert (
        "no option 'malformed'"
        in goldassay(*arguments[:4], "--pred", gold, "--format", "jsonl", "--option", "malformed=strict").stderr
    )
