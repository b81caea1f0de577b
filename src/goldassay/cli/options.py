"""Words that mean the same in every command: options, their help, and how help is printed.

A command takes an option from here wherever it has one of that name, so that ``--json``, ``--out``, ``--seed``,
``--limit`` and the others read alike everywhere.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from goldassay.cli.help import SECTIONS, OptionSetting
from goldassay.exceptions import GoldassayError
from goldassay.workspace import nearest

SIX = "extraction, classification, linking, retrieval, answering or triples"


of_gold, of_model, of_running, of_result = (partial(typer.Option, rich_help_panel=name) for name in SECTIONS)

Task = Annotated[str, typer.Argument(help=SIX, metavar="TASK")]
OfTask = Annotated[
    str | None,
    of_gold("--task", metavar="TASK", help="The task, where nothing else says it."),
]
Program = Annotated[
    str, typer.Argument(metavar="TASK|FILE", help="A task, TASK:NAME, or FILE:NAME (programs/extraction.py:program).")
]
Gold = Annotated[
    str | None,
    of_gold(
        "--gold",
        metavar="SET|FILE",
        help="A gold set's name, its folder, or a file (default: gold/TASK, else heritage).",
    ),
]
Map = Annotated[
    str | None,
    of_gold("--map", metavar="NAME=PATH,…", help="Fields of a foreign file: text=body.content,…; or a JSON file."),
]
Column = Annotated[
    str | None,
    of_gold("--column", metavar="NAME", help="hipe, iob2: the column of tags, such as NE-COARSE-LIT."),
]
GoldSet = Annotated[str, typer.Argument(metavar="SET|FILE", help="A gold set's name, its folder, or a file.")]
Format = Annotated[
    str | None,
    of_gold("--format", metavar="NAME", help="The format of a file, where its name does not tell it."),
]
Split = Annotated[str, of_gold("--split", metavar="NAME", help="Which split: train, dev, test or all.")]
Metric = Annotated[
    str | None,
    of_gold("--metric", metavar="FILE[:NAME]", help="A metric (default: metrics/TASK.py:metric)."),
]
Lm = Annotated[
    str | None,
    of_model(
        "--lm",
        metavar="MODEL",
        help="local/smollm2-135m (default), local:FILE.gguf, any name that dspy.LM knows, or models.yaml:NAME.",
    ),
]
LmOption = Annotated[
    list[str] | None,
    of_model(
        "--lm-option",
        metavar="NAME=VALUE",
        help="Of the model: temperature=0.2, api_base=…, rpm=60, tpm=90000 (repeat).",
    ),
]
Adapter = Annotated[
    str | None,
    of_model(
        "--adapter", metavar="NAME", help="chat, json, xml, terse (default of local models), terse-lines, -types."
    ),
]
Engine = Annotated[
    str,
    of_running(
        "--engine",
        metavar="NAME[:N]",
        help="Where examples are worked on: threads, processes or ray; ray:16 says how many (default: processors).",
    ),
]
RayAddress = Annotated[
    str | None,
    of_running("--ray-address", metavar="ADDRESS", help="The Ray cluster to join (default: this machine)."),
]
JudgeLm = Annotated[
    str | None,
    of_model("--judge-lm", metavar="MODEL", help="The model that judges, bound apart from --lm; or nli:MODEL."),
]
ReflectionLm = Annotated[
    str | None,
    of_model("--reflection-lm", metavar="MODEL", help="The model that writes instructions (default: --lm)."),
]
State = Annotated[
    Path | None,
    of_model("--state", metavar="FOLDER", help="A tuned program: its folder or state.json."),
]
Resume = Annotated[
    Path | None,
    of_running("--resume", metavar="FOLDER", help="Go on with what was interrupted."),
]
Runs = Annotated[Path, of_result("--runs", metavar="FOLDER", help="Where run folders go.")]
RunsFolder = Annotated[Path, typer.Argument(metavar="[RUNS]", help="The folder of runs.")]
Limit = Annotated[int | None, of_gold("--limit", metavar="N", min=1, help="Only the first N examples.")]
Timeout = Annotated[
    float | None,
    of_running("--timeout", metavar="SECONDS", help="How long one example may take."),
]
Budget = Annotated[
    str | None,
    of_running("--budget", metavar="WHAT=N", help="Such as calls=500,minutes=10 (calls, tokens, usd, minutes)."),
]
NoCache = Annotated[bool, of_model("--no-cache", help="Ask the model anew, also what DSPy's cache has.")]
MaxFailures = Annotated[
    float,
    of_running(
        "--max-failures", metavar="SHARE", min=0, max=1, help="Stop when more examples fail (after 20); 1: never."
    ),
]
Threads = Annotated[int, of_running("--threads", metavar="N", min=1, help="How many examples at once.")]
Seed = Annotated[int, of_running("--seed", metavar="N", help="Of everything that is drawn at random.")]
Json = Annotated[bool, of_result("--json", help="Print one JSON object on standard output.")]
Gate = Annotated[bool, of_result("--gate", help="Exit with 1 when what was promised is not reached.")]
Force = Annotated[bool, of_result("--force", help="Write over what exists.")]


Protocol = Annotated[
    str | None,
    of_gold("--protocol", metavar="NAME", help="An official protocol: hipe, hipe2020, text2kgbench."),
]
SkipBad = Annotated[
    int | None,
    of_gold("--skip-bad", min=1, metavar="N", help="Go on past N bad tags or lines; a warning counts them."),
]
TaskOption = Annotated[
    list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="A setting of the task (repeat).")
]


CONCERNS = {
    "column": ("extraction", "linking"),
    "protocol": ("extraction", "linking", "triples"),
}
"""The tasks that an option of `FileOptions` is for, where it is not for all."""

SETTINGS = {
    "labels": OptionSetting(
        "A,B|FILE", ("classification",), "the labels (in a file, one a line), institutions or seen."
    ),
    "bounds": OptionSetting("word", ("extraction", "linking"), "widen spans to whole words first, as ELEVANT does."),
    "malformed": OptionSetting(
        "strict", ("extraction",), "conll, hipe: tags as their scheme is written (else as conlleval reads them)."
    ),
    "scheme": OptionSetting(
        "NAME", ("extraction",), "conll, hipe: IOB1, IOB2, IOE2, IOBES or BILOU (else told by the tags)."
    ),
    "equivalent": OptionSetting("FILE", ("linking",), "a table of equivalent ids: two columns, tsv or csv."),
    "na_probs": OptionSetting("FILE", ("answering",), "SQuAD 2.0: the probabilities of no answer, {id: number}."),
    "ontology": OptionSetting("FILE", ("triples",), "the ontology (text2kgbench JSON)."),
}
"""What ``--option NAME=VALUE`` sets of a task."""


@dataclass(frozen=True)
class FileOptions:
    """How files of predictions are read and counted beside gold."""

    format: Format = None
    column: Annotated[
        str | None,
        of_gold("--column", metavar="NAME", help="NEL-LIT (hipe), a column's number (conll); 2:3 for gold:pred."),
    ] = None
    measures: Annotated[
        list[str] | None, typer.Option("--measure", metavar="NAME", help="Only this measure, by its name (repeat).")
    ] = None
    protocol: Protocol = None
    skip_bad: SkipBad = None
    option: TaskOption = None

    def given(self) -> dict[str, Any]:
        """Those that were said, each setting by its name."""
        said = {name: value for name, value in vars(self).items() if value and name != "option"}
        return said | settings(self.option)


def settings(said: Sequence[str] | None, known: Mapping[str, OptionSetting] = SETTINGS) -> dict[str, Any]:
    """``--option NAME=VALUE`` of a task, each by its name as Python has it.

    >>> settings(["labels=pos,neg"])
    {'labels': 'pos,neg'}
    """
    out: dict[str, Any] = {}
    for text in said or ():
        name, equals, value = text.partition("=")
        key = name.strip().replace("-", "_")
        if not equals or not value:
            raise GoldassayError(f"--option reads like labels=pos,neg, not {text!r}")
        if key not in known:
            raise GoldassayError(f"no setting {name!r}{nearest(key, known)}")
        out[key] = Path(value) if known[key].metavar == "FILE" else value
    return out


def free(place: Path, force: bool) -> None:
    """Refuse to write over what exists, unless it was said."""
    if place.exists() and not force:
        raise GoldassayError(f"{place} exists already; name another place, or say --force to write over it")


def spelled_out(command: Callable[..., None]) -> Callable[..., None]:
    """The command with each parameter that is a dataclass of options replaced by the options that its fields are.

    So commands share options without copying them; the command itself gets the dataclass, filled.
    """
    parameters: list[inspect.Parameter] = []
    groups: dict[str, type[Any]] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        kind = parameter.annotation
        if not is_dataclass(kind):
            parameters.append(parameter)
            continue
        groups[parameter.name] = kind  # type: ignore[assignment]
        hints = get_type_hints(kind, include_extras=True)
        parameters += [
            parameter.replace(name=field.name, annotation=hints[field.name], default=field.default)
            for field in fields(kind)
        ]

    def called(**given: Any) -> None:
        for name, kind in groups.items():
            given[name] = kind(**{field.name: given.pop(field.name) for field in fields(kind)})
        command(**given)

    called.__name__, called.__doc__ = command.__name__, command.__doc__
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return called


def optimizer_settings(options: Sequence[str]) -> dict[str, Any]:
    """The optimizer's settings as they were written; what is guarded, with how far it may drop.

    >>> optimizer_settings(["rounds=5", "guarded=strict_f1,partial_f1=0.01"])
    {'rounds': 5, 'guarded': {'strict_f1': 0.0, 'partial_f1': 0.01}}
    """
    import yaml

    found: dict[str, Any] = {}
    for text in options:
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise GoldassayError(f"--option reads like rounds=5, not {text!r}")
        try:
            found[name] = guards(value) if name == "guarded" else yaml.safe_load(value)
        except yaml.YAMLError:
            raise GoldassayError(f"the value of --option {name} cannot be read: {value!r}") from None
    return found


def guards(said: str) -> dict[str, float]:
    """Measures that must not drop, each with what it may drop by."""
    pairs = [text.partition("=") for text in said.split(",")]
    try:
        return {name.strip(): float(drop or 0) for name, _, drop in pairs}
    except ValueError:
        raise GoldassayError(f"guarded reads like strict_f1 or strict_f1,partial_f1=0.01, not {said!r}") from None
