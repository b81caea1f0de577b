"""Official files: downloaded from a local server, pinned by SHA-256; the command that replays them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.conformance.__main__ import main
from tests.conformance.official import OfficialHome, fetch, sources
from tests.conformance.suites import SUITES


class Home:
    """A server on the loopback: what stands at a path, and which paths were asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        home = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                home.asked.append(self.path)
                body = home.files.get(self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", "text/plain")
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"


@pytest.fixture
def home() -> Iterator[Home]:
    home = Home()
    yield home
    home.http.shutdown()
    home.http.server_close()


def source(content: bytes, url: str) -> OfficialHome:
    files = {"a.txt": ("deep/a.txt", hashlib.sha256(content).hexdigest())}
    return OfficialHome("demo", "demo", "https://example.org/demo", f"{url}/demo/", "CC0", files)


def test_pinned_files_are_downloaded_once_and_restored_when_edited(home: Home, tmp_path: Path) -> None:
    homes = [source(b"official", home.url)]
    home.files["/demo/deep/a.txt"] = b"official"
    assert fetch(tmp_path, homes) == []
    assert (tmp_path / "demo" / "a.txt").read_bytes() == b"official"
    assert fetch(tmp_path, homes) == []
    assert home.asked == ["/demo/deep/a.txt"]
    (tmp_path / "demo" / "a.txt").write_bytes(b"edited by somebody")
    assert fetch(tmp_path, homes) == []
    assert (tmp_path / "demo" / "a.txt").read_bytes() == b"official"


def test_a_changed_or_missing_file_is_one_line(home: Home, tmp_path: Path) -> None:
    homes = [source(b"official", home.url)]
    home.files["/demo/deep/a.txt"] = b"official, corrected"
    (error,) = fetch(tmp_path, homes)
    assert error.startswith("demo: a.txt is not the pinned file (SHA-256 ")
    assert not (tmp_path / "demo").exists()
    home.files.clear()
    (error,) = fetch(tmp_path, homes)
    assert "404" in error
    assert "\n" not in error


def test_the_manifest_names_suites_licences_and_hashes() -> None:
    homes = sources()
    own = {"hipe-official", "hipe2022"}  # made here, without a public home
    assert {home.suite for home in homes} == set(SUITES) - own
    for home in homes:
        assert SUITES[home.suite][0] == home.folder
        assert home.licence
        assert home.address.startswith(
            "https://raw.githubusercontent.com/" + home.home.removeprefix("https://github.com/")
        )
        assert all(len(bytes.fromhex(sha)) in (0, 32) for _, sha in home.files.values())


def test_the_real_files_are_the_pinned_ones(shared_data: Path) -> None:
    for source in sources():
        for name, (_, sha) in source.files.items():
            if not sha:  # taken as it is; no copy here
                continue
            assert hashlib.sha256((shared_data / source.folder / name).read_bytes()).hexdigest() == sha


def test_the_command_prints_n_of_m(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.argv", ["conformance", "--only", "krippendorff", "--only", "seqeval"])
    with pytest.raises(SystemExit, match="0"):
        main()
    lines = capsys.readouterr().out.splitlines()
    counts = [re.findall(r"\d+", line)[-2:] for line in lines]
    assert lines[0].startswith("krippendorff: ")
    assert [n == m for n, m in counts] == [True, True, True]
    assert sum(int(m) for _, m in counts[:2]) == int(counts[2][1]) > 600
