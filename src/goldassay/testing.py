"""A pytest plugin: a program and a gold set as tests with floors.

Once goldassay is installed, pytest finds the plugin by its entry point. A marked function becomes one test for each
floor, and with ``each`` one for each example::

    @goldassay.case("extraction:baseline", gold="heritage", floors={"strict_f1": 0.5})
    def test_extraction(): ...

The program runs once for all of them. A test fails if the value misses its floor, and shows by how much, with the
interval and the most costly errors. Then the body of the function runs; it may take the fixtures ``goldassay_run``
(the `Run`) and, with ``each``, ``goldassay_row`` (the row of the example). ``--goldassay-runs FOLDER`` stores the
runs, for ``goldassay report``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from goldassay.exceptions import GoldassayError

if TYPE_CHECKING:
    import dspy

    from goldassay.metric import AnyMetric
    from goldassay.running.example import Program
    from goldassay.running.run import Run
    from goldassay.workspace import Target

MARK, CHECK = "goldassay", "goldassay_check"
Check = tuple[str | None, int, float]
"""The name of a value, or None and the place of a row; and the floor."""
SHOWN = 3  # error patterns in the message of a failure


def case(
    program: Program,
    *,
    gold: object = None,
    floors: Mapping[str, float] | None = None,
    each: float | None = None,
    sure: bool = False,
    task: str | None = None,
    split: str = "dev",
    metric: AnyMetric | None = None,
    state: str | Path | None = None,
    **options: Any,
) -> Callable[[Any], Any]:
    """Turn a test function into tests of a program on gold; the same as ``@pytest.mark.goldassay(…)``.

    Args:
        program: ``TASK``, ``TASK:NAME`` or ``FILE:NAME``, a DSPy module, or any function of an example's inputs.
        gold: The name of a gold set, a file, or examples; by default the gold of the task.
        floors: The floor of each value by its name (``metric``: the weighted value); of an error rate, which is better
            lower, it is the ceiling. By default the metric's targets.
        each: The score that every example must reach, one test an example.
        sure: Hold the worse end of the 95 % interval to the floor, not the value.
        task: The task of a program that does not imply it.
        split: The split of gold: train, dev, test or all.
        metric: A `Metric`, a function of (gold, prediction), or ``FILE[:NAME]``; by default the task's.
        state: A saved state of the program: a file of ``program.save`` or the folder of a tuning.
        options: Fields of `goldassay.RunOptions`: ``lm``, ``limit``, ``threads``, …

    >>> case("extraction:baseline", gold="heritage", floors={"strict_f1": 0.5}).name
    'goldassay'
    """
    values = {"gold": gold, "floors": floors, "each": each, "sure": sure, "task": task, "split": split}
    mark: Any = getattr(pytest.mark, MARK)
    decorator: Callable[[Any], Any] = mark(program, **values, metric=metric, state=state, **options)
    return decorator


@dataclass
class MarkedTest:
    """The arguments of a mark; gold is read and the program is run when they are first needed."""

    program: Any
    gold: Any = None
    floors: Mapping[str, float] | None = None
    each: float | None = None
    sure: bool = False
    task: str | None = None
    split: str = "dev"
    metric: AnyMetric | None = None
    state: str | Path | None = None
    options: dict[str, Any] = field(default_factory=dict)

    def checks(self) -> dict[str, Check]:
        """The checks by the ids of their tests: values, then examples."""
        floors = self.floors
        if floors is None:
            floors = {} if self.each is not None else self.measured.targets
        if not floors and self.each is None:
            raise GoldassayError("a case needs floors={'strict_f1': 0.5}, each=0.5, or a metric with targets")
        lower = self.measured.zero.worst if floors else {}
        side = {name: "<=" if name in lower else ">=" for name in floors}
        out: dict[str, Check] = {f"{name}{side[name]}{floor:g}": (name, 0, floor) for name, floor in floors.items()}
        for place, example in enumerate(self.examples if self.each is not None else ()):
            out[f"{getattr(example, 'id', place)}>={self.each:g}"] = (None, place, self.each or 0.0)
        return out

    @property
    def target(self) -> Target:
        """The file of the program and its task."""
        from goldassay import workspace

        if isinstance(self.program, str):
            return workspace.target(self.program, self.task)
        return workspace.Target(self.task or "own", Path(), type(self.program).__name__)

    @property
    def measured(self) -> Any:
        """The metric."""
        from goldassay import workspace
        from goldassay.metric import Metric

        if self.metric is not None and not isinstance(self.metric, str):
            return self.metric if isinstance(self.metric, Metric) else Metric.of(self.metric)
        if self.metric is None and not isinstance(self.program, str) and self.task is None:
            raise GoldassayError("a program that is given as an object needs metric=… or task=…")
        return workspace.metric(self.target.task, self.metric)

    @cached_property
    def data(self) -> Any:
        """The examples, those that the program may learn from, the passages to search."""
        from goldassay.cli.evaluate import SplitExamples, examples

        if self.gold is None or isinstance(self.gold, (str, Path)):
            return examples(None if self.gold is None else str(self.gold), self.target, self.split)
        return SplitExamples("given", list(self.gold), [], [])

    @property
    def examples(self) -> Sequence[dspy.Example]:
        """The gold examples."""
        return self.data.examples[: self.options.get("limit")]  # type: ignore[no-any-return]

    def run(self, folder: Path | None) -> Run:
        """The run of the program, made once."""
        if not hasattr(self, "_run"):
            self._run = self._evaluate(folder)
        return self._run

    def _evaluate(self, folder: Path | None) -> Run:
        from goldassay.cli.evaluate import prepared
        from goldassay.lm import for_program
        from goldassay.running import new_folder
        from goldassay.running.evaluate import evaluate
        from goldassay.tuning.states import load_state, state_names

        options, name = dict(self.options), self.target.label.replace(":", "-")
        by_name = isinstance(self.program, str)
        state = None if self.state is None else Path(self.state)
        name += f"-{state_names([state])[0]}" if state is not None else ""
        program = prepared(self.target, self.data.train, state, self.data.passages) if by_name else self.program
        if state is not None and not by_name:
            program = load_state(program, state)
        if options.get("lm") is None or isinstance(options["lm"], str):
            model = for_program(program, options.get("lm"))
            options |= {"lm": model.lm, "adapter": model.adapter}
        if folder is not None:
            options["folder"] = new_folder(folder, name, str(getattr(options["lm"], "model", "")))
        settings = {"program": str(self.program) if by_name else name, "split": self.split}
        settings |= {"state": str(state)} if state is not None else {}
        return evaluate(program, self.examples, self.measured, name=name, progress=False, settings=settings, **options)

    def failure(self, run: Run, name: str | None, place: int, floor: float) -> str:
        """What misses its floor, in words; empty if the floor is reached."""
        from goldassay.measure import target_met
        from goldassay.reporting import summary
        from goldassay.tuning.patterns import find

        if name is None:
            row = run.rows[place]
            if row.get("error"):  # it counts even if there was nothing to find
                return f"{row['id']} failed: {row['error']}"
            if target_met(row["score"], floor):
                return ""
            messages = [str(error.get("message") or error["kind"]) for error in row.get("errors", ())[:SHOWN]]
            return "\n".join([f"{row['id']} scores {row['score']:.4f}, under {floor:g}", *messages])
        values = {value.name: value for value in (summary.overall(run), *summary.values(run))}
        if name not in values:
            raise GoldassayError(f"no value {name!r} for the floor {floor:g}; there are {', '.join(values)}")
        value, lower = values[name], values[name].lower_is_better
        end, side = value.value, "over" if lower else "under"
        if self.sure and value.interval:
            end = value.interval.high if lower else value.interval.low
            side = f"but the interval ends {side}"
        if target_met(end, floor, lower_is_better=lower):
            return ""
        ends = f" [{value.interval.low:.4f}, {value.interval.high:.4f}]" if value.interval else ""
        lines = [f"{name} is {value.value:.4f}{ends} on {len(run.rows)} examples, {side} {floor:g}"]
        patterns = find(run.cases)[:SHOWN]
        lines += [f"{pattern.count} × {pattern.name}, loss {pattern.loss:.4f}" for pattern in patterns]
        return "\n".join(lines + ([f"goldassay report {run.folder}"] if run.folder else []))


CASES = pytest.StashKey[dict[Any, MarkedTest]]()


def _case(item: Any) -> MarkedTest | None:
    """The case of a marked function, shared by all its tests."""
    mark = item.get_closest_marker(MARK)
    if mark is None:
        return None
    cases = item.config.stash.setdefault(CASES, {})
    key = tuple(map(id, mark.args)), tuple((name, id(value)) for name, value in sorted(mark.kwargs.items()))
    if key not in cases:
        from goldassay.running.options import RunOptions

        own = {each.name for each in fields(MarkedTest)}
        options = {name: value for name, value in mark.kwargs.items() if name not in own}
        if unknown := set(options) - {each.name for each in fields(RunOptions)}:
            pytest.fail(f"@goldassay.case: unexpected argument {min(unknown)!r}", pytrace=False)
        arguments: dict[str, Any] = {name: value for name, value in mark.kwargs.items() if name in own}
        try:
            cases[key] = MarkedTest(*mark.args, **{**arguments, "options": options})
        except TypeError as error:
            pytest.fail(f"@goldassay.case: {str(error).replace('MarkedTest.__init__()', 'it')}", pytrace=False)
    marked: MarkedTest = cases[key]
    return marked


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--goldassay-runs FOLDER``."""
    group = parser.getgroup("goldassay")
    group.addoption("--goldassay-runs", metavar="FOLDER", type=Path, help="Keep the runs of goldassay's cases there.")


def pytest_configure(config: pytest.Config) -> None:
    """The mark, for ``--strict-markers``."""
    config.addinivalue_line("markers", f"{MARK}(program, gold, floors, each, …): hold a program to floors on gold")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each floor, and for each example with ``each``."""
    marked = _case(metafunc.definition)
    if marked is None:
        return
    try:
        checks = marked.checks()
    except GoldassayError as error:
        pytest.fail(f"@goldassay.case: {error}", pytrace=False)
    if "goldassay_row" in metafunc.fixturenames and any(name is not None for name, *_ in checks.values()):
        pytest.fail("@goldassay.case: goldassay_row needs each=… alone; give floors to another function", pytrace=False)
    metafunc.fixturenames.append(CHECK)
    metafunc.parametrize(CHECK, list(checks.values()), ids=list(checks))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: Any) -> None:
    """Check the floor before the body of the function runs."""
    marked = _case(pyfuncitem)
    if marked is None:
        return
    try:
        run = marked.run(pyfuncitem.config.getoption("--goldassay-runs"))
        message = marked.failure(run, *pyfuncitem.callspec.params[CHECK])
    except GoldassayError as error:
        message = str(error)
    if message:
        pytest.fail(message, pytrace=False)


@pytest.fixture
def goldassay_run(request: pytest.FixtureRequest) -> Run:
    """The run of the case."""
    marked = _case(request.node)
    if marked is None:
        pytest.fail("goldassay_run is for a function with @goldassay.case", pytrace=False)
    try:
        return marked.run(request.config.getoption("--goldassay-runs"))
    except GoldassayError as error:
        pytest.fail(str(error), pytrace=False)


@pytest.fixture
def goldassay_row(request: pytest.FixtureRequest, goldassay_run: Run) -> dict[str, object]:
    """The row of the example."""
    _, place, _ = request.node.callspec.params[CHECK]
    row: dict[str, object] = goldassay_run.rows[place]
    return row
