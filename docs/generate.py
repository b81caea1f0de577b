"""The pages that are made from the code: the examples, and the reference of measures, commands and Python names."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import mkdocs_gen_files
import typer

import goldassay
from goldassay.cli import app
from goldassay.measure import TASKS

ORACLES = {
    "extraction": "seqeval, nervaluate, scikit-learn, HIPE-scorer's unit data and the counts of official system files",
    "classification": "scikit-learn",
    "linking": "HIPE-scorer's unit data and the counts of official system files",
    "retrieval": "trec_eval's own files, pytrec_eval and ir_measures",
    "answering": "the SQuAD scores of DSPy and torchmetrics, rouge-score, bert-score and RAGChecker's example",
    "triples": "Text2KGBench's published per-sentence results",
}


def measures() -> str:
    """Every registered measure: what it says, its formula, its conventions, its source, its oracle, an example."""
    out = [
        "# Measures",
        "",
        "Made from the registry: the name that a report prints, the definition, and where it is from.",
    ]
    for task in TASKS:
        room = import_module(f"goldassay.measures.{task}")
        out += ["", f"## {task.capitalize()}", "", _first(room), "", f"Held by tests to {ORACLES[task]}."]
        out += ["", "| value | as a measure | formula | source |", "|---|---|---|---|"]
        for measure in room.MEASURES:
            kind = type(measure)
            made = f"`{task}.{measure!r}` ([example][{kind.__module__}.{kind.__qualname__}])"
            cells = (f"`{measure.conventions}`", made, measure.formula, measure.source)
            out.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join(out) + "\n"


def commands() -> str:
    """Every command with its options, as its help says them."""
    out = ["# Commands", "", "Made from the help texts."]
    for words, command in _walk(typer.main.get_command(app), ("goldassay",)):
        out += ["", f"## {' '.join(words)}", "", (command.help or "").split("\f")[0].strip(), ""]
        rows = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        if rows:
            out += ["| | |", "|---|---|"]
        for parameter in rows:
            shown = ", ".join(parameter.opts) if parameter.param_type_name == "option" else str(parameter.name).upper()
            said = " ".join(str(getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
            out.append(f"| `{shown}` | {said} |")
    return "\n".join(out) + "\n"


def _walk(command: Any, words: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    if not hasattr(command, "commands"):
        return [(words, command)]
    return [found for name, inner in sorted(command.commands.items()) for found in _walk(inner, (*words, name))]


def python() -> str:
    """The public names, each with its docstring."""
    rooms = {
        "goldassay": goldassay.__all__,
        "goldassay.statistics": import_module("goldassay.statistics").__all__,
        "goldassay.tuning": import_module("goldassay.tuning").__all__,
        "goldassay.lm": import_module("goldassay.lm").__all__,
        "goldassay.judges": import_module("goldassay.judges").__all__,
        "goldassay.compat": dir(import_module("goldassay.compat")),
        **{f"goldassay.measures.{task}": [] for task in TASKS},
    }
    out = ["# Python", "", "The public names. Each example in them is run by the tests."]
    for room, names in rooms.items():
        out += ["", f"## {room}"]
        for name in names:
            found = getattr(import_module(room), name)
            home = getattr(found, "__module__", room)
            if isinstance(home, str) and home.startswith("goldassay") and hasattr(found, "__name__"):
                out += ["", f"::: {home}.{found.__name__}", "    options:", "      heading_level: 3"]
        if not names:
            shown = sorted(name for name in import_module(room).__all__ if _documented(import_module(room), name))
            for name in shown:
                found = getattr(import_module(room), name)
                out += ["", f"::: {found.__module__}.{found.__name__}", "    options:", "      heading_level: 3"]
    return "\n".join(out) + "\n"


def _documented(room: Any, name: str) -> bool:
    found = getattr(room, name)
    return str(getattr(found, "__module__", "")).startswith("goldassay") and hasattr(found, "__name__")


def examples() -> str:
    """The scripts and notebooks of ``examples/``, as they stand there."""
    folder = Path(__file__).parents[1] / "examples"
    out = ["# Examples", "", "They lie in `examples/`, need no network, and are run by the tests."]
    for file in sorted(folder.glob("*.py")):
        out += ["", f"## {file.stem.capitalize()}", "", f'```python title="examples/{file.name}"']
        out += [file.read_text(encoding="utf-8").rstrip(), "```"]
    for file in sorted(folder.glob("*.ipynb")):
        out += ["", f"A notebook: `examples/{file.name}`", ""]
        for cell in json.loads(file.read_text(encoding="utf-8"))["cells"]:
            text = "".join(cell["source"]).rstrip()
            code = cell["cell_type"] == "code"
            out += ["```python", text, "```", ""] if code else [text.replace("# ", "## ", 1), ""]
    return "\n".join(out) + "\n"


def _first(room: Any) -> str:
    return (room.__doc__ or "").split("\n\n")[0].replace("\n", " ")


PAGES = {"examples": examples, "measures": measures, "commands": commands, "python": python}
for page, made in PAGES.items():
    with mkdocs_gen_files.open(f"reference/{page}.md", "w") as written:
        written.write(made())
