"""``goldassay.load`` as a person writes it, from a folder that is not the project's."""

from __future__ import annotations

import io
import subprocess
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path
from unittest.mock import patch

import pytest


def say(code: str, folder: Path, *args: object) -> list[str]:
    """What a script prints."""
    with chdir(folder), patch("sys.argv", ["script.py", *map(str, args)]), redirect_stdout(io.StringIO()) as stdout:
        exec(code, {"__name__": "__main__"})
    return stdout.getvalue().splitlines()


def test_one_line_loads_heritage_anywhere(tmp_path: Path) -> None:
    code = """
import goldassay
gold = goldassay.load("heritage")
train = gold.extraction.train
print(len(train), type(train[0]).__module__.split(".")[0], *train[0].inputs().keys())
print(len(gold.answering.test), *gold.answering.test[0].inputs().keys())
print(len(gold.retrieval.passages), gold.card["licence"])
"""
    assert say(code, tmp_path) == ["160 dspy text", "23 question", "228 CC0-1.0"]


def test_a_folder_and_a_file_with_its_format(tmp_path: Path, root: Path, own: Path) -> None:
    code = """
import sys, goldassay
print(goldassay.load(sys.argv[1]))
gold = goldassay.load(sys.argv[2], format="hipe")
print(gold, gold.extraction.all[0].inputs().keys())
"""
    assert say(code, tmp_path, root / "gold" / "heritage", own / "hipe.tsv") == [
        "GoldSet('heritage', extraction, classification, linking, retrieval, answering, triples, trajectories)",
        "GoldSet('hipe', extraction) ['text']",
    ]


@pytest.mark.extensions
def test_records_are_read_without_dspy_numpy_and_scikit_learn(tmp_path: Path) -> None:
    code = """
import sys, goldassay
print(len(goldassay.load("heritage").extraction.records))
print(sorted({"dspy", "numpy", "sklearn", "httpx", "litellm"} & set(sys.modules)))
"""
    command = [sys.executable, "-W", "error::UserWarning", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (["228", "[]"], "")


def test_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "gold.jsonl").write_text('{"id": "a", "text": "x", "entities": []}\n', encoding="utf-8")
    (tmp_path / "mine.jsonl").write_text('{"id": "a", "text": "x"}\n', encoding="utf-8")
    code = """
import goldassay
for ask in (lambda: goldassay.load("mine.jsonl"),
            lambda: goldassay.load("gold.jsonl").extraction.train,
            lambda: goldassay.load("nowhere")):
    try:
        ask()
    except goldassay.GoldassayError as error:
        print(error)
"""
    name, split, absent = say(code, tmp_path)
    assert name.startswith("mine.jsonl: which task is this gold for? Name it (`task=")
    message = "its records have no 'split' (goldassay gold split makes them)"
    assert split == f"gold.jsonl: no split 'train' of extraction; {message}"
    assert absent == "no gold set 'nowhere': neither a file, nor a folder, nor a name under gold/"
