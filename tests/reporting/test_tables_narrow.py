"""On a terminal of 60, 80 or 100 columns every number is whole: columns that do not fit stand in a table below."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dspy
import pytest
from typer.testing import CliRunner

from goldassay import Metric
from goldassay.cli import app
from goldassay.measures import extraction
from goldassay.reporting.terminal import print_table
from goldassay.running import Run
from goldassay.running.evaluate import evaluate

NUMBER = re.compile(r"(?<![\w./:,-])[-+]?\d+(?:,\d{3})*(?:\.\d+)?(?![\w/:-]|\.\d)")
LONG = "a-program-whose-name-is-longer-than-half-of-the-line-of-a-terminal"
MEASURES: dict[Any, float] = {
    extraction.SpanF1(match, rate=rate): float(match == "strict" and rate == "f1")
    for match in ("strict", "partial", "exact", "type")
    for rate in ("f1", "precision", "recall")
}


def gold(n: int) -> list[Any]:
    texts = [f"in {1500 + i} stond er een molen bij Delft" for i in range(n)]
    spans = [{"start": 3, "end": 7, "type": "TMP", "text": text[3:7]} for text in texts]
    kinds = [{"start": 31, "end": 36, "type": "TOP", "text": "Delft"} for text in texts]
    return [
        dspy.Example(id=f"e{i}", text=text, strata={"half": str(i % 2)}, entities=[span, kind]).with_inputs("text")
        for i, (text, span, kind) in enumerate(zip(texts, spans, kinds, strict=True))
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with three runs: twelve measures each, of which the later ones are worse; and two files."""
    place = tmp_path_factory.mktemp("narrow")
    metric = Metric(MEASURES, targets={"strict_f1": 0.9})
    for name, every in (("first", 9), ("second", 2), (LONG, 3)):

        def years(text: str, every: int = every) -> Any:
            end = 6 if int(text[3:7]) % every == 0 else 7
            return dspy.Prediction(entities=[{"start": 3, "end": end, "type": "TMP", "text": text[3:end]}])

        evaluate(years, gold(60), metric, folder=place / "runs" / name, name=name, progress=False)
    yield place
    shutil.rmtree(place)


HERITAGE = ["--gold", "heritage"]
COMMANDS: dict[str, list[str]] = {
    "one run": ["runs", "show", f"runs/{LONG}"],
    "runs": ["runs", "list", "runs"],
    "two": ["compare", "runs/first", f"runs/{LONG}"],
    "three": ["compare", "runs/first", "runs/second", f"runs/{LONG}"],
    "patterns": ["patch", "patterns", f"runs/{LONG}"],
    "stats": ["gold", "stats", "heritage"],
    "agree": ["gold", "agree", "a.jsonl", "b.jsonl", "--task", "extraction"],
    "score": [
        "score",
        "extraction",
        "--gold",
        "a.jsonl",
        "--pred",
        "b.jsonl",
        "--claimed",
        "strict_f1=.5",
    ],
    "files": ["compare", "extraction", "--gold", "a.jsonl", "--pred", "b.jsonl", "--pred", "a.jsonl", "--out", "OUT"],
}


@pytest.fixture(scope="module")
def render(folder: Path) -> Callable[[str, int], str]:
    """The output of a command on a terminal of so many columns, cut as the terminal would cut it."""
    import json

    for name, run in (("a.jsonl", "first"), ("b.jsonl", LONG)):
        rows = Run.load(folder / "runs" / run).rows
        records = [
            {
                "id": row.id,
                **(row.inputs or {}),
                "entities": ((row.gold if name == "a.jsonl" else row.prediction) or {})["entities"],
            }
            for row in rows
        ]
        (folder / name).write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")

    def output(name: str, width: int) -> str:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            patch.setenv("COLUMNS", str(width))
            patch.setenv("TTY_COMPATIBLE", "1")
            patch.setenv("NO_COLOR", "1")
            words = [word.replace("OUT", f"out-{width}") for word in COMMANDS[name]]
            result = CliRunner().invoke(app, words)
            assert result.exit_code == 0, (result.output, result.exception)
            text = re.sub(r"\x1b\[[\d;]*m", "", result.output)
        return "\n".join(line[at : at + width] for line in text.splitlines() for at in range(0, len(line) or 1, width))

    return output


@pytest.mark.parametrize("width", [60, *(pytest.param(width, marks=pytest.mark.nightly) for width in (80, 100))])
@pytest.mark.parametrize("name", COMMANDS)
def test_every_number_is_whole(name: str, width: int, render: Callable[[str, int], str]) -> None:
    wide = 119 if name == "score" else 400  # from 120 columns on score shows conventions, with numbers of their own
    whole = set(NUMBER.findall(render(name, wide)))
    assert whole
    text = render(name, width)
    assert set(NUMBER.findall(text)) == whole
    assert not re.search(r"\d…|…\d", text)


def test_colours_help_on_a_terminal_and_nowhere_else(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    words = COMMANDS["two"]
    piped = CliRunner().invoke(app, words).output
    assert "\x1b" not in piped
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured = CliRunner().invoke(app, words).output
    assert "\x1b[31m" in coloured  # worse
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == piped
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[3\dm", CliRunner().invoke(app, words).output)
    last = piped.split("against 1, errors by type")[-1].strip().splitlines()[-2:]
    assert " is worse than first by -" in " ".join(last)


def test_at_80_columns_no_word_is_cut(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    patch = ["add_instruction-extraction-3f9a8b7c", "kept: everything together", "+0.100 [+0.000, +0.200]", "0.031"]
    print_table("patches", ["patch", "status", "effect [95 %]", "p"], [patch], left=2)
    message = "the span 1911 at 1,234:5,678 is not in the text, which has 12,345 characters instead of 0.123456"
    finding = ["schema", "gold/heritage/extraction.jsonl:1784", message, "12:34"]
    print_table("findings", ["kind", "where", "what", "fix"], [finding], left=4)
    text = capsys.readouterr().out
    words = set(text.split())
    assert not [word for cell in (*patch, *finding) for word in cell.split() if word not in words]
    assert max(map(len, text.splitlines())) <= 80
    print_table(None, ["", "value", "convention"], [["strict_f1", "0.5", message]])
    text = capsys.readouterr().out
    assert text.count("strict_f1") == 2  # in the table below, too
    assert not [word for word in message.split() if word not in text.split()]
    print_table("long", ["name", "value"], [["x" * 200, "0.1234"], ["a word", "12,345"]])
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "0.1234" in text
