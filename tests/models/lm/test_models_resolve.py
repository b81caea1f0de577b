"""Names of models, and the settings that come from the environment."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dspy
import pytest

from goldassay._support.exceptions import ModelError
from goldassay.models.lm import DEFAULT_MODEL, LocalLM, TerseAdapter, adapter, resolve
from goldassay.models.lm.local import threads


def test_any_other_name_is_dspys() -> None:
    lm = resolve("openai/gpt-4o-mini", max_tokens=10)
    assert type(lm) is dspy.LM
    assert lm.kwargs["max_tokens"] == 10
    assert adapter(lm) is None


@pytest.mark.parametrize(
    ("own", "name"),
    [
        (None, DEFAULT_MODEL),
        ("", DEFAULT_MODEL),
        ("models/a.gguf", "local:models/a.gguf"),
        ("local:a.gguf", "local:a.gguf"),
        ("local/other", "local/other"),
        ("openai/gpt-4o-mini", "openai/gpt-4o-mini"),
    ],
)
def test_without_a_name_the_environment_decides(
    own: str | None, name: str, monkeypatch: pytest.MonkeyPatch, scripted: Callable[..., Any]
) -> None:
    scripted("yes")
    monkeypatch.delenv("GOLDASSAY_MODEL", raising=False)
    if own is not None:
        monkeypatch.setenv("GOLDASSAY_MODEL", own)
    assert resolve().model == name


def test_local_models_get_the_terse_adapter_and_quiet_settings(scripted: Callable[..., Any]) -> None:
    scripted("yes")
    lm = resolve("local:some/model.gguf", max_tokens=12)
    assert isinstance(lm, LocalLM)
    assert isinstance(adapter(lm), TerseAdapter)
    assert (lm.kwargs["temperature"], lm.kwargs["max_tokens"], lm.cache) == (0.0, 12, True)


def test_threads_are_the_idle_processors_unless_the_environment_says_how_many(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOLDASSAY_LM_THREADS", "4")
    assert threads() == 4
    monkeypatch.delenv("GOLDASSAY_LM_THREADS")
    assert 1 <= threads() <= 8
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(6))
    for load, expected in ((0.1, 6), (1.9, 4), (40.0, 1)):
        monkeypatch.setattr(os, "getloadavg", lambda load=load: (load, 0.0, 0.0))
        assert threads() == expected


@pytest.mark.parametrize("wrong", ["two", "0", "-1", "1.5"])
def test_a_number_of_threads_that_is_none(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOLDASSAY_LM_THREADS", wrong)
    with pytest.raises(ModelError, match=r"^GOLDASSAY_LM_THREADS: expected a whole number from 1 on, got"):
        threads()


def test_a_file_that_only_begins_like_gguf(tmp_path: Path) -> None:
    file = tmp_path / "broken.gguf"
    file.write_bytes(b"GGUF and nothing more")
    lm = resolve(f"local:{file}", cache=False)
    with pytest.raises(ModelError, match=r"^llama.cpp cannot load .*broken.gguf"):
        lm("hello")


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("openai/o1", {"temperature": 0.5, "max_tokens": 9}, "reasoning models require"),
    ],
)
def test_options_that_dspy_refuses_are_one_line(name: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(ModelError, match=says) as caught:
        resolve(name, **options)
    assert "\n" not in str(caught.value)
