"""The arena: equal shares that nothing passes, a row for every optimizer, one choice, one look, and going on."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import dspy
import pytest
from dspy.teleprompt import Teleprompter

from goldassay import Metric
from goldassay._support.exceptions import GoldassayError
from goldassay.measures import extraction
from goldassay.reporting.pages import report, sources
from goldassay.reporting.tuning import arena
from goldassay.results.view import Chart, typeset
from goldassay.running.hashing import fingerprint
from goldassay.tuning import OPTIMIZERS, tune
from goldassay.tuning.audit import audit
from goldassay.tuning.optimizers import resolve
from goldassay.tuning.plan import from_sizes, settings_for
from goldassay.tuning.saved import load_state

METRIC = Metric({extraction.SpanF1(): 0.7, extraction.SpanF1("partial"): 0.3})
ARMS = ["bootstrap", "labeled"]
FAST = {"bootstrap.num_candidate_programs": 1}


@pytest.fixture
def gold(names_gold: list[Any]) -> dict[str, list[Any]]:
    return {"train": names_gold[:20], "dev": names_gold[20:32], "test": names_gold[32:]}


class Broken(Teleprompter):
    """Raises."""

    def compile(self, student: Any, *, trainset: Any, **_: Any) -> Any:
        raise ValueError("no such proposer")


class Idle(Teleprompter):
    """Changes nothing."""

    def compile(self, student: Any, *, trainset: Any, **_: Any) -> Any:
        return student


class Greedy(Teleprompter):
    """Asks as often as it can, in every way, and catches whatever is raised."""

    def compile(self, student: Any, *, trainset: Any, **_: Any) -> Any:
        lm = dspy.settings.lm

        def ask() -> None:
            for number in range(40):
                with suppress(BaseException):
                    lm(f"question {number}")

        ask()
        with dspy.context(callbacks=[]):
            ask()
        thread = threading.Thread(target=ask)  # without DSPy's context
        thread.start()
        thread.join()
        with ThreadPoolExecutor(2) as pool, suppress(BaseException):
            list(pool.map(lambda number: lm(f"pooled {number}"), range(40)))
        for number in range(40):
            with suppress(BaseException):
                asyncio.run(lm.acall(f"asynchronous {number}"))
        with suppress(BaseException):
            dspy.Parallel(num_threads=2, disable_progress_bar=True)([(lm, [f"parallel {n}"]) for n in range(40)])
        copied = lm.copy()
        for number in range(40):
            with suppress(BaseException):
                copied(f"copy {number}")
        return student


class Stopping(Teleprompter):
    """Asks ten times, and is interrupted the first time."""

    stops = True

    def compile(self, student: Any, *, trainset: Any, **_: Any) -> Any:
        for number in range(10):
            dspy.settings.lm(f"question {number}")
        if Stopping.stops:
            Stopping.stops = False
            raise KeyboardInterrupt
        return student


def test_every_optimizer_has_a_row_and_one_is_chosen(
    lm: Any, names_program: Any, gold: dict[str, list[Any]], tmp_path: Path
) -> None:
    before = fingerprint(names_program)
    arms: list[Any] = [*ARMS, Broken(), Idle()]
    tuned = tune(
        names_program, gold, METRIC, arms, lm=lm, budget="calls=800", settings=FAST, folder=tmp_path, progress=False
    )
    assert fingerprint(names_program) == before
    for name in ("bootstrap", "labeled"):  # each program can be opened, not only the chosen one
        assert fingerprint(load_state(names_program, tmp_path / "arms" / name)) != before
    assert fingerprint(load_state(names_program, tmp_path / "arms" / "Idle")) == before
    about = json.loads((tmp_path / "tuning.json").read_text())
    rows = {row["optimizer"]: row for row in about["arms"]}
    assert list(rows) == ["bootstrap", "labeled", "Broken", "Idle"]
    assert {"optimizer", "dev", "test", "calls", "tokens", "prompt_tokens", "minutes", "verdict"} <= rows["Idle"].keys()
    assert rows["Broken"]["verdict"] == "failed: Broken failed: ValueError: no such proposer"
    assert rows["Broken"]["dev"] is None
    assert rows["Idle"]["verdict"] == "same"
    assert rows["Idle"]["dev"] == tuned.dev.before.value
    assert about["chosen"] == tuned.chosen in ARMS
    assert tuned.dev.after.value == max(row["dev"] for row in rows.values() if row["dev"] is not None)
    assert tuned.test is not None
    assert about["verdict"] == tuned.verdict
    assert rows[str(tuned.chosen)]["verdict"] == tuned.audit.verdict
    assert tuned.audit.candidates == 2  # corrected for those that changed the program
    opened = audit(tmp_path)
    assert opened.comparison == tuned.audit.comparison
    assert (opened.candidates, opened.source) == (2, f"a tuning with {tuned.chosen}, one of 4 optimizers")
    assert rows["bootstrap"]["calls"] == rows["bootstrap"]["task_calls"] > 0 == rows["labeled"]["calls"]
    assert rows["bootstrap"]["prompt_tokens"] > rows["Idle"]["prompt_tokens"]
    view = arena(about)
    charts = [item for item in view if isinstance(item, Chart)]
    assert [chart.axes[0] for chart in charts] == ["calls to tune", "tokens of the prompt"]
    for chart in charts:
        (_, front), *points = chart.series
        assert {name for name, _ in points} == {"bootstrap", "labeled", "Idle"}  # one that failed has no value
        values = [point.value for point in front]
        assert values == sorted(set(values))
        for _, (point,) in points:  # the front beats or has every point
            assert any(best.at <= point.at and best.value >= point.value for best in front)  # type: ignore[operator]
    page = report(**sources([tmp_path]))
    assert "Optimizers, an equal share of the budget each" in page
    assert page.count("data-chart=") >= 2
    low, high = about["audit"]["interval"]
    assert f'<span class="ends">[{typeset(f"{low:+z.3f}, {high:+z.3f}")}]</span>, p' in page  # as in the headline
    assert "failed: Broken failed: ValueError: no such proposer" in page


def test_the_model_that_reflects_is_counted_apart(
    lm: Any, reflector: Any, names_program: Any, gold: dict[str, list[Any]]
) -> None:
    options = {"gepa.max_metric_calls": 60}
    writer = dspy.LM("scripted/writer", engine=lm.engine, cache=False)
    tuned = tune(
        names_program, gold, METRIC, ["gepa", "labeled"], lm=lm, reflection_lm=writer, settings=options, progress=False
    )
    (row, _) = tuned.arms
    assert row.reflection_calls > 0
    assert row.calls == row.task_calls + row.reflection_calls


def test_no_arm_spends_more_than_its_share(
    lm: Any, learner: Any, names_program: Any, gold: dict[str, list[Any]]
) -> None:
    Stopping.stops = False
    tuned = tune(names_program, gold, METRIC, [Greedy(), Stopping()], lm=lm, budget="calls=21", progress=False)
    greedy, other = tuned.arms
    assert (greedy.calls, other.calls) == (10, 10)  # the greedy one took nothing of the other's
    measuring = len(gold["dev"]) + len(gold["test"])
    assert learner.calls == 20 + measuring
    assert "is spent" not in other.stopped
    assert tuned.chosen is None
    assert tuned.verdict == "not proven on test"


SHARING = ["patches", "bootstrap", "gepa"]


@pytest.mark.nightly
def test_no_arm_is_cut_off(lm: Any, reflector: Any, names_program: Any, gold: dict[str, list[Any]]) -> None:
    tuned = tune(
        names_program, gold, METRIC, SHARING, lm=lm, reflection_lm=reflector(), budget="calls=750", progress=False
    )
    for arm in tuned.arms:
        assert not arm.stopped, arm
        assert 50 < arm.calls <= 250, arm


def test_settings_follow_the_share(names_program: Any, gold: dict[str, list[Any]]) -> None:
    sizes = {name: settings_for(OPTIMIZERS[name], 250, names_program, gold) for name in [*SHARING, "mipro", "labeled"]}
    assert sizes["gepa"] == {"max_metric_calls": 225}
    assert sizes["bootstrap"] == {"num_candidate_programs": (225 - 3 * 12 - 5 * 20) // 12}
    assert sizes["mipro"] == {"num_trials": (225 - 2 * 12 - 4 * 20) // 12}
    assert sizes["labeled"] == {}
    assert settings_for(OPTIMIZERS["patches"], 60, names_program, gold) == {"most": 20}  # fewer would show nothing
    assert settings_for(OPTIMIZERS["gepa"], None, names_program, gold) == {}


def test_an_optimizer_without_a_state_is_not_resumed(
    lm: Any, names_program: Any, gold: dict[str, list[Any]], tmp_path: Path
) -> None:
    for name in ("labeled", "LabeledFewShot"):
        with pytest.raises(GoldassayError, match="labeled keeps no state to resume"):
            tune(names_program, gold, METRIC, name, lm=lm, folder=tmp_path / "t", resume=True)
        assert not (tmp_path / "t").exists()
    assert resolve("GEPA").resumes


def test_the_best_set_is_what_the_plan_recommends(lm: Any, names_program: Any, gold: dict[str, list[Any]]) -> None:
    tuned = tune(names_program, gold, METRIC, "best", lm=lm, budget="calls=120", progress=False)
    names = [arm.optimizer for arm in tuned.arms]
    plan = from_sizes("best", gold, budget="calls=120")
    assert names == [*plan.recommended] == ["labeled", "knn", "patches", "bootstrap"]  # 120 pay for no third
    assert from_sizes("patches", gold, reflects=True).recommended[-1] == "gepa"
    assert '"best" runs labeled, knn, patches, bootstrap.' in " ".join(plan.lines())


def test_an_arena_that_was_interrupted_goes_on(
    lm: Any, learner: Any, names_program: Any, gold: dict[str, list[Any]], tmp_path: Path
) -> None:
    Stopping.stops = True
    arms: list[Any] = ["bootstrap", Stopping()]
    options: dict[str, Any] = {"lm": lm, "budget": "calls=400", "settings": FAST, "folder": tmp_path, "progress": False}
    with pytest.raises(KeyboardInterrupt):
        tune(names_program, gold, METRIC, arms, **options)
    asked = learner.calls
    with pytest.raises(GoldassayError, match="another options"):
        tune(names_program, gold, METRIC, arms, **{**options, "budget": "calls=500"}, resume=True)
    used = tmp_path / "arms" / "bootstrap" / "used.jsonl"
    used.write_text(re.sub(r'"at": [^}]*}\n$', '"at": 3600.0}\n', used.read_text()))  # an hour before it was killed
    tuned = tune(names_program, gold, METRIC, arms, **options, resume=True)
    assert 3600 < tuned.cost["seconds"] < 3700
    bootstrap, stopping = tuned.arms
    assert stopping.calls == 20  # ten before, ten after: what was used stays used
    assert bootstrap.calls > 0
    test = 2 * len(gold["test"])
    assert learner.calls == asked + 10 + test  # bootstrap and dev are not asked again
    again = tune(names_program, gold, METRIC, arms, **{**options, "folder": None})
    assert again.dev.after.values == tuned.dev.after.values
    with pytest.raises(GoldassayError, match="is finished"):
        tune(names_program, gold, METRIC, arms, **options, resume=True)


def test_a_race_leaves_the_rest_to_those_that_are_not_worse(
    lm: Any, names_program: Any, gold: dict[str, list[Any]]
) -> None:
    arms: list[Any] = ["labeled", "knn", Stopping()]
    Stopping.stops = False
    tuned = tune(names_program, gold, METRIC, arms, lm=lm, budget="calls=40", race=True, progress=False)
    labeled, knn, stopping = tuned.arms
    assert stopping.calls == 10  # its quarter: it is much worse than both, which cost nothing, and leaves
    assert labeled.dev == knn.dev == tuned.dev.after.value
    for arguments in ({"race": True}, {"race": True, "budget": "calls=3"}):
        with pytest.raises(GoldassayError, match="a race divides|too small for 4"):
            tune(names_program, gold, METRIC, arms, lm=lm, progress=False, **arguments)


def test_calls_that_cannot_work_are_one_line(lm: Any, names_program: Any, gold: dict[str, list[Any]]) -> None:
    cases: list[tuple[list[Any], dict[str, Any], str]] = [
        (["labeled"], {}, "two optimizers or more"),
        (["labeled", "labeled"], {}, "named twice"),
        (["labeled", "magic"], {}, "no optimizer 'magic'"),
        (["labeled", "knn"], {"settings": {"k": 2}}, "OPTIMIZER.k"),
        (["bootstrap", "gepa", "knn"], {"budget": "calls=1"}, "too small for 2 shares"),
        ([Broken(), Broken()], {}, "no such proposer; Broken-2: "),
    ]
    for arms, options, message in cases:
        with pytest.raises(GoldassayError, match=message):
            tune(names_program, gold, METRIC, arms, lm=lm, progress=False, **options)
    with pytest.raises(GoldassayError, match="a race is between optimizers"):
        tune(names_program, gold, METRIC, "labeled", lm=lm, race=True)


class Asking(Teleprompter):
    """Asks the program, and changes what changes no answer."""

    def compile(self, student: Any, *, trainset: Any, **_: Any) -> Any:
        student = student.deepcopy()
        student(text=trainset[0].text)
        (predictor,) = student.predictors()
        predictor.signature = predictor.signature.with_instructions(f"{predictor.signature.instructions} Thank you.")
        return student


def test_an_arm_that_changes_no_answer_has_the_interval_of_a_share_and_its_own_models_calls_count(
    lm: Any, names_program: Any, gold: dict[str, list[Any]]
) -> None:
    program = names_program.deepcopy()
    program.set_lm(lm)
    tuned = tune(program, gold, METRIC, [Asking(), "bootstrap"], lm=lm, settings=FAST, progress=False)
    row = tuned.arms[0]
    assert row.calls == row.task_calls == 1
    bound = float(row.verdict.removeprefix("no larger than ")) if row.verdict.startswith("no larger") else 1.0
    assert bound > 1 / len(gold["test"])  # it was a fortieth of that
