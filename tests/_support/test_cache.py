"""What was fetched, kept: titles of any script apart, fresh for 30 days, the three uses, and a file that is damaged."""

from __future__ import annotations

import pickle
import sqlite3
import unicodedata
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from goldassay._support.cache import Cache, Store
from goldassay._support.exceptions import CacheOnlyError, FetchError, StorageError

TITLES = ["Москва", "Париж", "東京", "京都", "🦊", "🐻", "AC/DC", "AC_DC", "AC DC", "..", "a", "A", "x" * 300]


def aged(cache: Cache, days: float) -> None:
    """Everything as it would be, had it been fetched so many days ago."""
    cache.store.close()
    with closing(sqlite3.connect(cache.store.path)) as file, file:
        file.execute("UPDATE kept SET written = ?", [(datetime.now(UTC) - timedelta(days=days)).isoformat()])


def never() -> Any:
    raise AssertionError("nothing should have been fetched")


def test_titles_of_any_script_stay_apart_and_in_the_folder(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for title in TITLES:
        cache.get("en", title, lambda title=title: title)  # type: ignore[misc]
    assert [cache.get("en", title, never).value for title in TITLES] == TITLES
    assert [file.name for file in tmp_path.rglob("*")] == ["fetched.sqlite"]


@pytest.mark.parametrize("kind", ["../up", "/etc", "a/b", "..", "", "en\0", "\ud83d"])
def test_a_kind_stays_in_the_file_too(tmp_path: Path, kind: str) -> None:
    cache = Cache(tmp_path / "cache")
    for key in ("Delft", kind):
        assert cache.get(kind, key, lambda: 1).value == 1
        assert cache.get(kind, key, never).value == 1
    assert [file.name for file in tmp_path.rglob("*")] == ["cache", "fetched.sqlite"]


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
    aged(cache, 29.9)
    assert cache.get("en", "Delft", never).value == "first"
    aged(cache, 30.1)
    assert cache.get("en", "Delft", lambda: "second").value == "second"
    assert cache.get("en", "Delft", never).value == "second"


def test_none_fetches_always_and_only_never(tmp_path: Path) -> None:
    Cache(tmp_path).get("en", "Delft", lambda: 1)
    assert Cache(tmp_path, use="none").get("en", "Delft", lambda: 2).value == 2
    only = Cache(tmp_path, use="only")
    assert only.get("en", "Delft", never).value == 2
    aged(only, 400)  # old, and all there is: the run warns of it
    assert only.get("en", "Delft", never).value == 2
    with pytest.raises(CacheOnlyError, match="'Лейден' is not in"):
        only.get("ru", "Лейден", never)


@pytest.mark.parametrize("content", ["", "{", "\xff", "NaN", '{"a": 1, '])
def test_a_broken_value_is_fetched_again(tmp_path: Path, content: str) -> None:
    cache = Cache(tmp_path)
    cache.store.put("en", {"Delft": content.encode("latin-1")})
    assert cache.get("en", "Delft", lambda: "again").value == "again"
    assert cache.get("en", "Delft", never).value == "again"


def damage(file: Path, how: str) -> None:
    content = file.read_bytes()
    if how == "no database":
        file.write_bytes(b"this is no database" * 400)
    elif how == "pages overwritten":
        file.write_bytes(content[:100] + b"\xa5" * (len(content) - 100))
    else:
        file.write_bytes(content[: len(content) // 2])


@pytest.mark.parametrize("how", ["no database", "pages overwritten", "cut off"])
def test_a_damaged_file_is_one_line_and_is_left_as_it_is(tmp_path: Path, how: str) -> None:
    cache = Cache(tmp_path)
    for number in range(100):
        cache.get("en", f"Delft {number}", lambda: "x" * 500)
    cache.store.close()
    damage(cache.store.path, how)
    broken = cache.store.path.read_bytes()
    says = r"fetched.sqlite: nothing can be stored here \(.*\); delete the file"
    with pytest.raises(StorageError, match=says) as caught:
        [Cache(tmp_path).get("en", f"Delft {number}", lambda: "again") for number in range(100)]
    assert "\n" not in str(caught.value)
    assert cache.store.path.read_bytes() == broken


def test_a_store_that_was_pickled_opens_its_file_anew(tmp_path: Path) -> None:
    store = Store(tmp_path / "kept.sqlite")
    store.put("a", {"b": b"c"})
    again = pickle.loads(pickle.dumps(store))  # noqa: S301
    assert again.get("a", ["b"])["b"][0] == b"c"


def test_a_failed_fetch_leaves_nothing_and_keeps_what_was_there(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.get("en", "Delft", lambda: "known")
    aged(cache, 31)

    def fails() -> Any:
        raise FetchError("status 500")

    for title in ("Delft", "Gouda"):
        with pytest.raises(FetchError, match="status 500"):
            cache.get("en", title, fails)
    assert Cache(tmp_path, use="only").get("en", "Delft", never).value == "known"
    with pytest.raises(CacheOnlyError):
        Cache(tmp_path, use="only").get("en", "Gouda", never)


def test_what_cannot_be_kept_is_said_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match=r"fetched.sqlite: nothing can be stored here \(.*Not a directory"):
        Cache(tmp_path / "file" / "cache").get("en", "Delft", lambda: 1)
    cache = Cache(tmp_path)
    cache.get("en", "Delft", lambda: 1)
    assert cache.store._file is not None
    cache.store._file.execute("PRAGMA max_page_count = 4")  # a disk that is full
    with pytest.raises(StorageError, match=r"nothing can be stored here \(database or disk is full\)"):
        cache.get("en", "Gouda", lambda: "x" * 100_000)
    assert cache.get("en", "Delft", never).value == 1
    with pytest.raises(CacheOnlyError):
        Cache(tmp_path, use="only").get("en", "Gouda", never)
