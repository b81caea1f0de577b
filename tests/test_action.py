"""The GitHub Action: its step, as ``action.yml`` has it, from a checkout of the repository, beside a small GitHub."""

from __future__ import annotations

import html
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from tests import processes

from goldassay.ext.labelling.review.folder import Folder

TOKEN = "a-token-of-the-job"
GOLD = ["question", "question", "complaint", "praise", "complaint", "question", "praise", "complaint"] * 5
HOSTILE = "$(touch stolen) `touch stolen` ; touch stolen"


EVENTS = {"pull_request": '{"pull_request": {"number": 7}}', "push": "{}"}


class GitHub:
    """The comments of pull request 7; ``status`` other than 200 refuses everything."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.calls: list[str] = []
        self.status = 200
        self.raw: bytes | None = None  # what is sent instead of the answer
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(self, body: str, kind: str) -> None:
        self.comments.append({"id": len(self.comments) + 1, "body": body, "user": {"type": kind}})

    def answer(self, method: str, path: str, body: dict[str, Any]) -> Any:
        comments = re.fullmatch(r"/repos/team/letters/issues/7/comments(?:\?per_page=100&page=(\d+))?", path)
        if method == "GET" and comments:
            begin = 100 * (int(comments[1]) - 1)
            return self.comments[begin : begin + 100]
        if method == "POST" and comments:
            self.add(body["body"], "Bot")
            return self.comments[-1]
        one = re.fullmatch(r"/repos/team/letters/issues/comments/(\d+)", path)
        assert method == "PATCH"
        assert one
        self.comments[int(one[1]) - 1]["body"] = body["body"]
        return self.comments[int(one[1]) - 1]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        github = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                data = self.rfile.read(int(self.headers.get("content-length") or 0))
                github.calls.append(f"{self.command} {self.path}")
                right = github.status == 200 and self.headers["authorization"] == f"Bearer {TOKEN}"
                answer = github.answer(self.command, self.path, json.loads(data or b"{}")) if right else {}
                reply = json.dumps(answer).encode() if github.raw is None else github.raw
                self.send_response(200 if right else 403)
                self.send_header("content-length", str(len(reply) + (100 if github.raw == b"[" else 0)))
                self.end_headers()
                self.wfile.write(reply)

            do_POST = do_PATCH = do_GET

        return Handler


@pytest.fixture
def github() -> Iterator[GitHub]:
    server = GitHub()
    yield server
    server.close()


@pytest.fixture(scope="module")
def checkout(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as the runner has it."""
    if not (root / ".git").exists() or shutil.which("git") is None:
        pytest.skip("this is no checkout of git")
    place = tmp_path_factory.mktemp("action") / "goldassay"
    subprocess.run(["git", "clone", "--quiet", "--shared", str(root), str(place)], check=True)
    return place


@dataclass
class Ran:
    status: int
    comment: str
    log: str
    folder: Path

    @property
    def plain(self) -> str:
        """The comment as a reader sees it."""
        return html.unescape(self.comment)


@dataclass
class Runner:
    """A workflow on a pull request of somebody's repository, in which goldassay is installed."""

    checkout: Path
    workspace: Path
    github: GitHub
    event: str = "pull_request"
    shell: bool = (
        False  # the step runs in a shell, as ``action.yml`` writes it; else its script alone, whose commands fork
    )
    decided: bool = False  # the verdict is there, so that only what follows is at work

    def step(self, **inputs: str) -> Ran:
        """The step that decides."""
        action = yaml.safe_load((self.checkout / "action.yml").read_text(encoding="utf-8"))
        (step,) = [each for each in action["runs"]["steps"] if each.get("id") == "gate"]
        given = {name: str(about["default"]) for name, about in action["inputs"].items()}
        given |= {"token": TOKEN} | {name.replace("_", "-"): value for name, value in inputs.items()}
        temp = self.workspace.parent / "temp"
        temp.mkdir(exist_ok=True)
        event = temp / "event.json"
        event.write_text(EVENTS.get(self.event, self.event))
        for name in ("output", "summary"):
            (temp / name).write_text("", encoding="utf-8")
        environment = {name: given[value[len("${{ inputs.") : -len(" }}")]] for name, value in step["env"].items()}
        environment |= {
            "RUNNER_TEMP": str(temp),
            "GITHUB_ACTION_PATH": str(self.checkout),
            "GITHUB_API_URL": self.github.url,
            "GITHUB_SERVER_URL": "https://github.example",
            "GITHUB_REPOSITORY": "team/letters",
            "GITHUB_RUN_ID": "12",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_OUTPUT": str(temp / "output"),
            "GITHUB_STEP_SUMMARY": str(temp / "summary"),
        }
        done = self.in_a_shell(step["run"], environment) if self.shell else self.script(environment)
        assert "Traceback" not in done.stderr, done.stderr
        outputs = dict(line.split("=", 1) for line in (temp / "output").read_text(encoding="utf-8").splitlines())
        folder = self.workspace / outputs["folder"]
        comment = (folder / "comment.md").read_text(encoding="utf-8")
        assert outputs["status"] == str(done.returncode)
        assert (temp / "summary").read_text(encoding="utf-8") == comment
        assert TOKEN not in comment + done.stdout
        return Ran(done.returncode, comment, done.stdout, folder)

    def in_a_shell(self, line: str, environment: dict[str, str]) -> processes.Done:
        """The line of a shell, with an interpreter where the action has installed one."""
        python = Path(environment["RUNNER_TEMP"], "goldassay", "bin", "python")
        python.parent.mkdir(parents=True, exist_ok=True)
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
        python.chmod(0o755)
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", line],
            cwd=self.workspace,
            env={**os.environ, **environment},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )

    def script(self, environment: dict[str, str]) -> processes.Done:
        """The script, whose commands are forked."""
        spec = importlib.util.spec_from_file_location("gate", self.checkout / "action" / "gate.py")
        assert spec
        assert spec.loader
        gate = importlib.util.module_from_spec(spec)
        with patch.dict(os.environ, environment), patch.dict(sys.modules, gate=gate):
            spec.loader.exec_module(gate)
            forked = SimpleNamespace(run=lambda command, **_: processes.run(*command[3:]))
            vars(gate)["subprocess"] = forked
            if self.decided:
                vars(gate)["sections"] = lambda out: [gate.Section(["decided"])]
            with chdir(self.workspace), redirect_stdout(io.StringIO()) as stdout:
                status = gate.main()
        return subprocess.CompletedProcess([], status, stdout.getvalue(), "")


@pytest.fixture
def runner(checkout: Path, github: GitHub, tmp_path: Path) -> Runner:
    workspace = tmp_path / "letters"
    workspace.mkdir()
    rows = [{"id": f"d{number}", "text": f"letter {number}", "label": label} for number, label in enumerate(GOLD)]
    write(workspace / "gold.jsonl", rows)
    write(workspace / "before.jsonl", [{"id": row["id"], "label": "question"} for row in rows])
    after = [{"id": row["id"], "label": row["label"] if index % 10 else "praise"} for index, row in enumerate(rows)]
    write(workspace / "after.jsonl", after)
    return Runner(checkout, workspace, github)


def write(file: Path, rows: list[dict[str, Any]]) -> None:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


PREDICTIONS = {"task": "classification", "gold": "gold.jsonl", "pred": "before.jsonl\nafter.jsonl"}


def test_a_comparison_is_a_comment_a_report_and_status_0(runner: Runner) -> None:
    done = runner.step(**PREDICTIONS, fail_under="accuracy=.8\nmacro_f1=.5", fail_if_worse="true")
    assert done.status == 0, done.log
    (comment,) = runner.github.comments
    assert comment["body"] == done.comment
    assert "passed" in done.comment
    assert "| accuracy | 0.375 [" in done.plain
    assert "after.jsonl is better than before.jsonl by +0." in done.plain
    assert "https://github.example/team/letters/actions/runs/12" in done.comment
    assert "<html" in (done.folder / "predictions" / "report.html").read_text(encoding="utf-8")[:300]


def test_the_next_push_updates_the_comment_and_no_other(runner: Runner) -> None:
    mine = "<!-- goldassay: letters -->\nold"
    for _ in range(130):
        runner.github.add("Looks good to me.", "User")
    runner.github.add(mine, "User")  # somebody quotes it
    runner.github.add("<!-- goldassay: other -->", "Bot")  # another use of the action
    first = runner.step(**PREDICTIONS, name="letters")
    second = runner.step(**PREDICTIONS, name="letters", fail_under="accuracy=.99")
    assert (first.status, second.status) == (0, 1)
    assert len(runner.github.comments) == 133
    assert runner.github.comments[130]["body"] == mine
    assert runner.github.comments[-1]["body"] == second.comment
    assert "a gate is missed" in second.comment
    assert "accuracy is 0.9250, under 0.99" in second.plain  # 37 of 40


def test_a_single_file_has_a_report_too(runner: Runner) -> None:
    done = runner.step(task="classification", gold="gold.jsonl", pred="before.jsonl", fail_under="accuracy=.3")
    assert done.status == 0
    assert (done.folder / "predictions" / "report.html").is_file()


def test_a_system_that_is_proven_worse_fails_if_that_is_a_gate(runner: Runner) -> None:
    backwards = {**PREDICTIONS, "pred": "after.jsonl\nbefore.jsonl"}
    assert runner.step(**backwards).status == 0
    assert runner.step(**backwards, fail_if_worse="true").status == 1


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ({}, "expected predictions"),
        ({"pred": "after.jsonl"}, "need the inputs task, gold and pred"),
        ({**PREDICTIONS, "gold": "none.jsonl"}, "none.jsonl"),
        ({**PREDICTIONS, "pred": "--json"}, "begins with a hyphen"),
        ({**PREDICTIONS, "fail_under": "accuracy=high"}, "accuracy=high"),
        ({**PREDICTIONS, "fail_under": "no_such_value=.5"}, "no_such_value"),
        ({**PREDICTIONS, "options": "split=test"}, "expected lines such as"),
        ({"fail_over": "missing total=.05"}, "fail-over needs a review"),
        ({"runs": "no-such-run"}, "no-such-run"),
    ],
)
def test_a_wrong_call_is_status_2_and_says_why(runner: Runner, inputs: dict[str, str], message: str) -> None:
    done = runner.step(**inputs)
    assert done.status == 2
    assert message in done.plain
    assert runner.github.comments[0]["body"] == done.comment


def test_what_a_shell_or_markdown_would_take_for_its_own_stays_text(runner: Runner) -> None:
    runner.shell = True
    name = f"{HOSTILE} @team [a](http:b) <img src=x> | cell ::error::no"
    shutil.copy(runner.workspace / "after.jsonl", runner.workspace / f"{name.replace('/', '')}.jsonl")
    done = runner.step(**{**PREDICTIONS, "pred": f"before.jsonl\n{name}.jsonl"}, name=name)
    assert done.status == 0, done.comment
    for file in runner.workspace.rglob("*"):
        assert file.name != "stolen"
    for markup in ("@team", "[a](", "<img", "`touch"):
        assert markup not in done.comment
    columns = {line.count(" | ") for line in done.comment.splitlines() if line.startswith("|")}
    assert columns == {3}
    before, _, rest = done.log.partition("::stop-commands::")
    assert "::error" not in before
    assert rest.strip().endswith(f"::{rest.split()[0]}::")


def test_nothing_is_posted_without_a_pull_request_or_a_token(runner: Runner) -> None:
    runner.decided = True
    assert runner.step(**PREDICTIONS, token="").status == 0
    runner.event = "push"
    assert runner.step(**PREDICTIONS).status == 0
    assert runner.github.calls == []


def test_a_token_that_may_only_read_leaves_the_verdict(runner: Runner) -> None:
    runner.decided = True
    runner.github.status = 403
    done = runner.step(**PREDICTIONS)
    assert done.status == 0
    assert "::warning::goldassay could not comment" in done.log


@pytest.mark.parametrize("raw", [b"<html>busy</html>", b"[", b'{"a": 1}', b"[1]", b"\xff"])
def test_an_answer_of_another_shape_leaves_the_verdict(runner: Runner, raw: bytes) -> None:
    """GitHub sends HTML when it is busy, and an answer may be cut off."""
    runner.decided = True
    runner.github.raw = raw
    done = runner.step(**PREDICTIONS)
    assert done.status == 0
    assert "::warning::goldassay could not comment" in done.log


def test_comments_without_a_user_or_a_body_are_passed_over(runner: Runner) -> None:
    runner.decided = True
    runner.github.comments += [{"id": 1, "user": None, "body": "x"}, {"id": 2, "user": {"type": "Bot"}, "body": None}]
    assert runner.step(**PREDICTIONS, name="two\nlines").status == 0
    assert "two lines" in runner.github.comments[2]["body"]


@pytest.mark.parametrize("event", [{"pull_request": None}, [], "x"])
def test_an_event_without_a_pull_request_leaves_the_verdict(runner: Runner, event: object) -> None:
    runner.decided = True
    runner.event = json.dumps(event)
    assert runner.step(**PREDICTIONS).status == 0
    assert runner.github.calls == []


def test_a_folder_that_is_a_file_is_a_wrong_call(runner: Runner) -> None:
    runner.shell = True
    (runner.workspace / "report").write_text("x")
    done = runner.step(**PREDICTIONS, out="report")
    assert done.status == 2
    assert "FileExistsError" in done.plain


def test_runs_are_compared_and_held_against_floors(runner: Runner) -> None:
    program = "import dspy\n\n\nclass P(dspy.Module):\n    def forward(self, text):\n"
    program += "        return dspy.Prediction(label='question')\n\n\nprogram = P()\n"
    (runner.workspace / "program.py").write_text(program, encoding="utf-8")
    words = ["eval", "program.py:program", "--task", "classification", "--gold", "gold.jsonl", "--split", "all"]
    for folder in ("first", "second"):
        done = processes.run(*words, "--quiet", "--runs", folder, cwd=runner.workspace)
        assert done.returncode == 0, done.stderr
    places = [next((runner.workspace / folder).iterdir()) for folder in ("first", "second")]
    runs = [str(place.relative_to(runner.workspace)) for place in places]
    assert runner.step(runs="\n".join(runs), fail_under="accuracy=.3").status == 0
    missed = runner.step(runs=runs[0], fail_under="accuracy=.5")
    assert missed.status == 1
    assert "accuracy is 0.375, under 0.5" in missed.plain
    assert (missed.folder / "runs" / "report.html").is_file()


def test_a_failure_mode_that_is_too_frequent_fails(runner: Runner) -> None:
    """A review of ten letters, of which three lack the total."""
    rows = [{"id": f"d{number}", "text": f"letter {number}", "label": "praise"} for number in range(10)]
    write(runner.workspace / "traces.jsonl", rows)
    with chdir(runner.workspace):
        Folder.open([Path("traces.jsonl")], "classification", question="errors", n=10)
    folder = runner.workspace / "traces.review"
    ids = [json.loads(line)["id"] for line in (folder / "draft.jsonl").read_text(encoding="utf-8").splitlines()]
    lines = []
    for number in range(10):
        decision = {
            "decision": f"u{number}",
            "item": str(number),
            "kind": "label",
            "value": {"label": "praise"},
        }
        about = {"seconds": 9, "record": ids[number], "who": "ann", "when": f"2026-11-24T09:00:{number:02}+00:00"}
        lines.append(decision | about | {"modes": ["missing | total"] if number < 3 else []})
    write(folder / "labels.jsonl", lines)
    assert runner.step(review="traces.review", fail_over="missing | total=.5").status == 0
    done = runner.step(review="traces.review", fail_over="missing | total=.05")
    assert done.status == 1
    assert "| missing &#124; total | 3 | 0.300 [" in done.comment
    assert "missing | total" in done.plain.rpartition("❌")[2]
    assert (done.folder / "review" / "report.html").is_file()


def test_the_action_is_one_that_github_reads(root: Path) -> None:
    action = yaml.safe_load((root / "action.yml").read_text(encoding="utf-8"))
    assert set(action) == {"name", "description", "branding", "inputs", "outputs", "runs"}
    assert action["runs"]["using"] == "composite"
    used = set()
    for about in action["inputs"].values():
        assert set(about) == {"description", "default"}
        assert isinstance(about["default"], str)
    for output in action["outputs"].values():
        assert set(output) == {"description", "value"}
    for step in action["runs"]["steps"]:
        assert set(step) <= {"name", "id", "if", "shell", "run", "env", "uses", "with"}
        assert ("run" in step) != ("uses" in step)
        if "run" in step:
            assert step["shell"] == "bash"
            assert "${{" not in step["run"], "an input would become text of the shell"
            subprocess.run(["bash", "-n", "-c", step["run"]], check=True)
        texts = [*step.get("env", {}).values(), *map(str, step.get("with", {}).values())]
        used |= {name for text in texts for name in re.findall(r"\$\{\{ inputs\.([\w-]+) \}\}", text)}
    assert used == set(action["inputs"])
    assert action["inputs"]["token"]["default"] == "${{ github.token }}"
