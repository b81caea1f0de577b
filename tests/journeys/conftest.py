"""A reviewer who is a script, a model that is one, and lines that a user has read somewhere."""

from __future__ import annotations

import _thread
import json
import re
import signal
import webbrowser
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.chaos.conftest import Endpoint
from tests.conftest import ROOT
from tests.ext.labelling.review.conftest import Client
from typer.testing import CliRunner

from goldassay.cli import app
from goldassay.cli.commands import places

Fields = dict[str, Any]
Decide = Callable[[Fields], Fields]
Answer = Callable[[str, Fields, str], str]


class Reviewer(webbrowser.BaseBrowser):
    """Opens the page that goldassay opens, decides every record by a rule, and ends the page with Ctrl-C.

    Args:
        decide: The decision on a record as the page gets it.
        then: The lines with which the page ended, by its title.
    """

    def __init__(self, decide: Decide) -> None:
        super().__init__("scripted")
        self.decide = decide
        self.then: list[str] = []

    def open(self, url: str, new: int = 0, autoraise: bool = True) -> bool:
        client = Client(url)
        setup = client.get("setup")
        items = setup["next"]
        while items:
            record = client.record(items[0])
            items = client.decide(items[0], **self.decide({**record, "choices": setup}))["next"]
        self.then = setup["then"]
        _thread.interrupt_main()
        return True


@pytest.fixture
def reviewer(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Decide], Reviewer]]:
    """Makes a reviewer the browser of this machine."""

    def sit_down(decide: Decide) -> Reviewer:
        browser = Reviewer(decide)
        webbrowser.register("scripted", None, browser, preferred=True)
        return browser

    monkeypatch.delenv("BROWSER", raising=False)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    order = list(webbrowser._tryorder or []) if hasattr(webbrowser, "_tryorder") else []
    yield sit_down
    signal.signal(signal.SIGINT, before)
    if webbrowser._tryorder is not None:  # type: ignore[attr-defined]
        webbrowser._tryorder[:] = order  # type: ignore[attr-defined]


def parts_of(line: str) -> tuple[str, set[str]]:
    """The command of a line and its options."""
    words = line.split()[1:]
    lengths = (n for n in (2, 1) if " ".join(words[:n]) in places())
    return " ".join(words[: next(lengths, 0)]), {word.partition("=")[0] for word in words if word.startswith("--")}


def documented() -> dict[str, set[str]]:
    """The options of each command that a page of the documentation uses."""
    options = defaultdict[str, set[str]](set)
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))):
        text = re.sub(r"\\\n\s*", "", page.read_text(encoding="utf-8"))
        explained = {option for code in re.findall(r"`(--[^`]*)`", text) for option in re.findall(r"--[a-z-]+", code)}
        for line in re.findall(r"goldassay [a-z][^\n`#]*", text):
            command, used = parts_of(line)
            options[command] |= used | explained
    return options


class Shell:
    """Types lines: of the README, of a page, or of what was printed before; anything else is no line of a journey."""

    def __init__(self) -> None:
        self.printed = ""
        self.documented = documented()

    def __call__(self, line: str, **values: object) -> str:
        line = line.format(**values)
        command, options = parts_of(line)
        if line not in self.printed:
            assert command in self.documented, line
            same = "gold draft" if command == "review" else command  # which takes the same sources
            known = {*self.documented[command], *self.documented[same], "--json"}
            assert options <= known, (line, known)
        done = CliRunner(env={"COLUMNS": "200"}).invoke(app, line.split()[1:])
        assert done.exit_code == 0, (line, done.output, done.exception)
        self.printed = done.output
        return done.stdout

    def json(self, line: str, **values: object) -> Any:
        return json.loads(self(f"{line} --json", **values))

    def advised(self, beginning: str) -> str:
        """The line that was printed last and begins like this."""
        lines = [line.strip() for line in self.printed.splitlines() if line.strip().startswith(beginning)]
        assert lines, (beginning, self.printed)
        return lines[-1]


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer], Endpoint]]:
    """Makes a rule the model ``models.yaml:mini``: it gets the name of an output, the inputs, and the prompt before."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # as the program does
    endpoint = Endpoint()

    def served(answer: Answer) -> Endpoint:
        def reply(messages: list[dict[str, str]]) -> str:
            *before, last = (message["content"] for message in messages)
            asked, _, wanted = last.rpartition("Respond with")
            parts = re.split(r"\[\[ ## (\w+) ## \]\]", asked)
            inputs = {name: value.strip() for name, value in zip(parts[1::2], parts[2::2], strict=True)}
            outputs = [name for name in re.findall(r"\[\[ ## (\w+) ## \]\]", wanted) if name != "completed"]
            texts = [f"[[ ## {name} ## ]]\n{answer(name, inputs, ' '.join(before))}" for name in outputs]
            return "\n\n".join([*texts, "[[ ## completed ## ]]"]) if outputs else f"```\n{answer('', {}, last)}\n```"

        endpoint.reply = reply
        lines = [
            "mini:",
            "  model: openai/mini",
            f"  api_base: {endpoint.url}",
            "  api_key: sk-journey-0123456789",
            "  cache: false",
        ]
        write("models.yaml", "\n".join(lines))
        return endpoint

    yield served
    endpoint.close()


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    return Shell()


def write(name: str, rows: Sequence[Mapping[str, Any]] | str) -> Path:
    """A file of a project, in the current folder."""
    text = rows if isinstance(rows, str) else "".join(f"{json.dumps(row)}\n" for row in rows)
    file = Path(name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def prefer(field: str, truth: Callable[[Fields], Any]) -> Decide:
    """A person who knows the true value of a field, and compares systems whose names are hidden."""

    def decide(record: Fields) -> Fields:
        true = truth(record)
        if not record["suggestions"]:  # one of ten is labelled without them
            return {"value": {field: true}}
        right = [side["key"] for side in record["suggestions"] if side["value"][field] == true]
        return {"choice": right[0] if len(right) == 1 else "both" if right else "neither"}

    return decide
