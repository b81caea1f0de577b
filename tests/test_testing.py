"""The plugin for pytest: floors, what a failure says, what is wrong in a mark. Pytest itself runs each."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

# pytester forgets the modules that a run imports: those that every run needs are imported here, once

pytest_plugins = ["pytester"]

YEARS = """
import re
import dspy
import goldassay
from goldassay import Metric
from goldassay.measures import extraction

METRIC = Metric(extraction.SpanF1(), targets={"strict_f1": 0.5})
CALLS = []

def years(text):
    CALLS.append(text)
    if "never" in text:
        raise ValueError("no")
    found = [(m.start(), m.end()) for m in re.finditer(r"[0-9]{4}", text)]
    return dspy.Prediction(entities=[{"start": a, "end": b, "type": "TMP", "text": text[a:b]} for a, b in found])

def one(id, text, *names):
    spans = [{"start": text.index(n), "end": text.index(n) + len(n), "type": "TMP", "text": n} for n in names]
    return dspy.Example(id=id, text=text, entities=spans).with_inputs("text")

GOLD = [one("a", "in 1784", "1784"), one("b", "in 1913 or the year after", "1913", "year after"), one("c", "never")]
"""


@pytest.fixture
def tests(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\naddopts = -p goldassay.testing -p no:cacheprovider --strict-markers\n")
    return pytester


def test_each_floor_is_a_test_and_the_program_runs_once(tests: pytest.Pytester) -> None:
    # 2 of 3 names found and nothing else: F1 = 2·2 / (2·2 + 1) = 0.8
    tests.makepyfile(
        YEARS
        + """
@goldassay.case(years, gold=GOLD, metric=METRIC, floors={"strict_f1": 0.8, "metric": 0.81})
def test_years(goldassay_run):
    assert len(goldassay_run.rows) == 3
    assert len(CALLS) == 3

@goldassay.case(years, gold=GOLD, metric=METRIC)
def test_targets():
    pass

@goldassay.case(years, gold=GOLD, metric=METRIC)
def test_body():
    assert 1 == 2
"""
    )
    done = tests.runpytest("-v", "--goldassay-runs=kept")
    done.assert_outcomes(passed=2, failed=2)
    done.stdout.fnmatch_lines(
        [
            "*::test_years?strict_f1>=0.8? PASSED*",
            "*::test_years?metric>=0.81? FAILED*",
            "*::test_targets?strict_f1>=0.5? PASSED*",
        ]
    )
    done.stdout.fnmatch_lines(["metric is 0.8000 *on 3 examples, under 0.81", "1 × missed TMP: year after, loss *"])
    done.stdout.fnmatch_lines(["*assert 1 == 2*"])


def test_a_task_of_the_workspace_by_its_name_and_the_mark_itself(tests: pytest.Pytester) -> None:
    tests.makepyfile(
        """
import pytest

@pytest.mark.goldassay("classification:keywords", floors={"accuracy": 0.01}, limit=5)
def test_keywords(goldassay_run):
    assert goldassay_run.head.settings["program"] == "classification:keywords"
    assert len(goldassay_run.rows) == 5
"""
    )
    tests.runpytest().assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("mark", "message"),
    [
        ('goldassay.case("extracton")', "*no task 'extracton'; did you mean 'extraction'?*"),
        ("goldassay.case(years, gold=GOLD)", "*needs metric=… or task=…*"),
        ("goldassay.case(years, gold=GOLD, metric=lambda gold, pred: 1.0)", "*needs floors=*"),
        ("goldassay.case(years, gold=GOLD, metric=METRIC, floors={'bleu': 1})", "*no value 'bleu'*strict_f1*"),
        ("pytest.mark.goldassay(years, flors={})", "*flors*"),
    ],
)
def test_a_wrong_mark_is_said_in_one_line(tests: pytest.Pytester, mark: str, message: str) -> None:
    tests.makepyfile(f"{YEARS}\nimport pytest\n\n@{mark}\ndef test_years():\n    pass\n")
    done = tests.runpytest()
    assert done.ret
    done.stdout.fnmatch_lines([message])
    assert "Traceback" not in done.stdout.str()
    assert "During handling" not in done.stdout.str()
    if "bleu" not in mark:  # a floor is checked when the program has run
        done.stdout.fnmatch_lines(["test_a_wrong_mark_is_said_in_one_line.py:*: @goldassay.case: *"])


def test_the_run_is_that_of_a_case(tests: pytest.Pytester) -> None:
    tests.makepyfile("def test_bare(goldassay_run):\n    pass\n")
    tests.runpytest().stdout.fnmatch_lines(["*is for a function with @goldassay.case*"])


def test_the_example_of_the_how_to(tests: pytest.Pytester, root: Path) -> None:
    page = (root / "docs" / "how-to" / "ci-gates.md").read_text(encoding="utf-8")
    for name, text in re.findall(r'```\w+ title="(.*?)"\n(.*?)```', page, flags=re.DOTALL):
        file = tests.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    done = tests.runpytest("-v")
    done.assert_outcomes(passed=1)


def test_pytest_finds_the_plugin_by_its_entry_point(root: Path) -> None:
    settings = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert settings["project"]["entry-points"]["pytest11"] == {"goldassay.testing": "goldassay.testing"}


def test_the_floor_of_an_error_is_a_ceiling() -> None:
    import dspy

    from goldassay import Metric
    from goldassay.tuning.systems import MarkedTest

    metric = Metric.of(lambda gold, pred: 0.25, name="error", lower_is_better=True, targets={"error": 0.3})
    gold = [dspy.Example(text=text, label="M").with_inputs("text") for text in "ab"]
    marked = MarkedTest(lambda text: {"label": "M"}, gold=gold, metric=metric, task="own")
    assert list(marked.checks()) == ["error<=0.3"]
    run = marked.run(None)
    assert marked.failure(run, "error", 0.3) == ""
    assert "error is 0.2500" in marked.failure(run, "error", 0.2)
    assert "over 0.2" in marked.failure(run, "error", 0.2)
    assert run.summary()["lower_is_better"] == ["error"]


def test_a_saved_state_is_tested(tests: pytest.Pytester) -> None:
    tests.makepyfile(
        YEARS
        + """
class Echo(dspy.Module):
    def __init__(self):
        super().__init__()
        self.predict = dspy.Predict("text -> entities")

    def forward(self, text):
        return years(text) if self.predict.signature.instructions == "Find years." else dspy.Prediction(entities=[])

tuned = Echo()
tuned.predict.signature = tuned.predict.signature.with_instructions("Find years.")
tuned.save("tuned.json")

@goldassay.case(Echo(), gold=GOLD[:2], metric=METRIC, floors={"strict_f1": 0.8}, state="tuned.json")
def test_tuned():
    pass

@goldassay.case(Echo(), gold=GOLD[:2], metric=METRIC, floors={"strict_f1": 0.8})
def test_untuned():
    pass
"""
    )
    tests.runpytest_inprocess().assert_outcomes(passed=1, failed=1)
