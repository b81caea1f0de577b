"""`goldassay conform --fetch`: official files from a server of the test's own, pinned by SHA-256, then replayed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from goldassay.cli import app
from goldassay.proof.conform import SUITES
from goldassay.proof.conform.official import OfficialHome, fetch, sources
from goldassay.wikidata.web import Web


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
    made = Home()
    yield made
    made.http.shutdown()
    made.http.server_close()


def source(content: bytes, url: str) -> OfficialHome:
    files = {"a.txt": ("deep/a.txt", hashlib.sha256(content).hexdigest())}
    return OfficialHome("demo", "demo", "https://example.org/demo", f"{url}/demo/", "CC0", files)


def test_what_is_pinned_is_kept_and_not_asked_for_again(home: Home, tmp_path: Path) -> None:
    one = source(b"official", home.url)
    home.files["/demo/deep/a.txt"] = b"official"
    web = Web(pause=0, retries=0)
    assert list(fetch(tmp_path, known=[one], web=web)) == [(one, "")]
    assert (tmp_path / "demo" / "a.txt").read_bytes() == b"official"
    assert list(fetch(tmp_path, known=[one], web=web)) == [(one, "")]
    assert home.asked == ["/demo/deep/a.txt"]
    (tmp_path / "demo" / "a.txt").write_bytes(b"edited by somebody")
    assert list(fetch(tmp_path, known=[one], web=web)) == [(one, "")]
    assert (tmp_path / "demo" / "a.txt").read_bytes() == b"official"


def test_another_file_than_the_pinned_one_and_a_missing_one_are_said(home: Home, tmp_path: Path) -> None:
    one = source(b"official", home.url)
    home.files["/demo/deep/a.txt"] = b"official, corrected"
    web = Web(pause=0, retries=0)
    ((_, why),) = fetch(tmp_path, known=[one], web=web)
    assert why.startswith("a.txt of https://example.org/demo is not the file that was pinned (SHA-256 ")
    assert not (tmp_path / "demo").exists()
    home.files.clear()
    ((_, why),) = fetch(tmp_path, known=[one], web=web)
    assert "there is no such page (status 404)" in why


def test_the_manifest_names_suites_licences_and_hashes() -> None:
    found = sources()
    assert {one.suite for one in found} == set(SUITES) - {"hipe-official", "hipe2022"}  # made here; has no public home
    for one in found:
        assert SUITES[one.suite][0] == one.folder
        assert one.licence
        assert one.address.startswith(
            "https://raw.githubusercontent.com/" + one.home.removeprefix("https://github.com/")
        )
        assert all(len(bytes.fromhex(sha)) == 32 for _, sha in one.files.values())
        assert one.url(next(iter(one.files)), "http://mirror/").startswith("http://mirror/")


def test_the_real_files_are_the_pinned_ones_and_all_suites_are_replayed(
    shared_data: Path, home: Home, tmp_path: Path
) -> None:
    for one in sources():
        for name in one.files:
            path = one.url(name, home.url).removeprefix(home.url)
            home.files[path] = (shared_data / one.folder / name).read_bytes()
    words = ["conform", "--fetch", "--mirror", home.url, "--data", str(tmp_path), "--json"]
    # the client waits between requests, which a loopback need not
    done = CliRunner().invoke(app, [*words, "--only", "trec_eval", "--only", "ragchecker"])
    assert done.exit_code == 0, done.output
    found = {one["name"]: (one["reproduced"], one["total"]) for one in json.loads(done.stdout)["suites"]}
    assert found["trec_eval"] == (127, 127)
    assert found["ragchecker"][0] == found["ragchecker"][1] > 0
    web = Web(pause=0)
    assert [why for _, why in fetch(tmp_path, mirror=home.url, web=web)] == [""] * 5
    done = CliRunner().invoke(app, [*words, "--only", "hipe-scorer"])
    assert json.loads(done.stdout)["suites"][0]["reproduced"] == 5260


def test_what_does_not_come_is_one_line_and_exit_code_2(home: Home, tmp_path: Path) -> None:
    words = ["conform", "--fetch", "--mirror", home.url, "--data", str(tmp_path), "--only", "ragchecker"]
    done = CliRunner().invoke(app, words)
    assert "not fetched: ragchecker: http://127.0.0.1" in str(done.exception)
    assert "\n" not in str(done.exception)
    for wrong, said in (
        (["--mirror", home.url], "--mirror is for --fetch"),
        (["--fetch", "--only", "hipe-official"], "'hipe-official' has no public home"),
        (["--mutations", "--fetch"], "--data and --fetch go without --mutations"),
    ):
        assert said in str(CliRunner().invoke(app, ["conform", *wrong]).exception)
