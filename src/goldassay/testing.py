"""A pytest plugin: a program and a gold set as tests with floors.

Once goldassay is installed, pytest finds the plugin by its entry point. A marked function becomes one test for each
floor::

    @goldassay.case("extraction:baseline", gold="heritage", floors={"strict_f1": 0.5})
    def test_extraction(): ...

The program runs once for all of them. A test fails if the value misses its floor, and shows by how much, with the
interval and the most costly errors. Then the body of the function runs; it may take the fixture ``goldassay_run``
(the `Run`). ``--goldassay-runs FOLDER`` stores the runs, for ``goldassay report``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from goldassay.exceptions import GoldassayError

if TYPE_CHECKING:
    from goldassay.metric import AnyMetric
    from goldassay.running.guard import Program
    from goldassay.running.run import Run

MARK = "goldassay"
CHECK = "goldassay_check"
SHOWN = 3  # error patterns in the message of a failure


def case(
    program: Program,
    *,
    gold: object = None,
    floors: Mapping[str, float] | None = None,
    metric: AnyMetric | None = None,
    task: str | None = None,
    split: str = "dev",
    state: str | Path | None = None,
    **options: Any,
) -> Callable[[Any], Any]:
    """Turn a test function into tests of a program on gold; the same as ``@pytest.mark.goldassay(…)``.

    Args:
        program: ``TASK``, ``TASK:NAME`` or ``FILE:NAME``, a DSPy module, or any function of an example's inputs.
        gold: The name of a gold set, a file, or examples; by default the gold of the task.
        floors: The floor of each value by its name (``metric``: the weighted value); of an error rate, which is better
            lower, it is the ceiling. By default the metric's targets.
        metric: A `Metric`, a function of (gold, prediction), or ``FILE[:NAME]``; by default the task's.
        task: The task of a program that does not imply it.
        split: The split of gold: train, dev, test or all.
        state: A saved state of the program: a file of ``program.save`` or the folder of a tuning.
        options: Fields of `goldassay.RunOptions`: ``lm``, ``limit``, ``threads``, …

    >>> case("extraction:baseline", gold="heritage", floors={"strict_f1": 0.5}).name
    'goldassay'
    """
    arguments = {"gold": gold, "floors": floors, "metric": metric, "task": task, "split": split, "state": state}
    mark: Any = getattr(pytest.mark, MARK)
    decorator: Callable[[Any], Any] = mark(program, **arguments, **options)
    return decorator


class MarkedTest:
    """A marked test function, with the arguments of `case`; the program is run once, when a test needs it."""

    def __init__(
        self,
        program: Program | str,
        *,
        task: str | None = None,
        metric: AnyMetric | str | None = None,
        floors: Mapping[str, float] | None = None,
        **others: Any,
    ) -> None:
        from goldassay import workspace
        from goldassay.metric import Metric
        from goldassay.running.evaluate import RunOptions

        self.program = program
        self.by_name = isinstance(program, str)
        self.gold = others.pop("gold", None)
        self.split = others.pop("split", "dev")
        state = others.pop("state", None)
        self.state = None if state is None else Path(state)
        self.options = RunOptions(**{"progress": False, **others})
        if isinstance(program, str):
            self.target = workspace.target(program, task)
        elif metric is None and task is None:
            raise GoldassayError("a program that is given as an object needs metric=… or task=…")
        else:
            self.target = workspace.Target(task or "own", Path(), type(program).__name__)
        if metric is None or isinstance(metric, str):
            metric = workspace.metric(self.target.task, metric)
        self.metric: Metric = metric if isinstance(metric, Metric) else Metric.of(metric)
        self.floors: Mapping[str, float] = self.metric.targets if floors is None else floors
        if not self.floors:
            raise GoldassayError("a case needs floors={'strict_f1': 0.5}, or a metric with targets")
        self._run: Run | None = None

    def checks(self) -> dict[str, tuple[str, float]]:
        """The name of each value and its floor, by the id of the test."""
        lower = self.metric.zero.worst
        return {
            f"{name}{'<=' if name in lower else '>='}{floor:g}": (name, floor) for name, floor in self.floors.items()
        }

    def run(self, folder: Path | None) -> Run:
        """The run of the program; in a new folder of this one, if any."""
        if self._run is None:
            self._run = self._evaluate(folder)
        return self._run

    def _evaluate(self, folder: Path | None) -> Run:
        from goldassay.lm import for_program
        from goldassay.running import new_folder
        from goldassay.running.evaluate import evaluate
        from goldassay.systems import SplitExamples, examples, prepared
        from goldassay.tuning.saved import load_state, state_names

        gold = self.gold
        options = self.options
        if gold is None or isinstance(gold, (str, Path)):
            data = examples(None if gold is None else str(gold), self.target, self.split)
        else:
            data = SplitExamples("given", list(gold), [], [])
        program: Any = self.program
        if self.by_name:
            program = prepared(self.target, data, self.state)
        elif self.state is not None:
            program = load_state(program, self.state)
        if options.lm is None or isinstance(options.lm, str):
            model = for_program(program, options.lm)
            options = options.changed(lm=model.lm, adapter=model.adapter)
        name = "-".join([self.target.label.replace(":", "-"), *state_names([self.state] if self.state else [])])
        if folder is not None:
            options = options.changed(folder=new_folder(folder, name, str(getattr(options.lm, "model", ""))))
        settings = {"program": self.program if self.by_name else name, "split": self.split}
        settings |= {"state": str(self.state)} if self.state else {}
        return evaluate(program, data.examples, self.metric, options, name=name, settings=settings)

    def failure(self, run: Run, name: str, floor: float) -> str:
        """A message about a value that misses its floor; empty if it does not.

        Raises:
            GoldassayError: The run has no value of this name.
        """
        from goldassay.measure import target_met
        from goldassay.reporting import summary
        from goldassay.tuning.patterns import find

        values = {value.name: value for value in (summary.overall(run), *summary.values(run))}
        if name not in values:
            raise GoldassayError(f"no value {name!r} for the floor {floor:g}; there are {', '.join(values)}")
        measured = values[name]
        interval = measured.interval
        lower = measured.lower_is_better
        if target_met(measured.value, floor, lower_is_better=lower):
            return ""
        ends = f" [{interval.low:.4f}, {interval.high:.4f}]" if interval else ""
        side = "over" if lower else "under"
        lines = [f"{name} is {measured.value:.4f}{ends} on {len(run.rows)} examples, {side} {floor:g}"]
        lines += [f"{pattern.count} × {pattern.name}, loss {pattern.loss:.4f}" for pattern in find(run.cases)[:SHOWN]]
        return "\n".join([*lines, *([f"goldassay report {run.folder}"] if run.folder else [])])


CASES = pytest.StashKey[dict[int, MarkedTest]]()


def _case(item: pytest.Item) -> MarkedTest | None:
    """The case of a marked function, shared by all its tests."""
    mark = item.get_closest_marker(MARK)
    if mark is None:
        return None
    cases = item.config.stash.setdefault(CASES, {})
    if id(mark) not in cases:
        try:
            cases[id(mark)] = MarkedTest(*mark.args, **mark.kwargs)
        except (GoldassayError, TypeError) as error:
            pytest.fail(f"@goldassay.case: {error}", pytrace=False)
    return cases[id(mark)]


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--goldassay-runs FOLDER``."""
    group = parser.getgroup("goldassay")
    group.addoption("--goldassay-runs", metavar="FOLDER", type=Path, help="Keep the runs of goldassay's cases there.")


def pytest_configure(config: pytest.Config) -> None:
    """The mark, for ``--strict-markers``."""
    config.addinivalue_line("markers", f"{MARK}(program, gold, floors, …): hold a program to floors on gold")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each floor."""
    marked = _case(metafunc.definition)
    if marked is not None:
        checks = marked.checks()
        metafunc.fixturenames.append(CHECK)
        metafunc.parametrize(CHECK, list(checks.values()), ids=list(checks))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> None:
    """Check the floor before the body of the function runs."""
    marked = _case(pyfuncitem)
    if marked is None:
        return
    try:
        run = marked.run(pyfuncitem.config.getoption("--goldassay-runs"))
        check: Any = pyfuncitem.callspec.params[CHECK]
        message = marked.failure(run, *check)
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
