"""Keys of every kind in every place: a real server echoes address and headers, and no output has one."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import chdir
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from goldassay.cli import app, with_flags
from goldassay.reporting.terminal import visible

SECRETS = {
    "api_key": "kappa7Qx91zz",
    "user": "userTok55aa",
    "password": "passW0rd77",
    "query": "qq-Value8812",
    "path": "pathKey4411xyz",
    "plain path": "hiddenlowerpath",
    "header": "hdrSecret3131",
    "environment": "envKey998877",
    "address in the environment": "baseTok123456",
}
ECHOED = {**SECRETS, "basic": b64encode(b"userTok55aa:passW0rd77").decode()}


class Echo(BaseHTTPRequestHandler):
    """Puts address and headers into its error, or into its answer."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        echo = json.dumps({"url": self.path, "headers": dict(self.headers.items())})
        answer = f"[[ ## label ## ]]\nA {echo}\n\n[[ ## completed ## ]]"
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        good: dict[str, Any] = {"id": "x", "object": "chat.completion", "created": 1, "model": "echo"}
        code = self.server.code  # type: ignore[attr-defined]
        body: Any = {**good, "choices": [choice], "usage": usage}
        body = body if code == 200 else {"error": {"message": f"failed: {echo}", "type": "x"}}
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, *_: object) -> None:
        """Logs nothing."""


@pytest.fixture
def server() -> Iterator[Any]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture
def workspace(tmp_path: Path, server: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A task of one's own, and a model whose settings hold a key of every kind."""
    address = f"userTok55aa:passW0rd77@127.0.0.1:{server.server_port}"
    model = {
        "model": "openai/echo",
        "api_base": f"http://{address}/pathKey4411xyz/hiddenlowerpath/v1?sig2=qq-Value8812",
        "api_key": "kappa7Qx91zz",
        "extra_headers": {"X-Gateway": "hdrSecret3131"},
        "num_retries": 0,
        "cache": False,
    }
    rows = [
        {"id": i, "text": f"number {i} {chr(97 + i) * (i + 3)}", "label": "AB"[i % 2], "split": ["train", "dev"][i % 2]}
        for i in range(12)
    ]
    claims = [{"id": i, "claim": f"In {i}.", "text": f"Built {i}.", "label": "supported"} for i in range(3)]
    for file, text in {
        "programs/tone.py": "import dspy\nprogram = dspy.Predict('text -> label')\n",
        "metrics/tone.py": "def metric(gold, pred, trace=None):\n    return gold['label'] == pred['label']\n",
        "gold/tone/tone.jsonl": "".join(f"{json.dumps(row)}\n" for row in rows),
        "items.jsonl": "".join(f"{json.dumps(claim)}\n" for claim in claims),
        "given/models.yaml": json.dumps({"e": model}),
    }.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    monkeypatch.setenv("OPENAI_API_KEY", "envKey998877")
    monkeypatch.setenv("OTHER_BASE_URL", "http://baseTok123456@host/v1")
    monkeypatch.setattr("goldassay._support.secrets._known", None)
    monkeypatch.setattr("goldassay._support.secrets._seen", set())
    return tmp_path


COMMANDS = """
eval tone --runs runs --max-failures 1 --lm MODEL
runs show RUN
runs list --json
runs export RUN --format csv --out run.csv
report RUN --out run.html
eval tone --runs stopped --lm MODEL
compare tone --program program --program programs/tone.py --lm MODEL --out ranked
tune tone --optimizer bootstrap --setting num_candidate_programs=1 --out tuned --lm MODEL
judge eval items.jsonl --judge support --lm MODEL --store verdicts.jsonl --out judged.jsonl
"""


@pytest.mark.parametrize("code", [200, 500])
def test_no_key_leaks(code: int, workspace: Path, server: Any) -> None:
    server.code = code
    printed = {}
    with chdir(workspace):
        for line in COMMANDS.strip().splitlines():
            run = next(iter(workspace.glob("runs/*")), Path())
            words = line.replace("MODEL", "given/models.yaml:e").replace("RUN", str(run)).split()
            done = CliRunner().invoke(app, words)
            printed[line] = done.output + visible(with_flags(str(done.exception)))
    outputs = {str(file): file.read_text(errors="replace") for file in workspace.rglob("*") if file.is_file()}
    outputs = {place: text for place, text in {**printed, **outputs}.items() if "models.yaml" not in place}
    assert len(outputs) > 15
    leaks = [(place, kind) for place, text in outputs.items() for kind, secret in ECHOED.items() if secret in text]
    assert leaks == []
    [rows] = workspace.glob("runs/*/rows.jsonl")
    assert "[hidden]" in rows.read_text()  # the server did echo
