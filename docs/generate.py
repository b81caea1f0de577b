"""The pages that are made from the code: the examples, and the reference of measures, commands and Python names."""

from __future__ import annotations

import dataclasses
import html
import inspect
import json
import re
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import typer

from goldassay.cli import app
from goldassay.cli.program import all_commands
from goldassay.core.measure import TASKS, Measure, registered

ORACLES = {
    "extraction": "seqeval, nervaluate, scikit-learn, HIPE-scorer's unit data and the counts of official system files",
    "classification": "scikit-learn",
    "linking": "HIPE-scorer's unit data, the counts of official system files, the cases of CoNLL's coreference scorer, "
    "and the definitions of cluster measures",
    "retrieval": "trec_eval's own files, pytrec_eval and ir_measures",
    "answering": "the SQuAD scores of DSPy and torchmetrics, rouge-score, bert-score, sacrebleu's numbers, "
    "RAGChecker's example, and cases by hand of the benchmarks' scripts",
    "triples": "Text2KGBench's published per-sentence results, and WebNLG, DocRED and CaRB by hand",
    "records": "the definitions of Donut's tree edit distance and DocVQA's ANLS, and every assignment of small lists",
    "trajectories": "the official verdicts of BFCL's checker, agentevals, and every assignment of small lists",
}


def measures() -> str:
    """The tasks, each with what its measures are tested against, and the page that has them."""
    out = [
        "# Measures",
        "",
        "Each task has a page: the values that `score` and `eval` print, then the classes behind them.",
    ]
    out += ["", "| task | values | tested against |", "|---|---|---|"]
    for task in TASKS:
        count = len(registered(task))
        out.append(f"| [{task}]({task}.md) | {count} | {ORACLES[task]} |")
    out += [
        "",
        "A value prints with its conventions, such as `strict_f1[match=strict]`, and is an object with parameters in",
    ]
    out += ['Python: `extraction.SpanF1(match="partial")`. [Conventions](../explanation/conventions.md) says why.', ""]
    return "\n".join(out)


def task_page(task: str) -> str:
    """The registered measures of a task with conventions, formula and source, and its Python names."""
    package = import_module(f"goldassay.measures.{task}")
    out = [f"# {task.capitalize()}", "", _first(package), "", f"Tested against {ORACLES[task]}.", "", "## Values"]
    out += ["", "| value | definition |", "|---|---|"]
    for measure in registered(task):
        kind = type(measure)
        name = f"[`{measure.key}`][{kind.__module__}.{kind.__qualname__}]"
        conventions = measure.conventions.removeprefix(measure.key).strip("[]")
        formula, source = _stated(measure, "formula"), _stated(measure, "source")
        definition = f"{formula}. Source: {source}.<br>`{task}.{_shortest(measure)}`"
        details = f"<br><small>{html.escape(conventions)}</small>" if conventions else ""
        cells = (name, definition + details)
        out.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |")
    return "\n".join([*out, "", f"## In Python: `goldassay.measures.{task}`", *_entries(_on_page(task))]) + "\n"


def _stated(measure: Any, what: str) -> str:
    """The formula or the source of a measure: as its docstring or that of a base class states it."""
    docs = "\n".join(inspect.getdoc(kind) or "" for kind in type(measure).__mro__)
    stated = re.search(rf"^{what.capitalize()}: (.+(?:\n +.+)*)", docs, re.MULTILINE)
    return " ".join(stated[1].split()) if stated else ""


def _shortest(measure: Any) -> str:
    """The call that makes a measure, with the arguments that differ from the default only."""
    fields = [field for field in dataclasses.fields(measure) if field.init]
    arguments = [
        f"{field.name}={value!r}" for field in fields if (value := getattr(measure, field.name)) != field.default
    ]
    return f"{type(measure).__name__}({', '.join(arguments)})"


def commands() -> str:
    """Every command with its options."""
    found = [(("goldassay", *words.split()), command) for words, command in sorted(all_commands().items())]
    out = [
        "# Commands",
        "",
        "`goldassay COMMAND --help` shows the same.",
        "",
        "| command | what it does |",
        "|---|---|",
    ]
    for words, command in found:
        summary = " ".join(_help(command).partition("\n\n")[0].split())
        out.append(f"| [`{' '.join(words)}`](#{'-'.join(words)}) | {summary} |")
    out += [
        "",
        "Exit codes: 0 done; 1 a target or gate is missed; 2 the input or the call is wrong (one line says what, where",
    ]
    out += ["and how to fix it); 3 interrupted and can be resumed. These options may be anywhere on the line:"]
    out += ["", *_options(typer.main.get_command(app)), "", "A command names those that it takes in its help."]
    for words, command in found:
        out += ["", f"## {' '.join(words)}", "", _help(command), "", *_options(command)]
    return "\n".join(out) + "\n"


def _help(command: Any) -> str:
    return (command.help or "").split("\f")[0].strip()


def _options(command: Any) -> list[str]:
    """A table of the arguments and options of a command."""
    rows = []
    for parameter in command.params:
        option = parameter.param_type_name == "option"
        spelling = ", ".join(parameter.opts) if option else str(parameter.name).upper()
        metavar = str(parameter.metavar or "").replace("|", "&#124;") if option else ""
        text = " ".join(str(getattr(parameter, "help", None) or "").split()).replace("|", "\\|")
        default = parameter.default
        if isinstance(default, (str, int, float, Path)) and default not in (False, "") and "default" not in text:
            text += f" Default: {default}."
        rows.append(f"| `{spelling}` {metavar} | {text} |")
    return ["| option | meaning |", "|---|---|", *rows] if rows else []


ROOMS = (
    "goldassay",
    *(
        f"goldassay.{name}"
        for name in ("gold", "running", "statistics", "tuning", "judges", "models.lm", "models.embedding", "core.tally")
    ),
    *(f"goldassay.measures.{task}" for task in TASKS),
    "goldassay.gold.agreement",
    "goldassay.gold.audit",
    "goldassay.ext.labelling.modes",
    "goldassay.ext.protocols",
    "goldassay.reporting.pages",
    "goldassay.workspace.search",
    "goldassay.ext.compat",
)
"""The documented packages; what their ``__all__`` names is the public API (``tests/api.txt``)."""

INTERNAL = {"K", "V", "T", "sides", "errors", "SpanBatch", "listed", "checked", "available_tokens", "resolve_tokens"}
INTERNAL |= {"EndpointLimit", "RateLimit", "options_of", "share_among", "watch", "place", "flat", "nested"}
INTERNAL |= {"Keyed", "Sums", "harmonic", "worst_values", "occurs", "positive"}  # of tallies
INTERNAL |= {"Cached", "Function", "SentenceTransformers", "TokenEmbedder", "Transformer", "for_program"}  # of models
INTERNAL |= {"JudgedMean", "LinkPair", "MatchedTriples", "Matching", "Ranked", "TripleMatching"}  # of measures
INTERNAL |= {"canonical", "found_entities"}
"""What packages export for each other, and nobody else needs."""


def api() -> dict[str, list[str]]:
    """The names of each documented package; a name of two packages belongs to the first."""
    seen: set[str] = set()
    out: dict[str, list[str]] = {}
    for room in ROOMS:
        package = import_module(room)
        public = {name: f"{getattr(package, name).__module__}.{name}" for name in _names(package)}
        out[room] = sorted(name for name, home in public.items() if home not in seen)
        seen |= set(public.values())
    return out


def _names(package: Any) -> list[str]:
    names = getattr(package, "__all__", None) or [name for name in dir(package) if not name.startswith("_")]
    names = [name for name in names if name not in INTERNAL]
    return [name for name in names if str(getattr(getattr(package, name), "__module__", "")).startswith("goldassay")]


PAGES = {
    "metric": "Metrics and scores",
    "results": "Results and comparisons",
    "runs": "Runs and reports",
    "tuning": "Tuning and audits",
    "gold": "Gold",
    "statistics": "Statistics",
    "judges": "Judges",
    "models": "Language models, embeddings and search",
    "compat": "Functions of the first specification",
}
"""The pages of what is not a task's own; the first takes what no other page has."""

PAGE_OF = {
    "running": "runs",
    "reporting": "runs",
    "testing": "runs",
    "workspace": "models",
    "labelling": "gold",
}


def _on_page(page: str) -> list[Any]:
    """The public objects of a page, in the order of their names."""
    return [thing for name, thing in public() if name == page]


def public() -> list[tuple[str, Any]]:
    """Every public object with the page that documents it: the task's, or by the package it is defined in."""
    out = []
    for package, names in api().items():
        for thing in (getattr(import_module(package), name) for name in names):
            if hasattr(thing, "__name__"):
                parts = (package if "measures" in package else thing.__module__).split(".")
                page = parts[2] if parts[1] in ("measures", "ext") else PAGE_OF.get(parts[1], parts[1])
                if page == "protocols":
                    page = thing.task
                out.append((page if page in (*PAGES, *TASKS) else "metric", thing))
    return out


def python() -> str:
    """Every public name in one line, with a link to where it is documented; each row has the anchor of its name."""
    out = [
        "# Python",
        "",
        "The public names. Each page has their arguments and an example; the tests run every example.",
    ]
    for page, title in [*PAGES.items(), *((task, task.capitalize()) for task in TASKS)]:
        out += ["", f"## [{title}]({page}.md)", "", "| name | what it is |", "|---|---|"]
        for thing in _on_page(page):
            place = f"{thing.__module__}.{thing.__name__}"
            anchor = f'<span id="{place}"></span>'
            out.append(f"| {anchor}[`{thing.__name__}`]({page}.md#{place}) | {_first(thing).replace('|', '&#124;')} |")
    return "\n".join(out) + "\n"


def python_page(page: str) -> str:
    """The names of one page, each with its docstring."""
    return "\n".join([f"# {PAGES[page]}", *_entries(_on_page(page))]) + "\n"


def _entries(things: list[Any]) -> list[str]:
    """A heading with signature and docstring for each; of a measure not its methods, which are the same for all."""
    out = []
    for thing in things:
        out += ["", f"::: {thing.__module__}.{thing.__name__}"]
        if isinstance(thing, type) and issubclass(thing, Measure) and thing is not Measure:
            out += ["    options:", "      members: false"]
    return out


def examples() -> str:
    """The scripts and notebooks of ``examples/``, as they are there."""
    folder = Path(__file__).parents[1] / "examples"
    out = ["# Examples", "", "The files of `examples/` need no network, and the tests run them."]
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


def pages() -> dict[str, Callable[[], str]]:
    """The pages of the reference that are made, each with the function that writes it."""
    whole = {"examples": examples, "measures": measures, "commands": commands, "python": python}
    return {
        **whole,
        **{page: partial(python_page, page) for page in PAGES},
        **{task: partial(task_page, task) for task in TASKS},
    }


def write() -> None:
    """Write the pages into the site that mkdocs builds."""
    import mkdocs_gen_files

    for page, text in pages().items():
        with mkdocs_gen_files.open(f"reference/{page}.md", "w") as file:
            file.write(text())


if __name__ in ("__main__", "<run_path>"):  # mkdocs runs this file; a test imports it
    write()
