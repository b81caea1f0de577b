"""The gate of ``action.yml``: a verdict as a comment on the pull request, the report as a folder, and an exit status.

Every input is an environment variable (``INPUT_GOLD``, ``INPUT_PRED`` …), so none becomes text of a shell; what comes
from files, such as the name of a system, is escaped wherever it is printed. The script needs nothing but an installed
goldassay, and runs anywhere. Its status is 0, or 1 if a gate is missed, or 2 if the input or the call is wrong.
"""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PASSED, MISSED, WRONG = 0, 1, 2
TITLES = {PASSED: "✅ passed", MISSED: "❌ a gate is missed", WRONG: "⚠️ not decided"}
LONGEST = 60_000  # characters; GitHub refuses comments over 65,536
SPECIAL = "\\`*_{}[]()#.!|<>&~@:"


class CallError(Exception):
    """The input or the call is wrong."""


@dataclass
class Section:
    """What one comparison, or one review, says."""

    lines: list[str] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)


def text_input(name: str) -> str:
    """An input of one line.

    Raises:
        CallError: It has several lines, or would be read as an option.
    """
    value = os.environ.get(f"INPUT_{name}", "").strip()
    if len(value.splitlines()) > 1 or value.startswith("-"):
        raise CallError(f"{name.lower()}: expected one line that does not begin with a hyphen, got {value!r}")
    return value


def list_input(name: str) -> list[str]:
    """An input of several lines, without empty ones.

    Raises:
        CallError: A line would be read as an option.
    """
    rows = [line.strip() for line in os.environ.get(f"INPUT_{name}", "").splitlines() if line.strip()]
    for row in rows:
        if row.startswith("-") and name != "OPTIONS":
            raise CallError(f"{name.lower()}: a line begins with a hyphen: {row!r}")
        if name == "OPTIONS" and not row.startswith("--"):
            raise CallError(f"options: expected lines such as --split=test, got {row!r}")
    return rows


def goldassay(*words: str) -> tuple[dict[str, Any], list[str]]:
    """The JSON that a command prints, and the gates that it says are missed.

    Raises:
        CallError: It ended with another status than 0 and 1, or printed no JSON.
    """
    command = [sys.executable, "-m", "goldassay", *words, "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        answer = None
    if done.returncode not in (PASSED, MISSED) or not isinstance(answer, dict):
        raise CallError(done.stderr.strip() or f"goldassay {words[0]} ended with status {done.returncode}")
    messages = done.stderr.splitlines() if done.returncode == MISSED else []
    return answer, [line.removeprefix("goldassay: ") for line in messages if line.startswith("goldassay: ")]


def escaped(text: object) -> str:
    """Text from outside as plain text in Markdown: no markup, no link, and nobody is mentioned."""
    signs = (f"&#{ord(sign)};" if sign in SPECIAL else sign for sign in " ".join(str(text).split()))
    return "".join(signs).replace("&#64;", "&#64;\u200b")


def value_of(value: float | None, interval: Sequence[float | None] | None = None) -> str:
    """A value with its interval."""
    if value is None:
        return ""
    bounds = [bound for bound in interval or () if bound is not None]
    return f"{value:.3f}" + (f" [{bounds[0]:.3f}, {bounds[1]:.3f}]" if len(bounds) == 2 else "")


def table(header: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    """A table in Markdown."""
    names = list(header)
    lines = [names, ["---"] * len(names), *rows]
    return ["", *(f"| {' | '.join(cells)} |" for cells in lines), ""]


def compared(answer: Mapping[str, Any]) -> list[str]:
    """The table of values and differences to the first system, and the sentence of each verdict."""
    runs = answer["runs"]
    header = ["value [95 %]", *(escaped(run["name"]) for run in runs)]
    differences = {(each["run"], each["measure"]): each for each in answer["comparisons"]}
    header += [f"{escaped(run['name'])} − {escaped(runs[0]['name'])}" for run in runs[1:]]
    rows = []
    for name in runs[0]["values"]:
        row = [escaped(name)]
        row += [value_of(run["values"].get(name), run["intervals"].get(name)) for run in runs]
        for run in runs[1:]:
            each = differences.get((run["folder"], name))
            interval = each and [each["interval"]["low"], each["interval"]["high"]]
            row.append(value_of(each["difference"], interval) if each else "")
        rows.append(row)
    return [*table(header, rows), *(f"**{escaped(each['sentence'])}**\n" for each in answer["verdicts"])]


def worse(answer: Mapping[str, Any]) -> list[str]:
    """A message for each system that is proven worse, if that is a gate."""
    if text_input("FAIL_IF_WORSE").lower() not in ("true", "1", "yes"):
        return []
    return [each["sentence"] for each in answer["verdicts"] if each["verdict"] == "worse"]


def of_predictions(out: Path, options: Sequence[str]) -> Section:
    """Files of predictions against gold; the last one is held against the floors.

    Raises:
        CallError: The task or the gold is missing, or goldassay refuses the call.
    """
    task = text_input("TASK")
    gold = text_input("GOLD")
    files = list_input("PRED")
    if not task or not gold:
        raise CallError("predictions need the inputs task, gold and pred")
    floors = [f"--fail-under={floor}" for floor in list_input("FAIL_UNDER")]
    _, missed = goldassay("score", task, f"--gold={gold}", f"--pred={files[-1]}", *floors, *options)
    sides = [f"--pred={file}" for file in files]
    answer, _ = goldassay("compare", task, f"--gold={gold}", *sides, f"--out={out / 'predictions'}", *options)
    return Section(compared(answer), [*missed, *worse(answer)])


def of_runs(out: Path) -> Section:
    """Runs, the baseline first; the last one is held against the floors.

    Raises:
        CallError: goldassay refuses the call, or a floor is of a value that the run does not have.
    """
    folders = list_input("RUNS")
    if len(folders) > 1:
        answer, _ = goldassay("compare", *folders, f"--out={out / 'runs'}")
    else:
        run, _ = goldassay("runs", "show", folders[0])
        answer = {"runs": [run], "comparisons": [], "verdicts": []}
        page_of(folders, out / "runs" / "report.html")
    last = answer["runs"][-1]
    missed = []
    for floor in list_input("FAIL_UNDER"):
        name, limit = gate(floor)
        value = last["values"].get(name)
        if name not in last["values"]:
            raise CallError(f"no value {name!r}; there are {', '.join(last['values'])}")
        lower = name in last["lower_is_better"]
        if value is None or (value > limit if lower else value < limit):
            missed.append(f"{name} is {value_of(value)}, {'over' if lower else 'under'} {limit:g}")
    return Section(compared(answer), [*missed, *worse(answer)])


def gate(text: str) -> tuple[str, float]:
    """The name and the limit of NAME=LIMIT.

    Raises:
        CallError: It is none.
    """
    name, _, limit = text.rpartition("=")
    try:
        return name.strip(), float(limit)
    except ValueError:
        raise CallError(f"expected NAME=LIMIT, got {text!r}") from None


def of_review(out: Path) -> Section:
    """The failure modes of a review, each with its share of all traces.

    Raises:
        CallError: goldassay refuses the call.
    """
    folder = text_input("REVIEW")
    ceilings = [f"--fail-over={ceiling}" for ceiling in list_input("FAIL_OVER")]
    answer, missed = goldassay("gold", "modes", folder, *ceilings)
    rows = []
    for mode in answer["modes"]:
        share = mode["share"]
        interval = share and [share["low"], share["high"]]
        rows.append([escaped(mode["name"]), str(mode["records"]), value_of(share and share["value"], interval)])
    page_of([folder], out / "review" / "report.html")
    return Section(table(["what goes wrong", "traces read", "share of all traces [95 %]"], rows), missed)


def page_of(sources: Sequence[str], file: Path) -> None:
    """Write the report of runs or of a review.

    Raises:
        CallError: goldassay refuses the call.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "goldassay", "report", *sources, f"--out={file}", "--force", "--quiet"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False)
    if done.returncode:
        raise CallError(done.stderr.strip())


def sections(out: Path) -> list[Section]:
    """A section for each of predictions, runs and review that is an input.

    Raises:
        CallError: None is, a gate has nothing to hold, or goldassay refuses a call.
    """
    parts = []
    options = list_input("OPTIONS")
    if list_input("PRED"):
        parts.append(of_predictions(out, options))
    if list_input("RUNS"):
        parts.append(of_runs(out))
    if list_input("FAIL_UNDER") and not parts:
        raise CallError("fail-under needs predictions (task, gold, pred) or runs")
    if text_input("REVIEW"):
        parts.append(of_review(out))
    elif list_input("FAIL_OVER"):
        raise CallError("fail-over needs a review")
    if not parts:
        raise CallError("expected predictions (task, gold, pred), runs or a review")
    return parts


def use_name() -> str:
    """The name of this use of the action, as one line."""
    return " ".join(os.environ.get("INPUT_NAME", "").split())


def mark() -> str:
    """The first line of the comment, by which the next run knows it; each use of the action has its own name."""
    name = "".join(sign for sign in use_name() if sign.isalnum() or sign in " ._") or "goldassay"
    return f"<!-- goldassay: {name} -->"


def comment(status: int, parts: Iterable[Section], error: str) -> str:
    """The comment: the verdict, the tables, and where the report is."""
    lines = [mark(), f"### {escaped(use_name() or 'goldassay')}: {TITLES[status]}"]
    for part in parts:
        lines += [*part.lines, *(f"- ❌ {escaped(message)}" for message in part.missed)]
    if error:
        lines += ["", f"<pre>{html.escape(error)}</pre>"]
    place = [os.environ.get(name, "") for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_RUN_ID")]
    if all(place):
        lines += ["", f"[The run]({place[0]}/{place[1]}/actions/runs/{place[2]}) has the report among its artifacts."]
    return "\n".join(lines)[:LONGEST] + "\n"


def pull_request() -> int | None:
    """The number of the pull request that the workflow runs for, if any."""
    place = os.environ.get("GITHUB_EVENT_PATH", "")
    if not place or not Path(place).is_file():
        return None
    event = json.loads(Path(place).read_text(encoding="utf-8"))
    number = (event.get("pull_request") or {}).get("number")
    return number if isinstance(number, int) else None


def request(method: str, path: str, token: str, body: Mapping[str, str] | None = None) -> Any:
    """Ask GitHub.

    Raises:
        OSError: It cannot be reached, or refuses.
    """
    base = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    data = json.dumps(body).encode() if body else None
    headers = {"Accept": "application/vnd.github+json", "Content-Type": "application/json"}
    call = urllib.request.Request(f"{base}/repos/{os.environ['GITHUB_REPOSITORY']}{path}", data, headers, method=method)
    call.add_unredirected_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(call, timeout=30) as response:
        return json.loads(response.read())


def post(text: str, number: int, token: str) -> None:
    """Write the comment, or update the one that this action wrote before.

    Raises:
        Exception: GitHub cannot be reached, refuses, or answers with something else than comments.
    """
    page = 1
    rows = request("GET", f"/issues/{number}/comments?per_page=100&page={page}", token)
    while rows:
        for row in rows:
            bot = (row.get("user") or {}).get("type") == "Bot"  # the account of a deleted user is null
            if bot and (row.get("body") or "").startswith(mark()):
                request("PATCH", f"/issues/comments/{row['id']}", token, {"body": text})
                return
        page += 1
        rows = request("GET", f"/issues/{number}/comments?per_page=100&page={page}", token)
    request("POST", f"/issues/{number}/comments", token, {"body": text})


def append(variable: str, text: str) -> None:
    """Add to a file of GitHub's, if it names one."""
    if os.environ.get(variable):
        with open(os.environ[variable], "a", encoding="utf-8") as file:
            file.write(text)


def log(text: str) -> None:
    """Print text that GitHub does not take for commands."""
    pause = uuid.uuid4().hex
    print(f"::stop-commands::{pause}\n{text}\n::{pause}::", flush=True)


def main() -> int:
    """Decide, write, post."""
    parts: list[Section] = []
    error = ""
    out = Path("goldassay-report")
    try:
        chosen = Path(text_input("OUT") or out)
        chosen.mkdir(parents=True, exist_ok=True)
        out = chosen
        parts = sections(out)
        status = MISSED if any(part.missed for part in parts) else PASSED
    except CallError as wrong:
        error = str(wrong)
        status = WRONG
    except Exception as wrong:  # noqa: BLE001  status 1 says that a gate is missed, and nothing else does
        error = f"{type(wrong).__name__}: {wrong}"
        status = WRONG
    text = comment(status, parts, error)
    attempt("could not write its files", lambda: write(out, status, text))
    log(text)
    attempt("could not comment on the pull request", lambda: comment_on_pull_request(text))
    return status


def write(out: Path, status: int, text: str) -> None:
    """Write the comment, the summary and the outputs of the step.

    Raises:
        OSError: One of them cannot be written.
    """
    append("GITHUB_OUTPUT", f"status={status}\nfolder={out}\n")
    append("GITHUB_STEP_SUMMARY", text)
    out.mkdir(parents=True, exist_ok=True)
    (out / "comment.md").write_text(text, encoding="utf-8")


def comment_on_pull_request(text: str) -> None:
    """Comment, if there is a pull request and a token; that of a pull request from a fork may only read.

    Raises:
        Exception: GitHub cannot be reached, refuses, or answers with something else than comments.
    """
    token = os.environ.get("INPUT_TOKEN", "")
    number = pull_request() if token else None
    if number:
        post(text, number, token)


def attempt(failure: str, act: Callable[[], None]) -> None:
    """Do what the status does not depend on; whatever goes wrong is a warning."""
    try:
        act()
    except Exception as error:  # noqa: BLE001  an answer may be HTML, cut off, or of another shape
        print(f"::warning::goldassay {failure}", flush=True)
        log(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    sys.exit(main())
