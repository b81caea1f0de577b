"""What was fetched, kept: titles of any script apart, whole files only, fresh for 30 days, and the three uses."""

from __future__ import annotations

import json
import os
import unicodedata
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from goldassay.exceptions import CacheOnlyError, FetchError, GoldassayError
from goldassay.sources.cache import Cache, old

TITLES = ["Москва", "Париж", "東京", "京都", "🦊", "🐻", "AC/DC", "AC_DC", "AC DC", "..", "a", "A", "x" * 300]


def aged(file: Path, days: float) -> None:
    """The file as it would be, had it been fetched so many days ago."""
    kept = json.loads(file.read_text(encoding="utf-8"))
    kept["fetched"] = (datetime.now(UTC) - timedelta(days=days)).isoformat()
    file.write_text(json.dumps(kept), encoding="utf-8")


def never() -> Any:
    raise AssertionError("nothing should have been fetched")


def test_titles_of_any_script_stay_apart_and_in_the_folder(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for title in TITLES:
        cache.get("en", title, lambda title=title: title)  # type: ignore[misc]
    assert [cache.get("en", title, never).value for title in TITLES] == TITLES
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert len({file.name.casefold() for file in files}) == len(TITLES)
    assert {file.parent for file in files} == {tmp_path / "en"}


@pytest.mark.parametrize("kind", ["../up", "/etc", "a/b", "..", "", "en\0"])
def test_a_kind_stays_in_the_folder_too(tmp_path: Path, kind: str) -> None:
    cache = Cache(tmp_path / "cache")
    assert cache.get(kind, "Delft", lambda: 1).value == 1
    assert cache.get(kind, "Delft", never).value == 1
    assert cache.file(kind, "Delft").resolve().parent.parent == (tmp_path / "cache").resolve()


def test_languages_stay_apart(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    assert cache.get("en", "Delft", lambda: 1).value == 1
    assert cache.get("nl", "Delft", lambda: 2).value == 2


def test_two_ways_to_write_one_letter_are_one_title(tmp_path: Path) -> None:
    composed, decomposed = (unicodedata.normalize(form, "Skłodowska-Curié") for form in ("NFC", "NFD"))
    assert composed != decomposed
    cache = Cache(tmp_path)
    cache.get("pl", composed, lambda: "once")
    assert cache.get("pl", decomposed, never).value == "once"


def test_it_is_fresh_for_thirty_days(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    first = cache.get("en", "Delft", lambda: "first")
    assert datetime.now(UTC) - datetime.fromisoformat(first.fetched) < timedelta(minutes=1)
    aged(cache.file("en", "Delft"), 29.9)
    assert cache.get("en", "Delft", never).value == "first"
    aged(cache.file("en", "Delft"), 30.1)
    assert cache.get("en", "Delft", lambda: "second").value == "second"
    assert cache.get("en", "Delft", never).value == "second"


def test_none_fetches_always_and_only_never(tmp_path: Path) -> None:
    Cache(tmp_path).get("en", "Delft", lambda: 1)
    assert Cache(tmp_path, use="none").get("en", "Delft", lambda: 2).value == 2
    only = Cache(tmp_path, use="only")
    assert only.get("en", "Delft", never).value == 2
    aged(only.file("en", "Delft"), 400)  # old, and all there is: the run warns of it
    assert only.get("en", "Delft", never).value == 2
    with pytest.raises(CacheOnlyError, match="'Лейден' is not in"):
        only.get("ru", "Лейден", never)


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"key": "Delft"}', '{"key": "Gouda", "value": 1}', "\xff"])
def test_a_broken_or_foreign_file_is_fetched_again(tmp_path: Path, content: str) -> None:
    cache = Cache(tmp_path)
    file = cache.file("en", "Delft")
    file.parent.mkdir()
    file.write_bytes(content.encode("latin-1"))
    assert cache.get("en", "Delft", lambda: "again").value == "again"


def test_a_failed_fetch_leaves_nothing_and_keeps_what_was_there(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.get("en", "Delft", lambda: "known")
    aged(cache.file("en", "Delft"), 31)

    def fails() -> Any:
        raise FetchError("status 500")

    for title in ("Delft", "Gouda"):
        with pytest.raises(FetchError, match="status 500"):
            cache.get("en", title, fails)
    assert Cache(tmp_path, use="only").get("en", "Delft", never).value == "known"
    assert not cache.file("en", "Gouda").exists()


def test_what_cannot_be_written_whole_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    cache = Cache(tmp_path)
    cache.get("en", "Delft", lambda: 1)
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(GoldassayError, match="cannot be written: the disk is full"):
        Cache(tmp_path, use="none").get("en", "Delft", lambda: 2)
    monkeypatch.undo()
    assert cache.get("en", "Delft", never).value == 1
    assert [file.suffix for file in (tmp_path / "en").iterdir()] == [".json"]  # no part is left behind


def test_dates_past_ninety_days_are_old_and_so_are_those_that_are_none() -> None:
    now = datetime.now(UTC)
    dates = [(now - timedelta(days=days)).isoformat() for days in (0, 89, 91)]
    assert old(dates) == dates[2:]
    assert old(["yesterday"]) == ["yesterday"]
